// One pool of threads for the whole process.
//
// A caller that finds the pool busy works alone: fits that run side by side never get more threads than cores.
#pragma once

#include <cstdint>
#include <functional>

namespace adatron {

// Calls work(begin, end) over disjoint pieces of [0, count), each a multiple of `grain` long (but the last),
// on up to `threads` threads, the caller among them; returns when all is done. The first exception that
// `work` throws ends the work and is thrown again here. Threads that cannot be started are done without.
void parallel(std::int64_t count, std::int64_t grain, int threads,
              const std::function<void(std::int64_t, std::int64_t)>& work);

// So many threads, or one where there is less to do than waking another takes: some hundred thousand operations (a
// multiplication is one; a value read from anywhere in memory counts for `scattered`).
int worthwhile(int threads, double operations);
constexpr double scattered = 16;

bool pool_is_awake();  // at work, or was a moment ago

}  // namespace adatron
