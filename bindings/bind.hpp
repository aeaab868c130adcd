// The topics of the native module, a file each. They include this first: Python's header wants to come
// before the standard library's.
#pragma once

#include <nanobind/nanobind.h>

namespace adatron::bindings {

void bind_kernel(nanobind::module_& m);
void bind_points(nanobind::module_& m);
void bind_predictor(nanobind::module_& m);
void bind_cholesky(nanobind::module_& m);
void bind_distances(nanobind::module_& m);
void bind_gram(nanobind::module_& m);
void bind_certificate(nanobind::module_& m);
void bind_engine(nanobind::module_& m);
void bind_driver(nanobind::module_& m);
void bind_polish(nanobind::module_& m);
void bind_batch(nanobind::module_& m);
void bind_climbs(nanobind::module_& m);
void bind_linear(nanobind::module_& m);

}  // namespace adatron::bindings
