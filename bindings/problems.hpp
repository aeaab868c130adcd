// Problems at the border, and what must hold of their matrices.
#pragma once

#include "arrays.hpp"
#include "gram.hpp"
#include "problem.hpp"

namespace adatron::bindings {

// The spans of a problem, which the caller keeps alive.
inline Problem problem_of(const Vector<double>& linear, const Vector<double>& lower, const Vector<double>& upper,
                          const Vector<double>& ridge, const Vector<std::int8_t>& group, const Vector<double>& totals,
                          Index rows) {
    const Index variables = Index(linear.shape(0));
    const int sums = int(totals.shape(0));
    if (rows < 1 || (variables != rows && variables != 2 * rows))
        refuse("linear has " + std::to_string(variables) + " entries over rows=" + std::to_string(rows) +
               ": pass one or two per row.");
    if (sums > 2) refuse("totals has " + std::to_string(sums) + " entries: pass at most 2.");
    for (const auto* span : {&lower, &upper, &ridge}) check_length("lower, upper or ridge", *span, variables);
    check_length("group", group, variables);
    check_index("group", group, 2);
    return {linear.data(), lower.data(), upper.data(),
            ridge.data(),  group.data(), Index(linear.shape(0)),
            rows,          sums,         {sums > 0 ? totals.data()[0] : 0.0, sums > 1 ? totals.data()[1] : 0.0}};
}

template <class T>
void check_complete(const Distances<T>& distances) {
    if (!distances.complete()) refuse("not all distances are there: call advance until it returns True.");
}

template <class T>
void check_whole(const Gram<T>& gram) {
    if (gram.active_count() != gram.count()) refuse("only some columns are active: activate all of them first.");
}

template <class T>
void check_problem(const Gram<T>& gram, const Problem& problem, const Vector<double>& beta,
                   const Vector<double>& product, Index product_length) {
    if (problem.rows != gram.count())
        refuse("rows=" + std::to_string(problem.rows) + " for a matrix of " + std::to_string(gram.count()) +
               " rows: pass a problem and a matrix of the same rows.");
    check_length("beta", beta, problem.variables);
    check_length("product", product, product_length);
}

}  // namespace adatron::bindings
