"""The Gram matrix on demand: kernel + data + cache, whatever the data is.

Dense and sparse points, a matrix computed beforehand and a kernel that is a Python function differ here and
nowhere above. Work is handed to the core in slices of a few hundredths of a second, so that Ctrl-C and deadlines
are answered between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, diags_array, vstack

from adatron import _core
from adatron._check import Array
from adatron._rows import is_sparse, matrix
from adatron.kernels import Kernel, Precomputed, of_width, width_of
from adatron.packing import JUDGED, PYTHON_WORK, Index, Packed, Pulse, expansion, nothing, pack, slices
from adatron.precision import (
    EXACT,
    EXTENDED_WORK,
    Arithmetic,
    extended_sum,
    float32_holds,
    measured_share,
    needs_distances,
    of_distances,
    row_errors,
    sample_rows,
)
from adatron.threads import effective_threads
from adatron.weight_space import WeightSpace, linear_form

SLICE_SECONDS = 0.03
FLOAT32_VALUES = 1e30  # no kernel value in float32 may be larger: sums of them have to fit too
FLOAT32_NORMS = 1e-15  # and no largest norm smaller, whose square would vanish
ASYMMETRY = 1e-6  # of the largest value, that a matrix of kernel values may lack of symmetry: rounding
BLOCK = 512  # rows and columns that are compared with each other at a time
BESIDE = 16  # points of each kind at which errors are measured beside the rows, and
MOVED = 1e-3  # how far from them each value is, relative to itself
PACKED_ROWS = 2048  # support rows that are packed at a time to measure errors: copies of all would double the data
NEGLIGIBLE = 1e-8  # kernel values from distances that are left out (core/distances.hpp)


class KernelMatrix(Protocol):
    """What is asked of a kernel matrix, wherever its values come from."""

    @property
    def size(self) -> int:
        """The number of rows."""
        ...

    @property
    def diagonal(self) -> Array:
        """The values K_ii."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of kernel values; sums are float64 always."""
        ...

    def rows(self, index: Any, /) -> NDArray[Any]:
        """K[index]."""
        ...

    def product(self, coef: Array, /) -> Array:
        """K @ coef in float64."""
        ...

    def subset(self, index: Any, /) -> KernelMatrix:
        """The matrix of these rows and columns alone."""
        ...


