// The engine: working-set decomposition for the one problem (see problems.py):
//
//   minimise  ½ βᵀKβ + ½ Σ r β² + pᵀβ   over  lower ≤ β ≤ upper  and up to two sums,
//
// round by round: select the coefficients that violate optimality most, solve the small problem on them in
// cache (pair.inl), carry the change over to the gradient of all active coefficients.
//
// A problem without a sum is one with a sum and a phantom coefficient that takes up the slack: its kernel row is
// zero and its box the whole line. So there is one way to step, whatever the problem.
#pragma once

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "account.hpp"
#include "face.hpp"
#include "gram.hpp"

namespace adatron {

// Where a run stands: still running (its time is up), waiting for rows or for a product (driver.hpp) that the caller
// has to make, or at an end.
enum class RunState : std::uint8_t { converged, running, needs_rows, needs_product, stalled, out_of_steps, unbounded };

// How to run. One loop serves single problems, batches, folds and paths: what they do differently is here.
struct RunOptions {
    double goal = 1e-3;                                           // KKT violation among the active rows
    double seconds = std::numeric_limits<double>::infinity();     // to return after, about
    double max_steps = std::numeric_limits<double>::infinity();   // pair steps of this engine in all
    double max_effort = std::numeric_limits<double>::infinity();  // the same, with Newton steps at what they cost
    double stay = 0.5;        // share of the working set that stays for the next round
    Index patience = 100;     // rounds without a smaller violation before the run has stalled
    bool each_round = false;  // return after each choice of a working set
    bool record = false;      // keep a row of the trace for each round
};

// A row of the trace.
struct TraceRow {
    double time;  // of seconds_now()
    Account account;
    double bias;
    Index rounds, steps, rows_computed, active;
};

template <class T>
class Engine {
public:
    // `beta` over all variables, `product` = K·fold(beta) over the Gram's active rows.
    Engine(const Problem& problem, Gram<T>& gram, const double* beta, const double* product, int working_size);

    // Another problem over the same rows; kernel values of the working set stay at hand.
    void load(const Problem& problem, const double* beta, const double* product);

    double select();  // the working set; returns the gap among the active (see certificate: KKT violation)
    const std::vector<Index>& working_rows() const { return working_rows_; }
    // Solves on the working set, whose rows must have been fetched, and updates the gradient.
    PairOutcome advance(double tolerance, Index max_steps);

    // Rounds until the KKT violation is at most the goal or something else ends the run; called again, it goes on.
    RunState run(const RunOptions& options);
    const std::vector<TraceRow>& trace() const { return trace_; }
    std::vector<TraceRow> take_trace() { return std::exchange(trace_, {}); }

    // The free coefficients as far as they go by themselves (see face.hpp); how many they are, 0 if nothing was done:
    // more than `most` of them, or some without a kernel row at hand. -1 after about `seconds`: to be called again.
    Index newton(Index most, double seconds);

    const Gram<T>& gram() const { return gram_; }
    Index problem_variables() const { return (doubled_ ? 2 : 1) * problem_rows_; }
    void write(double* beta) const;  // active ones; others are left
    const std::vector<double>& product() const { return product_; }
    double gap() const { return gap_; }
    double bias() const { return 0.5 * (level(0) + level(sums_ == 2)); }
    Account account() const;  // of the active coefficients, after `select`
    Index steps() const { return steps_; }
    double effort() const { return double(steps_) + newton_effort_; }
    Index rounds() const { return rounds_; }
    Index newtons() const { return newtons_; }

private:
    struct Range {
        double top, bottom;       // max of −g among those that may grow, min among those that may shrink
        Index top_at, bottom_at;  // where; the phantom's place if it is that
    };
    void extremes();
    void choose();
    void lay_out();
    bool mostly_nothing() const;
    bool takes_all() const;
    double take_all();
    void gather_block(const std::vector<const T*>& row);
    PairOutcome solve_stretches(PairProblem<T>& problem);
    void carry(const std::vector<Index>& variables, const std::vector<double>& change);
    bool begin_newton(Index most);
    bool bring(const std::vector<Index>& rows);
    void record();
    bool hulls_meet() const;
    bool falls_forever() const;
    double noise() const;
    double sum_of_coefficients() const;
    Index step_limit(const RunOptions& options) const;
    bool out_of_steps(const RunOptions& options) const;
    Index end_newton(double deadline);
    double level(int group) const { return sums_ ? 0.5 * (range_[group].top + range_[group].bottom) : 0.0; }
    // An odd number of cache lines, so that a column of the block does not fall into few sets of the cache.
    Index block_stride() const {
        constexpr Index line = 64 / sizeof(T);
        return ((Index(place_.size()) + line - 1) / line | 1) * line;
    }
    Index row_of(Index v) const { return v < rows_ ? v : v - rows_; }

    Gram<T>& gram_;
    int sums_, working_size_;
    bool doubled_;
    Index rows_ = 0;  // active
    std::vector<double> beta_, linear_, lower_, upper_, ridge_, product_, ascent_;
    std::vector<std::int8_t> group_;
    Range range_[2];
    double gap_ = 0, best_gap_ = std::numeric_limits<double>::infinity();
    Index best_round_ = 0;
    double stay_ = 0.5;  // part of the working set
    double totals_[2];
    Index steps_ = 0, rounds_ = 0, newtons_ = 0;
    double newton_effort_ = 0;  // in pair steps
    Index problem_rows_;

    std::vector<Index> working_, working_rows_;  // variables (active numbering), kernel rows (the problem's numbering)
    std::vector<Index> place_;                   // position in the block -> variable, or padding, or phantom
    int segment_end_[2] = {0, 0};
    std::vector<std::uint8_t> fresh_;  // position whose kernel values are not in the block yet
    std::vector<std::int8_t> in_working_;
    std::vector<std::uint32_t> entered_;
    Buffer<T> block_;  // kernel values of the working set, kept from round to round to spare the system
    Index block_size_ = 0;
    std::unique_ptr<Descent> descent_;  // the Newton step under way
    std::vector<Index> moving_;         // its variables
    bool all_ = false;                  // the working set is everything, its block the matrix itself
    bool blocks_ = false;               // then: its blocks of zeros are passed over

    enum class Phase : std::uint8_t { choose, move, newton } phase_ = Phase::choose;
    bool newton_works_ = true;  // as far as the last try can tell
    bool bounded_ = true;       // the box, or a ridge, or two sums: an optimum exists
    std::vector<TraceRow> trace_;
    Index trace_every_ = 1;  // rounds
};

}  // namespace adatron
