// Kernels, term by term, and the instruction sets of the loops that compute them.
#include "bind.hpp"

#include <utility>
#include <vector>

#include "arrays.hpp"
#include "kernel.hpp"
#include "loops.hpp"

namespace adatron::bindings {

void bind_kernel(nb::module_& m) {
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
}

}  // namespace adatron::bindings
