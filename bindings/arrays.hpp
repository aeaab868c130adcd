// Arrays at the border between Python and the core: how they are taken, checked and given back.
#pragma once

// All type casters together, for every file alike: where one is missing, its type would be taken for an unknown class.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "gil.hpp"
#include "loops.hpp"

namespace adatron::bindings {

namespace nb = nanobind;
using namespace nb::literals;

inline constexpr double infinity = std::numeric_limits<double>::infinity();

template <class S>
using Vector = nb::ndarray<const S, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class S>
using MutableVector = nb::ndarray<S, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class S>
using Matrix = nb::ndarray<const S, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class S>
using MutableMatrix = nb::ndarray<S, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// What crosses the border is checked: a wrong size or index is an error in words, never a crash.
[[noreturn]] inline void refuse(const std::string& sentence) { throw std::invalid_argument(sentence); }

template <class A>
void check_length(const char* name, const A& array, Index wanted) {
    const Index length = Index(array.shape(0));
    if (length != wanted)
        refuse(std::string(name) + " has " + std::to_string(length) + " entries: pass " + std::to_string(wanted) + ".");
}

template <class A>
void check_shape(const char* name, const A& array, Index rows, Index columns) {
    const Index height = Index(array.shape(0)), width = Index(array.shape(1));
    if (height != rows || width != columns)
        refuse(std::string(name) + " has shape (" + std::to_string(height) + ", " + std::to_string(width) +
               "): pass (" + std::to_string(rows) + ", " + std::to_string(columns) + ").");
}

template <class S>
void check_index(const char* name, const Vector<S>& index, Index count) {
    for (std::size_t k = 0; k < index.shape(0); ++k) {
        const Index i = Index(index.data()[k]);
        if (i < 0 || i >= count)
            refuse(std::string(name) + "[" + std::to_string(k) + "]=" + std::to_string(i) +
                   " is out of range: pass integers from 0 to " + std::to_string(count - 1) + ".");
    }
}

template <class S>
void check_csr(const Vector<Index>& start, const Vector<std::int32_t>& feature, const Vector<S>& value, int features) {
    const std::size_t rows = start.shape(0);
    if (rows == 0) refuse("start is empty: pass one entry per row and one more.");
    for (std::size_t i = 0; i + 1 < rows; ++i)
        if (start.data()[i] > start.data()[i + 1])
            refuse("start decreases at row " + std::to_string(i) + ": pass a valid CSR matrix.");
    if (start.data()[0] != 0) refuse("start does not begin with 0: pass a valid CSR matrix.");
    check_length("feature", feature, start.data()[rows - 1]);
    check_length("value", value, start.data()[rows - 1]);
    check_index("feature", feature, features);
}

inline void check_range(Index first, Index last, Index count) {
    if (first < 0 || first > last || last > count)
        refuse("first=" + std::to_string(first) + ", last=" + std::to_string(last) +
               " are no range: pass 0 <= first <= last <= " + std::to_string(count) + ".");
}

template <class S>
auto to_numpy(const std::vector<S>& values) {
    auto* copy = new std::vector<S>(values);
    nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<S>*>(p); });
    return nb::ndarray<S, nb::numpy, nb::ndim<1>>(copy->data(), {copy->size()}, owner);
}

inline std::vector<double> to_vector(const Vector<double>& values) {
    return {values.data(), values.data() + values.shape(0)};
}

}  // namespace adatron::bindings
