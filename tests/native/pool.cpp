// The pool of threads: exceptions come out of it, threads that cannot be started are done without, and it works again.
#include "pool.hpp"

#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace adatron;

namespace {

int failures = 0;

void expect(bool met, const char* what) {
    if (met) return;
    std::printf("%s\n", what);
    ++failures;
}

// Every number in [0, count) is visited once.
bool visits_all(int threads, std::int64_t count = 10007) {
    std::vector<std::atomic<int>> visits(count);
    parallel(count, 7, threads, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) ++visits[i];
    });
    for (const auto& v : visits)
        if (v != 1) return false;
    return true;
}

void check_exceptions() {
    for (int threads : {1, 2, 4})
        for (int round = 0; round < 200; ++round) {
            const std::int64_t bad = round * 37 % 1000;
            std::string caught;
            try {
                parallel(1000, 1, threads, [&](std::int64_t first, std::int64_t last) {
                    if (first <= bad && bad < last) throw std::runtime_error("piece " + std::to_string(bad));
                });
            } catch (const std::runtime_error& error) {
                caught = error.what();
            }
            expect(caught == "piece " + std::to_string(bad), "the exception does not come out");
        }
    bool caught = false;
    try {  // every piece fails: one exception comes out, whichever
        parallel(1000, 1, 4, [](std::int64_t, std::int64_t) { throw std::bad_alloc(); });
    } catch (const std::bad_alloc&) {
        caught = true;
    }
    expect(caught, "bad_alloc does not come out");
    expect(visits_all(4), "the pool does not work after exceptions");
}

void check_side_by_side() {
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int k = 0; k < 4; ++k)
        callers.emplace_back([&, k] {
            for (int round = 0; round < 100; ++round) {
                if (!visits_all(3, 1001)) ++wrong;
                if (k % 2) continue;
                try {
                    parallel(100, 1, 3, [](std::int64_t first, std::int64_t) {
                        if (first > 50) throw std::runtime_error("late");
                    });
                    if (!visits_all(1, 10)) ++wrong;
                } catch (const std::runtime_error&) {
                }
            }
        });
    for (auto& caller : callers) caller.join();
    expect(wrong == 0, "callers side by side disturb each other");
}

// With no address space left, no thread gets a stack.
void check_no_more_threads() {
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    const rlimit tight{pages * 4096 + (rlim_t(1) << 20), before.rlim_max};
    setrlimit(RLIMIT_AS, &tight);
    bool started = true;
    try {
        std::thread([] {}).join();
    } catch (const std::exception&) {
        started = false;
    }
    expect(!started, "the limit does not keep threads from starting");
    bool fine = false;
    try {
        fine = visits_all(16) && visits_all(16);
    } catch (const std::exception&) {
    }
    setrlimit(RLIMIT_AS, &before);
    expect(fine, "without more threads the work is not done");
    expect(visits_all(16), "the pool does not work after threads failed to start");
#endif
}

}  // namespace

int main() {
    check_no_more_threads();  // before others have made stacks that could be used again
    for (int threads : {1, 2, 5}) expect(visits_all(threads), "not every piece is visited once");
    check_exceptions();
    check_side_by_side();
    std::printf("%d failures\n", failures);
    return failures != 0;
}
