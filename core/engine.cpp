#include "engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>

#include "climb.hpp"
#include "pool.hpp"

namespace adatron {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double cached_bonus = 1.2;         // a violator whose row is at hand counts for so much more
constexpr double inner = 0.07;               // the small problem is solved to this part of the gap
constexpr Index pair_steps = 20;             // a member, before all free coefficients move at once
constexpr Index more_pair_steps = 200;       // the same where they cannot: too many, or rows that are not at hand
constexpr double slice_steps = 4e7;          // steps times members that take a few hundredths of a second
constexpr Index small_set = 256;             // members up to which a step takes the same time
constexpr Index most_free = 1400;            // that are worth a factorisation
constexpr double quick_work = 1e9;           // operations that take a hundredth of a second
constexpr double cubes_a_step = 1e4;         // free coefficients, cubed, whose factorisation takes as long as a step
constexpr double few_lit = 0.4;              // stretches: then the matrix is mostly nothing
constexpr double smaller = 0.99;             // times the violation counts as progress
constexpr Index rounded = 5;                 // rounds without progress after which the violation may be rounding
constexpr Index hull_rounds = 10;            // between two looks at whether hulls meet
constexpr std::size_t most_traced = 4096;    // rows of the trace
constexpr double touching = 1e-13;           // squared distance of hulls, relative to the data's, that may be rounding
constexpr Index padding = -1, phantom = -2;  // positions of the block that hold no variable

struct Candidate {
    double merit;
    Index variable;
};

// Keeps the `wanted` best, in no order.
void keep_best(std::vector<Candidate>& candidates, Index wanted) {
    if (Index(candidates.size()) <= wanted) return;
    std::nth_element(candidates.begin(), candidates.begin() + wanted, candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.merit > b.merit; });
    candidates.resize(wanted);
}

}  // namespace

template <class T>
Engine<T>::Engine(const Problem& problem, Gram<T>& gram, const double* beta, const double* product, int working_size)
    : gram_(gram),
      sums_(problem.sums),
      working_size_(working_size),
      doubled_(problem.variables > problem.rows),
      totals_{problem.totals[0], problem.totals[1]},
      problem_rows_(problem.rows) {
    load(problem, beta, product);
}

template <class T>
void Engine<T>::load(const Problem& problem, const double* beta, const double* product) {
    if (problem.sums != sums_ || problem.rows != problem_rows_ || (problem.variables > problem.rows) != doubled_)
        throw std::invalid_argument("the problem has another shape than the first: make another engine for it");
    const auto& active = gram_.active();
    rows_ = Index(active.size());
    std::copy_n(problem.totals, 2, totals_);
    const Index copies = doubled_ ? 2 : 1, n = copies * rows_;
    for (auto* v : {&beta_, &linear_, &lower_, &upper_, &ridge_, &ascent_}) v->resize(n);
    group_.resize(n);
    for (Index c = 0; c < copies; ++c)
        for (Index k = 0; k < rows_; ++k) {
            const Index to = c * rows_ + k, from = c * problem.rows + active[k];
            beta_[to] = beta[from];
            linear_[to] = problem.linear[from];
            lower_[to] = problem.lower[from];
            upper_[to] = problem.upper[from];
            ridge_[to] = problem.ridge[from];
            group_[to] = sums_ == 2 ? problem.group[from] : std::int8_t(0);
        }
    product_.assign(product, product + rows_);
    descent_.reset();
    phase_ = Phase::choose;
    newton_works_ = true;
    bounded_ = sums_ == 2;
    if (!bounded_) {
        const auto finite = [](double x) { return std::isfinite(x); };
        bounded_ = (std::all_of(problem.lower, problem.lower + problem.variables, finite) &&
                    std::all_of(problem.upper, problem.upper + problem.variables, finite)) ||
                   std::any_of(problem.ridge, problem.ridge + problem.variables, [](double r) { return r > 0; });
    }
    if (Index(in_working_.size()) != n) {  // other rows are active: nothing in the block holds for them
        in_working_.assign(n, 0);
        entered_.assign(n, 0);
        place_.clear();
        fresh_.clear();
        working_.clear();
    }
    for (Index v : working_) in_working_[v] = 0;
    working_.clear();
    best_gap_ = infinity;
    best_round_ = rounds_;
}

