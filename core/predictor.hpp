// Sums of kernels over support rows, Σ_j coef_j k(x_j, x), for few rows x at a time: one row is answered without a
// hand-over to other threads, and without laying out the support rows again.
//
// Rows come as strips and support rows as panels, the other way round than in `kernel_product`, which serves many rows.
#pragma once

#include <memory>
#include <vector>

#include "rows.hpp"

namespace adatron {

// Support rows by class, as runs [edge[c], edge[c + 1]), and one sum for each pair of classes (i, j), i < j: with k
// classes, line t of the k - 1 lines of coefficients is class c's against class t, or t + 1 from c on.
template <class T>
class Predictor {
public:
    // `coef` is `lines` x support rows. With `edge` empty every line is an output; else pairs of classes are.
    Predictor(Kernel kernel, std::shared_ptr<const Points<T>> support, std::vector<double> coef, int lines,
              std::vector<Index> edge);

    const Points<T>& support() const { return *support_; }
    Index outputs() const { return outputs_; }
    void decide(const Points<T>& rows, const double* bias, double* out) const;  // out: outputs x rows

private:
    Kernel kernel_;
    std::shared_ptr<const Points<T>> support_;
    std::vector<double> coef_;
    int lines_;
    std::vector<Index> edge_;
    Index outputs_;
};

// The number of the pair (i, j), i < j, among those of `classes`: (0, 1), (0, 2), ... (1, 2), ...
inline Index pair_number(Index i, Index j, Index classes) { return i * classes - i * (i + 1) / 2 + j - i - 1; }

// One against one: how many pairs each class wins (votes) and the sum of its outputs, from values of pairs x rows.
void count_votes(const double* values, Index rows, Index classes, double* votes, double* confidence);

}  // namespace adatron
