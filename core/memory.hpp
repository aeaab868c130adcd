// Memory for values: aligned, in huge pages where that pays, and used again.
//
// Memory that the system gives is cleared page by page when it is first touched, which for the blocks of a short climb
// costs more than the work on them. So what is given back is kept, up to a limit, for whoever comes next. Of the large
// pieces those are the last two, until the pool has been idle for a moment: then fits no longer follow each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace adatron {

struct GiveBack {
    std::size_t bytes = 0;
    void operator()(void* p) const;
};

template <class T>
using Buffer = std::unique_ptr<T[], GiveBack>;

void give_back_large();  // what is kept of large pieces

// When memory will be touched: all of it soon, or little by little and perhaps not all; then its owner has a
// `PageChooser` for it.
enum class Use : std::uint8_t { at_once, gradual };

void* take(std::size_t& bytes, Use use);  // at least so many; how many they are

// Uninitialised, aligned to a cache line; in huge pages where the system has them and they pay.
template <class T>
Buffer<T> allocate(std::size_t count, Use use = Use::at_once) {
    std::size_t bytes = count * sizeof(T);
    T* p = static_cast<T*>(take(bytes, use));
    return Buffer<T>(p, GiveBack{bytes});
}

// Huge or small pages for memory that is touched from its start on.
//
// A huge page (2 MB) is cleared in 0.1 ms, 512 small ones in 0.7 ms. But on a virtual machine whose host takes back
// large free blocks, a huge page costs 2 to 5 ms, while small pages mostly come from memory that the host has supplied
// already. Which it is changes from block to block. So the first page of a chunk is touched as a huge one and timed;
// after one that took too long, the rest of the chunk and some of the next chunks get small pages.
class PageChooser {
public:
    static constexpr double slow_seconds = 1e-3;  // for one huge page

    PageChooser() = default;
    PageChooser(void* start, std::size_t bytes, double slow = slow_seconds);
    void reach(const void* end);  // memory before `end` is about to be used; what lies beyond the last `end` is not yet

private:
    void choose(char* chunk_end);

    char *next_ = nullptr, *end_ = nullptr;  // between huge pages' borders
    double slow_ = slow_seconds;
};

}  // namespace adatron
