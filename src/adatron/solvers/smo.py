"""Sequential minimal optimisation: two multipliers at a time, the smallest step that keeps the sum.

Problem   one sum (``bias="exact"``): hinge, squared hinge, ε-regression, one-class.
Update    α₂ ← clip(α₂ + y₂ (E₁ − E₂) / η, L, H),  α₁ ← α₁ + y₁ y₂ (α₂ − α₂'),  η = K₁₁ + K₂₂ − 2 K₁₂,
          E_i = f(x_i) − y_i; where η is not positive the better end of the segment. b from either candidate.
Choice    first: a violator of optimality within ε, over all points once, then over the free ones until those are at
          rest, then over all again; second: the largest |E₁ − E₂|, else any free one, else any, from a random place.
          ``SimplifiedSMO`` takes the second at random and is done after ``max_passes`` passes without a step.
After     the tutorial chapter in Misra (ed.), section 3.1 (eqs. 32-45), and Platt (1998); Sheehy, sections 4 and 5.3
          for the simplified choice. With f = Σ α y K + b the update of b is b − E − …, unlike eqs. 44-45.
Stop      no point violates optimality by more than ε = tol/2; then the certificate decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adatron import _core
from adatron._check import Array, integer, real
from adatron.certificates import bias, gradient
from adatron.gram import SLICE_SECONDS, Gram
from adatron.problems import Problem
from adatron.solution import Solution, Status
from adatron.solvers._run import Run
from adatron.solvers.protocol import About, Capabilities, Stop
from adatron.trace import Watch

STEP = "α₂ ← clip(α₂ + y₂(E₁ − E₂)/η, L, H),  α₁ ← α₁ + y₁y₂(α₂ − α₂')"
IDLE = 3  # judgements in a row without a step between them


@dataclass
class SMO:
    """Platt's SMO in full."""

    progress: float = 1e-10  # a relative step below it is none
    seed: int = 0

    name = "smo"
    accepts = Capabilities(sums=(1,))
    about = About(
        update=STEP + ";  second by |E₁ − E₂|",
        source="tutorial chapter in Misra (ed.), 3.1: eqs. 32-45; Platt (1998)",
        iteration="step",
        good_for="an exact bias with no more than two kernel rows in memory",
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
        """Climb pair by pair."""
        progress = real("progress", self.progress, at_least=0)
        return _Run(problem, gram, start, stop, watch, progress=progress, seed=integer("seed", self.seed)).solve()


@dataclass
class SimplifiedSMO:
    """SMO with the second multiplier drawn at random."""

    max_passes: int = 50
    progress: float = 1e-12  # a step below it is none; Sheehy's source has 1e-5
    seed: int = 0

    name = "simplified-smo"
    accepts = Capabilities(sums=(1,))
    about = About(
        update=STEP + ";  second at random",
        source="Sheehy, sections 4 and 5.3",
        iteration="step",
        good_for="teaching: SMO without its heuristics",
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
        """Climb pair by pair."""
        progress = real("progress", self.progress, at_least=0)
        passes = integer("max_passes", self.max_passes, at_least=1)
        seed = integer("seed", self.seed)
        return _Run(problem, gram, start, stop, watch, progress=progress, seed=seed, quiet_passes=passes).solve()


class _Run(Run):
    def __init__(
        self,
        problem: Problem,
        gram: Gram,
        start: Array | None,
        stop: Stop | None,
        watch: Watch | None,
        *,
        progress: float,
        seed: int,
        quiet_passes: int | None = None,
    ) -> None:
        super().__init__(problem, gram, start, stop, watch)
        self.progress, self.seed, self.quiet_passes = progress, seed, quiet_passes
        self.core: Any = None
        self.done = self.starts = 0  # steps and number of cores before this one

    def climb(self) -> Status:
        aim, idle = self.stop.tol / 2, 0
        while True:
            if self.content(self.judge()):
                return Status.CONVERGED
            before = self.n_iter
            if before:
                self.watch.check()
            self.begin()
            if (ended := self.passes(aim)) is not Status.CONVERGED:
                return ended
            self.settle()
            idle = idle + 1 if self.n_iter == before else 0
            if idle >= IDLE and not self.content(self.judge()):
                return Status.STALLED
            aim *= 0.5

    def begin(self) -> None:
        """A core that starts from β, with fresh errors and the bias that they give."""
        at = bias(self.problem, gradient(self.problem, self.product(), self.beta), self.beta)[0]
        seed = (self.seed + self.starts) % 2**32
        self.starts += 1
        self.done = self.n_iter
        self.core = self.start_core(_core.Pairs32, _core.Pairs64, bias=at, seed=seed)

    def passes(self, aim: float) -> Status:
        """The outer loop, until it finds nothing more to do (converged, it thinks) or may not go on."""
        core, n = self.core, len(self.problem)
        while True:
            most = n if self.stop.max_iter < 0 else min(n, self.stop.max_iter - self.n_iter)
            rules = _core.PairRules(tolerance=aim, progress=self.progress, seconds=SLICE_SECONDS, most=most)
            end = (
                core.platt(rules)
                if self.quiet_passes is None
                else core.simplified(rules, quiet_passes=self.quiet_passes)
            )
            self.n_iter = self.done + core.updates
            if end is _core.PairEnd.missing:
                self.gram.fetch(core.wanted, self.watch.check)
                self.watch.check()
                continue
            account = core.account(bias=core.bias, rho=0.0)
            self.tell(account, bias=core.bias, updates=self.n_iter)
            if end is _core.PairEnd.finished:
                return Status.CONVERGED
            if end is _core.PairEnd.unbounded:
                return Status.UNBOUNDED
            if 0 <= self.stop.max_iter <= self.n_iter:
                return Status.MAX_ITER
            self.watch.check()
            self.patience(account.kkt_violation, account.objective, self.n_iter / n)
            self.doubt(self.n_iter / n)

    def last_row(self) -> None:
        """Steps since the last report."""
        if self.core is not None and self.n_iter != self.told:
            self.tell(self.core.account(bias=self.core.bias, rho=0.0), bias=self.core.bias, updates=self.n_iter)

    def settle(self) -> None:
        if self.core is not None and np.isfinite(self.core.beta).all():
            self.beta, self.guess = self.core.beta, self.core.product
