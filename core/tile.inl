// Kernel values, tile by tile: points meet in registers, the formula follows, one store ends it.

// The sums of a tile, a strip of rows against a panel of columns, feature by feature. `ahead` walks over what the next
// panel will need (prefetching past the end of memory is harmless).
template <class T, Meeting meeting>
inline void meet(const T* a, const T* b, int features, const T* ahead, int stride, Vector<T> (&sum)[ADATRON_STRIP][2]) {
    constexpr int lanes = Traits<T>::lanes;
    for (int r = 0; r < ADATRON_STRIP; ++r) sum[r][0] = sum[r][1] = Vector<T>{};
    for (int k = 0; k < features; ++k, a += ADATRON_STRIP, b += 2 * lanes, ahead += stride) {
        const Vector<T> b0 = load(b), b1 = load(b + lanes);
        __builtin_prefetch(ahead, 0, 2);
#pragma GCC unroll 16
        for (int r = 0; r < ADATRON_STRIP; ++r) {
            if constexpr (meeting == Meeting::dot) {
                sum[r][0] += a[r] * b0;
                sum[r][1] += a[r] * b1;
            } else {
                const Vector<T> d0 = a[r] - b0, d1 = a[r] - b1;
                if constexpr (meeting == Meeting::squared_distance) {
                    sum[r][0] += d0 * d0;
                    sum[r][1] += d1 * d1;
                } else {
                    sum[r][0] += larger(d0, -d0);
                    sum[r][1] += larger(d1, -d1);
                }
            }
        }
    }
}

template <class T>
inline Vector<T> square_root(Vector<T> x) {
    for (int i = 0; i < Traits<T>::lanes; ++i) x[i] = __builtin_sqrt(x[i]);
    return x;
}

template <>
inline Vector<float> square_root<float>(Vector<float> x) {
    for (int i = 0; i < Traits<float>::lanes; ++i) x[i] = __builtin_sqrtf(x[i]);
    return x;
}

// The formulas. `norms` is the sum of both points' squared norms; it matters only to distances got from dot products.
template <class T>
struct Formula {
    T gamma, coef0, scale, shift;
    int degree;
    bool from_dot;

    explicit Formula(const Epilogue& e)
        : gamma(T(e.factor.gamma)),
          coef0(T(e.factor.coef0)),
          scale(T(e.scale)),
          shift(T(e.shift)),
          degree(e.factor.degree),
          from_dot(e.factor.meeting == Meeting::dot) {
        if (e.factor.form != Form::polynomial && e.factor.form != Form::sigmoid) {
            gamma = T(-log2e * e.factor.gamma);
            // infinite widths of no extent: a point still is one with itself
            if (gamma < -Traits<T>::largest) gamma = -Traits<T>::largest;
        }
    }

    template <Form form>
    inline Vector<T> operator()(Vector<T> sum, Vector<T> norms) const {
        if constexpr (form == Form::linear) {
            return sum;
        } else if constexpr (form == Form::polynomial) {
            Vector<T> base = gamma * sum + coef0, power = splat(T(1));
            for (int n = degree; n > 0; n >>= 1) {
                if (n & 1) power *= base;
                base *= base;
            }
            return power;
        } else if constexpr (form == Form::sigmoid) {
            return tanh_of<T>(gamma * sum + coef0);
        } else {
            if constexpr (form != Form::laplacian) {
                if (from_dot) sum = larger(norms - T(2) * sum, Vector<T>{});
            }
            if constexpr (form == Form::distance) return sum;
            if constexpr (form == Form::exponential) sum = square_root<T>(sum);
            return power_of_two<T>(gamma * sum);
        }
    }
};

template <class T>
inline void put(T* out, Vector<T> value, const Formula<T>& f, bool multiply) {
    value = f.scale * value + f.shift;
    if (multiply) value *= load(out);
    store(out, value);
}

