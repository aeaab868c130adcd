// The data of the one problem (see problems.py).
#pragma once

#include <cstdint>

#include "loops.hpp"

namespace adatron {

struct Problem {  // spans over n variables; variable v lives on kernel row v % rows
    const double *linear, *lower, *upper, *ridge;
    const std::int8_t* group;
    Index variables, rows;
    int sums;
    double totals[2];
};

}  // namespace adatron
