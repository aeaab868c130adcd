#include "points.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>

#include "pool.hpp"

namespace adatron {
namespace {

constexpr double thin = 0.4;          // part of the values that is not zero, below which rows are met by those
constexpr Index few_values = 200000;  // that one thread lays out in the time it takes to wake another

}  // namespace

template <class T>
template <class S>
Points<T> Points<T>::pack(const S* x, Index count, int features, Index row_stride, const double* center, int threads) {
    Points p;
    p.count_ = count;
    p.features_ = features;
    const Index lanes = p.loops_->lanes, columns = p.padded_columns();
    p.values_ = allocate<T>(std::size_t(columns) * features);
    p.norms_ = allocate<T>(columns);
    T* values = p.values_.get();
    T* norms = p.norms_.get();
    if (columns * features < few_values) threads = 1;
    std::atomic<Index> others{0};  // values that are not zero
    parallel(columns, lanes, threads, [&](Index first, Index last) {
        Index found = 0;
        for (Index i = first; i < last; ++i) {
            T* target = values + i / lanes * lanes * features + i % lanes;
            for (int k = 0; k < features; ++k) {
                const T value = i < count ? T(double(x[i * row_stride + k]) - (center ? center[k] : 0.0)) : T(0);
                target[k * lanes] = value;
                found += value != 0;
            }
        }
        others += found;
        p.loops_->norms(p.panels(first, last), norms);
    });
    const double density = double(others) / std::max(double(count) * features, 1.0);
    p.thin_ = density < thin;
    if (p.thin_) p.density_ = density;
    return p;
}

template <class T>
Points<T> Points<T>::dense(const float* x, Index n, int d, Index stride, const double* center, int threads) {
    return pack(x, n, d, stride, center, threads);
}

template <class T>
Points<T> Points<T>::dense(const double* x, Index n, int d, Index stride, const double* center, int threads) {
    return pack(x, n, d, stride, center, threads);
}

template <class T>
Points<T> Points<T>::sparse(const Index* start, const std::int32_t* feature, const double* value, Index count,
                            int features) {
    Points p;
    p.count_ = count;
    p.features_ = features;
    p.start_.assign(start, start + count + 1);
    p.feature_.assign(feature, feature + start[count]);
    p.value_.resize(start[count]);
    p.norms_ = allocate<T>(p.padded_columns());
    std::fill_n(p.norms_.get(), p.padded_columns(), T(0));
    for (Index k = 0; k < start[count]; ++k) p.value_[k] = T(value[k]);
    p.norms_from_dots();
    return p;
}

// Sparse points' norms, by the very loop that will make their dot products: rounding is then the same, and a point's
// distance to itself zero.
template <class T>
void Points<T>::norms_from_dots() {
    const int lanes = loops_->lanes;
    std::vector<T> values(std::size_t(lanes) * lanes);
    std::vector<Index> index(lanes);
    std::vector<T*> out(lanes);
    for (int r = 0; r < lanes; ++r) out[r] = values.data() + r * lanes;
    SparseGroup<T> group(*this);
    for (Index begin = 0; begin < count_; begin += lanes) {
        const int rows = int(std::min<Index>(lanes, count_ - begin));
        for (int r = 0; r < rows; ++r) index[r] = begin + r;
        loops_->fill_sparse(Epilogue{}, group.load(index.data(), rows, Meeting::dot),
                            sparse_columns(begin, begin + rows), out.data());
        for (int r = 0; r < rows; ++r) norms_[begin + r] = out[r][r];
    }
}

template <class T>
std::size_t Points<T>::bytes() const {
    const std::size_t norms = std::size_t(padded_columns()) * sizeof(T);
    if (is_sparse()) return norms + start_.size() * 8 + feature_.size() * 4 + value_.size() * sizeof(T);
    return norms * (1 + features_);
}

template <class T>
Points<T> Points<T>::subset(const Index* index, Index count, int threads) const {
    Points p;
    p.loops_ = loops_;
    p.count_ = count;
    p.features_ = features_;
    const Index lanes = loops_->lanes, columns = p.padded_columns();
    p.norms_ = allocate<T>(columns);
    for (Index i = 0; i < columns; ++i) p.norms_[i] = i < count ? norms_[index[i]] : T(0);
    if (is_sparse()) {
        p.start_.resize(count + 1);
        for (Index i = 0; i < count; ++i) p.start_[i + 1] = p.start_[i] + (start_[index[i] + 1] - start_[index[i]]);
        p.feature_.resize(p.start_[count]);
        p.value_.resize(p.start_[count]);
        for (Index i = 0; i < count; ++i) {
            std::copy_n(&feature_[start_[index[i]]], p.start_[i + 1] - p.start_[i], &p.feature_[p.start_[i]]);
            std::copy_n(&value_[start_[index[i]]], p.start_[i + 1] - p.start_[i], &p.value_[p.start_[i]]);
        }
        return p;
    }
    p.density_ = density_;
    p.thin_ = thin_;
    p.values_ = allocate<T>(std::size_t(columns) * features_);
    const T* from = values_.get();
    T* to = p.values_.get();
    const int features = features_;
    if (columns * features < few_values) threads = 1;
    parallel(columns, lanes, threads, [=](Index first, Index last) {
        for (Index panel = first; panel < last; panel += lanes)
            for (Index i = panel; i < std::min(panel + lanes, last); ++i) {
                T* target = to + panel * features + i % lanes;
                if (i >= count) {
                    for (int k = 0; k < features; ++k) target[k * lanes] = T(0);
                    continue;
                }
                const T* source = from + index[i] / lanes * lanes * features + index[i] % lanes;
                for (int k = 0; k < features; ++k) target[k * lanes] = source[k * lanes];
            }
    });
    return p;
}

template <class T>
void Points<T>::gather_strips(const Index* index, int count, T* values, T* norms) const {
    const Index lanes = loops_->lanes, strip = loops_->strip;
    for (int r = 0; r < padded(count); ++r) {
        T* target = values + r / strip * strip * features_ + r % strip;
        norms[r] = r < count ? norms_[index[r]] : T(0);
        if (r >= count) {
            for (int k = 0; k < features_; ++k) target[k * strip] = T(0);
            continue;
        }
        const T* source = values_.get() + index[r] / lanes * lanes * features_ + index[r] % lanes;
        for (int k = 0; k < features_; ++k) target[k * strip] = source[k * lanes];
    }
}

template <class T>
void Points<T>::gather_thin(const Index* index, int count, std::vector<std::int32_t>& start,
                            std::vector<std::int32_t>& offset, std::vector<T>& value, T* norms) const {
    const Index lanes = loops_->lanes;
    const int block = thin_block();
    const std::size_t expected = std::size_t(1.2 * density_ * features_ * count) + 16;
    start.clear();
    offset.reserve(expected);
    value.reserve(expected);
    for (int r = 0; r < count; ++r) norms[r] = norms_[index[r]];
    for (int begin = 0; begin < features_; begin += block)
        for (int r = 0; r < count; ++r) {
            start.push_back(std::int32_t(value.size()));
            const T* source = values_.get() + index[r] / lanes * lanes * features_ + index[r] % lanes;
            for (int k = begin; k < std::min(begin + block, features_); ++k)
                if (const T x = source[k * lanes]; x != 0) {
                    offset.push_back(std::int32_t(k * lanes));
                    value.push_back(x);
                }
        }
    start.push_back(std::int32_t(value.size()));
}

template <class T>
T Points<T>::absolute_norm(Index i) const {
    double sum = 0;
    for (Index k = start_[i]; k < start_[i + 1]; ++k) sum += std::abs(double(value_[k]));
    return T(sum);
}

namespace {

constexpr int most_kept = 1 << 20;  // features whose places a thread keeps between calls: 4 MB

std::vector<std::int32_t>& kept_places() {
    thread_local std::vector<std::int32_t> places;
    return places;
}

}  // namespace

template <class T>
SparseGroup<T>::SparseGroup(const Points<T>& points)
    : points_(points), own_(nullptr, std::free), norms_(points.loops().lanes) {
    const std::size_t features = points.features();
    if (features <= most_kept) {
        kept_.swap(kept_places());
        if (kept_.size() < features) kept_.resize(features);
        place_ = kept_.data();
    } else {
        own_.reset(static_cast<std::int32_t*>(std::calloc(features, sizeof(std::int32_t))));
        if (!own_) throw std::bad_alloc();
        place_ = own_.get();
    }
}

template <class T>
SparseGroup<T>::~SparseGroup() {
    clear();
    if (kept_.size() > kept_places().size()) kept_.swap(kept_places());
}

template <class T>
void SparseGroup<T>::clear() {
    const std::size_t lanes = points_.loops().lanes;
    for (std::int32_t feature : present_) place_[feature] = 0;
    std::fill_n(table_.begin(), std::min(table_.size(), (present_.size() + 1) * lanes), T(0));
    present_.clear();
}

template <class T>
SparseRows<T> SparseGroup<T>::load(const Index* index, int count, Meeting meeting) {
    clear();
    const std::size_t lanes = points_.loops().lanes;
    const auto& start = points_.start_;
    std::size_t most = 0;
    for (int r = 0; r < count; ++r) most += std::size_t(start[index[r] + 1] - start[index[r]]);
    most = std::min<std::size_t>(most, points_.features());
    // all memory before the first mark: whatever fails leaves zeros
    present_.reserve(most);
    if (table_.size() < (most + 1) * lanes) table_.resize((most + 1) * lanes);
    if (column_.size() < most + 1) column_.resize(most + 1);
    for (int r = 0; r < count; ++r) {
        norms_[r] =
            meeting == Meeting::absolute_from_norms ? points_.absolute_norm(index[r]) : points_.squared_norm(index[r]);
        for (Index k = start[index[r]]; k < start[index[r] + 1]; ++k) {
            std::int32_t& place = place_[points_.feature_[k]];
            if (place == 0) {
                present_.push_back(points_.feature_[k]);
                place = std::int32_t(present_.size());
            }
            table_[std::size_t(place) * lanes + r] = points_.value_[k];
        }
    }
    return {place_, table_.data(), Index(present_.size()) + 1, norms_.data(), column_.data(), count};
}

template class SparseGroup<float>;
template class SparseGroup<double>;
template class Points<float>;
template class Points<double>;

}  // namespace adatron
