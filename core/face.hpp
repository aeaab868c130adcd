// Newton on a face of the box: free coefficients go straight to where their gradients are level.
//
//   minimise  ½ xᵀA x + gᵀx   over changes x with  −down ≤ x ≤ up  and every sum kept,
//
// by one factorisation of A. Coefficients that reach a bound on the way stay there, each for the price of one solve
// with the factor; so the way leads downhill from end to end, but none is let go again: that is for pairs to do.
#pragma once

#include <cstdint>
#include <vector>

#include "loops.hpp"
#include "memory.hpp"

namespace adatron {

struct Face {
    Index size = 0;
    Buffer<double> matrix;  // size x size; the factor takes the lower triangle, the upper one keeps what was there
    std::vector<double> gradient, up, down;
    std::vector<std::int8_t> group;
    int sums = 0;
};

// The change of every coefficient; empty if A cannot be factored even with its diagonal raised by `jitter`.
std::vector<double> descend(Face& face, double jitter);

}  // namespace adatron
