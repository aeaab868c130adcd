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

template <class T>
inline Integers<T> lane_numbers() {
    Integers<T> n{};
    for (int k = 0; k < Traits<T>::lanes; ++k) n[k] = k;
    return n;
}

// The largest lane of a running maximum that carried its positions along; halves against each other, without branches
// that nobody could foresee.
template <class T>
inline Best<T> largest(Vector<T> value, Integers<T> position) {
    for (int half = Traits<T>::lanes / 2; half > 0; half /= 2) {
        const Integers<T> turned = (lane_numbers<T>() + half) & (Traits<T>::lanes - 1);
        const Vector<T> other = shuffled(value, turned);
        const Integers<T> other_position = shuffled(position, turned);
        const auto better = other > value;
        value = better ? other : value;
        position = better ? other_position : position;
    }
    return {value[0], int(position[0])};
}

template <class T>
struct Extremes {
    Best<T> top;  // max of −g among those that may grow
    T bottom;     // min of −g among those that may shrink
};

// A running maximum that carries its positions along. Two of them take turns, so that neither waits for the other.
template <class T>
struct Running {
    Vector<T> value[2] = {splat(-T(__builtin_huge_val())), splat(-T(__builtin_huge_val()))};
    Integers<T> position[2] = {};

    void look(int turn, Vector<T> candidate, Integers<T> at) {
        const auto better = candidate > value[turn];
        position[turn] = better ? at : position[turn];
        value[turn] = larger(candidate, value[turn]);
    }
    Best<T> best() const {
        const auto better = value[1] > value[0];
        return largest<T>(larger(value[1], value[0]), better ? position[1] : position[0]);
    }
};

// g += step · (Q_i − Q_j) where rows are given, and the extremes of what results. Two vectors at a time: segments are
// padded so.
template <class T, bool update>
inline Extremes<T> sweep(PairProblem<T>& q, int begin, int end, const T* row_i, const T* row_j, T step) {
    constexpr int lanes = Traits<T>::lanes;
    Running<T> top;
    Vector<T> bottom[2] = {top.value[0], top.value[1]};
    Integers<T> position = lane_numbers<T>() + begin;
    T* const gradient = q.gradient;  // not read from q again after every store
    const T *const up = q.up, *const down = q.down;
    for (int k = begin; k < end;)
        for (int turn = 0; turn < 2; ++turn, k += lanes, position += lanes) {
            Vector<T> g = load(gradient + k);
            if constexpr (update) {
                g += step * (load(row_i + k) - load(row_j + k));
                store(gradient + k, g);
            }
            top.look(turn, load(up + k) - g, position);
            bottom[turn] = larger(load(down + k) + g, bottom[turn]);
        }
    return {top.best(), -largest<T>(larger(bottom[0], bottom[1]), position).value};
}

// The best partner among [begin, end) of i, whose kernel values with them are `row` and whose −g is `top`.
template <class T>
inline void partner(const PairProblem<T>& q, int begin, int end, T own, T top, const T* row, Running<T>& best) {
    constexpr int lanes = Traits<T>::lanes;
    Integers<T> position = lane_numbers<T>() + begin;
    const T *const gradient = q.gradient, *const down = q.down, *const curvature = q.curvature;
    const T flat = T(2) * flatness<T> * own;
    const Vector<T> least = splat(flat > Traits<T>::smallest ? flat : Traits<T>::smallest);
    for (int k = begin; k < end;)
        for (int turn = 0; turn < 2; ++turn, k += lanes, position += lanes) {
            const Vector<T> difference = larger(load(gradient + k) + (top + load(down + k)), Vector<T>{});
            const Vector<T> both = own + load(curvature + k);
            const Vector<T> along = larger(both - T(2) * load(row + (k - begin)), least);
            best.look(turn, difference * difference / along, position);
        }
}

template <class T>
inline void mark(PairProblem<T>& q, int k) {
    const T never = -T(__builtin_huge_val());
    q.up[k] = q.beta[k] < q.upper[k] ? T(0) : never;
    q.down[k] = q.beta[k] > q.lower[k] ? T(0) : never;
}

// What a pair's step was.
struct Moved {
    double step;
    bool flat, unbounded;
};

// β_i grows and β_j shrinks as far as is best, or as the box allows; gradients are left but for their own ridge.
template <class T>
inline Moved move(PairProblem<T>& q, int i, int j, T k_ij) {
    const double both = double(q.curvature[i]) + double(q.curvature[j]);
    const double least = both > 0 ? both * double(flatness<T>) : double(Traits<T>::smallest);
    const double curvature = both - 2.0 * double(k_ij);
    const double difference = double(q.gradient[j]) - double(q.gradient[i]);
    const bool flat = curvature <= least;
    double step = difference / (flat ? least : curvature);
    const double room_i = q.upper[i] - q.beta[i], room_j = q.beta[j] - q.lower[j];
    if (flat && room_i == __builtin_huge_val() && room_j == __builtin_huge_val()) return {0.0, true, true};
    const double room = room_i < room_j ? room_i : room_j;
    if (step > room) step = room;
    // land on a bound exactly, so that "at its bound" is a comparison and not a tolerance
    q.beta[i] = step >= room_i ? q.upper[i] : q.beta[i] + step;
    q.beta[j] = step >= room_j ? q.lower[j] : q.beta[j] - step;
    mark(q, i);
    mark(q, j);
    q.gradient[i] += T(step) * q.ridge[i];
    q.gradient[j] -= T(step) * q.ridge[j];
    return {step, flat, false};
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
        const T* row_i = q.block + i * q.stride;
        Running<T> best;
        partner(q, begin[s], q.segment_end[s], q.curvature[i], extremes[s].top.value, row_i + begin[s], best);
        const int j = best.best().position;
        const T* row_j = q.block + j * q.stride;
        const T before_i = q.gradient[i], before_j = q.gradient[j];
        const Moved moved = move(q, i, j, row_i[j]);
        outcome.unbounded = moved.unbounded;
        if (moved.unbounded) return outcome;
        for (int k = 0; k < q.segments; ++k)
            extremes[k] = sweep<T, true>(q, begin[k], q.segment_end[k], row_i, row_j, T(moved.step));
        ++outcome.steps;
        // steps too small for this precision would go on for ever
        if (q.gradient[i] == before_i && q.gradient[j] == before_j && !moved.flat) return outcome;
    }
}
