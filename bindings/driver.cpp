// The driver, which takes one problem after another to a tolerance.
#include "bind.hpp"

#include "certificate.hpp"
#include "driver.hpp"
#include "problems.hpp"
#include "trace.hpp"

namespace adatron::bindings {

namespace {

template <class T>
void bind_driver(nb::module_& m, const char* name) {
    using D = Driver<T>;
    auto driver = nb::class_<D>(m, name, "The loop around the engine: run, judge, choose active rows.");
    driver.def(nb::init<Gram<T>&>(), "gram"_a, nb::keep_alive<1, 2>());
    driver.def(
        "load",
        [](D& d, const Vector<double>& linear, const Vector<double>& lower, const Vector<double>& upper,
           const Vector<double>& ridge, const Vector<std::int8_t>& group, const Vector<double>& totals, Index rows,
           const Vector<double>& beta, const Vector<double>& product) {
            const Problem problem = problem_of(linear, lower, upper, ridge, group, totals, rows);
            check_problem(d.gram(), problem, beta, product, rows);
            d.load(problem, beta.data(), product.data());
        },
        nb::kw_only(), "linear"_a, "lower"_a, "upper"_a, "ridge"_a, "group"_a, "totals"_a, "rows"_a, "beta"_a,
        "product"_a, "A problem and where to start.");
    driver.def(
        "begin_with_samples",
        [](D& d, const Vector<Index>& order, bool always) {
            check_length("order", order, d.rows());
            check_index("order", order, d.rows());
            d.begin_with_samples(order.data(), Index(order.shape(0)), always);
        },
        "order"_a, nb::kw_only(), "always"_a);
    driver.def("advance", &D::advance, "options"_a, Released(), "Go on; what is needed next, or how it has ended.");
    driver.def(
        "judge",
        [](D& d, const Vector<double>& product) {
            check_length("product", product, d.rows());
            d.judge(product.data());
        },
        "product"_a, "Go on from this product of the coefficients.");
    driver.def(
        "write",
        [](const D& d, const MutableVector<double>& beta) {
            check_length("beta", beta, d.variables());
            d.write(beta.data());
        },
        "beta"_a);
    driver.def_prop_ro(
        "working_rows", [](const D& d) { return to_numpy(d.has_engine() ? d.working_rows() : std::vector<Index>{}); },
        nb::rv_policy::automatic);
    driver.def(
        "account",
        [](const D& d) {
            if (!d.has_engine()) refuse("nothing has run yet: call advance first.");
            return d.account();
        },
        Released());
    driver.def_prop_ro("product", [](const D& d) { return to_numpy(d.product()); }, nb::rv_policy::automatic);
    driver.def_prop_ro("trace", [](const D& d) { return trace_columns(d.trace()); }, nb::rv_policy::automatic);
    driver.def_prop_ro("product_is_complete", &D::product_is_complete);
    driver.def_prop_ro("violation", &D::violation);
    driver.def_prop_ro("active_rows", &D::active_rows);
    driver.def_prop_ro("bias", &D::bias);
    driver.def_prop_ro("steps", &D::steps);
    driver.def_prop_ro("effort", &D::effort);
    driver.def_prop_ro("rounds", &D::rounds);
}

}  // namespace

void bind_driver(nb::module_& m) {
    const ActiveRows active;
    const DriverOptions driver;
    nb::class_<ActiveRows>(m, "ActiveRows", "Which rows are active, where not all are: those near the margin.")
        .def(
            "__init__",
            [](ActiveRows* self, double neighbours, Index spare, double most, bool keep) {
                new (self) ActiveRows{true, neighbours, spare, most, keep};
            },
            nb::kw_only(), "neighbours"_a = active.neighbours, "spare"_a = active.spare, "most"_a = active.most,
            "keep"_a = active.keep);
    nb::class_<DriverOptions>(m, "DriverOptions", "How the driver goes on.")
        .def(
            "__init__",
            [](DriverOptions* self, const RunOptions& run, const ActiveRows* active, Index working_size,
               Index idle_runs, bool ends_stalled, double time_left) {
                new (self) DriverOptions{
                    run, active ? *active : ActiveRows{}, working_size, idle_runs, ends_stalled, time_left};
            },
            nb::kw_only(), "run"_a, "active"_a.none() = nb::none(), "working_size"_a = driver.working_size,
            "idle_runs"_a = driver.idle_runs, "ends_stalled"_a = driver.ends_stalled, "time_left"_a = driver.time_left);
    m.attr("CERTAIN") = certain;
    bind_driver<float>(m, "Driver32");
    bind_driver<double>(m, "Driver64");
}

}  // namespace adatron::bindings
