// The border between Python and the core: typed arrays in, typed arrays out, no logic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "batch.hpp"
#include "climb.hpp"
#include "coordinate.hpp"
#include "engine.hpp"
#include "linear.hpp"
#include "pairs.hpp"
#include "polish.hpp"
#include "predictor.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace adatron;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class S>
using Vector = nb::ndarray<const S, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class S>
using MutableVector = nb::ndarray<S, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class S>
using Matrix = nb::ndarray<const S, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class S>
using MutableMatrix = nb::ndarray<S, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Takes the GIL back. When the interpreter is ending, Python ends threads that ask for it by pthread_exit, whose
// unwinding must not reach the frames above, which let nothing through (std::terminate would end the process). Such
// a thread never leaves the handler: it sleeps until the process ends, as Python 3.14 lets it do itself.
[[gnu::noinline]] void take_gil_back(PyThreadState* state) {
    try {
        PyEval_RestoreThread(state);
    } catch (...) {
        for (;;) pause();
    }
}

class WithoutGil {
public:
    WithoutGil() : state_(PyEval_SaveThread()) {}
    ~WithoutGil() { take_gil_back(state_); }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

private:
    PyThreadState* state_;
};

// Functions that run without the GIL take their arrays by reference: to let go of a copy would take the GIL again.
using Released = nb::call_guard<WithoutGil>;

// What crosses the border is checked: a wrong size or index is an error in words, never a crash.
[[noreturn]] void refuse(const std::string& sentence) { throw std::invalid_argument(sentence); }

template <class A>
void check_length(const char* name, const A& array, Index wanted) {
    const Index length = Index(array.shape(0));
    if (length != wanted)
        refuse(std::string(name) + " has " + std::to_string(length) + " entries: pass " + std::to_string(wanted) + ".");
}

template <class A>
void check_shape(const char* name, const A& array, Index rows, Index columns) {
    const Index height = Index(array.shape(0)), width = Index(array.shape(1));
    if (height != rows || width != columns)
        refuse(std::string(name) + " has shape (" + std::to_string(height) + ", " + std::to_string(width) +
               "): pass (" + std::to_string(rows) + ", " + std::to_string(columns) + ").");
}

template <class S>
void check_index(const char* name, const Vector<S>& index, Index count) {
    for (std::size_t k = 0; k < index.shape(0); ++k) {
        const Index i = Index(index.data()[k]);
        if (i < 0 || i >= count)
            refuse(std::string(name) + "[" + std::to_string(k) + "]=" + std::to_string(i) +
                   " is out of range: pass integers from 0 to " + std::to_string(count - 1) + ".");
    }
}

template <class S>
void check_csr(const Vector<Index>& start, const Vector<std::int32_t>& feature, const Vector<S>& value, int features) {
    const std::size_t rows = start.shape(0);
    if (rows == 0) refuse("start is empty: pass one entry per row and one more.");
    for (std::size_t i = 0; i + 1 < rows; ++i)
        if (start.data()[i] > start.data()[i + 1])
            refuse("start decreases at row " + std::to_string(i) + ": pass a valid CSR matrix.");
    if (start.data()[0] != 0) refuse("start does not begin with 0: pass a valid CSR matrix.");
    check_length("feature", feature, start.data()[rows - 1]);
    check_length("value", value, start.data()[rows - 1]);
    check_index("feature", feature, features);
}

void check_range(Index first, Index last, Index count) {
    if (first < 0 || first > last || last > count)
        refuse("first=" + std::to_string(first) + ", last=" + std::to_string(last) +
               " are no range: pass 0 <= first <= last <= " + std::to_string(count) + ".");
}

template <class T>
void check_at_hand(const Gram<T>& gram, const Vector<Index>& index) {
    check_index("index", index, gram.count());
    for (std::size_t k = 0; k < index.shape(0); ++k)
        if (!gram.row(index.data()[k]))
            refuse("index names row " + std::to_string(index.data()[k]) + ", which is not cached: fetch it first.");
}

template <class T>
void check_complete(const Distances<T>& distances) {
    if (!distances.complete()) refuse("not all distances are there: call advance until it returns True.");
}

template <class T>
void check_whole(const Gram<T>& gram) {
    if (gram.active_count() != gram.count()) refuse("only some columns are active: activate all of them first.");
}

