// Traces, as the engine and batches of problems give them to Python.
#pragma once

#include "arrays.hpp"
#include "engine.hpp"

namespace adatron::bindings {

// Rows of a trace as a matrix, one line each; adatron.trace names the columns.
inline auto trace_columns(const std::vector<TraceRow>& rows) {
    constexpr std::size_t width = 13;
    auto* copy = new std::vector<double>();
    nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    copy->reserve(width * rows.size());
    for (const TraceRow& r : rows)
        for (double value : {r.time, double(r.rounds), r.account.objective, r.account.gap, r.account.kkt_violation,
                             r.account.margin, r.bias, r.account.sum, double(r.account.support),
                             double(r.account.at_bound), double(r.steps), double(r.rows_computed), double(r.active)})
            copy->push_back(value);
    return nb::ndarray<double, nb::numpy, nb::ndim<2>>(copy->data(), {rows.size(), width}, owner);
}

}  // namespace adatron::bindings