// The values of a row at the columns of a panel, of which `left` are there.
template <class T, Form form>
inline void finish(const Formula<T>& formula, const Vector<T> (&sum)[2], T norm, const T* norms, Index left, T* out,
                   bool multiply) {
    constexpr int lanes = Traits<T>::lanes, width = 2 * lanes;
    const Vector<T> v0 = formula.template operator()<form>(sum[0], norm + load(norms));
    const Vector<T> v1 = formula.template operator()<form>(sum[1], norm + load(norms + lanes));
    if (left >= width) {
        put(out, v0, formula, multiply);
        put(out + lanes, v1, formula, multiply);
    } else {
        T last[width];
        for (int i = 0; i < width; ++i) last[i] = i < left ? out[i] : T(0);
        put(last, v0, formula, multiply);
        put(last + lanes, v1, formula, multiply);
        for (int i = 0; i < left; ++i) out[i] = last[i];
    }
}

template <class T, Form form, Meeting meeting>
void fill_as(const Epilogue& e, const Strips<T>& rows, const Panels<T>& columns, T* const* out) {
    constexpr int lanes = Traits<T>::lanes, width = 2 * lanes, strip = ADATRON_STRIP;
    const Formula<T> formula(e);
    const int features = columns.features;
    // as many rows as leave half of a 512 KB second-level cache to the panels passing by
    int block = int(256 * 1024 / (sizeof(T) * (features + 1))) / strip * strip;
    if (block < strip) block = strip;
    Vector<T> sum[strip][2];
    for (int begin = 0; begin < rows.count; begin += block) {
        const int end = begin + block < rows.count ? begin + block : rows.count;
        for (Index c = columns.first; c < columns.last; c += width) {
            const T* panel = columns.values + c * features;
            const int strips = (end - begin + strip - 1) / strip;
            const int stride = strips < width ? width / strips : 1;
            for (int r = begin; r < end; r += strip) {
                // each strip calls up its share of the next panel from memory
                const T* ahead = panel + Index(width) * features + Index(r - begin) / strip * stride * features;
                meet<T, meeting>(rows.values + Index(r) * features, panel, features, ahead, stride, sum);
                const int valid = end - r < strip ? end - r : strip;
                for (int s = 0; s < valid; ++s)
                    finish<T, form>(formula, sum[s], rows.norms[r + s], columns.norms + c, columns.last - c,
                                    out[r + s] + (c - columns.first), e.multiply);
            }
        }
    }
}

// The same sums for thin rows, over the features that a row has: adding the products with its zeros would not change
// them. A row meets several panels at once, so that there are as many sums as the processor can have under way.
template <class T, Form form, int panels>
inline void fill_thin_panels(const Epilogue& e, const Formula<T>& formula, const ThinRows<T>& rows,
                             const Panels<T>& columns, Index c, T* const* out, T* room) {
    constexpr int lanes = Traits<T>::lanes, width = 2 * lanes;
    const T* const base = columns.values + c * columns.features;
    const Index panel = Index(width) * columns.features;
    constexpr int line = 64 / sizeof(T);
    for (int b = 0; b < rows.blocks; ++b) {
        const std::int32_t* start = rows.start + Index(b) * rows.count;
        // each row calls up its share of the next block, in this panel or the next
        const bool last = b + 1 == rows.blocks;
        const T* ahead = last ? base + panels * panel : base + Index(b + 1) * rows.block * width;
        const int length = (rows.block < columns.features ? rows.block : columns.features) * width;
        const int share = (length + line * rows.count - 1) / (line * rows.count) * line;
        for (int r = 0; r < rows.count; ++r) {
            for (int k = r * share; k < (r + 1) * share && k < length; k += line)
                for (int p = 0; p < panels; ++p) __builtin_prefetch(ahead + p * panel + k, 0, 3);
            T* const kept = room + Index(r) * thin_panels * width;
            Vector<T> sum[panels][2];
            for (int p = 0; p < panels; ++p)
                for (int h = 0; h < 2; ++h) sum[p][h] = b == 0 ? Vector<T>{} : load(kept + p * width + h * lanes);
            for (std::int32_t k = start[r]; k < start[r + 1]; ++k) {
                const T* x = base + rows.offset[k];
                const T value = rows.value[k];
#pragma GCC unroll 8
                for (int p = 0; p < panels; ++p) {
                    sum[p][0] += value * load(x + p * panel);
                    sum[p][1] += value * load(x + p * panel + lanes);
                }
            }
            if (b + 1 < rows.blocks) {
                for (int p = 0; p < panels; ++p)
                    for (int h = 0; h < 2; ++h) store(kept + p * width + h * lanes, sum[p][h]);
                continue;
            }
            for (int p = 0; p < panels; ++p) {
                const Index at = c + p * width;
                finish<T, form>(formula, sum[p], rows.norms[r], columns.norms + at, columns.last - at,
                                out[r] + (at - columns.first), e.multiply);
            }
        }
    }
}