template <class S>
auto to_numpy(const std::vector<S>& values) {
    auto* copy = new std::vector<S>(values);
    nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<S>*>(p); });
    return nb::ndarray<S, nb::numpy, nb::ndim<1>>(copy->data(), {copy->size()}, owner);
}

std::vector<double> to_vector(const Vector<double>& values) { return {values.data(), values.data() + values.shape(0)}; }

// The spans of a problem, which the caller keeps alive.
Problem problem_of(const Vector<double>& linear, const Vector<double>& lower, const Vector<double>& upper,
                   const Vector<double>& ridge, const Vector<std::int8_t>& group, const Vector<double>& totals,
                   Index rows) {
    const Index variables = Index(linear.shape(0));
    const int sums = int(totals.shape(0));
    if (rows < 1 || (variables != rows && variables != 2 * rows))
        refuse("linear has " + std::to_string(variables) + " entries over rows=" + std::to_string(rows) +
               ": pass one or two per row.");
    if (sums > 2) refuse("totals has " + std::to_string(sums) + " entries: pass at most 2.");
    for (const auto* span : {&lower, &upper, &ridge}) check_length("lower, upper or ridge", *span, variables);
    check_length("group", group, variables);
    check_index("group", group, 2);
    return {linear.data(), lower.data(), upper.data(),
            ridge.data(),  group.data(), Index(linear.shape(0)),
            rows,          sums,         {sums > 0 ? totals.data()[0] : 0.0, sums > 1 ? totals.data()[1] : 0.0}};
}

const double* center_or_null(const std::optional<Vector<double>>& center) { return center ? center->data() : nullptr; }

template <class T>
void bind_points(nb::module_& m, const char* name) {
    auto points = nb::class_<Points<T>>(m, name, "Data points packed for the kernel loops.");
    auto dense = [](const auto& x, const std::optional<Vector<double>>& center, int threads) {
        if (center) check_length("center", *center, Index(x.shape(1)));
        return std::make_shared<Points<T>>(Points<T>::dense(x.data(), Index(x.shape(0)), int(x.shape(1)),
                                                            Index(x.shape(1)), center_or_null(center), threads));
    };
    points.def_static(
        "dense",
        [dense](const Matrix<float>& x, const std::optional<Vector<double>>& c, int t) { return dense(x, c, t); },
        "x"_a, nb::kw_only(), "center"_a = nb::none(), "threads"_a, Released());
    points.def_static(
        "dense",
        [dense](const Matrix<double>& x, const std::optional<Vector<double>>& c, int t) { return dense(x, c, t); },
        "x"_a, nb::kw_only(), "center"_a = nb::none(), "threads"_a, Released());
    points.def_static(
        "sparse",
        [](const Vector<Index>& start, const Vector<std::int32_t>& feature, const Vector<double>& value, int features) {
            check_csr(start, feature, value, features);
            return std::make_shared<Points<T>>(
                Points<T>::sparse(start.data(), feature.data(), value.data(), Index(start.shape(0)) - 1, features));
        },
        nb::kw_only(), "start"_a, "feature"_a, "value"_a, "features"_a, Released());
    points.def(
        "norms",
        [](const Points<T>& p) {
            return to_numpy(std::vector<T>(p.panels(0, p.count()).norms, p.panels(0, p.count()).norms + p.count()));
        },
        "Squared norms of the (centred) points.");
    points.def_prop_ro("count", &Points<T>::count);
    points.def_prop_ro("features", &Points<T>::features);
    points.def_prop_ro("bytes", &Points<T>::bytes);
}

template <class T>
void bind_functions(nb::module_& m) {
    m.def(
        "add_product",
        [](const Kernel& kernel, const Points<T>& rows, const Vector<Index>& index, const Matrix<double>& weight,
           const Points<T>& columns, const MutableMatrix<double>& out, int threads) {
            check_index("index", index, rows.count());
            check_shape("weight", weight, Index(out.shape(0)), Index(index.shape(0)));
            check_shape("out", out, Index(out.shape(0)), columns.count());
            kernel_product(kernel, rows, index.data(), Index(index.shape(0)), weight.data(), int(weight.shape(0)),
                           columns, out.data(), threads);
        },
        "kernel"_a, nb::kw_only(), "rows"_a, "index"_a, "weight"_a, "columns"_a, "out"_a, "threads"_a, Released(),
        "out += weight @ kernel(rows[index], columns), in float64.");
}

