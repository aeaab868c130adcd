#include "decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pool.hpp"

namespace adatron {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

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
Decomposition<T>::Decomposition(const Problem& problem, Gram<T>& gram, const double* beta, const double* product,
                                int working_size)
    : gram_(gram),
      sums_(problem.sums),
      working_size_(working_size),
      doubled_(problem.variables > problem.rows),
      problem_rows_(problem.rows) {
    load(problem, beta, product);
}

template <class T>
void Decomposition<T>::load(const Problem& problem, const double* beta, const double* product) {
    const auto& active = gram_.active();
    rows_ = Index(active.size());
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
    in_working_.assign(n, 0);
    entered_.assign(n, 0);
    working_.clear();
}

template <class T>
void Decomposition<T>::extremes() {
    // without a sum the phantom coefficient, whose gradient is zero, may always grow and shrink
    const double none = sums_ == 0 ? 0.0 : -infinity;
    range_[0] = {none, -none};
    range_[1] = {-infinity, infinity};
    for (Index v = 0; v < Index(beta_.size()); ++v) {
        const double a = ascent_[v] = ascent(v);
        Range& r = range_[group_[v]];
        if (beta_[v] < upper_[v] && a > r.top) r.top = a;
        if (beta_[v] > lower_[v] && a < r.bottom) r.bottom = a;
    }
    gap_ = std::max({0.0, range_[0].top - range_[0].bottom, sums_ == 2 ? range_[1].top - range_[1].bottom : 0.0});
}

template <class T>
double Decomposition<T>::select() {
    extremes();
    const Index n = Index(beta_.size());
    // the cache must hold a working set's rows all at once
    const Index size = std::min<Index>({Index(working_size_), n, std::max<Index>(2, gram_.capacity())});
    ++rounds_;

    // Half of the last working set stays, the latest to come first: what has just been moved is rarely done with.
    std::vector<Index> kept;
    if (Index(working_.size()) > size / 2) {
        std::stable_sort(working_.begin(), working_.end(), [&](Index a, Index b) { return entered_[a] > entered_[b]; });
        kept.assign(working_.begin(), working_.begin() + size / 2);
    } else {
        kept = working_;
    }
    for (Index v : working_) in_working_[v] = 0;
    for (Index v : kept) in_working_[v] = 1;

    std::vector<Candidate> grow, shrink;
    const Index offset = rounds_ == 1 ? n / 3 : 0;  // ties abound at the start
    for (Index k = 0; k < n; ++k) {
        const Index v = k + offset < n ? k + offset : k + offset - n;
        if (in_working_[v]) continue;
        const Range& r = range_[group_[v]];
        if (beta_[v] < upper_[v] && ascent_[v] > r.bottom) grow.push_back({ascent_[v] - r.bottom, v});
        if (beta_[v] > lower_[v] && ascent_[v] < r.top) shrink.push_back({r.top - ascent_[v], v});
    }
    const Index wanted = size - Index(kept.size());
    keep_best(grow, wanted);
    keep_best(shrink, wanted);
    // take from both sides in turn; a free coefficient can stand on both
    auto by_merit = [](const Candidate& a, const Candidate& b) { return a.merit > b.merit; };
    std::sort(grow.begin(), grow.end(), by_merit);
    std::sort(shrink.begin(), shrink.end(), by_merit);
    working_ = kept;
    std::size_t g = 0, s = 0;
    while (Index(working_.size()) < size && (g < grow.size() || s < shrink.size())) {
        for (auto [list, next] : {std::pair{&grow, &g}, std::pair{&shrink, &s}}) {
            while (*next < list->size() && in_working_[(*list)[*next].variable]) ++*next;
            if (*next >= list->size() || Index(working_.size()) >= size) continue;
            const Index v = (*list)[(*next)++].variable;
            in_working_[v] = 1;
            entered_[v] = std::uint32_t(rounds_);
            working_.push_back(v);
        }
    }
    const auto& active = gram_.active();
    working_rows_.clear();
    for (Index v : working_) working_rows_.push_back(active[v % rows_]);
    if (doubled_) {
        std::sort(working_rows_.begin(), working_rows_.end());
        working_rows_.erase(std::unique(working_rows_.begin(), working_rows_.end()), working_rows_.end());
    }
    return gap_;
}

template <class T>
PairOutcome Decomposition<T>::advance(double tolerance, Index max_steps) {
    // Lay the working set out by sum, each segment padded to whole vectors with coefficients that cannot move.
    const Index lanes = adatron::loops<T>().lanes;
    std::vector<Index> place;  // working position -> variable, -1 for padding, -2 for the phantom
    PairProblem<T> q{};
    q.segments = sums_ == 2 ? 2 : 1;
    for (int s = 0; s < q.segments; ++s) {
        for (Index v : working_)
            if (group_[v] == s) place.push_back(v);
        if (sums_ == 0) place.push_back(-2);
        while (Index(place.size()) % lanes) place.push_back(-1);
        q.segment_end[s] = int(place.size());
    }
    const Index n = Index(place.size());
    q.stride = n;
    std::vector<T> curvature(n), ridge(n), gradient(n), up(n), down(n);
    std::vector<double> beta(n), lower(n), upper(n), before(n);
    std::vector<const T*> row(n);
    const auto& active = gram_.active();
    const T never = -std::numeric_limits<T>::infinity();
    for (Index k = 0; k < n; ++k) {
        const Index v = place[k];
        up[k] = down[k] = v == -1 ? never : T(0);
        lower[k] = v == -2 ? -infinity : 0;
        upper[k] = v == -2 ? infinity : 0;
        if (v < 0) continue;
        beta[k] = before[k] = beta_[v];
        lower[k] = lower_[v];
        upper[k] = upper_[v];
        up[k] = beta_[v] < upper_[v] ? T(0) : never;
        down[k] = beta_[v] > lower_[v] ? T(0) : never;
        gradient[k] = T(-ascent_[v]);
        ridge[k] = T(ridge_[v]);
        curvature[k] = T(gram_.diagonal()[active[v % rows_]] + ridge_[v]);
        row[k] = gram_.row(active[v % rows_]);
    }
    Buffer<T> block = allocate<T>(std::size_t(n) * n);
    parallel(n, 16, gram_.threads(), [&](Index first, Index last) {
        for (Index k = first; k < last; ++k) {
            T* out = block.get() + k * n;
            for (Index j = 0; j < n; ++j) out[j] = row[k] && place[j] >= 0 ? row[k][place[j] % rows_] : T(0);
        }
    });
    q.block = block.get();
    q.curvature = curvature.data();
    q.ridge = ridge.data();
    q.gradient = gradient.data();
    q.up = up.data();
    q.down = down.data();
    q.beta = beta.data();
    q.lower = lower.data();
    q.upper = upper.data();
    q.tolerance = tolerance;
    q.max_steps = max_steps;
    const PairOutcome outcome = adatron::loops<T>().solve_pairs(q);
    steps_ += outcome.steps;

    std::vector<double> change;
    std::vector<const T*> changed;
    for (Index k = 0; k < n; ++k) {
        if (place[k] < 0 || beta[k] == before[k]) continue;
        beta_[place[k]] = beta[k];
        change.push_back(beta[k] - before[k]);
        changed.push_back(row[k]);
    }
    const auto add = adatron::loops<T>().add_rows;
    parallel(rows_, 1024, gram_.threads(), [&](Index first, Index last) {
        add(change.data(), changed.data(), int(changed.size()), first, last, product_.data());
    });
    return outcome;
}

template <class T>
void Decomposition<T>::write(double* beta) const {
    const auto& active = gram_.active();
    for (Index v = 0; v < Index(beta_.size()); ++v) beta[v / rows_ * problem_rows_ + active[v % rows_]] = beta_[v];
}

template <class T>
std::vector<double> Decomposition<T>::slack() const {
    std::vector<double> result(rows_, infinity);
    for (Index v = 0; v < Index(beta_.size()); ++v) {
        const Range& r = range_[group_[v]];
        const bool may_grow = beta_[v] < upper_[v], may_shrink = beta_[v] > lower_[v];
        double distance = infinity;
        if (may_grow) distance = std::min(distance, r.bottom - ascent_[v]);
        if (may_shrink) distance = std::min(distance, ascent_[v] - r.top);
        result[v % rows_] = std::min(result[v % rows_], distance);
    }
    return result;
}

template <class T>
void Decomposition<T>::restrict_to(const std::vector<Index>& positions) {
    const Index copies = doubled_ ? 2 : 1, fewer = Index(positions.size());
    std::vector<Index> active(fewer);
    for (Index k = 0; k < fewer; ++k) active[k] = gram_.active()[positions[k]];
    auto compact = [&](auto& values, Index layers) {
        for (Index c = 0; c < layers; ++c)
            for (Index k = 0; k < fewer; ++k) values[c * fewer + k] = values[c * rows_ + positions[k]];
        values.resize(layers * fewer);
    };
    for (auto* v : {&beta_, &linear_, &lower_, &upper_, &ridge_, &ascent_}) compact(*v, copies);
    compact(group_, copies);
    compact(product_, 1);
    rows_ = fewer;
    in_working_.assign(copies * fewer, 0);
    entered_.assign(copies * fewer, 0);
    working_.clear();
    gram_.activate(active.data(), fewer);
}

template class Decomposition<float>;
template class Decomposition<double>;

}  // namespace adatron
