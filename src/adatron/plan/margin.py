"""Margins of the ν-problems: solved on their own scale, and what to do where ν leaves none.

The linear term of ν-classification and of the one-class problem is zero, so the kernel alone sets the scale of their
gradients, and an absolute ``tol`` says nothing about kernel values that are small beside it. The scale that counts is
ρ, the margin: a solution is taken as it is only where its KKT violation is small beside ρ.

With a regularisation parameter C in the place of ν, the problem ½‖w‖² + C Σ max(0, 1 − y f) has the same solution,
times C: ρ = 1/C, and

    ν(C) = Σ|β| / (C Σ weight) = mean hinge loss + ‖w‖² / (C Σ weight),

which falls as C grows, down to ν_min, the smallest mean hinge loss there is. Where ν < ν_min, the optimum is w = 0 and
ρ = 0. The scale of that problem is 1 whatever the kernel's, so following it for growing C tells both cases apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor, log10
from typing import Any

import numpy as np

from adatron._check import Array
from adatron.gram import Gram
from adatron.kernels import Precomputed
from adatron.problems import Problem
from adatron.solution import Solution, Status
from adatron.solvers import is_certain

CLEAR = 10.0  # times the KKT violation that ρ has to be
ROUNDING = 1e-14  # of Σ|β| times the largest kernel value: what sums of kernel values cannot tell from zero
FINE = 1e-6  # of the same, a tolerance that suits a kernel of any scale
GROWTH = 10.0  # of C from one problem to the next
SPAN = 1e11  # the largest C, as a multiple of the first
SETTLED = 0.01  # share of ν(C) that a larger C might still save
SOFT_TOL = 1e-3  # where the margin is 1
NOTHING = 1e-3  # an output smaller than this, where the margin is 1, is none

SMALLEST = 1e-130  # largest kernel value whose squares, and those of C, can be reckoned with

FLOAT32 = float(np.finfo(np.float32).eps)  # the same where kernel values were given in float32

ENDED = (Status.CONVERGED, Status.STALLED, Status.IMPRECISE)

Solve = Callable[[Problem, Array | None, float, int], Solution]  # from a start, to a tol, after so many iterations


def margin_is_clear(rho: Any, error: Any, size: Any, largest: Any, *, given_in_float32: bool = False) -> Any:
    """Whether ρ, or each of several, is more than a solution's errors.

    These are ``error``, its KKT violation and what is known of its rounding, and what sums of kernel values up to
    ``largest``, with coefficients of the total ``size`` = Σ|β|, cannot tell from zero.
    """
    return rho > CLEAR * (error + (FLOAT32 if given_in_float32 else ROUNDING) * size * largest)


@dataclass
class Margin:
    """The margin of one problem without a linear term; after `settle`, what was found of it."""

    problem: Problem
    tol: float
    raises_nu: bool  # whether to solve with the smallest ν that has a margin where the given one has none
    smallest: float | None = None  # ν that gives a margin, where the given one does not
    flat: bool = False  # whether the solution has no margin: w = 0

    @cached_property
    def weight(self) -> Array:
        """Of each row."""
        return self.problem.upper - self.problem.lower

    @cached_property
    def total(self) -> float:
        """Of all rows."""
        return float(self.weight.sum())

    @cached_property
    def signs(self) -> Array:
        """The class of each row."""
        return np.where(self.problem.group == 0, 1.0, -1.0)

    def nu(self, problem: Problem) -> float:
        """The ν of a problem with these rows."""
        return float(np.abs(problem.totals).sum()) / self.total

    def is_clear(self, solution: Solution, gram: Gram) -> bool:
        """Whether ρ is more than the solution's errors; of a solve that was ended early nothing is asked."""
        if solution.status not in ENDED:
            return True
        at = solution.certificate
        rho = at.rho if len(self.problem.totals) == 2 else abs(at.bias)  # < 0 for kernels that are not semidefinite
        given = isinstance(gram.kernel, Precomputed) and gram.X.dtype == np.float32
        size, largest = np.abs(solution.beta).sum(), np.abs(gram.diagonal).max()
        return bool(margin_is_clear(rho, at.kkt_violation + at.rounding, size, largest, given_in_float32=given))

    def settle(self, solution: Solution, gram: Gram, solve: Solve) -> Solution:
        """The solution with a margin that is more than its errors, at a larger ν if need be and allowed."""
        scale = float(np.abs(gram.diagonal).max())
        if not SMALLEST < scale < 1 / SMALLEST:
            self.flat = True
            return solution
        fine = FINE * float(np.abs(solution.beta).sum()) * scale
        if fine < self.tol:
            solution = self._further(self.problem, solution, solution.beta, fine, solve)
            if self.is_clear(solution, gram):
                return solution
        return self._follow(solution, gram, 1 / (self.total * scale), solve)

    def _follow(self, solution: Solution, gram: Gram, least: float, solve: Solve) -> Solution:
        """Solve with growing C, until ν(C) is down to the ν asked for or falls no further."""
        wanted, C, previous, start = self.nu(self.problem), least, 0.0, None
        while True:
            soft = self._soft(C)
            at = solve(soft, start, SOFT_TOL, solution.n_iter)
            solution = replace(solution, n_iter=solution.n_iter + at.n_iter)
            if at.status not in ENDED:
                return replace(solution, status=at.status)
            spent = float(np.abs(at.beta).sum())
            nu, norm = spent / (C * self.total), max(2 * (at.certificate.objective + spent), 0.0)
            settled = norm <= GROWTH * previous and norm <= SETTLED * spent
            settled |= at.status is Status.STALLED  # a larger C is harder still
            if nu <= wanted or settled or least * SPAN < C * GROWTH:
                break
            at_bound = (at.beta == soft.lower) | (at.beta == soft.upper)
            start = np.where(at_bound, GROWTH, 1.0) * at.beta
            previous, C = norm, C * GROWTH
        self.flat = True
        if norm * float(np.abs(gram.diagonal).max()) < NOTHING**2:
            return solution
        problem = self.problem
        if nu > wanted:
            largest = float(min(self.weight[self.problem.group == g].sum() for g in set(self.problem.group)))
            largest *= len(self.problem.totals) / self.total
            self.smallest = min(_rounded_up(nu), largest)
            if not self.raises_nu:
                return solution
            problem = replace(problem, totals=problem.totals * (self.smallest / wanted))
        found = self._further(problem, solution, at.beta / C, min(self.tol, SOFT_TOL / C), solve)
        self.flat = not self.is_clear(found, gram)
        return found

    def _further(self, problem: Problem, before: Solution, start: Array, tol: float, solve: Solve) -> Solution:
        """One more solve; one that stalls below the tolerance asked of the fit has converged for all that."""
        found = solve(problem, start, tol, before.n_iter)
        at = found.certificate
        if (
            found.status in ENDED
            and at.kkt_violation <= self.tol
            and is_certain(at.kkt_violation, at.rounding, self.tol)
        ):
            found.status = Status.CONVERGED
        return replace(found, n_iter=before.n_iter + found.n_iter)

    def _soft(self, C: float) -> Problem:
        """The problem with C in the place of ν: a bias, where ν-classification has one."""
        totals = np.zeros(len(self.problem.totals) - 1)
        lower, upper = C * self.problem.lower, C * self.problem.upper
        return Problem("hinge", -self.signs, lower, upper, totals=totals)


def _rounded_up(nu: float) -> float:
    """To three digits, a little above: so that what a message says has a margin."""
    unit = 10.0 ** (floor(log10(nu)) - 2)
    return ceil(nu * (1 + SETTLED / 2) / unit) * unit