template <class T>
void bind_predictor(nb::module_& m, const char* name) {
    using P = Predictor<T>;
    nb::class_<P>(m, name, "Decision values of few rows.")
        .def(
            "__init__",
            [](P* self, const Kernel& kernel, std::shared_ptr<Points<T>> support, const Matrix<double>& coef,
               const std::vector<Index>& edge) {
                check_shape("coef", coef, Index(coef.shape(0)), support->count());
                if (!edge.empty() && (!std::is_sorted(edge.begin(), edge.end()) || edge.front() != 0 ||
                                      edge.back() != support->count() || coef.shape(0) + 2 != edge.size()))
                    refuse("edge does not part the support rows: pass the first row of each class, and the end.");
                new (self) P(kernel, support, {coef.data(), coef.data() + coef.size()}, int(coef.shape(0)), edge);
            },
            "kernel"_a, nb::kw_only(), "support"_a, "coef"_a, "edge"_a)
        .def(
            "decide",
            [](const P& p, const Points<T>& rows, const Vector<double>& bias, const MutableMatrix<double>& out) {
                check_length("bias", bias, p.outputs());
                check_shape("out", out, p.outputs(), rows.count());
                p.decide(rows, bias.data(), out.data());
            },
            "rows"_a, nb::kw_only(), "bias"_a, "out"_a, Released(), "out = decision values, outputs x rows.");
}

void bind_votes(nb::module_& m) {
    m.def(
        "count_votes",
        [](const Matrix<double>& values, const MutableMatrix<double>& votes, const MutableMatrix<double>& confidence) {
            const Index rows = Index(values.shape(1)), classes = Index(votes.shape(1));
            check_shape("values", values, classes * (classes - 1) / 2, rows);
            check_shape("votes", votes, rows, classes);
            check_shape("confidence", confidence, rows, classes);
            count_votes(values.data(), rows, classes, votes.data(), confidence.data());
        },
        "values"_a, nb::kw_only(), "votes"_a, "confidence"_a, Released(),
        "One against one: pairs won by each class, and the sum of its outputs, from values of pairs x rows.");
}

void bind_forward_solve(nb::module_& m) {
    m.def(
        "cholesky_forward",
        [](const MutableMatrix<double>& l, const MutableMatrix<double>& b) {
            if (l.shape(0) != l.shape(1)) throw std::invalid_argument("l is not square: pass what cholesky left.");
            if (b.shape(1) != l.shape(0))
                throw std::invalid_argument("b does not fit l: pass rows as long as those of l.");
            loops<double>().solve_forward(l.data(), Index(l.shape(0)), b.data(), Index(b.shape(0)));
        },
        nb::arg().noconvert(), nb::arg().noconvert(), Released(), "Every row of b becomes the x with L x = b.");
}

// Cholesky's factor with the core's own loops: unlike LAPACK's it starts no threads, so no process-wide setting of BLAS
// has to be changed for it. Arrays are worked on in place and therefore never converted.
void bind_cholesky(nb::module_& m) {
    m.def(
        "cholesky",
        [](const MutableMatrix<double>& a) {
            if (a.shape(0) != a.shape(1)) throw std::invalid_argument("a is not square: pass an n x n matrix.");
            return loops<double>().factor(a.data(), Index(a.shape(0)), 0, Index(a.shape(0)));
        },
        nb::arg().noconvert(), Released(),
        "The lower triangle of a becomes L with L Lᵀ = a; False if a is not positive definite.");
    m.def(
        "cholesky_solve",
        [](const MutableMatrix<double>& l, const nb::ndarray<double, nb::numpy, nb::c_contig, nb::device::cpu>& b) {
            const std::size_t n = l.shape(0), ndim = b.ndim();
            if (l.shape(1) != n) throw std::invalid_argument("l is not square: pass what cholesky left.");
            if (ndim < 1 || ndim > 2 || b.shape(ndim - 1) != n)
                throw std::invalid_argument("b does not fit l: pass a vector, or rows, as long as those of l.");
            const std::size_t count = ndim == 2 ? b.shape(0) : 1;
            for (std::size_t k = 0; k < count; ++k)
                loops<double>().solve_factored(l.data(), Index(n), b.data() + k * n);
        },
        nb::arg().noconvert(), nb::arg().noconvert(), Released(),
        "b, or every row of it, becomes the x with L Lᵀ x = b.");
}

