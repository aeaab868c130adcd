// Decision values of what has been fitted.
#include "bind.hpp"

#include <algorithm>
#include <memory>

#include "arrays.hpp"
#include "predictor.hpp"
#include "rows.hpp"

namespace adatron::bindings {

namespace {

template <class T>
void bind_product(nb::module_& m) {
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

}  // namespace

void bind_predictor(nb::module_& m) {
    bind_predictor<float>(m, "Predictor32");
    bind_predictor<double>(m, "Predictor64");
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
    bind_product<float>(m);
    bind_product<double>(m);
}

}  // namespace adatron::bindings
