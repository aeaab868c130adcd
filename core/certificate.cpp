#include "certificate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace adatron {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int newton_steps = 64;    // two or three are usual: each passes a vertex of a piecewise linear function
constexpr double wide_gap = 0.1;    // from which on multiples of the model are tried
constexpr double nearly = 0.01;     // KKT violation up to which that is worth its time
constexpr double rounding = 1e-12;  // a constraint violated by less, relatively, is met
constexpr int scales = 14;          // 1 + 10^-2 ... 1 + 10^-15
constexpr Index leaf = 64;          // terms that are summed one after the other

// Pairwise summation: the error grows with the logarithm of the number of terms.
template <class Term>
double sum(Index first, Index last, const Term& term) {
    if (last - first <= leaf) {
        double total = 0;
        for (Index k = first; k < last; ++k) total += term(k);
        return total;
    }
    const Index middle = first + (last - first) / 2;
    return sum(first, middle, term) + sum(middle, last, term);
}

struct Bracket {
    double low = infinity;    // min of −g over β > lower
    double high = -infinity;  // max of −g over β < upper
};

// The midpoint; the finite end if there is one; zero if there is none.
double middle(double low, double high) {
    if (std::isfinite(low) && std::isfinite(high)) return 0.5 * (low + high);
    return std::isfinite(low) ? low : std::isfinite(high) ? high : 0.0;
}

double relative(double primal, double dual) {
    if (primal == infinity) return infinity;
    const double gap = std::max(primal - dual, 0.0);
    return gap > 0 ? gap / std::max(std::abs(primal), std::abs(dual)) : 0.0;
}

// A term of the bound: min over z in [lower, upper] of ½ r z² + (slope + b) z.
struct Term {
    double slope, ridge, lower, upper;

    double least(double b) const {
        const double tilt = slope + b;
        const double z = std::clamp(tilt == 0 ? 0.0 : -tilt / ridge, lower, upper);
        return (0.5 * ridge * z + tilt) * z;
    }
};

// The b in [low, high] at which the least z of all terms sum to the total. Their sum falls as b grows: each z leaves
// `upper` at b = −slope − r·upper and reaches `lower` at −slope − r·lower, at the rate 1/r between, or in one jump.
double best_multiplier(const std::vector<Term>& terms, double total, double low, double high) {
    struct Break {
        double place, jump, rate;
    };
    std::vector<Break> breaks{{low, 0, 0}, {high, 0, 0}};
    const double surplus = sum(0, Index(terms.size()), [&](Index k) {
        const Term& t = terms[k];
        const double leaves = -t.slope - t.ridge * t.upper, arrives = -t.slope - t.ridge * t.lower;
        if (leaves <= high && arrives >= low) {
            if (t.ridge == 0) {
                breaks.push_back({std::clamp(leaves, low, high), t.upper - t.lower, 0});
            } else {
                breaks.push_back({std::clamp(leaves, low, high), 0, 1 / t.ridge});
                breaks.push_back({std::clamp(arrives, low, high), 0, -1 / t.ridge});
            }
        }
        return leaves >= low ? t.upper : arrives < low ? t.lower : -(t.slope + low) / t.ridge;
    });
    std::sort(breaks.begin(), breaks.end(), [](const Break& a, const Break& b) { return a.place < b.place; });
    double left = surplus - total, rate = 0, before = low;
    for (const Break& at : breaks) {
        const double slide = rate * (at.place - before);
        if (rate > 0 && slide >= left) return before + left / rate;
        left -= slide + at.jump;
        rate += at.rate;
        before = at.place;
        if (left <= 0) return at.place;
    }
    return high;
}

class Judge {
public:
    Judge(const Problem& problem, const double* beta, const double* product) : p_(problem), beta_(beta), f_(product) {
        group_sizes_ = p_.sums == 2 ? 2 : 1;
    }

    Certificate judge() {
        const Index m = p_.rows, n = p_.variables;
        quadratic_ = sum(0, m, [&](Index r) { return (beta_[r] + (n > m ? beta_[r + m] : 0.0)) * f_[r]; });
        Certificate c{};
        c.objective = 0.5 * quadratic_ +
                      sum(0, n, [&](Index v) { return (0.5 * p_.ridge[v] * beta_[v] + p_.linear[v]) * beta_[v]; });
        c.kkt_violation = kkt_violation();
        double least = c.primal = primal(1.0);
        if (c.kkt_violation <= nearly && relative(c.primal, -c.objective) > wide_gap)
            for (int k = 2; k < 2 + scales; ++k) least = std::min(least, primal(1.0 + std::pow(10.0, -k)));
        c.gap = relative(least, -c.objective);
        c.infeasibility = infeasibility();
        if (p_.sums == 1) c.bias = multiplier(0);
        if (p_.sums == 2) {
            const double first = multiplier(0), second = multiplier(1);
            c.bias = 0.5 * (first + second);
            c.rho = 0.5 * (second - first);
        }
        return c;
    }

    double kkt_violation() {
        find_brackets();
        double worst = 0;
        for (int s = 0; s < group_sizes_; ++s) worst = std::max(worst, joined(s).high - joined(s).low);
        return worst;
    }

