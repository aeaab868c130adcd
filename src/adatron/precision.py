"""How exact kernel values are, and which arithmetic makes them exact enough.

Values are computed in float32 or float64, distances either from dot products, ‖x‖² + ‖y‖² − 2 x·y, which is fast and
cancels where norms are large against distances, or from coordinate differences. `Arithmetic` names the choice; it is
made once per problem, carried by the solution and repeated by the model, so that what is certified is what predicts.

With unit roundoff u, d features and norms ‖x‖, ‖y‖ (of points centred by the training data, where that is done):

    a dot product            is off by at most  (d + 2) u ‖x‖‖y‖
    a squared distance       from dot products  (d + 6) u (‖x‖ + ‖y‖)²
                             from differences   2 u (‖x‖ + ‖y‖) ‖x − y‖ + (d + 6) u ‖x − y‖²

The first term of the last line is the rounding of the coordinates, which float64 without a centre does not have: there
a Gaussian is exact to (d + 6) u whatever the data. `value_error` carries these bounds through a kernel's formula, and
`row_errors` sums them: f(x) = Σ coef k(x_i, x) is off by at most Σ |coef_i| error(‖x_i‖, ‖x‖), for every row.

The bounds are rigorous to first order in u, and far too large where d is: errors of random sign cancel. So where a
bound alone does not do, the error is measured on a sample of rows, those with the largest bounds among them, and the
bounds of all rows are scaled by what was measured (`measured_share`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array
from adatron._rows import is_sparse
from adatron.kernels import Exponential, Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid, Terms

SAFETY = (
    2.0  # a sample of rows does not hold the worst one: the largest of many errors is about twice that of a hundred
)
SAMPLE = 96  # rows at least on which the error is measured
SAMPLE_WORK = 5e7  # multiplications that may go into them: a few milliseconds
EXTENDED_WORK = 1e8  # multiplications in extended precision that such a sample may take: a second
BINS = 64  # of norms, where there are too many pairs to bound one by one
FEW_PAIRS = 20_000
GROWTH = 0.4289  # the largest value of t exp(−t²); of t exp(−t) it is below 0.3679
QUANTILE_ROWS = 512
THIN = 0.4  # part of the values that is not zero, below which the core passes over zeros (core/points.cpp)
FILLED = 0.9  # part of a column that is not zero, from which on it is centred even so

# γ‖x − c‖² up to which dot products give distances to a few digits more than kernels need
LARGEST_EXPONENT = {np.float32: 100.0, np.float64: 1e4}
OF_DISTANCES = (Gaussian, Exponential, Laplacian)
FEW_FEATURES = 32  # where differences cost hardly more than dot products, and keep a digit more

SMALL = 1000  # rows up to which float64 costs nothing worth sparing
FLOAT32_TOL = 1e-5  # float32 values cannot give more: below this float32 only makes a start

ErrorBound = Callable[[Array, Array, Array], Array]  # of norms on either side, and of their least difference


@dataclass(frozen=True)
class Arithmetic:
    """In what precision, and from what, kernel values are computed.

    ``differences`` says that distances come from coordinate differences, ``center`` is subtracted from all points
    first. Rows up to the norm ``radius`` (after centring) have been judged; a row beyond it is predicted exactly.
    """

    dtype: np.dtype[Any]
    differences: bool = False
    center: Array | None = field(default=None, compare=False)
    radius: float = field(default=inf, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "dtype": self.dtype.name}  # a string: readers such as skops trust no dtype object

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, dtype=np.dtype(state["dtype"]))

    @property
    def exact(self) -> bool:
        """Whether there is nothing more exact."""
        return self.dtype == np.float64 and self.differences and self.center is None


EXACT = Arithmetic(np.dtype(np.float64), differences=True)


def kernel_dtype(rows: int, tol: float) -> np.dtype[Any]:
    """Of the kernel values of a problem: float64 where that costs nothing worth sparing, or where tol calls for it."""
    return np.dtype(np.float64 if rows <= SMALL or tol < FLOAT32_TOL else np.float32)


def robust_center(X: Any, *, keep_zeros: bool = False) -> Array:
    """The mean of each column, held between the quartiles of a sample of rows: one wild row must not move it far.

    With ``keep_zeros``, columns in which zeros are common stay as they are, where the data has many: zeros save work.
    """
    step = -(-X.shape[0] // QUANTILE_ROWS)
    sample = X[::step]
    low, high = np.percentile(sample, (25, 75), axis=0)
    if keep_zeros and (filled := (sample != 0).mean(axis=0)).mean() < THIN:
        low, high = (np.where(filled < FILLED, 0.0, side) for side in (low, high))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.nan_to_num(np.clip(X.mean(axis=0, dtype=np.float64), low, high)))


def dense_columns_center(X: Any) -> Array:
    """Of sparse points: the mean of the columns that most rows have values in, and zero for the others."""
    stored = np.bincount(X.indices, minlength=X.shape[1])
    center = np.zeros(X.shape[1])
    for k in np.flatnonzero(2 * stored > X.shape[0]):
        column = X[:, [int(k)]].toarray().ravel()
        center[k] = robust_center(column[:, None])[0]
    return center


def of_distances(terms: Terms) -> bool:
    """Whether all that the kernel sees of two points is a distance."""
    return all(isinstance(f, OF_DISTANCES) for _, factors in terms for f in factors)


def needs_distances(terms: Terms) -> bool:
    """Whether some part of the kernel sees a distance."""
    return any(isinstance(f, OF_DISTANCES) for _, factors in terms for f in factors)


def float32_holds(terms: Terms) -> bool:
    """Whether the kernel's numbers neither overflow nor vanish in float32."""
    numbers = [coefficient for coefficient, _ in terms]
    for _, factors in terms:
        for factor in factors:
            numbers += [getattr(factor, name) for name in ("gamma", "a", "coef0") if hasattr(factor, name)]
    return all(value == 0 or 1e-30 <= abs(float(value)) <= 1e30 for value in numbers)