template <class T>
void Engine<T>::extremes() {
    // without a sum the phantom coefficient, whose gradient is zero, may always grow and shrink
    const double none = sums_ == 0 ? 0.0 : -infinity;
    range_[0] = {none, -none, phantom, phantom};
    range_[1] = {-infinity, infinity, phantom, phantom};
    for (Index v = 0; v < Index(beta_.size()); ++v) {
        const double a = ascent_[v] = -(product_[row_of(v)] + linear_[v] + ridge_[v] * beta_[v]);
        Range& r = range_[group_[v]];
        if (beta_[v] < upper_[v] && a > r.top) r.top = a, r.top_at = v;
        if (beta_[v] > lower_[v] && a < r.bottom) r.bottom = a, r.bottom_at = v;
    }
    gap_ = std::max({0.0, range_[0].top - range_[0].bottom, sums_ == 2 ? range_[1].top - range_[1].bottom : 0.0});
}

template <class T>
double Engine<T>::select() {
    all_ = false;
    extremes();
    choose();
    lay_out();
    return gap_;
}

template <class T>
void Engine<T>::choose() {
    const Index n = Index(beta_.size());
    Index size = std::min<Index>(std::max(working_size_, 2), n);
    if (gram_.capacity() < rows_) size = std::min(size, std::max<Index>(2, gram_.capacity()));  // its rows at once
    ++rounds_;

    // Part of the last working set stays, the latest to come first: what has just been moved is rarely done with.
    // Rows of those that leave without a coefficient can be forgotten.
    const auto& active = gram_.active();
    const Index stay = std::clamp<Index>(Index(stay_ * double(size)), 0, std::max<Index>(size - 2, 0));
    std::vector<Index> kept, left;
    if (Index(working_.size()) > stay) {
        std::nth_element(working_.begin(), working_.begin() + stay, working_.end(),
                         [&](Index a, Index b) { return entered_[a] > entered_[b]; });
        kept.assign(working_.begin(), working_.begin() + stay);
    } else {
        kept = working_;
    }
    for (Index v : working_) in_working_[v] = 0;
    for (Index v : kept) in_working_[v] = 1;
    for (Index v : working_)
        if (!in_working_[v] && beta_[v] == 0) left.push_back(active[row_of(v)]);
    gram_.release(left.data(), Index(left.size()));

    std::vector<Candidate> grow, shrink;
    grow.reserve(n);
    shrink.reserve(n);
    const Index offset = rounds_ == 1 ? n / 3 : 0;  // ties abound at the start
    for (Index k = 0; k < n; ++k) {
        const Index v = k + offset < n ? k + offset : k + offset - n;
        if (in_working_[v]) continue;
        const Range& r = range_[group_[v]];
        const double worth = gram_.row(active[row_of(v)]) ? cached_bonus : 1.0;
        if (beta_[v] < upper_[v] && ascent_[v] > r.bottom) grow.push_back({worth * (ascent_[v] - r.bottom), v});
        if (beta_[v] > lower_[v] && ascent_[v] < r.top) shrink.push_back({worth * (r.top - ascent_[v]), v});
    }
    const Index wanted = size - Index(kept.size());
    keep_best(grow, wanted);
    keep_best(shrink, wanted);
    // take from both sides in turn; a free coefficient can stand on both
    auto by_merit = [](const Candidate& a, const Candidate& b) { return a.merit > b.merit; };
    std::sort(grow.begin(), grow.end(), by_merit);
    std::sort(shrink.begin(), shrink.end(), by_merit);
    working_ = kept;
    auto enter = [&](Index v) {
        if (v < 0 || in_working_[v]) return;
        in_working_[v] = 1;
        entered_[v] = std::uint32_t(rounds_);
        working_.push_back(v);
    };
    // The most violating pair is always there: a step is sure, and with it convergence.
    const Range& worst = range_[sums_ == 2 && range_[1].top - range_[1].bottom > range_[0].top - range_[0].bottom];
    enter(worst.top_at);
    enter(worst.bottom_at);
    for (std::size_t k = 0; k < std::max(grow.size(), shrink.size()) && Index(working_.size()) < size; ++k) {
        if (k < grow.size()) enter(grow[k].variable);
        if (k < shrink.size() && Index(working_.size()) < size) enter(shrink[k].variable);
    }
    working_rows_.clear();
    for (Index v : working_) working_rows_.push_back(active[row_of(v)]);
    if (doubled_) {
        std::sort(working_rows_.begin(), working_rows_.end());
        working_rows_.erase(std::unique(working_rows_.begin(), working_rows_.end()), working_rows_.end());
    }
}

