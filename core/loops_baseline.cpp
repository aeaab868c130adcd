#define ADATRON_ISA baseline
#define ADATRON_BYTES 16
#define ADATRON_STRIP 6
#include "loops.inl"
