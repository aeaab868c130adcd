// Two coefficients at a time, their sum kept: the step of SMO, and three ways to choose the two.
//
//   β₂ ← clip(β₂ + (E₁ − E₂) / η),  β₁ ← s − β₂,  s = β₁ + β₂,  η = K₁₁ + K₂₂ − 2 K₁₂,  E = g + b.
//
// All in signed coefficients (β = y α), in which both cases of the ends L and H are one. The cache of errors is the
// gradient itself, kept for every point.
#pragma once

#include <random>

#include "climb.hpp"

namespace adatron {

struct PairRules {
    double tolerance;  // E beyond it violates optimality
    double progress;   // steps smaller than this, relative to the coefficients (or outright), count for nothing
    double seconds;    // when to come up for air
    Index most;        // steps
};

enum class PairEnd : std::uint8_t { paused, missing, finished, unbounded };

template <class T>
class Pairs : public Climb<T> {
public:
    Pairs(const Problem& problem, Gram<T>& gram, const double* beta, const double* product, double bias,
          std::uint32_t seed);

    // Platt's SMO: both loops, the second choice and its fallbacks. Each returns why it ended.
    PairEnd platt(const PairRules& rules);
    // The first in turn, the second at random; finished after `quiet_passes` passes without a step.
    PairEnd simplified(const PairRules& rules, Index quiet_passes);
    // The pair that violates optimality most, in the group where that is worst: for sums, one or two.
    PairEnd extreme(const PairRules& rules);

    double bias() const { return bias_; }
    Index passes() const { return passes_; }
    Index last_first() const { return last_[0]; }
    Index last_second() const { return last_[1]; }

private:
    enum class Tried : std::uint8_t { failed, stepped, missing, endless };
    double error(Index v) const { return this->gradient(v) + bias_; }
    bool violates(Index v, double tolerance) const;
    Tried examine(Index first, const PairRules& rules);
    Tried step(Index first, Index second, double least_move, bool flat_too);
    void apply(Index first, Index second, double to_first, double to_second);
    bool have_rows(Index first, Index second);
    Index draw(Index count) { return Index(random_() % std::uint32_t(count)); }

    double bias_;
    std::mt19937 random_;
    Index at_ = 0, changed_ = 0, passes_ = 0, quiet_ = 0;
    bool all_ = true;
    Index from_[2] = {-1, -1};  // where the fallback loops of the point under examination begin: drawn once
    Index drawn_ = -1;          // the partner of the simplified rule, likewise
    Index last_[2] = {-1, -1};
};

}  // namespace adatron
