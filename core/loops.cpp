#include "loops.hpp"

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace adatron {

namespace baseline {
template <class T>
Loops<T> table();
}
#if defined(__x86_64__)
namespace avx2 {
template <class T>
Loops<T> table();
}
namespace avx512 {
template <class T>
Loops<T> table();
}
#endif

bool isa_supported(Isa isa) {
#if defined(__x86_64__)
    if (isa == Isa::avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (isa == Isa::avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
    return isa == Isa::baseline;
}

namespace {

Isa best_isa() {
    for (Isa isa : {Isa::avx512, Isa::avx2})
        if (isa_supported(isa)) return isa;
    return Isa::baseline;
}

std::atomic<Isa>& chosen() {
    static std::atomic<Isa> isa{best_isa()};
    return isa;
}

template <class T>
const Loops<T>& table_of(Isa isa) {
    // each table is built by code of its own instruction set: only where the processor has it
#if defined(__x86_64__)
    if (isa == Isa::avx2) {
        static const Loops<T> wide = avx2::table<T>();
        return wide;
    }
    if (isa == Isa::avx512) {
        static const Loops<T> widest = avx512::table<T>();
        return widest;
    }
#endif
    (void)isa;
    static const Loops<T> narrow = baseline::table<T>();
    return narrow;
}

}  // namespace

Isa current_isa() { return chosen(); }

void force_isa(Isa isa) {
    if (!isa_supported(isa)) throw std::invalid_argument("this processor does not have that instruction set");
    chosen() = isa;
}

template <>
const Loops<float>& loops<float>() {
    return table_of<float>(current_isa());
}
template <>
const Loops<double>& loops<double>() {
    return table_of<double>(current_isa());
}

}  // namespace adatron