    double infeasibility() const {
        double worst = 0;
        for (Index v = 0; v < p_.variables; ++v)
            worst = std::max({worst, p_.lower[v] - beta_[v], beta_[v] - p_.upper[v]});
        for (int s = 0; s < p_.sums; ++s) {
            const double total = sum(0, p_.variables, [&](Index v) { return group(v) == s ? beta_[v] : 0.0; });
            worst = std::max(worst, std::abs(total - p_.totals[s]));
        }
        return worst;
    }

private:
    Index row(Index v) const { return v < p_.rows ? v : v - p_.rows; }
    int group(Index v) const { return p_.sums == 2 ? p_.group[v] : 0; }
    double gradient(Index v) const { return f_[row(v)] + p_.ridge[v] * beta_[v] + p_.linear[v]; }
    bool up(Index v) const { return p_.ridge[v] == 0 && p_.upper[v] == infinity; }
    bool down(Index v) const { return p_.ridge[v] == 0 && p_.lower[v] == -infinity; }

    void find_brackets() {
        for (Index v = 0; v < p_.variables; ++v) {
            Bracket& b = bracket_[group(v)];
            const double a = -gradient(v);
            if (beta_[v] > p_.lower[v]) b.low = std::min(b.low, a);
            if (beta_[v] < p_.upper[v]) b.high = std::max(b.high, a);
            hard_ = hard_ || up(v) || down(v);
        }
    }

    // Without a sum the multiplier is known to be 0, which joins both sets.
    Bracket joined(int s) const {
        const Bracket b = bracket_[s];
        return p_.sums ? b : Bracket{std::min(b.low, 0.0), std::max(b.high, 0.0)};
    }

    double multiplier(int s) const {
        Index free = 0;
        const double total = sum(0, p_.variables, [&](Index v) {
            if (group(v) != s || !(beta_[v] > p_.lower[v] && beta_[v] < p_.upper[v])) return 0.0;
            ++free;
            return gradient(v);
        });
        return free ? -total / double(free) : middle(bracket_[s].low, bracket_[s].high);
    }

    // The bound of certificates.py at its best multipliers; infinite if no scale meets the constraints.
    double primal(double scale) const {
        if (hard_) scale = std::max(scale, hard_scale());
        if (scale == infinity) return infinity;
        double value = 0.5 * scale * scale * quadratic_;
        std::vector<Term> terms;
        terms.reserve(p_.variables);
        for (int s = 0; s < group_sizes_; ++s) {
            terms.clear();
            double least = -infinity, most = infinity;
            Bracket range = joined(s), scaled;
            for (Index v = 0; v < p_.variables; ++v) {
                if (group(v) != s) continue;
                Term t{p_.linear[v] + scale * f_[row(v)], p_.ridge[v], p_.lower[v], p_.upper[v]};
                if (up(v) || down(v)) {
                    // where its constraint holds, a term is least at its finite end: the box may close on that
                    t.lower = t.upper = up(v) && down(v) ? 0.0 : up(v) ? t.lower : t.upper;
                    if (up(v)) least = std::max(least, -t.slope);
                    if (down(v)) most = std::min(most, -t.slope);
                }
                scaled.low = std::min(scaled.low, -t.slope);
                scaled.high = std::max(scaled.high, -t.slope);
                terms.push_back(t);
            }
            if (scale > 1) range = scaled;  // the brackets are those of the gradient, which is not scaled
            const double total = p_.sums ? p_.totals[s] : 0.0;
            double b = 0;
            if (p_.sums)
                b = range.low < range.high ? best_multiplier(terms, total, range.low, range.high)
                                           : middle(range.low, range.high);
            if (p_.sums && hard_) b = std::clamp(b, least, std::max(least, most));
            value += b * total - sum(0, Index(terms.size()), [&](Index k) { return terms[k].least(b); });
        }
        return value;
    }

    // The least s ≥ 1 for which some b has p + sf + b ≥ 0 where z has no upper end, ≤ 0 where no lower. The violation
    // is convex and piecewise linear in s: Newton's steps from the left never pass its root, and a rate that is not
    // negative proves that there is none.
    double hard_scale() const {
        double s = 1;
        for (int step = 0; step < newton_steps; ++step) {
            double size = 0;
            for (Index v = 0; v < p_.variables; ++v) size = std::max(size, std::abs(p_.linear[v] + s * f_[row(v)]));
            std::pair<double, double> worst{-infinity, 0};
            for (int g = 0; g < group_sizes_; ++g) worst = std::max(worst, hard_violation(g, s));
            if (worst.first <= rounding * (1 + size)) return s;
            if (worst.second >= 0) return infinity;
            s -= worst.first / worst.second;
        }
        return infinity;
    }

    // How far any b (b = 0 without a sum) must violate a constraint, and the rate of that in s.
    std::pair<double, double> hard_violation(int g, double s) const {
        std::pair<double, double> above{-infinity, 0}, below{-infinity, 0};
        for (Index v = 0; v < p_.variables; ++v) {
            if (group(v) != g) continue;
            const double f = f_[row(v)], slope = p_.linear[v] + s * f;
            if (up(v) && -slope > above.first) above = {-slope, -f};
            if (down(v) && slope > below.first) below = {slope, f};
        }
        if (!p_.sums) {
            above = std::max(above, {0.0, 0.0});
            below = std::max(below, {0.0, 0.0});
        }
        return {above.first + below.first, above.second + below.second};
    }

    const Problem& p_;
    const double *beta_, *f_;
    int group_sizes_;
    double quadratic_ = 0;
    bool hard_ = false;
    Bracket bracket_[2];
};

}  // namespace

Certificate certify(const Problem& problem, const double* beta, const double* product) {
    return Judge(problem, beta, product).judge();
}

Violation violation(const Problem& problem, const double* beta, const double* product) {
    Judge judge(problem, beta, product);
    return {judge.kkt_violation(), judge.infeasibility()};
}

}  // namespace adatron
