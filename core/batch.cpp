#include "batch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "climb.hpp"
#include "polish.hpp"
#include "pool.hpp"

namespace adatron {
namespace {

constexpr Index steps_of_a_row = 1000;  // pair steps before a problem is handed back
constexpr Index patience = 50;          // rounds without a smaller violation, likewise
constexpr double least_matrix = 8.5e6;  // bytes that a problem's own matrix may take whatever the cache
constexpr double worth_a_thread = 2e6;  // multiplications: waking one takes as long as some hundred thousand
constexpr double one_slice = 1e9;       // multiplications that may go into it at one go: some hundredths of a second

}  // namespace

Problem ProblemSet::problem(Index k) const {
    const Index first = start[k] * copies(), n = rows_of(k);
    Problem p{&linear[first], &lower[first], &upper[first], &ridge[first], &group[first], copies() * n, n,
              sums,           {0, 0}};
    for (int s = 0; s < sums; ++s) p.totals[s] = totals[k * sums + s];
    return p;
}

// One problem under way.
class BatchTask {
public:
    BatchTask(Batch& batch, Index k) : batch_(batch), k_(k), p_(batch.problems_.problem(k)) {
        const double* start = &batch.problems_.beta[batch.problems_.start[k] * batch.problems_.copies()];
        beta_.assign(start, start + p_.variables);
        gram_ = batch.gram(k, own_);
    }

    bool advance(double deadline) {
        if (!driver_) {
            folded_product(p_, *gram_, beta_.data(), product_);
            driver_ = std::make_unique<Driver<double>>(*gram_);
            driver_->load(p_, beta_.data(), product_.data());
        }
        while (!polish_) {
            DriverOptions o;
            o.run.goal = batch_.options_.tol;
            o.run.seconds = std::max(deadline - seconds_now(), 0.0);
            o.run.max_effort = double(steps_of_a_row * p_.variables);
            o.run.patience = patience;
            o.run.record = batch_.options_.record;
            o.ends_stalled = true;
            const RunState state = driver_->advance(o);
            if (state == RunState::running) return false;
            if (state == RunState::needs_product) {
                take();
                driver_->judge(product_.data());
                continue;
            }
            if (state != RunState::converged) take();
            const double violated = violation(p_, beta_.data(), product_.data()).kkt;
            const bool reached = violated <= o.run.goal * certain;
            status_ = reached ? BatchStatus::converged : BatchStatus::unsolved;
            if (reached) {
                polish_ = std::make_unique<Polish>(p_, *gram_, beta_, violated);
            } else {
                certificate_ = certify(p_, beta_.data(), product_.data());
                return true;
            }
        }
        if (!polish_->advance(deadline)) return false;
        if (!polish_->product().empty()) {
            beta_ = polish_->beta();
            product_ = polish_->product();
        }
        certificate_ = certify(p_, beta_.data(), product_.data());
        return true;
    }

    // Judges the coefficients as they are now, where that was not done.
    void stop() {
        if (!driver_) folded_product(p_, *gram_, beta_.data(), product_);
        if (!polish_ && driver_) take();
        certificate_ = certify(p_, beta_.data(), product_.data());
    }

    void write() {
        auto& set = batch_.problems_;
        auto& result = batch_.results_[k_];
        std::copy(beta_.begin(), beta_.end(), &set.beta[set.start[k_] * set.copies()]);
        result.status = status_;
        result.certificate = certificate_;
        if (driver_) {
            result.steps = driver_->steps();
            result.trace = driver_->trace();
        }
    }

private:
    // The coefficients as they are now, and their product afresh.
    void take() {
        std::vector<double> now(beta_.size());
        driver_->write(now.data());
        if (std::all_of(now.begin(), now.end(), [](double b) { return std::isfinite(b); })) beta_ = std::move(now);
        folded_product(p_, *gram_, beta_.data(), product_);
    }

