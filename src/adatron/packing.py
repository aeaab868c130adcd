"""Points laid out for the core, in the arithmetic that suits kernel and data, and sums of kernels over them.

`pack` chooses the arithmetic for training data; `Packed` lays any points out in a given one, so that those predicted
later meet the support rows as the training rows did: same precision, same centre, whatever else is in the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, hstack

from adatron import _core
from adatron._check import Array
from adatron._rows import is_sparse
from adatron.kernels import Exponential, Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid, Terms
from adatron.precision import (
    EXACT,
    FEW_FEATURES,
    LARGEST_EXPONENT,
    Arithmetic,
    ErrorBound,
    dense_columns_center,
    largest_exponent,
    of_distances,
    robust_center,
    value_error,
)

Index = NDArray[np.int64]
Block = tuple[slice, NDArray[np.intp]]  # a run of support rows, and the outputs that they matter to
Pulse = Callable[[], None]  # called between slices; may raise to end the work

SLICE_OPERATIONS = 4e9  # multiply-adds that take a few hundredths of a second
PYTHON_WORK = 16_000  # operations that a value of a Python function stands for: slow, with temporaries of its own
JUDGED = 1.5  # times the largest norm in training, up to which rows are predicted in the same arithmetic
DENSE_SLICE = 10_000_000  # values of a sparse matrix that are made dense at a time


def nothing() -> None:
    """The pulse that never stops anything."""


class Packed:
    """Points laid out for the core in a given arithmetic."""

    def __init__(self, X: Any, terms: Terms, arithmetic: Arithmetic, threads: int) -> None:
        self.terms, self.arithmetic = terms, arithmetic
        make: Any = _core.Points64 if arithmetic.dtype == np.float64 else _core.Points32
        center = arithmetic.center
        self.sparse = is_sparse(X)
        self.rounded = center is not None or (arithmetic.dtype == np.float32 and X.dtype != np.float32)
        if self.sparse:
            X = _centered(csr_array(X), center)
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            self.length = 2 * int(np.diff(X.indptr).max(initial=0))
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
            self.length = int(X.shape[1])
            self.core = make.dense(X, center=center, threads=threads)
        self.features = int(X.shape[1])

    @cached_property
    def norms(self) -> Array:
        """‖x‖ of every point, after centring."""
        return np.sqrt(np.asarray(self.core.norms(), dtype=np.float64))

    @cached_property
    def reach(self) -> np.float64:
        """The largest norm."""
        return np.float64(np.sqrt(np.float64(self.core.norms().max(initial=0.0))))

    def error_bound(self) -> ErrorBound:
        """A bound on the error of kernel values between these points, by norms."""
        return value_error(self.terms, self.arithmetic, self.length, sparse=self.sparse, rounded=self.rounded)

    def native(self) -> list[_core.Term]:
        """The kernel's normal form for the core."""
        return [_core.Term(c, [self._factor(f) for f in factors]) for c, factors in self.terms]

    def _factor(self, kernel: Kernel) -> _core.Factor:
        meeting = _core.Meeting.squared_distance if self.arithmetic.differences else _core.Meeting.dot
        match kernel:
            case Linear():
                return _core.Factor(_core.Form.linear)
            case Polynomial(degree=degree, gamma=float(gamma), coef0=coef0):
                return _core.Factor(_core.Form.polynomial, gamma=float(gamma), coef0=coef0, degree=degree)
            case Sigmoid(gamma=float(gamma), coef0=coef0):
                return _core.Factor(_core.Form.sigmoid, gamma=float(gamma), coef0=coef0)
            case Gaussian():
                return _core.Factor(_core.Form.gaussian, gamma=float(kernel.gamma), meeting=meeting)
            case Exponential(a=a):
                return _core.Factor(_core.Form.exponential, gamma=float(a), meeting=meeting)
            case Laplacian(gamma=float(gamma)):
                return _core.Factor(_core.Form.laplacian, gamma=float(gamma), meeting=self.absolute_meeting)
        raise TypeError(f"kernel={kernel!r} has no native form: wrap it as Callable(kernel).")

    @property
    def absolute_meeting(self) -> _core.Meeting:
        """How the 1-norm of a difference is made: of sparse points, from their norms where that is exact enough."""
        from_norms = self.sparse and not self.arithmetic.differences
        return _core.Meeting.absolute_from_norms if from_norms else _core.Meeting.absolute_distance


