#include "driver.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "certificate.hpp"
#include "climb.hpp"

namespace adatron {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double progress = 0.9;     // times the violation counts as progress between two runs
constexpr double few_goal = 0.03;    // part of the violation that a run over few rows aims at ...
constexpr double below_goal = 0.9;   // ... but for this part of the tolerance: the whole has to meet it in the end
constexpr double sample_goal = 0.1;  // KKT violation of a sample: its own optimum is worth no more
constexpr double samples[] = {0.1, 0.33};  // parts of the rows. ijcnn1: half the time of a start with all rows
constexpr double lean_support = 0.2;       // of the first sample: with more support vectors, few rows do not pay
constexpr double roomy = 1.6;              // times the rows that would do: then they are chosen anew

constexpr Index medium = 512, large = 1024;
constexpr Index many = 12000;         // rows from which on the large one pays
constexpr Index whole_patience = 50;  // rounds without a smaller violation, where each takes in the whole problem
constexpr double slow_rate = 2e10;    // multiply-adds a second to count on
constexpr double part_of_time = 0.1;  // that the rows of one working set may take
constexpr double smallest_set = 64;

}  // namespace

template <class T>
void Driver<T>::load(const Problem& p, const double* beta, const double* product) {
    end_engine();
    if (engine_ && (p.sums != sums_ || p.rows != rows_ || p.variables != variables())) engine_.reset();
    const auto copy = [&](std::vector<double>& to, const double* from) { to.assign(from, from + p.variables); };
    copy(linear_, p.linear);
    copy(lower_, p.lower);
    copy(upper_, p.upper);
    copy(ridge_, p.ridge);
    copy(beta_, beta);
    group_.assign(p.group, p.group + p.variables);
    std::copy_n(p.totals, 2, totals_);
    sums_ = p.sums;
    rows_ = p.rows;
    phase_ = Phase::judged;
    least_ = infinity;
    idle_ = 0;
    order_.clear();
    first_run_ = true;
    few_pay_ = true;
    steps_ = rounds_ = 0;
    effort_ = 0;
    trace_.clear();
    judge(product);
}

template <class T>
void Driver<T>::begin_with_samples(const Index* order, Index count, bool always) {
    order_.assign(order, order + count);
    sample_ = 0;
    always_few_ = always;
}

template <class T>
Problem Driver<T>::problem() const {
    return {linear_.data(), lower_.data(), upper_.data(), ridge_.data(),           group_.data(),
            variables(),    rows_,         sums_,         {totals_[0], totals_[1]}};
}

template <class T>
RunState Driver<T>::advance(const DriverOptions& o) {
    const double deadline = seconds_now() + o.run.seconds;
    for (bool begun = false;; begun = true) {
        if (phase_ == Phase::judged) phase_ = begin_run(o) ? Phase::running : Phase::ended;
        if (phase_ == Phase::waiting) return RunState::needs_product;
        if (phase_ == Phase::ended) return state_;
        const double left = deadline - seconds_now();
        if (begun && left <= 0) return RunState::running;
        const RunState at = engine_->run(engine_options(o, std::max(left, 0.0)));
        if (at == RunState::running || at == RunState::needs_rows) return at;
        state_ = at;
        phase_ = at == RunState::converged || at == RunState::stalled ? Phase::waiting : Phase::ended;
        if (phase_ == Phase::waiting && !take()) {
            state_ = RunState::stalled;
            phase_ = Phase::ended;
        }
    }
}

// The engine's coefficients, unless they have overflowed.
template <class T>
bool Driver<T>::take() {
    std::vector<double> now = beta_;
    engine_->write(now.data());
    if (!std::all_of(now.begin(), now.end(), [](double b) { return std::isfinite(b); })) return false;
    beta_ = std::move(now);
    return true;
}

template <class T>
void Driver<T>::judge(const double* product) {
    product_.assign(product, product + rows_);
    violation_ = adatron::violation(problem(), beta_.data(), product_.data()).kkt;
    phase_ = Phase::judged;
    if (order_.empty()) return;
    // a sample has been solved: the next, or all rows
    const Index members = sample_size();
    const Index support = std::count_if(order_.begin(), order_.begin() + members, [&](Index r) {
        return beta_[r] + (variables() > rows_ ? beta_[r + rows_] : 0.0) != 0;
    });
    few_pay_ = always_few_ || double(support) <= lean_support * double(members);
    if (!few_pay_ || ++sample_ == std::size(samples)) order_.clear();
}

