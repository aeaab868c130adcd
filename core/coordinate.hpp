// One coefficient at a time: the update that Kernel-Adatron, SVMseq and SOR share,
//
//   β_v ← clip(β_v − step_v · (g_v + shift), lower_v, upper_v).
//
// They differ in the steps, in the order of visits, and in the shift, which is the papers' λ: the bias on trial.
#pragma once

#include "climb.hpp"

namespace adatron {

template <class T>
class Coordinate : public Climb<T> {
public:
    using Climb<T>::Climb;

    // Visits variables in this order until a row is missing (see `wanted`) or the time is used up; returns how many
    // visits were made. With `augment` the shift follows Σβ, as if that were added to every kernel value.
    Index visit(const Index* order, Index count, const double* step, double shift, double augment, double seconds);
    // The same, but each visit goes where the objective falls most; at most `count` of them. Fewer without a missing
    // row or lack of time mean that nothing moves any more.
    Index visit_best(Index count, const double* step, double shift, double augment, double seconds);

    double shift() const { return shift_; }      // as augmentation has left it
    double largest() const { return largest_; }  // |δβ| since `begin_epoch`
    double gain() const { return gain_; }        // fall of the objective since then, the moves' own sum
    void begin_epoch() { largest_ = gain_ = 0; }

private:
    double clipped(Index v, double step, double slope) const;  // where β_v goes
    void move(Index v, double to, double slope, double augment);
    void want(Index v, const Index* order, Index count, const double* step);

    double shift_ = 0, largest_ = 0, gain_ = 0;
    std::vector<double> local_, weight_;
    std::vector<const T*> moved_;
};

}  // namespace adatron
