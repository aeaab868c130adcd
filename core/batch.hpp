// Many small problems over parts of the same rows, solved side by side: one per thread.
//
// A problem gets a kernel matrix of its own, made from the packed points of its rows alone; the engine solves it, the
// certificate judges it, and it is polished. What does not converge within a number of pair steps that
// ordinary problems never need is handed back as it is, for the caller to look at with all the care there is.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "certificate.hpp"
#include "driver.hpp"

namespace adatron {

// The problems, end to end; all have the same number of sums, and one or two variables per row.
struct ProblemSet {
    std::vector<Index> start;  // of each problem's kernel rows, and their end
    std::vector<Index> rows;   // of the data, one per kernel row; empty: the problems are over all rows
    std::vector<double> linear, lower, upper, ridge, beta;
    std::vector<std::int8_t> group;
    std::vector<double> totals;  // `sums` for each problem
    int sums = 0;
    bool doubled = false;

    Index count() const { return Index(start.size()) - 1; }
    Index rows_of(Index k) const { return start[k + 1] - start[k]; }
    Index copies() const { return doubled ? 2 : 1; }
    Problem problem(Index k) const;
};

struct BatchOptions {
    double tol = 1e-3;
    std::size_t cache_bytes = 0;  // of all threads together
    int threads = 1;
    bool record = false;  // a trace
};

enum class BatchStatus : std::uint8_t { open, converged, unsolved };

class BatchTask;

class Batch {
public:
    Batch(Kernel kernel, std::shared_ptr<const Points<double>> points, std::vector<double> diagonal,
          ProblemSet problems, const BatchOptions& options);
    // The same over a matrix of kernel values that the caller keeps alive.
    Batch(const double* matrix, Index stride, std::vector<double> diagonal, ProblemSet problems,
          const BatchOptions& options);
    ~Batch();

    bool advance(double seconds);  // whether all problems are done
    void stop();                   // those under way are judged as they are

    struct Result {
        BatchStatus status = BatchStatus::open;
        Certificate certificate{};
        Index steps = 0;
        std::vector<TraceRow> trace;
    };
    const std::vector<double>& beta() const { return problems_.beta; }  // the starts of those never begun
    const std::vector<Result>& results() const { return results_; }

private:
    friend class BatchTask;
    std::unique_ptr<Gram<double>> gram(Index k, Buffer<double>& own) const;
    void work(int worker, double deadline);
    void begin();

    Kernel kernel_;
    std::shared_ptr<const Points<double>> points_;
    const double* matrix_ = nullptr;
    Index stride_ = 0;
    std::vector<double> diagonal_;
    ProblemSet problems_;
    BatchOptions options_;
    int workers_ = 1;
    std::vector<Result> results_;
    std::vector<std::unique_ptr<BatchTask>> open_;  // one per worker
    std::atomic<Index> next_{0};
};

}  // namespace adatron
