#include "pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace adatron {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double flatness = 1e-12;  // η below this part of K₁₁ + K₂₂ is rounding
constexpr double landing = 1e-12;   // so near a bound, in parts of the box, is on it
constexpr Index look_at_clock = 32;

double landed(double value, double low, double high) {
    const double reach = landing * (high - low);
    if (!std::isfinite(reach)) return value <= low ? low : value >= high ? high : value;
    return value <= low + reach ? low : value >= high - reach ? high : value;
}

}  // namespace

template <class T>
Pairs<T>::Pairs(const Problem& problem, Gram<T>& gram, const double* beta, const double* product, double bias,
                std::uint32_t seed)
    : Climb<T>(problem, gram, beta, product), bias_(bias), random_(seed) {}

template <class T>
bool Pairs<T>::violates(Index v, double tolerance) const {
    const double e = error(v);
    return (e < -tolerance && this->may_grow(v)) || (e > tolerance && this->may_shrink(v));
}

template <class T>
bool Pairs<T>::have_rows(Index first, Index second) {
    if (this->row(first) && this->row(second)) return true;
    this->wanted_.assign({this->row_of(first), this->row_of(second)});
    return false;
}

template <class T>
void Pairs<T>::apply(Index i, Index j, double to_i, double to_j) {
    const double move_i = to_i - this->beta_[i], move_j = to_j - this->beta_[j];
    this->beta_[i] = to_i;
    this->beta_[j] = to_j;
    this->add_rows({move_i, move_j}, {this->row(i), this->row(j)});
    ++this->updates_;
    last_[0] = i;
    last_[1] = j;
}

template <class T>
typename Pairs<T>::Tried Pairs<T>::step(Index i, Index j, double least_move, bool flat_too) {
    const auto& lower = this->lower_;
    const auto& upper = this->upper_;
    const double beta_i = this->beta_[i], beta_j = this->beta_[j], sum = beta_i + beta_j;
    const double low = std::max(lower[j], sum - upper[i]), high = std::min(upper[j], sum - lower[i]);
    if (i == j || !(high > low)) return Tried::failed;
    if (!this->row(i)) {
        have_rows(i, j);
        return Tried::missing;
    }
    const double e_i = error(i), e_j = error(j), k_ij = double(this->row(i)[this->row_of(j)]);
    const double both = this->curvature(i) + this->curvature(j), eta = both - 2 * k_ij;
    double to_j;
    if (eta > flatness * both) {
        to_j = std::clamp(beta_j + (e_i - e_j) / eta, low, high);
    } else if ((e_i > e_j ? high == infinity : low == -infinity) && std::abs(e_i - e_j) > both * flatness) {
        return Tried::endless;  // the objective falls along a straight line that nothing ends
    } else if (flat_too && std::isfinite(low) && std::isfinite(high)) {
        const auto change = [&](double end) { return (end - beta_j) * ((e_j - e_i) + 0.5 * eta * (end - beta_j)); };
        const double at_low = change(low), at_high = change(high);
        if (std::abs(at_low - at_high) <= least_move) return Tried::failed;
        to_j = at_low < at_high ? low : high;
    } else {
        return Tried::failed;
    }
    to_j = landed(landed(to_j, low, high), lower[j], upper[j]);  // its own bound may differ from the segment's end
    // relative for Platt, outright for the simplified rule
    const double threshold = flat_too ? least_move * (std::abs(to_j) + std::abs(beta_j) + least_move) : least_move;
    if (std::abs(to_j - beta_j) < threshold || to_j == beta_j) return Tried::failed;
    if (!have_rows(i, j)) return Tried::missing;
    const double to_i = landed(sum - to_j, lower[i], upper[i]);
    const double move_i = to_i - beta_i, move_j = to_j - beta_j;
    apply(i, j, to_i, to_j);
    const double b_i = bias_ - e_i - move_i * this->curvature(i) - move_j * k_ij;
    const double b_j = bias_ - e_j - move_i * k_ij - move_j * this->curvature(j);
    bias_ = this->free(i) ? b_i : this->free(j) ? b_j : 0.5 * (b_i + b_j);
    return Tried::stepped;
}

// The second choice: the largest |E₁ − E₂| among the free; any free one; any one at all, both from a random place on.
template <class T>
typename Pairs<T>::Tried Pairs<T>::examine(Index first, const PairRules& rules) {
    const Index n = this->variables();
    const double e = error(first);
    double farthest = -1;
    Index best = -1;
    for (Index v = 0; v < n; ++v) {
        if (v == first || !this->free(v)) continue;
        const double distance = std::abs(e - error(v));
        if (distance > farthest) farthest = distance, best = v;
    }
    Tried tried = best < 0 ? Tried::failed : step(first, best, rules.progress, true);
    for (int any = 0; any < 2 && tried == Tried::failed; ++any) {
        if (from_[any] < 0) from_[any] = draw(n);
        for (Index k = 0; k < n && tried == Tried::failed; ++k) {
            const Index v = (from_[any] + k) % n;
            if (any || this->free(v)) tried = step(first, v, rules.progress, true);
        }
    }
    if (tried != Tried::missing) from_[0] = from_[1] = -1;  // else it is examined again, when the row is there
    return tried;
}

