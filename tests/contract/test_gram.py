"""The contract of the Gram matrix: whatever X is, whatever fits into the cache, its values are the kernel's."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from adatron import Gram, packing, problems, solve
from adatron.kernels import (
    Callable,
    Constant,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from adatron.packing import expansion, pack
from adatron.solvers import Decomposition

KERNELS = [
    Linear(),
    Polynomial(3, 0.1, 1.0),
    Polynomial(2, 0.3, 0.0),
    Polynomial(0),
    Gaussian(2.0),
    Gaussian(gamma=0.0),
    Exponential(0.5),
    Laplacian(0.1),
    Sigmoid(0.1, -0.2),
    Constant(2.5),
    Gaussian(2.0) + 0.5,
    0.5 * Gaussian(2.0) * Linear() + Laplacian(0.1) + 0.25,
    2.0 * (Linear() + 1.0) * Exponential(0.2),
]
DISTANCES = [Gaussian(2.0), Exponential(0.5), Laplacian(0.1), 2.0 * Gaussian(2.0) * Laplacian(0.1) + 0.5]
SIZES = (5, 6, 7, 15, 16, 17, 31, 33)  # around the sizes of tiles, of all instruction sets
SHAPES = [(1, 1), (1, 5), (2, 1), (40, 1), *zip(SIZES, SIZES[::-1], strict=True), (33, 33), (16, 16), (130, 3)]
DTYPES = [np.float32, np.float64]
KINDS = ["dense", "sparse", "precomputed", "callable"]

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
every_kind = pytest.mark.parametrize("kind", KINDS)


def points(rows: int, features: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng((seed, rows, features))
    return rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.7)


def gram_of(kind: str, kernel, X: np.ndarray, **options) -> Gram:
    """The same matrix from all that X can be."""
    options = {"threads": 1, **options}
    match kind:
        case "sparse":
            return Gram(kernel, sparse.csr_array(X), **options)
        case "precomputed":  # by distinct rows: BLAS may round the products of duplicates differently
            distinct, where = np.unique(X, axis=0, return_inverse=True)
            return Gram(Precomputed(), kernel(distinct)[np.ix_(where, where)], **options)
        case "callable":
            return Gram(Callable(kernel), X, **options)
    return Gram(kernel, X, **options)


def closeness(dtype: type) -> float:
    """How far values may be from the truth, relative to the largest."""
    return {np.float32: 1e-5, np.float64: 1e-13}[dtype]


def check_close(values: np.ndarray, truth: np.ndarray, dtype: type) -> None:
    close = closeness(dtype) * np.abs(truth).max()
    np.testing.assert_allclose(values, truth, rtol=0, atol=close)


# ---------------------------------------------------------------- values


@every_kernel
@every_kind
@every_dtype
def test_rows_and_products_are_the_kernels(kernel, kind, dtype):
    for rows, features in SHAPES:
        X = points(rows, features)
        K = kernel(X)
        matrix = gram_of(kind, kernel, X, dtype=dtype)
        assert matrix.shape == (rows, rows)
        got = matrix.rows(np.arange(rows))
        assert got.dtype == dtype
        check_close(got, K, dtype)
        check_close(matrix.diagonal, K.diagonal(), np.float64)
        some = np.random.default_rng(rows).permutation(rows)[: rows // 2 + 1]
        np.testing.assert_array_equal(matrix.rows(some), got[some])

        coef = np.random.default_rng(1).normal(size=rows) * (np.arange(rows) % 3 > 0)
        fresh = gram_of(kind, kernel, X, dtype=dtype)  # nothing cached: the other way to a product
        scale = np.abs(K) @ np.abs(coef)
        for product in (matrix.product(coef), fresh.product(coef)):
            assert product.dtype == np.float64
            close = closeness(dtype) * scale.max()
            np.testing.assert_allclose(product, K @ coef, rtol=0, atol=close)


@every_dtype
@pytest.mark.parametrize(
    "given",
    [
        lambda X: X.astype(np.float32),
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.round(4 * X).astype(int),
        lambda X: X > 0,
        sparse.csc_array,
        sparse.coo_matrix,
        lambda X: sparse.csr_matrix(X.astype(np.float32)),
        lambda X: sparse.csr_array(np.round(4 * X).astype(np.int8)),
    ],
    ids=["float32", "fortran", "strided", "int", "bool", "csc", "coo", "csr of float32", "csr of int"],
)
def test_data_of_any_sort(given, dtype):
    X = given(points(20, 7))
    matrix = Gram(Gaussian(2.0) + Linear(), X, dtype=dtype, threads=1)
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    K = (Gaussian(2.0) + Linear())(dense)
    check_close(matrix.rows(np.arange(20)), K, dtype)
    check_close(matrix.product(np.ones(20)), K.sum(axis=0), dtype)
    assert matrix.rounding(np.ones(20)) < 1e-4


def test_sparse_entries_given_twice_add_up():
    twice = sparse.csr_array(([1.0, 2.0, 3.0, 1.0], [0, 0, 1, 0], [0, 3, 4]), shape=(2, 2))
    unsorted = sparse.csr_array(([3.0, 3.0, 1.0], [1, 0, 0], [0, 2, 3]), shape=(2, 2))
    for X in (twice, unsorted):
        for kernel in (Linear(), Gaussian(2.0), Laplacian(0.1)):
            matrix = Gram(kernel, X, dtype=np.float64, threads=1)
            check_close(matrix.rows([0, 1]), kernel(np.array([[3.0, 3.0], [1.0, 0.0]])), np.float64)


@every_dtype
@every_kind
@every_kernel
def test_duplicates_have_equal_rows(kernel, kind, dtype):
    """Not nearly equal: a direction between duplicates must have no curvature at all."""
    for features in (1, 7, 33, 100):
        X = points(30, features)
        X[[4, 21, 29]] = X[11]
        rows = gram_of(kind, kernel, X, dtype=dtype).rows([4, 11, 21, 29])
        for row in rows[1:]:
            np.testing.assert_array_equal(row, rows[0])
        assert len(np.unique(rows[:, [4, 11, 21, 29]])) == 1


@every_dtype
@pytest.mark.parametrize("kernel", DISTANCES, ids=repr)
@pytest.mark.parametrize("features", [3, 40])
def test_far_from_the_origin_distances_stay(kernel, features, dtype):
    X = points(50, features)
    far = X + 1e4
    truth = kernel(far)
    matrix = Gram(kernel, far, dtype=dtype, threads=1)
    close = 2e-6 if dtype == np.float32 else 1e-10  # X + 1e4 itself has lost four digits
    for values in (matrix.rows(np.arange(50)), Gram(kernel, X, dtype=dtype, threads=1).rows(np.arange(50))):
        np.testing.assert_allclose(values, truth, rtol=0, atol=close * truth.max())
    coef = np.linspace(-1, 1, 50)
    np.testing.assert_allclose(matrix.product(coef), truth @ coef, rtol=0, atol=50 * close * truth.max())
    values = expansion(kernel, far[:30], coef[None, :30], far[30:], arithmetic=matrix.arithmetic)
    np.testing.assert_allclose(values[0], coef[:30] @ truth[:30, 30:], rtol=0, atol=50 * close * truth.max())


@every_dtype
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("kernel", [Gaussian(1e-20), Gaussian(1e-3), Gaussian(1e6), Exponential(1e4)], ids=repr)
def test_extreme_widths(kernel, kind, dtype):
    X = points(20, 5)
    X[3] = X[2]
    values = gram_of(kind, kernel, X, dtype=dtype).rows(np.arange(20))
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values, kernel(X), rtol=0, atol=2e-5 if dtype == np.float32 else 1e-11)


@every_kernel
@every_dtype
def test_expansion_is_the_kernels(kernel, dtype):
    for (n, d), m in zip(SHAPES, (1, 5, 17, 33) * 4, strict=False):
        support, X = points(n, d), points(m, d, seed=1)
        coef = np.random.default_rng(2).normal(size=(3, n))
        truth = coef @ kernel(support, X)
        scale = (np.abs(coef) @ np.abs(kernel(support, X))).max()
        for kind in (np.asarray, sparse.csr_array):
            arithmetic = pack(kind(support), kernel.terms(), dtype, threads=1).arithmetic
            values = expansion(kernel, kind(support), coef, kind(X), arithmetic=arithmetic)
            assert values.shape == (3, m)
            close = closeness(dtype)
            np.testing.assert_allclose(values, truth, rtol=0, atol=close * scale)
    assert expansion(kernel, points(0, 3), np.zeros((2, 0)), points(4, 3)).tolist() == [[0.0] * 4] * 2


# ---------------------------------------------------------------- active columns


@every_kind
@every_dtype
@pytest.mark.parametrize("cache_bytes", [1, 20_000, 2e9], ids=["tiny", "small", "large"])
def test_rows_cover_the_active_columns(kind, dtype, cache_bytes):
    kernel, X = Gaussian(2.0) + 0.1 * Linear(), points(90, 4)
    K = kernel(X)
    matrix = gram_of(kind, kernel, X, dtype=dtype, cache_bytes=cache_bytes)
    rng = np.random.default_rng(3)
    everything = np.arange(90)
    half = np.sort(rng.permutation(90)[:45])
    steps = [half, half[::3], half[::3], everything, half[1:2], None, rng.permutation(90)[:17], everything[10:40]]
    coef = rng.normal(size=90)
    for active in steps:
        matrix.activate(active)
        columns = everything if active is None else active
        for wanted in (rng.permutation(90)[:30], columns[:7], everything):
            check_close(matrix.rows(wanted), K[np.ix_(wanted, columns)], dtype)
        coef = -coef  # a product asked for twice would be remembered
        np.testing.assert_allclose(matrix.product(coef), K @ coef, rtol=0, atol=2e-4 if dtype == np.float32 else 1e-11)


# ---------------------------------------------------------------- the cache


@every_kind
@every_dtype
def test_a_tiny_cache_gives_right_rows(kind, dtype):
    kernel, X = Gaussian(2.0), points(70, 3)
    K = kernel(X)
    matrix = gram_of(kind, kernel, X, dtype=dtype, cache_bytes=1)
    assert matrix.core.capacity == (70 if kind == "precomputed" else 16)  # a matrix at hand needs no cache
    rng = np.random.default_rng(4)
    for _ in range(60):
        wanted = rng.integers(0, 70, rng.integers(1, 40))  # with repetitions
        check_close(matrix.rows(wanted), K[wanted], dtype)
        assert matrix.core.rows_cached <= 16
    coef = rng.normal(size=70)
    np.testing.assert_allclose(matrix.product(coef), K @ coef, rtol=0, atol=1e-4)


@every_kind
def test_rows_are_kept_and_the_oldest_go_first(kind):
    X = points(100, 3)
    row_bytes = 112 * 4  # padded to whole cache lines
    matrix = gram_of(kind, Gaussian(2.0), X, cache_bytes=20 * row_bytes)
    if kind == "precomputed":  # rows are used where they lie
        matrix.rows(np.arange(100))
        assert matrix.core.rows_computed == matrix.core.rows_cached == 0
        return
    assert matrix.core.capacity == 20
    matrix.rows(np.arange(20))
    assert matrix.core.rows_computed == 20
    matrix.rows(np.arange(10))  # all there
    assert matrix.core.rows_computed == 20
    matrix.rows(np.arange(20, 30))  # ten must go: 10 to 19 were not asked for since
    assert matrix.core.rows_computed == 30
    matrix.rows(np.arange(10))
    assert matrix.core.rows_computed == 30
    matrix.rows(np.arange(10, 20))
    assert matrix.core.rows_computed == 40
    assert matrix.core.cached_bytes <= 20 * row_bytes


@pytest.mark.parametrize("limit", [1, 10_000, 100_000, 1e9])
@every_dtype
def test_the_cache_keeps_its_limit(limit, dtype):
    matrix = Gram(Gaussian(2.0), points(200, 3), dtype=dtype, cache_bytes=limit, threads=1)
    least = 16 * 208 * np.dtype(dtype).itemsize
    for active in (None, np.arange(150), np.arange(40), None):
        matrix.activate(active)
        matrix.rows(np.arange(200))
        assert matrix.core.cached_bytes <= max(limit, least)


def test_products_are_remembered_but_never_stale():
    matrix = Gram(Gaussian(2.0), points(50, 3), threads=1)
    K = Gaussian(2.0)(matrix.X)
    coef = np.ones(50)
    first = matrix.product(coef)
    assert matrix.product(coef) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0.0
    coef[7] = -3.0
    np.testing.assert_allclose(matrix.product(coef), K @ coef, rtol=1e-5)
    np.testing.assert_allclose(first, K.sum(axis=0), rtol=1e-5)


# ---------------------------------------------------------------- precision


@every_kind
def test_refined_is_float64(kind):
    kernel, X = Gaussian(2.0), points(60, 5)
    single = gram_of(kind, kernel, X, cache_bytes=30_000)
    before = single.rows(np.arange(60))
    double = single.refined()
    assert double.dtype == np.float64
    assert double.cache_bytes == single.cache_bytes
    assert double.threads == single.threads
    check_close(double.rows(np.arange(60)), kernel(X), np.float64)
    np.testing.assert_array_equal(single.rows(np.arange(60)), before)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if repr(k) != "Polynomial(degree=0)"], ids=repr)
@pytest.mark.parametrize("kind", ["dense", "precomputed"])
def test_rounding_bounds_what_float32_loses(kernel, kind):
    X = points(40, 12)
    coef = np.random.default_rng(5).normal(size=40)
    matrix = gram_of(kind, kernel, X)
    lost = np.abs(matrix.product(coef) - kernel(X) @ coef).max()
    scale = (np.abs(kernel(X)) @ np.abs(coef)).max()
    reach = np.sqrt(kernel.diag(X).max()) if kernel.positive_semidefinite else 1.0
    assert lost - 1e-13 * scale <= matrix.rounding(coef) <= 1e-5 * reach**2 * np.abs(coef).sum()
    assert lost - 1e-13 * scale <= matrix.rounding(coef, goal=np.inf)  # the bound alone
    assert matrix.rounding(np.zeros(40)) == 0.0
    assert gram_of(kind, kernel, X, dtype=np.float64).rounding(coef) <= 1e-13 * reach**2 * np.abs(coef).sum()


def test_rounding_notices_what_float32_cannot_hold():
    X = points(60, 50) + 1e5  # a sum with Linear cannot be centred: differences lose what X has too much
    matrix = Gram(Gaussian(2.0) + 1e-12 * Linear(), X, threads=1)
    assert matrix.rounding(np.ones(60)) > 1e-4
    assert Gram(Gaussian(2.0), X, threads=1).rounding(np.ones(60)) < 1e-5


# ---------------------------------------------------------------- between slices


@pytest.mark.parametrize("kind", KINDS)
def test_work_is_interrupted_between_slices(kind, monkeypatch):
    monkeypatch.setattr(packing, "SLICE_OPERATIONS", 1)
    matrix = gram_of(kind, Gaussian(2.0), points(100, 3))
    K, coef, beats = Gaussian(2.0)(points(100, 3)), np.ones(100), []

    def pulse() -> None:
        beats.append(1)
        if len(beats) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        matrix.product(coef, pulse)
    np.testing.assert_allclose(matrix.product(coef, pulse), K @ coef, rtol=1e-5)
    assert len(beats) > 8


@every_kernel
def test_two_threads_give_the_same_values(kernel):
    X = points(700, 9)
    for kind in ("dense", "sparse"):
        one, two = (gram_of(kind, kernel, X, threads=threads) for threads in (1, 2))
        np.testing.assert_array_equal(one.rows(np.arange(700)), two.rows(np.arange(700)))
        coef = np.random.default_rng(6).normal(size=700)
        np.testing.assert_allclose(one.product(coef), two.product(coef), rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda g: g.rows([20]), ValueError, r"index=\[20\] .* 0 to 19"),
        (lambda g: g.rows([-1]), ValueError, r"index=\[-1\] .* 0 to 19"),
        (lambda g: g.activate([3, 20]), ValueError, "index=.* 0 to 19"),
        (lambda g: g.activate([]), ValueError, r"index=\[\] .* 0 to 19"),
        (lambda g: Gram(Gaussian(1.0), [[np.nan, 1.0]]), ValueError, "X contains NaN"),
        (lambda g: Gram(Gaussian(1.0), np.ones(3)), ValueError, r"X has shape \(3,\)"),
        (lambda g: Gram(Polynomial(300), 1e3 * g.X), ValueError, "gives NaN or infinity .* scale"),
        (lambda g: Gram(Callable(lambda X, Y: np.full((len(X), len(Y)), np.nan)), g.X), ValueError, "NaN or infinity"),
        (lambda g: Gram(Callable(lambda X, Y: X), g.X), ValueError, r"returned shape \(20, 4\): return \(20, 20\)"),
        (lambda g: Gram(Precomputed() + 1.0, np.eye(3)), TypeError, "no native form"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call(Gram(Gaussian(1.0), points(20, 4), threads=1))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.longdouble])
def test_other_precisions_are_refused(dtype):
    with pytest.raises((TypeError, ValueError), match="dtype"):
        Gram(Gaussian(1.0), points(20, 4), dtype=dtype, threads=1)


def test_repeated_columns_are_refused():
    matrix = Gram(Gaussian(1.0), points(4, 2), dtype=np.float64, threads=1)
    with pytest.raises(ValueError, match="index"):
        matrix.activate([0, 0, 1, 2])


def test_a_list_is_data_too():
    X = [[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]]
    check_close(Gram(Gaussian(1.0), X).product(np.ones(3)), Gaussian(1.0)(X).sum(axis=0), np.float32)


def test_a_precomputed_matrix_must_be_square():
    with pytest.raises(ValueError, match=r"X has shape \(4, 3\).*square"):
        Gram(Precomputed(), np.ones((4, 3)), threads=1)


SCARCE = """
import resource
import numpy as np
from adatron import Gram, kernels, problems, solve
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 2))
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + 600_000_000,) * 2)
gram = Gram(kernels.Gaussian(1.0), X, cache_bytes=4e9, threads=1)  # all rows would take 1.6 GB
assert 16 <= gram.core.capacity < 7500, gram.core.capacity
assert abs(gram.rows([7])[0, 9] - kernels.Gaussian(1.0)(X[[7]], X[[9]])[0, 0]) < 1e-6
print(solve(problems.hinge(np.where(X[:, 0] > 0, 1, -1)), gram).status.value)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for its memory")
def test_a_cache_that_memory_cannot_hold_becomes_a_smaller_one():
    done = subprocess.run([sys.executable, "-c", SCARCE], capture_output=True, text=True, check=False)
    assert done.stdout == "converged\n", done.stderr