template <class T>
void bind_gram(nb::module_& m, const char* name) {
    auto gram = nb::class_<Gram<T>>(m, name, "Kernel rows over the active columns, cached.");
    gram.def_static(
        "of_points",
        [](const Kernel& kernel, std::shared_ptr<Points<T>> points, const Vector<double>& diagonal,
           std::size_t cache_bytes, int threads) {
            check_length("diagonal", diagonal, points->count());
            return std::make_unique<Gram<T>>(kernel, points, to_vector(diagonal), cache_bytes, threads);
        },
        "kernel"_a, "points"_a, nb::kw_only(), "diagonal"_a, "cache_bytes"_a, "threads"_a, Released());
    gram.def_static(
        "of_distances",
        [](const Distances<T>& distances, double gamma, const Vector<double>& diagonal, std::size_t cache_bytes,
           int threads) {
            check_complete(distances);
            check_length("diagonal", diagonal, distances.count());
            return std::make_unique<Gram<T>>(distances, gamma, to_vector(diagonal), cache_bytes, threads);
        },
        "distances"_a, nb::kw_only(), "gamma"_a, "diagonal"_a, "cache_bytes"_a, "threads"_a, nb::keep_alive<0, 1>());
    gram.def("widen", &Gram<T>::widen, "gamma"_a, "Another width, of what is made from distances.");
    gram.def_static(
        "of_matrix",
        [](const std::optional<Matrix<T>>& matrix, const Vector<double>& diagonal, std::size_t cache_bytes, int threads,
           const std::optional<Matrix<std::uint8_t>>& lit) {
            const Index count = Index(diagonal.shape(0));
            if (matrix && (Index(matrix->shape(0)) < count || Index(matrix->shape(1)) < count))
                check_shape("matrix", *matrix, count, count);
            if (lit) check_shape("lit", *lit, count, stretches(count));
            return std::make_unique<Gram<T>>(matrix ? matrix->data() : nullptr, matrix ? Index(matrix->shape(1)) : 0,
                                             to_vector(diagonal), cache_bytes, threads, lit ? lit->data() : nullptr);
        },
        "matrix"_a.none(), nb::kw_only(), "diagonal"_a, "cache_bytes"_a, "threads"_a, "lit"_a = nb::none(),
        nb::keep_alive<0, 1>(), nb::keep_alive<0, 5>());
    gram.def(
        "activate",
        [](Gram<T>& g, const Vector<Index>& index) {
            check_index("index", index, g.count());
            g.activate(index.data(), Index(index.shape(0)));
        },
        "index"_a, Released());
    gram.def(
        "missing",
        [](Gram<T>& g, const Vector<Index>& index) {
            check_index("index", index, g.count());
            return to_numpy(g.missing(index.data(), Index(index.shape(0))));
        },
        "index"_a);
    gram.def(
        "store",
        [](Gram<T>& g, const Vector<Index>& index, const Matrix<T>& values) {
            check_index("index", index, g.count());
            check_shape("values", values, Index(index.shape(0)), g.active_count());
            g.store(index.data(), Index(index.shape(0)), values.data());
        },
        "index"_a, "values"_a);
    gram.def(
        "fetch",
        [](Gram<T>& g, const Vector<Index>& index, double seconds) {
            check_index("index", index, g.count());
            return g.fetch(index.data(), Index(index.shape(0)), seconds) == Fetched::all;
        },
        "index"_a, nb::kw_only(), "seconds"_a, Released(), "True when every row is there.");
    gram.def(
        "copy_rows",
        [](const Gram<T>& g, const Vector<Index>& index, const MutableMatrix<T>& out) {
            check_at_hand(g, index);
            check_shape("out", out, Index(index.shape(0)), g.active_count());
            for (std::size_t k = 0; k < index.shape(0); ++k)
                std::copy_n(g.row(index.data()[k]), g.active_count(), out.data() + k * out.shape(1));
        },
        "index"_a, nb::kw_only(), "out"_a);
    gram.def(
        "compact",
        [](const Gram<T>& g, const Vector<Index>& index, Index done, const MutableMatrix<T>& out) {
            const Index count = Index(index.shape(0));
            check_at_hand(g, index);
            check_whole(g);
            if (done < 0 || done > count) refuse("done=" + std::to_string(done) + " is out of range.");
            if (Index(out.shape(0)) < count || Index(out.shape(1)) < count) check_shape("out", out, count, count);
            g.compact(index.data(), count, done, out.data(), Index(out.shape(1)));
        },
        "index"_a, nb::kw_only(), "done"_a, "out"_a, Released(),
        "out = K[index][:, index], of which the part of the first `done` is there already.");
    gram.def(
        "add_product",
        [](const Gram<T>& g, const Vector<Index>& index, const Vector<double>& weight,
           const MutableVector<double>& out) {
            check_index("index", index, g.count());
            check_length("weight", weight, Index(index.shape(0)));
            check_length("out", out, g.count());
            g.add_product(index.data(), Index(index.shape(0)), weight.data(), out.data());
        },
        "index"_a, nb::kw_only(), "weight"_a, "out"_a, Released());
    gram.def_prop_ro("active", [](const Gram<T>& g) { return to_numpy(g.active()); }, nb::rv_policy::automatic);
    gram.def("forget", &Gram<T>::forget, "Give the cache's memory back.");
    gram.def_prop_ro("active_count", &Gram<T>::active_count);
    gram.def_prop_ro("capacity", &Gram<T>::capacity);
    gram.def_prop_ro("rows_cached", &Gram<T>::rows_cached);
    gram.def_prop_ro("rows_computed", &Gram<T>::rows_computed);
    gram.def_prop_ro("cached_bytes", &Gram<T>::cached_bytes);
}