template <class T>
PairEnd Pairs<T>::platt(const PairRules& rules) {
    const double deadline = seconds_now() + rules.seconds;
    const Index last_step = this->updates_ + rules.most;
    for (Index looked = 0;;) {
        for (; at_ < this->variables(); ++at_) {
            if ((!all_ && !this->free(at_)) || !violates(at_, rules.tolerance)) continue;
            if (this->updates_ >= last_step || (++looked % look_at_clock == 0 && seconds_now() > deadline))
                return PairEnd::paused;
            const Tried tried = examine(at_, rules);
            if (tried == Tried::missing) return PairEnd::missing;
            if (tried == Tried::endless) return PairEnd::unbounded;
            changed_ += tried == Tried::stepped;
        }
        ++passes_;
        at_ = 0;
        const bool changed = changed_ > 0;
        changed_ = 0;
        if (all_ && !changed) return PairEnd::finished;
        all_ = !all_ && !changed;
        if (seconds_now() > deadline) return PairEnd::paused;
    }
}

template <class T>
PairEnd Pairs<T>::simplified(const PairRules& rules, Index quiet_passes) {
    const double deadline = seconds_now() + rules.seconds;
    const Index n = this->variables(), last_step = this->updates_ + rules.most;
    for (Index looked = 0;;) {
        for (; at_ < n; ++at_) {
            if (!violates(at_, rules.tolerance)) continue;
            if (this->updates_ >= last_step || (++looked % look_at_clock == 0 && seconds_now() > deadline))
                return PairEnd::paused;
            if (drawn_ < 0) {
                drawn_ = draw(n - 1);
                drawn_ += drawn_ >= at_;
            }
            const Tried tried = step(at_, drawn_, rules.progress, false);
            if (tried == Tried::missing) return PairEnd::missing;
            if (tried == Tried::endless) return PairEnd::unbounded;
            drawn_ = -1;
            changed_ += tried == Tried::stepped;
        }
        ++passes_;
        at_ = 0;
        quiet_ = changed_ ? 0 : quiet_ + 1;
        changed_ = 0;
        if (quiet_ >= quiet_passes) {
            quiet_ = 0;
            return PairEnd::finished;
        }
        if (seconds_now() > deadline) return PairEnd::paused;
    }
}

template <class T>
PairEnd Pairs<T>::extreme(const PairRules& rules) {
    const double deadline = seconds_now() + rules.seconds;
    for (Index made = 0; made < rules.most; ++made) {
        double top[2] = {-infinity, -infinity}, bottom[2] = {infinity, infinity};
        Index grows[2] = {-1, -1}, shrinks[2] = {-1, -1};
        for (Index v = 0; v < this->variables(); ++v) {
            const int s = this->sums_ == 2 ? this->group_[v] : 0;
            const double ascent = -this->gradient(v);
            if (this->may_grow(v) && ascent > top[s]) top[s] = ascent, grows[s] = v;
            if (this->may_shrink(v) && ascent < bottom[s]) bottom[s] = ascent, shrinks[s] = v;
        }
        const int s = this->sums_ == 2 && top[1] - bottom[1] > top[0] - bottom[0];
        const double gap = top[s] - bottom[s];
        if (!(gap > rules.tolerance)) return PairEnd::finished;
        const Index i = grows[s], j = shrinks[s];
        if (!have_rows(i, j)) return PairEnd::missing;
        const double both = this->curvature(i) + this->curvature(j);
        const double eta = both - 2 * double(this->row(i)[this->row_of(j)]);
        const double room_i = this->upper_[i] - this->beta_[i], room_j = this->beta_[j] - this->lower_[j];
        const double room = std::min(room_i, room_j);
        const bool flat = !(eta > flatness * both);
        if (flat && room == infinity) return PairEnd::unbounded;
        const double move = flat ? room : std::min(room, gap / eta);
        const double to_i = move >= room_i ? this->upper_[i] : this->beta_[i] + move;
        const double to_j = move >= room_j ? this->lower_[j] : this->beta_[j] - move;
        if (to_i == this->beta_[i] && to_j == this->beta_[j]) return PairEnd::finished;  // nothing left but rounding
        apply(i, j, to_i, to_j);
        if (made % look_at_clock == look_at_clock - 1 && seconds_now() > deadline) return PairEnd::paused;
    }
    return PairEnd::paused;
}

template class Pairs<float>;
template class Pairs<double>;

}  // namespace adatron
