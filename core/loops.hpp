// The hot loops, compiled once per instruction set; `loops<T>()` is the table chosen at run time.
//
// Layout. Points that stand as columns are packed into panels of `lanes` points, feature by feature,
// so that one load brings the same feature of `lanes` points. Points that stand as rows are packed into
// strips of `strip` points, feature by feature too, so that broadcasts are contiguous. A tile is one strip
// against one panel, kept wholly in registers until the kernel's formula has been applied.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel.hpp"

namespace adatron {

using Index = std::int64_t;

template <class T>
struct Strips {  // rows
    const T* values;
    const T* norms;
    int count;
};

// Rows of which most values are zero, by their other values: block by block of features, row by row in each.
template <class T>
struct ThinRows {
    const std::int32_t* start;   // of row r in block b at b * count + r, and the end of all
    const std::int32_t* offset;  // of a value's feature in a panel
    const T* value;
    const T* norms;
    int count, blocks;
    int block;  // features
};

inline constexpr int thin_panels = 4;               // panels that a thin row meets at once
inline constexpr int thin_block_bytes = 64 * 1024;  // of these panels, a block of features: 12 to 256 KB tried

template <class T>
struct Panels {  // dense columns [first, last), first a multiple of lanes
    const T* values;
    const T* norms;
    int features;
    Index first, last;
};

template <class T>
struct SparseColumns {  // columns [first, last) in CSR form
    const Index* start;
    const std::int32_t* feature;
    const T* value;
    const T* norms;
    Index first, last;
};

// Up to `lanes` sparse rows side by side: a table of the features that any of them has, a vector for each feature.
template <class T>
struct SparseRows {
    const std::int32_t* place;  // of a feature in the table; 0, where the table holds zeros: no row has it
    const T* table;
    Index places;  // 1 to places - 1 are features
    const T* norms;
    T* column;  // a zero for each place
    int count;
};

// What becomes of a factor's value: value' = scale * k + shift, then stored or multiplied into what is there.
struct Epilogue {
    Factor factor;
    double scale = 1.0;
    double shift = 0.0;
    bool multiply = false;
};

// The small problem on a working set, gathered: kernel block, gradient, box. See pair.inl.
template <class T>
struct PairProblem {
    const T* block;  // size x stride, kernel values without ridge
    Index stride;
    const T* curvature;  // diagonal with ridge
    const T* ridge;
    T* gradient;
    T* up;    // 0 where the coefficient may grow, -inf where it may not
    T* down;  // 0 where the coefficient may shrink, -inf where it may not
    double* beta;
    const double* lower;
    const double* upper;
    int segments;        // one a sum
    int segment_end[2];  // positions padded to lanes; segment k is [end[k-1], end[k])
    double tolerance;    // stop when the gap is below
    Index max_steps;
};

inline constexpr Index stretch_length = 64;  // columns
inline constexpr Index widest_tile = 16;     // columns, to whole numbers of which the panels of add_outer are filled up
inline constexpr Index factor_panel = 32;    // columns of a factor that are made at a time

// Rows of a matrix that is mostly nothing: stretches of columns in which there is anything, end to end.
template <class T>
struct LitRows {
    const Index* start;           // of every row's stretches, and their end
    const std::int32_t* stretch;  // which
    const T* values;              // stretch_length each
};

struct PairOutcome {
    Index steps = 0;
    double gap = 0.0;
    bool unbounded = false;  // a direction without curvature and without a bound
};

template <class T>
struct Loops {
    int lanes;
    int strip;
    // out[r] is the place of row r's value at column `first`
    void (*fill)(const Epilogue&, const Strips<T>&, const Panels<T>&, T* const* out);
    // The same for thin rows, and dot products alone; `room` holds thin_panels * lanes values for each row.
    void (*fill_thin)(const Epilogue&, const ThinRows<T>&, const Panels<T>&, T* const* out, T* room);
    void (*fill_sparse)(const Epilogue&, const SparseRows<T>&, const SparseColumns<T>&, T* const* out);
    // Squared norms of the panels' points, summed in the order of `fill`'s dot products: a point's distance to itself,
    // and to its duplicates, comes out as zero and not as rounding.
    void (*norms)(const Panels<T>&, T* out);
    // out[j] += sum over r of weight[r] * row[r][j], j in [first, last), summed in float64
    void (*add_rows)(const double* weight, const T* const* row, int rows, Index first, Index last, double* out);
    // out[k][j] += sum over r of weight[k][r] * row[r][j], for `sums` values of k and `count` of j; strides of k given
    void (*add_sums)(const double* weight, Index weight_stride, int sums, const T* const* row, int rows, Index count,
                     double* out, Index out_stride);
    PairOutcome (*solve_pairs)(PairProblem<T>&);
    // the same over all rows of a matrix that is mostly nothing, instead of q.block; see stretch.inl
    PairOutcome (*solve_stretches)(PairProblem<T>&, const LitRows<T>&, T* room);
    void (*exponentials)(const T* d, Index count, T gamma, T* out);  // out = exp(-gamma d)
    bool (*factor)(T* a, Index n, Index begin, Index end);           // by whole panels; see factor.inl
    void (*solve_factored)(const T* l, Index n, T* x);
    void (*solve_forward)(const T* l, Index n, T* x, Index count);
    double (*dot)(const T* x, const double* w, Index count);  // in float64; see linear.inl
    void (*add_row)(double factor, const T* x, double* w, Index count);
    void (*add_outer)(const double* panel, Index rows, Index stride, Index d, Index first, Index last, double* out);
};

enum class Isa : std::uint8_t { baseline, avx2, avx512 };

Isa current_isa();
bool isa_supported(Isa);
void force_isa(Isa);  // throws std::invalid_argument when this processor has it not

template <class T>
const Loops<T>& loops();

}  // namespace adatron
