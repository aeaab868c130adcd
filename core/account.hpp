// What a row of the trace says of coefficients, taken in one pass from a product that is known already.
//
// This is the climber's own view, made from sums that it keeps; the verdict is certificates.py's.
#pragma once

#include "problem.hpp"

namespace adatron {

struct Account {
    double objective;
    double gap;            // relative, at the biases given; infinite where they tell of no primal value
    double kkt_violation;  // as in certificates.py
    double margin;         // ½ (min z over y = +1 − max z over y = −1), α < C: 1 at the optimum; NaN with one class
    double sum;            // Σβ
    Index support, at_bound;
};

// `product` = K·fold(beta); the groups' biases are bias − rho and bias + rho.
Account account(const Problem& problem, const double* beta, const double* product, double bias, double rho);

}  // namespace adatron
