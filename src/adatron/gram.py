"""The Gram matrix on demand: kernel + data + cache, whatever the data is.

Dense and sparse points, a matrix computed beforehand and a kernel that is a Python function differ here and
nowhere above. Work is handed to the core in slices of a few hundredths of a second, so that Ctrl-C and deadlines
are answered between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, issparse

from adatron import _core
from adatron._check import Array
from adatron._rows import matrix
from adatron.kernels import (
    Exponential,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    Terms,
    of_width,
    width_of,
)
from adatron.threads import effective_threads

Index = NDArray[np.int64]

SLICE_SECONDS = 0.03
SLICE_OPERATIONS = 4e9  # multiply-adds that take about as long
PYTHON_WORK = 16_000  # a value of a Python function: slow, and its temporaries take memory beside the cache
SAMPLE = 48  # rows on which float32 is compared with float64
# Distances from dot products lose what norms have too much: beyond this, γ‖x‖² is subtracted coordinate by coordinate
LARGEST_EXPONENT = 100.0
FEW_FEATURES = 32  # where differences cost hardly more than dot products, and keep a digit more


Pulse = Callable[[], None]  # called between slices; may raise to end the work


def nothing() -> None:
    """The pulse that never stops anything."""


class Gram:
    """The kernel matrix of X: rows when asked for, products, the diagonal.

    ``dtype`` is that of kernel values; sums are float64 always. ``cache_bytes`` limits what is kept of the matrix. With
    the core's ``distances`` of the rows, values come from them.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        dtype: DTypeLike = np.float32,
        cache_bytes: float = 2e9,
        threads: int | None = None,
        distances: Any = None,
    ) -> None:
        X = self.X = matrix("X", X, keep_float32=True)
        if X.shape[0] == 0:
            raise ValueError(f"X has shape {X.shape}: pass at least one row.")
        self.kernel = kernel.resolve(X)
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype={self.dtype} is unknown: pass float32 or float64.")
        self.cache_bytes = int(cache_bytes)
        self.threads = effective_threads(threads)
        if isinstance(self.kernel, Precomputed) and X.shape != X.shape[::-1]:
            raise ValueError(
                f"X has shape {X.shape} with kernel=Precomputed(): pass the square matrix of kernel values."
            )
        self.diagonal: Array = self.kernel.diag(X)
        self.size = len(self.diagonal)
        if not np.isfinite(self.diagonal).all():
            raise ValueError(
                f"kernel={self.kernel!r} gives NaN or infinity on this X: scale the features, or choose another kernel."
            )
        self._known: tuple[Array, Array] | None = None
        options = {"diagonal": self.diagonal, "cache_bytes": self.cache_bytes, "threads": self.threads}
        make: Any = _core.Gram64 if self.dtype == np.float64 else _core.Gram32
        terms = self.kernel.terms()
        self.by_python = False
        if distances is not None:
            self.core = make.of_distances(distances, gamma=width_of(self.kernel), **options)
        elif isinstance(self.kernel, Precomputed):
            self.core = make.of_matrix(np.ascontiguousarray(X, dtype=self.dtype), **options)
        elif terms is None:
            self.by_python = True
            self.core = make.of_matrix(None, **options)
        else:
            points = Packed(X, center=None, dtype=self.dtype, threads=self.threads, terms=terms)
            self.core = make.of_points(points.native(terms), points.core, **options)

    @property
    def shape(self) -> tuple[int, int]:
        """As of the matrix."""
        return self.size, self.size

    @property
    def work(self) -> float:
        """How many multiply-adds a kernel value takes, on average."""
        if isinstance(self.kernel, Precomputed):
            return 1.0
        return float(self.X.size) / self.size  # of a sparse matrix, what is stored

    def widen(self, gamma: float) -> None:
        """Another width, where values come from distances."""
        self.kernel = of_width(self.kernel, gamma)
        self.core.widen(gamma)
        self._known = None

    def in_float64(self) -> Gram:
        """The same matrix with float64 values; rows cached here are given up."""
        self.core.forget()
        return Gram(self.kernel, self.X, dtype=np.float64, cache_bytes=self.cache_bytes, threads=self.threads)

    def subset(self, index: Index) -> Gram:
        """The matrix of these rows and columns alone, with a cache of its own."""
        index = self._checked(index)
        X = self.X[np.ix_(index, index)] if isinstance(self.kernel, Precomputed) else self.X[index]
        return Gram(self.kernel, X, dtype=self.dtype, cache_bytes=self.cache_bytes, threads=self.threads)

    def activate(self, index: Index | None = None) -> None:
        """Rows shall cover these columns only (all unless given), until told otherwise."""
        columns = np.arange(self.size) if index is None else self._checked(index)
        if len(np.unique(columns)) < len(columns):
            raise ValueError(f"index={columns} repeats a column: pass each once.")
        self.core.activate(columns)

    def fetch(self, index: Index, pulse: Pulse = nothing) -> None:
        """Have these rows in the cache, which must have room for them."""
        index = np.ascontiguousarray(index, dtype=np.int64)
        if self.by_python:
            for part in slices(self.core.missing(index), self.core.active_count * PYTHON_WORK):
                self.core.store(part, self._evaluate(part, self.core.active))
                pulse()
        while not self.core.fetch(index, seconds=SLICE_SECONDS):
            pulse()

    def rows(self, index: Any) -> NDArray[Any]:
        """K[index] over the active columns."""
        index = self._checked(index)
        out = np.empty((len(index), self.core.active_count), dtype=self.dtype)
        step = max(1, min(self.core.capacity, 1024))
        for begin in range(0, len(index), step):
            part = index[begin : begin + step]
            self.fetch(part)
            self.core.copy_rows(part, out=out[begin : begin + step])
        return out

    def product(self, coef: Array, pulse: Pulse = nothing) -> Array:
        """K @ coef over all columns, in float64; asking again for the same costs nothing."""
        coef = np.asarray(coef, dtype=np.float64)
        if coef.shape != (self.size,):
            raise ValueError(f"coef has shape {coef.shape}: pass {self.size} values, one per row of the Gram matrix.")
        if self._known is not None and np.array_equal(self._known[0], coef):
            return self._known[1]
        out = np.zeros(self.size)
        everything = np.arange(self.size, dtype=np.int64)
        work = PYTHON_WORK if self.by_python else self.work + 16
        for part in slices(np.flatnonzero(coef), self.size * work):
            if self.by_python:
                out += np.asarray(coef[part] @ self._evaluate(part, everything), dtype=np.float64)
            else:
                self.core.add_product(part, weight=np.ascontiguousarray(coef[part]), out=out)
            pulse()
        out.setflags(write=False)
        self._known = (coef.copy(), out)
        return out

    def rounding(self, coef: Array) -> float:
        """The largest error of ``product(coef)`` that comes from values in float32, seen on a sample of rows."""
        if self.dtype == np.float64 or not coef.any():
            return 0.0
        sample = np.random.default_rng(0).permutation(self.size)[:SAMPLE]
        support = np.flatnonzero(coef)
        if isinstance(self.kernel, Precomputed):
            exact = np.asarray(self.X[np.ix_(sample, support)], dtype=np.float64) @ coef[support]
        elif self.by_python:
            return 0.0  # the function's own precision is all that there is
        else:
            exact = expansion(
                self.kernel,
                self.X[support],
                coef[support][None],
                self.X[sample],
                dtype=np.float64,
                threads=self.threads,
            )[0]
        return float(np.abs(exact - self.product(coef)[sample]).max())

    def _checked(self, wanted: Any) -> Index:
        index: Index = np.ascontiguousarray(wanted, dtype=np.int64)
        if index.ndim != 1 or len(index) == 0 or index.min() < 0 or index.max() >= self.size:
            raise ValueError(f"index={index} names no rows: pass numbers from 0 to {self.size - 1}.")
        return index

    def _evaluate(self, index: Index, columns: Index) -> NDArray[Any]:
        values = self.kernel(self.X[index], self.X[columns])
        if not np.isfinite(values).all():
            raise ValueError(f"kernel={self.kernel!r} returned NaN or infinity: return finite numbers.")
        return np.ascontiguousarray(values, dtype=self.dtype)


