#include "rows.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "pool.hpp"

namespace adatron {
namespace {

bool all_dots(const Kernel& kernel) {
    for (const Term& term : kernel)
        for (const Factor& factor : term.factors)
            if (factor.meeting != Meeting::dot) return false;
    return true;
}

// A batch of rows made ready to meet any columns: strips (dense), lists of values (thin), or tables a group of `lanes`
// rows (sparse).
template <class T>
class RowGroup {
public:
    RowGroup(const Kernel& kernel, const Points<T>& points, const Index* index, int count)
        : points_(points), index_(index), count_(count) {
        const int padded = points.padded(count);
        norms_ = allocate<T>(padded);
        if (points.is_sparse()) return;
        thin_ = points.is_thin() && all_dots(kernel);
        if (thin_) {
            points.gather_thin(index, count, start_, offset_, thin_values_, norms_.get());
            return;
        }
        values_ = allocate<T>(std::size_t(padded) * points.features());
        points.gather_strips(index, count, values_.get(), norms_.get());
    }

    int count() const { return count_; }

    // One factor's values over columns [first, last).
    void fill(const Epilogue& e, const Points<T>& columns, Index first, Index last, T* const* out) const {
        if (points_.is_sparse()) return fill_sparse(e, columns, first, last, out);
        if (thin_) return fill_thin(e, columns, first, last, out);
        points_.loops().fill(e, Strips<T>{values_.get(), norms_.get(), count_}, columns.panels(first, last), out);
    }

private:
    void fill_sparse(const Epilogue& e, const Points<T>& columns, Index first, Index last, T* const* out) const {
        const int lanes = points_.loops().lanes;
        SparseGroup<T> group(points_);
        for (int r = 0; r < count_; r += lanes)
            points_.loops().fill_sparse(e, group.load(index_ + r, std::min(lanes, count_ - r), e.factor.meeting),
                                        columns.sparse_columns(first, last), out + r);
    }

    void fill_thin(const Epilogue& e, const Points<T>& columns, Index first, Index last, T* const* out) const {
        const Buffer<T> room = allocate<T>(std::size_t(count_) * thin_panels * points_.loops().lanes);
        const int blocks = int(start_.size() - 1) / count_;
        const ThinRows<T> rows{start_.data(), offset_.data(), thin_values_.data(), norms_.get(),
                               count_,        blocks,         points_.thin_block()};
        points_.loops().fill_thin(e, rows, columns.panels(first, last), out, room.get());
    }

