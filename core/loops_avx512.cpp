#define ADATRON_ISA avx512
#define ADATRON_BYTES 64
#define ADATRON_STRIP 12
#include "loops.inl"
