#include "distances.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "climb.hpp"
#include "pool.hpp"
#include "rows.hpp"

namespace adatron {
namespace {

constexpr Index leaf = stretch_length / 2;

void order_part(const double* x, int features, Index* first, Index* last) {
    while (last - first > leaf) {
        int widest = 0;
        double spread = -1;
        for (int k = 0; k < features; ++k) {
            double sum = 0, squares = 0;
            for (const Index* i = first; i < last; ++i) {
                const double v = x[*i * features + k];
                sum += v;
                squares += v * v;
            }
            const double variance = squares - sum * sum / double(last - first);
            if (variance > spread) spread = variance, widest = k;
        }
        Index* middle = first + (last - first) / 2;
        std::nth_element(first, middle, last, [&](Index a, Index b) {
            const double u = x[a * features + widest], v = x[b * features + widest];
            return u < v || (u == v && a < b);
        });
        order_part(x, features, first, middle);
        first = middle;
    }
}

}  // namespace

std::vector<Index> nearby_order(const double* x, Index count, int features) {
    std::vector<Index> order(count);
    std::iota(order.begin(), order.end(), Index(0));
    order_part(x, features, order.data(), order.data() + count);
    return order;
}

template <class T>
Distances<T>::Distances(Index count, Form form, Meeting meeting, int threads)
    : count_(count),
      form_(form),
      meeting_(meeting),
      threads_(threads),
      values_(allocate<T>(std::size_t(count) * count)),
      least_(std::size_t(count) * stretches(count)) {}

template <class T>
bool Distances<T>::advance(const Points<T>& points, double seconds) {
    if (points.count() != count_)
        throw std::invalid_argument("points have another count than the distances: pass the same points");
    const double deadline = seconds_now() + seconds;
    Factor factor;
    factor.form = Form::distance;
    factor.meeting = meeting_;
    const Kernel meetings{{1.0, {factor}}};
    // batches of a few milliseconds, so that the clock is looked at often enough
    constexpr Index largest = 192, smallest = 12;
    const double work = double(count_) * (points.work() + 16);
    const Index batch = std::clamp(Index(2.5e8 / work), smallest, largest) / smallest * smallest;
    std::vector<Index> index(batch);
    std::vector<T*> out(batch);
    const Index width = stretches(count_);
    while (done_ < count_) {
        const Index n = std::min(batch, count_ - done_);
        for (Index r = 0; r < n; ++r) {
            index[r] = done_ + r;
            out[r] = values_.get() + (done_ + r) * count_;
        }
        kernel_rows(meetings, points, index.data(), int(n), points, out.data(), threads_);
        parallel(n, 16, threads_, [&](Index first, Index last) {
            for (Index i = done_ + first; i < done_ + last; ++i) {
                T* d = values_.get() + i * count_;
                d[i] = 0;
                if (form_ == Form::exponential)
                    for (Index j = 0; j < count_; ++j) d[j] = std::sqrt(d[j]);
                for (Index s = 0; s < width; ++s)
                    least_[i * width + s] =
                        *std::min_element(d + s * stretch_length, d + std::min(count_, (s + 1) * stretch_length));
            }
        });
        done_ += n;
        if (done_ < count_ && seconds_now() > deadline) return false;
    }
    return true;
}

template <class T>
void Distances<T>::kernel_row(Index i, double gamma, T* out, std::uint8_t* lit, double faint) const {
    const Index width = stretches(count_);
    const auto exponentials = loops<T>().exponentials;
    for (Index s = 0; s < width; ++s) {
        const Index begin = s * stretch_length, n = std::min(stretch_length, count_ - begin);
        const bool some = gamma * double(least_[i * width + s]) < faint;
        if (lit) lit[s] = some;
        if (some)
            exponentials(row(i) + begin, n, T(gamma), out + begin);
        else
            std::fill_n(out + begin, n, T(0));
    }
}

template <class T>
void Distances<T>::kernel(double gamma, T* out, std::uint8_t* lit, int threads, double faint) const {
    parallel(count_, 16, threads, [&](Index first, Index last) {
        for (Index i = first; i < last; ++i) kernel_row(i, gamma, out + i * count_, lit + i * stretches(count_), faint);
    });
}

template class Distances<float>;
template class Distances<double>;

}  // namespace adatron
