// Everything that is compiled once per instruction set. The including file sets ADATRON_BYTES (vector width),
// ADATRON_STRIP (rows of a register tile) and ADATRON_ISA (a namespace of its own).

#include <cstdint>

#include "loops.hpp"

namespace adatron::ADATRON_ISA {
namespace {
#include "vector.inl"
// vectors first: the rest is written in terms of them
#include "factor.inl"
#include "linear.inl"
#include "pair.inl"
#include "stretch.inl"
#include "tile.inl"
}  // namespace

template <class T>
Loops<T> table() {
    return {2 * Traits<T>::lanes, ADATRON_STRIP, fill<T>,           fill_thin<T>,     fill_sparse<T>,
            squared_norms<T>,     add_rows<T>,   add_sums<T>,       solve_pairs<T>,   solve_stretches<T>,
            exponentials<T>,      factor<T>,     solve_factored<T>, solve_forward<T>, dot<T>,
            add_row<T>,           add_outer};
}

template Loops<float> table<float>();
template Loops<double> table<double>();
}  // namespace adatron::ADATRON_ISA
