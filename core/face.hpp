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

// The way there, in slices of time.
class Descent {
public:
    Descent(Face face, double jitter);

    bool advance(double deadline);  // whether it is done; if not, call again
    const Face& face() const { return face_; }
    // The change of every coefficient; empty if A cannot be factored even with its diagonal raised by `jitter`.
    const std::vector<double>& change() const { return change_; }

private:
    void raise_diagonal();
    bool factor_panels();
    void begin();
    bool walk();
    double along(std::size_t c, const std::vector<double>& v) const;
    template <class One>
    void constrain(One&& one);

    Face face_;
    double jitter_;
    std::vector<double> diagonal_;
    int raised_ = 0, stops_ = 0;
    Index factored_ = 0;  // columns
    // Constraints: every sum, then every coefficient that has stopped. `across` holds A⁻¹ times each of them.
    std::vector<std::vector<double>> across_;
    std::vector<int> groups_;
    std::vector<Index> stopped_;
    std::vector<std::uint8_t> still_;
    std::vector<double> level_;  // A⁻¹ g, kept up to date
    std::vector<double> change_;
};

}  // namespace adatron
