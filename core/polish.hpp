// From a solution within tol to the optimum itself: the free coefficients solve a linear system in float64,
//
//   (K_ff + r) δ + b = −g_f  for the free,    Σ δ = what the sum still lacks.
//
// Those that leave their box are held at the bound they passed; those at a bound that violate optimality are let go;
// and again, until nothing changes. So the answer depends on the data alone, not on the path, the order of rows or the
// threads. It is kept only if the certificate says that it is better.
//
// Cost: f² kernel values and f³/3 operations for f free coefficients, and a product with K, a few times over.
#pragma once

#include <vector>

#include "certificate.hpp"
#include "gram.hpp"

namespace adatron {

class Polish {
public:
    // `beta` and its KKT violation, for a problem whose spans the caller keeps alive; all rows must be active.
    Polish(const Problem& problem, Gram<double>& gram, std::vector<double> beta, double kkt_violation);

    bool advance(double deadline);  // whether it is done; if not, call again
    const std::vector<double>& beta() const { return best_; }
    double kkt_violation() const { return kkt_violation_; }
    const std::vector<double>& product() const { return best_product_; }  // of beta(), if it is better than the first

private:
    bool round();
    bool solve(std::vector<double>& target);
    bool let_go();
    double gradient(Index v) const { return product_[row_of(v)] + p_.ridge[v] * beta_[v] + p_.linear[v]; }
    Index row_of(Index v) const { return v < p_.rows ? v : v - p_.rows; }
    int group_of(Index v) const { return p_.sums == 2 ? p_.group[v] : 0; }

    const Problem p_;
    Gram<double>& gram_;
    std::vector<double> best_, best_product_, beta_, product_;
    double kkt_violation_;
    std::vector<std::uint8_t> free_;
    int rounds_ = 0;
};

}  // namespace adatron