template <class T>
Index Driver<T>::sample_size() const {
    return std::max<Index>(Index(samples[sample_] * double(order_.size())), 1);
}

// Chooses rows and hands them to the engine; false where there is nothing to do: `state_` says why.
template <class T>
bool Driver<T>::begin_run(const DriverOptions& o) {
    std::vector<Index> rows;  // none: all
    goal_ = o.run.goal;
    if (!order_.empty()) {
        rows.assign(order_.begin(), order_.begin() + sample_size());
        std::sort(rows.begin(), rows.end());
        goal_ = sample_goal;
    } else {
        const bool stalled = state_ == RunState::stalled && !first_run_;
        state_ = RunState::converged;
        if (violation_ <= o.run.goal * certain) return false;
        idle_ = violation_ < progress * least_ ? 0 : idle_ + 1;
        least_ = std::min(least_, violation_);
        state_ = RunState::stalled;
        if ((stalled && o.ends_stalled) || idle_ > o.idle_runs || (idle_ > 0 && least_ < noise())) return false;
        if (o.active.near_margin && few_pay_) rows = near_margin(o.active);
        if (!rows.empty()) goal_ = std::max(below_goal * o.run.goal, few_goal * violation_);
    }
    start_engine(rows, o);
    first_run_ = false;
    return true;
}

// How far each row is from having to move: below 0 if it must, -infinity if a coefficient of it is free.
template <class T>
std::vector<double> Driver<T>::slack() const {
    const Index n = variables();
    std::vector<double> ascent(n), far(rows_, infinity);
    double level[2] = {0, 0};
    Index free[2] = {0, 0};
    const auto group = [&](Index v) { return sums_ == 2 ? group_[v] : 0; };
    for (Index v = 0; v < n; ++v) {
        ascent[v] = -(product_[v % rows_] + ridge_[v] * beta_[v] + linear_[v]);
        if (!sums_ || !(beta_[v] > lower_[v] && beta_[v] < upper_[v])) continue;
        level[group(v)] += ascent[v];
        ++free[group(v)];
    }
    for (int g = 0; g < 2; ++g)
        if (free[g]) level[g] /= double(free[g]);
    for (Index v = 0; v < n; ++v) {
        const bool grows = beta_[v]<upper_[v], shrinks = beta_[v]> lower_[v];
        double& nearest = far[v % rows_];
        const double lack = level[group(v)] - ascent[v];
        if (grows && shrinks)
            nearest = -infinity;
        else if (grows)
            nearest = std::min(nearest, lack);
        else if (shrinks)
            nearest = std::min(nearest, -lack);
    }
    return far;
}

// The rows to run on next; none where that is most of them.
template <class T>
std::vector<Index> Driver<T>::near_margin(const ActiveRows& o) const {
    std::vector<double> far = slack();
    const Index wanted = std::count_if(far.begin(), far.end(), [](double x) { return x < 0; });
    const Index enough = Index(o.neighbours * double(wanted)) + o.spare;
    std::vector<Index> kept;
    if (o.keep && gram_.active_count() < rows_ &&
        !(first_run_ && double(gram_.active_count()) > roomy * double(enough)))
        kept = gram_.active();
    Index lacking = wanted;
    for (Index r : kept) {
        if (far[r] < 0) --lacking;
        far[r] = infinity;
    }
    if (!kept.empty() && lacking == 0) return kept;
    const Index more = kept.empty() ? enough : lacking + lacking / 4 + o.joining;
    if (double(kept.size()) + double(more) > o.most * double(rows_)) return {};
    std::vector<Index> order(rows_);
    std::iota(order.begin(), order.end(), Index(0));
    std::nth_element(order.begin(), order.begin() + more, order.end(),
                     [&](Index a, Index b) { return far[a] < far[b]; });
    kept.insert(kept.end(), order.begin(), order.begin() + more);
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());  // rows that can never move may stand there twice
    return kept;
}

