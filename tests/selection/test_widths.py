"""Kernel matrices from distances: the kernel's own values, in an order that keeps neighbours together."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from adatron import _core
from adatron.gram import Gram
from adatron.kernels import Exponential, Gaussian, Laplacian, Linear, gamma_of, of_width, sigma_of
from adatron.selection.widths import Widths

KERNELS = [Gaussian(gamma=1.0), Exponential(1.0), Laplacian(1.0)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-8), (np.float32, 1e-4)])
@pytest.mark.parametrize("features", [1, 3, 80])
def test_every_width_is_the_kernels_own(kernel, sparse, dtype, close, features):
    rng = np.random.default_rng(features)
    X = rng.normal(size=(150, features)) * (rng.random((150, features)) > 0.3)
    X[7] = X[3]  # the same row twice
    widths = Widths(kernel, csr_array(X) if sparse else X, dtype=dtype, largest=30.0)
    assert sorted(widths.order) == list(range(150))
    matrix = widths.blank()
    if sparse and dtype == np.float32 and isinstance(kernel, Exponential):
        close = 2e-3  # the root of a difference of norms
    for gamma in (0.0, 0.01, 1.0, 30.0):
        K = widths.fill(matrix, gamma).values
        np.testing.assert_allclose(K, of_width(kernel, gamma)(X)[np.ix_(widths.order, widths.order)], atol=close)
        assert (K.diagonal() == 1).all()
        coef = rng.normal(size=150)
        np.testing.assert_allclose(matrix.product(coef), K.T.astype(np.float64) @ coef, atol=1e-9 * 150)


def test_what_is_passed_over_is_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) + 20 * rng.integers(0, 5, (400, 1))
    widths = Widths(Gaussian(gamma=1.0), X, dtype=np.float64)
    matrix = widths.fill(widths.blank(), 1.0)
    exact = Gaussian(gamma=1.0)(X)[np.ix_(widths.order, widths.order)]
    lit = np.repeat(matrix.lit.astype(bool), 64, axis=1)[:, :400]
    assert lit.mean() < 0.5  # clusters lie together
    assert exact[~lit].max() < 1e-8
    assert (matrix.values[~lit] == 0).all()


def test_neighbours_lie_together():
    X = np.random.default_rng(0).permutation(1000)[:, None].astype(np.float64)
    assert np.abs(np.diff(X[_core.nearby_order(X), 0])).max() < 64


def test_median_and_units():
    X = np.array([[0.0], [3.0], [3.0]])
    assert Widths(Gaussian(gamma=1.0), X, dtype=np.float64).median() == 9
    assert Widths(Exponential(1.0), X, dtype=np.float64).median() == 3
    assert Widths(Gaussian(gamma=1.0), np.ones((4, 2))).median() == 0
    for kernel in KERNELS:
        assert gamma_of(kernel, sigma_of(kernel, 0.3)) == pytest.approx(0.3)


def test_a_kernel_without_width_is_refused():
    with pytest.raises(ValueError, match=r"kernel=Linear\(\) has no width"):
        Widths(Linear(), np.ones((2, 1)))


# ---------------------------------------------------------------- row by row


@pytest.mark.parametrize("kernel", [Gaussian(sigma=1.0), Exponential(1.0), Laplacian(1.0)], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_when_they_are_asked_for(kernel, dtype):
    """Every width from the same distances, all columns or some, and products of rows that no one has asked for."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    close = {"rtol": 0, "atol": 1e-7 if dtype == np.float64 else 3e-6}
    gram = Widths(kernel, X, dtype=dtype, ordered=False).gram(X, 1.0)
    for gamma in (0.01, 0.7, 60.0):
        gram.widen(gamma)
        K = of_width(kernel, gamma)(X)
        np.testing.assert_allclose(gram.rows([5, 149, 0]), K[[5, 149, 0]], **close)
        coef = np.where(rng.random(150) > 0.4, rng.normal(size=150), 0.0)
        np.testing.assert_allclose(gram.product(coef), K @ coef, rtol=0, atol=150 * close["atol"])
        some = np.array([3, 7, 8, 100])
        gram.activate(some)
        np.testing.assert_allclose(gram.rows([7, 50]), K[np.ix_([7, 50], some)], **close)
        gram.activate()
        np.testing.assert_allclose(gram.product(2 * coef), K @ (2 * coef), rtol=0, atol=300 * close["atol"])
        exact = gram.refined()
        np.testing.assert_allclose(exact.rows([1]), K[[1]], rtol=0, atol=1e-12)


def test_rows_that_no_one_wants_are_not_made():
    X = np.random.default_rng(1).normal(size=(400, 2))
    gram = Widths(Gaussian(1.0), X, ordered=False).gram(X, 1.0)
    for gamma in (0.5, 2.0):
        before = gram.core.rows_computed
        gram.widen(gamma)
        gram.rows(np.arange(20))
        gram.rows(np.arange(10))
        assert gram.core.rows_computed - before == 20


def test_only_distances_have_other_widths():
    gram = Gram(Gaussian(1.0), np.eye(3))
    with pytest.raises(RuntimeError, match="only a matrix made from distances has another width"):
        gram.widen(2.0)


def test_distances_can_be_interrupted():
    """Between slices of the work, Python is asked whether to go on."""
    X = np.random.default_rng(0).normal(size=(900, 40))
    points = _core.Points64.dense(X, threads=1)
    options = {"form": _core.Form.gaussian, "meeting": _core.Meeting.squared_distance, "threads": 1}
    whole, sliced = _core.Distances64(points, **options), _core.Distances64(points, **options)
    assert whole.advance(points)
    calls = 0
    while not sliced.advance(points, seconds=0.0):
        calls += 1
    assert calls >= 3
    found = []
    for core in (whole, sliced):
        out = np.empty((900, 900))
        core.rows(np.arange(900), out=out)
        found.append(out)
    np.testing.assert_array_equal(*found)

    class Enough(Exception):
        pass

    def stop() -> None:
        raise Enough

    with pytest.raises(Enough):
        Widths(Gaussian(), np.random.default_rng(0).normal(size=(6000, 60)), pulse=stop)