@pytest.mark.parametrize("capacity", range(100, 260, 20))
def test_rows_stored_in_released_slots_stay(monkeypatch, capacity):
    """The cache fills up while rows are released: what takes their place is not given up with them."""
    monkeypatch.setattr(packing, "SLICE_OPERATIONS", 1.0)  # a few rows at a time
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 20))
    y = np.where(X[:, 0] + random.normal(size=600) > 0, 1.0, -1.0)
    gram = Gram(Callable(lambda A, B: A @ B.T), X, dtype=np.float64, cache_bytes=capacity * 600 * 8, threads=1)
    found = solve(problems.squared_hinge(y, 0.7), gram, Decomposition(working_size=96), tol=1e-6)
    assert found.converged


# ---------------------------------------------------------------- rows with many zeros


def thin_points(rows: int, features: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng((seed, rows, features))
    return rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.15)


@every_dtype
@pytest.mark.parametrize("shape", [(1, 1), (5, 40), (127, 3), (129, 300), (300, 129), (64, 1100)])
@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(3, 0.1, 1.0), Sigmoid(0.1, -0.2), Gaussian(2.0), Gaussian(2.0) * Linear() + 0.5]
)
def test_rows_of_many_zeros_are_met_by_their_values(kernel, shape, dtype):
    X = thin_points(*shape)
    gram = Gram(kernel, X, dtype=dtype, threads=2)
    expected = kernel.resolve(X)(X)
    room = (2e-5 if dtype == np.float32 else 1e-12) * np.abs(expected).max()
    for count in {1, 2, min(13, shape[0]), shape[0]}:
        index = np.random.default_rng(count).permutation(shape[0])[:count]
        np.testing.assert_allclose(gram.rows(index), expected[index], rtol=0, atol=room)
    coef = np.linspace(-1, 1, shape[0])
    np.testing.assert_allclose(gram.product(coef), expected @ coef, rtol=0, atol=shape[0] * room)


