"""Distances and formulas of the core, value by value: no cancellation where differences are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from scipy.spatial.distance import cdist

from adatron import _core
from adatron.kernels import Laplacian, Sigmoid
from adatron.packing import expansion
from adatron.precision import Arithmetic

KINDS = [np.float32, np.float64]
ISAS = [isa for isa in (_core.Isa.baseline, _core.Isa.avx2, _core.Isa.avx512) if _core.isa_supported(isa)]


@pytest.fixture(params=ISAS, ids=lambda isa: isa.name)
def isa(request):
    before = _core.current_isa()
    _core.force_isa(request.param)
    yield request.param
    _core.force_isa(before)


def offset_rows(rows: int, offset: float, features: int = 40, density: float = 0.2) -> csr_array:
    """Sparse rows with one column near ``offset``; every fifth row is a copy of the first."""
    rng = np.random.default_rng(0)
    X = random_array((rows, features), density=density, rng=rng, data_sampler=rng.standard_normal).toarray()
    X[:, 3] = offset + rng.normal(size=rows)
    X[::5] = X[0]
    return csr_array(X)


def packed(X, dtype=np.float64):
    if not isinstance(X, csr_array):
        make = _core.Points64 if dtype == np.float64 else _core.Points32
        return make.dense(np.ascontiguousarray(X), threads=1)
    make = _core.Points64 if dtype == np.float64 else _core.Points32
    return make.sparse(
        start=X.indptr.astype(np.int64), feature=X.indices.astype(np.int32), value=X.data, features=X.shape[1]
    )


def distances(X, form: str, meeting: str, dtype=np.float64) -> np.ndarray:
    make = _core.Distances64 if dtype == np.float64 else _core.Distances32
    points = packed(X, dtype)
    core = make(points, form=getattr(_core.Form, form), meeting=getattr(_core.Meeting, meeting), threads=1)
    assert core.advance(points)
    out = np.empty((X.shape[0], X.shape[0]), dtype=dtype)
    core.rows(np.arange(X.shape[0]), out=out)
    return out


@pytest.mark.parametrize(
    ("form", "meeting", "metric"),
    [
        ("gaussian", "squared_distance", "sqeuclidean"),
        ("exponential", "squared_distance", "euclidean"),
        ("laplacian", "absolute_distance", "cityblock"),
    ],
)
def test_sparse_differences_do_not_cancel(isa, form, meeting, metric):
    X = offset_rows(77, 1e7)
    exact = cdist(X.toarray(), X.toarray(), metric)
    np.testing.assert_allclose(distances(X, form, meeting), exact, rtol=1e-14)


def test_sparse_one_norms_are_right_either_way(isa):
    X = offset_rows(50, 0.0)
    exact = cdist(X.toarray(), X.toarray(), "cityblock")
    for meeting in ("absolute_distance", "absolute_from_norms"):
        np.testing.assert_allclose(distances(X, "laplacian", meeting), exact, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(distances(X.toarray(), "laplacian", "absolute_from_norms"), exact, rtol=1e-13)
    support, coef = X[:20], np.linspace(-1, 1, 20)[None]
    np.testing.assert_allclose(
        expansion(Laplacian(gamma=0.3), support, coef, X, arithmetic=Arithmetic(np.dtype(np.float64))),
        coef @ np.exp(-0.3 * exact[:20]),
        rtol=1e-12,
        atol=1e-12,
    )


# A Gram of one feature, whose products with 1 are the arguments themselves.
@pytest.mark.parametrize("dtype", KINDS)
def test_the_sigmoid_keeps_sign_and_digits(isa, dtype):
    least = -300 if dtype == np.float64 else -37
    size = np.concatenate([np.logspace(least, -3, 200), np.linspace(0.001, 1, 999), [0.25, 1.0]])
    x = np.concatenate([size, -size]).astype(dtype)
    made = expansion(
        Sigmoid(gamma=1.0), np.ones((1, 1)), np.ones((1, 1)), x[:, None], arithmetic=Arithmetic(np.dtype(dtype))
    )[0]
    exact = np.tanh(x.astype(np.float64))
    assert (np.sign(made) == np.sign(exact)).all()
    np.testing.assert_allclose(made, exact, rtol=8 * np.finfo(dtype).eps)
    assert made[np.argmin(np.abs(x))] == x[np.argmin(np.abs(x))]


def test_a_sigmoid_of_zero_is_zero_and_of_much_is_one(isa):
    x = np.array([0.0, 30.0, -30.0, 1e10, -1e10])[:, None]
    made = expansion(
        Sigmoid(gamma=1.0), np.ones((1, 1)), np.ones((1, 1)), x, arithmetic=Arithmetic(np.dtype(np.float64))
    )[0]
    np.testing.assert_array_equal(made, [0.0, 1.0, -1.0, 1.0, -1.0])


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("meeting", ["dot", "squared_distance"])
def test_duplicates_have_distance_zero(isa, dtype, sparse, meeting):
    X = offset_rows(60, 30.0, features=83, density=0.7)
    found = distances(X if sparse else X.toarray(), "gaussian", meeting, dtype)
    assert (found[::5, ::5] == 0).all()
    assert (found[1::5, ::5] > 0).all()
