#define ADATRON_ISA avx2
#define ADATRON_BYTES 32
#define ADATRON_STRIP 6
#include "loops.inl"
