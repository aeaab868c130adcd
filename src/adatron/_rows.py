"""Rows of data, dense or sparse: checked, and their dot products and distances in float64."""

from __future__ import annotations

from math import isfinite
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist

from adatron._check import Array, sound

Matrix = Any  # a dense array or any SciPy sparse matrix: (rows, features)
Metric = Literal["sqeuclidean", "euclidean", "cityblock"]
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def is_ready(values: Any, ndim: int) -> bool:
    """Whether these are finite numbers in the form in which the core takes them, as far as one look can tell."""
    if type(values) is not np.ndarray or values.ndim != ndim or not values.size:
        return False
    if ndim > 1 and not values.flags.c_contiguous:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return values.dtype in FLOATS and isfinite(values.sum())


def is_sparse(X: Matrix) -> bool:
    """Whether X is sparse (without telling the type checker more than that)."""
    return bool(issparse(X))


def matrix(name: str, X: Matrix, *, keep_float32: bool = False) -> Matrix:
    """X as an array or CSR array of finite numbers: float64, or float32 if it is that and may stay it."""
    if is_ready(X, 2) and (keep_float32 or X.dtype == np.float64):
        return X
    sound(name, X)
    dtype = np.float32 if keep_float32 and getattr(X, "dtype", None) == np.float32 else np.float64
    try:
        X = csr_array(X).astype(dtype, copy=False) if is_sparse(X) else np.asarray(X, dtype=dtype)
    except (TypeError, ValueError) as error:
        message = f"{name} holds values that are not numbers: pass a matrix of floats."
        raise type(error)(message) from None
    if X.ndim != 2:
        raise ValueError(f"{name} has shape {X.shape}: pass a matrix, one row a sample.")
    if not np.isfinite(X.data if is_sparse(X) else X).all():
        raise ValueError(f"{name} contains NaN or infinity: drop or impute those rows first.")
    return X


def dense(values: Matrix) -> Array:
    """The values as an array."""
    return np.asarray(values.toarray() if is_sparse(values) else values)


@np.errstate(over="ignore", invalid="ignore")  # of huge values it is infinite
def variance(X: Matrix, weight: Array | None = None) -> float:
    """The variance of all entries of X, zeros included; each row counts as often as its weight says."""
    if weight is not None and (weight != weight[0]).any():
        entries = float(weight.sum()) * X.shape[1]
        mean = float(weight @ X.sum(axis=1)) / entries
        squares = squared_norms(X) - X.shape[1] * mean**2 if is_sparse(X) else ((X - mean) ** 2).sum(axis=1)
        return float(weight @ squares / entries)
    if is_sparse(X):
        return float(X.multiply(X).mean(dtype=np.float64) - X.mean(dtype=np.float64) ** 2)
    centered = X - X.sum(dtype=np.float64) / X.size  # X.var(), with less around it
    return float(np.multiply(centered, centered, out=centered).sum() / X.size)


@np.errstate(over="ignore")
def squared_norms(X: Matrix) -> Array:
    """‖x‖² for every row."""
    squares = X.multiply(X) if is_sparse(X) else X * X
    return np.asarray(squares.sum(axis=1))


@np.errstate(over="ignore", invalid="ignore")
def distances(X: Matrix, Y: Matrix, metric: Metric) -> Array:
    """Distances between rows, named as SciPy names them; sparse data stay sparse."""
    if not (is_sparse(X) or is_sparse(Y)):
        return np.asarray(cdist(X, Y, metric))
    if metric == "cityblock":
        return _sparse_cityblock(csr_array(X), csr_array(Y))
    squared = squared_norms(X)[:, None] + squared_norms(Y) - 2 * dense(X @ Y.T)
    if X is Y:
        np.fill_diagonal(squared, 0.0)
    np.maximum(squared, 0.0, out=squared)
    return squared if metric == "sqeuclidean" else np.sqrt(squared)


def _sparse_cityblock(X: Matrix, Y: Matrix) -> Array:
    """‖x - y‖₁ = ‖x‖₁ + ‖y‖₁ - Σ (|x_k| + |y_k| - |x_k - y_k|) over the features k that x has."""
    columns = Y.tocsc()
    result = np.add.outer(abs(X).sum(axis=1), abs(Y).sum(axis=1))
    for row, start, stop in zip(result, X.indptr[:-1], X.indptr[1:], strict=True):
        x, y = X.data[start:stop], columns[:, X.indices[start:stop]].toarray()
        row -= (np.abs(x) + np.abs(y) - np.abs(x - y)).sum(axis=1)
    return np.asarray(np.maximum(result, 0.0))