template <class T>
void bind_distances(nb::module_& m, const char* name) {
    using D = Distances<T>;
    nb::class_<D>(m, name, "Distances of all pairs of points, and kernels of any width from them.")
        .def(
            "__init__",
            [](D* self, const Points<T>& points, Form form, Meeting meeting, int threads) {
                new (self) D(points.count(), form, meeting, threads);
            },
            "points"_a, nb::kw_only(), "form"_a, "meeting"_a, "threads"_a)
        .def("advance", &D::advance, "points"_a, nb::kw_only(), "seconds"_a = infinity, Released(),
             "Compute distances for about so long; True when all are there.")
        .def(
            "kernel",
            [](const D& d, double gamma, const MutableMatrix<T>& out, const MutableMatrix<std::uint8_t>& lit,
               int threads, double faint) {
                check_complete(d);
                check_shape("out", out, d.count(), d.count());
                check_shape("lit", lit, d.count(), stretches(d.count()));
                d.kernel(gamma, out.data(), lit.data(), threads, faint);
            },
            "gamma"_a, nb::kw_only(), "out"_a, "lit"_a, "threads"_a, "faint"_a = nothing, Released())
        .def(
            "rows",
            [](const D& d, const Vector<Index>& index, const MutableMatrix<T>& out) {
                check_complete(d);
                check_index("index", index, d.count());
                check_shape("out", out, Index(index.shape(0)), d.count());
                for (std::size_t k = 0; k < index.shape(0); ++k)
                    std::copy_n(d.row(index.data()[k]), d.count(), out.data() + k * out.shape(1));
            },
            "index"_a, nb::kw_only(), "out"_a);
}

template <class T>
void check_problem(const Gram<T>& gram, const Problem& problem, const Vector<double>& beta,
                   const Vector<double>& product, Index product_length) {
    if (problem.rows != gram.count())
        refuse("rows=" + std::to_string(problem.rows) + " for a matrix of " + std::to_string(gram.count()) +
               " rows: pass a problem and a matrix of the same rows.");
    check_length("beta", beta, problem.variables);
    check_length("product", product, product_length);
}

// Rows of a trace as a matrix, one line each; adatron.trace names the columns.
auto trace_columns(const std::vector<TraceRow>& rows) {
    constexpr std::size_t width = 13;
    auto* copy = new std::vector<double>();
    nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    copy->reserve(width * rows.size());
    for (const TraceRow& r : rows)
        for (double value : {r.time, double(r.rounds), r.account.objective, r.account.gap, r.account.kkt_violation,
                             r.account.margin, r.bias, r.account.sum, double(r.account.support),
                             double(r.account.at_bound), double(r.steps), double(r.rows_computed), double(r.active)})
            copy->push_back(value);
    return nb::ndarray<double, nb::numpy, nb::ndim<2>>(copy->data(), {rows.size(), width}, owner);
}

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

