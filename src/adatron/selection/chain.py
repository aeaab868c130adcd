"""Problems that resemble each other, solved one after the other on one matrix in memory, each from the last.

From C to a larger C' the coefficients are multiplied by the s that lowers the objective most, which costs nothing
since their products with K grow alike; where hardly any is at its bound they stay. A climb's product K·β is checked
against an independent one, by its sum with random weights (Freivalds), and the certificate is then made from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron import _core
from adatron._check import Array
from adatron.certificates import CERTAIN, bias, certified, gradient, slack
from adatron.problems import Problem, meet_sums
from adatron.selection.widths import Matrix

Index = NDArray[np.int64]

SLICE_SECONDS = 0.03
STAY = 0.75  # of the working set: from one problem to the next little changes, and what stays need not be gathered
WORKING_SIZES = 384, 768  # where few coefficients are free, and where many are
FEW_BOUNDED = 0.3  # of the free: then coefficients stay where they are
ROUNDING = 1e-9  # of a product, relative to the sizes that went into it
IDLE = 4  # climbs without a smaller violation, before it is left as it is

# Many rows are climbed by those near the margin alone, whose part of the matrix is small enough to stay in cache.
MANY = 2000
NEIGHBOURS = 1.1  # rows for each that supports or violates
FEW_MORE = 64  # rows that come along when some are lacking
MOST_FEW = 0.5  # of all rows
ROOMY = 1.6  # times the rows that would do, and a part of the matrix is made anew
WORTHWHILE = 256  # free coefficients: fewer are soon done with
MANY_FREE = 256  # that a large working set is for
FEW_GAP = 0.03  # part of the violation that a climb over few rows aims at
MOSTLY = 0.5  # of the matrix is more than nothing


@dataclass(frozen=True)
class Reached:
    """Where a climb ended."""

    problem: Problem
    beta: Array
    product: Array  # K · fold(beta)
    violation: float
    steps: int

    @property
    def gradient(self) -> Array:
        """Of every variable."""
        return gradient(self.problem, self.product, self.beta)

    @property
    def bias(self) -> float:
        """Of the machine."""
        return bias(self.problem, self.gradient, self.beta)[0]

    @property
    def values(self) -> Array:
        """Decision values of all rows of the matrix."""
        return self.product + self.bias

    @property
    def coef(self) -> Array:
        """One coefficient a row."""
        return self.problem.fold(self.beta)


class Chain:
    """Climbs on one matrix, one after the other."""

    def __init__(
        self, matrix: Matrix, *, tol: float = 1e-3, pulse: Callable[[], Any] = lambda: None, probe: Array | None = None
    ) -> None:
        self.matrix, self.tol, self.pulse = matrix, tol, pulse
        m = len(matrix.diagonal)
        self._weights = np.random.default_rng(m).normal(size=m)
        self._probe = matrix.product(self._weights) if probe is None else probe
        # of a matrix that is mostly nothing, no part is worth copying
        self._worth = m >= MANY and (matrix.lit is None or float(matrix.lit.mean()) > MOSTLY)
        self._whole = _Part(None, matrix)
        self._kept: _Part | None = None

    def solve(self, problem: Problem, last: Reached | None = None) -> Reached:
        """From the last one's coefficients, if there is one, to this one's optimum."""
        self._whole.problem = None  # whatever its engine is at
        if self._kept is not None:
            self._kept.problem = None
        beta, product = self._start(problem, last)
        many = self._worth and last is not None and _free(problem, beta) >= WORTHWHILE
        part = self._whole
        steps, idle, fallen = 0, 0, False
        violation = least = certified(problem, beta, product).kkt_violation
        patience = IDLE if np.isfinite(problem.upper).all() or problem.ridge.any() else 1  # there may be no optimum
        while violation > self.tol * CERTAIN and idle < patience:
            if many:
                part = self._near(problem, beta, product, first=part is self._whole) or self._whole
                many = part is not self._whole
            goal = max(0.9 * self.tol, FEW_GAP * violation) if many else self.tol
            here = part.exact() if fallen else part
            end, beta, product, taken = self._climb(here, problem, beta, product, goal)
            steps += taken
            if not self._holds(problem.fold(beta), product):
                product = self.matrix.product(problem.fold(beta))
                part.problem = None  # its engine has to be told
            violation = certified(problem, beta, product).kkt_violation
            if end == _core.RunState.unbounded:
                break
            fallen = fallen or end == _core.RunState.stalled  # float32 sums are too coarse
            idle = 0 if violation < 0.9 * least else idle + 1
            least = min(least, violation)
        return Reached(problem, beta, product, violation, steps)

    def carried(self, last: Reached | None) -> Reached | None:
        """What another matrix's climb has reached, as a start on this one."""
        return None if last is None else replace(last, product=self.matrix.product(last.coef))

    def _near(self, problem: Problem, beta: Array, product: Array, *, first: bool) -> _Part | None:
        """The part of the matrix that has all rows that support or violate, and some that come next; None, if most do.

        What there is of another problem is kept, with more rows where it lacks any, unless it is much too large.
        """
        m = self.matrix.size
        nearest = slack(problem, beta, product)
        wanted = nearest < 0
        few = int(NEIGHBOURS * np.count_nonzero(wanted)) + WORKING_SIZES[0]
        rows = np.zeros(0, dtype=np.int64) if self._kept is None or self._kept.rows is None else self._kept.rows
        if first and len(rows) > ROOMY * few:
            rows = rows[:0]
        nearest[rows] = np.inf
        wanted[rows] = False
        lacking = np.count_nonzero(wanted)
        if len(rows) and not lacking:
            return self._kept
        count = min(few, m - 1) if not len(rows) else lacking + lacking // 4 + FEW_MORE
        if len(rows) + count > MOST_FEW * m:
            self._kept = None
            return None
        nearest[wanted] = -np.inf
        more = np.sort(np.argpartition(nearest, count)[:count])
        done, rows = len(rows), np.concatenate((rows, more))
        values = self.matrix.room(int(MOST_FEW * m))
        self.matrix.core.compact(rows, done=done, out=values)
        self._kept = _Part(rows, Matrix(values, self.matrix.diagonal[rows]))
        return self._kept

    def _climb(
        self, part: _Part, problem: Problem, beta: Array, product: Array, goal: float
    ) -> tuple[Any, Array, Array, int]:
        """Where a climb ends: how, coefficients, product, after how many steps."""
        size = WORKING_SIZES[self._worth and _free(problem, beta) > MANY_FREE]
        engine, here = part.climb(problem, beta, product, size), part.of(problem)
        options = _core.RunOptions(goal=goal, seconds=SLICE_SECONDS, stay=STAY)
        before, end = engine.steps, _core.RunState.running
        while end == _core.RunState.running:
            end = engine.run(options)
            self.pulse()
        steps, inside = engine.steps - before, np.ascontiguousarray(beta[here])
        engine.write(inside)
        if not np.isfinite(inside).all():
            return _core.RunState.unbounded, beta, product, steps
        after = beta.copy()
        after[here] = inside
        if part.rows is None:
            return end, after, engine.product, steps
        return end, after, product + self.matrix.product(problem.fold(after) - problem.fold(beta)), steps

    def _start(self, problem: Problem, last: Reached | None) -> tuple[Array, Array]:
        if last is None or len(last.beta) != len(problem):
            beta = problem.start()
            return beta, self.matrix.product(problem.fold(beta))
        if problem.totals.any() or ((last.beta > problem.upper) | (last.beta < problem.lower)).any():
            beta = _moved(problem, last.beta)
            return beta, last.product + self.matrix.product(problem.fold(beta) - last.coef)
        scale = _scale(problem, last)
        beta = np.clip(scale * last.beta, problem.lower, problem.upper)
        # what was at its bound and comes within rounding of the new one is at it
        for old, new in ((last.problem.lower, problem.lower), (last.problem.upper, problem.upper)):
            was = (last.beta == old) & (old != 0) & (np.abs(beta) >= (1 - 1e-12) * np.abs(new))
            beta = np.where(was, new, beta)
        return beta, scale * last.product

    def _holds(self, coef: Array, product: Array) -> bool:
        """Whether product = K coef, by their sums with random weights."""
        size = float(np.abs(coef) @ np.abs(self._probe)) + 1e-300
        return abs(float(self._weights @ product - self._probe @ coef)) <= ROUNDING * size