    const Points<T>& points_;
    const Index* index_;
    int count_;
    Buffer<T> values_, norms_;
    bool thin_ = false;
    std::vector<std::int32_t> start_, offset_;
    std::vector<T> thin_values_;
};

// The whole kernel over columns [first, last): the first term straight into `out`, later ones by way of `scratch`.
template <class T>
void fill_kernel(const Kernel& kernel, const RowGroup<T>& rows, const Points<T>& columns, Index first, Index last,
                 T* const* out) {
    double constant = 0;
    std::vector<const Term*> terms;
    for (const Term& term : kernel)
        if (term.factors.empty())
            constant += term.coefficient;
        else
            terms.push_back(&term);
    if (terms.empty()) {
        for (int r = 0; r < rows.count(); ++r) std::fill_n(out[r], last - first, T(constant));
        return;
    }
    std::vector<T> scratch;
    std::vector<T*> scratch_rows;
    for (std::size_t t = 0; t < terms.size(); ++t) {
        T* const* target = out;
        if (t > 0) {
            scratch.resize(std::size_t(rows.count()) * (last - first));
            scratch_rows.resize(rows.count());
            for (int r = 0; r < rows.count(); ++r) scratch_rows[r] = scratch.data() + std::size_t(r) * (last - first);
            target = scratch_rows.data();
        }
        const auto& factors = terms[t]->factors;
        for (std::size_t f = 0; f < factors.size(); ++f) {
            Epilogue e{factors[f]};
            e.multiply = f > 0;
            if (f == 0) e.scale = terms[t]->coefficient;
            if (terms.size() == 1 && factors.size() == 1) e.shift = constant;
            rows.fill(e, columns, first, last, target);
        }
        if (t > 0)
            for (int r = 0; r < rows.count(); ++r)
                for (Index j = 0; j < last - first; ++j) out[r][j] += target[r][j];
    }
    if (constant != 0 && (terms.size() > 1 || terms[0]->factors.size() > 1))
        for (int r = 0; r < rows.count(); ++r)
            for (Index j = 0; j < last - first; ++j) out[r][j] += T(constant);
}

template <class T>
void check_alike(const Points<T>& rows, const Points<T>& columns) {
    if (rows.is_sparse() != columns.is_sparse() || rows.features() != columns.features() ||
        &rows.loops() != &columns.loops())
        throw std::invalid_argument("rows and columns must be packed alike");
}

}  // namespace

template <class T>
void kernel_rows(const Kernel& kernel, const Points<T>& rows, const Index* index, int count, const Points<T>& columns,
                 T* const* out, int threads) {
    check_alike(rows, columns);
    if (count == 0) return;
    threads = worthwhile(threads, double(count) * double(columns.count()) * (columns.work() + 16));
    const RowGroup<T> batch(kernel, rows, index, count);
    parallel(columns.count(), columns.loops().lanes, threads, [&](Index first, Index last) {
        std::vector<T*> here(count);
        for (int r = 0; r < count; ++r) here[r] = out[r] + first;
        fill_kernel(kernel, batch, columns, first, last, here.data());
    });
}

template <class T>
void kernel_product(const Kernel& kernel, const Points<T>& rows, const Index* index, Index count, const double* weight,
                    int outputs, const Points<T>& columns, double* out, int threads) {
    check_alike(rows, columns);
    threads = worthwhile(threads, double(count) * double(columns.count()) * (columns.work() + 16 + outputs));
    // a stretch of columns and a batch of rows whose kernel values stay in the second-level cache
    constexpr Index stretch = 512;
    constexpr int most = 96;
    const Index m = columns.count();
    const bool sparse = rows.is_sparse();
    const int group = sparse ? most : std::max(rows.loops().strip, most / rows.loops().strip * rows.loops().strip);
    std::vector<RowGroup<T>> batches;
    for (Index r = 0; r < count; r += group)
        batches.emplace_back(kernel, rows, index + r, int(std::min<Index>(group, count - r)));
    parallel(m, stretch, threads, [&](Index first, Index last) {
        const Buffer<T> values = allocate<T>(std::size_t(group) * stretch);
        std::vector<T*> out_rows(group);
        for (std::size_t b = 0; b < batches.size(); ++b)
            for (Index begin = first; begin < last; begin += stretch) {
                const Index end = std::min(last, begin + stretch);
                for (int r = 0; r < batches[b].count(); ++r) out_rows[r] = values.get() + r * stretch;
                fill_kernel(kernel, batches[b], columns, begin, end, out_rows.data());
                columns.loops().add_sums(weight + Index(b) * group, count, outputs, out_rows.data(), batches[b].count(),
                                         end - begin, out + begin, m);
            }
    });
}

template <class T>
void kernel_matrix(const Kernel& kernel, const Points<T>& points, T* out, Index stride) {
    const Index m = points.count(), lanes = points.loops().lanes;
    const Index group = std::max<Index>(points.loops().strip, 48 / points.loops().strip * points.loops().strip);
    std::vector<Index> index(group);
    std::vector<T*> here(group);
    for (Index begin = 0; begin < m; begin += group) {
        const int rows = int(std::min(group, m - begin));
        const Index first = begin / lanes * lanes;
        for (int r = 0; r < rows; ++r) {
            index[r] = begin + r;
            here[r] = out + (begin + r) * stride + first;
        }
        fill_kernel(kernel, RowGroup<T>(kernel, points, index.data(), rows), points, first, m, here.data());
        for (int r = 0; r < rows; ++r) std::fill(out + (begin + r) * stride + m, out + (begin + r + 1) * stride, T(0));
        // the part below the diagonal, in squares whose lines stay in the nearest cache
        for (Index j = begin; j < m; j += 16)
            for (Index i = begin; i < begin + rows; ++i)
                for (Index k = std::max(j, i + 1); k < std::min(j + 16, m); ++k)
                    out[k * stride + i] = out[i * stride + k];
    }
}

#define ADATRON_FOR(T)                                                                                            \
    template void kernel_rows<T>(const Kernel&, const Points<T>&, const Index*, int, const Points<T>&, T* const*, \
                                 int);                                                                            \
    template void kernel_matrix<T>(const Kernel&, const Points<T>&, T*, Index);                                   \
    template void kernel_product<T>(const Kernel&, const Points<T>&, const Index*, Index, const double*, int,     \
                                    const Points<T>&, double*, int);
ADATRON_FOR(float)
ADATRON_FOR(double)
#undef ADATRON_FOR

}  // namespace adatron