// Positions in the block: by sum, each segment padded to whole vectors with coefficients that cannot move. With one
// segment, those that stay keep their position, and so the kernel values that the block already holds for them.
template <class T>
void Engine<T>::lay_out() {
    const Index lanes = adatron::loops<T>().lanes;
    const std::vector<Index> before = std::move(place_);
    const std::vector<std::uint8_t> missing = std::move(fresh_);  // chosen before, but never gathered
    place_.clear();
    if (sums_ == 2) {
        for (int s = 0; s < 2; ++s) {
            for (Index v : working_)
                if (group_[v] == s) place_.push_back(v);
            while (Index(place_.size()) % lanes) place_.push_back(padding);
            segment_end_[s] = int(place_.size());
        }
        fresh_.assign(place_.size(), 1);
        return;
    }
    const Index extra = sums_ == 0 ? 1 : 0;
    const Index n = (Index(working_.size()) + extra + lanes - 1) / lanes * lanes;
    segment_end_[0] = int(n);
    fresh_.assign(n, 1);
    place_.assign(n, padding);
    std::vector<std::uint8_t> seated(beta_.size(), 0);
    if (Index(before.size()) == n)
        for (Index k = 0; k < n; ++k)
            if (before[k] < 0 || in_working_[before[k]]) {
                place_[k] = before[k];
                fresh_[k] = missing[k];
                if (before[k] >= 0) seated[before[k]] = 1;
            }
    if (extra && std::find(place_.begin(), place_.end(), phantom) == place_.end()) place_[n - 1] = phantom;
    Index seat = 0;
    for (Index v : working_) {
        if (seated[v]) continue;
        while (place_[seat] != padding) ++seat;
        place_[seat] = v;
        fresh_[seat] = 1;
    }
}

template <class T>
bool Engine<T>::mostly_nothing() const {
    const std::uint8_t* lit = gram_.lit(0);
    if (!lit) return false;
    const Index count = rows_ * stretches(rows_);
    return double(std::count(lit, lit + count, std::uint8_t(1))) < few_lit * double(count);
}

// Whether the working set can be everything, its block the matrix as it lies there.
template <class T>
bool Engine<T>::takes_all() const {
    if (sums_ != 1 || doubled_) return false;
    return mostly_nothing() || (gram_.padded_stride() > 0 && rows_ <= working_size_);
}

// Everything as the working set; returns the gap.
template <class T>
double Engine<T>::take_all() {
    extremes();
    const Index lanes = adatron::loops<T>().lanes, whole = (rows_ + lanes - 1) / lanes * lanes;
    place_.assign(blocks_ ? stretches(rows_) * stretch_length : whole, padding);
    std::iota(place_.begin(), place_.begin() + rows_, Index(0));
    segment_end_[0] = int(place_.size());
    fresh_.assign(place_.size(), 1);  // for whoever goes on by working sets
    ++rounds_;
    return gap_;
}