def pack(X: Any, terms: Terms, dtype: DTypeLike, threads: int, *, few: int = FEW_FEATURES) -> Packed:
    """Training points in the fastest arithmetic of this precision that suits kernel and data.

    Up to ``few`` features differences are taken in any case.
    """
    dtype = np.dtype(dtype)
    sparse, distances = is_sparse(X), of_distances(terms)
    rooted = any(isinstance(f, Exponential) for _, factors in terms for f in factors)
    careful = rooted or (not sparse and X.shape[1] <= few)  # a root needs differences near zero
    center = None
    if distances and not sparse and dtype == np.float32 and X.shape[0]:
        center = robust_center(X, keep_zeros=True)
    points = Packed(X, terms, Arithmetic(dtype, differences=careful, center=center), threads)

    def fits() -> bool:
        return largest_exponent(terms, float(points.reach)) <= LARGEST_EXPONENT[dtype.type]

    if not points.arithmetic.differences and not fits():
        if distances:
            center = dense_columns_center(csr_array(X)) if sparse else robust_center(X)
            points = Packed(X, terms, replace(points.arithmetic, center=center), threads) if center.any() else points
        if not fits():
            if dtype == np.float64 and points.arithmetic.center is not None:  # differences need no centre
                points = Packed(X, terms, EXACT, threads)
            points.arithmetic = replace(points.arithmetic, differences=True)
    at = points.arithmetic
    points.arithmetic = Arithmetic(at.dtype, at.differences, at.center, radius=JUDGED * float(points.reach))
    return points


def _centered(X: Any, center: Array | None) -> Any:
    """Sparse points less the centre of the columns that have one, which come last: as dense as they were, or twice."""
    if center is None or not center.any():
        return X
    shifted = np.flatnonzero(center)
    block = X[:, shifted].toarray() - center[shifted]
    return csr_array(hstack([X[:, np.flatnonzero(center == 0)], csr_array(block)]))


