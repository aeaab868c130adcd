// Dense rows against a weight vector, for linear kernels: values as they are given, sums in float64.

template <class T>
inline Vector<double> widened(const T* p) {
    return __builtin_convertvector(*reinterpret_cast<const typename Traits<T>::Narrow*>(p), Vector<double>);
}

// Σ x_k w_k, in four independent chains of sums
template <class T>
double dot(const T* x, const double* w, Index count) {
    constexpr int lanes = Traits<double>::lanes;
    Vector<double> a = splat(0.0), b = a, c = a, d = a;
    Index k = 0;
    for (; k + 4 * lanes <= count; k += 4 * lanes) {
        a += widened(x + k) * load(w + k);
        b += widened(x + k + lanes) * load(w + k + lanes);
        c += widened(x + k + 2 * lanes) * load(w + k + 2 * lanes);
        d += widened(x + k + 3 * lanes) * load(w + k + 3 * lanes);
    }
    for (; k + lanes <= count; k += lanes) a += widened(x + k) * load(w + k);
    a = (a + b) + (c + d);
    double sum = 0;
    for (int lane = 0; lane < lanes; ++lane) sum += a[lane];
    for (; k < count; ++k) sum += double(x[k]) * w[k];
    return sum;
}

// w += factor · x
template <class T>
void add_row(double factor, const T* x, double* w, Index count) {
    constexpr int lanes = Traits<double>::lanes;
    Index k = 0;
    for (; k + lanes <= count; k += lanes) store(w + k, load(w + k) + factor * widened(x + k));
    for (; k < count; ++k) w[k] += factor * double(x[k]);
}

// out_jk += Σ_r panel_rj panel_rk for j in [first, last) and k ≥ j, d of each; a row of the panel has `stride` values,
// of which those from d on are zero up to a whole number of tiles
inline void add_outer(const double* panel, Index rows, Index stride, Index d, Index first, Index last, double* out) {
    constexpr int lanes = Traits<double>::lanes, high = 4, wide = 2 * lanes;
    for (Index j = first; j < last; j += high)
        for (Index k = j / wide * wide; k < d; k += wide) {
            Vector<double> sum[high][2] = {};
            for (Index r = 0; r < rows; ++r) {
                const double* row = panel + r * stride;
                const Vector<double> a = load(row + k), b = load(row + k + lanes);
                for (int t = 0; t < high; ++t) {
                    sum[t][0] += row[j + t] * a;
                    sum[t][1] += row[j + t] * b;
                }
            }
            for (int t = 0; t < high && j + t < last; ++t)
                for (Index c = 0; c < wide && k + c < d; ++c) out[(j + t) * d + k + c] += sum[t][c / lanes][c % lanes];
        }
}
