// The engine, which solves one problem.
#include "bind.hpp"

#include "climb.hpp"
#include "engine.hpp"
#include "problems.hpp"
#include "trace.hpp"

namespace adatron::bindings {

namespace {

template <class T>
void bind_engine(nb::module_& m, const char* name) {
    using D = Engine<T>;
    auto engine = nb::class_<D>(m, name, "Working-set decomposition over a Gram's active rows.");
    engine.def(
        "__init__",
        [](D* self, Gram<T>& gram, const Vector<double>& linear, const Vector<double>& lower,
           const Vector<double>& upper, const Vector<double>& ridge, const Vector<std::int8_t>& group,
           const Vector<double>& totals, Index rows, const Vector<double>& beta, const Vector<double>& product,
           int working_size) {
            const Problem problem = problem_of(linear, lower, upper, ridge, group, totals, rows);
            check_problem(gram, problem, beta, product, gram.active_count());
            new (self) D(problem, gram, beta.data(), product.data(), working_size);
        },
        "gram"_a, nb::kw_only(), "linear"_a, "lower"_a, "upper"_a, "ridge"_a, "group"_a, "totals"_a, "rows"_a, "beta"_a,
        "product"_a, "working_size"_a, nb::keep_alive<1, 2>());
    engine.def(
        "load",
        [](D& d, const Vector<double>& linear, const Vector<double>& lower, const Vector<double>& upper,
           const Vector<double>& ridge, const Vector<std::int8_t>& group, const Vector<double>& totals, Index rows,
           const Vector<double>& beta, const Vector<double>& product) {
            const Problem problem = problem_of(linear, lower, upper, ridge, group, totals, rows);
            check_problem(d.gram(), problem, beta, product, d.gram().active_count());
            d.load(problem, beta.data(), product.data());
        },
        nb::kw_only(), "linear"_a, "lower"_a, "upper"_a, "ridge"_a, "group"_a, "totals"_a, "rows"_a, "beta"_a,
        "product"_a, "Another problem of the same shape.");
    engine.def("select", &D::select, Released(), "Choose the working set; returns the gap among the active.");
    engine.def_prop_ro("working_rows", [](const D& d) { return to_numpy(d.working_rows()); }, nb::rv_policy::automatic);
    engine.def("advance", &D::advance, nb::kw_only(), "tolerance"_a, "max_steps"_a, Released());
    engine.def("run", &D::run, "options"_a, Released(),
               "Rounds until the KKT violation is at most the goal, or something else ends the run.");
    engine.def_prop_ro("trace", [](const D& d) { return trace_columns(d.trace()); }, nb::rv_policy::automatic);
    engine.def("newton", &D::newton, nb::kw_only(), "most"_a, "seconds"_a = infinity, Released(),
               "Move all free coefficients at once; -1 when the time is up, to be called again.");
    engine.def(
        "write",
        [](const D& d, const MutableVector<double>& beta) {
            check_length("beta", beta, d.problem_variables());
            d.write(beta.data());
        },
        "beta"_a);
    engine.def_prop_ro("product", [](const D& d) { return to_numpy(d.product()); }, nb::rv_policy::automatic);
    engine.def("account", &D::account, Released());
    engine.def_prop_ro("bias", &D::bias);
    engine.def_prop_ro("gap", &D::gap);
    engine.def_prop_ro("steps", &D::steps);
    engine.def_prop_ro("effort", &D::effort);
    engine.def_prop_ro("rounds", &D::rounds);
    engine.def_prop_ro("newtons", &D::newtons);
}

}  // namespace

void bind_engine(nb::module_& m) {
    nb::class_<PairOutcome>(m, "PairOutcome")
        .def_ro("steps", &PairOutcome::steps)
        .def_ro("gap", &PairOutcome::gap)
        .def_ro("unbounded", &PairOutcome::unbounded);
    nb::enum_<RunState>(m, "RunState")
        .value("converged", RunState::converged)
        .value("running", RunState::running)
        .value("needs_rows", RunState::needs_rows)
        .value("needs_product", RunState::needs_product)
        .value("stalled", RunState::stalled)
        .value("out_of_steps", RunState::out_of_steps)
        .value("unbounded", RunState::unbounded);
    nb::class_<RunOptions>(m, "RunOptions", "How the engine runs.")
        .def(
            "__init__",
            [](RunOptions* self, double goal, double seconds, double max_steps, double max_effort, double stay,
               Index patience, bool each_round, bool record) {
                new (self) RunOptions{goal, seconds, max_steps, max_effort, stay, patience, each_round, record};
            },
            nb::kw_only(), "goal"_a, "seconds"_a = infinity, "max_steps"_a = infinity, "max_effort"_a = infinity,
            "stay"_a = RunOptions{}.stay, "patience"_a = RunOptions{}.patience, "each_round"_a = false,
            "record"_a = false);
    m.def("seconds_now", &seconds_now, "The clock of traces.");
    bind_engine<float>(m, "Engine32");
    bind_engine<double>(m, "Engine64");
}

}  // namespace adatron::bindings