class Expansion:
    """Σ coef_i k(x_i, x) over support rows x_i, in the arithmetic that they were trained in.

    ``arithmetic`` None: the most exact there is. A point beyond the radius that the arithmetic was judged for gets
    that too, and so does each by itself: no value depends on what else is asked for.
    """

    def __init__(self, kernel: Kernel, support: Any, arithmetic: Arithmetic | None = None, *, threads: int = 1) -> None:
        self.kernel, self.support, self.threads = kernel, support, threads
        self.arithmetic = arithmetic or EXACT
        self.terms = kernel.terms()
        self._packed: dict[Arithmetic, Packed] = {}
        self._predictor: Any = None

    def __call__(
        self,
        coef: Array,
        X: Any,
        *,
        blocks: Sequence[Block] = (),
        outputs: int | None = None,
        pulse: Pulse = nothing,
    ) -> Array:
        """coef @ kernel(support, X) in float64, one row of values for each row of ``coef``.

        ``blocks`` names for runs of support rows which of so many ``outputs`` the lines of ``coef`` belong to there.
        """
        out = np.zeros((len(coef) if outputs is None else outputs, X.shape[0]))
        if out.size == 0 or coef.shape[1] == 0:
            return out
        runs = blocks or ((slice(0, coef.shape[1]), np.arange(len(coef))),)
        if self.terms is None:
            for run, each in runs:
                for part in slices(np.arange(run.start, run.stop), out.shape[1] * PYTHON_WORK):
                    out[each] += coef[:, part] @ self.kernel(self.support[part], X)
                    pulse()
            return out
        for first, last in _row_slices(X, dense=not is_sparse(self.support)):
            points = _alike(X[first:last], self.support)
            for rows, packed in self._by_arithmetic(points):
                for run, each in runs:
                    values = self._sums(coef[:, run], np.arange(run.start, run.stop), packed, pulse)
                    with np.errstate(over="ignore", invalid="ignore"):  # whoever predicts tells of what overflows
                        out[np.ix_(each, first + rows)] += values
        return out

    def _by_arithmetic(self, X: Any) -> Iterator[tuple[Index, Packed]]:
        """Points packed in the arithmetic that each needs, by their rows in X."""
        assert self.terms is not None
        packed = Packed(X, self.terms, self.arithmetic, self.threads)
        if self.arithmetic.exact:
            yield np.arange(X.shape[0]), packed
            return
        within = packed.norms <= self.arithmetic.radius  # overflow is beyond it
        if within.all():
            yield np.arange(X.shape[0]), packed
            return
        for rows, arithmetic in ((np.flatnonzero(within), self.arithmetic), (np.flatnonzero(~within), EXACT)):
            if len(rows):
                yield rows, Packed(X[rows], self.terms, arithmetic, self.threads)

    def decide(self, coef: Array, bias: Array, X: Any, edges: Sequence[int]) -> Array | None:
        """Outputs for few rows by the shortest way; None where some need another arithmetic than the others."""
        assert self.terms is not None
        points = Packed(_alike(X, self.support), self.terms, self.arithmetic, 1)
        if not self.arithmetic.exact and not (points.norms <= self.arithmetic.radius).all():
            return None
        if self._predictor is None:
            make: Any = _core.Predictor64 if self.arithmetic.dtype == np.float64 else _core.Predictor32
            support = self._support(self.arithmetic).core
            self._predictor = make(points.native(), support=support, coef=coef, edge=list(edges))
        out = np.empty((len(bias), X.shape[0]))
        self._predictor.decide(points.core, bias=bias, out=out)
        return out

    def _sums(self, coef: Array, index: Index, points: Packed, pulse: Pulse) -> Array:
        """The sums over some of the support rows at points."""
        support = self._support(points.arithmetic)
        out = np.zeros((len(coef), points.core.count))
        native = points.native()
        for part in slices(np.arange(len(index)), out.shape[1] * (points.features + 16 + len(coef))):
            _core.add_product(
                native,
                rows=support.core,
                index=index[part],
                weight=np.ascontiguousarray(coef[:, part], dtype=np.float64),
                columns=points.core,
                out=out,
                threads=self.threads,
            )
            pulse()
        return out

    def _support(self, arithmetic: Arithmetic) -> Packed:
        """The support rows in an arithmetic, laid out once."""
        assert self.terms is not None
        if arithmetic not in self._packed:
            self._packed[arithmetic] = Packed(self.support, self.terms, arithmetic, self.threads)
        return self._packed[arithmetic]


def expansion(
    kernel: Kernel, support: Any, coef: Array, X: Any, *, arithmetic: Arithmetic | None = None, threads: int = 1
) -> Array:
    """coef @ kernel(support, X) in float64: one row of values for each row of ``coef``."""
    return Expansion(kernel, support, arithmetic, threads=threads)(coef, X)


def _row_slices(X: Any, *, dense: bool) -> Iterator[tuple[int, int]]:
    """All rows at once, unless sparse ones are made dense."""
    count = X.shape[0]
    step = max(1, DENSE_SLICE // max(X.shape[1], 1)) if dense and is_sparse(X) else max(count, 1)
    for first in range(0, count, step):
        yield first, min(count, first + step)


def _alike(X: Any, support: Any) -> Any:
    """X stored as the support rows are, dense or sparse."""
    if is_sparse(support):
        return csr_array(X)
    return X.toarray() if is_sparse(X) else X


def slices(index: Any, operations: float) -> Iterator[Index]:
    """Parts of ``index`` that take a few hundredths of a second each, at so many operations per entry."""
    index = np.ascontiguousarray(index, dtype=np.int64)
    step = max(12, int(SLICE_OPERATIONS / max(operations, 1)) // 12 * 12)
    for begin in range(0, len(index), step):
        yield index[begin : begin + step]
