"""The core's Cholesky factor against NumPy's, and what it refuses."""

import numpy as np
import pytest

from adatron import _core


def positive_definite(n: int) -> np.ndarray:
    A = np.random.default_rng(n).normal(size=(n, n + 3))
    return A @ A.T


@pytest.mark.parametrize("n", [1, 2, 3, 5, 31, 32, 33, 67, 130])
def test_factor_and_solutions_match_numpy(n):
    a = positive_definite(n)
    rhs = np.random.default_rng(0).normal(size=(3, n))
    factor = a.copy()
    assert _core.cholesky(factor)
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(a), rtol=1e-9, atol=1e-9)
    one, several = rhs[0].copy(), rhs.copy()
    _core.cholesky_solve(factor, one)
    _core.cholesky_solve(factor, several)
    np.testing.assert_allclose(several @ a, rhs, atol=1e-8)
    np.testing.assert_array_equal(one, several[0])
    forward = np.random.default_rng(1).normal(size=(n % 7, n))
    before = forward.copy()
    _core.cholesky_forward(factor, forward)
    np.testing.assert_allclose(forward @ np.tril(factor).T, before, atol=1e-8)


def test_what_is_not_positive_definite_is_said_to_be_so():
    assert not _core.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert not _core.cholesky(np.full((1, 1), np.nan))
    assert _core.cholesky(np.zeros((0, 0)))


def test_shapes_that_do_not_fit_are_refused():
    square = np.eye(3)
    for bad in (lambda: _core.cholesky(np.ones((2, 3))), lambda: _core.cholesky_solve(square, np.ones(4))):
        with pytest.raises(ValueError, match="pass"):
            bad()
    with pytest.raises(ValueError, match="pass"):
        _core.cholesky_solve(square, np.ones((2, 4)))
    # a copy would be solved in vain
    with pytest.raises(TypeError):
        _core.cholesky(np.ones((3, 3), dtype=np.float32))
    with pytest.raises(TypeError):
        _core.cholesky_solve(square, np.ones((4, 3))[:, ::-1])
