// The border between Python and the core: typed arrays in, typed arrays out, no logic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "coordinate.hpp"
#include "decomposition.hpp"
#include "pairs.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace adatron;

namespace {

template <class S>
using Vector = nb::ndarray<const S, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class S>
using MutableVector = nb::ndarray<S, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class S>
using Matrix = nb::ndarray<const S, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class S>
using MutableMatrix = nb::ndarray<S, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using Released = nb::call_guard<nb::gil_scoped_release>;

template <class S>
auto to_numpy(const std::vector<S>& values) {
    auto* copy = new std::vector<S>(values);
    nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<S>*>(p); });
    return nb::ndarray<S, nb::numpy, nb::ndim<1>>(copy->data(), {copy->size()}, owner);
}

// The spans of a problem, which the caller keeps alive.
Problem problem_of(const Vector<double>& linear, const Vector<double>& lower, const Vector<double>& upper,
                   const Vector<double>& ridge, const Vector<std::int8_t>& group, const Vector<double>& totals,
                   Index rows) {
    const int sums = int(totals.shape(0));
    return {linear.data(), lower.data(), upper.data(),
            ridge.data(),  group.data(), Index(linear.shape(0)),
            rows,          sums,         {sums > 0 ? totals.data()[0] : 0.0, sums > 1 ? totals.data()[1] : 0.0}};
}

const double* center_or_null(const std::optional<Vector<double>>& center) { return center ? center->data() : nullptr; }