void bind_certificate(nb::module_& m) {
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

// A polish keeps copies of the problem's arrays: slices of time may come long after the first.
struct OwnPolish {
    std::vector<double> linear, lower, upper, ridge;
    std::vector<std::int8_t> group;
    std::unique_ptr<Polish> polish;
};

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

template <class T>
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

template <class T>
void bind_batch(nb::module_& m, const char* name) {
    using B = Batch<T>;
    auto batch = nb::class_<B>(m, name, "Many small problems, one per thread.");
    batch.def_static(
        "of_points",
        [](const Kernel& kernel, std::shared_ptr<Points<T>> points, const Vector<double>& diagonal,
           const Vector<Index>& start, const std::optional<Vector<Index>>& rows, const Vector<double>& linear,
           const Vector<double>& lower, const Vector<double>& upper, const Vector<double>& ridge,
           const Vector<std::int8_t>& group, const Matrix<double>& totals, bool doubled, const Vector<double>& beta,
           double tol, std::size_t cache_bytes, int threads, bool record) {
            check_length("diagonal", diagonal, points->count());
            return std::make_unique<B>(
                kernel, points, to_vector(diagonal),
                problem_set<T>(start, rows, linear, lower, upper, ridge, group, totals, doubled, beta, points->count()),
                BatchOptions{tol, cache_bytes, threads, record});
        },
        "kernel"_a, "points"_a, nb::kw_only(), "diagonal"_a, "start"_a, "rows"_a.none(), "linear"_a, "lower"_a,
        "upper"_a, "ridge"_a, "group"_a, "totals"_a, "doubled"_a, "beta"_a, "tol"_a, "cache_bytes"_a, "threads"_a,
        "record"_a, Released());
    batch.def_static(
        "of_matrix",
        [](const Matrix<T>& matrix, const Vector<double>& diagonal, const Vector<Index>& start,
           const std::optional<Vector<Index>>& rows, const Vector<double>& linear, const Vector<double>& lower,
           const Vector<double>& upper, const Vector<double>& ridge, const Vector<std::int8_t>& group,
           const Matrix<double>& totals, bool doubled, const Vector<double>& beta, double tol, std::size_t cache_bytes,
           int threads, bool record) {
            const Index count = Index(diagonal.shape(0));
            check_shape("matrix", matrix, count, count);
            return std::make_unique<B>(
                matrix.data(), Index(matrix.shape(1)), to_vector(diagonal),
                problem_set<T>(start, rows, linear, lower, upper, ridge, group, totals, doubled, beta, count),
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

// What every one of the papers' climbs has.
template <class C, class T>
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
    bind_climb<C, T>(climb);
}

template <class T>
void bind_linear(nb::module_& m, const char* rows_name, const char* name) {
    using R = FeatureRows<T>;
    auto rows = nb::class_<R>(m, rows_name, "Rows of X where they are, for linear kernels.");
    rows.def_static(
        "dense",
        [](const Matrix<T>& x) {
            return R{x.data(), nullptr, nullptr, Index(x.shape(0)), Index(x.shape(1)), &loops<T>()};
        },
        nb::arg("x").noconvert(), nb::keep_alive<0, 1>());
    rows.def_static(
        "sparse",
        [](const Vector<Index>& start, const Vector<std::int32_t>& feature, const Vector<T>& value, int features) {
            check_csr(start, feature, value, features);
            return R{value.data(), start.data(), feature.data(), Index(start.shape(0)) - 1, features, &loops<T>()};
        },
        nb::kw_only(), nb::arg("start").noconvert(), nb::arg("feature").noconvert(), nb::arg("value").noconvert(),
        "features"_a, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>());
    rows.def(
        "add_weights",
        [](const R& r, const Vector<double>& coef, Index first, Index last, const MutableVector<double>& out) {
            check_range(first, last, r.count);
            check_length("coef", coef, r.count);
            check_length("out", out, r.features);
            add_weights(r, coef.data(), first, last, out.data());
        },
        nb::kw_only(), "coef"_a, "first"_a, "last"_a, "out"_a, Released(), "out += coef[first:last] @ X[first:last].");
    rows.def(
        "values",
        [](const R& r, const Vector<double>& weights, Index first, Index last, const MutableVector<double>& out,
           int threads) {
            check_range(first, last, r.count);
            check_length("weights", weights, r.features);
            check_length("out", out, r.count);
            row_values(r, weights.data(), first, last, out.data(), threads);
        },
        nb::kw_only(), "weights"_a, "first"_a, "last"_a, "out"_a, "threads"_a, Released(),
        "out[first:last] = X[first:last] @ weights.");
    rows.def(
        "add_outer",
        [](const R& r, const Vector<Index>& index, const Vector<double>& weight, const MutableMatrix<double>& out,
           int threads) {
            check_index("index", index, r.count);
            check_length("weight", weight, Index(index.shape(0)));
            check_shape("out", out, r.features, r.features);
            for (std::size_t k = 0; k < weight.shape(0); ++k)
                if (!(weight.data()[k] >= 0))
                    refuse("weight holds negative numbers or NaN: pass values of at least 0.");
            add_outer(r, index.data(), weight.data(), Index(index.shape(0)), out.data(), threads);
        },
        nb::kw_only(), "index"_a, "weight"_a, "out"_a, "threads"_a, Released(),
        "out += X[index].T @ diag(weight) @ X[index], its upper triangle.");
    rows.def_ro("count", &R::count);
    rows.def_ro("features", &R::features);

    using C = LinearCoordinate<T>;
    auto descent = nb::class_<C>(m, name, "Dual coordinate descent that keeps the weight vector.");
    descent.def(
        "__init__",
        [](C* self, const R& rows, double scale, double constant, const Vector<double>& linear,
           const Vector<double>& lower, const Vector<double>& upper, const Vector<double>& ridge,
           const Vector<std::int8_t>& group, const Vector<double>& totals, Index count, const Vector<double>& beta,
           std::uint64_t seed, bool shrinking) {
            const Problem problem = problem_of(linear, lower, upper, ridge, group, totals, count);
            if (problem.rows != rows.count)
                refuse("rows=" + std::to_string(problem.rows) + " for X of " + std::to_string(rows.count) +
                       " rows: pass a problem and X of the same rows.");
            if (problem.sums > 1) refuse("totals has 2 entries: pass at most 1.");
            check_length("beta", beta, problem.variables);
            new (self) C(problem, rows, {scale, constant}, beta.data(), seed, shrinking);
        },
        "x"_a, nb::kw_only(), "scale"_a, "constant"_a, "linear"_a, "lower"_a, "upper"_a, "ridge"_a, "group"_a,
        "totals"_a, "rows"_a, "beta"_a, "seed"_a, "shrinking"_a, nb::keep_alive<1, 2>());
    descent.def("run", &C::run, nb::kw_only(), "goal"_a, "most"_a, "seconds"_a, Released(),
                "Epochs over the active rows, until the violation seen in one is at most `goal`.");
    descent.def("set_bias", &C::set_bias, nb::kw_only(), "multiplier"_a, "penalty"_a);
    descent.def(
        "load",
        [](C& c, const Vector<double>& beta) {
            check_length("beta", beta, c.variables());
            c.load(beta.data());
        },
        "beta"_a, Released(), "Other coefficients, with w and their sum made anew and all rows active.");
    descent.def("activate_all", &C::activate_all);
    descent.def_prop_ro("beta", [](const C& c) { return to_numpy(c.beta()); }, nb::rv_policy::automatic);
    descent.def_prop_ro("weights", [](const C& c) { return to_numpy(c.weights()); }, nb::rv_policy::automatic);
    descent.def_prop_ro("sum", &C::sum);
    descent.def_prop_ro("bias", &C::bias);
    descent.def_prop_ro("violation", &C::violation);
    descent.def_prop_ro("epochs", &C::epochs);
    descent.def_prop_ro("updates", &C::updates);
    descent.def_prop_ro("active", &C::active);
    descent.def_prop_ro("visited", &C::visited);
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
    bind_climb<P, T>(climb);
}

}  // namespace

NB_MODULE(_core, m) {
    nb::set_leak_warnings(false);  // objects alive when the interpreter ends are no leak
    m.doc() = "The native core of adatron.";

    nb::enum_<Isa>(m, "Isa", "Instruction sets that the hot loops are compiled for.")
        .value("baseline", Isa::baseline)
        .value("avx2", Isa::avx2)
        .value("avx512", Isa::avx512);
    m.def("current_isa", &current_isa);
    m.def("isa_supported", &isa_supported, "isa"_a);
    m.def("force_isa", &force_isa, "isa"_a);

    nb::enum_<Form>(m, "Form")
        .value("linear", Form::linear)
        .value("polynomial", Form::polynomial)
        .value("gaussian", Form::gaussian)
        .value("exponential", Form::exponential)
        .value("laplacian", Form::laplacian)
        .value("sigmoid", Form::sigmoid);
    nb::enum_<Meeting>(m, "Meeting")
        .value("dot", Meeting::dot)
        .value("squared_distance", Meeting::squared_distance)
        .value("absolute_distance", Meeting::absolute_distance)
        .value("absolute_from_norms", Meeting::absolute_from_norms);
    nb::class_<Factor>(m, "Factor")
        .def(
            "__init__",
            [](Factor* self, Form form, double gamma, double coef0, int degree, Meeting meeting) {
                new (self) Factor{form, gamma, coef0, degree, meeting};
            },
            "form"_a, nb::kw_only(), "gamma"_a = 1.0, "coef0"_a = 0.0, "degree"_a = 1, "meeting"_a = Meeting::dot);
    nb::class_<Term>(m, "Term").def(
        "__init__",
        [](Term* self, double coefficient, std::vector<Factor> factors) {
            new (self) Term{coefficient, std::move(factors)};
        },
        "coefficient"_a, "factors"_a);
    nb::class_<PairOutcome>(m, "PairOutcome")
        .def_ro("steps", &PairOutcome::steps)
        .def_ro("gap", &PairOutcome::gap)
        .def_ro("unbounded", &PairOutcome::unbounded);

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

    bind_points<float>(m, "Points32");
    bind_points<double>(m, "Points64");
    bind_predictor<float>(m, "Predictor32");
    bind_predictor<double>(m, "Predictor64");
    bind_votes(m);
    bind_functions<float>(m);
    bind_forward_solve(m);
    bind_functions<double>(m);
    bind_cholesky(m);
    nb::enum_<RunState>(m, "RunState")
        .value("converged", RunState::converged)
        .value("running", RunState::running)
        .value("needs_rows", RunState::needs_rows)
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
    bind_certificate(m);
    bind_polish(m);
    nb::enum_<BatchStatus>(m, "BatchStatus")
        .value("open", BatchStatus::open)
        .value("converged", BatchStatus::converged)
        .value("unsolved", BatchStatus::unsolved);
    m.def(
        "nearby_order",
        [](const Matrix<double>& x) {
            // sorting among NaN would run past the end
            if (!std::all_of(x.data(), x.data() + x.size(), [](double v) { return std::isfinite(v); }))
                refuse("x contains NaN or infinity: pass finite numbers.");
            return to_numpy(nearby_order(x.data(), Index(x.shape(0)), int(x.shape(1))));
        },
        "x"_a, "An order of rows that keeps neighbours together.");
    bind_distances<float>(m, "Distances32");
    bind_distances<double>(m, "Distances64");
    bind_gram<float>(m, "Gram32");
    bind_gram<double>(m, "Gram64");
    bind_engine<float>(m, "Engine32");
    bind_engine<double>(m, "Engine64");
    bind_batch<float>(m, "Batch32");
    bind_batch<double>(m, "Batch64");
    bind_coordinate<float>(m, "Coordinate32");
    bind_coordinate<double>(m, "Coordinate64");
    nb::enum_<EpochEnd>(m, "EpochEnd")
        .value("paused", EpochEnd::paused)
        .value("finished", EpochEnd::finished)
        .value("settled", EpochEnd::settled);
    bind_linear<float>(m, "FeatureRows32", "LinearCoordinate32");
    bind_linear<double>(m, "FeatureRows64", "LinearCoordinate64");
    bind_pairs<float>(m, "Pairs32");
    bind_pairs<double>(m, "Pairs64");
}