def largest_exponent(terms: Terms, norm: float) -> float:
    """γ‖x‖² at its largest, the exponent that dot products have to get right."""
    gammas = [float(f.gamma) for _, factors in terms for f in factors if isinstance(f, Gaussian)]
    with np.errstate(over="ignore", invalid="ignore"):
        return max((gamma * np.float64(norm) ** 2 for gamma in gammas if gamma > 0), default=0.0)


def value_error(terms: Terms, arithmetic: Arithmetic, length: int, *, sparse: bool, rounded: bool) -> ErrorBound:
    """A bound on the error of a kernel value, as a function of both norms and of how far they are apart.

    ``length`` is how many products a sum has; ``rounded`` whether coordinates were rounded on packing.
    """
    u = float(np.finfo(arithmetic.dtype).eps) / 2
    rule = _Rule(u, u if rounded else 0.0, length, arithmetic.differences, sparse)

    def bound(left: Array, right: Array, apart: Array) -> Array:
        total: Any = np.zeros(np.broadcast(left, right).shape)  # of constants too
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for coefficient, factors in terms:
                size: Any = abs(coefficient)
                error: Any = 0.0
                for factor in factors:
                    its_size, its_error = rule.factor(factor, left, right, apart)
                    error = error * its_size + size * its_error + error * its_error
                    size = size * its_size
                total = total + error + 2 * u * size
        return np.where(np.isnan(total), inf, total)

    return bound


@dataclass(frozen=True)
class _Rule:
    """Bounds on size and error of one primitive kernel."""

    u: float
    inputs: float  # relative error of coordinates
    length: int
    differences: bool
    sparse: bool

    def factor(self, kernel: Kernel, left: Array, right: Array, apart: Array) -> tuple[Array, Array]:
        u, d, both, product = self.u, self.length, left + right, left * right
        match kernel:
            case Linear():
                return product, (d + 2) * u * product
            case Polynomial(degree=degree, gamma=float(gamma), coef0=coef0):
                base = gamma * product + abs(coef0)
                error = gamma * (d + 2) * u * product + 3 * u * base
                if degree == 0:
                    return np.ones_like(base), np.zeros_like(base)
                return base**degree, degree * (base + error) ** (degree - 1) * error + 2 * degree * u * base**degree
            case Sigmoid(gamma=float(gamma), coef0=coef0):
                size = gamma * product + abs(coef0)
                return np.ones_like(product), gamma * (d + 2) * u * product + 3 * u * size + 8 * u
            case Gaussian(gamma=float(gamma)):
                return self.gaussian(gamma, both, apart)
            case Exponential(a=float(a)):
                return self.exponential(a, both, apart)
            case Laplacian(gamma=float(gamma)):
                return self.laplacian(gamma, both, apart)
        raise TypeError(f"kernel={kernel!r} has no bound on its error.")

    def gaussian(self, gamma: float, both: Array, apart: Array) -> tuple[Array, Array]:
        size = np.exp(-gamma * apart**2)
        if self.differences:
            error: Any = 0.0
            if self.inputs:
                t = np.maximum(np.sqrt(gamma) * apart, np.sqrt(0.5))
                error = np.minimum(2 * self.inputs * np.sqrt(gamma) * both * (t * np.exp(-(t**2))), 1.0)
            return size, error + (self.length + 10) * self.u
        off = (self.length + 6) * self.u * both**2
        error = np.minimum(1.0, gamma * off) * np.exp(-gamma * np.maximum(apart**2 - off, 0.0))
        return size, error + 8 * self.u

    def exponential(self, a: float, both: Array, apart: Array) -> tuple[Array, Array]:
        size = np.exp(-a * apart)
        if self.differences:
            return size, self._of_inputs(a, both) * size + (self.length + 10) * self.u
        off = np.sqrt((self.length + 6) * self.u) * both
        return size, np.minimum(a * off, 1.0) * np.exp(-a * np.maximum(apart - off, 0.0)) + 8 * self.u

    def laplacian(self, gamma: float, both: Array, apart: Array) -> tuple[Array, Array]:
        size, absolute = np.exp(-gamma * apart), np.sqrt(self.length) * both
        if self.differences or not self.sparse:
            return size, self._of_inputs(gamma, absolute) * size + (self.length + 10) * self.u
        off = 2 * (self.length + 4) * self.u * absolute
        return size, np.minimum(gamma * off, 1.0) * np.exp(-gamma * np.maximum(apart - off, 0.0)) + 8 * self.u

    def _of_inputs(self, gamma: float, both: Array) -> Array:
        """What rounded coordinates do to an exponent; nothing where they are exact, however large."""
        return np.minimum(gamma * self.inputs * both, 1.0) if self.inputs else np.zeros_like(both)


