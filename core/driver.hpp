// The driver: takes one problem from a start to coefficients whose KKT violation is within a tolerance.
//
// It is the only loop around the engine, for single problems, batches, folds and paths alike:
//
//   run the engine on the active rows -> K·fold(β) afresh, from the caller -> KKT violation -> choose active rows
//
// The product comes from the caller (`needs_product`), who may have to compute it in Python, in slices, or knows a
// cheaper way to be sure of it. The engine's own sums are never what ends a run as converged.
//
// Where few rows will support the model, a round over few active rows costs less. Two ways lead there, both optional:
// growing samples at the start, and then only the rows near the margin.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "engine.hpp"

namespace adatron {

// Variables up to which the working set is the whole problem: 569 rows take 1.65 ms instead of 2.8, 1,000 rows 4.9
// instead of 7.5. Fewer where two variables share a row and the matrix has to be gathered; more where it lies there as
// the engine takes it: 325 problems of 1,540 rows and 16 features take 4.3 s instead of 6.0, of 2,400 rows 11.3 instead
// of 12.4, but 45 of 1,800 rows and 784 features 1.6 instead of 1.35.
constexpr Index whole_problem = 1000, whole_doubled = 700, whole_in_place = 1700;

// Which rows are active, where not all are: those that violate optimality or are free, and the nearest to that.
struct ActiveRows {
    bool near_margin = false;  // or else all
    double neighbours = 2.0;   // active rows for each that violates or is free
    Index spare = 256;         // and so many more
    double most = 0.5;         // of all rows; where more would be active, all are
    bool keep = false;         // active rows stay as long as they will do, and those that are lacking join them ...
    Index joining = 64;        // ... with so many more
};

struct DriverOptions {
    RunOptions run;  // `goal` is the tolerance; limits count from `load` on
    ActiveRows active;
    Index working_size = 0;     // 0: by the number of rows
    Index idle_runs = 2;        // in a row, none with a violation a tenth smaller, before the problem has stalled
    bool ends_stalled = false;  // a run that stalls, and whose violation is too large, is the last
    double time_left = std::numeric_limits<double>::infinity();  // seconds, which limit working sets
};

template <class T>
class Driver {
public:
    explicit Driver(Gram<T>& gram) : gram_(gram) {}

    // A problem, and where to start: `product` = K·fold(beta) over all rows.
    void load(const Problem& problem, const double* beta, const double* product);
    // Begin with growing parts of the rows, in this order. Unless `always`, all rows follow the first part where too
    // many of it are support vectors.
    void begin_with_samples(const Index* order, Index count, bool always);

    // Goes on for about `options.run.seconds`. needs_rows: fetch `working_rows()`, then call again. needs_product: call
    // `judge`, then again. Anything else but `running` is the end.
    RunState advance(const DriverOptions& options);
    void judge(const double* product);  // K·fold(β) over all rows, for β as `write` has it now

    void write(double* beta) const;
    Index variables() const { return Index(beta_.size()); }
    Index rows() const { return rows_; }
    std::vector<double> product() const;  // as the engine has it; of rows that are not active, the last known
    bool product_is_complete() const { return running_ && gram_.active_count() == rows_; }
    double violation() const { return violation_; }  // of the last product that was judged
    const std::vector<Index>& working_rows() const { return engine_->working_rows(); }
    Index active_rows() const { return gram_.active_count(); }
    bool has_engine() const { return bool(engine_); }
    double bias() const { return engine_ ? engine_->bias() : 0.0; }
    Account account() const { return engine_->account(); }
    Index steps() const { return steps_ + (running_ ? engine_->steps() - engine_start_.steps : 0); }
    double effort() const { return effort_ + (running_ ? engine_->effort() - engine_start_.effort : 0); }
    Index rounds() const { return rounds_ + (running_ ? engine_->rounds() - engine_start_.rounds : 0); }
    std::vector<TraceRow> trace() const;
    const Gram<T>& gram() const { return gram_; }

private:
    enum class Phase : std::uint8_t { judged, running, waiting, ended };
    struct Counts {
        Index steps = 0, rounds = 0;
        double effort = 0;
    };
    Problem problem() const;
    bool begin_run(const DriverOptions& options);
    bool take();
    Index sample_size() const;
    std::vector<double> slack() const;
    std::vector<Index> near_margin(const ActiveRows& options) const;
    void start_engine(const std::vector<Index>& rows, const DriverOptions& options);
    void end_engine();
    TraceRow numbered(TraceRow row) const;
    RunOptions engine_options(const DriverOptions& options, double seconds) const;
    int working_size(const DriverOptions& options) const;
    double noise() const;

    Gram<T>& gram_;
    std::vector<double> linear_, lower_, upper_, ridge_, beta_, product_;
    std::vector<std::int8_t> group_;
    double totals_[2] = {0, 0};
    int sums_ = 0;
    Index rows_ = 0;

    std::unique_ptr<Engine<T>> engine_;  // kept from run to run, and from problem to problem, with its kernel values
    int engine_size_ = 0;                // of its working set
    Counts engine_start_;                // what it had counted before this run
    bool running_ = false;               // it has this problem, and counts that are not in the sums below
    Index steps_ = 0, rounds_ = 0;
    double effort_ = 0;
    std::vector<TraceRow> trace_;

    Phase phase_ = Phase::judged;
    RunState state_ = RunState::running;  // in which the last run ended
    double violation_ = 0, least_ = 0, goal_ = 0;
    Index idle_ = 0;
    bool first_run_ = true;
    std::vector<Index> order_;  // of samples; empty: none, or done with
    std::size_t sample_ = 0;
    bool always_few_ = false, few_pay_ = true;
};

}  // namespace adatron
