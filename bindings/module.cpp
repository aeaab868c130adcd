// The border between Python and the core: typed arrays in, typed arrays out, no logic.
#include "bind.hpp"

NB_MODULE(_core, m) {
    using namespace adatron::bindings;
    nanobind::set_leak_warnings(false);  // objects alive when the interpreter ends are no leak
    m.doc() = "The native core of adatron.";

    // The type stub keeps this order. A default argument's type must come before it.
    bind_kernel(m);
    bind_points(m);
    bind_predictor(m);
    bind_cholesky(m);
    bind_distances(m);
    bind_gram(m);
    bind_certificate(m);
    bind_engine(m);
    bind_driver(m);
    bind_polish(m);
    bind_batch(m);
    bind_climbs(m);
    bind_linear(m);
}