@every_dtype
def test_passing_over_zeros_changes_nothing(dtype):
    """Columns of ones take the share of zeros past the limit, columns of zeros do not: the sums are the same."""
    X = thin_points(90, 200)
    few, many = np.hstack((X, np.ones((90, 200)))), np.hstack((X, np.zeros((90, 200))))
    dense, thin = (Gram(Linear(), Z, dtype=dtype, threads=1).rows(np.arange(90)) for Z in (few, many))
    ones = Gram(Linear(), np.ones((90, 200)), dtype=dtype, threads=1).rows(np.arange(90))
    np.testing.assert_allclose(dense - ones, thin, rtol=0, atol=1e-3 if dtype == np.float32 else 1e-11)
    twice = np.vstack((X, X))
    gram = Gram(Gaussian(1.0), twice, dtype=dtype, threads=1)
    assert (gram.rows(np.arange(90))[np.arange(90), 90 + np.arange(90)] == 1).all()


def test_rows_that_are_cheap_take_memory_only_as_they_are_needed_again():
    """Half a gigabyte is taken without asking; then a row that is new takes the place of the one unused for longest."""
    X = np.random.default_rng(0).random((60_000, 2)).astype(np.float32)
    gram = Gram(Gaussian(gamma=1.0), X, dtype=np.float32, cache_bytes=4e9)
    room = 2**29 // (60_000 * 4)
    for first in range(0, 3072, 256):
        gram.core.fetch(np.arange(first, first + 256), seconds=60.0)
    assert room - 256 < gram.core.rows_cached <= room
    kept = gram.core.rows_cached
    for _ in range(3):  # what is asked for again and again is worth its memory
        for first in range(0, 3072, 256):
            gram.core.fetch(np.arange(first, first + 256), seconds=60.0)
    assert gram.core.rows_cached > kept + 100
    np.testing.assert_allclose(gram.rows([5, 3000]), Gaussian(gamma=1.0)(X[[5, 3000]], X), atol=1e-6)
