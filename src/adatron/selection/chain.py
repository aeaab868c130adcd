"""Problems that resemble each other, solved one after the other on one matrix in memory, each from the last.

From C to a larger C' the coefficients are multiplied by the s that lowers the objective most, which costs nothing
since their products with K grow alike; where hardly any is at its bound they stay. Each problem is solved by the core's
driver (core/driver.cpp), which keeps its active rows and their kernel values from one problem to the next. The product
K·β that it has at the end is checked against an independent one, by its sum with random weights (Freivalds), and the
violation is then made from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron import _core
from adatron._check import Array
from adatron.certificates import CERTAIN, bias, gradient
from adatron.problems import Problem, meet_sums
from adatron.selection.widths import MANY, MOST_FEW, Matrix

Index = NDArray[np.int64]

SLICE_SECONDS = 0.03
STAY = 0.75  # of the working set: from one problem to the next little changes, and what stays need not be gathered
WORKING_SIZES = 384, 768  # where few coefficients are free, and where many are
FEW_BOUNDED = 0.3  # of the free: then coefficients stay where they are
ROUNDING = 1e-9  # of a product, relative to the sizes that went into it
IDLE_RUNS = 3  # in a row that do not bring the violation a tenth further, before it is left as it is

NEAR = _core.ActiveRows(neighbours=1.1, spare=WORKING_SIZES[0], most=MOST_FEW, keep=True)
WORTHWHILE = 256  # free coefficients: fewer are soon done with
MANY_FREE = 256  # that a large working set is for
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
        self._driver = _driver_of(matrix)

    def solve(self, problem: Problem, last: Reached | None = None) -> Reached:
        """From the last one's coefficients, if there is one, to this one's optimum."""
        beta, product = self._start(problem, last)
        near = self._worth and last is not None and _free(problem, beta) >= WORTHWHILE
        reached = self._driven(self._driver, problem, beta, product, near)
        coarse = self.matrix.values.dtype == np.float32 and reached.violation > self.tol * CERTAIN
        if coarse and _is_bounded(problem):
            exact = self.matrix.values.astype(np.float64)  # sums in float32 were too coarse
            driver = _driver_of(Matrix(exact, self.matrix.diagonal))
            again = self._driven(driver, problem, reached.beta, reached.product, near=False)
            reached = replace(again, steps=reached.steps + again.steps)
        return reached

    def _driven(self, driver: Any, problem: Problem, beta: Array, product: Array, near: bool) -> Reached:
        """Where the driver ends."""
        state = _core.RunState
        options = _core.DriverOptions(
            run=_core.RunOptions(goal=self.tol, seconds=SLICE_SECONDS, stay=STAY),
            active=NEAR if near else None,
            working_size=WORKING_SIZES[self._worth and _free(problem, beta) > MANY_FREE],
            idle_runs=IDLE_RUNS if _is_bounded(problem) else 0,  # or there may be no optimum
            ends_stalled=self.matrix.values.dtype == np.float32 and driver is self._driver,
        )
        driver.load(**problem.spans, beta=beta, product=product)
        while (at := driver.advance(options)) in (state.running, state.needs_product):
            if at == state.needs_product:
                before, beta = beta, np.empty(len(problem))
                driver.write(beta)
                coef = problem.fold(beta)
                if driver.product_is_complete:
                    product = driver.product
                else:
                    product = product + self.matrix.product(coef - problem.fold(before))
                if not self._holds(coef, product):
                    product = self.matrix.product(coef)
                driver.judge(product)
            self.pulse()
        return Reached(problem, beta, product, driver.violation, driver.steps)

    def carried(self, last: Reached | None) -> Reached | None:
        """What another matrix's climb has reached, as a start on this one."""
        return None if last is None else replace(last, product=self.matrix.product(last.coef))

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


def _driver_of(matrix: Matrix) -> Any:
    make: Any = _core.Driver64 if matrix.values.dtype == np.float64 else _core.Driver32
    return make(matrix.core)


def _is_bounded(problem: Problem) -> bool:
    """Whether an optimum exists for sure."""
    return bool(np.isfinite(problem.upper).all() or problem.ridge.any())


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
