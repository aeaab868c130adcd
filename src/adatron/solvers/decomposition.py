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
* **Lean**: a random tenth first, then a third. Then only rows near the margin are active; the others' gradient is made
  anew, without keeping a kernel value, after each run of the engine.

The loop around the engine is the core's (core/driver.cpp), the same for single problems, batches, folds and paths. Here
it is handed what only Python can make, and asked every few hundredths of a second whether to go on.
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
from adatron.solvers._run import SMALL, Run
from adatron.solvers.protocol import About, Capabilities, Stop
from adatron.trace import Round, Watch

PATIENCE = {np.float32: 300, np.float64: 3000}  # rounds without a smaller violation before a run gives up
MOST_STEPS = {
    np.float32: 1e7,
    np.float64: 3e7,
}  # pair steps, or so many for each row, before a run has stalled: 3, 10 s
STEPS_OF_A_ROW = 200
LEAST_SHARE = 0.25  # of the steps, where a fit has many problems

BUDGET = 0.05, 0.35  # seconds of CPU time for 0 and 300 rows: well-scaled problems take 1 to 20 ms

LEAN_ROWS = 16_000  # fewer are all kept active
LEAN_WORK = 64  # more multiply-adds a value make a row too dear to compute twice


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
        self.driver: Any = None  # the core's, once there is one

    def budget(self) -> float:
        return BUDGET[0] + BUDGET[1] * self.problem.rows / SMALL

    def climb(self) -> Status:
        """Run the core's driver, and give it what only Python can make."""
        problem, gram, watch, stop = self.problem, self.gram, self.watch, self.stop
        order = self.sample_order()
        self.judge()
        gram.activate(None)
        make: Any = _core.Driver64 if gram.dtype == np.float64 else _core.Driver32
        driver = self.driver = make(gram.core)
        driver.load(**problem.spans, beta=self.beta, product=self.product())
        if order is not None:
            driver.begin_with_samples(order, always=bool(self.solver.lean))
        heard = watch.progress is not None or watch.held_out is not None
        run = _core.RunOptions(
            goal=stop.tol,
            seconds=SLICE_SECONDS,
            max_steps=stop.max_iter if stop.max_iter >= 0 else inf,
            max_effort=inf if stop.max_iter >= 0 else self.most_steps(),
            patience=PATIENCE[gram.dtype.type],
            each_round=heard,
            record=watch.trace is not None and not heard,
        )
        active = _core.ActiveRows() if order is not None or self.solver.lean else None
        ends = {
            _core.RunState.converged: Status.CONVERGED,
            _core.RunState.stalled: Status.STALLED,
            _core.RunState.unbounded: Status.UNBOUNDED,
            _core.RunState.out_of_steps: Status.STALLED if stop.max_iter < 0 else Status.MAX_ITER,
        }
        told = 0
        try:
            while True:
                state = driver.advance(
                    _core.DriverOptions(
                        run=run,
                        active=active,
                        working_size=self.solver.working_size or 0,
                        time_left=inf if watch.max_time is None else watch.max_time - watch.seconds,
                    )
                )
                if heard and driver.rounds > told:
                    told = driver.rounds
                    self.tell_round(driver.account(), driver.active_rows, driver.bias, driver.steps, driver.rounds)
                if state in ends:
                    return ends[state]
                check = watch.check if driver.steps > 0 else nothing  # one round is made in any case
                check()
                if state == _core.RunState.needs_rows:
                    gram.fetch(driver.working_rows, check)
                elif state == _core.RunState.needs_product:
                    self.settle()
                    self.judge()  # which ends what has overflowed
                    driver.judge(self.product())
        finally:
            self.settle()
            self.trial, self.n_iter = driver.bias, driver.steps
            if watch.trace is not None and not heard:
                self.report_rounds(driver.trace)

    def sample_order(self) -> NDArray[np.int64] | None:
        """The order in which rows join growing samples; None where all are active from the start."""
        m, lean = self.problem.rows, self.solver.lean
        if lean is None:
            lean = m >= LEAN_ROWS and self.gram.work <= LEAN_WORK
        if not lean or not self.fresh or self.beta.any():  # or else the start's rows are spread over all the data
            return None
        return np.random.default_rng(self.solver.seed).permutation(m)

    def step_back(self) -> None:
        self.driver = None  # its coefficients are not wanted
        super().step_back()

    def most_steps(self) -> float:
        """Pair steps before a run has stalled."""
        if self.solver.most_steps is not None:
            most = self.solver.most_steps
        else:
            most = max(self.watch.share, LEAST_SHARE) * MOST_STEPS[self.gram.dtype.type]
        return float(max(most, STEPS_OF_A_ROW * len(self.problem)))

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
        self.tell(account, bias=bias, updates=steps, epoch=rounds, **at, active=active)

    def settle(self) -> None:
        """Take the coefficients over from the core."""
        if self.driver is None:
            return
        beta = np.empty(len(self.beta))
        self.driver.write(beta)
        if np.isfinite(beta).all():  # indefinite kernels know no end
            self.beta, self.guess = beta, self.driver.product


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
