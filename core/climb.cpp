#include "climb.hpp"

#include <chrono>

#include "pool.hpp"

namespace adatron {
namespace {

constexpr Index columns_a_thread = 4096;  // fewer are not worth waking one

}  // namespace

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class T>
Climb<T>::Climb(const Problem& p, Gram<T>& gram, const double* beta, const double* product)
    : gram_(gram),
      sums_(p.sums),
      rows_(p.rows),
      linear_(p.linear, p.linear + p.variables),
      lower_(p.lower, p.lower + p.variables),
      upper_(p.upper, p.upper + p.variables),
      ridge_(p.ridge, p.ridge + p.variables),
      beta_(beta, beta + p.variables),
      product_(product, product + p.rows),
      group_(p.group, p.group + p.variables),
      totals_{p.totals[0], p.totals[1]} {}

template <class T>
void Climb<T>::add_rows(const std::vector<double>& weight, const std::vector<const T*>& row) {
    if (weight.empty()) return;
    const auto add = loops<T>().add_rows;
    parallel(rows_, columns_a_thread, gram_.threads(), [&](Index first, Index last) {
        add(weight.data(), row.data(), int(row.size()), first, last, product_.data());
    });
}

template <class T>
Account Climb<T>::account(double bias, double rho) const {
    const Problem problem{linear_.data(), lower_.data(), upper_.data(), ridge_.data(),           group_.data(),
                          variables(),    rows_,         sums_,         {totals_[0], totals_[1]}};
    return adatron::account(problem, beta_.data(), product_.data(), bias, rho);
}

template class Climb<float>;
template class Climb<double>;

}  // namespace adatron
