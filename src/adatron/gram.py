"""The Gram matrix on demand: kernel + data + cache, whatever the data is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, issparse

from adatron import _core
from adatron.kernels import Exponential, Gaussian, Kernel, Laplacian, Polynomial, Precomputed, Sigmoid
from adatron.threads import effective_threads

Array = NDArray[np.float64]
Index = NDArray[np.int64]

SLICE_SECONDS = 0.03  # the core comes back at least this often (and a little) for Ctrl-C and deadlines
SLICE_OPERATIONS = 4e9


class Gram:
    """Rows of the kernel matrix of X, computed when asked for and kept up to a byte limit."""

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        dtype: DTypeLike = np.float32,
        cache_bytes: float = 2e9,
        threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.X = X
        self.dtype = np.dtype(dtype)
        self.cache_bytes = int(cache_bytes)
        self.threads = effective_threads(threads)
        self.diagonal: Array = kernel.diag(X)
        self.size = int(self.diagonal.shape[0])
        self.evaluate = None
        double = self.dtype == np.float64
        options = {"diagonal": self.diagonal, "cache_bytes": self.cache_bytes, "threads": self.threads}
        make = _core.Gram64 if double else _core.Gram32
        terms = kernel.terms()
        if isinstance(kernel, Precomputed):
            self.core = make.of_matrix(np.ascontiguousarray(X, dtype=self.dtype), **options)
        elif terms is None:
            self.core = make.of_matrix(None, **options)
            self.evaluate = kernel
        else:
            self.points, self.factors = pack(terms, X, self.dtype, self.threads)
            self.core = make.of_points(self.factors, self.points, **options)

    @property
    def shape(self) -> tuple[int, int]:
        """As of the matrix."""
        return self.size, self.size

    def product(self, coef: Array) -> Array:
        out = np.zeros(self.size)
        support = np.flatnonzero(coef)
        for part in slices(support, self.size * (self.features + 16)):
            self.core.add_product(part, weight=np.ascontiguousarray(coef[part]), out=out)
        return out

    @property
    def features(self) -> int:
        return int(self.X.shape[1])


def slices(index: Index, operations: float) -> Iterator[Index]:
    """Parts of `index` that take the core a few hundredths of a second each."""
    step = max(12, int(SLICE_OPERATIONS / max(operations, 1)) // 12 * 12)
    for begin in range(0, len(index), step):
        yield index[begin : begin + step]


def pack(terms: Any, X: Any, dtype: np.dtype[Any], threads: int) -> tuple[Any, list[_core.Term]]:
    make = _core.Points64 if dtype == np.float64 else _core.Points32
    if issparse(X):
        X = csr_array(X)
        points = make.sparse(
            start=X.indptr.astype(np.int64),
            feature=X.indices.astype(np.int32),
            value=X.data.astype(np.float64),
            features=X.shape[1],
        )
        spread = 0.0
    else:
        X = np.ascontiguousarray(X)
        center = X.mean(axis=0, dtype=np.float64)
        points = make.dense(X, center=center, threads=threads)
        spread = 0.0
    native = []
    for coefficient, factors in terms:
        native.append(_core.Term(coefficient, [_factor(f, spread) for f in factors]))
    return points, native


def _factor(kernel: Kernel, spread: float) -> _core.Factor:
    form = _core.Form
    match kernel:
        case Gaussian():
            return _core.Factor(form.gaussian, gamma=kernel.gamma)
        case _:
            return _core.Factor(form.linear)
