// Polishing a solution.
#include "bind.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "climb.hpp"
#include "polish.hpp"
#include "problems.hpp"

namespace adatron::bindings {

namespace {

// A polish keeps copies of the problem's arrays: slices of time may come long after the first.
struct OwnPolish {
    std::vector<double> linear, lower, upper, ridge;
    std::vector<std::int8_t> group;
    std::unique_ptr<Polish> polish;
};

}  // namespace

void bind_polish(nb::module_& m) {
    nb::class_<OwnPolish>(m, "Polish", "Free coefficients made exact, in float64.")
        .def(
            "__init__",
            [](OwnPolish* self, Gram<double>& gram, const Vector<double>& linear, const Vector<double>& lower,
               const Vector<double>& upper, const Vector<double>& ridge, const Vector<std::int8_t>& group,
               const Vector<double>& totals, Index rows, const Vector<double>& beta, double kkt_violation) {
                Problem problem = problem_of(linear, lower, upper, ridge, group, totals, rows);
                check_whole(gram);
                check_problem(gram, problem, beta, beta, Index(beta.shape(0)));
                auto own = std::make_unique<OwnPolish>();
                own->linear = to_vector(linear);
                own->lower = to_vector(lower);
                own->upper = to_vector(upper);
                own->ridge = to_vector(ridge);
                own->group.assign(group.data(), group.data() + group.shape(0));
                problem.linear = own->linear.data();
                problem.lower = own->lower.data();
                problem.upper = own->upper.data();
                problem.ridge = own->ridge.data();
                problem.group = own->group.data();
                own->polish = std::make_unique<Polish>(problem, gram, to_vector(beta), kkt_violation);
                new (self) OwnPolish(std::move(*own));
            },
            "gram"_a, nb::kw_only(), "linear"_a, "lower"_a, "upper"_a, "ridge"_a, "group"_a, "totals"_a, "rows"_a,
            "beta"_a, "kkt_violation"_a, nb::keep_alive<1, 2>())
        .def(
            "advance", [](OwnPolish& self, double seconds) { return self.polish->advance(seconds_now() + seconds); },
            nb::kw_only(), "seconds"_a = infinity, Released(), "Go on for about so long; True when done.")
        .def_prop_ro(
            "beta", [](const OwnPolish& self) { return to_numpy(self.polish->beta()); }, nb::rv_policy::automatic)
        .def_prop_ro("kkt_violation", [](const OwnPolish& self) { return self.polish->kkt_violation(); });
}

}  // namespace adatron::bindings
