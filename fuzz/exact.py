"""Kernel values by their formulas, in float64 or extended precision, with a bound on their rounding.

Nothing here is shared with the library but the kernel objects' parameters. Distances come from differences. Beside
every value K comes A: an evaluation in a precision eps is within eps·A of the exact value. Sums of n terms are taken to
lose √n + 4 roundings of their terms' sizes, not the n of the worst case: errors of either sign cancel, and BLAS sums
in blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron import kernels

Array = NDArray[Any]
EXTENDED = np.longdouble
EPS = float(np.finfo(np.float64).eps)


def epsilon(dtype: Any) -> float:
    """The rounding of one operation."""
    return float(np.finfo(dtype).eps)


def roundings(terms: float) -> float:
    """How many a sum of so many terms suffers."""
    return float(np.sqrt(terms)) + 4.0


def evaluate(kernel: Any, X: Array, Y: Array, dtype: Any = np.float64) -> tuple[Array, Array]:
    """K and A for the rows of X and of Y; overflow shows as infinity."""
    with np.errstate(all="ignore"):
        return _evaluate(kernel, X.astype(dtype), Y.astype(dtype))


def _evaluate(kernel: Any, X: Array, Y: Array) -> tuple[Array, Array]:
    lost = roundings(X.shape[1])
    match kernel:
        case kernels.Linear():
            return X @ Y.T, lost * _magnitude(X, Y)
        case kernels.Polynomial():
            base, error = _affine(kernel.gamma, kernel.coef0, X, Y)
            degree = int(kernel.degree)
            if degree == 0:
                return np.ones_like(base), np.zeros_like(base)
            reach = (np.abs(base) + epsilon(X.dtype) * error) ** (degree - 1)
            return base**degree, degree * reach * (error + np.abs(base))
        case kernels.Sigmoid():
            base, error = _affine(kernel.gamma, kernel.coef0, X, Y)
            value = np.tanh(base)
            return value, (1 - value**2) * error + 2 * np.abs(value)
        case kernels.Gaussian():
            return _decay(kernel.gamma, _squared(X, Y), lost)
        case kernels.Exponential():
            return _decay(kernel.a, np.sqrt(_squared(X, Y)), lost)
        case kernels.Laplacian():
            return _decay(kernel.gamma, _absolute(X, Y), lost)
        case kernels.Constant():
            value = np.full((len(X), len(Y)), kernel.value, dtype=X.dtype)
            return value, np.abs(value)
        case kernels.Sum():
            parts = [_evaluate(part, X, Y) for part in kernel.parts]
            total = sum(K for K, _ in parts)
            return total, sum(A + len(parts) * np.abs(K) for K, A in parts)
        case kernels.Product():
            K, A = _evaluate(kernel.parts[0], X, Y)
            for part in kernel.parts[1:]:
                other, error = _evaluate(part, X, Y)
                K, A = K * other, A * np.abs(other) + error * np.abs(K) + np.abs(K * other)
            return K, A
        case kernels.Callable():
            return kernel.function.exact(X, Y)
    raise TypeError(f"kernel={kernel!r} has no formula here.")


def _magnitude(X: Array, Y: Array) -> Array:
    """Σ |x_k y_k|; a bound needs no extended precision."""
    return np.abs(X).astype(np.float64) @ np.abs(Y).astype(np.float64).T


def _affine(gamma: float, coef0: float, X: Array, Y: Array) -> tuple[Array, Array]:
    error = (roundings(X.shape[1]) + 2) * abs(gamma) * _magnitude(X, Y) + 2 * abs(coef0)
    return X.dtype.type(gamma) * (X @ Y.T) + X.dtype.type(coef0), error


def _decay(gamma: float, distance: Array, steps: float) -> tuple[Array, Array]:
    """exp(-t), t = γ·distance, whose relative error is `steps` roundings."""
    exponent = distance.dtype.type(gamma) * distance
    exponent = np.where(np.isnan(exponent), 0.0, exponent)  # γ = 0 and a distance beyond all numbers
    K = np.exp(-exponent)
    return K, np.where(K > 0, K * (2 + steps * exponent), np.finfo(np.float64).tiny)


def _squared(X: Array, Y: Array) -> Array:
    total = np.zeros((len(X), len(Y)), dtype=X.dtype)
    for k in range(X.shape[1]):
        total += np.square(X[:, k, None] - Y[:, k])
    return total


def _absolute(X: Array, Y: Array) -> Array:
    total = np.zeros((len(X), len(Y)), dtype=X.dtype)
    for k in range(X.shape[1]):
        total += np.abs(X[:, k, None] - Y[:, k])
    return total


def expansion(kernel: Any, X: Array, support: Array, coef: Array, dtype: Any = np.float64) -> tuple[Array, Array]:
    """Σ_j coef_j k(x_j, x) for the rows of X (one column per row of coef), and the same bound on its rounding."""
    K, A = evaluate(kernel, X, support, dtype)
    return total(K, A, coef)


def total(K: Array, A: Array, coef: Array) -> tuple[Array, Array]:
    """K @ coefᵀ, and a bound on its rounding in units of eps."""
    weight = np.abs(coef).astype(np.float64).T
    count = np.sqrt((coef != 0).sum(axis=1)) + 4.0
    with np.errstate(all="ignore"):
        bound = A.astype(np.float64) @ weight + count * (np.abs(K).astype(np.float64) @ weight)
        return K @ coef.astype(K.dtype).T, bound
