// Kernel rows on demand: over the active columns, through a cache with a byte limit.
//
// Nothing is permuted. The active list says which columns a cached row covers; when it shrinks, cached rows are
// compacted where they lie, and when it changes otherwise they are dropped.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "distances.hpp"
#include "problem.hpp"
#include "rows.hpp"

namespace adatron {

// What has been given to the caller of `fetch`: is every row there, or was the time used up first?
enum class Fetched : std::uint8_t { all, some };

template <class T>
class Gram {
public:
    // Rows come from points through a kernel ...
    Gram(Kernel kernel, std::shared_ptr<const Points<T>> points, std::vector<double> diagonal, std::size_t cache_bytes,
         int threads);
    // ... or from distances that the caller keeps alive: exp(−gamma d) ...
    Gram(const Distances<T>& distances, double gamma, std::vector<double> diagonal, std::size_t cache_bytes,
         int threads);
    // ... or from a matrix that the caller keeps alive, or, when that is null, from `store` alone.
    // `lit`, if given, tells for every row and stretch of columns (distances.hpp) whether there is more than zeros;
    // `padded` says that zeros fill the matrix's rows up to whole vectors.
    Gram(const T* matrix, Index stride, std::vector<double> diagonal, std::size_t cache_bytes, int threads,
         const std::uint8_t* lit = nullptr, bool padded = false);

    Index count() const { return Index(diagonal_.size()); }
    int threads() const { return threads_; }
    const std::vector<double>& diagonal() const { return diagonal_; }
    const std::vector<Index>& active() const { return active_; }
    Index active_count() const { return Index(active_.size()); }
    std::size_t cached_bytes() const { return rows_cached() * row_bytes(); }
    Index rows_cached() const;
    Index capacity() const { return direct() ? count() : capacity_; }
    Index rows_computed() const { return rows_computed_; }
    void count_computed(Index rows) { rows_computed_ += rows; }           // of a matrix that was made for it
    bool has_source() const { return points_ || matrix_ || distances_; }  // or else rows come from `store` alone

    void activate(const Index* index, Index count);
    void forget();             // every cached row, giving its memory back
    void widen(double gamma);  // every cached row, keeping its memory for those of another width (of distances)
    // Which of these rows must be computed, each once; those that are there count as used now.
    std::vector<Index> missing(const Index* index, Index count);
    void store(const Index* index, Index count, const T* values);  // of missing rows: count x active_count, row-major

    // Computes the missing ones of these rows (at most capacity() of them), for about `seconds` at most.
    Fetched fetch(const Index* index, Index count, double seconds);
    // These rows are not likely to be wanted again: their memory is used before memory never touched.
    void release(const Index* index, Index count);
    const T* row(Index i) const {
        if (direct()) return matrix_ + i * matrix_stride_;
        return slot_of_[i] < 0 ? nullptr : slot(slot_of_[i]);
    }

    // Operations that a row takes, about.
    double row_work() const { return double(active_count()) * (points_ ? points_->work() + 16 : 4); }

    // A whole matrix that the engine can work on as it is: its rows' distance in memory, or 0 if it is none.
    Index padded_stride() const { return padded_ && direct() ? matrix_stride_ : 0; }

    // For every stretch of columns of a row whether there is more than zeros; null: not known.
    const std::uint8_t* lit(Index i) const { return lit_ && direct() ? lit_ + i * stretches(count()) : nullptr; }

    // Rows without their stretches of zeros, as the matrix is now.
    LitRows<T> lit_rows();

    // out += sum of weight times rows, over columns [first, last) of the active; the rows must be at hand.
    void add_rows(const Index* index, Index count, const double* weight, Index first, Index last, double* out) const;

    // out = K[index, index], of which the part of the first `done` is there already; the rows must be at hand.
    void compact(const Index* index, Index count, Index done, T* out, Index stride) const;

    // out += K[index, :]^T weight over ALL columns, cached rows used where they cover them.
    void add_product(const Index* index, Index count, const double* weight, double* out) const;

private:
    Gram(std::vector<double> diagonal, std::size_t cache_bytes, int threads);
    void open_cache();
    void empty_cache();
    T* slot(Index s) const { return cache_.get() + std::size_t(s) * stride_; }
    std::size_t row_bytes() const { return std::size_t(stride_) * sizeof(T); }
    void compute(const Index* index, Index count, T* const* out) const;
    void claim(Index count, std::vector<Index>& slots, std::vector<T*>& out);
    void own(const Index* index, const std::vector<Index>& slots);
    void size_slots(Index capacity);
    void begin_cheaply();
    bool cheap() const;
    double price() const;
    void weigh(const std::vector<Index>& wanted, Index count);
    bool all_active() const { return active_count() == count(); }
    bool direct() const { return matrix_ && all_active(); }  // rows lie in the caller's matrix as they are wanted

    Kernel kernel_;
    std::shared_ptr<const Points<T>> points_;
    std::shared_ptr<const Points<T>> columns_;  // the active ones
    const Distances<T>* distances_ = nullptr;
    double gamma_ = 0;
    const T* matrix_ = nullptr;
    Index matrix_stride_ = 0;
    const std::uint8_t* lit_ = nullptr;
    bool padded_ = false;
    std::vector<Index> lit_start_;
    std::vector<std::int32_t> lit_stretch_;
    Buffer<T> lit_values_;
    std::vector<double> diagonal_;
    std::size_t cache_limit_;
    int threads_;

    std::vector<Index> active_, position_;  // position_[row] among the active, or -1
    Buffer<T> cache_;
    PageChooser pages_;  // of its slots
    Index stride_ = 0, capacity_ = 0;
    std::vector<Index> slot_of_, owner_;   // row -> slot, slot -> row; -1 for none
    std::vector<std::uint64_t> last_use_;  // of a slot
    std::vector<std::uint8_t> released_;   // of a slot
    std::deque<Index> released_slots_;     // the longest released first; those used again since are passed over
    std::uint64_t clock_ = 0;
    Index used_ = 0;                  // slots handed out so far
    std::vector<std::uint8_t> seen_;  // of a row: computed before
    double worth_ = 0;                // slots that are worth their memory
    Index rows_computed_ = 0;
};

// K·fold(β) over all rows, afresh.
template <class T>
void folded_product(const Problem& problem, const Gram<T>& gram, const double* beta, std::vector<double>& product);

}  // namespace adatron
