// The loops at 64-byte vectors and 12-row strips against the baseline's, on any processor: the compiler splits the
// vectors into what the machine has. What remains untested without AVX-512 is the instruction selection alone.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "loops.hpp"

namespace adatron {
namespace baseline {
template <class T>
Loops<T> table();
}
namespace avx512 {
template <class T>
Loops<T> table();
}
}  // namespace adatron

using namespace adatron;

namespace {

int failures = 0;

void expect_close(const char* what, double a, double b, double tolerance) {
    if (std::abs(a - b) <= tolerance * (1 + std::abs(b))) return;
    if (++failures < 10) std::printf("%s: %.17g is not %.17g\n", what, a, b);
}

template <class T>
struct Data {
    int rows, columns, features;
    std::vector<T> x, y;

    std::vector<T> strips(int strip) const {
        std::vector<T> out(std::size_t(rows + strip) * features);
        for (int r = 0; r < rows; ++r)
            for (int k = 0; k < features; ++k)
                out[r / strip * strip * features + k * strip + r % strip] = x[r * features + k];
        return out;
    }
    std::vector<T> panels(int lanes) const {
        std::vector<T> out(std::size_t(columns + lanes) * features);
        for (int c = 0; c < columns; ++c)
            for (int k = 0; k < features; ++k)
                out[c / lanes * lanes * features + k * lanes + c % lanes] = y[c * features + k];
        return out;
    }
};

template <class T>
std::vector<T> filled(const Loops<T>& loops, const Data<T>& data, const Epilogue& e) {
    const auto strips = data.strips(loops.strip), panels = data.panels(loops.lanes);
    std::vector<T> row_norms(data.rows + loops.strip), column_norms(data.columns + loops.lanes);
    for (int r = 0; r < data.rows; ++r)
        for (int k = 0; k < data.features; ++k)
            row_norms[r] += data.x[r * data.features + k] * data.x[r * data.features + k];
    loops.norms({panels.data(), nullptr, data.features, 0, data.columns}, column_norms.data());
    std::vector<T> out(std::size_t(data.rows) * data.columns, T(0.5));
    std::vector<T*> where(data.rows);
    for (int r = 0; r < data.rows; ++r) where[r] = out.data() + std::size_t(r) * data.columns;
    loops.fill(e, {strips.data(), row_norms.data(), data.rows},
               {panels.data(), column_norms.data(), data.features, 0, data.columns}, where.data());
    return out;
}

template <class T>
void compare_fills(const Loops<T>& narrow, const Loops<T>& wide, double tolerance) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal(0, 0.5);
    for (int rows : {1, 5, 12, 13, 29})
        for (int columns : {1, 16, 31, 70})
            for (int features : {1, 3, 40}) {
                Data<T> data{rows, columns, features, {}, {}};
                for (int i = 0; i < rows * features; ++i) data.x.push_back(T(normal(random)));
                for (int i = 0; i < columns * features; ++i) data.y.push_back(T(normal(random)));
                for (Form form : {Form::linear, Form::polynomial, Form::gaussian, Form::exponential, Form::laplacian,
                                  Form::sigmoid, Form::distance})
                    for (bool multiply : {false, true}) {
                        Epilogue e{{form, 0.3, 0.2, 3, Meeting::dot}, 1.5, 0.25, multiply};
                        if (form == Form::exponential) e.factor.meeting = Meeting::squared_distance;
                        const auto a = filled(wide, data, e), b = filled(narrow, data, e);
                        for (std::size_t i = 0; i < a.size(); ++i) expect_close("fill", a[i], b[i], tolerance);
                    }
            }
}

template <class T>
double solved(const Loops<T>& loops, int n, std::vector<double>& beta, bool stretches = false) {
    const int whole = stretches ? int(stretch_length) : loops.lanes, padded = (n + whole - 1) / whole * whole;
    std::mt19937 random(2);
    std::normal_distribution<double> normal;
    std::vector<double> point(n * 3);
    for (double& p : point) p = normal(random);
    for (int i = 0; i < n; ++i) point[i * 3] += 5 * (i / 50);  // so that far ones have nothing in common
    std::vector<T> block(std::size_t(padded) * padded), curvature(padded), ridge(padded), gradient(padded),
        up(padded, -INFINITY), down(padded, -INFINITY);
    std::vector<double> lower(padded), upper(padded);
    beta.assign(padded, 0.0);
    for (int i = 0; i < n; ++i) {
        const double label = i % 2 ? 1 : -1;
        for (int j = 0; j < n; ++j) {
            double d = 0;
            for (int k = 0; k < 3; ++k)
                d += (point[i * 3 + k] - point[j * 3 + k]) * (point[i * 3 + k] - point[j * 3 + k]);
            block[std::size_t(i) * padded + j] = d < 37 ? T(std::exp(-0.5 * d)) : T(0);
        }
        curvature[i] = 1;
        gradient[i] = T(-label);
        lower[i] = label > 0 ? 0 : -2;
        upper[i] = label > 0 ? 2 : 0;
        up[i] = label > 0 ? T(0) : T(-INFINITY);
        down[i] = label > 0 ? T(-INFINITY) : T(0);
    }
    PairProblem<T> q{block.data(),
                     padded,
                     curvature.data(),
                     ridge.data(),
                     gradient.data(),
                     up.data(),
                     down.data(),
                     beta.data(),
                     lower.data(),
                     upper.data(),
                     1,
                     {padded, 0},
                     1e-4,
                     1000000};
    if (stretches) {
        std::vector<Index> start{0};
        std::vector<std::int32_t> stretch;
        std::vector<T> values;
        for (int i = 0; i < n; ++i) {
            const T* row = block.data() + std::size_t(i) * padded;
            for (int s = 0; s < padded; s += int(stretch_length)) {
                if (std::all_of(row + s, row + s + stretch_length, [](T v) { return v == 0; })) continue;
                stretch.push_back(s / int(stretch_length));
                values.insert(values.end(), row + s, row + s + stretch_length);
            }
            start.push_back(Index(stretch.size()));
        }
        const LitRows<T> rows{start.data(), stretch.data(), values.data()};
        std::vector<T> room(2 * padded);
        loops.solve_stretches(q, rows, room.data());
    } else {
        loops.solve_pairs(q);
    }
    double objective = 0;
    for (int i = 0; i < n; ++i) {
        objective -= (i % 2 ? 1 : -1) * beta[i];
        for (int j = 0; j < n; ++j) objective += 0.5 * beta[i] * beta[j] * double(block[std::size_t(i) * padded + j]);
    }
    return objective;
}

