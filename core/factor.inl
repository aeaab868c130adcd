// Cholesky's factor of a symmetric matrix, and what is solved with it: row by row, sums along contiguous rows.

template <class T>
inline T total(Vector<T> v) {
    T sum = 0;
    for (int k = 0; k < Traits<T>::lanes; ++k) sum += v[k];
    return sum;
}

template <class T>
inline T inner(const T* a, const T* b, Index n) {
    constexpr int lanes = Traits<T>::lanes;
    Vector<T> sum[2] = {Vector<T>{}, Vector<T>{}};
    Index k = 0;
    for (; k + 2 * lanes <= n; k += 2 * lanes)
        for (int h = 0; h < 2; ++h) sum[h] += load(a + k + h * lanes) * load(b + k + h * lanes);
    T rest = 0;
    for (; k < n; ++k) rest += a[k] * b[k];
    return rest + total<T>(sum[0] + sum[1]);
}

// Four rows against two: out[r][c] = sum over k < n of a[r][k] b[c][k].
template <class T>
inline void inner_block(const T* const (&a)[4], const T* const (&b)[2], Index n, T (&out)[4][2]) {
    constexpr int lanes = Traits<T>::lanes;
    Vector<T> sum[4][2] = {};
    Index k = 0;
    for (; k + lanes <= n; k += lanes) {
        const Vector<T> b0 = load(b[0] + k), b1 = load(b[1] + k);
        for (int r = 0; r < 4; ++r) {
            const Vector<T> ar = load(a[r] + k);
            sum[r][0] += ar * b0;
            sum[r][1] += ar * b1;
        }
    }
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 2; ++c) {
            T rest = 0;
            for (Index j = k; j < n; ++j) rest += a[r][j] * b[c][j];
            out[r][c] = rest + total<T>(sum[r][c]);
        }
}

// Columns [begin, end) of L, which takes the lower triangle of `a` (n x n) with L Lᵀ = a; earlier columns are there.
// False if a is not positive definite. A panel of columns at a time, whose rows stay in the second-level cache while
// the others pass by.
template <class T>
bool factor(T* a, Index n, Index begin, Index end) {
    for (Index first = begin; first < end; first += factor_panel) {
        const Index last = first + factor_panel < n ? first + factor_panel : n;
        for (Index i = first; i < n; i += 4) {
            const int rows = int(n - i < 4 ? n - i : 4);
            T* row[4];
            for (int r = 0; r < 4; ++r) row[r] = a + (i + (r < rows ? r : 0)) * n;
            const T* const above[4] = {row[0], row[1], row[2], row[3]};
            for (Index j = first; j < (i < last ? i : last); j += 2) {
                const T* const left[2] = {a + j * n, a + (j + 1) * n};
                T sum[4][2];
                inner_block<T>(above, left, j, sum);
                for (int r = 0; r < rows; ++r) {
                    row[r][j] = (row[r][j] - sum[r][0]) / left[0][j];
                    row[r][j + 1] = (row[r][j + 1] - sum[r][1] - row[r][j] * left[1][j]) / left[1][j + 1];
                }
            }
            if (i >= last) continue;
            for (int r = 0; r < rows; ++r) {
                for (int c = 0; c < r; ++c)
                    row[r][i + c] = (row[r][i + c] - inner(row[r], row[c], i + c)) / row[c][i + c];
                const T square = row[r][i + r] - inner(row[r], row[r], i + r);
                if (!(square > 0)) return false;
                row[r][i + r] = T(__builtin_sqrt(double(square)));
            }
        }
    }
    return true;
}

// x becomes a⁻¹ x, a = L Lᵀ as `factor` leaves it.
template <class T>
void solve_factored(const T* l, Index n, T* x) {
    for (Index i = 0; i < n; ++i) x[i] = (x[i] - inner(l + i * n, x, i)) / l[i * n + i];
    for (Index i = n - 1; i >= 0; --i) {
        x[i] /= l[i * n + i];
        const T* row = l + i * n;
        const T value = x[i];
        constexpr int lanes = Traits<T>::lanes;
        Index k = 0;
        for (; k + lanes <= i; k += lanes) store(x + k, load(x + k) - value * load(row + k));
        for (; k < i; ++k) x[k] -= value * row[k];
    }
}

// Each of `count` rows x of length n becomes L⁻¹ x, by panels of L's rows as in `factor`.
template <class T>
void solve_forward(const T* l, Index n, T* x, Index count) {
    constexpr Index panel = 32;
    for (Index first = 0; first < n; first += panel) {
        const Index last = first + panel < n ? first + panel : n;
        for (Index i = 0; i < count; i += 4) {
            const int rows = int(count - i < 4 ? count - i : 4);
            T* row[4];
            for (int r = 0; r < 4; ++r) row[r] = x + (i + (r < rows ? r : 0)) * n;
            const T* const above[4] = {row[0], row[1], row[2], row[3]};
            for (Index j = first; j < last; j += 2) {
                const bool two = j + 1 < n;
                const T* const left[2] = {l + j * n, l + (two ? j + 1 : j) * n};
                T sum[4][2];
                inner_block<T>(above, left, j, sum);
                for (int r = 0; r < rows; ++r) {
                    row[r][j] = (row[r][j] - sum[r][0]) / left[0][j];
                    if (two) row[r][j + 1] = (row[r][j + 1] - sum[r][1] - row[r][j] * left[1][j]) / left[1][j + 1];
                }
            }
        }
    }
}