// Kernel values between the members of the working set; the block is symmetric, so only fresh rows are read.
template <class T>
void Engine<T>::gather_block(const std::vector<const T*>& row) {
    const Index n = Index(place_.size()), stride = block_stride();
    if (n > block_size_) {
        block_ = allocate<T>(std::size_t(n) * stride);
        block_size_ = n;
        fresh_.assign(n, 1);
    }
    // columns in rising order: rows are read as they lie, which is what memory is fast at
    struct Seat {
        std::int32_t column, position;
    };
    std::vector<Seat> seats;
    std::vector<Index> fresh;
    for (Index k = 0; k < n; ++k) {
        if (place_[k] >= 0) seats.push_back({std::int32_t(row_of(place_[k])), std::int32_t(k)});
        if (fresh_[k]) fresh.push_back(k);
    }
    std::sort(seats.begin(), seats.end(), [](const Seat& a, const Seat& b) { return a.column < b.column; });
    T* block = block_.get();
    const int threads = worthwhile(gram_.threads(), scattered * double(fresh.size()) * double(n));
    parallel(Index(fresh.size()), 8, threads, [&](Index first, Index last) {
        for (Index f = first; f < last; ++f) {
            const Index k = fresh[f];
            const T* from = row[k];
            T* out = block + k * stride;
            if (Index(seats.size()) < n || !from) std::fill_n(out, n, T(0));
            if (!from) continue;
            if (const std::uint8_t* lit = gram_.lit(gram_.active()[row_of(place_[k])])) {
                for (const Seat& seat : seats)
                    out[seat.position] = lit[seat.column / stretch_length] ? from[seat.column] : T(0);
            } else {
                for (const Seat& seat : seats) out[seat.position] = from[seat.column];
            }
        }
    });
    parallel(n, 16, threads, [&](Index first, Index last) {
        for (Index k = first; k < last; ++k) {
            if (fresh_[k]) continue;
            T* out = block + k * stride;
            for (Index f : fresh) out[f] = block[f * stride + k];
        }
    });
    fresh_.assign(n, 0);
}

template <class T>
PairOutcome Engine<T>::advance(double tolerance, Index max_steps) {
    descent_.reset();  // its coefficients are about to change
    const Index n = Index(place_.size());
    PairProblem<T> q{};
    std::vector<T> curvature(n), ridge(n), gradient(n), up(n), down(n);
    std::vector<double> beta(n), lower(n), upper(n), before(n);
    std::vector<const T*> row(n);
    const auto& active = gram_.active();
    const T never = -std::numeric_limits<T>::infinity();
    for (Index k = 0; k < n; ++k) {
        const Index v = place_[k];
        up[k] = down[k] = v == padding ? never : T(0);
        lower[k] = v == phantom ? -infinity : 0;
        upper[k] = v == phantom ? infinity : 0;
        if (v < 0) continue;
        beta[k] = before[k] = beta_[v];
        lower[k] = lower_[v];
        upper[k] = upper_[v];
        up[k] = beta_[v] < upper_[v] ? T(0) : never;
        down[k] = beta_[v] > lower_[v] ? T(0) : never;
        gradient[k] = T(-ascent_[v]);
        ridge[k] = T(ridge_[v]);
        row[k] = gram_.row(active[row_of(v)]);
        if (!row[k]) throw std::logic_error("rows of the working set must be fetched first");
        curvature[k] = T(double(row[k][row_of(v)]) + ridge_[v]);
    }
    if (!all_) gather_block(row);
    q.block = all_ ? gram_.row(0) : block_.get();
    q.stride = all_ ? gram_.padded_stride() : block_stride();
    q.curvature = curvature.data();
    q.ridge = ridge.data();
    q.gradient = gradient.data();
    q.up = up.data();
    q.down = down.data();
    q.beta = beta.data();
    q.lower = lower.data();
    q.upper = upper.data();
    q.segments = sums_ == 2 ? 2 : 1;
    q.segment_end[0] = segment_end_[0];
    q.segment_end[1] = segment_end_[1];
    q.tolerance = tolerance;
    q.max_steps = max_steps;
    const PairOutcome outcome = all_ && blocks_ ? solve_stretches(q) : adatron::loops<T>().solve_pairs(q);
    steps_ += outcome.steps;

    std::vector<Index> moved;
    std::vector<double> change;
    for (Index k = 0; k < n; ++k) {
        if (place_[k] < 0 || beta[k] == before[k]) continue;
        beta_[place_[k]] = beta[k];
        moved.push_back(place_[k]);
        change.push_back(beta[k] - before[k]);
    }
    carry(moved, change);
    return outcome;
}

