"""The nearest points of the two classes' convex hulls; the machine's plane bisects the line between them.

Problem   two sums and nothing linear: `nearest_points` (whole or reduced hulls), `nu_classification`. Also hard
          margins and the squared hinge with an exact bias: with K + r on the diagonal and u the hulls' coefficients,
          Σ₊u = 1 = −Σ₋u, the machine's are β = 2u / ‖z₊ − z₋‖².
Update    in the class where it is worst, the point nearest to the other hull gains what the farthest one that has
          weight loses: u_i ← u_i + t, u_j ← u_j − t,  t = (g_j − g_i) / (K_ii + K_jj − 2 K_ij), within the box.
After     the tutorial chapter in Misra (ed.), section 3.2; Mitchell, Dem'yanov & Malozemov (1974); Keerthi et al.
          (2000).
Stop      when within each class both are equally far, to tol of the hulls' distance where that is the machine's
          unit; then the certificate decides. Hulls that meet have no plane between them: the status is "unbounded".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adatron import _core
from adatron._check import Array
from adatron.certificates import bias, gradient
from adatron.gram import SLICE_SECONDS, Gram
from adatron.problems import Problem
from adatron.solution import Solution, Status
from adatron.solvers._run import Run, account_of, is_margin
from adatron.solvers.protocol import About, Capabilities, Stop
from adatron.trace import Watch

TOUCHING = 1e-13  # squared distance of hulls, relative to the data's extent, that rounding could have made
IDLE = 3


class Hulls(Capabilities):
    """Problems that are a pair of hulls."""

    def refusal(self, problem: Problem) -> str | None:
        """Why not, or None."""
        if len(problem.totals) == 2 and not problem.linear.any() and not problem.doubled:
            return None
        if is_margin(problem):
            return None
        return "a problem that is no pair of convex hulls (finite C with hinge loss, regression, no exact bias)"

    def __str__(self) -> str:
        return "hulls, ν-classification; hard margin and squared hinge with an exact bias; warm starts"


@dataclass
class NearestPoint:
    """Mitchell, Dem'yanov and Malozemov's exchange of weight between two points."""

    name = "nearest-point"
    accepts = Hulls()
    about = About(
        update="u_i ← u_i + t, u_j ← u_j − t,  t = (g_j − g_i)/(K_ii + K_jj − 2K_ij)",
        source="tutorial chapter in Misra (ed.), 3.2; Mitchell, Dem'yanov & Malozemov (1974)",
        iteration="step",
        good_for="seeing what a margin is; hard margins and the squared hinge",
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
        """Exchange weights until the certificate is content."""
        return _Run(problem, gram, start, stop, watch).solve()


class _Run(Run):
    def __init__(
        self, problem: Problem, gram: Gram, start: Array | None, stop: Stop | None, watch: Watch | None
    ) -> None:
        super().__init__(problem, gram, start, stop, watch)
        self.margin = len(problem.totals) == 1
        self.hulls = _hulls_of(problem) if self.margin else problem
        self.core: Any = None
        self.done = 0

    def climb(self) -> Status:
        problem = self.problem
        if self.margin:
            weight = float(self.beta[problem.linear < 0].sum())
            u = self.beta / weight if weight > 0 else self.hulls.start()
        else:
            u = self.beta
        aim, idle = self.stop.tol, 0
        while True:
            self.done = self.n_iter
            product = self.gram.product(u, self.watch.check)
            self.gram.activate(None)
            make: Any = _core.Pairs64 if self.gram.dtype == np.float64 else _core.Pairs32
            self.core = make(self.gram.core, **self.hulls.spans, beta=u, product=product, bias=0.0, seed=0)
            ended = self.exchange(aim)
            self.settle()
            u = self.core.beta
            if ended is not Status.CONVERGED:
                return ended
            if self.content(self.judge()):
                return Status.CONVERGED
            idle = idle + 1 if self.n_iter == self.done else 0
            if idle >= IDLE:
                return Status.STALLED
            aim *= 0.5

    def exchange(self, aim: float) -> Status:
        """Steps until the weights are at rest."""
        core, n = self.core, len(self.problem)
        extent = max(float(np.abs(self.gram.diagonal).max()), 1e-300)
        while True:
            distance = self.distance()
            if self.margin and distance <= TOUCHING * extent:
                return Status.UNBOUNDED
            most = n if self.stop.max_iter < 0 else min(n, self.stop.max_iter - self.n_iter)
            tolerance = aim * distance / 4 if self.margin else aim
            end = core.extreme(_core.PairRules(tolerance=tolerance, progress=0.0, seconds=SLICE_SECONDS, most=most))
            self.n_iter = self.done + core.updates
            if end is _core.PairEnd.missing:
                self.gram.fetch(core.wanted, self.watch.check)
                self.watch.check()
                continue
            account = self.report()
            if end is _core.PairEnd.finished and (not self.margin or self.distance() >= 0.9 * distance):
                return Status.CONVERGED
            if end is _core.PairEnd.unbounded:
                return Status.UNBOUNDED
            if 0 <= self.stop.max_iter <= self.n_iter:
                return Status.MAX_ITER
            self.watch.check()
            self.patience(account.kkt_violation, account.objective, self.n_iter / n)

    def distance(self) -> float:
        """‖z₊ − z₋‖², ridge included."""
        u = self.core.beta
        return float(u @ self.core.product + (self.hulls.ridge * u) @ u)

    def report(self) -> Any:
        """A row of the trace, in the problem's own units, and its account."""
        self.settle()
        g = gradient(self.problem, self.guess, self.beta)
        b, rho = bias(self.problem, g, self.beta)
        account = account_of(self.problem, self.beta, self.guess, b, rho)
        self.tell(account, bias=b, updates=self.n_iter)
        return account

    def last_row(self) -> None:
        """Steps since the last report."""
        if self.core is not None and self.n_iter != self.told:
            self.report()

    def settle(self) -> None:
        if self.core is not None:
            distance = self.distance()
            scale = 2.0 / distance if self.margin and distance > 0 else 1.0
            self.beta, self.guess = scale * self.core.beta, scale * self.core.product


def _hulls_of(problem: Problem) -> Problem:
    """The hulls behind a classifier without bounds."""
    group = (problem.linear > 0).astype(np.int8)
    return Problem(
        "nearest_points",
        np.zeros(len(problem)),
        problem.lower,
        problem.upper,
        problem.ridge,
        group=group,
        totals=np.array([1.0, -1.0]),
    )
