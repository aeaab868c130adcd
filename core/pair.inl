// The small problem on a working set, two coefficients at a time.
//
//   minimise ½ βᵀQβ + gᵀβ over the box, each segment's sum kept.
//
// Steps as in SMO with second-order choice (Fan, Chen & Lin 2005): i maximises −g among those that may grow,
// j maximises (g_j − g_i)² / (Q_ii + Q_jj − 2 Q_ij) among those that may shrink; then β_i += t, β_j −= t with the
// best t that the box allows. Everything is one pass of vectors to choose j and one to update g and choose the next i.

// Curvature below this part of K_ii + K_jj is no curvature.
template <class T>
inline constexpr T flatness = T(1e-12);

template <class T>
struct Best {
    T value;
    int position;
};

// The largest lane of a running maximum that carried its positions along.
template <class T>
inline Best<T> largest(Vector<T> value, Integers<T> position) {
    Best<T> best{value[0], int(position[0])};
    for (int k = 1; k < Traits<T>::lanes; ++k)
        if (value[k] > best.value) best = {value[k], int(position[k])};
    return best;
}

template <class T>
inline Integers<T> lane_numbers() {
    Integers<T> n{};
    for (int k = 0; k < Traits<T>::lanes; ++k) n[k] = k;
    return n;
}

template <class T>
struct Extremes {
    Best<T> top;  // max of −g among those that may grow
    T bottom;     // min of −g among those that may shrink
};

// g += step · (Q_i − Q_j) where rows are given, and the extremes of what results.
template <class T, bool update>
inline Extremes<T> sweep(PairProblem<T>& q, int begin, int end, const T* row_i, const T* row_j, T step) {
    constexpr int lanes = Traits<T>::lanes;
    const T infinity = T(__builtin_huge_val());
    Vector<T> top = splat(-infinity), bottom = splat(-infinity);
    Integers<T> top_position{}, position = lane_numbers<T>() + begin;
    for (int k = begin; k < end; k += lanes) {
        Vector<T> g = load(q.gradient + k);
        if constexpr (update) {
            g += step * (load(row_i + k) - load(row_j + k));
            store(q.gradient + k, g);
        }
        const Vector<T> grow = load(q.up + k) - g, shrink = load(q.down + k) + g;
        const auto better = grow > top;
        top = better ? grow : top;
        top_position = better ? position : top_position;
        bottom = larger(shrink, bottom);
        position += lanes;
    }
    return {largest<T>(top, top_position), -largest<T>(bottom, position).value};
}

template <class T>
inline Best<T> partner(const PairProblem<T>& q, int begin, int end, int i, T top) {
    constexpr int lanes = Traits<T>::lanes;
    const T* row = q.block + i * q.stride;
    const T own = q.curvature[i];
    Vector<T> best = splat(T(-1));
    Integers<T> best_position{}, position = lane_numbers<T>() + begin;
    for (int k = begin; k < end; k += lanes) {
        const Vector<T> difference = larger(top + load(q.gradient + k) + load(q.down + k), Vector<T>{});
        const Vector<T> both = own + load(q.curvature + k);
        const Vector<T> least = larger(flatness<T> * both, splat(Traits<T>::smallest));
        const Vector<T> curvature = larger(both - T(2) * load(row + k), least);
        const Vector<T> gain = difference * difference / curvature;
        const auto better = gain > best;
        best = better ? gain : best;
        best_position = better ? position : best_position;
        position += lanes;
    }
    return largest<T>(best, best_position);
}

template <class T>
inline void mark(PairProblem<T>& q, int k) {
    const T never = -T(__builtin_huge_val());
    q.up[k] = q.beta[k] < q.upper[k] ? T(0) : never;
    q.down[k] = q.beta[k] > q.lower[k] ? T(0) : never;
}

template <class T>
PairOutcome solve_pairs(PairProblem<T>& q) {
    PairOutcome outcome;
    Extremes<T> extremes[2];
    int begin[2] = {0, q.segment_end[0]};
    for (int s = 0; s < q.segments; ++s)
        extremes[s] = sweep<T, false>(q, begin[s], q.segment_end[s], nullptr, nullptr, T(0));
    for (;;) {
        int s = 0;
        if (q.segments == 2 && extremes[1].top.value - extremes[1].bottom > extremes[0].top.value - extremes[0].bottom)
            s = 1;
        outcome.gap = double(extremes[s].top.value) - double(extremes[s].bottom);
        if (!(outcome.gap > q.tolerance) || outcome.steps >= q.max_steps) return outcome;

        const int i = extremes[s].top.position;
        const int j = partner(q, begin[s], q.segment_end[s], i, extremes[s].top.value).position;
        const T* row_i = q.block + i * q.stride;
        const T* row_j = q.block + j * q.stride;
        const double both = double(q.curvature[i]) + double(q.curvature[j]);
        const double least = both > 0 ? both * double(flatness<T>) : double(Traits<T>::smallest);
        const double curvature = both - 2.0 * double(row_i[j]);
        const double difference = double(q.gradient[j]) - double(q.gradient[i]);
        const bool flat = curvature <= least;
        double step = difference / (flat ? least : curvature);
        const double room_i = q.upper[i] - q.beta[i], room_j = q.beta[j] - q.lower[j];
        if (flat && room_i == __builtin_huge_val() && room_j == __builtin_huge_val()) {
            outcome.unbounded = true;
            return outcome;
        }
        const double room = room_i < room_j ? room_i : room_j;
        if (step > room) step = room;
        // land on a bound exactly, so that "at its bound" is a comparison and not a tolerance
        q.beta[i] = step >= room_i ? q.upper[i] : q.beta[i] + step;
        q.beta[j] = step >= room_j ? q.lower[j] : q.beta[j] - step;
        mark(q, i);
        mark(q, j);
        const T before_i = q.gradient[i], before_j = q.gradient[j];
        q.gradient[i] += T(step) * q.ridge[i];
        q.gradient[j] -= T(step) * q.ridge[j];
        for (int k = 0; k < q.segments; ++k)
            extremes[k] = sweep<T, true>(q, begin[k], q.segment_end[k], row_i, row_j, T(step));
        ++outcome.steps;
        // steps too small for this precision would go on for ever
        if (q.gradient[i] == before_i && q.gradient[j] == before_j && !flat) return outcome;
    }
}