@dataclass
class _Part:
    """Some rows (None: all) and their part of the matrix, with the engine that climbs on it."""

    rows: Index | None
    matrix: Matrix
    engine: Any = None
    shape: tuple[int, ...] = ()
    problem: Problem | None = None  # that the engine is at

    def climb(self, problem: Problem, beta: Array, product: Array, working_size: int) -> Any:
        """The engine, at the start of a problem or where it left it."""
        if self.problem is problem:
            return self.engine
        self.problem = problem
        data, here = problem.spans, self.of(problem)
        if self.rows is not None:
            data |= {name: data[name][here] for name in ("linear", "lower", "upper", "ridge", "group")}
            data |= {"rows": len(self.rows)}
        data |= {"beta": np.ascontiguousarray(beta[here])}
        data |= {"product": product if self.rows is None else np.ascontiguousarray(product[self.rows])}
        shape = len(problem), len(problem.totals), working_size
        if self.engine is None or self.shape != shape:
            make: Any = _core.Engine64 if self.matrix.values.dtype == np.float64 else _core.Engine32
            self.engine, self.shape = make(self.matrix.core, **data, working_size=working_size), shape
        else:
            self.engine.load(**data)
        return self.engine

    def of(self, problem: Problem) -> Any:
        """Where its variables are among the problem's."""
        if self.rows is None:
            return slice(None)
        return np.concatenate((self.rows, self.rows + problem.rows)) if problem.doubled else self.rows

    def exact(self) -> _Part:
        """In float64, for sums that float32 is too coarse for."""
        n = self.matrix.size
        if self.matrix.values.dtype == np.float64:
            return self
        return _Part(self.rows, Matrix(self.matrix.values[:n, :n].astype(np.float64), self.matrix.diagonal))


