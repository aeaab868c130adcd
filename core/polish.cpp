#include "polish.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "climb.hpp"

namespace adatron {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Index most_free = 1000;  // more are left as they are
constexpr int most_rounds = 50;
constexpr double jitter = 1e-13;  // of the mean diagonal: makes a singular system solvable; refinement takes it out
constexpr int refinements = 3;
constexpr double smallest = 1e-280;  // of kernel values that can be told from zero
constexpr double rounding = 1e-12;   // a violation, relative to the gradients' size, that may be zero
constexpr double feasible = 1e-9;    // relative to the largest coefficient
constexpr Index few = 10;            // to let go at a time; of more, those whose violation is a tenth of the largest

// The small system s x = r, of one or two unknowns; false if it is singular.
bool solve_small(const double (&s)[2][2], double (&r)[2], int n) {
    if (n == 1) {
        r[0] /= s[0][0];
        return std::isfinite(r[0]);
    }
    // elimination from the larger pivot: where the system is nearly singular, determinants cancel
    const int top = std::abs(s[1][0]) > std::abs(s[0][0]) ? 1 : 0, other = 1 - top;
    const double factor = s[other][0] / s[top][0];
    const double second = (r[other] - factor * r[top]) / (s[other][1] - factor * s[top][1]);
    r[0] = (r[top] - s[top][1] * second) / s[top][0];
    r[1] = second;
    return std::isfinite(r[0]) && std::isfinite(r[1]);
}

}  // namespace

Polish::Polish(const Problem& problem, Gram<double>& gram, std::vector<double> beta, double kkt_violation)
    : p_(problem), gram_(gram), best_(std::move(beta)), beta_(best_), kkt_violation_(kkt_violation) {
    free_.resize(p_.variables);
    for (Index v = 0; v < p_.variables; ++v) free_[v] = beta_[v] > p_.lower[v] && beta_[v] < p_.upper[v];
    folded_product(p_, gram_, beta_.data(), product_);
}

bool Polish::advance(double deadline) {
    while (rounds_ < most_rounds && round())
        if (seconds_now() > deadline) return false;
    return true;
}

// One system and what follows from it; false if nothing more is to be done.
bool Polish::round() {
    ++rounds_;
    if (std::count(free_.begin(), free_.end(), 1) > most_free) return false;
    std::vector<double> target;
    if (!solve(target)) return false;
    bool passed = false;
    double largest = 0;
    for (Index v = 0; v < p_.variables; ++v) {
        beta_[v] = std::clamp(target[v], p_.lower[v], p_.upper[v]);
        largest = std::max(largest, std::abs(beta_[v]));
        if (free_[v] && beta_[v] != target[v]) free_[v] = 0, passed = true;
    }
    folded_product(p_, gram_, beta_.data(), product_);
    if (passed) return true;
    const Violation at = violation(p_, beta_.data(), product_.data());
    if (at.kkt < kkt_violation_ && at.infeasibility <= feasible * (1 + largest)) {
        best_ = beta_;
        best_product_ = product_;
        kkt_violation_ = at.kkt;
    }
    return let_go();
}

