#include "memory.hpp"

#include "pool.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace adatron {
namespace {

constexpr std::size_t huge = std::size_t(2) << 20;
constexpr std::size_t least = std::size_t(1) << 17;   // smaller pieces the system's own allocator keeps
constexpr std::size_t most = std::size_t(16) << 20;   // larger ones are too much to hold on to for long
constexpr std::size_t most_large = 2;                 // pieces of those: the points and the rows of a fit
constexpr std::size_t far_larger = 8;                 // times
constexpr std::size_t limit = std::size_t(32) << 20;  // of all that is kept
constexpr std::size_t chunk = std::size_t(8) << 20;   // of memory whose pages are chosen together
constexpr int longest_wait = 32;                      // chunks until huge pages are tried again

std::atomic<int> small_chunks{0};  // left until then
std::atomic<int> next_wait{1};     // if they are slow once more

struct Piece {
    void* start;
    std::size_t bytes;
};

struct Shelf {
    std::mutex mutex;
    std::vector<Piece> pieces;
    std::size_t bytes = 0;
    std::vector<Piece> large;
};

// Never destroyed: buffers may outlive everything else at exit. A child after fork gets a new one, since another thread
// may have held the old one's lock.
Shelf* shelf = new Shelf;
void renew_after_fork() { shelf = new Shelf; }
const int registered = pthread_atfork(nullptr, nullptr, renew_after_fork);

// A large piece that fits; none, and those of about its size are given back: both at once would be more than was
// allowed. What is far larger stays, its turn may come.
Piece take_large(std::size_t bytes) {
    std::vector<Piece> unfit;
    Piece found{nullptr, 0};
    {
        const std::lock_guard lock(shelf->mutex);
        auto& large = shelf->large;
        const auto fits = [&](const Piece& p) { return p.bytes >= bytes && p.bytes <= 2 * bytes; };
        if (const auto p = std::find_if(large.begin(), large.end(), fits); p != large.end()) {
            found = *p;
            large.erase(p);
            return found;
        }
        const auto stays = [&](const Piece& p) { return p.bytes > far_larger * bytes; };
        const auto end = std::partition(large.begin(), large.end(), stays);
        unfit.assign(end, large.end());
        large.erase(end, large.end());
    }
    for (const Piece& piece : unfit) std::free(piece.start);
    return found;
}

}  // namespace

void give_back_large() {
    std::vector<Piece> pieces;
    {
        const std::lock_guard lock(shelf->mutex);
        pieces.swap(shelf->large);
    }
    for (const Piece& piece : pieces) std::free(piece.start);
}

PageChooser::PageChooser(void* start, std::size_t bytes, double slow) : slow_(slow) {
    const auto border = [](std::uintptr_t address) { return reinterpret_cast<char*>(address / huge * huge); };
    const auto first = reinterpret_cast<std::uintptr_t>(start);
    next_ = border(first + huge - 1);
    end_ = std::max(next_, border(first + bytes));
}

void PageChooser::reach(const void* end) {
    while (next_ < end_ && next_ < end) choose(next_ + std::min<std::size_t>(chunk, end_ - next_));
}

void PageChooser::choose([[maybe_unused]] char* chunk_end) {
#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
    char* small = next_;
    if (small_chunks.load() > 0) {
        small_chunks.fetch_sub(1);
    } else {
        madvise(next_, chunk_end - next_, MADV_HUGEPAGE);
        const auto begin = std::chrono::steady_clock::now();
        *static_cast<volatile char*>(next_) = 0;
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        const bool slow = taken.count() > slow_;
        small = slow ? next_ + huge : chunk_end;
        if (slow) small_chunks.store(next_wait.load());
        next_wait.store(slow ? std::min(2 * next_wait.load(), longest_wait) : 1);
    }
    if (small < chunk_end) madvise(small, chunk_end - small, MADV_NOHUGEPAGE);
#endif
    next_ = chunk_end;
}

void* take(std::size_t& bytes, Use use) {
    const auto whole = [&](std::size_t pages) { return (std::max<std::size_t>(bytes, 1) + pages - 1) / pages * pages; };
    const std::size_t alignment = bytes >= huge && whole(huge) - bytes <= bytes / 8 ? huge : 64;
    bytes = whole(alignment);
    if (bytes >= least && bytes <= most) {
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
    if (bytes > most)
        if (const Piece piece = take_large(bytes); piece.start) {
            bytes = piece.bytes;
            return piece.start;
        }
    void* p = std::aligned_alloc(alignment, bytes);
    if (!p) throw std::bad_alloc();
    if (use == Use::at_once && alignment == huge) PageChooser(p, bytes).reach(static_cast<char*>(p) + bytes);
    return p;
}

void GiveBack::operator()(void* p) const {
    if (bytes >= least && bytes <= most) {
        Shelf& s = *shelf;
        const std::lock_guard lock(s.mutex);
        s.pieces.push_back({p, bytes});
        s.bytes += bytes;
        while (s.bytes > limit) {  // what has lain there for longest
            s.bytes -= s.pieces.front().bytes;
            std::free(s.pieces.front().start);
            s.pieces.erase(s.pieces.begin());
        }
        return;
    }
    if (bytes > most && pool_is_awake()) {
        Piece oldest{nullptr, 0};
        {
            const std::lock_guard lock(shelf->mutex);
            shelf->large.push_back({p, bytes});
            if (shelf->large.size() > most_large) {
                oldest = shelf->large.front();
                shelf->large.erase(shelf->large.begin());
            }
        }
        p = oldest.start;
        if (!pool_is_awake()) give_back_large();  // it fell asleep in between, and will not look again
    }
    std::free(p);
}

}  // namespace adatron