// Over the whole matrix, whose stretches of zeros are passed over.
template <class T>
PairOutcome Engine<T>::solve_stretches(PairProblem<T>& q) {
    std::vector<T> room(2 * place_.size());
    return adatron::loops<T>().solve_stretches(q, gram_.lit_rows(), room.data());
}

template <class T>
void Engine<T>::carry(const std::vector<Index>& variables, const std::vector<double>& change) {
    const auto& active = gram_.active();
    std::vector<Index> index;
    for (Index v : variables) index.push_back(active[row_of(v)]);
    parallel(rows_, 1024, gram_.threads(), [&](Index first, Index last) {
        gram_.add_rows(index.data(), Index(index.size()), change.data(), first, last, product_.data());
    });
}

template <class T>
RunState Engine<T>::run(const RunOptions& o) {
    const double deadline = seconds_now() + o.seconds;
    stay_ = o.stay;
    all_ = takes_all();
    blocks_ = all_ && mostly_nothing();
    const bool whole = all_ || Index(beta_.size()) <= working_size_;
    const bool exact = std::is_same_v<T, double>;
    for (bool begun = false;; begun = true) {
        if (begun && seconds_now() > deadline) return RunState::running;
        if (phase_ == Phase::newton) {
            if (descent_ && end_newton(deadline) < 0) return RunState::running;
            phase_ = Phase::choose;
        }
        if (phase_ == Phase::choose) {
            const double gap = all_ ? take_all() : select();
            if (o.record) record();
            if (gap <= o.goal) return RunState::converged;
            if (!bounded_ && rounds_ % hull_rounds == 0 && hulls_meet()) return RunState::unbounded;
            if (falls_forever()) return RunState::unbounded;
            if (gap < smaller * best_gap_) best_gap_ = gap, best_round_ = rounds_;
            const Index waited = rounds_ - best_round_;
            if (waited > o.patience || (whole && exact && waited > rounded && best_gap_ < noise())) {
                best_gap_ = infinity;  // whoever runs on begins to count anew
                best_round_ = rounds_;
                return RunState::stalled;
            }
            if (out_of_steps(o)) return RunState::out_of_steps;
            phase_ = Phase::move;
            if (o.each_round) return RunState::running;
        }
        if (!all_) {
            if (!gram_.has_source() && !gram_.missing(working_rows_.data(), Index(working_rows_.size())).empty())
                return RunState::needs_rows;
            const double left = std::max(deadline - seconds_now(), 0.0);
            if (gram_.fetch(working_rows_.data(), Index(working_rows_.size()), left) == Fetched::some)
                return RunState::running;
        }
        phase_ = Phase::choose;
        const double wanted = whole ? 0.5 * o.goal : std::max(inner * gap_, 0.5 * o.goal);
        const Index limit = step_limit(o);
        const PairOutcome outcome = advance(wanted, limit);
        if (outcome.unbounded) return RunState::unbounded;
        // pairs that take so long, or for which float32 is too coarse, make room for all free coefficients at once
        const bool slow = outcome.steps >= limit || outcome.gap > std::max(inner * gap_, 0.5 * o.goal);
        if (slow && !out_of_steps(o)) {
            newton_works_ = begin_newton(most_free);
            if (newton_works_) phase_ = Phase::newton;
        }
    }
}