template <class T, Form form>
void fill_thin_as(const Epilogue& e, const ThinRows<T>& rows, const Panels<T>& columns, T* const* out, T* room) {
    constexpr int width = 2 * Traits<T>::lanes;
    const Formula<T> formula(e);
    Index c = columns.first;
    for (; c + thin_panels * width <= columns.last; c += thin_panels * width)
        fill_thin_panels<T, form, thin_panels>(e, formula, rows, columns, c, out, room);
    for (; c < columns.last; c += width) fill_thin_panels<T, form, 1>(e, formula, rows, columns, c, out, room);
}

// The sums of one sparse column against a group of sparse rows. Differences run over all features of the group, then
// over what only the column has: no cancellation. Everything else takes two vector operations for each stored value
// of the column, whatever the rows hold.
template <class T, Meeting meeting>
inline void meet_sparse(const SparseRows<T>& rows, const SparseColumns<T>& columns, Index c, Vector<T> (&sum)[2]) {
    constexpr int lanes = Traits<T>::lanes, width = 2 * lanes;
    constexpr bool differences = meeting == Meeting::squared_distance || meeting == Meeting::absolute_distance;
    const Index begin = columns.start[c], end = columns.start[c + 1];
    for (int h = 0; h < 2; ++h)
        sum[h] = meeting == Meeting::absolute_from_norms ? load(rows.norms + h * lanes) : Vector<T>{};
    if constexpr (differences) {
        T rest = 0;
        for (Index k = begin; k < end; ++k) {
            const T value = columns.value[k];
            if (const std::int32_t place = rows.place[columns.feature[k]])
                rows.column[place] = value;
            else
                rest += meeting == Meeting::squared_distance ? value * value : value < 0 ? -value : value;
        }
        for (Index place = 1; place < rows.places; ++place) {
            const T value = rows.column[place];
            rows.column[place] = 0;
            for (int h = 0; h < 2; ++h) {
                const Vector<T> d = load(rows.table + place * width + h * lanes) - value;
                sum[h] += meeting == Meeting::squared_distance ? d * d : larger(d, -d);
            }
        }
        for (int h = 0; h < 2; ++h) sum[h] += rest;
    } else {
        for (Index k = begin; k < end; ++k) {
            const T value = columns.value[k];
            const T* x = rows.table + Index(rows.place[columns.feature[k]]) * width;
            for (int h = 0; h < 2; ++h) {
                const Vector<T> xs = load(x + h * lanes);
                if constexpr (meeting == Meeting::dot) {
                    sum[h] += value * xs;
                } else {
                    const Vector<T> d = xs - value;
                    sum[h] += larger(d, -d) - larger(xs, -xs);
                }
            }
        }
        if constexpr (meeting == Meeting::absolute_from_norms)
            for (int h = 0; h < 2; ++h) sum[h] = larger(sum[h], Vector<T>{});
    }
}

template <class T, Form form, Meeting meeting>
void fill_sparse_as(const Epilogue& e, const SparseRows<T>& rows, const SparseColumns<T>& columns, T* const* out) {
    constexpr int lanes = Traits<T>::lanes, width = 2 * lanes;
    const Formula<T> formula(e);
    const Vector<T> row_norm[2] = {load(rows.norms), load(rows.norms + lanes)};
    for (Index c = columns.first; c < columns.last; ++c) {
        Vector<T> sum[2];
        meet_sparse<T, meeting>(rows, columns, c, sum);
        T values[width];
        for (int h = 0; h < 2; ++h) {
            const Vector<T> v = formula.template operator()<form>(sum[h], row_norm[h] + columns.norms[c]);
            store(values + h * lanes, formula.scale * v + formula.shift);
        }
        for (int r = 0; r < rows.count; ++r) {
            T& target = out[r][c - columns.first];
            target = e.multiply ? target * values[r] : values[r];
        }
    }
}