class Gram:
    """The kernel matrix of X: rows when asked for, products, the diagonal, and how exact they are.

    Parameters
    ----------
    kernel : Kernel
        Its "scale" and "auto" are resolved by X.
    X : array or sparse matrix of shape (n_rows, n_features)
        With `Precomputed`, the symmetric matrix of kernel values itself.
    dtype : float32 or float64
        Of kernel values; sums are float64 always.
    cache_bytes : float
        Limits what is kept of the matrix.
    threads : int, optional
    exact : bool
        In float64, distances from coordinate differences: the most exact arithmetic there is.
    distances : optional
        The core's distances between the rows, as `points` lays them out: values come from them.
    part_of : (Gram, index), optional
        The matrix whose values X holds, and which of its rows: what is known of their errors and definiteness.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        dtype: DTypeLike = np.float32,
        cache_bytes: float = 2e9,
        threads: int | None = None,
        exact: bool = False,
        distances: Any = None,
        points: Packed | None = None,
        part_of: tuple[Gram, Index] | None = None,
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
        self.part_of, self.asymmetry = part_of, 0.0
        if isinstance(self.kernel, Precomputed):
            if X.shape != X.shape[::-1]:
                raise ValueError(
                    f"X has shape {X.shape} with kernel=Precomputed(): pass the square matrix of kernel values."
                )
            if part_of is None:
                self.asymmetry, largest = _checked_asymmetry(X)
                if largest > FLOAT32_VALUES or 0 < largest < 1 / FLOAT32_VALUES:
                    self.dtype = np.dtype(np.float64)
        self.diagonal = checked_diagonal(self.kernel, X)
        self.size = len(self.diagonal)
        self._known: tuple[Array, Array] | None = None
        options = {"diagonal": self.diagonal, "cache_bytes": self.cache_bytes, "threads": self.threads}
        make: Any = _core.Gram64 if self.dtype == np.float64 else _core.Gram32
        terms = self.kernel.terms()
        self.by_python = False
        self.points = points
        self._negligible = 0.0
        self._core: Any = None
        form = linear_form(self.kernel)
        self.linear = None if form is None else WeightSpace(X, *form, self.threads)
        if self.linear is not None:
            return  # products need no kernel values: points are packed when rows are asked for
        if distances is not None:
            self._negligible = NEGLIGIBLE
            self._core = make.of_distances(distances, gamma=width_of(self.kernel), **options)
        elif isinstance(self.kernel, Precomputed):
            self.matrix = np.ascontiguousarray(X, dtype=self.dtype)
            self._core = make.of_matrix(self.matrix, **options)
        elif terms is None:
            self.by_python = True
            self._core = make.of_matrix(None, **options)
        else:
            self.points = (
                Packed(X, terms, EXACT, self.threads) if exact else pack(X, terms, self.dtype, threads=self.threads)
            )
            self._core = make.of_points(self.points.native(), self.points.core, **options)

    @property
    def core(self) -> Any:
        """The core's rows and cache, for the native drivers of `solvers`; for linear kernels made on first use."""
        if self._core is None:
            self.points = pack(self.X, self.kernel.terms() or (), self.dtype, threads=self.threads)
            make: Any = _core.Gram64 if self.dtype == np.float64 else _core.Gram32
            options = {"diagonal": self.diagonal, "cache_bytes": self.cache_bytes, "threads": self.threads}
            self._core = make.of_points(self.points.native(), self.points.core, **options)
        return self._core

    @property
    def evaluations(self) -> int:
        """Kernel values computed so far."""
        return 0 if self._core is None else int(self._core.rows_computed) * self.size

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
        if self.points is not None:
            self.points.terms = self.kernel.terms() or ()

    @property
    def arithmetic(self) -> Arithmetic:
        """What values are computed in, for predictions to repeat it."""
        if self.linear is not None:
            return EXACT  # of products, whatever rows are computed in
        origin = self if self.part_of is None else self.part_of[0]
        return Arithmetic(origin.dtype) if origin.points is None else origin.points.arithmetic

    @property
    def overflows(self) -> bool:
        """Whether float32 cannot hold these rows, the kernel's parameters, or what it makes of them."""
        if self.dtype == np.float64:
            return False
        if not np.abs(self.diagonal).max() <= FLOAT32_VALUES:
            return True
        if self.points is None and self.linear is None:
            return False
        reach = float((self.points or self.linear).norms.max())  # type: ignore[union-attr]
        vanish = reach < FLOAT32_NORMS and bool((self.X.data if is_sparse(self.X) else self.X).any())
        return vanish or not np.isfinite(reach) or not float32_holds(self.kernel.terms() or ())

    def refined(self) -> Gram | None:
        """The same matrix in the next more exact arithmetic; None if there is none. Rows cached here are given up."""
        if self.part_of is not None:
            whole, index = self.part_of
            return _subset(whole, index, dtype=np.float64, exact=whole.dtype == np.float64)._unless(self.arithmetic)
        exact = self.dtype == np.float64
        if exact and not self._negligible and (self.points is None or self.arithmetic.exact):
            return None
        if exact and not needs_distances(self.kernel.terms() or ()):
            return None  # nothing but dot products, which float64 does as well as it can
        self.forget()
        options: dict[str, Any] = {"cache_bytes": self.cache_bytes, "threads": self.threads, "exact": exact}
        return Gram(self.kernel, self.X, dtype=np.float64, **options)

    def subset(self, index: Index) -> Gram:
        """The matrix of these rows and columns alone, with a cache of its own."""
        return _subset(self, self._checked(index), dtype=self.dtype)

    def activate(self, index: Index | None = None) -> None:
        """Rows shall cover these columns only (all unless given), until told otherwise."""
        columns = np.arange(self.size) if index is None else self._checked(index)
        if index is not None and np.bincount(columns).max(initial=0) > 1:
            raise ValueError(f"index={columns} repeats a column: pass each once.")
        self.core.activate(columns)

    def forget(self) -> None:
        """Give up the rows that are cached."""
        if self._core is not None:
            self._core.forget()

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
        if self.linear is not None:
            return self._know(coef, self.linear.product(coef, pulse))
        out = np.zeros(self.size)
        everything = np.arange(self.size, dtype=np.int64)
        work = PYTHON_WORK if self.by_python else self.work + 16
        for part in slices(np.flatnonzero(coef), self.size * work):
            if self.by_python:
                out += np.asarray(coef[part] @ self._evaluate(part, everything), dtype=np.float64)
            else:
                self.core.add_product(part, weight=np.ascontiguousarray(coef[part]), out=out)
            pulse()
        return self._know(coef, out)

    def _know(self, coef: Array, product: Array) -> Array:
        product.setflags(write=False)
        self._known = (coef.copy(), product)
        return product

    def rounding(self, coef: Array, goal: float = 0.0) -> float:
        """How far ``product(coef)`` may be off because kernel values are: bounded by norms, over all rows.

        Where the bound exceeds ``goal`` it is scaled down by errors measured on a sample of rows.
        """
        if self.part_of is not None:
            whole, index = self.part_of
            spread = np.zeros(whole.size)
            spread[index] = coef
            return whole._rounding(spread, goal, index, self.product(coef))
        if self.linear is not None:
            return self.linear.rounding(coef, goal)
        return self._rounding(coef, goal, None, None)

    def _rounding(self, coef: Array, goal: float, rows: Index | None, product: Array | None) -> float:
        """The same over some rows (None: all), whose product is known (None: it is made)."""
        support = np.flatnonzero(coef)
        if len(support) == 0:
            return 0.0
        weight = np.abs(coef[support])
        total = float(weight.sum())
        given = (self.asymmetry + self._negligible) * total  # which no arithmetic mends
        summing = len(support) * float(np.finfo(np.float64).eps) / 2 * total * float(np.abs(self.diagonal).max())
        if self.points is None:
            far = np.abs(self.diagonal - np.median(self.diagonal))  # of an outlier, whose norm is not known here
            here = far if rows is None else far[rows]
            errors = np.full(self.size if rows is None else len(rows), self._storage_error() * total + summing)
        else:
            bound, norms = self.points.error_bound(), self.points.norms
            here = norms if rows is None else norms[rows]
            quick = float(bound(norms[support].max(), here.max(), np.zeros(()))) * total + summing
            if quick + given <= goal:
                return quick + given
            errors = row_errors(bound, norms[support], weight, here) + summing
        largest = float(errors.max())
        if largest + given <= goal or not np.isfinite(largest):
            return largest + given
        if self.by_python and self.dtype == np.float64:
            return largest + given  # there is nothing more exact to measure by
        work = len(support) * (self.work + 16) if self.dtype == np.float32 and not self.by_python else np.inf
        sample = self._affordable(sample_rows(errors, here, work), len(support))
        made = self.product(coef) if product is None else product
        exact = self._exactly(support, coef, sample if rows is None else rows[sample])
        return measured_share(np.abs(exact - made[sample]), errors[sample]) * largest + given

    def error_beside(self, coef: Array) -> float:
        """The largest error of ``coef``'s sums at points beside the rows, in float32; 0 where that is not in use.

        Kernel values of the rows themselves may be exact by accident: where they hardly differ, all round alike.
        """
        if self.part_of is not None:
            whole, index = self.part_of
            spread = np.zeros(whole.size)
            spread[index] = coef
            return whole.error_beside(spread)
        if self.points is None or self.dtype == np.float64 or self.linear is not None:
            return 0.0
        support, beside = np.flatnonzero(coef), self._points_beside()
        terms = self.kernel.terms() or ()
        float64 = pack(beside, terms, np.float64, threads=self.threads).arithmetic  # with dot products where they do
        exact = self._expanded(support, coef, beside, float64)
        return float(np.abs(self._by_these_points(support, coef, beside) - exact).max())

    def _by_these_points(self, support: Index, coef: Array, X: Any) -> Array:
        """Σ coef k(x_i, x) over support rows as this matrix has them laid out, for other points."""
        assert self.points is not None
        packed = Packed(X, self.kernel.terms() or (), self.arithmetic, self.threads)
        out, weight = np.zeros((1, X.shape[0])), np.ascontiguousarray(coef[support][None])
        rows, columns, options = self.points.core, packed.core, {"index": support, "weight": weight, "out": out}
        _core.add_product(packed.native(), rows=rows, columns=columns, **options, threads=self.threads)
        return np.asarray(out[0])

    def _points_beside(self) -> Any:
        """Some rows, each value a little moved, points on the way from others to the rows farthest out, and beyond.

        For kernels of dot products also points on the way from rows to zero: a sigmoid that is ±1 at all rows, exactly,
        is not so there.
        """
        assert self.points is not None
        random = np.random.default_rng(0)
        some = np.resize(random.permutation(self.size), 3 * BESIDE)
        far = np.argsort(self.points.norms)[-BESIDE:]
        far = np.concatenate((np.repeat(far[-1:], BESIDE), np.resize(far, BESIDE)))
        moved = self.X[some[:BESIDE]].astype(np.float64)
        steps = np.concatenate((np.arange(BESIDE) / BESIDE, random.random(BESIDE)))  # of one outlier at every scale
        near, out, way = self.X[some[BESIDE:]], self.X[far], 10.0 ** (-6 * steps[:, None])
        inward = slice(0 if of_distances(self.kernel.terms() or ()) else BESIDE)
        if is_sparse(self.X):
            moved = csr_array(moved)
            moved.data *= 1 + MOVED * random.standard_normal(len(moved.data))
            between = diags_array(1 - way[:, 0]) @ near + diags_array(way[:, 0]) @ out
            scaled = near[inward].multiply(way[inward])
            return csr_array(vstack([moved, between, JUDGED * out[BESIDE:], scaled]))
        moved *= 1 + MOVED * random.standard_normal(moved.shape)
        center = 0.0 if self.arithmetic.center is None else self.arithmetic.center
        beyond = center + JUDGED * (out[BESIDE:] - center)
        return np.vstack((moved, (1 - way) * near + way * out, beyond, way[inward] * near[inward]))

    def _expanded(self, support: Index, coef: Array, X: Any, arithmetic: Arithmetic) -> Array:
        """Σ coef k(x_i, x) over support rows, for other points."""
        total = np.zeros(X.shape[0])
        for first in range(0, len(support), PACKED_ROWS):
            part = support[first : first + PACKED_ROWS]
            rows, weight = self.X[part], coef[part][None]
            total += expansion(self.kernel, rows, weight, X, arithmetic=arithmetic, threads=self.threads)[0]
        return total

    def _storage_error(self) -> float:
        """Of values that a matrix or a Python function gives: what keeping them in float32, or making them, costs."""
        if self.by_python and self.dtype == np.float64:
            return float(4 * np.finfo(np.float64).eps * np.abs(self.diagonal).max())
        if self.dtype == np.float64 or (isinstance(self.kernel, Precomputed) and self.X.dtype == np.float32):
            return 0.0
        largest = np.abs(self.X if isinstance(self.kernel, Precomputed) else self.diagonal).max()
        return float(np.finfo(np.float32).eps / 2 * largest)

    def _affordable(self, sample: Index, support: int) -> Index:
        """As many rows of a sample as extended precision has time for."""
        if self.dtype == np.float32:
            return sample
        features = min(self.X.shape[1], self.X.size)  # of a sparse matrix, those that have values at the most
        return sample[: max(4, int(EXTENDED_WORK / max(support * features, 1)))]

    def _exactly(self, support: Index, coef: Array, rows: Index) -> Array:
        """Σ coef k(x_i, x) for these rows, more exactly than in this matrix's own arithmetic."""
        if isinstance(self.kernel, Precomputed):
            return np.asarray(self.X[np.ix_(rows, support)].astype(np.float64) @ coef[support])
        if self.by_python:
            return np.asarray(coef[support] @ self.kernel(self.X[support], self.X[rows]))
        if self.dtype == np.float64:
            return extended_sum(self.kernel.terms() or (), self.X[support], coef[support], self.X[rows])
        return self._expanded(support, coef, self.X[rows], EXACT)

    def _unless(self, known: Arithmetic) -> Gram | None:
        """This matrix, unless it is no more exact than one that is known."""
        return None if self.arithmetic == known else self

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


