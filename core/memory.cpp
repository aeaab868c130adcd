#include "memory.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace adatron {
namespace {

constexpr std::size_t huge = std::size_t(2) << 20;
constexpr std::size_t least = std::size_t(1) << 17;  // smaller pieces the system's own allocator keeps
constexpr std::size_t limit = std::size_t(64) << 20;

struct Piece {
    void* start;
    std::size_t bytes;
};

struct Shelf {
    std::mutex mutex;
    std::vector<Piece> pieces;
    std::size_t bytes = 0;
};

// Never destroyed: buffers may outlive everything else at exit. A child after fork gets a new one, since another thread
// may have held the old one's lock.
Shelf* shelf = new Shelf;
void renew_after_fork() { shelf = new Shelf; }
const int registered = pthread_atfork(nullptr, nullptr, renew_after_fork);

}  // namespace

void* take(std::size_t& bytes) {
    const std::size_t alignment = bytes >= huge ? huge : 64;
    bytes = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    if (bytes >= least && bytes <= limit) {
        Shelf& s = *shelf;
        const std::lock_guard lock(s.mutex);
        auto best = s.pieces.end();  // the smallest that is not much too large
        for (auto p = s.pieces.begin(); p != s.pieces.end(); ++p)
            if (p->bytes >= bytes && p->bytes <= 4 * bytes && (best == s.pieces.end() || p->bytes < best->bytes))
                best = p;
        if (best != s.pieces.end()) {
            const Piece piece = *best;
            s.pieces.erase(best);
            s.bytes -= piece.bytes;
            bytes = piece.bytes;
            return piece.start;
        }
    }
    void* p = std::aligned_alloc(alignment, bytes);
    if (!p) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
    if (alignment == huge) madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
}

void GiveBack::operator()(void* p) const {
    if (bytes >= least && bytes <= limit) {
        Shelf& s = *shelf;
        const std::lock_guard lock(s.mutex);
        if (s.bytes + bytes <= limit) {
            s.pieces.push_back({p, bytes});
            s.bytes += bytes;
            return;
        }
    }
    std::free(p);
}

}  // namespace adatron