// One switch from the kernel's name to the loop compiled for it.
template <class T, template <class, Form, Meeting> class Loop, class... Arguments>
void choose(const Epilogue& e, const Arguments&... arguments) {
    const bool dot = e.factor.meeting == Meeting::dot;
    switch (e.factor.form) {
        case Form::linear:
            return Loop<T, Form::linear, Meeting::dot>::run(e, arguments...);
        case Form::polynomial:
            return Loop<T, Form::polynomial, Meeting::dot>::run(e, arguments...);
        case Form::sigmoid:
            return Loop<T, Form::sigmoid, Meeting::dot>::run(e, arguments...);
        case Form::laplacian:
            return e.factor.meeting == Meeting::absolute_from_norms
                       ? Loop<T, Form::laplacian, Meeting::absolute_from_norms>::run(e, arguments...)
                       : Loop<T, Form::laplacian, Meeting::absolute_distance>::run(e, arguments...);
        case Form::gaussian:
            return dot ? Loop<T, Form::gaussian, Meeting::dot>::run(e, arguments...)
                       : Loop<T, Form::gaussian, Meeting::squared_distance>::run(e, arguments...);
        case Form::exponential:
            return dot ? Loop<T, Form::exponential, Meeting::dot>::run(e, arguments...)
                       : Loop<T, Form::exponential, Meeting::squared_distance>::run(e, arguments...);
        case Form::distance:
            if (e.factor.meeting == Meeting::absolute_distance)
                return Loop<T, Form::distance, Meeting::absolute_distance>::run(e, arguments...);
            if (e.factor.meeting == Meeting::absolute_from_norms)
                return Loop<T, Form::distance, Meeting::absolute_from_norms>::run(e, arguments...);
            return dot ? Loop<T, Form::distance, Meeting::dot>::run(e, arguments...)
                       : Loop<T, Form::distance, Meeting::squared_distance>::run(e, arguments...);
    }
}

template <class T, Form form, Meeting meeting>
struct DenseLoop {
    static void run(const Epilogue& e, const Strips<T>& rows, const Panels<T>& columns, T* const* out) {
        constexpr bool absolute = meeting == Meeting::absolute_from_norms;
        fill_as<T, form, absolute ? Meeting::absolute_distance : meeting>(e, rows, columns, out);
    }
};

template <class T, Form form, Meeting meeting>
struct SparseLoop {
    static void run(const Epilogue& e, const SparseRows<T>& rows, const SparseColumns<T>& columns, T* const* out) {
        fill_sparse_as<T, form, meeting>(e, rows, columns, out);
    }
};

template <class T, Form form, Meeting meeting>
struct ThinLoop {
    static void run(const Epilogue& e, const ThinRows<T>& rows, const Panels<T>& columns, T* const* out, T* room) {
        if constexpr (meeting == Meeting::dot) fill_thin_as<T, form>(e, rows, columns, out, room);
    }
};

template <class T>
void fill_thin(const Epilogue& e, const ThinRows<T>& rows, const Panels<T>& columns, T* const* out, T* room) {
    choose<T, ThinLoop>(e, rows, columns, out, room);
}

template <class T>
void fill(const Epilogue& e, const Strips<T>& rows, const Panels<T>& columns, T* const* out) {
    choose<T, DenseLoop>(e, rows, columns, out);
}

template <class T>
void fill_sparse(const Epilogue& e, const SparseRows<T>& rows, const SparseColumns<T>& columns, T* const* out) {
    choose<T, SparseLoop>(e, rows, columns, out);
}

template <class T>
void squared_norms(const Panels<T>& columns, T* out) {
    constexpr int lanes = Traits<T>::lanes, width = 2 * lanes;
    for (Index c = columns.first; c < columns.last; c += width) {
        const T* panel = columns.values + c * columns.features;
        Vector<T> sum[2] = {Vector<T>{}, Vector<T>{}};
        for (int k = 0; k < columns.features; ++k, panel += width)
            for (int h = 0; h < 2; ++h) {
                const Vector<T> x = load(panel + h * lanes);
                sum[h] += x * x;
            }
        store(out + c, sum[0]);
        store(out + c + lanes, sum[1]);
    }
}

