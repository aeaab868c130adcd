// Vectors of ADATRON_BYTES bytes through the compilers' vector extensions. Included once per instruction set,
// inside its namespace: nothing here may be shared between translation units, or the linker could hand
// AVX code to a processor without it.

template <class T>
struct Traits;

template <>
struct Traits<float> {
    using Bits = std::int32_t;
    typedef float Vector __attribute__((vector_size(ADATRON_BYTES), may_alias));
    typedef float Loose __attribute__((vector_size(ADATRON_BYTES), aligned(4), may_alias));
    typedef std::int32_t Integers __attribute__((vector_size(ADATRON_BYTES), may_alias));
    // as many values as fit a vector of doubles
    typedef float Narrow __attribute__((vector_size(ADATRON_BYTES / 2), aligned(4), may_alias));
    static constexpr int lanes = ADATRON_BYTES / 4;
    static constexpr int mantissa = 23;
    static constexpr Bits one_exponent = 127;
    static constexpr float rounder = 12582912.0f;  // 1.5 * 2^23
    static constexpr float smallest_power = -126.0f, largest_power = 127.0f;
    static constexpr float smallest = 1e-35f, largest = 1e37f;
};

template <>
struct Traits<double> {
    using Bits = std::int64_t;
    typedef double Vector __attribute__((vector_size(ADATRON_BYTES), may_alias));
    typedef double Loose __attribute__((vector_size(ADATRON_BYTES), aligned(8), may_alias));
    typedef std::int64_t Integers __attribute__((vector_size(ADATRON_BYTES), may_alias));
    typedef double Narrow __attribute__((vector_size(ADATRON_BYTES), aligned(8), may_alias));
    static constexpr int lanes = ADATRON_BYTES / 8;
    static constexpr int mantissa = 52;
    static constexpr Bits one_exponent = 1023;
    static constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double smallest_power = -1022.0, largest_power = 1023.0;
    static constexpr double smallest = 1e-300, largest = 1e300;
};

template <class T>
using Vector = typename Traits<T>::Vector;
template <class T>
using Integers = typename Traits<T>::Integers;

template <class T>
inline Vector<T> load(const T* p) {
    return *reinterpret_cast<const typename Traits<T>::Loose*>(p);
}

template <class T>
inline void store(T* p, Vector<T> v) {
    *reinterpret_cast<typename Traits<T>::Loose*>(p) = v;
}

template <class T>
inline Vector<T> splat(T value) {
    return value - Vector<T>{};
}

// Lane k of the result is lane `from[k]` of v.
template <class V, class I>
inline V shuffled(V v, I from) {
#if defined(__clang__)
    V result{};
    for (unsigned k = 0; k < sizeof(V) / sizeof(v[0]); ++k) result[k] = v[from[k]];
    return result;
#else
    return __builtin_shuffle(v, from);
#endif
}

template <class V>
inline V larger(V a, V b) {
    return a > b ? a : b;
}

template <class V>
inline V smaller(V a, V b) {
    return a < b ? a : b;
}

inline constexpr double log2e = 1.4426950408889634;

// 2^x: split x into a whole part, added to the exponent's bits, and a rest in [-1/2, 1/2] for a polynomial
// fitted by Chebyshev nodes (relative error below 2e-9 and 1e-16).
inline Vector<float> power_of_two_rest(Vector<float> r) {
    Vector<float> p = splat(0.000154614447f);
    p = p * r + 0.001340042818f;
    p = p * r + 0.009618056679f;
    p = p * r + 0.05550327227f;
    p = p * r + 0.2402265092f;
    p = p * r + 0.6931472067f;
    p = p * r + 1.0f;
    return p;
}

inline Vector<double> power_of_two_rest(Vector<double> r) {
    Vector<double> p = splat(2.5733568308756891235e-11);
    p = p * r + 4.4566753410492058782e-10;
    p = p * r + 7.0548943863483480445e-9;
    p = p * r + 1.017805119296064896e-7;
    p = p * r + 1.3215486815999976975e-6;
    p = p * r + 0.000015252733856293466416;
    p = p * r + 0.00015403530393362755291;
    p = p * r + 0.0013333558146390352775;
    p = p * r + 0.0096181291076284830543;
    p = p * r + 0.055504108664821698992;
    p = p * r + 0.24022650695910071228;
    p = p * r + 0.69314718055994530835;
    p = p * r + 1.0;
    return p;
}

template <class T>
inline Vector<T> power_of_two(Vector<T> x) {
    using Tr = Traits<T>;
    x = smaller(larger(x, splat(Tr::smallest_power)), splat(Tr::largest_power));
    const Vector<T> shifted = x + Tr::rounder;
    const Vector<T> rest = x - (shifted - Tr::rounder);
    const Integers<T> whole = reinterpret_cast<const Integers<T>&>(shifted);
    const Integers<T> bits = (whole + Tr::one_exponent) << Tr::mantissa;
    return power_of_two_rest(rest) * reinterpret_cast<const Vector<T>&>(bits);
}

// tanh x: 1 − 2/(e^(2x) + 1), which cancels near 0; there Lambert's continued fraction instead (|x| ≤ 1/4: relative
// error below 1e-16).
template <class T>
inline Vector<T> tanh_of(Vector<T> x) {
    const Vector<T> z = x * x;
    const Vector<T> above = T(10395) + z * (T(1260) + z * T(21));
    const Vector<T> below = T(10395) + z * (T(4725) + z * (T(210) + z));
    const Vector<T> far = T(1) - T(2) / (power_of_two<T>(T(2 * log2e) * x) + T(1));
    return z <= T(0.0625) ? x * (above / below) : far;
}