// L Lᵀ is the matrix, and what is solved with it solves the matrix's system.
template <class T>
void check_factor(const char* which, const Loops<T>& loops, double tolerance) {
    for (Index n : {1, 2, 3, 4, 5, 31, 32, 33, 70, 101}) {
        std::vector<T> a(n * n), l, x(n, T(1));
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < n; ++j) a[i * n + j] = T(std::exp(-0.2 * std::abs(double(i - j))) + (i == j));
        l = a;
        const Index part = n / factor_panel / 2 * factor_panel;  // in two calls, as a slice of time may have it
        if (!loops.factor(l.data(), n, 0, part) || !loops.factor(l.data(), n, part, n)) expect_close(which, 0, 1, 0);
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j <= i; ++j) {
                double sum = 0;
                for (Index k = 0; k <= j; ++k) sum += double(l[i * n + k]) * double(l[j * n + k]);
                expect_close(which, sum, a[i * n + j], tolerance);
            }
        loops.solve_factored(l.data(), n, x.data());
        for (Index i = 0; i < n; ++i) {
            double sum = 0;
            for (Index j = 0; j < n; ++j) sum += double(a[i * n + j]) * double(x[j]);
            expect_close(which, sum, 1, tolerance);
        }
        a[n * n - 1] = T(-1);
        if (loops.factor(a.data(), n, 0, n)) expect_close("an indefinite matrix", 0, 1, 0);
    }
}

template <class T>
void compare(double tolerance) {
    const auto narrow = baseline::table<T>(), wide = avx512::table<T>();
    compare_fills(narrow, wide, tolerance);
    check_factor("wide factor", wide, 10 * tolerance);
    check_factor("narrow factor", narrow, 10 * tolerance);
    std::vector<T> d(37), wide_values(37), narrow_values(37);
    for (int i = 0; i < 37; ++i) d[i] = T(0.3 * i);
    wide.exponentials(d.data(), 37, T(0.7), wide_values.data());
    narrow.exponentials(d.data(), 37, T(0.7), narrow_values.data());
    for (int i = 0; i < 37; ++i) {
        expect_close("exponentials", wide_values[i], std::exp(-0.21 * i), 10 * tolerance);
        expect_close("exponentials", narrow_values[i], wide_values[i], tolerance);
    }
    for (int n : {2, 15, 16, 17, 33, 100, 300}) {
        std::vector<double> a, b;
        expect_close("solve_pairs", solved(wide, n, a), solved(narrow, n, b), 1e-6);
        expect_close("wide solve_stretches", solved(wide, n, a, true), solved(narrow, n, b), 1e-6);
        expect_close("narrow solve_stretches", solved(narrow, n, a, true), solved(narrow, n, b), 1e-6);
    }
    std::vector<double> weight{1.5, -2, 0.5, 3, -1}, a(100, 1.0), b(100, 1.0);
    std::vector<T> values(500);
    for (int i = 0; i < 500; ++i) values[i] = T(std::sin(i));
    const T* rows[5];
    for (int r = 0; r < 5; ++r) rows[r] = values.data() + 100 * r;
    wide.add_rows(weight.data(), rows, 5, 3, 97, a.data());
    narrow.add_rows(weight.data(), rows, 5, 3, 97, b.data());
    for (int i = 0; i < 100; ++i) expect_close("add_rows", a[i], b[i], 1e-12);

    constexpr int sums = 7;
    std::vector<double> weights(sums * 5), many(sums * 100), few(sums * 100);
    for (int i = 0; i < sums * 5; ++i) weights[i] = 0.3 * i - 4;
    wide.add_sums(weights.data(), 5, sums, rows, 5, 97, many.data(), 100);
    for (int k = 0; k < sums; ++k) narrow.add_rows(weights.data() + k * 5, rows, 5, 0, 97, few.data() + k * 100);
    for (int i = 0; i < sums * 100; ++i) expect_close("add_sums", many[i], few[i], 1e-12);
}

}  // namespace

int main() {
    compare<float>(2e-5);
    compare<double>(1e-13);
    std::printf("%d differences\n", failures);
    return failures != 0;
}