// A row of the trace; of a long run every second row goes, then three of four, and so on, but for the last.
template <class T>
void Engine<T>::record() {
    if (!trace_.empty() && trace_.back().rounds % trace_every_ != 0) trace_.pop_back();
    if (trace_.size() >= most_traced) {
        trace_every_ *= 2;
        std::erase_if(trace_, [&](const TraceRow& row) { return row.rounds % trace_every_ != 0; });
    }
    trace_.push_back({seconds_now(), account(), bias(), rounds_, steps_, gram_.rows_computed(), rows_});
}

// Pair steps of one round.
template <class T>
Index Engine<T>::step_limit(const RunOptions& o) const {
    const Index size = Index(place_.size());
    const double slice = slice_steps / double(std::max(size, small_set));
    const double limit = std::min(double((newton_works_ ? pair_steps : more_pair_steps) * size), slice);
    return Index(std::ceil(std::min({limit + 1, o.max_steps - double(steps_), o.max_effort - effort()})));
}

template <class T>
bool Engine<T>::out_of_steps(const RunOptions& o) const {
    return double(steps_) >= o.max_steps || effort() >= o.max_effort;
}

template <class T>
double Engine<T>::sum_of_coefficients() const {
    double sum = 0;
    for (Index r = 0; r < rows_; ++r) sum += std::abs(beta_[r] + (doubled_ ? beta_[r + rows_] : 0.0));
    return sum;
}

// What rounding alone may make of a gradient, in float64.
template <class T>
double Engine<T>::noise() const {
    double largest = 0;
    for (double d : gram_.diagonal()) largest = std::max(largest, std::abs(d));
    return 16 * std::numeric_limits<double>::epsilon() * largest * sum_of_coefficients();
}

// Whether growing coefficients cancel each other: with a hard margin ‖w‖ / Σ|β| is the distance between two points of
// the classes' convex hulls, which has a lower bound if they can be separated at all.
template <class T>
bool Engine<T>::hulls_meet() const {
    double norm = 0, largest = 0;
    for (Index r = 0; r < rows_; ++r) norm += (beta_[r] + (doubled_ ? beta_[r + rows_] : 0.0)) * product_[r];
    for (double d : gram_.diagonal()) largest = std::max(largest, d);
    const double sum = sum_of_coefficients();
    return !std::isfinite(sum) || norm < touching * largest * sum * sum;
}

// Whether the ray from zero through β is feasible and goes down a negative curvature, which only kernels that are not
// positive semidefinite have.
template <class T>
bool Engine<T>::falls_forever() const {
    if (sums_ == 2 || (sums_ == 1 && totals_[0] != 0)) return false;
    double form = 0, size = 0;
    for (Index v = 0; v < Index(beta_.size()); ++v) {
        const double b = beta_[v];
        if (b == 0) continue;
        if (std::isfinite(b > 0 ? upper_[v] : lower_[v])) return false;
        const double term = b * (product_[row_of(v)] + ridge_[v] * b);
        form += term;
        size += std::abs(term);
    }
    if (form >= 0) return false;
    double largest = 0;  // rounding of kernel values gives a matrix that is nearly singular some negative curvature too
    for (double d : gram_.diagonal()) largest = std::max(largest, std::abs(d));
    const double sum = sum_of_coefficients(), unit = std::numeric_limits<T>::epsilon();
    return form < -(std::sqrt(unit) * size + 16 * unit * largest * sum * sum);
}

template <class T>
Index Engine<T>::newton(Index most, double seconds) {
    const double deadline = seconds_now() + seconds;
    if (!descent_ && !begin_newton(most)) return 0;
    return end_newton(deadline);
}

