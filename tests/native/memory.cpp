// Memory that was given back is used again, within limits, and by a child after fork.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "memory.hpp"
#include "pool.hpp"

using namespace adatron;

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
    if (holds) return;
    ++failures;
    std::printf("%s\n", what);
}

// They are kept while the pool is awake, two of them, and given back when it has been idle.
void large_pieces() {
    constexpr std::size_t size = 8 << 20;  // floats: 32 MB
    const auto address = [](std::size_t count) {
        const auto piece = allocate<float>(count);
        piece[0] = 1;
        return piece.get();
    };
    expect(!pool_is_awake(), "the pool is awake before any work");
    parallel(100, 1, 2, [](std::int64_t, std::int64_t) {});
    expect(pool_is_awake(), "the pool is asleep after work");
    const float* const first = address(size);
    expect(address(size) == first, "a large piece was not used again");
    expect(address(size * 3 / 4) == first, "a large piece was not used for a somewhat smaller one");
    {
        const auto small = allocate<float>(size * 5 / 8), large = allocate<float>(size * 100);
        expect(small.get() == first, "a large piece was not used a third time");
        expect(large.get() != first, "one piece was given to two");
    }
    address(size / 2);  // neither fits, one is given back for it, and a piece that is far larger stays
    {
        const auto large = allocate<float>(size * 100);
        large[0] = 1;
    }
    for (int k = 0; k < 400 && pool_is_awake(); ++k) usleep(10000);
    expect(!pool_is_awake(), "the pool does not go to sleep");
    give_back_large();
}

// Of this process, in kilobytes.
long in_huge_pages() {
    long sum = 0, some = 0;
    char line[512];
    std::FILE* const file = std::fopen("/proc/self/smaps_rollup", "r");
    if (!file) return -1;
    while (std::fgets(line, sizeof line, file))
        if (std::sscanf(line, "AnonHugePages: %ld", &some) == 1) sum += some;
    std::fclose(file);
    return sum;
}

// Pages are chosen from the start on, whatever was written before stays, and after a slow huge page come small ones.
void pages() {
    constexpr std::size_t bytes = std::size_t(64) << 20, part = (std::size_t(21) << 20) + 12345;
    const auto grown = [&](double slow) {
        const auto memory = allocate<unsigned char>(bytes, Use::gradual);
        unsigned char* const start = memory.get();
        const long before = in_huge_pages();
        PageChooser chooser(start, bytes, slow);
        std::size_t wrong = 0;
        for (std::size_t done = 0; done < bytes; done += part) {
            const std::size_t end = std::min(done + part, bytes);
            chooser.reach(start + end);
            std::fill(start + done, start + end, static_cast<unsigned char>(7));
            wrong += std::size_t(end - std::count(start, start + end, static_cast<unsigned char>(7)));
        }
        expect(wrong == 0, "choosing pages wrote to memory in use");
        return in_huge_pages() - before;
    };
    const long quick = grown(1e9), slow = grown(0);
    expect(quick == 0 || slow < quick / 2, "slow huge pages are not given up");
    grown(1e9);  // ... and tried again in the end
}

}  // namespace

int main() {
    constexpr std::size_t million = 1 << 20;
    const float *first = nullptr, *second = nullptr;
    {
        const auto one = allocate<float>(million);
        first = one.get();
        expect(reinterpret_cast<std::uintptr_t>(first) % 64 == 0, "not aligned");
    }
    {
        const auto smaller = allocate<double>(million / 4);
        expect(static_cast<const void*>(smaller.get()) == first, "a smaller piece does not take what is there");
        const auto other = allocate<float>(million);
        second = other.get();
        expect(second != first, "one piece was given to two");
    }
    {
        const auto tiny = allocate<float>(million / 16);  // 256 kB would waste most of 4 MB
        expect(tiny.get() != first && tiny.get() != second, "a tiny piece took a large one");
    }
    {
        const auto nothing = allocate<double>(0);
        expect(nothing.get() != nullptr, "nothing was allocated for nothing");
    }
    std::vector<Buffer<float>> many;
    for (int k = 0; k < 40; ++k) many.push_back(allocate<float>(million));  // 160 MB: more than is kept
    for (auto& piece : many) piece[0] = 1;
    many.clear();
    const pid_t child = fork();
    if (child == 0) {
        const auto own = allocate<float>(million);
        own[million - 1] = 2;
        _exit(own[million - 1] == 2 ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    expect(status == 0, "a child after fork cannot allocate");
    pages();
    large_pieces();
    std::printf("%d failures\n", failures);
    return failures != 0;
}
