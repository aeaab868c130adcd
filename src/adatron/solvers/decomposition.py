"""Working-set decomposition, the default solver.

Problem   the one problem, in all its forms: no sum, one sum, two; ridge; any box; each row once or twice.
Update    round by round: choose the coefficients that violate optimality most (half of the last choice stays),
          solve the small problem on them two at a time with second-order choice, carry the change over to the
          gradient (core/decomposition.cpp, core/pair.inl). Where pairs take long (large C, smooth kernels), all free
          coefficients move at once, by one factorisation (core/face.cpp).
After     Osuna, Freund & Girosi (1997) and Joachims (1999) for decomposition; Platt (1998) and Fan, Chen & Lin
          (2005) for the pairs.
Stop      when the certificate, computed afresh from the coefficients, shows a KKT violation of at most ``tol``.

A round costs as many kernel rows as are new in it, and a pass over the rows of what moved, both as long as the
list of active rows. So it pays to keep that list short where few rows will support the machine:

* **Full**: all rows active. Kernel rows are kept, and the certificate is made from them.
* **Lean**: climb on a random tenth first, then a third. Then only rows near the margin are active; the others'
  gradient is made anew, without keeping a kernel value, after each climb.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron import _core
from adatron._check import Array, integer
from adatron.gram import SLICE_SECONDS, Gram
from adatron.packing import nothing
from adatron.problems import Problem
from adatron.solution import Solution, Status
from adatron.solvers._run import SMALL, End, Run, slack, spans
from adatron.solvers.protocol import About, Capabilities, Stop
from adatron.trace import Watch

INNER = 0.07  # the small problem is solved to this part of the gap
NEWTON_STEPS = 20  # a member of the working set, that pairs may take
NEWTON_MOST = 1400  # free coefficients that are worth a factorisation
SLICE_STEPS = 4e7  # steps times working set that take a few hundredths of a second
SMALL_SET = 256  # below this a step takes as long whatever the size
SMALL_STEPS = 1000  # per coefficient: pairs on a small problem that take more are slow
ROUNDED = 5  # rounds without a smaller violation after which it may be rounding
PATIENCE = {np.float32: 300, np.float64: 3000}  # rounds without a smaller gap before a climb gives up
MOST_STEPS = {
    np.float32: 1e7,
    np.float64: 3e7,
}  # pair steps, or so many for each row, before a run has stalled: 3, 10 s
STEPS_OF_A_ROW = 200
LEAST_SHARE = 0.25  # of the steps, where a fit has many problems
WHOLE_PATIENCE = 50  # the same where every round takes in the whole problem
IDLE_CLIMBS = 2  # climbs in a row that do not bring the certificate a tenth further: stalled

BUDGET = 0.05, 0.35  # seconds of CPU time for 0 and 300 rows: well-scaled problems take 1 to 20 ms
TOUCHING = 1e-13  # squared distance of hulls, relative to the data's extent, that rounding could have made
SLOW_RATE = 2e10  # multiply-adds a second to count on

LEAN_ROWS = 16_000  # fewer are all kept active
LEAN_WORK = 64  # more multiply-adds a value make a row too dear to compute twice
LEAN_SUPPORT = 0.2  # part of the first sample that supports it
SAMPLES = (0.1, 0.33)
SAMPLE_GAP = 0.1  # a sample's own optimum is not worth more
NEIGHBOURS = 2.0  # active rows for each that violates or is free
LEAN_GAP = 0.03  # part of the gap that a climb over few rows aims at


@dataclass
class Decomposition:
    """The engine. ``working_size`` None: by the number of rows."""

    working_size: int | None = None
    lean: bool | None = None  # None: decided from rows, features and the first sample
    seed: int = 0  # of the samples
    most_steps: float | None = None  # pair steps before a run has stalled; None: by the precision

    name = "decomposition"
    accepts = Capabilities()
    about = About(
        update="the worst violators at a time: β_i ← β_i + t, β_j ← β_j − t within them, second-order choice",
        source="Osuna, Freund & Girosi (1997); Joachims (1999); Platt (1998); Fan, Chen & Lin (2005)",
        iteration="step",
        good_for="everything: the default, and the fastest here",
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
        """Climb until the certificate is content."""
        integer("seed", self.seed)
        if self.working_size is not None:
            integer("working_size", self.working_size, at_least=2)
        return _Run(self, problem, gram, start, stop, watch).solve()


class _Run(Run):
    """One solve: the state that the stages share."""

    def __init__(
        self,
        solver: Decomposition,
        problem: Problem,
        gram: Gram,
        start: Array | None,
        stop: Stop | None,
        watch: Watch | None,
    ) -> None:
        super().__init__(problem, gram, start, stop, watch)
        self.solver = solver
        self.rounds = 0
        self.engine: Any = None  # the core's climb, while one is under way

    def budget(self) -> float:
        return BUDGET[0] + BUDGET[1] * self.problem.rows / SMALL

    def climb(self) -> Status:
        """Sample if that pays, then climb and judge until the judge is content."""
        lean = self.sample() if self.fresh else bool(self.solver.lean)
        best, idle = inf, 0
        while True:
            verdict = self.judge()
            if self.content(verdict):
                return Status.CONVERGED
            idle = 0 if verdict.kkt_violation < 0.9 * best else idle + 1
            best = min(best, verdict.kkt_violation)
            if idle > IDLE_CLIMBS or (idle and best < self.noise()):
                return Status.STALLED
            active = self.near_margin() if lean else None
            goal = self.stop.tol
            if active is not None:
                goal = max(0.9 * goal, LEAN_GAP * verdict.kkt_violation)
            self.rise(active, goal)

    def sample(self) -> bool:
        """Climb on samples of growing size; whether few enough rows support the first to go on lean."""
        m = self.problem.rows
        lean = self.solver.lean
        if lean is None:
            lean = m >= LEAN_ROWS and self.gram.work <= LEAN_WORK
        if not lean or self.beta.any():  # a start that must not be zero has its rows spread over all the data
            return False
        order = np.random.default_rng(self.solver.seed).permutation(m)
        for part in SAMPLES:
            rows = np.sort(order[: int(part * m)])
            self.rise(rows, SAMPLE_GAP)
            support = np.count_nonzero(self.problem.fold(self.beta)) / len(rows)
            if self.solver.lean is None and support > LEAN_SUPPORT:
                return False
        return True

    def near_margin(self) -> NDArray[np.int64] | None:
        """Rows that are free, violate, or come next to it; None when that is most of them."""
        problem, beta, m = self.problem, self.beta, self.problem.rows
        nearest = slack(problem, beta, self.gram.product(problem.fold(beta)))
        wanted = int(NEIGHBOURS * np.count_nonzero(nearest < 0)) + 256
        if wanted > m // 2:
            return None
        return np.sort(np.argpartition(nearest, wanted)[:wanted]).astype(np.int64)

    def rise(self, active: NDArray[np.int64] | None, goal: float) -> None:
        """Rounds over the active rows (all: None) until the gap among them is at most ``goal``."""
        problem, gram = self.problem, self.gram
        product = self.product()
        self.guess = np.array(product)
        gram.activate(active)
        make: Any = _core.Decomposition64 if gram.dtype == np.float64 else _core.Decomposition32
        rows = problem.rows if active is None else len(active)
        size = min(self.solver.working_size or self.affordable(1024 if rows > 12_000 else 512, rows), len(problem))
        engine = self.engine = make(
            gram.core,
            **spans(problem),
            beta=self.beta,
            product=np.ascontiguousarray(product if active is None else product[active]),
            working_size=size,
        )
        whole = size == len(problem)
        exact = gram.dtype == np.float64
        patience = WHOLE_PATIENCE if whole else PATIENCE[gram.dtype.type]
        most_steps = max(self.watch.share, LEAST_SHARE) * MOST_STEPS[gram.dtype.type]
        if self.solver.most_steps is not None:
            most_steps = self.solver.most_steps
        done, best, best_round = self.n_iter, inf, 0
        try:
            while True:
                gap = engine.select()
                if self.watch.listens:
                    self.report(rows)
                if gap <= goal:
                    return
                pulse = self.watch.check if done + engine.steps > 0 else nothing  # one round is made in any case
                pulse()
                if gap < best:
                    best, best_round = gap, engine.rounds
                if engine.rounds - best_round > patience:
                    return  # its sums may have drifted: judge afresh
                if whole and exact and engine.rounds - best_round > ROUNDED:
                    engine.write(self.beta)
                    if best < self.noise():
                        return
                if self.stop.max_iter < 0 and done + engine.steps > max(most_steps, STEPS_OF_A_ROW * len(problem)):
                    raise End(Status.STALLED)
                most = SLICE_STEPS / max(size, SMALL_SET)
                if size < SMALL_SET:
                    most = min(most, SMALL_STEPS * size)
                limit = int(most if whole and exact else min(most, 200 * size)) + 1  # float32 sums drift
                if self.stop.max_iter >= 0:
                    limit = min(limit, self.stop.max_iter - done - engine.steps)
                    if limit <= 0:
                        raise End(Status.MAX_ITER)
                gram.fetch(engine.working_rows, pulse)
                inner = 0.5 * goal if whole else max(INNER * gap, 0.5 * goal)
                outcome = engine.advance(tolerance=inner, max_steps=limit)
                if outcome.steps >= NEWTON_STEPS * size:  # pairs are slow here: all free ones at once
                    while engine.newton(most=NEWTON_MOST, seconds=SLICE_SECONDS) < 0:
                        pulse()
                if outcome.unbounded or (not self.bounded and engine.rounds % 10 == 0 and self.hulls_meet(engine)):
                    raise End(Status.UNBOUNDED)
        finally:
            self.settle()
            self.trial = engine.bias
            self.n_iter += engine.steps
            self.rounds += engine.rounds
            self.engine = None

    def report(self, active: int) -> None:
        """A row of the trace; over part of the rows it knows nothing of the whole."""
        engine = self.engine
        account = engine.account()
        of_all = active == self.problem.rows
        self.tell(
            account if of_all else _Partial(engine.gap, account.support, account.at_bound),
            bias=engine.bias,
            updates=self.n_iter + engine.steps,
            epoch=self.rounds + engine.rounds,
            active=active,
        )

    def affordable(self, size: int, rows: int) -> int:
        """A working set whose rows take a tenth of the time left at most."""
        if self.watch.max_time is None:
            return size
        left = max(0.0, self.watch.max_time - self.watch.seconds)
        return int(np.clip(0.1 * left * SLOW_RATE / (rows * (self.gram.work + 16)), min(64, size), size))

    def hulls_meet(self, engine: Any) -> bool:
        """Whether growing coefficients cancel each other: ‖w‖ next to nothing against their sum.

        With a hard margin ‖w‖ / Σ|β| is the distance between two points of the classes' convex hulls, which has a
        lower bound if they can be separated at all.
        """
        beta = self.beta.copy()
        engine.write(beta)
        if not np.isfinite(beta).all():
            return True
        coef = self.problem.fold(beta)[self.gram.core.active]
        extent = np.sqrt(self.gram.diagonal.max()) * np.abs(coef).sum()
        return bool(coef @ engine.product < TOUCHING * extent**2)

    def settle(self) -> None:
        """Take the coefficients over from the core."""
        if self.engine is not None:
            beta = self.beta.copy()
            self.engine.write(beta)
            if not np.isfinite(beta).all():  # indefinite kernels know no end
                return
            self.beta = beta
            self.guess[self.gram.core.active] = self.engine.product


@dataclass(frozen=True)
class _Partial:
    """The account of a climb over some of the rows only."""

    kkt_violation: float
    support: int
    at_bound: int
    objective: float = nan
    gap: float = nan
    margin: float = nan
    sum: float = nan
