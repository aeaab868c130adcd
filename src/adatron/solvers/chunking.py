"""Chunking: a series of small problems, each handed to another solver.

Problem   whatever the inner solver takes.
Update    Vapnik's chunking: solve on the rows whose coefficients are not zero together with the ``size`` worst
          violators of optimality; what has become zero leaves. With ``fixed=True`` every chunk has ``size`` rows, and
          all other coefficients stay as they are: decomposition with a fixed working set.
After     the tutorial chapter in Misra (ed.), section 3.1; Osuna, Freund & Girosi (1997).
Stop      when the certificate of the whole problem is within tol.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array, integer
from adatron.certificates import gradient, violations
from adatron.gram import Gram
from adatron.problems import Problem, meet_sums
from adatron.solution import Certificate, Solution, Status
from adatron.solvers._registry import make_solver
from adatron.solvers._run import End, Run, account_of
from adatron.solvers.protocol import About, Capabilities, Solver, Stop
from adatron.trace import Watch

INNER = 0.1  # a chunk is solved to this part of the violation outside it
ENOUGH = 0.3  # and never to more than this part of tol
DOUBT_SOONER = 10  # a chunk is worth so many epochs
IDLE = 5  # chunks in a row that bring nothing
OWN_ENDS = (Status.MAX_TIME, Status.INTERRUPTED, Status.STOPPED, Status.UNBOUNDED)


@dataclass
class Chunking:
    """Chunks of rows over any inner solver, which is a name or a solver object."""

    inner: Any = "decomposition"
    size: int = 512
    fixed: bool = False

    name = "chunking"
    about = About(
        update="solve on {β ≠ 0} ∪ {worst violators}, or on a fixed number of rows; repeat",
        source="tutorial chapter in Misra (ed.), 3.1; Vapnik; Osuna, Freund & Girosi (1997)",
        iteration="chunk",
        good_for="making a solver that wants the whole matrix, such as qp, work on many rows",
    )

    @property
    def accepts(self) -> Capabilities:
        """What the inner solver does; without a sum and ends it is still asked for its own opinion."""
        return self.solver().accepts

    def solver(self) -> Solver:
        """The inner one."""
        inner = make_solver("inner", self.inner)
        if isinstance(inner, Chunking):
            raise ValueError("inner='chunking' would never end: pass another solver.")
        return inner

    def solve(
        self,
        problem: Problem,
        gram: Gram,
        *,
        start: Array | None = None,
        stop: Stop | None = None,
        watch: Watch | None = None,
    ) -> Solution:
        """Solve chunk after chunk."""
        size = integer("size", self.size, at_least=2)
        return _Run(self.solver(), size, self.fixed, problem, gram, start, stop, watch).solve()


class _Run(Run):
    def __init__(
        self,
        inner: Solver,
        size: int,
        fixed: bool,
        problem: Problem,
        gram: Gram,
        start: Array | None,
        stop: Stop | None,
        watch: Watch | None,
    ) -> None:
        super().__init__(problem, gram, start, stop, watch)
        self.inner, self.size, self.fixed = inner, size, fixed
        self.updates = 0
        self.certified = False

    def climb(self) -> Status:
        best, idle = np.inf, 0
        while True:
            verdict = self.look()
            if self.content(verdict):
                self.certified = True
                return Status.CONVERGED
            idle = 0 if verdict.objective < best - 1e-14 * abs(best) else idle + 1
            best = min(best, verdict.objective)
            if idle > IDLE:
                return Status.STALLED
            if 0 <= self.stop.max_iter <= self.n_iter:
                return Status.MAX_ITER
            self.watch.check()
            self.doubt(DOUBT_SOONER * self.n_iter)
            tol = max(INNER * verdict.kkt_violation, ENOUGH * self.stop.tol) * 0.5**idle
            self.chunk(self.choose(gradient(self.problem, self.guess, self.beta)), tol)
            self.n_iter += 1

    def look(self) -> Certificate:
        """The certificate of where we stand, also for the trace."""
        verdict = self.judge()
        self.guess = self.product()
        account = account_of(self.problem, self.beta, self.guess, verdict.bias, verdict.rho)
        self.tell(account, bias=verdict.bias, updates=self.updates)
        return verdict

    def last_row(self) -> None:
        """A chunk that was cut short: if there is no time to judge it, the certificate's bias goes with it."""
        if self.updates != self.told:
            self.trial = None
            self.watch = replace(self.watch, max_time=self.watch.seconds + self.watch.grace, cancelled=Event())
            self.look()

    def settle(self) -> None:
        """A chunk that was cut short may miss its sums by the rounding of what it had in hand.

        What was certified stays as it is: where kernel values are huge, the last digit of a coefficient counts.
        """
        if self.problem.sums and not self.certified:
            self.beta = meet_sums(self.problem, self.beta)

    def choose(self, g: Array) -> NDArray[np.int64]:
        """The rows of the next chunk: the worst violators on either side of every sum, and those in use."""
        problem, beta = self.problem, self.beta
        up, down = violations(problem, g, beta)
        sides = []
        for group in range(max(1, len(problem.totals))):
            here = problem.group == group
            level = 0.0
            if problem.sums:
                level = float(up[here].max(initial=-np.inf) - down[here].max(initial=-np.inf)) / 2
            sides.append(np.where(here, up - level, -np.inf))
            sides.append(np.where(here, down + level, -np.inf))
        each = max(1, self.size // len(sides))
        rows = [_worst(side, each) % problem.rows for side in sides]
        if not self.fixed:
            rows.append(np.flatnonzero(problem.fold(np.abs(beta))))
        return np.unique(np.concatenate(rows)).astype(np.int64)

    def chunk(self, rows: NDArray[np.int64], tol: float) -> None:
        """Solve on these rows, all else being as it is."""
        problem = self.problem
        inside = np.concatenate((rows, rows + problem.rows)) if problem.doubled else rows
        gram = self.gram.subset(rows)
        start = self.beta[inside]
        linear = problem.linear[inside]
        outside = self.beta.copy()
        outside[inside] = 0.0
        if outside.any():
            pull = self.guess[rows] - gram.product(problem.fold(self.beta)[rows], self.watch.check)
            linear = linear + (np.concatenate((pull, pull)) if problem.doubled else pull)
        part = Problem(
            problem.use,
            linear,
            problem.lower[inside],
            problem.upper[inside],
            problem.ridge[inside],
            group=problem.group[inside],
            totals=np.array([start[problem.group[inside] == g].sum() for g in range(len(problem.totals))]),
            doubled=problem.doubled,
        )
        if refusal := self.inner.accepts.refusal(part):
            raise ValueError(f"inner={self.inner.name!r} does not take {refusal}: pass fixed=False or another solver.")
        solution = self.inner.solve(part, gram, start=start, stop=Stop(tol=tol), watch=self.watch.inner())
        self.beta[inside] = solution.beta
        self.updates += solution.n_iter
        self.evaluations += gram.evaluations
        if solution.status in OWN_ENDS:
            raise End(solution.status)


def _worst(violation: Array, count: int) -> NDArray[np.intp]:
    """The places of the largest values that are finite."""
    count = min(count, int(np.isfinite(violation).sum()))
    return np.argpartition(-violation, count - 1)[:count] if count else np.zeros(0, dtype=np.intp)
