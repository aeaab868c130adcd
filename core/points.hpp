// Data points in the layouts that the loops want (see loops.hpp), dense or sparse.
#pragma once

#include <memory>
#include <vector>

#include "loops.hpp"
#include "memory.hpp"

namespace adatron {

template <class T>
class SparseGroup;

template <class T>
class Points {
public:
    // `center` (may be null) is subtracted: distances do not change and lose less to cancellation.
    static Points dense(const float* x, Index count, int features, Index row_stride, const double* center, int threads);
    static Points dense(const double* x, Index count, int features, Index row_stride, const double* center,
                        int threads);
    static Points sparse(const Index* start, const std::int32_t* feature, const double* value, Index count,
                         int features);

    Index count() const { return count_; }
    int features() const { return features_; }
    bool is_sparse() const { return !start_.empty(); }
    const Loops<T>& loops() const { return *loops_; }
    std::size_t bytes() const;
    // multiply-adds that a kernel value takes, on average
    double work() const { return is_sparse() ? double(value_.size()) / double(count_) : density_ * features_; }

    Points subset(const Index* index, Index count, int threads) const;

    Panels<T> panels(Index first, Index last) const { return {values_.get(), norms_.get(), features_, first, last}; }
    SparseColumns<T> sparse_columns(Index first, Index last) const {
        return {start_.data(), feature_.data(), value_.data(), norms_.get(), first, last};
    }

    // Rows `index` as strips (dense); `values` holds padded(count) * features, `norms` padded(count).
    void gather_strips(const Index* index, int count, T* values, T* norms) const;
    // Whether most values are zero: rows are then best met by their other values.
    bool is_thin() const { return thin_; }
    int thin_block() const { return int(thin_block_bytes / (thin_panels * loops_->lanes * sizeof(T))); }
    // Such rows, by blocks of so many features (see ThinRows).
    void gather_thin(const Index* index, int count, std::vector<std::int32_t>& start, std::vector<std::int32_t>& offset,
                     std::vector<T>& value, T* norms) const;
    int padded(int count) const { return (count + loops_->strip - 1) / loops_->strip * loops_->strip; }

    T squared_norm(Index i) const { return norms_[i]; }
    T absolute_norm(Index i) const;

private:
    friend class SparseGroup<T>;
    template <class S>
    static Points pack(const S* x, Index count, int features, Index row_stride, const double* center, int threads);
    void norms_from_dots();
    Index padded_columns() const { return (count_ + loops_->lanes - 1) / loops_->lanes * loops_->lanes; }

    const Loops<T>* loops_ = &adatron::loops<T>();
    Index count_ = 0;
    int features_ = 0;
    Buffer<T> values_;    // dense panels
    double density_ = 1;  // of dense points: part of the values that is not zero, where that is small
    bool thin_ = false;
    Buffer<T> norms_;  // squared, padded to whole panels
    std::vector<Index> start_;
    std::vector<std::int32_t> feature_;
    std::vector<T> value_;
};

// Up to `lanes` rows of sparse points made ready to meet sparse columns (loops.hpp), one group after the other.
template <class T>
class SparseGroup {
public:
    explicit SparseGroup(const Points<T>& points);
    ~SparseGroup();
    SparseGroup(const SparseGroup&) = delete;
    SparseGroup& operator=(const SparseGroup&) = delete;

    // `meeting` says which norms are wanted.
    SparseRows<T> load(const Index* index, int count, Meeting meeting);

private:
    void clear();

    const Points<T>& points_;
    std::vector<std::int32_t> kept_;                        // places, if there are few features: a thread keeps them
    std::unique_ptr<std::int32_t[], void (*)(void*)> own_;  // or else: zeroed pages, taken only where touched
    std::int32_t* place_;                                   // all zeros between groups
    std::vector<std::int32_t> present_;                     // the features of this group
    std::vector<T> table_, column_, norms_;                 // all zeros between groups, but for the norms
};

}  // namespace adatron
