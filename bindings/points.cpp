// Data points.
#include "bind.hpp"

#include <memory>
#include <optional>

#include "arrays.hpp"
#include "points.hpp"

namespace adatron::bindings {

namespace {

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

}  // namespace

void bind_points(nb::module_& m) {
    bind_points<float>(m, "Points32");
    bind_points<double>(m, "Points64");
}

}  // namespace adatron::bindings
