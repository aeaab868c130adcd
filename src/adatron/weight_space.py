"""Linear kernels, scale · x·y + constant, by way of the weight vector w = Σ coef_i x_i.

A product with the Gram matrix is scale · X (Xᵀ coef) + constant · Σ coef: two passes over the non-zeros of X, in
float64, and no kernel value. With unit roundoff u, m rows and at most n non-zeros in each, x·w is a sum of n products,
and w is summed in blocks of k rows, so that for every row

    |error| ≤ (k + m/k + n + 4) u · scale · ‖x‖ Σ |coef_i| ‖x_i‖ + (log₂ m + 16) u · constant · Σ |coef_i|.

Where that is more than may be, the error is measured on a sample of rows in extended precision (see precision.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron import _core
from adatron._check import Array
from adatron._rows import is_sparse
from adatron.kernels import Kernel, Linear
from adatron.packing import Index, Pulse, nothing
from adatron.precision import measured_share, sample_rows

BLOCK = 1024  # rows of a block, or as many as have four times as many values as w
SLICE_VALUES = 1e7  # of X that a pass reads in one call of the core: about ten milliseconds
EXTENDED_VALUES = 1e6  # of X that are converted to extended precision at a time
U = float(np.finfo(np.float64).eps) / 2


def linear_form(kernel: Kernel) -> tuple[float, float] | None:
    """``scale`` and ``constant`` of a kernel that is scale · x·y + constant; None if it is not."""
    scale = constant = 0.0
    for coefficient, factors in kernel.terms() or ((1.0, (kernel,)),):
        if not factors:
            constant += coefficient
        elif len(factors) == 1 and isinstance(factors[0], Linear):
            scale += coefficient
        else:
            return None
    return (scale, constant) if scale > 0 else None


class WeightSpace:
    """The rows of X under a linear kernel.

    Parameters
    ----------
    X : array or CSR array of shape (n_rows, n_features)
        Float32 or float64; used where it lies if it is contiguous, or has sorted 32-bit indices.
    scale, constant : float
        Of the kernel.
    threads : int
    """

    def __init__(self, X: Any, scale: float, constant: float, threads: int) -> None:
        self.scale, self.constant, self.threads = scale, constant, threads
        make: Any = _core.FeatureRows32 if X.dtype == np.float32 else _core.FeatureRows64
        if is_sparse(X):
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            parts = {"start": X.indptr.astype(np.int64), "feature": X.indices.astype(np.int32, copy=False)}
            self.rows = make.sparse(**parts, value=np.ascontiguousarray(X.data), features=X.shape[1])
            self.longest = int(np.diff(X.indptr).max(initial=0))
            self.values_of_a_row = max(1.0, X.nnz / X.shape[0])
        else:
            X = np.ascontiguousarray(X)
            self.rows = make.dense(X)
            self.longest = X.shape[1]
            self.values_of_a_row = float(max(1, X.shape[1]))
        self.X = X
        self.count, self.features = X.shape
        self.block_rows = max(BLOCK, int(4 * self.features / self.values_of_a_row))

    def weights(self, coef: Array, pulse: Pulse = nothing) -> Array:
        """Xᵀ coef."""
        w = np.zeros(self.features)
        coef = np.ascontiguousarray(coef, dtype=np.float64)
        for first in range(0, self.count, self.block_rows):
            block = np.zeros(self.features)
            self.rows.add_weights(coef=coef, first=first, last=min(self.count, first + self.block_rows), out=block)
            w += block
            pulse()
        return w

    def values(self, weights: Array, pulse: Pulse = nothing) -> Array:
        """X w."""
        out = np.empty(self.count)
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        for first, last in self._slices():
            self.rows.values(weights=weights, first=first, last=last, out=out, threads=self.threads)
            pulse()
        return out

    def product(self, coef: Array, pulse: Pulse = nothing) -> Array:
        """K @ coef."""
        out = self.values(self.weights(coef, pulse), pulse)
        out *= self.scale
        out += self.constant * float(coef.sum())
        return out

    @cached_property
    def norms(self) -> Array:
        """‖x‖ of every row."""
        X = self.X
        if is_sparse(X):
            squares = np.add.reduceat(np.append(X.data.astype(np.float64) ** 2, 0.0), X.indptr[:-1])
            return np.sqrt(np.where(np.diff(X.indptr) > 0, squares, 0.0))
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64)))

    def rounding(self, coef: Array, goal: float = 0.0) -> float:
        """How far ``product(coef)`` may be off, over all rows; measured where the bound exceeds ``goal``."""
        support = np.flatnonzero(coef)
        size = np.abs(coef[support])
        reach = self.scale * float(size @ self.norms[support])
        terms = min(len(support), self.block_rows) + self.count / self.block_rows + self.longest + 4
        given = (np.log2(self.count) + 16) * U * self.constant * float(size.sum())
        errors = terms * U * reach * self.norms + given
        largest = float(errors.max())
        if largest <= goal or not np.isfinite(largest):
            return largest
        sample = sample_rows(errors, self.norms, self.values_of_a_row)
        made = self.product(coef)[sample]
        return measured_share(np.abs(self._exactly(coef, support, sample) - made), errors[sample]) * largest

    def _exactly(self, coef: Array, support: Index, rows: Index) -> Array:
        """K[rows] @ coef in extended precision, where the processor has it."""
        if is_sparse(self.X):
            dots = _sparse_dots(self.X[support], coef[support].astype(np.longdouble), self.X[rows])
        else:
            w = np.zeros(self.features, dtype=np.longdouble)
            for part in self._parts(support):
                w += coef[part].astype(np.longdouble) @ self.X[part].astype(np.longdouble)
            dots = np.concatenate([self.X[part].astype(np.longdouble) @ w for part in self._parts(rows)])
        return np.asarray(self.scale * dots + self.constant * coef.astype(np.longdouble).sum(), dtype=np.float64)

    def _parts(self, index: Index) -> Iterator[Index]:
        step = max(1, int(EXTENDED_VALUES / max(self.features, 1)))
        for first in range(0, len(index), step):
            yield index[first : first + step]

    def _slices(self) -> Iterator[tuple[int, int]]:
        step = max(1, int(SLICE_VALUES / self.values_of_a_row))
        for first in range(0, self.count, step):
            yield first, min(self.count, first + step)


def _sparse_dots(support: Any, coef: NDArray[np.longdouble], rows: Any) -> NDArray[np.longdouble]:
    """rows @ (coef @ support), over the features that the support has: there may be millions of others."""
    features, place = np.unique(support.indices, return_inverse=True)
    order = np.argsort(place, kind="stable")
    terms = (np.repeat(coef, np.diff(support.indptr)) * support.data)[order]
    w = np.add.reduceat(terms, np.flatnonzero(np.diff(place[order], prepend=-1))) if len(terms) else terms
    at = np.searchsorted(features, rows.indices)
    at[at == len(features)] = 0
    known = features[at] == rows.indices if len(features) else np.zeros(len(at), dtype=bool)
    sums = np.zeros(rows.shape[0], dtype=np.longdouble)
    np.add.at(sums, np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[known], w[at[known]] * rows.data[known])
    return sums
