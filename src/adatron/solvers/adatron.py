"""Kernel-Adatron: the gradient climbs, the box clips.

Problem   any box and ridge, each row once or twice (regression); without a sum, or with one: the bias.
Update    α_i ← clip(α_i + η (1 − y_i z_i − λ y_i), 0, C),  z_i = Σ α_j y_j K_ij;  in signed form, β = y α,
          β_i ← clip(β_i − η (g_i + λ)). η = 1/K_ii ("optimal") or a number with 0 < η K_ii < 2.
Bias      λ is the bias on trial. After each epoch, with ω = Σ α y,
          λ ← λ − ω (λ − λ') / (ω − ω'),  beginning with μ and −μ; it stays where ω does (the paper's error trap).
After     Campbell & Cristianini, Simple Learning Algorithms for Training Support Vector Machines, section 3: eq. 2,
          "KA algorithm without bias", "KA algorithm with bias", 3.2 soft margin; 5 for regression.
Stop      when the margin ½ (min z over y = +1 − max z over y = −1), α < C, is within tol of 1 and the bias has
          settled; then the certificate decides.

The secant search supposes that an epoch brings ω near to where λ wants it. With kernels of low rank it does not, and
λ runs away. When nothing has improved for a while the search goes on by the method of multipliers, which always
arrives: λ ← λ + ρ ω, with ρ added to every kernel value.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np

from adatron._check import Array, choice, integer, real
from adatron.certificates import bias, gradient
from adatron.gram import Gram
from adatron.problems import Problem
from adatron.solution import Solution, Status
from adatron.solvers._coordinate import CoordinateRun, curvatures, newton_steps
from adatron.solvers._run import End
from adatron.solvers.protocol import About, Capabilities, Stop
from adatron.trace import Watch

TRAP = 1e-12  # ω counts as unchanged below this
LOST = 50  # epochs of the secant search without progress


@dataclass
class Adatron:
    """Kernel-Adatron, with bias and soft margin."""

    rate: float | str = "optimal"
    initial: float = 0.0  # every α at the start, within its box; the papers have 0 and 1
    mu: float = 0.1
    order: str = "cyclic"
    seed: int = 0

    name = "adatron"
    accepts = Capabilities(sums=(0, 1))
    about = About(
        update="α_i ← clip(α_i + η(1 − y_i z_i − λ y_i), 0, C),  η = 1/K_ii;  λ by secants on Σ α y",
        source="Campbell & Cristianini, section 3: eq. 2, KA without bias, KA with bias, soft margin",
        iteration="epoch",
        good_for="learning how a machine learns; small data; a few lines to port",
    )

    def solve(
        self,
        problem: Problem,
        gram: Gram,
        *,
        start: Array | None = None,
        stop: Stop | None = None,
        watch: Watch | None = None,
    ) -> Solution:
        """Climb epoch by epoch."""
        return _Run(self, problem, gram, start, stop, watch).solve()


class _Run(CoordinateRun):
    def __init__(
        self,
        solver: Adatron,
        problem: Problem,
        gram: Gram,
        start: Array | None,
        stop: Stop | None,
        watch: Watch | None,
    ) -> None:
        super().__init__(problem, gram, start, stop, watch, order=solver.order, seed=integer("seed", solver.seed))
        self.rate = _checked_rate(solver.rate, curvatures(problem, gram))
        self.mu = real("mu", solver.mu, above=0)
        initial = real("initial", solver.initial, at_least=0)
        if self.fresh and initial and not problem.totals.any():
            away = np.where(problem.upper > 0, initial, 0.0) - np.where(problem.lower < 0, initial, 0.0)
            self.beta = self.origin = np.clip(away, problem.lower, problem.upper)
        self.tried: list[tuple[float, float]] = []  # λ and ω of the last two epochs
        self.best, self.best_at = np.inf, 0
        self.center = 0.0  # the first two trials lie around it
        self.first_objective = np.inf
        self.settled = self.moved = True
        self.stride = 1.0

    def steps(self) -> Array:
        curvature = curvatures(self.problem, self.gram)
        steps = newton_steps(self.problem, curvature + self.augment)
        if self.rate == "optimal":
            return steps
        largest = float(curvature.max())
        return np.full(len(self.problem), float(self.rate) * largest / (largest + self.augment))

    def before_epoch(self) -> None:
        if not self.problem.sums:
            return
        last = self.shift
        if self.augment:  # within an epoch the core lets the shift follow Σβ
            self.stride = 1.0 if self.moved else 2.0 * self.stride  # with all at their bounds Σβ tells no distance
            self.shift += self.stride * self.augment * self.tried[-1][1]
            if not isfinite(self.shift):
                raise End(Status.STALLED)
        elif self.n_iter == 0:
            self.first_objective = self.core.account(bias=0.0, rho=0.0).objective
            if not self.fresh:  # the first trials shall not undo what the start is worth
                self.center = bias(self.problem, self.gradient(), self.beta)[0]
                self.mu *= min(1.0, self.core.account(bias=0.0, rho=0.0).kkt_violation)
            self.shift = self.center + self.mu
        elif self.n_iter == 1:
            self.shift = self.center - self.mu
        else:
            (old, omega_old), (new, omega) = self.tried[-2:]
            if abs(omega - omega_old) > TRAP:
                self.shift = new - omega * (new - old) / (omega - omega_old)
        self.settled = self.n_iter > 1 and abs(self.shift - last) <= self.stop.tol

    def at_rest(self, account: Any) -> bool:
        if self.problem.sums:
            self.moved = self.core.largest > 0
            self.tried = [*self.tried[-1:], (self.shift, float(account.sum - self.problem.totals[0]))]
            self._mind(account)
        # without a coefficient below its bound in one of the classes, the margin is larger than 1 for good
        return self.settled and not account.margin < 1 - self.stop.tol

    def lack(self, account: Any) -> float:
        if not self.problem.sums:
            return float(account.kkt_violation)
        omega = account.sum - self.problem.totals[0]
        return float(account.kkt_violation + abs(omega) * self.gram.diagonal.mean())

    def _mind(self, account: Any) -> None:
        """Leave the secant search if it is lost; where it has led away from the start, begin there again."""
        if (lack := self.lack(account)) < 0.99 * self.best:
            self.best, self.best_at = lack, self.n_iter
        elif not self.augment and self.n_iter - self.best_at > LOST:
            mean = float(self.gram.diagonal.mean())
            self.augment = mean / sqrt(len(self.problem)) if mean > 0 else 1.0
            self.step = self.steps()
            if not account.objective < self.first_objective:
                self.beta = self.origin
                self.restart()
                self.tried = [(self.center, 0.0)]
            self.shift = bias(self.problem, self.gradient(), self.core.beta)[0]

    def gradient(self) -> Array:
        return gradient(self.problem, self.core.product, self.core.beta)


def _checked_rate(rate: float | str, curvature: Array) -> float | str:
    if isinstance(rate, str):
        return choice("rate", rate, ("optimal",))
    bound = 2.0 / curvature.max() if curvature.max() > 0 else np.inf
    if not 0 < (number := real("rate", rate)) < bound:
        raise ValueError(
            f"rate={rate!r} lets the objective rise: pass a number with 0 < rate < 2 / max K_ii = {bound:.6g}, "
            'or "optimal".'
        )
    return number
