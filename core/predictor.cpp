#include "predictor.hpp"

#include <algorithm>

namespace adatron {
namespace {

template <class T>
double dot(const double* a, const T* b, Index n) {
    double sum[4] = {0, 0, 0, 0};
    Index k = 0;
    for (; k + 4 <= n; k += 4)
        for (int lane = 0; lane < 4; ++lane) sum[lane] += a[k + lane] * double(b[k + lane]);
    for (; k < n; ++k) sum[0] += a[k] * double(b[k]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

}  // namespace

template <class T>
Predictor<T>::Predictor(Kernel kernel, std::shared_ptr<const Points<T>> support, std::vector<double> coef, int lines,
                        std::vector<Index> edge)
    : kernel_(std::move(kernel)),
      support_(std::move(support)),
      coef_(std::move(coef)),
      lines_(lines),
      edge_(std::move(edge)),
      outputs_(edge_.empty() ? lines : Index(edge_.size() - 1) * Index(edge_.size() - 2) / 2) {}

template <class T>
void Predictor<T>::decide(const Points<T>& rows, const double* bias, double* out) const {
    const Index m = support_->count(), n = rows.count(), lanes = rows.loops().lanes,
                stride = (m + lanes - 1) / lanes * lanes;
    const Buffer<T> values = allocate<T>(std::size_t(n) * stride);
    std::vector<T*> row(n);
    std::vector<Index> index(n);
    for (Index r = 0; r < n; ++r) {
        row[r] = values.get() + r * stride;
        index[r] = r;
    }
    kernel_rows(kernel_, rows, index.data(), int(n), *support_, row.data(), 1);
    for (Index k = 0; k < outputs_; ++k) std::fill_n(out + k * n, n, bias[k]);
    const Index classes = edge_.empty() ? 1 : Index(edge_.size()) - 1;
    for (Index c = 0; c < classes; ++c) {
        const Index first = edge_.empty() ? 0 : edge_[c], last = edge_.empty() ? m : edge_[c + 1];
        for (Index t = 0; t < lines_; ++t) {
            const Index k = edge_.empty() ? t : t < c ? pair_number(t, c, classes) : pair_number(c, t + 1, classes);
            for (Index r = 0; r < n; ++r) out[k * n + r] += dot(&coef_[t * m + first], row[r] + first, last - first);
        }
    }
}

void count_votes(const double* values, Index rows, Index classes, double* votes, double* confidence) {
    std::fill_n(votes, rows * classes, 0.0);
    std::fill_n(confidence, rows * classes, 0.0);
    Index k = 0;
    for (Index i = 0; i < classes; ++i)
        for (Index j = i + 1; j < classes; ++j, ++k)
            for (Index r = 0; r < rows; ++r) {
                const double value = values[k * rows + r];
                votes[r * classes + (value > 0 ? i : j)] += 1;
                confidence[r * classes + i] += value;
                confidence[r * classes + j] -= value;
            }
}

template class Predictor<float>;
template class Predictor<double>;

}  // namespace adatron
