// Cost of an epoch: a pass over n gradients, and m for each coefficient that moves. Moves are gathered in blocks:
// within a block only the gradients still to be visited in it are kept up to date, afterwards all of them by a pass
// over several rows at once, on all threads. The visits are the same as one by one.
#include "coordinate.hpp"

#include <algorithm>
#include <cmath>

namespace adatron {
namespace {

constexpr Index block = 128;  // their part of as many rows stays in the nearest caches
constexpr Index ahead = 96;   // rows computed at a time, where the next visits need them

}  // namespace

template <class T>
double Coordinate<T>::clipped(Index v, double step, double slope) const {
    return std::clamp(this->beta_[v] - step * slope, this->lower_[v], this->upper_[v]);
}

template <class T>
void Coordinate<T>::move(Index v, double to, double slope, double augment) {
    const double delta = to - this->beta_[v];
    gain_ -= delta * (slope + 0.5 * delta * (this->curvature(v) + augment));
    largest_ = std::max(largest_, std::abs(delta));
    shift_ += augment * delta;
    this->beta_[v] = to;
    ++this->updates_;
}

// The row of v, and of those next in the order that would move as things stand.
template <class T>
void Coordinate<T>::want(Index v, const Index* order, Index count, const double* step) {
    this->wanted_.assign(1, this->row_of(v));
    const Index most = std::min(ahead, this->gram_.capacity());
    for (Index k = 0; k < count && Index(this->wanted_.size()) < most; ++k) {
        const Index u = order[k];
        if (u != v && !this->row(u) && clipped(u, step[u], this->gradient(u) + shift_) != this->beta_[u])
            this->wanted_.push_back(this->row_of(u));
    }
}

template <class T>
Index Coordinate<T>::visit(const Index* order, Index count, const double* step, double shift, double augment,
                           double seconds) {
    const double deadline = seconds_now() + seconds;
    shift_ = shift;
    this->wanted_.clear();
    local_.resize(block);
    for (Index begin = 0; begin < count;) {
        const Index end = std::min(begin + block, count);
        Index missing = -1, at = begin;
        for (Index k = begin; k < end; ++k) local_[k - begin] = this->gradient(order[k]);
        weight_.clear();
        moved_.clear();
        for (; at < end; ++at) {
            const Index v = order[at];
            const double slope = local_[at - begin] + shift_;
            const double to = clipped(v, step[v], slope), delta = to - this->beta_[v];
            if (delta == 0) continue;
            const T* row = this->row(v);
            if (!row) {
                missing = v;
                break;
            }
            move(v, to, slope, augment);
            weight_.push_back(delta);
            moved_.push_back(row);
            for (Index k = at + 1; k < end; ++k) local_[k - begin] += delta * double(row[this->row_of(order[k])]);
        }
        this->add_rows(weight_, moved_);
        begin = at;
        if (missing >= 0) want(missing, order + begin, count - begin, step);
        if (missing >= 0 || seconds_now() > deadline) return begin;
    }
    return count;
}

template <class T>
Index Coordinate<T>::visit_best(Index count, const double* step, double shift, double augment, double seconds) {
    const double deadline = seconds_now() + seconds;
    shift_ = shift;
    this->wanted_.clear();
    for (Index made = 0; made < count; ++made) {
        double best = 0, slope = 0, to = 0;
        Index chosen = -1;
        for (Index v = 0; v < this->variables(); ++v) {
            const double s = this->gradient(v) + shift_, t = clipped(v, step[v], s), delta = t - this->beta_[v];
            const double fall = -delta * (s + 0.5 * delta * (this->curvature(v) + augment));
            if (fall > best) best = fall, chosen = v, slope = s, to = t;
        }
        if (chosen < 0) return made;
        const T* row = this->row(chosen);
        if (!row) {
            this->wanted_.assign(1, this->row_of(chosen));
            return made;
        }
        weight_.assign(1, to - this->beta_[chosen]);
        moved_.assign(1, row);
        move(chosen, to, slope, augment);
        this->add_rows(weight_, moved_);
        if (made % 16 == 15 && seconds_now() > deadline) return made + 1;
    }
    return count;
}

template class Coordinate<float>;
template class Coordinate<double>;

}  // namespace adatron
