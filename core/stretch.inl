// Pairs over a whole matrix that is mostly nothing, without a working set.
//
// A step changes the gradient only where one of its two rows has anything, which is known by stretches of columns
// (distances.hpp). So the extremes of every stretch are kept, a vector each, and only those of changed stretches are
// told anew. As partner of i comes whoever has anything in common with it, by second order as in pair.inl, or the one
// farthest down of all.

template <class T>
struct Kept {
    T* top;     // −g of those that may grow: the largest in each lane of a stretch
    T* bottom;  // g of those that may shrink
};

// The extremes of stretch s, after g += step · (Q_i − Q_j), of which either may be nothing.
template <class T, bool of_i, bool of_j>
inline void sweep_stretch(PairProblem<T>& q, Kept<T> kept, int s, const T* row_i, const T* row_j, T step) {
    constexpr int lanes = Traits<T>::lanes;
    const T infinity = T(__builtin_huge_val());
    const Index begin = s * stretch_length;
    T* const gradient = q.gradient + begin;  // not read from q again after every store
    const T *const up = q.up + begin, *const down = q.down + begin;
    Vector<T> top = splat(-infinity), bottom = splat(-infinity);
    for (int k = 0; k < int(stretch_length); k += lanes) {
        Vector<T> g = load(gradient + k);
        if constexpr (of_i && of_j)
            g += step * (load(row_i + k) - load(row_j + k));
        else if constexpr (of_i)
            g += step * load(row_i + k);
        else if constexpr (of_j)
            g -= step * load(row_j + k);
        if constexpr (of_i || of_j) store(gradient + k, g);
        top = larger(load(up + k) - g, top);
        bottom = larger(load(down + k) + g, bottom);
    }
    store(kept.top + s * lanes, top);
    store(kept.bottom + s * lanes, bottom);
}

// The largest of what is kept for all stretches, and the stretch it is in.
template <class T>
inline Best<T> largest_of(const T* kept, int count) {
    constexpr int lanes = Traits<T>::lanes;
    Vector<T> best = load(kept);
    Integers<T> where{}, at{};
    for (int s = 1; s < count; ++s) {
        at += 1;
        const Vector<T> value = load(kept + s * lanes);
        const auto better = value > best;
        best = better ? value : best;
        where = better ? at : where;
    }
    return largest<T>(best, where);
}

template <class T>
inline T value_at(const LitRows<T>& rows, int i, int j) {
    for (Index e = rows.start[i]; e < rows.start[i + 1]; ++e)
        if (rows.stretch[e] == j / int(stretch_length))
            return rows.values[e * stretch_length + j % int(stretch_length)];
    return T(0);
}

template <class T>
PairOutcome solve_stretches(PairProblem<T>& q, const LitRows<T>& rows, T* room) {
    constexpr int lanes = Traits<T>::lanes;
    PairOutcome outcome;
    const int count = q.segment_end[0] / int(stretch_length);
    const Kept<T> kept{room, room + count * lanes};
    for (int s = 0; s < count; ++s) sweep_stretch<T, false, false>(q, kept, s, nullptr, nullptr, T(0));
    const auto carry = [&](int i, int j, T step) {
        Index a = rows.start[i], b = rows.start[j];
        const Index past_a = rows.start[i + 1], past_b = rows.start[j + 1];
        while (a < past_a || b < past_b) {
            const int s = a < past_a ? rows.stretch[a] : count, r = b < past_b ? rows.stretch[b] : count;
            const T *row_i = rows.values + a * stretch_length, *row_j = rows.values + b * stretch_length;
            if (s == r)
                sweep_stretch<T, true, true>(q, kept, s, row_i, row_j, step);
            else if (s < r)
                sweep_stretch<T, true, false>(q, kept, s, row_i, row_j, step);
            else
                sweep_stretch<T, false, true>(q, kept, r, row_i, row_j, step);
            a += s <= r;
            b += r <= s;
        }
    };
    for (;;) {
        const Best<T> top = largest_of(kept.top, count), bottom = largest_of(kept.bottom, count);
        outcome.gap = double(top.value) + double(bottom.value);
        if (!(outcome.gap > q.tolerance) || outcome.steps >= q.max_steps) return outcome;
        int i = top.position * int(stretch_length), far = bottom.position * int(stretch_length);
        while (q.up[i] - q.gradient[i] != top.value) ++i;
        while (q.down[far] + q.gradient[far] != bottom.value) ++far;

        Running<T> near;
        for (Index e = rows.start[i]; e < rows.start[i + 1]; ++e) {
            const int begin = rows.stretch[e] * int(stretch_length);
            partner(q, begin, begin + int(stretch_length), q.curvature[i], top.value, rows.values + e * stretch_length,
                    near);
        }
        const Best<T> second = near.best();
        const T apart = T(outcome.gap), both = q.curvature[i] + q.curvature[far] - T(2) * value_at(rows, i, far);
        const int j = apart * apart > second.value * both ? far : second.position;

        const T before_i = q.gradient[i], before_j = q.gradient[j];
        const Moved moved = move(q, i, j, value_at(rows, i, j));
        outcome.unbounded = moved.unbounded;
        if (moved.unbounded) return outcome;
        carry(i, j, T(moved.step));
        ++outcome.steps;
        if (q.gradient[i] == before_i && q.gradient[j] == before_j && !moved.flat) return outcome;
    }
}