template <class T>
void bind_points(nb::module_& m, const char* name) {
    auto points = nb::class_<Points<T>>(m, name, "Data points packed for the kernel loops.");
    auto dense = [](auto x, std::optional<Vector<double>> center, int threads) {
        return std::make_shared<Points<T>>(Points<T>::dense(x.data(), Index(x.shape(0)), int(x.shape(1)),
                                                            Index(x.shape(1)), center_or_null(center), threads));
    };
    points.def_static(
        "dense", [dense](Matrix<float> x, std::optional<Vector<double>> c, int t) { return dense(x, c, t); }, "x"_a,
        nb::kw_only(), "center"_a = nb::none(), "threads"_a, Released());
    points.def_static(
        "dense", [dense](Matrix<double> x, std::optional<Vector<double>> c, int t) { return dense(x, c, t); }, "x"_a,
        nb::kw_only(), "center"_a = nb::none(), "threads"_a, Released());
    points.def_static(
        "sparse",
        [](Vector<Index> start, Vector<std::int32_t> feature, Vector<double> value, int features) {
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
        [](const Kernel& kernel, const Points<T>& rows, Vector<Index> index, Matrix<double> weight,
           const Points<T>& columns, MutableMatrix<double> out, int threads) {
            kernel_product(kernel, rows, index.data(), Index(index.shape(0)), weight.data(), int(weight.shape(0)),
                           columns, out.data(), threads);
        },
        "kernel"_a, nb::kw_only(), "rows"_a, "index"_a, "weight"_a, "columns"_a, "out"_a, "threads"_a, Released(),
        "out += weight @ kernel(rows[index], columns), in float64.");
}

void bind_forward_solve(nb::module_& m) {
    m.def(
        "cholesky_forward",
        [](MutableMatrix<double> l, MutableMatrix<double> b) {
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
        [](MutableMatrix<double> a) {
            if (a.shape(0) != a.shape(1)) throw std::invalid_argument("a is not square: pass an n x n matrix.");
            return loops<double>().factor(a.data(), Index(a.shape(0)));
        },
        nb::arg().noconvert(), Released(),
        "The lower triangle of a becomes L with L Lᵀ = a; False if a is not positive definite.");
    m.def(
        "cholesky_solve",
        [](MutableMatrix<double> l, nb::ndarray<double, nb::numpy, nb::c_contig, nb::device::cpu> b) {
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
        [](const Kernel& kernel, std::shared_ptr<Points<T>> points, Vector<double> diagonal, std::size_t cache_bytes,
           int threads) {
            return std::make_unique<Gram<T>>(kernel, points,
                                             std::vector<double>(diagonal.data(), diagonal.data() + diagonal.shape(0)),
                                             cache_bytes, threads);
        },
        "kernel"_a, "points"_a, nb::kw_only(), "diagonal"_a, "cache_bytes"_a, "threads"_a, Released());
    gram.def_static(
        "of_distances",
        [](const Distances<T>& distances, double gamma, Vector<double> diagonal, std::size_t cache_bytes, int threads) {
            return std::make_unique<Gram<T>>(distances, gamma,
                                             std::vector<double>(diagonal.data(), diagonal.data() + diagonal.shape(0)),
                                             cache_bytes, threads);
        },
        "distances"_a, nb::kw_only(), "gamma"_a, "diagonal"_a, "cache_bytes"_a, "threads"_a, nb::keep_alive<0, 1>());
    gram.def("widen", &Gram<T>::widen, "gamma"_a, "Another width, of what is made from distances.");
    gram.def_static(
        "of_matrix",
        [](std::optional<Matrix<T>> matrix, Vector<double> diagonal, std::size_t cache_bytes, int threads,
           std::optional<Matrix<std::uint8_t>> lit) {
            return std::make_unique<Gram<T>>(matrix ? matrix->data() : nullptr, matrix ? Index(matrix->shape(1)) : 0,
                                             std::vector<double>(diagonal.data(), diagonal.data() + diagonal.shape(0)),
                                             cache_bytes, threads, lit ? lit->data() : nullptr);
        },
        "matrix"_a.none(), nb::kw_only(), "diagonal"_a, "cache_bytes"_a, "threads"_a, "lit"_a = nb::none(),
        nb::keep_alive<0, 1>(), nb::keep_alive<0, 5>());
    gram.def(
        "activate", [](Gram<T>& g, Vector<Index> index) { g.activate(index.data(), Index(index.shape(0))); }, "index"_a,
        Released());
    gram.def(
        "missing",
        [](Gram<T>& g, Vector<Index> index) { return to_numpy(g.missing(index.data(), Index(index.shape(0)))); },
        "index"_a);
    gram.def(
        "store",
        [](Gram<T>& g, Vector<Index> index, Matrix<T> values) {
            g.store(index.data(), Index(index.shape(0)), values.data());
        },
        "index"_a, "values"_a);
    gram.def(
        "fetch",
        [](Gram<T>& g, Vector<Index> index, double seconds) {
            return g.fetch(index.data(), Index(index.shape(0)), seconds) == Fetched::all;
        },
        "index"_a, nb::kw_only(), "seconds"_a, Released(), "True when every row is there.");
    gram.def(
        "copy_rows",
        [](const Gram<T>& g, Vector<Index> index, MutableMatrix<T> out) {
            for (std::size_t k = 0; k < index.shape(0); ++k)
                std::copy_n(g.row(index.data()[k]), g.active_count(), out.data() + k * out.shape(1));
        },
        "index"_a, nb::kw_only(), "out"_a);
    gram.def(
        "compact",
        [](const Gram<T>& g, Vector<Index> index, Index done, MutableMatrix<T> out) {
            g.compact(index.data(), Index(index.shape(0)), done, out.data(), Index(out.shape(1)));
        },
        "index"_a, nb::kw_only(), "done"_a, "out"_a, Released(),
        "out = K[index][:, index], of which the part of the first `done` is there already.");
    gram.def(
        "add_product",
        [](const Gram<T>& g, Vector<Index> index, Vector<double> weight, MutableVector<double> out) {
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
                new (self) D(points, form, meeting, threads);
            },
            "points"_a, nb::kw_only(), "form"_a, "meeting"_a, "threads"_a, Released())
        .def(
            "kernel",
            [](const D& d, double gamma, MutableMatrix<T> out, MutableMatrix<std::uint8_t> lit, int threads,
               double faint) { d.kernel(gamma, out.data(), lit.data(), threads, faint); },
            "gamma"_a, nb::kw_only(), "out"_a, "lit"_a, "threads"_a, "faint"_a = nothing, Released())
        .def(
            "rows",
            [](const D& d, Vector<Index> index, MutableMatrix<T> out) {
                for (std::size_t k = 0; k < index.shape(0); ++k)
                    std::copy_n(d.row(index.data()[k]), d.count(), out.data() + k * out.shape(1));
            },
            "index"_a, nb::kw_only(), "out"_a);
}

template <class T>
void bind_decomposition(nb::module_& m, const char* name) {
    using D = Decomposition<T>;
    auto engine = nb::class_<D>(m, name, "Working-set decomposition over a Gram's active rows.");
    engine.def(
        "__init__",
        [](D* self, Gram<T>& gram, Vector<double> linear, Vector<double> lower, Vector<double> upper,
           Vector<double> ridge, Vector<std::int8_t> group, Vector<double> totals, Index rows, Vector<double> beta,
           Vector<double> product, int working_size) {
            const Problem problem = problem_of(linear, lower, upper, ridge, group, totals, rows);
            new (self) D(problem, gram, beta.data(), product.data(), working_size);
        },
        "gram"_a, nb::kw_only(), "linear"_a, "lower"_a, "upper"_a, "ridge"_a, "group"_a, "totals"_a, "rows"_a, "beta"_a,
        "product"_a, "working_size"_a, nb::keep_alive<1, 2>());
    engine.def(
        "load",
        [](D& d, Vector<double> linear, Vector<double> lower, Vector<double> upper, Vector<double> ridge,
           Vector<std::int8_t> group, Vector<double> totals, Index rows, Vector<double> beta, Vector<double> product) {
            d.load(problem_of(linear, lower, upper, ridge, group, totals, rows), beta.data(), product.data());
        },
        nb::kw_only(), "linear"_a, "lower"_a, "upper"_a, "ridge"_a, "group"_a, "totals"_a, "rows"_a, "beta"_a,
        "product"_a, "Another problem of the same shape.");
    engine.def("select", &D::select, Released(), "Choose the working set; returns the gap among the active.");
    engine.def_prop_ro("working_rows", [](const D& d) { return to_numpy(d.working_rows()); }, nb::rv_policy::automatic);
    engine.def("advance", &D::advance, nb::kw_only(), "tolerance"_a, "max_steps"_a, Released());
    engine.def("climb", &D::climb, nb::kw_only(), "goal"_a, "seconds"_a, Released(),
               "Rounds until the gap is at most `goal`; all rows must be at hand.");
    engine.def("newton", &D::newton, nb::kw_only(), "most"_a, Released(), "Move all free coefficients at once.");
    engine.def("write", [](const D& d, MutableVector<double> beta) { d.write(beta.data()); }, "beta"_a);
    engine.def_prop_ro("product", [](const D& d) { return to_numpy(d.product()); }, nb::rv_policy::automatic);
    engine.def("account", &D::account, Released());
    engine.def_prop_ro("bias", &D::bias);
    engine.def_prop_ro("gap", &D::gap);
    engine.def_prop_ro("steps", &D::steps);
    engine.def_prop_ro("rounds", &D::rounds);
    engine.def_prop_ro("newtons", &D::newtons);
}

// What every one of the papers' climbs has.
template <class C, class T>
void bind_climb(nb::class_<C>& climb) {
    climb.def("account", &C::account, nb::kw_only(), "bias"_a, "rho"_a, Released());
    climb.def_prop_ro("beta", [](const C& c) { return to_numpy(c.beta()); }, nb::rv_policy::automatic);
    climb.def_prop_ro("product", [](const C& c) { return to_numpy(c.product()); }, nb::rv_policy::automatic);
    climb.def_prop_ro("wanted", [](const C& c) { return to_numpy(c.wanted()); }, nb::rv_policy::automatic);
    climb.def_prop_ro("updates", &C::updates);
    climb.def("correct", [](C& c, Vector<double> product) { c.correct(product.data()); }, "product"_a);
}

template <class T>
void bind_coordinate(nb::module_& m, const char* name) {
    using C = Coordinate<T>;
    auto climb = nb::class_<C>(m, name, "One coefficient at a time: Kernel-Adatron, SVMseq, SOR.");
    climb.def(
        "__init__",
        [](C* self, Gram<T>& gram, Vector<double> linear, Vector<double> lower, Vector<double> upper,
           Vector<double> ridge, Vector<std::int8_t> group, Vector<double> totals, Index rows, Vector<double> beta,
           Vector<double> product) {
            const Problem problem = problem_of(linear, lower, upper, ridge, group, totals, rows);
            new (self) C(problem, gram, beta.data(), product.data());
        },
        "gram"_a, nb::kw_only(), "linear"_a, "lower"_a, "upper"_a, "ridge"_a, "group"_a, "totals"_a, "rows"_a, "beta"_a,
        "product"_a, nb::keep_alive<1, 2>());
    climb.def(
        "visit",
        [](C& c, Vector<Index> order, Vector<double> step, double shift, double augment, double seconds) {
            return c.visit(order.data(), Index(order.shape(0)), step.data(), shift, augment, seconds);
        },
        "order"_a, nb::kw_only(), "step"_a, "shift"_a, "augment"_a, "seconds"_a, Released());
    climb.def(
        "visit_best",
        [](C& c, Index count, Vector<double> step, double shift, double augment, double seconds) {
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
void bind_pairs(nb::module_& m, const char* name) {
    using P = Pairs<T>;
    auto climb = nb::class_<P>(m, name, "Two coefficients at a time: SMO and nearest points.");
    climb.def(
        "__init__",
        [](P* self, Gram<T>& gram, Vector<double> linear, Vector<double> lower, Vector<double> upper,
           Vector<double> ridge, Vector<std::int8_t> group, Vector<double> totals, Index rows, Vector<double> beta,
           Vector<double> product, double bias, std::uint32_t seed) {
            const Problem problem = problem_of(linear, lower, upper, ridge, group, totals, rows);
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
        .value("absolute_distance", Meeting::absolute_distance);
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
        [](Vector<double> linear, Vector<double> lower, Vector<double> upper, Vector<double> ridge,
           Vector<std::int8_t> group, Vector<double> totals, Index rows, Vector<double> beta, Vector<double> product,
           double bias, double rho) {
            const Problem problem = problem_of(linear, lower, upper, ridge, group, totals, rows);
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
    bind_functions<float>(m);
    bind_forward_solve(m);
    bind_functions<double>(m);
    bind_cholesky(m);
    nb::enum_<Climbed>(m, "Climbed")
        .value("done", Climbed::done)
        .value("on_the_way", Climbed::on_the_way)
        .value("stuck", Climbed::stuck)
        .value("unbounded", Climbed::unbounded);
    m.def(
        "nearby_order",
        [](Matrix<double> x) { return to_numpy(nearby_order(x.data(), Index(x.shape(0)), int(x.shape(1)))); }, "x"_a,
        "An order of rows that keeps neighbours together.");
    bind_distances<float>(m, "Distances32");
    bind_distances<double>(m, "Distances64");
    bind_gram<float>(m, "Gram32");
    bind_gram<double>(m, "Gram64");
    bind_decomposition<float>(m, "Decomposition32");
    bind_decomposition<double>(m, "Decomposition64");
    bind_coordinate<float>(m, "Coordinate32");
    bind_coordinate<double>(m, "Coordinate64");
    bind_pairs<float>(m, "Pairs32");
    bind_pairs<double>(m, "Pairs64");
}