def checked_diagonal(kernel: Kernel, X: Any) -> Array:
    """The values k(x, x), all finite."""
    diagonal = kernel.diag(X)
    if not np.isfinite(diagonal).all():
        raise ValueError(
            f"kernel={kernel!r} gives NaN or infinity on this X: scale the features, or choose another kernel."
        )
    return diagonal


@dataclass
class Paced:
    """A Gram matrix whose products are interrupted by ``pulse``."""

    gram: Gram
    pulse: Pulse

    def product(self, coef: Array) -> Array:
        """As Gram.product."""
        return self.gram.product(coef, self.pulse)


def _subset(gram: Gram, index: Index, *, dtype: DTypeLike, exact: bool = False) -> Gram:
    X = gram.X[np.ix_(index, index)] if isinstance(gram.kernel, Precomputed) else gram.X[index]
    options: dict[str, Any] = {"cache_bytes": gram.cache_bytes, "threads": gram.threads, "exact": exact}
    return Gram(gram.kernel, X, dtype=dtype, **options)


def _checked_asymmetry(K: Array) -> tuple[float, float]:
    """The largest |K_ij − K_ji| and |K_ij| of a matrix of kernel values, if rounding explains the former."""
    largest = asymmetry = 0.0
    for i in range(0, len(K), BLOCK):
        for j in range(i, len(K), BLOCK):
            block, mirrored = K[i : i + BLOCK, j : j + BLOCK], K[j : j + BLOCK, i : i + BLOCK].T
            asymmetry = max(asymmetry, float(np.abs(block - mirrored).max()))
            largest = max(largest, float(np.abs(block).max()))
    if asymmetry > ASYMMETRY * largest:
        raise ValueError(
            f"X is no symmetric matrix of kernel values: K[i, j] and K[j, i] differ by up to {asymmetry:.3g}, where "
            f"the largest is {largest:.3g}. Pass (X + X.T) / 2, or the kernel of the training rows with themselves."
        )
    return asymmetry, largest
