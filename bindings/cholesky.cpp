// Systems of linear equations.
#include "bind.hpp"

#include "arrays.hpp"
#include "loops.hpp"

namespace adatron::bindings {

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

}  // namespace adatron::bindings
