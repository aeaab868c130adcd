#include "gram.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <numeric>
#include <stdexcept>

#include "pool.hpp"

namespace adatron {
namespace {

constexpr Index smallest_cache = 16;          // rows; a working set needs two, and panels like company
constexpr std::size_t released_grace = 2000;  // rows that stay a while after release: some do come back

constexpr std::size_t few_bytes = std::size_t(512) << 20;  // of memory that are taken without asking what for
constexpr double dear = 2;                                 // times that memory's price: such rows are always kept
constexpr Index sets_kept = 2;                             // working sets whose rows are kept in any case

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

template <class T>
Gram<T>::Gram(std::vector<double> diagonal, std::size_t cache_bytes, int threads)
    : diagonal_(std::move(diagonal)),
      cache_limit_(cache_bytes),
      threads_(threads),
      active_(diagonal_.size()),
      position_(diagonal_.size()) {
    if (diagonal_.empty()) throw std::invalid_argument("diagonal is empty: pass at least one row");
    std::iota(active_.begin(), active_.end(), Index(0));
    position_ = active_;
    open_cache();
}

template <class T>
Gram<T>::Gram(Kernel kernel, std::shared_ptr<const Points<T>> points, std::vector<double> diagonal,
              std::size_t cache_bytes, int threads)
    : Gram(std::move(diagonal), cache_bytes, threads) {
    kernel_ = std::move(kernel);
    columns_ = points_ = std::move(points);
    begin_cheaply();
}

template <class T>
Gram<T>::Gram(const Distances<T>& distances, double gamma, std::vector<double> diagonal, std::size_t cache_bytes,
              int threads)
    : Gram(std::move(diagonal), cache_bytes, threads) {
    distances_ = &distances;
    gamma_ = gamma;
}

template <class T>
Gram<T>::Gram(const T* matrix, Index stride, std::vector<double> diagonal, std::size_t cache_bytes, int threads,
              const std::uint8_t* lit, bool padded)
    : Gram(std::move(diagonal), cache_bytes, threads) {
    matrix_ = matrix;
    padded_ = padded;
    lit_ = lit;
    matrix_stride_ = stride;
}

template <class T>
Index Gram<T>::rows_cached() const {
    return std::count_if(owner_.begin(), owner_.end(), [](Index o) { return o >= 0; });
}

// An empty cache for rows of the present active list. Memory is only promised here; the system gives it page by page.
// If even the smallest is refused, there is none, and `fetch` tries again.
template <class T>
void Gram<T>::open_cache() {
    constexpr Index line = 64 / sizeof(T);
    cache_.reset();
    capacity_ = 0;
    stride_ = (active_count() + line - 1) / line * line;
    empty_cache();
    Index capacity = std::clamp<Index>(Index(cache_limit_ / row_bytes()), std::min(smallest_cache, count()), count());
    Buffer<T> cache;
    while (!cache) try {
            cache = allocate<T>(std::size_t(capacity) * stride_, Use::gradual);
        } catch (const std::bad_alloc&) {
            if (capacity <= smallest_cache) throw;
            capacity = std::max(capacity / 2, smallest_cache);
        }
    size_slots(capacity);
    cache_ = std::move(cache);
    capacity_ = capacity;
    pages_ = PageChooser(cache_.get(), std::size_t(capacity) * row_bytes());
}

template <class T>
void Gram<T>::size_slots(Index capacity) {
    owner_.resize(capacity, -1);
    last_use_.resize(capacity, 0);
    released_.resize(capacity, 0);
}

template <class T>
void Gram<T>::empty_cache() {
    slot_of_.assign(count(), -1);
    owner_.assign(capacity_, -1);
    last_use_.assign(capacity_, 0);
    released_.assign(capacity_, 0);
    released_slots_.clear();
    used_ = 0;
    seen_.assign(count(), 0);
    begin_cheaply();
}

template <class T>
void Gram<T>::begin_cheaply() {
    worth_ = cheap() ? double(few_bytes / row_bytes()) : double(count());
}

// Whether computing a row again costs less than memory that the system has to clear for it, or not much more.
template <class T>
bool Gram<T>::cheap() const {
    return points_ && price() < dear;
}

// Of computing a row, where touching memory for the first time has the price 1: 60 multiply-adds or so.
template <class T>
double Gram<T>::price() const {
    return (points_->work() + 20) / 60;
}

// Rent or buy: rows that are cheap to compute get more memory only as they are computed again, for what that has cost.
template <class T>
void Gram<T>::weigh(const std::vector<Index>& wanted, Index count) {
    worth_ = std::max(worth_, double(sets_kept * count));
    if (!cheap()) return;
    for (Index row : wanted) {
        if (seen_[row]) worth_ += price();
        seen_[row] = 1;
    }
}

template <class T>
void Gram<T>::widen(double gamma) {
    if (!distances_) throw std::logic_error("only a matrix made from distances has another width");
    gamma_ = gamma;
    empty_cache();
}

template <class T>
void Gram<T>::forget() {
    open_cache();
}

template <class T>
void Gram<T>::activate(const Index* index, Index count) {
    if (count == 0) throw std::invalid_argument("index is empty: pass at least one column");
    const bool within = std::all_of(index, index + count, [&](Index i) { return position_[i] >= 0; }) &&
                        std::is_sorted(index, index + count) && std::is_sorted(active_.begin(), active_.end());
    if (within && count == active_count()) return;
    // all memory first: what fails here leaves everything as it was
    constexpr Index line = 64 / sizeof(T);
    const Index old_stride = stride_, stride = (count + line - 1) / line * line;
    const Index capacity = std::min<Index>(this->count(), capacity_ * old_stride / stride);
    std::vector<Index> keep, active(index, index + count), position(this->count(), Index(-1));
    for (Index k = 0; k < count; ++k) {
        if (position[index[k]] >= 0) throw std::invalid_argument("index repeats a column: pass each once");
        position[index[k]] = k;
    }
    auto columns = points_;
    if (points_ && count < this->count())
        columns = std::make_shared<const Points<T>>(points_->subset(index, count, threads_));
    if (within) {
        keep.reserve(count);
        for (Index k = 0; k < count; ++k) keep.push_back(position_[index[k]]);
        size_slots(capacity);
    }
    active_ = std::move(active);
    position_ = std::move(position);
    columns_ = std::move(columns);
    if (!within) return open_cache();

    stride_ = stride;
    capacity_ = capacity;
    for (Index s = 0; s < used_; ++s) {
        if (owner_[s] < 0) continue;
        const T* from = cache_.get() + std::size_t(s) * old_stride;
        T* to = slot(s);  // never behind `from`: compaction can work in place
        for (Index k = 0; k < count; ++k) to[k] = from[keep[k]];
    }
}

template <class T>
std::vector<Index> Gram<T>::missing(const Index* index, Index count) {
    std::vector<Index> result;
    if (direct()) return result;
    ++clock_;
    for (Index k = 0; k < count; ++k) {
        const Index s = slot_of_[index[k]];
        if (s < 0) {
            result.push_back(index[k]);
        } else {
            last_use_[s] = clock_;
            released_[s] = 0;
        }
    }
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

template <class T>
void Gram<T>::release(const Index* index, Index count) {
    if (direct()) return;
    for (Index k = 0; k < count; ++k) {
        const Index s = slot_of_[index[k]];
        if (s < 0 || released_[s]) continue;
        released_[s] = 1;
        released_slots_.push_back(s);
    }
}

// Slots for rows that are not cached: released ones first, then fresh ones, then those unused for longest. They belong
// to no row until `own`: what is not computed in the end is not cached.
template <class T>
void Gram<T>::claim(Index count, std::vector<Index>& slots, std::vector<T*>& out) {
    slots.clear();
    slots.reserve(count);
    out.resize(count);
    const Index limit = std::min(capacity_, Index(worth_));
    const std::size_t grace = used_ < limit ? released_grace : 0;
    while (released_slots_.size() > grace && Index(slots.size()) < count) {
        const Index s = released_slots_.front();
        released_slots_.pop_front();
        if (!released_[s]) continue;
        released_[s] = 0;
        last_use_[s] = clock_;
        slots.push_back(s);
    }
    const Index taken = used_;
    while (used_ < limit && Index(slots.size()) < count) slots.push_back(used_++);
    if (used_ > taken) pages_.reach(slot(used_));
    const Index more = count - Index(slots.size());
    if (more > 0) {
        std::vector<Index> oldest(taken);
        std::iota(oldest.begin(), oldest.end(), Index(0));
        std::nth_element(oldest.begin(), oldest.begin() + (more - 1), oldest.end(),
                         [&](Index a, Index b) { return last_use_[a] < last_use_[b]; });
        slots.insert(slots.end(), oldest.begin(), oldest.begin() + more);
    }
    for (Index k = 0; k < count; ++k) {
        const Index s = slots[k];
        if (owner_[s] >= 0) slot_of_[owner_[s]] = -1;
        owner_[s] = -1;
        last_use_[s] = 0;
        released_[s] = 0;  // or the next claim would take it from the row that it is for now
        out[k] = slot(s);
    }
}

template <class T>
void Gram<T>::own(const Index* index, const std::vector<Index>& slots) {
    for (std::size_t k = 0; k < slots.size(); ++k) {
        owner_[slots[k]] = index[k];
        slot_of_[index[k]] = slots[k];
        last_use_[slots[k]] = clock_;
    }
    rows_computed_ += Index(slots.size());
}

template <class T>
void Gram<T>::store(const Index* index, Index count, const T* values) {
    if (!cache_) open_cache();
    if (count > capacity_) throw std::length_error("the cache has no room for so many rows at once: store fewer");
    std::vector<Index> slots;
    std::vector<T*> out;
    claim(count, slots, out);
    for (Index k = 0; k < count; ++k) std::copy_n(values + k * active_count(), active_count(), out[k]);
    own(index, slots);
}

template <class T>
void Gram<T>::compute(const Index* index, Index count, T* const* out) const {
    if (points_) {
        kernel_rows(kernel_, *points_, index, int(count), *columns_, out, threads_);
        return;
    }
    if (distances_) {
        parallel(count, 4, threads_, [&](Index first, Index last) {
            std::vector<T> some(all_active() ? 0 : active_count());
            for (Index k = first; k < last; ++k) {
                if (all_active()) {
                    distances_->kernel_row(index[k], gamma_, out[k]);
                    continue;
                }
                const T* from = distances_->row(index[k]);
                for (Index j = 0; j < active_count(); ++j) some[j] = from[active_[j]];
                adatron::loops<T>().exponentials(some.data(), active_count(), T(gamma_), out[k]);
            }
        });
        return;
    }
    const int threads = worthwhile(threads_, (all_active() ? 4 : scattered) * double(count) * double(active_count()));
    parallel(count, 1, threads, [&](Index first, Index last) {
        for (Index k = first; k < last; ++k) {
            const T* from = matrix_ + index[k] * matrix_stride_;
            if (all_active())
                std::copy_n(from, active_count(), out[k]);
            else
                for (Index j = 0; j < active_count(); ++j) out[k][j] = from[active_[j]];
        }
    });
}

template <class T>
Fetched Gram<T>::fetch(const Index* index, Index count, double seconds) {
    if (!cache_) open_cache();
    if (!direct() && count > capacity_) {
        std::vector<Index> different(index, index + count);
        std::sort(different.begin(), different.end());
        if (std::unique(different.begin(), different.end()) - different.begin() > capacity_)
            throw std::length_error("the cache has no room for so many rows at once: fetch fewer");
    }
    const std::vector<Index> wanted = missing(index, count);
    if (!wanted.empty() && !points_ && !matrix_ && !distances_)
        throw std::logic_error("rows of this matrix must be stored first");
    weigh(wanted, count);
    // batches of about ten milliseconds, so that the clock is looked at often enough
    const Index batch = std::clamp<Index>(Index(2.5e9 / std::max(row_work(), 1.0)), 12, 1024) / 12 * 12;
    const double deadline = now() + seconds;
    std::vector<Index> slots;
    std::vector<T*> out;
    for (Index k = 0; k < Index(wanted.size()); k += batch) {
        if (k > 0 && now() > deadline) return Fetched::some;
        const Index n = std::min(batch, Index(wanted.size()) - k);
        claim(n, slots, out);
        compute(&wanted[k], n, out.data());
        own(&wanted[k], slots);
    }
    return Fetched::all;
}

template <class T>
LitRows<T> Gram<T>::lit_rows() {
    const Index n = count(), width = stretches(n);
    if (!lit_values_) {
        lit_start_.assign(1, 0);
        lit_stretch_.clear();
        for (Index i = 0; i < n; ++i) {
            for (Index s = 0; s < width; ++s)
                if (lit(i)[s]) lit_stretch_.push_back(std::int32_t(s));
            lit_start_.push_back(Index(lit_stretch_.size()));
        }
        lit_values_ = allocate<T>(lit_stretch_.size() * stretch_length);
        T* to = lit_values_.get();
        for (Index i = 0; i < n; ++i)
            for (Index e = lit_start_[i]; e < lit_start_[i + 1]; ++e, to += stretch_length) {
                const Index first = lit_stretch_[e] * stretch_length, some = std::min(stretch_length, n - first);
                std::copy_n(row(i) + first, some, to);
                std::fill(to + some, to + stretch_length, T(0));
            }
    }
    return {lit_start_.data(), lit_stretch_.data(), lit_values_.get()};
}

template <class T>
void Gram<T>::add_rows(const Index* index, Index count, const double* weight, Index first, Index last,
                       double* out) const {
    const auto add = adatron::loops<T>().add_rows;
    std::vector<const T*> rows;
    if (count == 0) return;
    if (!lit(index[0])) {
        for (Index k = 0; k < count; ++k) rows.push_back(row(index[k]));
        return add(weight, rows.data(), int(count), first, last, out);
    }
    std::vector<double> weights;
    for (Index begin = first; begin < last;) {
        const Index s = begin / stretch_length, end = std::min(last, (s + 1) * stretch_length);
        rows.clear();
        weights.clear();
        for (Index k = 0; k < count; ++k)
            if (lit(index[k])[s]) {
                rows.push_back(row(index[k]));
                weights.push_back(weight[k]);
            }
        add(weights.data(), rows.data(), int(rows.size()), begin, end, out);
        begin = end;
    }
}

template <class T>
void Gram<T>::compact(const Index* index, Index count, Index done, T* out, Index stride) const {
    const int threads = worthwhile(threads_, scattered * double(count - done) * double(count));
    parallel(count - done, 16, threads, [&](Index first, Index last) {
        for (Index i = done + first; i < done + last; ++i) {
            const T* from = row(index[i]);
            for (Index j = 0; j < count; ++j) out[i * stride + j] = from[index[j]];
        }
    });
    // the rest by symmetry, in squares whose rows stay in the nearest cache
    constexpr Index side = 64 / sizeof(T);
    parallel(done, 4 * side, threads, [&](Index first, Index last) {
        for (Index i = first; i < last; i += side)
            for (Index j = done; j < count; j += side)
                for (Index a = i; a < std::min(i + side, last); ++a)
                    for (Index b = j; b < std::min(j + side, count); ++b) out[a * stride + b] = out[b * stride + a];
    });
}

template <class T>
void Gram<T>::add_product(const Index* index, Index count, const double* weight, double* out) const {
    std::vector<Index> rest;
    std::vector<double> rest_weight, cached_weight;
    std::vector<const T*> cached;
    for (Index k = 0; k < count; ++k) {
        if (all_active() && row(index[k])) {
            cached.push_back(row(index[k]));
            cached_weight.push_back(weight[k]);
        } else {
            rest.push_back(index[k]);
            rest_weight.push_back(weight[k]);
        }
    }
    if (matrix_) {
        for (Index i : rest) cached.push_back(matrix_ + i * matrix_stride_);
        cached_weight.insert(cached_weight.end(), rest_weight.begin(), rest_weight.end());
        rest.clear();
    }
    const auto add = adatron::loops<T>().add_rows;
    parallel(this->count(), 1024, threads_, [&](Index first, Index last) {
        add(cached_weight.data(), cached.data(), int(cached.size()), first, last, out);
    });
    if (distances_) {
        constexpr Index batch = 48;
        const Buffer<T> values = allocate<T>(std::size_t(batch) * this->count());
        for (Index k = 0; k < Index(rest.size()); k += batch) {
            const Index n = std::min(batch, Index(rest.size()) - k);
            std::vector<const T*> rows(n);
            parallel(n, 4, threads_, [&](Index first, Index last) {
                for (Index r = first; r < last; ++r) {
                    T* const row = values.get() + r * this->count();
                    distances_->kernel_row(rest[k + r], gamma_, row);
                    rows[r] = row;
                }
            });
            parallel(this->count(), 1024, threads_,
                     [&](Index first, Index last) { add(&rest_weight[k], rows.data(), int(n), first, last, out); });
        }
        return;
    }
    if (!rest.empty() && !points_) throw std::logic_error("rows of this matrix must be stored first");
    if (!rest.empty())
        kernel_product(kernel_, *points_, rest.data(), Index(rest.size()), rest_weight.data(), 1, *points_, out,
                       threads_);
}

template <class T>
void folded_product(const Problem& p, const Gram<T>& gram, const double* beta, std::vector<double>& product) {
    std::vector<Index> index;
    std::vector<double> weight;
    for (Index r = 0; r < p.rows; ++r) {
        const double coefficient = beta[r] + (p.variables > p.rows ? beta[r + p.rows] : 0.0);
        if (coefficient == 0) continue;
        index.push_back(r);
        weight.push_back(coefficient);
    }
    product.assign(p.rows, 0.0);
    gram.add_product(index.data(), Index(index.size()), weight.data(), product.data());
}

template void folded_product<float>(const Problem&, const Gram<float>&, const double*, std::vector<double>&);
template void folded_product<double>(const Problem&, const Gram<double>&, const double*, std::vector<double>&);
template class Gram<float>;
template class Gram<double>;

}  // namespace adatron
