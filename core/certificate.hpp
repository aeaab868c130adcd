// The certificate of coefficients, computed from them and from K·fold(β) alone: certificates.py explains the formulas
// and holds their reference implementation.
#pragma once

#include "problem.hpp"

namespace adatron {

constexpr double certain =
    1 + 1e-4;  // times tol: the certificate may differ from a solver's own sums by their rounding

struct Certificate {
    double objective;
    double primal;  // cost of the model that the coefficients describe, at its best bias; infinite if it has none
    double gap;     // relative duality gap, of the model or of a multiple of it
    double kkt_violation;  // max of −g over what may grow less min over what may shrink
    double infeasibility;  // distance from the box or from a sum's total, the larger
    double bias, rho;
};

// `product` = K·fold(β), one value per kernel row.
Certificate certify(const Problem& problem, const double* beta, const double* product);

// Of the certificate, only the KKT violation and the infeasibility: a pass over the coefficients.
struct Violation {
    double kkt, infeasibility;
};
Violation violation(const Problem& problem, const double* beta, const double* product);

}  // namespace adatron
