// Kernel matrices.
#include "bind.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "gram.hpp"
#include "problems.hpp"

namespace adatron::bindings {

namespace {

template <class T>
void check_at_hand(const Gram<T>& gram, const Vector<Index>& index) {
    check_index("index", index, gram.count());
    for (std::size_t k = 0; k < index.shape(0); ++k)
        if (!gram.row(index.data()[k]))
            refuse("index names row " + std::to_string(index.data()[k]) + ", which is not cached: fetch it first.");
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

}  // namespace

void bind_gram(nb::module_& m) {
    bind_gram<float>(m, "Gram32");
    bind_gram<double>(m, "Gram64");
}

}  // namespace adatron::bindings
