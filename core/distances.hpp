// Distances between all pairs of points, once, and from them kernel matrices exp(−γ d) of any width.
//
// Where γ is large most of such a matrix is nothing. Rows that lie close to each other in order (see `nearby_order`)
// are close in space too, so that nothing comes in stretches, which are found from the least distance in each, set to
// zero, and passed over by whoever reads the matrix.
#pragma once

#include <vector>

#include "points.hpp"

namespace adatron {

inline constexpr double nothing = 18.5;  // exp(−18.5) = 1e-8

inline Index stretches(Index columns) { return (columns + stretch_length - 1) / stretch_length; }

// The rows of x, count by features, in an order that keeps neighbours together: halves along the widest feature.
std::vector<Index> nearby_order(const double* x, Index count, int features);

template <class T>
class Distances {
public:
    // Gaussian: squared; exponential: their root; Laplacian: absolute. None are computed yet.
    Distances(Index count, Form form, Meeting meeting, int threads);
    // Computes them for about `seconds`; whether that is all, or it is to be called again.
    bool advance(const Points<T>& points, double seconds);
    bool complete() const { return done_ == count_; }

    Index count() const { return count_; }
    const T* row(Index i) const { return values_.get() + i * count_; }
    // out = exp(−gamma d) of one row; `lit`, if given, tells for every stretch whether there is anything.
    // What is `faint` is nothing: exp(−faint) and less.
    void kernel_row(Index i, double gamma, T* out, std::uint8_t* lit = nullptr, double faint = nothing) const;
    // The same of all rows; `lit` tells for every row and stretch whether there is anything.
    void kernel(double gamma, T* out, std::uint8_t* lit, int threads, double faint = nothing) const;

private:
    Index count_, done_ = 0;  // rows
    Form form_;
    Meeting meeting_;
    int threads_;
    Buffer<T> values_;
    std::vector<T> least_;  // of every row and stretch
};

}  // namespace adatron
