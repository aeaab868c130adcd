// The papers' solvers: one coefficient at a time, or two.
#include "bind.hpp"

#include "coordinate.hpp"
#include "pairs.hpp"
#include "problems.hpp"

namespace adatron::bindings {

namespace {

// What both kinds have.
template <class C>
void bind_climb(nb::class_<C>& climb) {
    climb.def("account", &C::account, nb::kw_only(), "bias"_a, "rho"_a, Released());
    climb.def_prop_ro("beta", [](const C& c) { return to_numpy(c.beta()); }, nb::rv_policy::automatic);
    climb.def_prop_ro("product", [](const C& c) { return to_numpy(c.product()); }, nb::rv_policy::automatic);
    climb.def_prop_ro("wanted", [](const C& c) { return to_numpy(c.wanted()); }, nb::rv_policy::automatic);
    climb.def_prop_ro("updates", &C::updates);
    climb.def(
        "correct",
        [](C& c, const Vector<double>& product) {
            check_length("product", product, Index(c.product().size()));
            c.correct(product.data());
        },
        "product"_a);
}

template <class T>
void bind_coordinate(nb::module_& m, const char* name) {
    using C = Coordinate<T>;
    auto climb = nb::class_<C>(m, name, "One coefficient at a time: Kernel-Adatron, SVMseq, SOR.");
    climb.def(
        "__init__",
        [](C* self, Gram<T>& gram, const Vector<double>& linear, const Vector<double>& lower,
           const Vector<double>& upper, const Vector<double>& ridge, const Vector<std::int8_t>& group,
           const Vector<double>& totals, Index rows, const Vector<double>& beta, const Vector<double>& product) {
            const Problem problem = problem_of(linear, lower, upper, ridge, group, totals, rows);
            check_whole(gram);
            check_problem(gram, problem, beta, product, rows);
            new (self) C(problem, gram, beta.data(), product.data());
        },
        "gram"_a, nb::kw_only(), "linear"_a, "lower"_a, "upper"_a, "ridge"_a, "group"_a, "totals"_a, "rows"_a, "beta"_a,
        "product"_a, nb::keep_alive<1, 2>());
    climb.def(
        "visit",
        [](C& c, const Vector<Index>& order, const Vector<double>& step, double shift, double augment, double seconds) {
            check_index("order", order, Index(c.beta().size()));
            check_length("step", step, Index(c.beta().size()));
            return c.visit(order.data(), Index(order.shape(0)), step.data(), shift, augment, seconds);
        },
        "order"_a, nb::kw_only(), "step"_a, "shift"_a, "augment"_a, "seconds"_a, Released());
    climb.def(
        "visit_best",
        [](C& c, Index count, const Vector<double>& step, double shift, double augment, double seconds) {
            check_length("step", step, Index(c.beta().size()));
            return c.visit_best(count, step.data(), shift, augment, seconds);
        },
        "count"_a, nb::kw_only(), "step"_a, "shift"_a, "augment"_a, "seconds"_a, Released());
    climb.def("begin_epoch", &C::begin_epoch);
    climb.def_prop_ro("shift", &C::shift);
    climb.def_prop_ro("largest", &C::largest);
    climb.def_prop_ro("gain", &C::gain);
    bind_climb(climb);
}

template <class T>
void bind_pairs(nb::module_& m, const char* name) {
    using P = Pairs<T>;
    auto climb = nb::class_<P>(m, name, "Two coefficients at a time: SMO and nearest points.");
    climb.def(
        "__init__",
        [](P* self, Gram<T>& gram, const Vector<double>& linear, const Vector<double>& lower,
           const Vector<double>& upper, const Vector<double>& ridge, const Vector<std::int8_t>& group,
           const Vector<double>& totals, Index rows, const Vector<double>& beta, const Vector<double>& product,
           double bias, std::uint32_t seed) {
            const Problem problem = problem_of(linear, lower, upper, ridge, group, totals, rows);
            check_whole(gram);
            check_problem(gram, problem, beta, product, rows);
            new (self) P(problem, gram, beta.data(), product.data(), bias, seed);
        },
        "gram"_a, nb::kw_only(), "linear"_a, "lower"_a, "upper"_a, "ridge"_a, "group"_a, "totals"_a, "rows"_a, "beta"_a,
        "product"_a, "bias"_a, "seed"_a, nb::keep_alive<1, 2>());
    climb.def("platt", &P::platt, "rules"_a, Released());
    climb.def("simplified", &P::simplified, "rules"_a, nb::kw_only(), "quiet_passes"_a, Released());
    climb.def("extreme", &P::extreme, "rules"_a, Released());
    climb.def_prop_ro("bias", &P::bias);
    climb.def_prop_ro("passes", &P::passes);
    climb.def_prop_ro("last_first", &P::last_first);
    climb.def_prop_ro("last_second", &P::last_second);
    bind_climb(climb);
}

}  // namespace

void bind_climbs(nb::module_& m) {
    bind_coordinate<float>(m, "Coordinate32");
    bind_coordinate<double>(m, "Coordinate64");
    nb::class_<PairRules>(m, "PairRules")
        .def(
            "__init__",
            [](PairRules* self, double tolerance, double progress, double seconds, Index most) {
                new (self) PairRules{tolerance, progress, seconds, most};
            },
            nb::kw_only(), "tolerance"_a, "progress"_a, "seconds"_a, "most"_a);
    nb::enum_<PairEnd>(m, "PairEnd")
        .value("paused", PairEnd::paused)
        .value("missing", PairEnd::missing)
        .value("finished", PairEnd::finished)
        .value("unbounded", PairEnd::unbounded);
    bind_pairs<float>(m, "Pairs32");
    bind_pairs<double>(m, "Pairs64");
}

}  // namespace adatron::bindings
