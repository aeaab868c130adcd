#include "pool.hpp"

#include "memory.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace adatron {
namespace {

using Work = std::function<void(std::int64_t, std::int64_t)>;

struct Job {
    const Work* work = nullptr;
    std::int64_t count = 0, piece = 0;
    std::atomic<std::int64_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr failure;  // the first; read only when all threads are done

    void run() {
        while (!failed.load()) {
            const std::int64_t begin = next.fetch_add(piece);
            if (begin >= count) return;
            try {
                (*work)(begin, std::min(count, begin + piece));
            } catch (...) {
                if (!failed.exchange(true)) failure = std::current_exception();
            }
        }
    }
};

constexpr std::chrono::milliseconds rest(500);  // after which the pool is idle

class Pool {
public:
    std::mutex& busy() { return busy_; }
    bool is_awake() const { return awake_; }

    void run(Job& job, int helpers) {
        try {
            while (int(threads_.size()) < helpers)
                threads_.emplace_back([this, id = int(threads_.size())] { serve(id); });
        } catch (const std::exception&) {  // no memory, or no more threads allowed: those there are do the work
            helpers = int(threads_.size());
        }
        pending_.store(helpers);
        {
            const std::lock_guard lock(mutex_);
            job_ = &job;
            invited_ = helpers;
            awake_ = helpers > 0;
            generation_.fetch_add(1);
        }
        wake_.notify_all();
        job.run();
        while (pending_.load() > 0) std::this_thread::yield();
    }

    ~Pool() {
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
            generation_.fetch_add(1);
        }
        wake_.notify_all();
        for (auto& thread : threads_) thread.join();
    }

private:
    void serve(int id) {
        std::uint64_t seen = 0;
        for (;;) {
            // rounds follow each other within microseconds: look a little before going to sleep
            for (int k = 0; k < 2000 && generation_.load() == seen; ++k) relax();
            Job* job = nullptr;
            {
                std::unique_lock lock(mutex_);
                const auto called = [&] { return generation_.load() != seen; };
                if (id == 0 && awake_ && !wake_.wait_for(lock, rest, called)) {
                    awake_ = false;
                    lock.unlock();
                    give_back_large();
                    lock.lock();
                }
                wake_.wait(lock, called);
                seen = generation_.load();
                if (closing_) return;
                if (id < invited_) job = job_;
            }
            if (job) {
                job->run();
                pending_.fetch_sub(1);
            }
        }
    }

    static void relax() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    std::mutex busy_, mutex_;
    std::condition_variable wake_;
    std::vector<std::thread> threads_;
    std::atomic<std::uint64_t> generation_{0};
    std::atomic<int> pending_{0};
    Job* job_ = nullptr;
    int invited_ = 0;
    bool closing_ = false;
    std::atomic<bool> awake_{false};  // at work, or was a moment ago
};

// A child after fork has none of the parent's threads: it gets a new pool. The old one is left as it is, since its
// threads cannot be joined from here.
Pool* pool = new Pool;
void renew_after_fork() { pool = new Pool; }
const int registered = pthread_atfork(nullptr, nullptr, renew_after_fork);

}  // namespace

int worthwhile(int threads, double operations) { return operations < 2e6 ? 1 : threads; }

bool pool_is_awake() { return pool->is_awake(); }

void parallel(std::int64_t count, std::int64_t grain, int threads, const Work& work) {
    (void)registered;
    const std::int64_t grains = (count + grain - 1) / grain;
    threads = int(std::min<std::int64_t>(threads, grains));
    std::unique_lock<std::mutex> turn;
    if (threads > 1) turn = std::unique_lock(pool->busy(), std::try_to_lock);
    if (!turn.owns_lock()) {
        if (count > 0) work(0, count);
        return;
    }
    Job job;
    job.work = &work;
    job.count = count;
    // a few pieces a thread, so that a core lent to somebody else does not hold up the rest
    job.piece = grain * std::max<std::int64_t>(1, grains / (4 * threads));
    pool->run(job, threads - 1);
    if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace adatron
