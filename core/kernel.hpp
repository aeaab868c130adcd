// A kernel as the core sees it: a sum of coefficient x product of primitive factors.
#pragma once

#include <cstdint>
#include <vector>

namespace adatron {

// `distance` is no kernel: it is what the points' meeting gives, for kernels of many widths to be made of.
enum class Form : std::uint8_t { linear, polynomial, gaussian, exponential, laplacian, sigmoid, distance };

// How two points meet before the kernel's formula is applied. Distances are sums of differences; of sparse points,
// `absolute_from_norms` is faster (‖x‖₁ corrected where y is stored) and loses digits where norms are much larger than
// distances. Of dense points it is `absolute_distance`.
enum class Meeting : std::uint8_t { dot, squared_distance, absolute_distance, absolute_from_norms };

struct Factor {
    Form form = Form::linear;
    double gamma = 1.0;
    double coef0 = 0.0;
    int degree = 1;
    // A Gaussian may be had from dot products and norms (fast) or from differences (no cancellation).
    Meeting meeting = Meeting::dot;
};

struct Term {
    double coefficient = 1.0;
    std::vector<Factor> factors;  // none: a constant
};

using Kernel = std::vector<Term>;

}  // namespace adatron
