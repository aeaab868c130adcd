"""A primal active-set method for small problems: it finishes a run that would take too long.

Free coefficients F are those whose rows of K̃ are linearly independent; all others stay where they are, at a bound or
between the two. One iteration either

* moves F to the minimiser with everything else held, or as far as the first bound on the way, which then holds the
  coefficient that reached it; or, when F is at its minimiser,
* lets go of the coefficient that violates optimality most. If its row depends on those of F, the objective is linear
  along the direction that F and it make together: they move until one of them reaches a bound. So F stays independent
  however singular K is, and every step leads downhill.

K̃ = K + ridge + ρ within each sum: for coefficients that keep the sums this adds a constant to the objective, and it
makes "independent" mean what the sums need. Steps are solved with the core's own Cholesky factor, in float64.

After     Gill, Murray & Wright (1981), chapter 5, and inertia control: Gill, Murray, Saunders & Wright (1991).
Stop      nothing violates optimality by more than a part of tol, or by more than rounding; else at the CPU limit or
          after `ITERATIONS` iterations per coefficient. The best iterate by KKT violation is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from adatron import _core
from adatron._check import Array
from adatron.certificates import gradient, kkt_violation
from adatron.problems import Problem

DEPENDENT = 1e-11  # of its diagonal, what is left of a row that depends on others
ITERATIONS = 50  # per coefficient
SHARE = 0.1  # of tol that may be left
REFINEMENTS = 3  # full steps over the same free coefficients
DEGENERATE = 10  # steps of no length in a row, after which the next coefficient is drawn at random
EPS = float(np.finfo(np.float64).eps)

Index = NDArray[np.intp]


class Unbounded(Exception):
    """The objective falls for ever along a direction that no bound ends."""


class ActiveSet:
    """One run, from a feasible ``beta``; ``K`` is the whole matrix."""

    def __init__(self, problem: Problem, K: Array, beta: Array, tol: float) -> None:
        self.problem, self.K, self.beta, self.tol = problem, K, beta.copy(), tol
        self.row = np.arange(len(problem)) % problem.rows
        diagonal = K.diagonal()
        self.largest = float(np.abs(diagonal).max())
        mean = float(np.abs(diagonal).mean())
        self.rho = (mean if mean > 0 else 1.0) if problem.sums else 0.0
        self.diagonal = diagonal[self.row] + problem.ridge + self.rho
        self.members = [problem.group == k for k in range(len(problem.totals))]
        self.random = np.random.default_rng(0)
        self.best, self.lowest = self.beta.copy(), inf
        inside = np.flatnonzero((beta > problem.lower) & (beta < problem.upper))
        self.free: list[int] = [int(i) for i in inside[_independent(self.matrix(inside, inside))]]

    def matrix(self, i: Index, j: Index) -> Array:
        """K̃[i, j] without the ridge, which only the diagonal of a coefficient with itself has."""
        problem = self.problem
        values = self.K[np.ix_(self.row[i], self.row[j])]
        if self.rho:
            values += self.rho * (problem.group[i][:, None] == problem.group[j])
        values += problem.ridge[i][:, None] * (i[:, None] == j)
        return np.ascontiguousarray(values)

    def run(self, cpu_end: float, check: Callable[[], None]) -> Array:
        """Iterate until optimal, or until the thread's CPU clock says ``cpu_end``; the best coefficients.

        ``check`` may raise to end the run; `best` is then what was reached.
        """
        refined = still = 0
        for _ in range(ITERATIONS * len(self.problem) + 100):
            check()
            if thread_time() > cpu_end:
                break
            g = self.gradient()
            free = np.array(self.free, dtype=np.intp)
            if not self.factor(free):
                continue
            level = self.levels(g, free)
            threshold = self.threshold()
            off = float(np.abs(g[free] + level[free]).max(initial=0.0))
            if off > threshold and refined < REFINEMENTS:
                length = self.move(free, self.newton(g, free), most=1.0)
                refined = refined + 1 if length == 1.0 else 0
                still = 0 if length > 0 else still + 1
                continue
            refined = 0
            self.keep(g)
            entering = self.entering(g, level, threshold, at_random=still > DEGENERATE)
            if entering is None:
                break
            q, sign = entering
            if q in self.free:  # the seed of a sum that had no free coefficient: it gives the level
                continue
            direction = self.dependent(free, q, sign)
            if direction is None:
                self.free.append(q)
                continue
            both = np.append(free, q)
            self.free.append(q)
            slope = float((g[both] * direction).sum())
            curvature = self.curvature(both, direction)
            length = self.move(both, direction, most=-slope / curvature if curvature > 0 else inf)
            still = 0 if length > 0 else still + 1
            if q in self.free and len(self.free) == len(both):  # no bound on the way: q stays where it is now
                self.free.remove(q)
        self.keep(self.gradient())
        return self.best

    def gradient(self) -> Array:
        product = np.einsum("ij,j->i", self.K, self.problem.fold(self.beta))
        return gradient(self.problem, product, self.beta)

    def threshold(self) -> float:
        """A violation that is small enough, or that rounding may have made."""
        return max(SHARE * self.tol, EPS * self.largest * float(np.abs(self.beta).sum()))

    def keep(self, g: Array) -> None:
        """Remember the iterate if it is the best so far."""
        violation = kkt_violation(self.problem, g, self.beta)
        if violation < self.lowest and np.isfinite(self.beta).all():
            self.best, self.lowest = self.beta.copy(), violation

    def factor(self, free: Index) -> bool:
        """Factor K̃ of the free; False where rounding made it singular, and fewer are free from now on."""
        self.L = self.matrix(free, free)
        if _core.cholesky(self.L):
            present = [here[free].astype(np.float64) for here in self.members if here[free].any()]
            self.A = np.array(present).reshape(len(present), len(free))
            self.across = self.A.copy()
            _core.cholesky_solve(self.L, self.across)
            self.schur = np.einsum("kf,lf->kl", self.A, self.across)
            if _is_regular(self.schur):
                return True
        kept = _independent(self.matrix(free, free))
        self.free = [int(i) for i in free[kept if len(kept) < len(free) else kept[:-1]]]
        return False

    def levels(self, g: Array, free: Index) -> Array:
        """Minus the gradient that each coefficient is held against: NaN where a sum has no free one."""
        level = np.zeros(len(self.problem))
        for here in self.members:
            inside = free[here[free]]
            level[here] = -float(g[inside].mean()) if len(inside) else np.nan
        return level

    def newton(self, g: Array, free: Index) -> Array:
        """The step to the minimiser over the free, which also mends what rounding did to the sums."""
        step = -g[free]
        _core.cholesky_solve(self.L, step)
        if len(self.A):
            lacks = np.array([t - self.beta[i].sum() for i, t in self.problem.sums])
            present = [bool(here[free].any()) for here in self.members]
            wrong = np.einsum("kf,f->k", self.A, step) - lacks[present]
            step = step - np.einsum("kf,k->f", self.across, np.linalg.solve(self.schur, wrong))
        return step

    def dependent(self, free: Index, q: int, sign: float) -> Array | None:
        """The direction of q and the free along which the objective has no curvature; None if there is some."""
        one = np.array([q])
        k = self.matrix(free, one)[:, 0]
        x = k.copy()
        _core.cholesky_solve(self.L, x)
        rounding = 16 * EPS * (self.largest + self.rho) * (1.0 + float(np.abs(x).sum())) ** 2
        if self.diagonal[q] - float((k * x).sum()) > max(DEPENDENT * self.diagonal[q], rounding):
            return None
        if len(self.A):
            present = [here for here in self.members if here[free].any()]
            own = np.array([float(here[q]) for here in present])
            c = np.linalg.solve(self.schur, np.einsum("kf,f->k", self.A, x) - own)
            x = x - np.einsum("kf,k->f", self.across, c)
        direction = sign * np.append(-x, 1.0)
        direction[np.abs(direction) < DEPENDENT * np.abs(direction).max()] = 0.0  # rounding must not meet a bound
        return direction

    def curvature(self, index: Index, direction: Array) -> float:
        """dᵀKd, or 0 where it is rounding."""
        folded = np.bincount(self.row[index], weights=direction, minlength=self.problem.rows)
        value = float((folded * np.einsum("ij,j->i", self.K, folded)).sum())
        value += float((self.problem.ridge[index] * direction**2).sum())
        return value if value > 4 * EPS * self.largest * float(np.abs(direction).sum()) ** 2 else 0.0

    def move(self, index: Index, step: Array, most: float) -> float:
        """Along ``step`` up to ``most`` times; the first to reach its bound is held there. The length of the move."""
        lower, upper, beta = self.problem.lower[index], self.problem.upper[index], self.beta[index]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0, (upper - beta) / step, np.where(step < 0, (lower - beta) / step, inf))
        first = int(room.argmin())
        length = float(min(max(room[first], 0.0), most))
        if not np.isfinite(length):
            raise Unbounded
        self.beta[index] = np.clip(beta + length * step, lower, upper)
        if room[first] <= most:
            self.beta[index[first]] = upper[first] if step[first] > 0 else lower[first]
            self.free.remove(int(index[first]))
        return length

    def entering(self, g: Array, level: Array, threshold: float, *, at_random: bool) -> tuple[int, float] | None:
        """Who violates optimality most among those held, and which way it wants to go."""
        problem, beta = self.problem, self.beta
        grows, shrinks = beta < problem.upper, beta > problem.lower
        for here in self.members:
            if np.isnan(level[here]).any():  # no free coefficient: a pair has to be let go
                up, down = np.where(here & grows, -g, -inf), np.where(here & shrinks, -g, inf)
                if up.max() - down.min() > threshold:
                    seed = int(down.argmin())
                    self.free.append(seed)
                    return seed, 1.0
                level = np.where(here, inf, level)
        pull = np.where(np.isfinite(level), -g - level, 0.0)
        pull[self.free] = 0.0
        violation = np.maximum(np.where(grows, pull, 0.0), np.where(shrinks, -pull, 0.0))
        if not violation.max() > threshold:
            return None
        wanting = np.flatnonzero(violation > threshold)
        q = int(self.random.choice(wanting) if at_random else violation.argmax())
        return q, float(np.sign(pull[q]))


def _is_regular(M: Array) -> bool:
    """Whether a positive definite matrix, of one row per sum, can be solved with after all that rounding has left."""
    scale = np.sqrt(np.maximum(M.diagonal(), 0.0))
    if not (np.isfinite(M).all() and (scale > 0).all()):
        return False
    return not len(M) or bool(np.linalg.eigvalsh(M / np.outer(scale, scale)).min() > 4 * EPS)


def _independent(M: Array) -> Index:
    """Places of rows of a positive semidefinite matrix that are linearly independent, by Cholesky with pivots."""
    first = np.maximum(M.diagonal(), 0.0)
    left, kept = first.copy(), []
    rows = np.zeros_like(M)
    for k in range(len(M)):
        share = np.divide(left, first, out=np.zeros_like(left), where=first > 0)
        i = int(share.argmax())
        if not share[i] > DEPENDENT:
            break
        row = (M[i] - np.einsum("k,kj->j", rows[:k, i], rows[:k])) / np.sqrt(left[i])
        rows[k] = row
        left = left - row**2
        left[i] = 0.0
        kept.append(i)
    return np.array(kept, dtype=np.intp)
