#include "face.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace adatron {
namespace {

constexpr int most_stops = 30;  // bounds met on one way
constexpr double raise = 100;   // of the jitter, when the factor fails
constexpr int raises = 3;

// Solves the small dense system s ν = r by elimination with pivots; false if it is singular.
bool eliminate(std::vector<double> s, std::vector<double>& r, int n) {
    for (int k = 0; k < n; ++k) {
        int pivot = k;
        for (int i = k + 1; i < n; ++i)
            if (std::abs(s[i * n + k]) > std::abs(s[pivot * n + k])) pivot = i;
        if (!(std::abs(s[pivot * n + k]) > std::numeric_limits<double>::min())) return false;
        if (pivot != k) {
            for (int j = 0; j < n; ++j) std::swap(s[k * n + j], s[pivot * n + j]);
            std::swap(r[k], r[pivot]);
        }
        for (int i = k + 1; i < n; ++i) {
            const double f = s[i * n + k] / s[k * n + k];
            if (f == 0) continue;
            for (int j = k; j < n; ++j) s[i * n + j] -= f * s[k * n + j];
            r[i] -= f * r[k];
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int j = k + 1; j < n; ++j) r[k] -= s[k * n + j] * r[j];
        r[k] /= s[k * n + k];
    }
    return true;
}

// Takes what rounding has left of the sums out of the way; false if it is more than rounding.
bool mend(const Face& face, const std::vector<int>& groups, const std::vector<std::uint8_t>& still,
          std::vector<double>& way) {
    for (int g : groups) {
        double sum = 0, size = 0;
        Index moving = 0;
        for (Index i = 0; i < face.size; ++i) {
            if (face.group[i] != g || still[i]) continue;
            sum += way[i];
            size += std::abs(way[i]);
            ++moving;
        }
        if (!(std::abs(sum) <= 1e-6 * size)) return false;
        for (Index i = 0; i < face.size; ++i)
            if (face.group[i] == g && !still[i]) way[i] -= sum / double(moving);
    }
    return true;
}

bool factor_raised(Face& face, double jitter) {
    const Index n = face.size;
    const auto factor = loops<double>().factor;
    double* a = face.matrix.get();
    std::vector<double> diagonal(n);
    for (Index i = 0; i < n; ++i) diagonal[i] = a[i * n + i];
    for (int k = 0; k <= raises; ++k, jitter *= raise) {
        for (Index i = 0; k && i < n; ++i)
            for (Index j = 0; j < i; ++j) a[i * n + j] = a[j * n + i];
        for (Index i = 0; i < n; ++i) a[i * n + i] = diagonal[i] + jitter;
        if (factor(a, n)) return true;
    }
    return false;
}

}  // namespace

std::vector<double> descend(Face& face, double jitter) {
    const Index n = face.size;
    if (n == 0 || !factor_raised(face, jitter)) return {};
    const auto solve = loops<double>().solve_factored;
    const double* factor = face.matrix.get();

    // Constraints: every sum, then every coefficient that has stopped. `across` holds A⁻¹ times each of them.
    std::vector<std::vector<double>> across;
    std::vector<Index> stopped;
    std::vector<std::uint8_t> still(n, 0);
    auto constrain = [&](auto&& one) {
        std::vector<double> column(n);
        for (Index i = 0; i < n; ++i) column[i] = one(i);
        solve(factor, n, column.data());
        across.push_back(std::move(column));
    };
    std::vector<int> groups;
    for (int s = 0; s < face.sums; ++s)
        if (std::any_of(face.group.begin(), face.group.end(), [&](int g) { return g == s; })) {
            groups.push_back(s);
            constrain([&](Index i) { return face.group[i] == s ? 1.0 : 0.0; });
        }
    // the product of constraint c with a vector
    auto along = [&](std::size_t c, const std::vector<double>& v) {
        if (c >= groups.size()) return v[stopped[c - groups.size()]];
        double sum = 0;
        for (Index i = 0; i < n; ++i)
            if (face.group[i] == groups[c]) sum += v[i];
        return sum;
    };

    std::vector<double> x(n), level = face.gradient, way(n);
    solve(factor, n, level.data());  // A⁻¹ g, kept up to date
    for (int stop = 0; stop <= most_stops; ++stop) {
        const int count = int(across.size());
        std::vector<double> system(std::size_t(count) * count), multiplier(count);
        for (int c = 0; c < count; ++c) {
            multiplier[c] = -along(c, level);
            for (int k = 0; k < count; ++k) system[c * count + k] = along(c, across[k]);
        }
        if (!eliminate(std::move(system), multiplier, count)) break;
        for (Index i = 0; i < n; ++i) {
            double sum = level[i];
            for (int c = 0; c < count; ++c) sum += multiplier[c] * across[c][i];
            way[i] = still[i] ? 0.0 : -sum;
        }
        if (!mend(face, groups, still, way)) break;
        double length = 1;
        Index first = -1;
        for (Index i = 0; i < n; ++i) {
            if (way[i] == 0) continue;
            const double room = way[i] > 0 ? face.up[i] - x[i] : face.down[i] + x[i];
            const double reach = std::max(room, 0.0) / std::abs(way[i]);
            if (reach < length) length = reach, first = i;
        }
        for (Index i = 0; i < n; ++i) {
            x[i] += length * way[i];
            level[i] += length * way[i];
        }
        if (first < 0) break;
        x[first] = way[first] > 0 ? face.up[first] : -face.down[first];
        still[first] = 1;
        stopped.push_back(first);
        constrain([&](Index i) { return i == first ? 1.0 : 0.0; });
    }
    return x;
}

}  // namespace adatron