def _moved(problem: Problem, beta: Array) -> Array:
    """Clipped to the box; what the sums then lack goes to few coefficients, those with most room, free ones first."""
    beta = np.clip(beta, problem.lower, problem.upper)
    for members, total in problem.sums:
        part, low, high = beta[members], problem.lower[members], problem.upper[members]
        missing = total - float(part.sum())
        room = np.minimum(high - part, abs(missing)) if missing > 0 else np.minimum(part - low, abs(missing))
        free = (part > low) & (part < high)
        first = np.lexsort((-room, ~free))
        before = np.concatenate(([0.0], np.cumsum(room[first])[:-1]))
        part[first] += np.copysign(np.minimum(room[first], np.maximum(abs(missing) - before, 0.0)), missing)
        beta[members] = part
    return meet_sums(problem, beta)  # rounding


def _free(problem: Problem, beta: Array) -> int:
    return int(np.count_nonzero((beta > problem.lower) & (beta < problem.upper)))


def _scale(problem: Problem, last: Reached) -> float:
    """The multiple of the last coefficients with the lowest objective, as far as the box goes."""
    beta = last.beta
    free = _free(last.problem, beta)
    bounded = np.count_nonzero(beta) - free
    curvature = float(last.coef @ last.product + (problem.ridge * beta * beta).sum())
    slope = -float(problem.linear @ beta)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(beta > 0, problem.upper / beta, np.where(beta < 0, problem.lower / beta, np.inf))
    most = float(ends.min(initial=np.inf))
    if most < 1 or bounded >= FEW_BOUNDED * free:
        return min(slope / curvature if curvature > 0 and slope > 0 else 1.0, most)
    return 1.0
