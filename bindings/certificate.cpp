// What coefficients say of themselves: the certificate, and the account that traces are made of.
#include "bind.hpp"

#include "account.hpp"
#include "certificate.hpp"
#include "problems.hpp"

namespace adatron::bindings {

void bind_certificate(nb::module_& m) {
    nb::class_<Account>(m, "Account")
        .def_ro("objective", &Account::objective)
        .def_ro("gap", &Account::gap)
        .def_ro("kkt_violation", &Account::kkt_violation)
        .def_ro("margin", &Account::margin)
        .def_ro("sum", &Account::sum)
        .def_ro("support", &Account::support)
        .def_ro("at_bound", &Account::at_bound);
    m.def(
        "account",
        [](const Vector<double>& linear, const Vector<double>& lower, const Vector<double>& upper,
           const Vector<double>& ridge, const Vector<std::int8_t>& group, const Vector<double>& totals, Index rows,
           const Vector<double>& beta, const Vector<double>& product, double bias, double rho) {
            const Problem problem = problem_of(linear, lower, upper, ridge, group, totals, rows);
            check_length("beta", beta, problem.variables);
            check_length("product", product, rows);
            return account(problem, beta.data(), product.data(), bias, rho);
        },
        nb::kw_only(), "linear"_a, "lower"_a, "upper"_a, "ridge"_a, "group"_a, "totals"_a, "rows"_a, "beta"_a,
        "product"_a, "bias"_a, "rho"_a, Released(), "What a row of the trace says of these coefficients.");
    nb::class_<Certificate>(m, "Certificate", "What coefficients say of themselves; see adatron.certificates.")
        .def_ro("objective", &Certificate::objective)
        .def_ro("primal", &Certificate::primal)
        .def_ro("gap", &Certificate::gap)
        .def_ro("kkt_violation", &Certificate::kkt_violation)
        .def_ro("infeasibility", &Certificate::infeasibility)
        .def_ro("bias", &Certificate::bias)
        .def_ro("rho", &Certificate::rho);
    m.def(
        "certify",
        [](const Vector<double>& linear, const Vector<double>& lower, const Vector<double>& upper,
           const Vector<double>& ridge, const Vector<std::int8_t>& group, const Vector<double>& totals, Index rows,
           const Vector<double>& beta, const Vector<double>& product) {
            const Problem problem = problem_of(linear, lower, upper, ridge, group, totals, rows);
            check_length("beta", beta, problem.variables);
            check_length("product", product, rows);
            return certify(problem, beta.data(), product.data());
        },
        nb::kw_only(), "linear"_a, "lower"_a, "upper"_a, "ridge"_a, "group"_a, "totals"_a, "rows"_a, "beta"_a,
        "product"_a, Released(), "The certificate of these coefficients.");
}

}  // namespace adatron::bindings
