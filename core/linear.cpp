// After Hsieh, Chang, Lin, Keerthi & Sundararajan, A Dual Coordinate Descent Method for Large-scale Linear SVM (2008),
// algorithm 3, in signed form.
#include "linear.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "climb.hpp"
#include "memory.hpp"
#include "pool.hpp"

namespace adatron {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double no_curvature = 1e-290;  // below this a step is as long as the box
constexpr Index ahead = 4;               // rows that are fetched from memory before their turn
constexpr Index most_lines = 16;         // cache lines of each
constexpr double clock_work = 5e4;       // values of X between two looks at the clock: about 20 µs
constexpr Index panel_values = 1 << 17;  // of scaled rows, from which outer products are made: a megabyte
constexpr Index grain = 256;             // rows of X w that a thread takes at a time

std::uint64_t next_random(std::uint64_t& state) {  // splitmix64
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

Index below(std::uint64_t& state, Index count) {
    return Index((unsigned __int128)(next_random(state)) * (unsigned __int128)(count) >> 64);
}

}  // namespace

template <class T>
double FeatureRows<T>::dot(Index begin, Index length, const double* w) const {
    if (!start) return loops->dot(value + begin, w, length);
    const T* x = value + begin;
    const std::int32_t* at = feature + begin;
    double a = 0, b = 0, c = 0, d = 0;
    Index k = 0;
    for (; k + 4 <= length; k += 4) {
        a += double(x[k]) * w[at[k]];
        b += double(x[k + 1]) * w[at[k + 1]];
        c += double(x[k + 2]) * w[at[k + 2]];
        d += double(x[k + 3]) * w[at[k + 3]];
    }
    for (; k < length; ++k) a += double(x[k]) * w[at[k]];
    return (a + b) + (c + d);
}

template <class T>
void FeatureRows<T>::add(Index begin, Index length, double factor, double* w) const {
    if (!start) return loops->add_row(factor, value + begin, w, length);
    for (Index k = begin; k < begin + length; ++k) w[feature[k]] += factor * double(value[k]);
}

template <class T>
double FeatureRows<T>::squared_norm(Index begin, Index length) const {
    double sum = 0;
    for (Index k = begin; k < begin + length; ++k) sum += double(value[k]) * double(value[k]);
    return sum;
}

template <class T>
void FeatureRows<T>::prefetch(Index begin, Index length) const {
    constexpr Index line = 64 / sizeof(T);
    for (Index k = 0; k < std::min(length, most_lines * line); k += line) __builtin_prefetch(value + begin + k);
    if (start)
        for (Index k = 0; k < std::min(length, most_lines * 16); k += 16) __builtin_prefetch(feature + begin + k);
}

template <class T>
void add_weights(const FeatureRows<T>& rows, const double* coef, Index first, Index last, double* w) {
    for (Index i = first; i < last; ++i)
        if (coef[i] != 0) rows.add(i, coef[i], w);
}

template <class T>
void row_values(const FeatureRows<T>& rows, const double* w, Index first, Index last, double* out, int threads) {
    parallel(last - first, grain, threads, [&](Index begin, Index end) {
        for (Index i = first + begin; i < first + end; ++i) out[i] = rows.dot(i, w);
    });
}

template <class T>
void add_outer(const FeatureRows<T>& rows, const Index* index, const double* weight, Index count, double* out,
               int threads) {
    const Index d = rows.features, stride = (d + widest_tile - 1) / widest_tile * widest_tile;
    const Index step = std::clamp<Index>(panel_values / std::max<Index>(stride, 1), 16, std::max<Index>(count, 16));
    Buffer<double> panel = allocate<double>(std::size_t(step) * stride);
    for (Index begin = 0; begin < count; begin += step) {
        const Index held = std::min(step, count - begin);
        parallel(held, 64, threads, [&](Index first, Index last) {
            for (Index r = first; r < last; ++r) {
                double* row = panel.get() + r * stride;
                std::fill_n(row, stride, 0.0);
                rows.add(index[begin + r], std::sqrt(weight[begin + r]), row);
            }
        });
        parallel(d, 4, threads, [&](Index first, Index last) {
            rows.loops->add_outer(panel.get(), held, stride, d, first, last, out);
        });
    }
}

template <class T>
LinearCoordinate<T>::LinearCoordinate(const Problem& problem, const FeatureRows<T>& rows, LinearKernel kernel,
                                      const double* beta, std::uint64_t seed, bool shrinking)
    : rows_(rows),
      kernel_(kernel),
      per_row_(problem.variables / problem.rows),
      shrinking_(shrinking),
      coefficients_(problem.variables),
      w_(rows.features),
      total_(problem.sums ? problem.totals[0] : 0.0),
      random_(seed) {
    for (Index i = 0; i < rows.count; ++i) {
        const Index begin = rows.begin(i), length = rows.length(i);
        const double curvature = kernel.scale * rows.squared_norm(begin, length) + kernel.constant;
        bool movable = false;
        for (Index k = 0; k < per_row_; ++k) {
            const Index v = k * rows.count + i;
            coefficients_[i * per_row_ + k] = {
                0, problem.lower[v], problem.upper[v], problem.linear[v], problem.ridge[v], curvature, begin, length};
            movable |= problem.lower[v] < problem.upper[v];
        }
        if (movable) order_.push_back(i);
    }
    load(beta);
}

template <class T>
std::vector<double> LinearCoordinate<T>::beta() const {
    std::vector<double> beta(coefficients_.size());
    for (Index i = 0; i < rows_.count; ++i)
        for (Index k = 0; k < per_row_; ++k) beta[k * rows_.count + i] = coefficients_[i * per_row_ + k].beta;
    return beta;
}

template <class T>
void LinearCoordinate<T>::load(const double* beta) {
    std::fill(w_.begin(), w_.end(), 0.0);
    sum_ = 0;
    for (Index i = 0; i < rows_.count; ++i) {
        double coef = 0;
        for (Index k = 0; k < per_row_; ++k) {
            coefficients_[i * per_row_ + k].beta = beta[k * rows_.count + i];
            coef += beta[k * rows_.count + i];
        }
        sum_ += coef;
        if (coef != 0) rows_.add(i, coef, w_.data());
    }
    activate_all();
}

template <class T>
void LinearCoordinate<T>::activate_all() {
    active_ = Index(order_.size());
    keep_below_ = infinity;
    keep_above_ = -infinity;
    violation_ = infinity;
    in_epoch_ = false;
}

template <class T>
void LinearCoordinate<T>::set_bias(double multiplier, double penalty) {
    multiplier_ = multiplier;
    penalty_ = penalty;
}

template <class T>
void LinearCoordinate<T>::begin_epoch() {
    for (Index k = active_ - 1; k > 0; --k) std::swap(order_[k], order_[below(random_, k + 1)]);
    highest_ = lowest_ = 0;
    at_ = 0;
    in_epoch_ = true;
}

template <class T>
bool LinearCoordinate<T>::visit(Coefficient* first) {
    const double level = kernel_.constant * sum_ + bias(), own = first->curvature + penalty_;
    const double value = kernel_.scale * rows_.dot(first->begin, first->length, w_.data()) + level;
    double moved = 0;
    bool wanted = false;
    for (Coefficient* c = first; c < first + per_row_; ++c) {
        if (c->lower == c->upper) continue;
        const double slope = value + own * moved + c->ridge * c->beta + c->linear;
        if (c->beta == c->lower && slope >= 0) {
            wanted |= slope <= keep_below_;
            continue;
        }
        if (c->beta == c->upper && slope <= 0) {
            wanted |= slope >= keep_above_;
            continue;
        }
        wanted = true;
        highest_ = std::max(highest_, slope);
        lowest_ = std::min(lowest_, slope);
        const double curvature = own + c->ridge;
        const double step = curvature > no_curvature ? slope / curvature : std::copysign(infinity, slope);
        const double to = slope == 0 ? c->beta : std::clamp(c->beta - step, c->lower, c->upper);
        if (to == c->beta) continue;
        moved += to - c->beta;
        c->beta = to;
        ++updates_;
    }
    if (moved != 0) {
        rows_.add(first->begin, first->length, moved, w_.data());
        sum_ += moved;
    }
    return wanted;
}

template <class T>
EpochEnd LinearCoordinate<T>::run(double goal, Index most, double seconds) {
    const double deadline = seconds_now() + seconds;
    double clock = visited_ + clock_work;
    const Index end = epochs_ + most;
    while (epochs_ < end) {
        if (!in_epoch_) begin_epoch();
        while (at_ < active_) {
            if (at_ + 2 * ahead < active_) __builtin_prefetch(&coefficients_[order_[at_ + 2 * ahead] * per_row_]);
            if (at_ + ahead < active_) {
                const Coefficient& next = coefficients_[order_[at_ + ahead] * per_row_];
                rows_.prefetch(next.begin, next.length);
            }
            Coefficient* row = &coefficients_[order_[at_] * per_row_];
            visited_ += double(row->length) + 1;
            if (visit(row) || !shrinking_)
                ++at_;
            else
                std::swap(order_[at_], order_[--active_]);
            if (visited_ > clock) {
                if (seconds_now() > deadline) return EpochEnd::paused;
                clock = visited_ + clock_work;
            }
        }
        in_epoch_ = false;
        ++epochs_;
        violation_ = highest_ - lowest_;
        keep_below_ = highest_ > 0 ? highest_ : infinity;
        keep_above_ = lowest_ < 0 ? lowest_ : -infinity;
        if (violation_ <= goal || active_ == 0) return EpochEnd::settled;
    }
    return EpochEnd::finished;
}

#define ADATRON_LINEAR(T)                                                                             \
    template struct FeatureRows<T>;                                                                   \
    template void add_weights(const FeatureRows<T>&, const double*, Index, Index, double*);           \
    template void row_values(const FeatureRows<T>&, const double*, Index, Index, double*, int);       \
    template void add_outer(const FeatureRows<T>&, const Index*, const double*, Index, double*, int); \
    template class LinearCoordinate<T>;
ADATRON_LINEAR(float)
ADATRON_LINEAR(double)
#undef ADATRON_LINEAR

}  // namespace adatron