// Whether these rows are at hand, or few enough are not to be fetched at once.
template <class T>
bool Engine<T>::bring(const std::vector<Index>& rows) {
    const Index absent = std::count_if(rows.begin(), rows.end(), [&](Index r) { return !gram_.row(r); });
    if (absent == 0) return true;
    if (!gram_.has_source() || double(absent) * gram_.row_work() > quick_work) return false;
    if (Index(rows.size()) > gram_.capacity()) return false;
    gram_.fetch(rows.data(), Index(rows.size()), infinity);
    return true;
}

// Whether there is anything to do.
template <class T>
bool Engine<T>::begin_newton(Index most) {
    const auto& active = gram_.active();
    std::vector<Index> variables, wanted;
    for (Index v = 0; v < Index(beta_.size()); ++v) {
        if (!(beta_[v] > lower_[v] && beta_[v] < upper_[v])) continue;
        variables.push_back(v);
        wanted.push_back(active[row_of(v)]);
        if (Index(variables.size()) > most) return false;
    }
    const Index n = Index(variables.size());
    if (n == 0 || !bring(wanted)) return false;
    std::vector<const T*> row;
    for (Index r : wanted) row.push_back(gram_.row(r));
    Face face;
    face.size = n;
    face.sums = sums_;
    face.matrix = allocate<double>(std::size_t(n) * n);
    double trace = 0;
    for (Index i = 0; i < n; ++i) {
        const Index v = variables[i];
        for (Index j = 0; j < n; ++j) face.matrix[i * n + j] = double(row[i][row_of(variables[j])]);
        face.matrix[i * n + i] += ridge_[v];
        trace += face.matrix[i * n + i];
        face.gradient.push_back(product_[row_of(v)] + linear_[v] + ridge_[v] * beta_[v]);
        face.up.push_back(upper_[v] - beta_[v]);
        face.down.push_back(beta_[v] - lower_[v]);
        face.group.push_back(group_[v]);
    }
    // rows that are alike (both coefficients of one, in regression) make the matrix singular
    const double rounding = std::max(1e-10, std::numeric_limits<T>::epsilon() * std::sqrt(double(n)));
    descent_ = std::make_unique<Descent>(std::move(face), rounding * trace / double(n));
    moving_ = std::move(variables);
    return true;
}

// As `newton`, from where it was left.
template <class T>
Index Engine<T>::end_newton(double deadline) {
    if (!descent_->advance(deadline)) return -1;
    const std::unique_ptr<Descent> done = std::move(descent_);
    newton_effort_ += std::pow(double(moving_.size()), 3) / cubes_a_step;
    const std::vector<double>& change = done->change();
    const Face& face = done->face();
    if (change.empty()) return 0;
    for (std::size_t i = 0; i < moving_.size(); ++i) {
        const Index v = moving_[i];
        double& b = beta_[v];
        b = change[i] >= face.up[i] ? upper_[v] : change[i] <= -face.down[i] ? lower_[v] : b + change[i];
    }
    carry(moving_, change);
    ++newtons_;
    return Index(moving_.size());
}

template <class T>
void Engine<T>::write(double* beta) const {
    const auto& active = gram_.active();
    for (Index v = 0; v < Index(beta_.size()); ++v)
        beta[(v < rows_ ? 0 : problem_rows_) + active[row_of(v)]] = beta_[v];
}

template <class T>
Account Engine<T>::account() const {
    const Problem active{linear_.data(),      lower_.data(), upper_.data(), ridge_.data(),           group_.data(),
                         Index(beta_.size()), rows_,         sums_,         {totals_[0], totals_[1]}};
    return adatron::account(active, beta_.data(), product_.data(), bias(), 0.5 * (level(sums_ == 2) - level(0)));
}

template class Engine<float>;
template class Engine<double>;

}  // namespace adatron
