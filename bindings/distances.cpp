// Distances between points.
#include "bind.hpp"

#include <algorithm>
#include <cmath>

#include "distances.hpp"
#include "problems.hpp"

namespace adatron::bindings {

namespace {

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

}  // namespace

void bind_distances(nb::module_& m) {
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
}

}  // namespace adatron::bindings
