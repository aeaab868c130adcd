#include "face.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "climb.hpp"

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

}  // namespace

Descent::Descent(Face face, double jitter) : face_(std::move(face)), jitter_(jitter) {
    const Index n = face_.size;
    for (Index i = 0; i < n; ++i) diagonal_.push_back(face_.matrix[i * n + i]);
    raise_diagonal();
}

void Descent::raise_diagonal() {
    const Index n = face_.size;
    for (Index i = 0; i < n; ++i) face_.matrix[i * n + i] = diagonal_[i] + jitter_;
    factored_ = 0;
}

bool Descent::advance(double deadline) {
    while (factored_ < face_.size) {
        if (!factor_panels()) return true;
        if (factored_ < face_.size && seconds_now() > deadline) return false;
    }
    if (level_.empty()) begin();
    while (stops_ <= most_stops) {
        if (!walk()) return true;
        if (seconds_now() > deadline) return false;
    }
    return true;
}

// The next columns of the factor; false if that fails with the largest jitter too.
bool Descent::factor_panels() {
    const Index n = face_.size, end = std::min(n, factored_ + factor_panel);
    double* a = face_.matrix.get();
    if (loops<double>().factor(a, n, factored_, end)) {
        factored_ = end;
        return true;
    }
    if (++raised_ > raises) return false;
    jitter_ *= raise;
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < i; ++j) a[i * n + j] = a[j * n + i];
    raise_diagonal();
    return true;
}

template <class One>
void Descent::constrain(One&& one) {
    std::vector<double> column(face_.size);
    for (Index i = 0; i < face_.size; ++i) column[i] = one(i);
    loops<double>().solve_factored(face_.matrix.get(), face_.size, column.data());
    across_.push_back(std::move(column));
}

void Descent::begin() {
    const Index n = face_.size;
    still_.assign(n, 0);
    for (int s = 0; s < face_.sums; ++s)
        if (std::any_of(face_.group.begin(), face_.group.end(), [&](int g) { return g == s; })) {
            groups_.push_back(s);
            constrain([&](Index i) { return face_.group[i] == s ? 1.0 : 0.0; });
        }
    level_ = face_.gradient;
    loops<double>().solve_factored(face_.matrix.get(), n, level_.data());
    change_.assign(n, 0.0);
}

// The product of constraint c with a vector.
double Descent::along(std::size_t c, const std::vector<double>& v) const {
    if (c >= groups_.size()) return v[stopped_[c - groups_.size()]];
    double sum = 0;
    for (Index i = 0; i < face_.size; ++i)
        if (face_.group[i] == groups_[c]) sum += v[i];
    return sum;
}

// As far as the next bound; false if that was all.
bool Descent::walk() {
    const Index n = face_.size;
    const int count = int(across_.size());
    std::vector<double> system(std::size_t(count) * count), multiplier(count), way(n);
    for (int c = 0; c < count; ++c) {
        multiplier[c] = -along(c, level_);
        for (int k = 0; k < count; ++k) system[c * count + k] = along(c, across_[k]);
    }
    if (!eliminate(std::move(system), multiplier, count)) return false;
    for (Index i = 0; i < n; ++i) {
        double sum = level_[i];
        for (int c = 0; c < count; ++c) sum += multiplier[c] * across_[c][i];
        way[i] = still_[i] ? 0.0 : -sum;
    }
    if (!mend(face_, groups_, still_, way)) return false;
    double length = 1;
    Index first = -1;
    for (Index i = 0; i < n; ++i) {
        if (way[i] == 0) continue;
        const double room = way[i] > 0 ? face_.up[i] - change_[i] : face_.down[i] + change_[i];
        const double reach = std::max(room, 0.0) / std::abs(way[i]);
        if (reach < length) length = reach, first = i;
    }
    for (Index i = 0; i < n; ++i) {
        change_[i] += length * way[i];
        level_[i] += length * way[i];
    }
    ++stops_;
    if (first < 0) return false;
    change_[first] = way[first] > 0 ? face_.up[first] : -face_.down[first];
    still_[first] = 1;
    stopped_.push_back(first);
    constrain([&](Index i) { return i == first ? 1.0 : 0.0; });
    return true;
}

}  // namespace adatron