@dataclass
class Paced:
    """A Gram matrix whose products are interrupted by ``pulse``."""

    gram: Gram
    pulse: Pulse

    def product(self, coef: Array) -> Array:
        """As Gram.product."""
        return self.gram.product(coef, self.pulse)


class Packed:
    """Points laid out for the core, and how a kernel best meets them."""

    def __init__(self, X: Any, *, center: Array | None, dtype: np.dtype[Any], threads: int, terms: Terms) -> None:
        make: Any = _core.Points64 if dtype == np.float64 else _core.Points32
        distances = all(isinstance(f, Gaussian | Exponential | Laplacian) for _, fs in terms for f in fs)
        self.sparse = issparse(X)
        self.center: Array | None = None
        if self.sparse:
            X = csr_array(X)
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            self.core = make.sparse(
                start=X.indptr.astype(np.int64),
                feature=X.indices.astype(np.int32),
                value=X.data.astype(np.float64),
                features=X.shape[1],
            )
        else:
            X = np.ascontiguousarray(X)
            if X.dtype not in (np.float32, np.float64):
                X = X.astype(np.float64)
            if distances:  # a common shift changes no distance and spares cancellation
                self.center = X.mean(axis=0, dtype=np.float64) if center is None else center
            self.core = make.dense(X, center=self.center, threads=threads)
        self.features = int(X.shape[1])
        self.spread = float(self.core.norms().max(initial=0.0))

    def native(self, terms: Terms, *, spread: float | None = None) -> list[_core.Term]:
        """The kernel's normal form for the core; ``spread`` is the largest squared norm on either side."""
        if spread is not None:
            self.spread = spread
        return [_core.Term(c, [self._factor(f) for f in factors]) for c, factors in terms]

    def _factor(self, kernel: Kernel) -> _core.Factor:
        match kernel:
            case Linear():
                return _core.Factor(_core.Form.linear)
            case Polynomial(degree=degree, gamma=float(gamma), coef0=coef0):
                return _core.Factor(_core.Form.polynomial, gamma=float(gamma), coef0=coef0, degree=degree)
            case Sigmoid(gamma=float(gamma), coef0=coef0):
                return _core.Factor(_core.Form.sigmoid, gamma=float(gamma), coef0=coef0)
            case Gaussian():
                return _core.Factor(_core.Form.gaussian, gamma=float(kernel.gamma), meeting=self._meeting(kernel))
            case Exponential(a=a):
                return _core.Factor(_core.Form.exponential, gamma=float(a), meeting=self._meeting(kernel))
            case Laplacian(gamma=float(gamma)):
                kind = _core.Meeting
                meeting = kind.absolute_from_norms if self.sparse else kind.absolute_distance
                return _core.Factor(_core.Form.laplacian, gamma=float(gamma), meeting=meeting)
        raise TypeError(f"kernel={kernel!r} has no native form: wrap it as Callable(kernel).")

    def _meeting(self, kernel: Kernel) -> _core.Meeting:
        """Differences where dot products would lose digits (or save nothing); a square root needs them always."""
        careful = isinstance(kernel, Exponential) or self.features <= FEW_FEATURES
        if not careful and isinstance(kernel, Gaussian):
            careful = float(kernel.gamma) * self.spread > LARGEST_EXPONENT
        # sparse differences are made from norms too: nothing gained
        return _core.Meeting.squared_distance if careful and not self.sparse else _core.Meeting.dot


