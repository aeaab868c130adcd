"""Kernel matrices of every width from distances that are computed once.

A kernel exp(−γ d) of another width costs one pass of exponentials over the distances d: squared ones for the Gaussian,
‖x − y‖ for the exponential kernel, the 1-norm for the Laplacian. Rows are put in an order that keeps neighbours
together (`Widths.order`): where γ is large most of the matrix is then zero in whole stretches, which are passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import issparse

from adatron import _core
from adatron._check import Array
from adatron._rows import variance
from adatron.gram import FLOAT32_NORMS, SLICE_SECONDS, Gram
from adatron.kernels import Exponential, Gaussian, Kernel, Laplacian, has_width, of_width
from adatron.packing import Pulse, nothing, pack

Index = NDArray[np.int64]

CAREFUL_FEATURES = 64  # up to which differences cost little more than dot products, and keep a digit more
NARROW = 100.0  # times γ = "scale": the largest γ to be expected, where none is given
MANY = 2000  # rows of which those near the margin are solved alone: their part of the matrix stays in cache
MOST_FEW = 0.5  # of all rows, that they may be
STRETCH = 64  # columns, as in core/distances.hpp
SAMPLE = 32  # rows whose distances the median is told from
MEDIAN_OF = 5000  # of them, at most
FORMS = {Gaussian: _core.Form.gaussian, Exponential: _core.Form.exponential, Laplacian: _core.Form.laplacian}


@dataclass
class Matrix:
    """A kernel matrix in memory, for the core; ``threads`` may work on it at once in one climb."""

    values: NDArray[Any]
    diagonal: Array
    lit: NDArray[np.uint8] | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Tell the core that values have changed."""
        make: Any = _core.Gram64 if self.values.dtype == np.float64 else _core.Gram32
        part = int((MOST_FEW * self.size) ** 2) * self.values.itemsize if self.size >= MANY else 1
        self.core = make.of_matrix(
            self.values, diagonal=self.diagonal, cache_bytes=part, threads=self.threads, lit=self.lit
        )

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.diagonal)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of kernel values."""
        return self.values.dtype

    def rows(self, index: Any) -> NDArray[Any]:
        """K[index]."""
        return np.asarray(self.values[index])

    def subset(self, index: Any) -> Matrix:
        """The matrix of these rows and columns alone."""
        return Matrix(np.ascontiguousarray(self.values[np.ix_(index, index)]), self.diagonal[index])

    def product(self, coef: Array) -> Array:
        """K @ coef in float64."""
        out = np.zeros(len(coef))
        support = np.flatnonzero(coef)
        if len(support):
            self.core.add_product(support, weight=np.ascontiguousarray(coef[support]), out=out)
        return out


class Widths:
    """All kernels of one family over the rows of X; row i of every matrix is that of ``X[order[i]]``.

    ``largest`` is the largest γ to come, for distances to be exact enough; unless ``ordered``, rows stay as they are.
    If ``whole``, values below 1e-8 are there too: without a bias they may decide. ``pulse`` is called every few
    hundredths of a second while distances are computed, and may raise.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        dtype: DTypeLike = np.float32,
        threads: int = 1,
        largest: float = 0.0,
        ordered: bool = True,
        whole: bool = False,
        pulse: Pulse = nothing,
    ) -> None:
        if not has_width(kernel):
            raise ValueError(f"kernel={kernel!r} has no width: pass Gaussian, Exponential or Laplacian.")
        self.kernel, self.threads, self.dtype = kernel, threads, np.dtype(dtype)
        self._options = {"faint": np.inf} if whole else {}
        self.order: Index = np.arange(X.shape[0])
        if ordered and not issparse(X):
            self.order = _core.nearby_order(np.ascontiguousarray(X, dtype=np.float64))
        narrowest = of_width(kernel, largest or NARROW / max(variance(X) * X.shape[1], 1e-300))
        terms = narrowest.terms() or ()
        self.points = points = pack(X[self.order], terms, self.dtype, threads, few=CAREFUL_FEATURES)
        if self.dtype == np.float32 and not FLOAT32_NORMS < points.norms.max(initial=1.0) < np.inf:
            self.dtype = np.dtype(np.float64)
            self.points = points = pack(X[self.order], terms, self.dtype, threads, few=CAREFUL_FEATURES)
        meeting = _core.Meeting.squared_distance if points.arithmetic.differences else _core.Meeting.dot
        if isinstance(kernel, Laplacian):
            meeting = points.absolute_meeting
        make: Any = _core.Distances64 if self.dtype == np.float64 else _core.Distances32
        self.core = make(points.core, form=FORMS[type(kernel)], meeting=meeting, threads=threads)
        while not self.core.advance(points.core, seconds=SLICE_SECONDS):
            pulse()

    def __len__(self) -> int:
        return len(self.order)

    def blank(self) -> Matrix:
        """Room for a matrix."""
        m = len(self)
        lit = np.zeros((m, -(-m // STRETCH)), dtype=np.uint8)
        return Matrix(np.zeros((m, m), dtype=self.dtype), np.ones(m), lit)

    def fill(self, matrix: Matrix, gamma: float, threads: int | None = None) -> Matrix:
        """The matrix of this width, in place."""
        threads = threads or self.threads
        self.core.kernel(float(gamma), out=matrix.values, lit=matrix.lit, threads=threads, **self._options)
        matrix.renew()
        return matrix

    def gram(self, X: Any, gamma: float) -> Gram:
        """The same matrix row by row, as they are asked for; the rows must stand as they were given."""
        kernel = of_width(self.kernel, gamma)
        self.points.terms = kernel.terms() or ()
        return Gram(kernel, X, dtype=self.dtype, threads=self.threads, distances=self.core, points=self.points)

    def distances(self, index: Any) -> NDArray[Any]:
        """Rows of the distances d."""
        index = np.ascontiguousarray(index, dtype=np.int64)
        out = np.empty((len(index), len(self)), dtype=self.dtype)
        self.core.rows(index, out=out)
        return out

    def median(self) -> float:
        """Of the distances between different rows, from a sample of them; 0 if all are alike."""
        return self.quantile(0.5)

    def quantile(self, share: float) -> float:
        """The distance that a share of those between different rows does not exceed, from a sample of them."""
        some = self.distances(np.arange(0, len(self), max(1, len(self) // SAMPLE)))
        known = some[some > 0]
        return float(np.quantile(known[:: max(1, known.size // MEDIAN_OF)], share)) if known.size else 0.0


def plain_matrix(gram: Gram) -> Matrix:
    """The whole of any Gram matrix."""
    return Matrix(gram.rows(np.arange(gram.size)), gram.diagonal)
