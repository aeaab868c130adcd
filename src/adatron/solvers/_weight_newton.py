"""Newton steps in the weight vector, for many rows of few features.

Let every term of the dual have a ridge R > 0. Then minimising over β in its box at given f = scale · x·w + b is
explicit, β(f) = clip(−(p + f) / R, lower, upper), and what remains is a convex, piecewise quadratic function of (w, b),

    Φ(w, b) = ½ scale ‖w‖² + b · total − Σ min_β [½ R β² + (p + f) β],   ∇_w Φ = scale (w − Xᵀβ),  ∇_b Φ = total − Σβ

(without a sum b² / (2 constant) takes the place of b · total). Its Hessian has as many rows as there are features, and
a Newton step with an exact line search costs a pass over X and the outer products of the rows whose β is free.

Squared hinge has the ridge. Hinge and ε-insensitive loss get one by the proximal-point method: ½ Σ R (β − β')² with
R = h / (upper − lower), β' being the last solution, so that a coefficient crosses its box while f changes by h; h falls
as long as a few steps suffice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adatron import _core
from adatron._check import Array
from adatron.packing import Pulse
from adatron.problems import Problem
from adatron.weight_space import WeightSpace

OUTER_WORK = 3e8  # multiplications for the Hessian in one call of the core: some hundredths of a second
FALL = 4.0  # of h from one solution to the next
QUICK = 5  # Newton steps up to which h falls further
MOST = 12  # Newton steps until the centre is moved in any case
MOST_WITHOUT = 30  # Newton steps where there is no centre: five are usual
EXACT = 0.05  # part of its slope at the start of a line search that is left at its end
TRIALS = 20  # points of a line search
JITTER = 1e-14  # of the diagonal, which is scaled to one


class WeightNewton:
    """Where the method stands: w, b and the coefficients that go with them.

    Parameters
    ----------
    problem : Problem
        With at most one sum; finite bounds wherever there is no ridge.
    space : WeightSpace
    beta : array of shape (n_variables,)
        Where to start.
    bias : float
        That goes with it.
    """

    def __init__(self, problem: Problem, space: WeightSpace, beta: Array, bias: float, pulse: Pulse) -> None:
        self.problem, self.space, self.pulse = problem, space, pulse
        self.has_sum = bool(problem.sums)
        self.total = float(problem.totals[0]) if self.has_sum else 0.0
        self.has_bias = self.has_sum or space.constant > 0
        movable = problem.lower < problem.upper
        self.width = np.where(movable, problem.upper - problem.lower, 1.0)
        self.proximal = bool((problem.ridge[movable] == 0).any())
        self.fixed = ~movable
        self.h = 0.0
        self.w = space.weights(problem.fold(beta), pulse)
        self.b = bias if self.has_sum else space.constant * float(beta.sum())
        self.f = space.scale * space.values(self.w, pulse) + self.b
        if self.proximal:  # at the start about half of what violates optimality moves freely
            g = self.spread(self.f) + problem.ridge * beta + problem.linear
            wrong = np.where(g < 0, beta < problem.upper, beta > problem.lower) & movable
            self.h = 2.0 * float(np.abs(g[wrong]).mean()) if wrong.any() else 0.0
            self.h = self.h or float(np.abs(problem.linear).mean()) or 1.0
        self.steps = 0  # since the centre was moved
        self.total_steps, self.work = 0, 0.0  # the latter in multiplications
        self._center(beta)

    def spread(self, values: Array) -> Array:
        """One value per variable from one per row."""
        return np.concatenate((values, values)) if self.problem.doubled else values

    def _center(self, beta: Array) -> None:
        """Let β be the centre of the proximal term."""
        problem = self.problem
        self.R, self.p = problem.ridge, problem.linear
        if self.proximal:
            own = self.h / self.width
            self.R, self.p = self.R + own, self.p - own * beta
        self.R = np.where(self.fixed, 1.0, self.R)
        self.beta = self._at(self.f)
        self.from_beta = self.space.weights(problem.fold(self.beta), self.pulse)  # Xᵀβ
        self.steps = 0

    def _at(self, f: Array) -> Array:
        """β(f)."""
        return np.clip(-(self.p + self.spread(f)) / self.R, self.problem.lower, self.problem.upper)

    def product(self) -> Array:
        """K·fold(β)."""
        sum_ = self.space.constant * float(self.beta.sum())
        return self.space.scale * self.space.values(self.from_beta, self.pulse) + sum_

    def advance(self) -> bool:
        """One Newton step; whether it ended where Φ is least."""
        problem, space, scale = self.problem, self.space, self.space.scale
        free = (self.beta > problem.lower) & (self.beta < problem.upper)
        slope_w = scale * (self.w - self.from_beta)
        sum_ = float(self.beta.sum())
        slope_b = 0.0
        if self.has_bias:
            slope_b = self.total - sum_ if self.has_sum else self.b / space.constant - sum_
        dw, db = self._direction(free, slope_w, slope_b)
        df = scale * space.values(dw, self.pulse) + db
        tau, beta = self._search(dw, db, df, float(slope_w @ dw) + slope_b * db)
        self.w, self.b, self.f = self.w + tau * dw, self.b + tau * db, self.f + tau * df
        change = problem.fold(beta) - problem.fold(self.beta)
        self.from_beta = self.from_beta + space.weights(change, self.pulse)
        self.beta = beta
        self.steps += 1
        self.total_steps += 1
        still = np.array_equal(free, (beta > problem.lower) & (beta < problem.upper))
        return bool(tau == 1.0 and still)

    def recenter(self) -> None:
        """Make β the centre, with a smaller h if the last one took few steps."""
        if self.tired:  # perhaps because of rounding
            self.f = self.space.scale * self.space.values(self.w, self.pulse) + self.b
        if self.proximal and self.steps <= QUICK:
            self.h /= FALL
        self._center(self.beta)

    @property
    def tired(self) -> bool:
        """Whether so many steps have not minimised Φ that it is time to see where they have led."""
        return self.steps >= (MOST if self.proximal else MOST_WITHOUT)

    def _direction(self, free: Any, slope_w: Array, slope_b: float) -> tuple[Array, float]:
        """Newton's: the Hessian's equations solved with the diagonal scaled to one."""
        problem, space, d = self.problem, self.space, self.space.features
        curvature = problem.fold(np.where(free, 1.0 / self.R, 0.0))
        index = np.flatnonzero(curvature)
        weight = np.ascontiguousarray(curvature[index])
        upper = np.zeros((d, d))
        step = max(64, int(OUTER_WORK / max(d * d, 1)))
        for k in range(0, len(index), step):
            part = slice(k, k + step)
            space.rows.add_outer(index=index[part], weight=weight[part], out=upper, threads=space.threads)
            self.pulse()
        self.work += (len(index) / 2 + d / 6) * d * d + 4.0 * space.count * space.values_of_a_row
        size = d + self.has_bias
        H = np.zeros((size, size))
        H[:d, :d] = space.scale**2 * (np.triu(upper) + np.triu(upper, 1).T)
        H[np.arange(d), np.arange(d)] += space.scale
        slope = slope_w
        if self.has_bias:
            H[d, :d] = H[:d, d] = space.scale * space.weights(curvature, self.pulse)
            own = 0.0 if self.has_sum else 1.0 / space.constant
            H[d, d] = float(weight.sum()) + own or float((1.0 / self.R).mean())  # all at bounds: some step is better
            slope = np.append(slope_w, slope_b)
        diagonal = np.sqrt(np.diagonal(H))
        H /= diagonal[:, None] * diagonal
        jitter = JITTER
        while True:
            factor = H.copy()
            factor[np.arange(size), np.arange(size)] += jitter
            if _core.cholesky(factor):
                break
            jitter *= 100.0
        x = -slope / diagonal
        _core.cholesky_solve(factor, x)
        x /= diagonal
        return np.ascontiguousarray(x[:d]), float(x[d]) if self.has_bias else 0.0

    def _search(self, dw: Array, db: float, df: Array, first: float) -> tuple[float, Array]:
        """How far to go: to where Φ's slope along the direction is nearly zero; and β there."""
        space, spread = self.space, self.spread(df)
        at_w, per_w = space.scale * float(self.w @ dw), space.scale * float(dw @ dw)
        if self.has_sum:
            at_w += self.total * db
        elif self.has_bias:
            at_w, per_w = at_w + self.b * db / space.constant, per_w + db * db / space.constant
        low, at_low, high, at_high = 0.0, first, 0.0, 0.0
        tau = 1.0
        for trial in range(TRIALS):
            beta = self._at(self.f + tau * df)
            slope = at_w + tau * per_w - float((beta * spread).sum())
            if abs(slope) <= EXACT * abs(first):
                break
            if slope < 0:
                low, at_low = tau, slope
            else:
                high, at_high = tau, slope
            if high == 0.0:
                tau *= 2.0
            elif trial % 3 == 2:
                tau = 0.5 * (low + high)
            else:
                tau = (low * at_high - high * at_low) / (at_high - at_low)
        return tau, beta