class Expansion:
    """Points X made ready for sums of kernels, Σ coef_i k(x_i, x), one after the other."""

    def __init__(self, kernel: Kernel, X: Any, *, dtype: DTypeLike = np.float32, threads: int = 1) -> None:
        self.kernel, self.X = kernel, X
        self.dtype, self.threads = np.dtype(dtype), threads
        self.terms = kernel.terms()
        self._packed: dict[bool, Packed] = {}  # by whether it is sparse: both sides must be alike

    def values(self, support: Any, coef: Array, pulse: Pulse = nothing) -> Array:
        """coef @ kernel(support, X) in float64: one row of values for each row of ``coef``."""
        out = np.zeros((len(coef), self.X.shape[0]))
        if out.size == 0 or coef.shape[1] == 0:
            return out
        index = np.arange(coef.shape[1], dtype=np.int64)
        if self.terms is None:
            for part in slices(index, out.shape[1] * PYTHON_WORK):
                out += coef[:, part] @ self.kernel(support[part], self.X)
                pulse()
            return out
        sparse = issparse(support) or issparse(self.X)  # one layout for both, and the one that cannot grow
        columns = self._columns(self.terms, sparse)
        rows = Packed(
            csr_array(support) if sparse else support,
            center=columns.center,
            dtype=self.dtype,
            threads=self.threads,
            terms=self.terms,
        )
        native = columns.native(self.terms, spread=max(columns.spread, rows.spread))
        for part in slices(index, out.shape[1] * (columns.features + 16 + len(coef))):
            _core.add_product(
                native,
                rows=rows.core,
                index=part,
                weight=np.ascontiguousarray(coef[:, part], dtype=np.float64),
                columns=columns.core,
                out=out,
                threads=self.threads,
            )
            pulse()
        return out

    def _columns(self, terms: Terms, sparse: bool) -> Packed:
        if sparse not in self._packed:
            X = csr_array(self.X) if sparse else self.X
            self._packed[sparse] = Packed(X, center=None, dtype=self.dtype, threads=self.threads, terms=terms)
        return self._packed[sparse]


def expansion(
    kernel: Kernel, support: Any, coef: Array, X: Any, *, dtype: DTypeLike = np.float32, threads: int = 1
) -> Array:
    """coef @ kernel(support, X) in float64: one row of values for each row of ``coef``."""
    return Expansion(kernel, X, dtype=dtype, threads=threads).values(support, coef)


def slices(index: Any, operations: float) -> Iterator[Index]:
    """Parts of ``index`` that take a few hundredths of a second each, at so many operations an entry."""
    index = np.ascontiguousarray(index, dtype=np.int64)
    step = max(12, int(SLICE_OPERATIONS / max(operations, 1)) // 12 * 12)
    for begin in range(0, len(index), step):
        yield index[begin : begin + step]
