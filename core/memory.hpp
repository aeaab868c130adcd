// Memory for values: aligned, in huge pages where that pays, and used again.
//
// Memory that the system gives is cleared page by page when it is first touched, which for the blocks of a short climb
// costs more than the work on them. So what is given back is kept, up to a limit, for whoever comes next. Of the large
// pieces those are the last two, until the pool has been idle for a moment: then fits no longer follow each other.
#pragma once

#include <cstddef>
#include <memory>

namespace adatron {

struct GiveBack {
    std::size_t bytes = 0;
    void operator()(void* p) const;
};

template <class T>
using Buffer = std::unique_ptr<T[], GiveBack>;

void give_back_large();  // what is kept of large pieces

void* take(std::size_t& bytes);  // at least so many; how many they are

// Uninitialised, aligned to a cache line; in huge pages where the system has them and the size is worth it.
template <class T>
Buffer<T> allocate(std::size_t count) {
    std::size_t bytes = count * sizeof(T);
    T* p = static_cast<T*>(take(bytes));
    return Buffer<T>(p, GiveBack{bytes});
}

}  // namespace adatron
