"""Working-set decomposition, the default solver.

Problem   the one problem, in all its forms: no sum, one sum, two; ridge; any box; each row once or twice.
Update    round by round: choose the coefficients that violate optimality most (half of the last choice stays),
          solve the small problem on them two at a time with second-order choice, carry the change over to the
          gradient (core/engine.cpp, core/pair.inl). Where pairs take long (large C, smooth kernels), all free
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
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron import _core
from adatron._check import Array, integer
from adatron.gram import SLICE_SECONDS, Gram
from adatron.packing import nothing
from adatron.problems import Problem
from adatron.solution import Solution, Status
from adatron.solvers._run import SMALL, End, Run, slack
from adatron.solvers.protocol import About, Capabilities, Stop
from adatron.trace import Round, Watch

PATIENCE = {np.float32: 300, np.float64: 3000}  # rounds without a smaller violation before a run gives up
WHOLE_PATIENCE = 50  # the same where every round takes in the whole problem
MOST_STEPS = {
    np.float32: 1e7,
    np.float64: 3e7,
}  # pair steps, or so many for each row, before a run has stalled: 3, 10 s
STEPS_OF_A_ROW = 200
LEAST_SHARE = 0.25  # of the steps, where a fit has many problems
IDLE_RUNS = 2  # runs in a row that do not bring the certificate a tenth further: stalled

BUDGET = 0.05, 0.35  # seconds of CPU time for 0 and 300 rows: well-scaled problems take 1 to 20 ms
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
        self.effort = 0.0  # pair steps, with Newton steps at what they cost
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
            if idle > IDLE_RUNS or (idle and best < self.noise()):
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
        """Run the engine over the active rows (all: None) until the violation among them is at most ``goal``."""
        problem, gram, watch, stop = self.problem, self.gram, self.watch, self.stop
        product = self.product()
        self.guess = np.array(product)
        gram.activate(active)
        make: Any = _core.Engine64 if gram.dtype == np.float64 else _core.Engine32
        rows = problem.rows if active is None else len(active)
        size = min(self.solver.working_size or self.affordable(1024 if rows > 12_000 else 512, rows), len(problem))
        engine = self.engine = make(
            gram.core,
            **problem.spans,
            beta=self.beta,
            product=np.ascontiguousarray(product if active is None else product[active]),
            working_size=size,
        )
        done = self.n_iter
        heard = watch.progress is not None or watch.held_out is not None
        options = _core.RunOptions(
            goal=goal,
            seconds=SLICE_SECONDS,
            max_steps=stop.max_iter - done if stop.max_iter >= 0 else inf,
            max_effort=inf if stop.max_iter >= 0 else self.most_steps() - self.effort,
            patience=WHOLE_PATIENCE if size == len(problem) else PATIENCE[gram.dtype.type],
            each_round=heard,
            record=watch.trace is not None and not heard,
        )
        state, before = _core.RunState, -1
        try:
            while True:
                at = engine.run(options)
                if heard and engine.rounds > before:
                    before = engine.rounds
                    self.report(rows)
                if at in (state.converged, state.stalled):  # stalled: its sums may have drifted, judge afresh
                    return
                if at == state.unbounded:
                    raise End(Status.UNBOUNDED)
                if at == state.out_of_steps:
                    raise End(Status.STALLED if stop.max_iter < 0 else Status.MAX_ITER)
                check = watch.check if done + engine.steps > 0 else nothing  # one round is made in any case
                check()
                if at == state.needs_rows:
                    gram.fetch(engine.working_rows, check)
        finally:
            self.settle()
            self.trial = engine.bias
            if watch.trace is not None and not heard:
                self.report_rounds(engine.trace)
            self.n_iter += engine.steps
            self.effort += engine.effort
            self.rounds += engine.rounds
            self.engine = None

    def most_steps(self) -> float:
        """Pair steps before a run has stalled."""
        if self.solver.most_steps is not None:
            most = self.solver.most_steps
        else:
            most = max(self.watch.share, LEAST_SHARE) * MOST_STEPS[self.gram.dtype.type]
        return float(max(most, STEPS_OF_A_ROW * len(self.problem)))

    def report(self, active: int) -> None:
        """One row of the trace."""
        engine = self.engine
        self.tell_round(engine.account(), active, engine.bias, engine.steps, engine.rounds)

    def report_rounds(self, rounds: Array) -> None:
        """The rows of the trace that the engine has kept."""
        started = self.watch.started + _core.seconds_now() - perf_counter()
        for row in map(Round._make, rounds.tolist()):
            more = {"seconds": row.time - started, "rows_computed": int(row.rows_computed)}
            self.tell_round(row, int(row.active), row.bias, int(row.steps), int(row.rounds), **more)

    def tell_round(self, account: Any, active: int, bias: float, steps: int, rounds: int, **at: Any) -> None:
        """A row of the trace; over part of the rows it knows nothing of the whole."""
        if active < self.problem.rows:
            account = _Partial(account.kkt_violation, int(account.support), int(account.at_bound))
        self.tell(account, bias=bias, updates=self.n_iter + steps, epoch=self.rounds + rounds, **at, active=active)

    def affordable(self, size: int, rows: int) -> int:
        """A working set whose rows take a tenth of the time left at most."""
        if self.watch.max_time is None:
            return size
        left = max(0.0, self.watch.max_time - self.watch.seconds)
        return int(np.clip(0.1 * left * SLOW_RATE / (rows * (self.gram.work + 16)), min(64, size), size))

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
    """The metrics of a run over some of the rows only."""

    kkt_violation: float
    support: int
    at_bound: int
    objective: float = nan
    gap: float = nan
    margin: float = nan
    sum: float = nan