template <class T>
void Driver<T>::start_engine(const std::vector<Index>& rows, const DriverOptions& o) {
    end_engine();
    const bool same = rows.empty() ? gram_.active_count() == rows_ : rows == gram_.active();
    if (!same) {
        engine_.reset();  // its kernel values are those of other rows
        std::vector<Index> all;
        if (rows.empty()) {
            all.resize(rows_);
            std::iota(all.begin(), all.end(), Index(0));
        }
        const std::vector<Index>& active = rows.empty() ? all : rows;
        gram_.activate(active.data(), Index(active.size()));
    }
    std::vector<double> some;
    if (!rows.empty())
        for (Index r : rows) some.push_back(product_[r]);
    const double* product = rows.empty() ? product_.data() : some.data();
    const int size = working_size(o);
    if (engine_ && size == engine_size_)
        engine_->load(problem(), beta_.data(), product);
    else
        engine_ = std::make_unique<Engine<T>>(problem(), gram_, beta_.data(), product, size);
    engine_size_ = size;
    engine_start_ = {engine_->steps(), engine_->rounds(), engine_->effort()};
    running_ = true;
}

// Takes over what the engine has counted.
template <class T>
void Driver<T>::end_engine() {
    if (!running_) return;
    for (TraceRow row : engine_->take_trace()) trace_.push_back(numbered(row));
    steps_ += engine_->steps() - engine_start_.steps;
    rounds_ += engine_->rounds() - engine_start_.rounds;
    effort_ += engine_->effort() - engine_start_.effort;
    running_ = false;
}

// A row of the engine's trace, counted from the start of the problem.
template <class T>
TraceRow Driver<T>::numbered(TraceRow row) const {
    row.steps += steps_ - engine_start_.steps;
    row.rounds += rounds_ - engine_start_.rounds;
    return row;
}

template <class T>
RunOptions Driver<T>::engine_options(const DriverOptions& o, double seconds) const {
    RunOptions run = o.run;
    run.goal = goal_;
    run.seconds = seconds;
    run.max_steps = o.run.max_steps - double(steps_ - engine_start_.steps);
    run.max_effort = o.run.max_effort - (effort_ - engine_start_.effort);
    const Index active = gram_.active_count() * (variables() / rows_);
    if (engine_size_ >= active) run.patience = std::min(run.patience, whole_patience);
    return run;
}

template <class T>
int Driver<T>::working_size(const DriverOptions& o) const {
    const Index rows = gram_.active_count();
    const bool doubled = variables() > rows_;
    const Index n = doubled ? 2 * rows : rows;
    const Index most = doubled ? whole_doubled : gram_.padded_stride() > 0 ? whole_in_place : whole_problem;
    Index size = o.working_size > 0 ? o.working_size : n <= most ? n : rows > many ? large : medium;
    if (o.time_left < infinity && o.working_size == 0) {
        const double affordable = part_of_time * std::max(o.time_left, 0.0) * slow_rate / gram_.row_work();
        size = Index(std::clamp(affordable, std::min(smallest_set, double(size)), double(size)));
    }
    return int(std::min(size, n));
}

// What rounding alone may make of the gradient, in float64.
template <class T>
double Driver<T>::noise() const {
    double largest = 0, sum = 0;
    for (double d : gram_.diagonal()) largest = std::max(largest, std::abs(d));
    for (Index r = 0; r < rows_; ++r) sum += std::abs(beta_[r] + (variables() > rows_ ? beta_[r + rows_] : 0.0));
    return 16 * std::numeric_limits<double>::epsilon() * largest * sum;
}

template <class T>
void Driver<T>::write(double* beta) const {
    std::copy(beta_.begin(), beta_.end(), beta);
    if (running_) engine_->write(beta);
}

template <class T>
std::vector<double> Driver<T>::product() const {
    std::vector<double> out = product_;
    if (running_)
        for (Index k = 0; k < gram_.active_count(); ++k) out[gram_.active()[k]] = engine_->product()[k];
    return out;
}

template <class T>
std::vector<TraceRow> Driver<T>::trace() const {
    std::vector<TraceRow> all = trace_;
    if (running_)
        for (const TraceRow& row : engine_->trace()) all.push_back(numbered(row));
    return all;
}

template class Driver<float>;
template class Driver<double>;

}  // namespace adatron