    Batch& batch_;
    Index k_;
    Problem p_;
    Buffer<double> own_;
    std::unique_ptr<Gram<double>> gram_;
    std::unique_ptr<Driver<double>> driver_;
    std::unique_ptr<Polish> polish_;
    std::vector<double> beta_, product_;
    Certificate certificate_{};
    BatchStatus status_ = BatchStatus::open;
};

Batch::Batch(Kernel kernel, std::shared_ptr<const Points<double>> points, std::vector<double> diagonal,
             ProblemSet problems, const BatchOptions& options)
    : kernel_(std::move(kernel)),
      points_(std::move(points)),
      diagonal_(std::move(diagonal)),
      problems_(std::move(problems)),
      options_(options) {
    begin();
}

Batch::Batch(const double* matrix, Index stride, std::vector<double> diagonal, ProblemSet problems,
             const BatchOptions& options)
    : matrix_(matrix),
      stride_(stride),
      diagonal_(std::move(diagonal)),
      problems_(std::move(problems)),
      options_(options) {
    begin();
}

Batch::~Batch() = default;

void Batch::begin() {
    double operations = 0;
    const double work = (points_ ? points_->work() : 1.0) + 64;
    for (Index k = 0; k < problems_.count(); ++k)
        operations += work * double(problems_.rows_of(k) * problems_.rows_of(k));
    const Index most = std::min<Index>({options_.threads, problems_.count(), Index(operations / worth_a_thread) + 1});
    workers_ = int(std::max<Index>(most, 1));
    results_.resize(problems_.count());
    open_.resize(workers_);
}

// The matrix of a problem's rows; `own` keeps its part of a matrix given. A problem alone has all the threads.
std::unique_ptr<Gram<double>> Batch::gram(Index k, Buffer<double>& own) const {
    const std::size_t bytes = options_.cache_bytes / std::size_t(workers_);
    const int threads = problems_.count() == 1 ? options_.threads : 1;
    const Index n = problems_.rows_of(k);
    const Index* rows = problems_.rows.empty() ? nullptr : &problems_.rows[problems_.start[k]];
    std::vector<double> diagonal(n);
    for (Index r = 0; r < n; ++r) diagonal[r] = diagonal_[rows ? rows[r] : r];
    if (matrix_ && !rows) return std::make_unique<Gram<double>>(matrix_, stride_, std::move(diagonal), bytes, threads);
    if (matrix_) {
        own = allocate<double>(std::size_t(n) * n);
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < n; ++j) own[i * n + j] = matrix_[rows[i] * stride_ + rows[j]];
        return std::make_unique<Gram<double>>(own.get(), n, std::move(diagonal), 0, threads);
    }
    const Index lanes = loops<double>().lanes;
    const Index line = 64 / Index(sizeof(double)), unit = std::max(lanes, line);
    const Index stride = ((n + unit - 1) / unit * unit / line | 1) * line;
    const bool as_it_is = problems_.sums == 1 && !problems_.doubled;  // else the engine makes a block of it
    const bool fits = n <= (as_it_is ? whole_in_place : whole_problem) &&
                      double(n) * double(stride) * sizeof(double) <= std::max(double(bytes), least_matrix);
    auto points = rows ? std::make_shared<const Points<double>>(points_->subset(rows, n, threads)) : points_;
    if (fits && double(n) * double(n) * points->work() < one_slice) {
        own = allocate<double>(std::size_t(n) * stride);
        kernel_matrix(kernel_, *points, own.get(), stride);
        auto gram = std::make_unique<Gram<double>>(own.get(), stride, std::move(diagonal), 0, threads, nullptr, true);
        gram->count_computed(n);
        return gram;
    }
    return std::make_unique<Gram<double>>(kernel_, std::move(points), std::move(diagonal), bytes, threads);
}

void Batch::work(int worker, double deadline) {
    auto& task = open_[worker];
    do {
        if (!task) {
            const Index k = next_.fetch_add(1);
            if (k >= problems_.count()) return;
            task = std::make_unique<BatchTask>(*this, k);
        }
        if (!task->advance(deadline)) return;
        task->write();
        task.reset();
    } while (seconds_now() < deadline);
}

bool Batch::advance(double seconds) {
    const double deadline = seconds_now() + seconds;
    parallel(workers_, 1, workers_, [&](Index first, Index last) {
        for (Index w = first; w < last; ++w) work(int(w), deadline);
    });
    return next_.load() >= problems_.count() &&
           std::all_of(open_.begin(), open_.end(), [](const auto& task) { return !task; });
}

void Batch::stop() {
    for (auto& task : open_)
        if (task) {
            task->stop();
            task->write();
            task.reset();
        }
}

}  // namespace adatron
