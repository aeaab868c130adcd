// Where one of the papers' algorithms stands: the problem, its coefficients and K·fold(β), kept up to date move by
// move.
//
// A move costs one kernel row and a pass over it, so an epoch costs what has changed in it, and not m². Rows must lie
// in the Gram's cache; a climb that misses some says which (`wanted`) and is called again when they are there.
#pragma once

#include <vector>

#include "account.hpp"
#include "gram.hpp"

namespace adatron {

template <class T>
class Climb {
public:
    Climb(const Problem& problem, Gram<T>& gram, const double* beta, const double* product);

    Account account(double bias, double rho) const;
    const std::vector<double>& beta() const { return beta_; }
    const std::vector<double>& product() const { return product_; }
    const std::vector<Index>& wanted() const { return wanted_; }  // rows to fetch before going on
    Index updates() const { return updates_; }
    void correct(const double* product) { product_.assign(product, product + rows_); }  // of its drift

protected:
    Index row_of(Index v) const { return v < rows_ ? v : v - rows_; }
    double gradient(Index v) const { return product_[row_of(v)] + ridge_[v] * beta_[v] + linear_[v]; }
    double curvature(Index v) const { return gram_.diagonal()[row_of(v)] + ridge_[v]; }
    const T* row(Index v) const { return gram_.row(row_of(v)); }
    bool may_grow(Index v) const { return beta_[v] < upper_[v]; }
    bool may_shrink(Index v) const { return beta_[v] > lower_[v]; }
    bool free(Index v) const { return may_grow(v) && may_shrink(v); }
    Index variables() const { return Index(beta_.size()); }
    void add_rows(const std::vector<double>& weight, const std::vector<const T*>& row);

    Gram<T>& gram_;
    int sums_;
    Index rows_;
    std::vector<double> linear_, lower_, upper_, ridge_, beta_, product_;
    std::vector<std::int8_t> group_;
    double totals_[2];
    std::vector<Index> wanted_;
    Index updates_ = 0;
};

double seconds_now();

}  // namespace adatron