// Four rows at a time over a stretch of columns whose sums stay in the first-level cache.
template <class T>
void add_rows(const double* weight, const T* const* row, int rows, Index first, Index last, double* out) {
    using Narrow = typename Traits<T>::Narrow;
    constexpr int lanes = Traits<double>::lanes;
    constexpr Index stretch = 1024;
    auto wide = [](const T* p) { return __builtin_convertvector(*reinterpret_cast<const Narrow*>(p), Vector<double>); };
    for (Index begin = first; begin < last; begin += stretch) {
        const Index end = begin + stretch < last ? begin + stretch : last;
        int r = 0;
        for (; r + 4 <= rows; r += 4) {
            const T *r0 = row[r], *r1 = row[r + 1], *r2 = row[r + 2], *r3 = row[r + 3];
            const double w0 = weight[r], w1 = weight[r + 1], w2 = weight[r + 2], w3 = weight[r + 3];
            Index j = begin;
            for (; j + lanes <= end; j += lanes) {
                const Vector<double> sum =
                    (w0 * wide(r0 + j) + w1 * wide(r1 + j)) + (w2 * wide(r2 + j) + w3 * wide(r3 + j));
                store(out + j, load(out + j) + sum);
            }
            for (; j < end; ++j) out[j] += (w0 * r0[j] + w1 * r1[j]) + (w2 * r2[j] + w3 * r3[j]);
        }
        for (; r < rows; ++r) {
            const T* r0 = row[r];
            const double w0 = weight[r];
            for (Index j = begin; j < end; ++j) out[j] += w0 * r0[j];
        }
    }
}

// The same for several sums of the same rows at once: a kernel value is loaded and widened once for four of them.
template <class T>
void add_sums(const double* weight, Index weight_stride, int sums, const T* const* row, int rows, Index count,
              double* out, Index out_stride) {
    using Narrow = typename Traits<T>::Narrow;
    constexpr int lanes = Traits<double>::lanes;
    auto wide = [](const T* p) { return __builtin_convertvector(*reinterpret_cast<const Narrow*>(p), Vector<double>); };
    int k = 0;
    for (; k + 4 <= sums; k += 4) {
        const double* w = weight + k * weight_stride;
        double* o = out + k * out_stride;
        Index j = 0;
        for (; j + 2 * lanes <= count; j += 2 * lanes) {
            Vector<double> sum[4][2];
            for (int q = 0; q < 4; ++q)
                for (int h = 0; h < 2; ++h) sum[q][h] = load(o + q * out_stride + j + h * lanes);
            for (int r = 0; r < rows; ++r) {
                const Vector<double> low = wide(row[r] + j), high = wide(row[r] + j + lanes);
                for (int q = 0; q < 4; ++q) {
                    const double wq = w[q * weight_stride + r];
                    sum[q][0] += wq * low;
                    sum[q][1] += wq * high;
                }
            }
            for (int q = 0; q < 4; ++q)
                for (int h = 0; h < 2; ++h) store(o + q * out_stride + j + h * lanes, sum[q][h]);
        }
        for (; j < count; ++j)
            for (int q = 0; q < 4; ++q)
                for (int r = 0; r < rows; ++r) o[q * out_stride + j] += w[q * weight_stride + r] * double(row[r][j]);
    }
    for (; k < sums; ++k) add_rows(weight + k * weight_stride, row, rows, 0, count, out + k * out_stride);
}

// out = exp(-gamma d), a kernel of this width from distances.
template <class T>
void exponentials(const T* d, Index count, T gamma, T* out) {
    constexpr int lanes = Traits<T>::lanes;
    const T factor = -gamma * T(log2e);
    Index j = 0;
    for (; j + lanes <= count; j += lanes) store(out + j, power_of_two<T>(factor * load(d + j)));
    for (; j < count; ++j) out[j] = power_of_two<T>(splat(factor * d[j]))[0];
}
