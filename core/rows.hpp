// Blocks of kernel values and their products with coefficients, over all threads.
#pragma once

#include "points.hpp"

namespace adatron {

// out[r][j] = kernel(rows[index[r]], columns[j]) for j in [0, columns.count()).
template <class T>
void kernel_rows(const Kernel& kernel, const Points<T>& rows, const Index* index, int count, const Points<T>& columns,
                 T* const* out, int threads);

// out[k * columns.count() + j] += sum over r of weight[k * count + r] * kernel(rows[index[r]], columns[j]), in float64,
// without ever holding more than a cache's worth of kernel values. `outputs` sums at once.
template <class T>
void kernel_product(const Kernel& kernel, const Points<T>& rows, const Index* index, Index count, const double* weight,
                    int outputs, const Points<T>& columns, double* out, int threads);

// out[i * stride + j] = kernel(points[i], points[j]) for all i and j, each pair once and exactly symmetric; zeros up to
// the stride, which is at least points.count() rounded up to whole vectors. By the calling thread alone.
template <class T>
void kernel_matrix(const Kernel& kernel, const Points<T>& points, T* out, Index stride);

}  // namespace adatron