// β with its free coefficients where the optimality conditions want them; false if the system cannot be solved.
bool Polish::solve(std::vector<double>& target) {
    std::vector<Index> index, rows;
    for (Index v = 0; v < p_.variables; ++v)
        if (free_[v]) index.push_back(v), rows.push_back(row_of(v));
    const Index n = Index(index.size());
    target = beta_;
    if (n == 0) return true;
    // the kernel's part of the system, then the same with its diagonal raised, which the factor takes the place of
    const Buffer<double> matrix = allocate<double>(std::size_t(n) * n), factor = allocate<double>(std::size_t(n) * n);
    double trace = 0;
    for (Index first = 0; first < n; first += gram_.capacity()) {
        const Index last = std::min(n, first + gram_.capacity());
        while (gram_.fetch(&rows[first], last - first, infinity) == Fetched::some) {
        }
        for (Index i = first; i < last; ++i) {
            const double* row = gram_.row(rows[i]);
            for (Index j = 0; j < n; ++j) matrix[i * n + j] = row[rows[j]];
            matrix[i * n + i] += p_.ridge[index[i]];
            trace += matrix[i * n + i];
        }
    }
    const double scale = trace / double(n);
    if (!(scale > smallest && scale < infinity)) return false;
    std::copy_n(matrix.get(), n * n, factor.get());
    for (Index i = 0; i < n; ++i) factor[i * n + i] += jitter * scale;
    const Loops<double>& l = loops<double>();
    if (!l.factor(factor.get(), n, 0, n)) return false;

    // a sum without a free coefficient cannot be mended here
    int sums = 0, group[2] = {0, 0};
    for (int s = 0; s < p_.sums; ++s)
        if (std::any_of(index.begin(), index.end(), [&](Index v) { return group_of(v) == s; })) group[sums++] = s;
    double lacks[2] = {0, 0}, inner[2][2] = {{0, 0}, {0, 0}}, b[2] = {0, 0};
    std::vector<double> across[2];
    for (int k = 0; k < sums; ++k) {
        lacks[k] = p_.totals[group[k]];
        for (Index v = 0; v < p_.variables; ++v)
            if (group_of(v) == group[k]) lacks[k] -= beta_[v];
        across[k].resize(n);
        for (Index i = 0; i < n; ++i) across[k][i] = group_of(index[i]) == group[k] ? 1.0 : 0.0;
        l.solve_factored(factor.get(), n, across[k].data());
    }
    for (int k = 0; k < sums; ++k)
        for (int j = 0; j < sums; ++j)
            for (Index i = 0; i < n; ++i)
                if (group_of(index[i]) == group[k]) inner[k][j] += across[j][i];

    std::vector<double> delta(n, 0.0), step(n);
    for (int r = 0; r < refinements; ++r) {
        double missing[2] = {lacks[0], lacks[1]};
        for (Index i = 0; i < n; ++i) {
            double sum = 0;
            if (r > 0)
                for (Index j = 0; j < n; ++j) sum += matrix[i * n + j] * delta[j];
            step[i] = -gradient(index[i]) - sum;
            for (int k = 0; k < sums; ++k)
                if (group_of(index[i]) == group[k]) step[i] -= b[k], missing[k] -= delta[i];
        }
        l.solve_factored(factor.get(), n, step.data());
        double more[2] = {-missing[0], -missing[1]};
        for (int k = 0; k < sums; ++k)
            for (Index i = 0; i < n; ++i)
                if (group_of(index[i]) == group[k]) more[k] += step[i];
        if (sums && !solve_small(inner, more, sums)) return false;
        for (int k = 0; k < sums; ++k) {
            b[k] += more[k];
            for (Index i = 0; i < n; ++i) step[i] -= more[k] * across[k][i];
        }
        for (Index i = 0; i < n; ++i) delta[i] += step[i];
    }
    for (Index i = 0; i < n; ++i) {
        target[index[i]] += delta[i];
        if (!std::isfinite(target[index[i]])) return false;
    }
    return true;
}

// Frees coefficients held at a bound that violate optimality, the worst of them; false if there are none.
bool Polish::let_go() {
    double level[2] = {0, 0}, size = 0;
    for (int s = 0; s < p_.sums; ++s) {
        double sum = 0, low = infinity, high = -infinity;
        Index inside = 0;
        for (Index v = 0; v < p_.variables; ++v) {
            if (group_of(v) != s) continue;
            const double a = -gradient(v);
            if (free_[v]) sum += a, ++inside;
            if (beta_[v] > p_.lower[v]) low = std::min(low, a);
            if (beta_[v] < p_.upper[v]) high = std::max(high, a);
        }
        // without a free coefficient the multiplier is free between two values: whoever is beyond both violates
        level[s] = inside ? sum / double(inside) : std::isfinite(low + high) ? 0.5 * (low + high) : 0.0;
    }
    std::vector<double> violation(p_.variables, 0.0);
    double largest = 0;
    for (Index v = 0; v < p_.variables; ++v) {
        const double g = gradient(v);
        size = std::max(size, std::abs(g));
        if (free_[v]) continue;
        const double above = -g - level[group_of(v)];
        if (beta_[v] < p_.upper[v]) violation[v] = above;
        if (beta_[v] > p_.lower[v]) violation[v] = std::max(beta_[v] < p_.upper[v] ? above : 0.0, -above);
        largest = std::max(largest, violation[v]);
    }
    double least = rounding * (1 + size);
    if (std::count_if(violation.begin(), violation.end(), [&](double x) { return x > least; }) > few)
        least = std::max(least, 0.1 * largest);
    bool any = false;
    for (Index v = 0; v < p_.variables; ++v)
        if (violation[v] > rounding * (1 + size) && violation[v] >= least) free_[v] = 1, any = true;
    return any;
}

}  // namespace adatron
