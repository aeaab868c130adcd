#include "account.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace adatron {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// min over z in [lower, upper] of ½ r z² + slope z; −infinity where nothing holds z.
double least(double slope, double r, double lower, double upper) {
    if (lower == upper) return (0.5 * r * lower + slope) * lower;
    if (r > 0) {
        const double z = std::clamp(-slope / r, lower, upper);
        return (0.5 * r * z + slope) * z;
    }
    const double z = slope > 0 ? lower : upper;
    return slope == 0 ? 0.0 : slope * z;
}

}  // namespace

// A box without end and without ridge makes a constraint of its term, and two cases of that are told here. Hulls and
// balls have such ends on one side of a sum only: the least bias that meets them all is taken instead of the one given.
// With the hinge's hard margin, p = ∓1, dividing f and b by the worst point's margin meets them all.
Account account(const Problem& p, const double* beta_of, const double* product, double bias, double rho) {
    Account a{};
    const double given[2] = {bias - rho, bias + rho};
    double quadratic = 0, terms = 0, lacking = 0, outward[2] = {-infinity, -infinity};
    double top[2] = {-infinity, -infinity}, bottom[2] = {infinity, infinity}, sum[2] = {0, 0};
    bool hard = false, hinge = true, only_hard = true, up[2] = {false, false}, down[2] = {false, false};
    for (Index v = 0; v < p.variables; ++v) {
        const double beta = beta_of[v], f = product[v < p.rows ? v : v - p.rows],
                     g = f + p.ridge[v] * beta + p.linear[v];
        const bool grows = beta<p.upper[v], shrinks = beta> p.lower[v];
        const int group = p.sums == 2 ? p.group[v] : 0;
        const double slope = p.linear[v] + f + given[group];
        quadratic += beta * f;
        a.objective += beta * (0.5 * p.ridge[v] * beta + p.linear[v]);
        sum[group] += beta;
        if (beta != 0) ++a.support;
        if (beta != 0 && p.lower[v] < p.upper[v] && !(grows && shrinks)) ++a.at_bound;
        if (grows) {
            top[group] = std::max(top[group], -g);
            if (p.upper[v] > 0) outward[0] = std::max(outward[0], -g);
        }
        if (shrinks) {
            bottom[group] = std::min(bottom[group], -g);
            if (p.lower[v] < 0) outward[1] = std::max(outward[1], g);
        }
        if (p.ridge[v] == 0 && (p.upper[v] == infinity || p.lower[v] == -infinity)) {
            const bool above = p.upper[v] == infinity;
            hard = true;
            (above ? up : down)[group] = true;
            lacking = std::max(lacking, above ? -slope : slope);
            hinge = hinge && p.linear[v] == (above ? -1 : 1) && (above ? p.lower[v] : p.upper[v]) == 0;
        } else {
            only_hard = only_hard && p.lower[v] == p.upper[v];
            terms += least(slope, p.ridge[v], p.lower[v], p.upper[v]);
        }
    }
    a.sum = sum[0] + sum[1];
    a.objective += 0.5 * quadratic;
    a.margin = 1 - 0.5 * (outward[0] + outward[1]);
    if (!std::isfinite(a.margin)) a.margin = std::numeric_limits<double>::quiet_NaN();
    if (p.sums == 0)
        a.kkt_violation = std::max({0.0, top[0], -bottom[0]});
    else
        a.kkt_violation = std::max({0.0, top[0] - bottom[0], p.sums == 2 ? top[1] - bottom[1] : 0.0});

    double primal = 0.5 * quadratic - terms, dual = -a.objective;
    bool one_sided = hard && only_hard;
    for (int s = 0; s < p.sums; ++s) one_sided = one_sided && up[s] != down[s];
    for (int s = 0; s < p.sums; ++s) {
        primal += p.totals[s] * (one_sided ? (up[s] ? top[s] : bottom[s]) : given[s]);
        dual -= given[s] * (sum[s] - p.totals[s]);  // the Lagrangian's value, where a sum is not met yet
    }
    if (hard && !(one_sided && p.sums > 0))
        primal = hinge && only_hard && lacking < 1 ? 0.5 * quadratic / ((1 - lacking) * (1 - lacking)) : infinity;
    const double difference = std::max(primal - dual, 0.0);
    a.gap = difference > 0 && primal < infinity ? difference / std::max(std::abs(primal), std::abs(dual)) : difference;
    return a;
}

}  // namespace adatron