def row_errors(bound: ErrorBound, support: Array, weight: Array, norm: Array) -> Array:
    """Σ weight_i bound(support_i, norm_j) for every j, or a little more: many pairs are bounded in bins of norms."""
    if len(support) * len(norm) <= FEW_PAIRS:
        left, right = support[:, None], norm[None]
        return np.asarray(weight @ bound(left, right, np.abs(left - right)))
    i, rows_of = _bins(support)
    j, columns_of = _bins(norm)
    low_i, high_i = i[:, :, None]
    low_j, high_j = j[:, None]
    apart = np.maximum(0.0, np.maximum(low_i - high_j, low_j - high_i))
    summed = np.bincount(rows_of, weights=weight, minlength=i.shape[1])
    with np.errstate(invalid="ignore"):
        values = np.nan_to_num(summed @ bound(high_i, high_j, apart), nan=inf, posinf=inf)
    return np.asarray(values[columns_of])


def _bins(norm: Array) -> tuple[Array, NDArray[np.intp]]:
    """The least and the largest norm of each bin, bins even in the logarithm; and every norm's bin."""
    finite = np.minimum(norm, np.finfo(np.float64).max)
    logs = np.log2(np.maximum(finite, np.finfo(np.float64).tiny))
    low, high = float(logs.min()), float(logs.max())
    place = ((logs - low) * ((BINS - 1) / max(high - low, 1e-12))).astype(np.intp).clip(0, BINS - 1)
    used, place = np.unique(place, return_inverse=True)
    ends = np.empty((2, len(used)))
    ends[0], ends[1] = inf, 0.0
    np.minimum.at(ends[0], place, norm)
    np.maximum.at(ends[1], place, norm)
    return ends, place


def sample_rows(errors: Array, norms: Array | None = None, work: float = np.inf) -> NDArray[np.int64]:
    """Rows to measure on, the largest bounds first: those with the largest of all, the farthest, and some at random.

    ``work`` is how many multiplications a row takes: as many rows are taken as cost next to nothing.
    """
    m, count = len(errors), max(SAMPLE, int(SAMPLE_WORK / max(work, 1.0)))
    part = count // 3
    sample = np.arange(m)
    if m > count:
        extremes = [np.argpartition(each, m - part)[m - part :] for each in (errors, norms) if each is not None]
        others = np.random.default_rng(0).permutation(m)[: count - part * len(extremes)]
        sample = np.unique(np.concatenate((*extremes, others)))
    return sample[np.argsort(-errors[sample], kind="stable")].astype(np.int64)


def measured_share(measured: Array, bounds: Array) -> float:
    """What part of their bounds errors are, with a margin for rows that were not measured."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(bounds > 0, measured / bounds, 0.0)
    return float(min(1.0, SAFETY * np.nan_to_num(share, nan=1.0).max(initial=0.0)))


def extended_sum(terms: Terms, support: Any, coef: Array, rows: Any) -> Array:
    """Σ coef_i k(support_i, row) in extended precision, where the machine has it; distances by differences."""
    if is_sparse(support):
        used = np.unique(np.concatenate((support.indices, rows.indices)))
        support, rows = support[:, used], rows[:, used]
    right = _extended_rows(rows)
    out = np.zeros(len(right), dtype=np.longdouble)
    step = max(1, int(2e6 // max(right.size, 1)))
    with np.errstate(over="ignore", under="ignore"):
        for begin in range(0, support.shape[0], step):
            part = _extended_rows(support[begin : begin + step])[:, None]
            values = np.zeros((part.shape[0], len(right)), dtype=np.longdouble)
            for coefficient, factors in terms:
                term = np.full(values.shape, np.longdouble(coefficient))
                for factor in factors:
                    term *= _extended(factor, part, right[None])
                values += term
            out += coef[begin : begin + step].astype(np.longdouble) @ values
    return np.asarray(out, dtype=np.float64)


def _extended_rows(X: Any) -> Any:
    return np.asarray(X.toarray() if is_sparse(X) else X).astype(np.longdouble)


def _extended(kernel: Kernel, left: Any, right: Any) -> Any:
    match kernel:
        case Gaussian():
            return kernel.profile(((left - right) ** 2).sum(axis=-1))
        case Exponential():
            return kernel.profile(np.sqrt(((left - right) ** 2).sum(axis=-1)))
        case Laplacian():
            return kernel.profile(np.abs(left - right).sum(axis=-1))
        case _:
            return kernel.profile((left * right).sum(axis=-1))  # type: ignore[attr-defined]
