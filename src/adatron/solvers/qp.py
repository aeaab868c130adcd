"""A general quadratic program solver: the "perfect solution" that others are measured by.

Problem   all forms. The whole kernel matrix is held in memory, twice: for thousands of rows, not more.
Update    Clarabel's interior-point method on  minimise ½ cᵀKc + ½ Σ r β² + pᵀβ,  c = fold(β), with box and sums.
After     the papers' "standard QP routines"; Goulart & Chen, Clarabel (2024). An extra: pip install adatron[qp].
Stop      at Clarabel's own tolerances, set by tol; then coefficients next to their bounds are put on them, and the
          certificate decides.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from scipy import sparse

from adatron import certificates
from adatron._check import Array
from adatron.gram import Gram, Paced
from adatron.problems import Problem, meet_sums
from adatron.solution import Certificate, Solution, Status
from adatron.solvers._run import Run, account_of
from adatron.solvers.protocol import About, Capabilities, Stop
from adatron.trace import OutOfBudget, OutOfTime, Watch

SNAPS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # how near a bound counts as on it, in parts of the box
SETUP_SECONDS = 2e-7  # per pair of rows, of making the matrices and Clarabel's setup: 0.3 s at 1,200 rows
STEP_SECONDS = 5e-11  # per three rows, of an interior-point step: 0.08 s at 1,200 rows
FINEST = 1e-12  # what is asked of an interior-point method at most
ENDS = {"MaxIterations": Status.MAX_ITER, "MaxTime": Status.MAX_TIME, "DualInfeasible": Status.UNBOUNDED}


@contextmanager
def _interrupts_kept(raised: list[BaseException]) -> Iterator[None]:
    """Ctrl-C is put on the list instead of being raised wherever Python happens to be."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: raised.append(KeyboardInterrupt()))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass
class QP:
    """Clarabel."""

    name = "qp"
    accepts = Capabilities(warm_start=False)
    about = About(
        update="interior-point steps on all coefficients at once",
        source='the papers\' "standard QP routine"; Goulart & Chen (2024)',
        iteration="interior-point step",
        good_for="a reference on up to a few thousand rows",
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
        """Solve to high accuracy; an interior-point method makes nothing of ``start``."""
        return _Run(problem, gram, None, stop, watch).solve()


class _Run(Run):
    def climb(self) -> Status:
        try:
            import clarabel
        except ImportError:
            raise ImportError('solver="qp" needs clarabel: pip install "adatron[qp]".') from None
        finest = max(FINEST, 1e-3 * self.stop.tol)
        while True:
            ended = self.attempt(clarabel, finest)
            best = self.best_snap()
            account = account_of(self.problem, self.beta, self.product(), best.bias, best.rho)
            self.tell(account, bias=best.bias, updates=self.n_iter)
            if ended is not None and not self.content(best):
                return ended
            if self.content(best):
                return Status.CONVERGED
            if finest <= FINEST:
                return Status.STALLED
            finest = max(FINEST, 1e-2 * finest)

    def attempt(self, clarabel: Any, finest: float) -> Status | None:
        """One run of the interior-point method; None when it says that it is done."""
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = finest
        settings.max_iter = 500 if self.stop.max_iter < 0 else self.stop.max_iter - self.n_iter
        self.time_left()
        quadratic, linear, A, right, equal = self.standard_form()
        if (left := self.time_left()) < inf:
            settings.time_limit = left
        cones = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(len(right) - equal)]
        solver = clarabel.DefaultSolver(quadratic, linear, A, right, cones, settings)
        raised: list[BaseException] = []  # what must not go through clarabel, which prints exceptions and drops them

        def pulse(info: Any) -> bool:
            try:
                self.watch.check()
            except (OutOfTime, OutOfBudget, KeyboardInterrupt) as error:
                raised.append(error)
            return bool(raised)

        solver.set_termination_callback(pulse)
        with _interrupts_kept(raised):
            result = solver.solve()
        self.n_iter += int(result.iterations)
        beta = np.asarray(result.x, dtype=np.float64)[: len(self.problem)]
        if np.isfinite(beta).all():
            self.beta = meet_sums(self.problem, beta)
        if raised:
            raise raised[0]
        ended = ENDS.get(str(result.status))
        if ended is Status.UNBOUNDED and (self.bounded or self.small):
            # Clarabel judges by absolute numbers, and is wrong where kernel values are tiny; what it has is useless
            self.beta = self.problem.start()
            return Status.STALLED
        return ended

    def time_left(self) -> float:
        """Until the deadline; out of time already where less is left than setting up and one step take."""
        self.watch.check()
        if self.watch.max_time is None:
            return inf
        left = self.watch.max_time - self.watch.seconds
        if left < SETUP_SECONDS * self.problem.rows**2 + STEP_SECONDS * self.problem.rows**3:
            raise OutOfTime  # neither can be interrupted
        return left

    def standard_form(self) -> tuple[Any, Array, Any, Array, int]:
        """½ xᵀPx + qᵀx with Ax + s = b, x = (β, c): c = fold(β), sums and fixed coefficients first, then the box."""
        problem, m, n = self.problem, self.problem.rows, len(self.problem)
        K = np.empty((m, m))
        for begin in range(0, m, 256):
            index = np.arange(begin, min(begin + 256, m))
            K[index] = self.gram.rows(index)
            self.watch.check()
        quadratic = sparse.block_diag((sparse.diags_array(problem.ridge), np.triu((K + K.T) / 2)), format="csc")
        linear = np.concatenate((problem.linear, np.zeros(m)))
        one = sparse.eye_array(n, format="csr")
        fold = sparse.hstack([sparse.eye_array(m)] * (n // m))
        fixed = problem.lower == problem.upper
        above, below = ~fixed & np.isfinite(problem.upper), ~fixed & np.isfinite(problem.lower)
        sums = np.array([problem.group == g for g in range(len(problem.totals))], dtype=float).reshape(-1, n)
        left = sparse.vstack([fold, sparse.csr_array(sums), one[fixed], one[above], -one[below]])
        right = [np.zeros(m), problem.totals, problem.lower[fixed], problem.upper[above], -problem.lower[below]]
        link = sparse.vstack([-sparse.eye_array(m), sparse.csr_array((left.shape[0] - m, m))])
        A = sparse.csc_matrix(sparse.hstack([left, link]))
        return sparse.csc_matrix(quadratic), linear, A, np.concatenate(right), m + len(sums) + int(fixed.sum())

    def best_snap(self) -> Certificate:
        """Put coefficients next to their bounds on them, as far as that helps; the certificate of the best."""
        best, raw = self.judge(), self.beta
        for snap in SNAPS:
            self.watch.check()
            beta = certificates.snapped(self.problem, raw, snap)
            verdict = certificates.judgement(self.problem, Paced(self.gram, self.watch.check), beta)
            if verdict.kkt_violation < best.kkt_violation and verdict.infeasibility <= 1e-9 * (1 + np.abs(beta).max()):
                best, self.beta = verdict, beta
        return best
