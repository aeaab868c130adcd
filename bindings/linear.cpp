// Linear kernels: rows of X and the weight vector.
#include "bind.hpp"

#include "linear.hpp"
#include "problems.hpp"

namespace adatron::bindings {

namespace {

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

}  // namespace

void bind_linear(nb::module_& m) {
    nb::enum_<EpochEnd>(m, "EpochEnd")
        .value("paused", EpochEnd::paused)
        .value("finished", EpochEnd::finished)
        .value("settled", EpochEnd::settled);
    bind_linear<float>(m, "FeatureRows32", "LinearCoordinate32");
    bind_linear<double>(m, "FeatureRows64", "LinearCoordinate64");
}

}  // namespace adatron::bindings
