// Batches of small problems.
#include "bind.hpp"

#include <memory>
#include <optional>

#include "arrays.hpp"
#include "batch.hpp"
#include "trace.hpp"

namespace adatron::bindings {

namespace {

ProblemSet problem_set(const Vector<Index>& start, const std::optional<Vector<Index>>& rows,
                       const Vector<double>& linear, const Vector<double>& lower, const Vector<double>& upper,
                       const Vector<double>& ridge, const Vector<std::int8_t>& group, const Matrix<double>& totals,
                       bool doubled, const Vector<double>& beta, Index count) {
    ProblemSet set;
    const std::size_t problems = start.shape(0);
    if (problems < 2 || start.data()[0] != 0)
        refuse("start does not begin with 0 and an end: pass one entry more than problems.");
    for (std::size_t k = 0; k + 1 < problems; ++k) {
        const Index length = start.data()[k + 1] - start.data()[k];
        if (length < 1 || (!rows && length != count))
            refuse("start gives problem " + std::to_string(k) + " " + std::to_string(length) + " rows: pass " +
                   (rows ? std::string("at least 1.") : std::to_string(count) + ", as there are."));
    }
    const Index total = start.data()[problems - 1], variables = (doubled ? 2 : 1) * total;
    if (rows) {
        check_length("rows", *rows, total);
        check_index("rows", *rows, count);
        set.rows.assign(rows->data(), rows->data() + total);
    }
    check_length("linear", linear, variables);
    for (const auto* span : {&lower, &upper, &ridge, &beta})
        check_length("lower, upper, ridge or beta", *span, variables);
    check_length("group", group, variables);
    check_index("group", group, 2);
    if (totals.shape(1) > 2) refuse("totals has " + std::to_string(totals.shape(1)) + " columns: pass at most 2.");
    check_shape("totals", totals, Index(problems) - 1, Index(totals.shape(1)));
    set.start.assign(start.data(), start.data() + problems);
    set.linear = to_vector(linear);
    set.lower = to_vector(lower);
    set.upper = to_vector(upper);
    set.ridge = to_vector(ridge);
    set.beta = to_vector(beta);
    set.group.assign(group.data(), group.data() + variables);
    set.totals.assign(totals.data(), totals.data() + totals.size());
    set.sums = int(totals.shape(1));
    set.doubled = doubled;
    return set;
}

void bind_problems(nb::module_& m, const char* name) {
    using B = Batch;
    auto batch = nb::class_<B>(m, name, "Many small problems, one per thread.");
    batch.def_static(
        "of_points",
        [](const Kernel& kernel, std::shared_ptr<Points<double>> points, const Vector<double>& diagonal,
           const Vector<Index>& start, const std::optional<Vector<Index>>& rows, const Vector<double>& linear,
           const Vector<double>& lower, const Vector<double>& upper, const Vector<double>& ridge,
           const Vector<std::int8_t>& group, const Matrix<double>& totals, bool doubled, const Vector<double>& beta,
           double tol, std::size_t cache_bytes, int threads, bool record) {
            check_length("diagonal", diagonal, points->count());
            return std::make_unique<B>(
                kernel, points, to_vector(diagonal),
                problem_set(start, rows, linear, lower, upper, ridge, group, totals, doubled, beta, points->count()),
                BatchOptions{tol, cache_bytes, threads, record});
        },
        "kernel"_a, "points"_a, nb::kw_only(), "diagonal"_a, "start"_a, "rows"_a.none(), "linear"_a, "lower"_a,
        "upper"_a, "ridge"_a, "group"_a, "totals"_a, "doubled"_a, "beta"_a, "tol"_a, "cache_bytes"_a, "threads"_a,
        "record"_a, Released());
    batch.def_static(
        "of_matrix",
        [](const Matrix<double>& matrix, const Vector<double>& diagonal, const Vector<Index>& start,
           const std::optional<Vector<Index>>& rows, const Vector<double>& linear, const Vector<double>& lower,
           const Vector<double>& upper, const Vector<double>& ridge, const Vector<std::int8_t>& group,
           const Matrix<double>& totals, bool doubled, const Vector<double>& beta, double tol, std::size_t cache_bytes,
           int threads, bool record) {
            const Index count = Index(diagonal.shape(0));
            check_shape("matrix", matrix, count, count);
            return std::make_unique<B>(
                matrix.data(), Index(matrix.shape(1)), to_vector(diagonal),
                problem_set(start, rows, linear, lower, upper, ridge, group, totals, doubled, beta, count),
                BatchOptions{tol, cache_bytes, threads, record});
        },
        "matrix"_a, nb::kw_only(), "diagonal"_a, "start"_a, "rows"_a.none(), "linear"_a, "lower"_a, "upper"_a,
        "ridge"_a, "group"_a, "totals"_a, "doubled"_a, "beta"_a, "tol"_a, "cache_bytes"_a, "threads"_a, "record"_a,
        nb::keep_alive<0, 1>());
    batch.def("advance", &B::advance, nb::kw_only(), "seconds"_a = infinity, Released(),
              "Go on for about so long; True when all problems are done.");
    batch.def("stop", &B::stop, Released(), "End: problems under way are judged as they are.");
    batch.def_prop_ro("beta", [](const B& b) { return to_numpy(b.beta()); }, nb::rv_policy::automatic);
    batch.def_prop_ro(
        "status",
        [](const B& b) {
            std::vector<std::uint8_t> status;
            for (const auto& r : b.results()) status.push_back(std::uint8_t(r.status));
            return to_numpy(status);
        },
        nb::rv_policy::automatic, "BatchStatus of each problem.");
    batch.def_prop_ro(
        "steps",
        [](const B& b) {
            std::vector<Index> steps;
            for (const auto& r : b.results()) steps.push_back(r.steps);
            return to_numpy(steps);
        },
        nb::rv_policy::automatic);
    batch.def_prop_ro(
        "certificates",
        [](const B& b) {
            auto* copy = new std::vector<double>();
            nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
            for (const auto& r : b.results()) {
                const Certificate& c = r.certificate;
                for (double value :
                     {c.objective, c.primal, -c.objective, c.gap, c.kkt_violation, c.infeasibility, c.bias, c.rho})
                    copy->push_back(value);
            }
            return nb::ndarray<double, nb::numpy, nb::ndim<2>>(copy->data(), {b.results().size(), 8}, owner);
        },
        nb::rv_policy::automatic,
        "One line per problem: objective, primal, dual, gap, KKT violation, infeasibility, bias, rho.");
    batch.def_prop_ro(
        "traces",
        [](const B& b) {
            std::vector<TraceRow> rows;
            for (const auto& r : b.results()) rows.insert(rows.end(), r.trace.begin(), r.trace.end());
            return trace_columns(rows);
        },
        nb::rv_policy::automatic, "The rows of all traces, end to end.");
    batch.def_prop_ro(
        "trace_start",
        [](const B& b) {
            std::vector<Index> start{0};
            for (const auto& r : b.results()) start.push_back(start.back() + Index(r.trace.size()));
            return to_numpy(start);
        },
        nb::rv_policy::automatic, "Where each problem's trace begins, and where the last one's ends.");
}

}  // namespace

void bind_batch(nb::module_& m) {
    nb::enum_<BatchStatus>(m, "BatchStatus")
        .value("open", BatchStatus::open)
        .value("converged", BatchStatus::converged)
        .value("unsolved", BatchStatus::unsolved);
    bind_problems(m, "Batch");
}

}  // namespace adatron::bindings
