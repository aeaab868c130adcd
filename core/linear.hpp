// Linear kernels, scale · x·y + constant, with the weight vector w = Σ β_i x_i kept up to date.
//
// A visit to a coefficient costs the non-zeros of its row, an epoch those of the active rows, and K·β is X (Xᵀβ): no
// kernel value is ever computed. Rows are used where the caller has them, dense or CSR, float32 or float64; w and all
// sums are float64.
#pragma once

#include <cstdint>
#include <vector>

#include "problem.hpp"

namespace adatron {

// The rows of X, in the caller's memory.
template <class T>
struct FeatureRows {
    const T* value;
    const Index* start;           // of each sparse row, and the end of the last; null where rows are dense
    const std::int32_t* feature;  // of sparse rows
    Index count, features;
    const Loops<T>* loops;

    Index begin(Index i) const { return start ? start[i] : i * features; }
    Index length(Index i) const { return start ? start[i + 1] - start[i] : features; }
    // of the row of `length` values at `begin`
    double dot(Index begin, Index length, const double* w) const;
    void add(Index begin, Index length, double factor, double* w) const;  // w += factor · x
    double squared_norm(Index begin, Index length) const;
    void prefetch(Index begin, Index length) const;

    double dot(Index i, const double* w) const { return dot(begin(i), length(i), w); }
    void add(Index i, double factor, double* w) const { add(begin(i), length(i), factor, w); }
};

// w += Σ coef_i x_i over [first, last)
template <class T>
void add_weights(const FeatureRows<T>& rows, const double* coef, Index first, Index last, double* w);

// out_i = x_i · w over [first, last), on all threads
template <class T>
void row_values(const FeatureRows<T>& rows, const double* w, Index first, Index last, double* out, int threads);

// out += Σ weight_k x xᵀ over the rows x = x_index[k], its upper triangle only, on all threads
template <class T>
void add_outer(const FeatureRows<T>& rows, const Index* index, const double* weight, Index count, double* out,
               int threads);

struct LinearKernel {
    double scale, constant;
};

enum class EpochEnd : std::uint8_t { paused, finished, settled };

// Coordinate descent on the dual, one row after the other in random order, with shrinking.
//
// With one sum, Σβ = total, it minimises the augmented Lagrangian: `multiplier` (Σβ − total) + ½ `penalty`
// (Σβ − total)² is added to the objective, and the trial bias is multiplier + penalty (Σβ − total). Without a sum both
// are zero.
template <class T>
class LinearCoordinate {
public:
    LinearCoordinate(const Problem& problem, const FeatureRows<T>& rows, LinearKernel kernel, const double* beta,
                     std::uint64_t seed, bool shrinking);

    // Goes on with epochs over the active rows: `settled` when the violation seen in one is at most `goal`, `finished`
    // after `most` of them, `paused` when the time is up (the next call goes on in the midst of the epoch).
    EpochEnd run(double goal, Index most, double seconds);

    void set_bias(double multiplier, double penalty);
    void load(const double* beta);  // other coefficients; w and Σβ are made anew, all rows are active
    void activate_all();

    std::vector<double> beta() const;
    Index variables() const { return Index(coefficients_.size()); }
    const std::vector<double>& weights() const { return w_; }
    double sum() const { return sum_; }
    double bias() const { return multiplier_ + penalty_ * (sum_ - total_); }
    double violation() const { return violation_; }  // seen in the last whole epoch, over the rows then active
    Index epochs() const { return epochs_; }
    Index updates() const { return updates_; }
    Index active() const { return active_; }
    double visited() const { return visited_; }  // values of X read so far

private:
    struct alignas(64) Coefficient {  // all that a visit needs, in one cache line
        double beta, lower, upper, linear, ridge, curvature;
        Index begin, length;  // of its row
    };

    bool visit(Coefficient* first);  // the row's; false: it can be left out until the others have settled
    void begin_epoch();

    FeatureRows<T> rows_;
    LinearKernel kernel_;
    Index per_row_;
    bool shrinking_, in_epoch_ = false;
    std::vector<Coefficient> coefficients_;  // those of a row side by side
    std::vector<double> w_;
    std::vector<Index> order_;  // rows; the first `active_` are visited
    double total_, sum_ = 0, multiplier_ = 0, penalty_ = 0;
    double highest_, lowest_, keep_below_, keep_above_;  // projected gradients: of this epoch, and of the last
    double violation_;
    Index active_, at_ = 0, epochs_ = 0, updates_ = 0;
    double visited_ = 0;
    std::uint64_t random_;
};

}  // namespace adatron
