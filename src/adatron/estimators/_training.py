"""Solving the problems of a plan: small ones in a batch of the core, the others one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import numpy as np

from adatron._check import Array
from adatron.estimators._batch import solve_batch, suits_batch, unclear_margins
from adatron.estimators._matrix import TrainingMatrix
from adatron.estimators._outcome import Outcome
from adatron.estimators._report import Progress
from adatron.gram import Gram
from adatron.kernels import Linear
from adatron.plan import Margin, Plan
from adatron.precision import EXACT, SMALL, Arithmetic
from adatron.problems import Problem, meet_sums
from adatron.solution import Solution, Status
from adatron.solvers import FEWEST_ROWS, Decomposition, LinearSolver, Solver, polish, solve, unsolved
from adatron.threads import effective_threads
from adatron.trace import Trace, Watch

SHARED = 6000  # rows whose whole matrix a function is asked for at once, for several problems on parts of it
SIDE_BY_SIDE = 4000  # rows of a problem up to which several are solved at a time, a thread each
FURTHER_SHARE = 0.1  # of that time for each of the problems that look for a margin
FURTHER_STEPS = 1e6  # pair steps of each
LEAST_SHARE = 0.02  # of the CPU time for small problems that are hard to solve, however many a fit has


class Training:
    """The solving of a plan's problems.

    Parameters
    ----------
    matrix : TrainingMatrix
    plan : Plan
    starts : list of arrays or None, optional
        Where to start, for each problem; None: anywhere.
    held_out : list of functions or None, optional
        For each problem, an error from coefficients and a bias, for its trace.
    """

    def __init__(
        self,
        matrix: TrainingMatrix,
        plan: Plan,
        starts: Sequence[Array | None] | None = None,
        held_out: Sequence[Callable[[Array, float], float]] | None = None,
    ) -> None:
        self.matrix, self.plan, self.settings = matrix, plan, matrix.settings
        self.starts, self.held_out = starts, held_out
        self.margins: dict[int, Margin] = {}  # of the problems solved one by one that have to find one
        self._problems: dict[int, Problem] = {}

    def solve(self, watch: Watch) -> Outcome:
        """Every problem: small ones in a batch of the core, the others and what it leaves one by one."""
        threads, tasks = effective_threads(self.settings.n_jobs), self.plan.tasks
        if self.held_out is not None or not suits_batch(self.settings, self.matrix.kernel, tasks, watch):
            return self._one_by_one(watch, threads)
        problems = self.plan.problems
        starts = problems.start()
        if self.starts is not None:
            for k, start in enumerate(self.starts):
                if start is not None:
                    starts[problems.variables(k)] = meet_sums(problems[k], start)
        outcome = Outcome(tasks, starts, doubled=problems.doubled)
        with np.errstate(over="ignore", invalid="ignore"):  # coefficients that grow without end overflow
            left = solve_batch(self.matrix, problems, outcome, watch, threads)
        if self.plan.has_margins:
            left = sorted({*left, *unclear_margins(self.matrix, problems, outcome)})
        if left:
            for k, solution in zip(left, self._solve_some(left, watch, threads), strict=True):
                outcome.put(k, solution)
        return outcome

    def arithmetic(self, outcome: Outcome) -> Arithmetic:
        """What the model of these solutions predicts in: that of the solutions, if they have one in common."""
        return self.matrix.arithmetic([each or EXACT for each in outcome.arithmetics()])

    def problem(self, k: int) -> Problem:
        """One of them, the same object whenever it is asked for."""
        if k not in self._problems:
            self._problems[k] = self.plan.problems[k]
        return self._problems[k]

    def start(self, k: int) -> Array | None:
        """Where to start, but for rounding a feasible point; None: anywhere."""
        return None if self.starts is None else self.starts[k]

    def _one_by_one(self, watch: Watch, threads: int) -> Outcome:
        everything, tasks, doubled = list(range(len(self.plan))), self.plan.tasks, self.problem(0).doubled
        outcome = Outcome(tasks, np.zeros((2 if doubled else 1) * int(tasks.start[-1])), doubled=doubled)
        for k, solution in enumerate(self._solve_some(everything, watch, threads)):
            outcome.put(k, solution)
        return outcome

    def _solve_some(self, some: Sequence[int], watch: Watch, threads: int) -> list[Solution]:
        """Side by side, a thread each, where they are small; else in turn, all threads on one."""
        for k in some:
            if (margin := self.plan.margin(k, self.settings.tol)) is not None:
                self.margins[k] = margin
        largest = max(self.problem(k).rows for k in some)
        alone = len(some) == 1 or threads == 1 or largest > SIDE_BY_SIDE or watch.progress is not None
        function = self.matrix.kernel.terms() is None and not self.settings.precomputed
        if function and self.plan.tasks.rows is not None and self.matrix.X.shape[0] <= SHARED:
            try:
                self.matrix.share(largest, threads, 1 if alone else threads)
            except KeyboardInterrupt:
                watch.cancelled.set()
        return self._in_turn(some, watch, threads) if alone else self._side_by_side(some, watch, threads)

    def _by_weights(self, k: int) -> bool:
        """Whether the solver for linear kernels takes this problem."""
        solver = self.settings.linear
        if solver is None or k in self.margins or not isinstance(self.matrix.kernel, Linear):
            return False
        return self.problem(k).rows > FEWEST_ROWS and solver.accepts.refusal(self.problem(k)) is None

    def _gram(self, k: int, threads: int, cache_bytes: float | None = None) -> Gram:
        dtype = np.float64 if self._by_weights(k) else None
        return self.matrix.gram(self.plan.tasks.index(k), threads, dtype, cache_bytes)

    def _left(self, k: int, watch: Watch) -> Solution | None:
        """What becomes of a problem whose turn comes too late: it hands back its start."""
        if watch.cancelled.is_set():
            status = Status.INTERRUPTED
        elif watch.max_time is not None and watch.seconds > watch.max_time:
            status = Status.MAX_TIME
        else:
            return None
        start = self.start(k)
        beta = self.problem(k).start() if start is None else meet_sums(self.problem(k), start)
        convex = bool(self.matrix.kernel.positive_semidefinite)
        solution = unsolved(self.problem(k), beta, status, convex=convex)
        solution.trace = Trace()
        return solution

    def _in_turn(self, some: Sequence[int], watch: Watch, threads: int) -> list[Solution]:
        solutions: list[Solution] = []
        shared: Gram | None = None
        for k in some:
            if (left := self._left(k, watch)) is not None:
                solutions.append(left)
                continue
            if self.plan.tasks.rows is None:  # rows that one problem has computed serve the next
                gram = shared = shared or self._gram(k, threads)
            else:
                gram = self._gram(k, threads)
            share = _share(watch, len(some) - len(solutions), len(some), len(some))
            share.progress = _relay(share, watch)
            solutions.append(self._one(k, gram, share))
            if solutions[-1].status in (Status.INTERRUPTED, Status.STOPPED):
                watch.cancelled.set()  # the others hand back what they start from
        if any(solution.status is Status.STOPPED for solution in solutions):
            solutions = [_as_stopped(solution) for solution in solutions]
        return solutions

    def _side_by_side(self, some: Sequence[int], watch: Watch, threads: int) -> list[Solution]:
        """The main thread waits, and calls the others off on Ctrl-C."""
        with ThreadPoolExecutor(threads) as pool:
            waiting = len(some)

            def run(k: int) -> Solution:
                nonlocal waiting
                share = _share(watch, -(-waiting // threads), -(-len(some) // threads), len(some))
                waiting -= 1
                if (left := self._left(k, watch)) is not None:
                    return left
                gram = self._gram(k, 1, self.settings.cache_bytes / threads)
                return self._one(k, gram, share)

            try:
                futures = [pool.submit(run, k) for k in some]
                try:
                    while wait(futures, timeout=0.05).not_done:
                        pass
                except KeyboardInterrupt:
                    watch.cancelled.set()
                return [future.result() for future in futures]
            except BaseException:
                watch.cancelled.set()  # leaving the pool waits for what is under way
                raise

    def _one(self, k: int, gram: Gram, watch: Watch) -> Solution:
        watch.held_out = None if self.held_out is None else self.held_out[k]
        margin = self.margins.get(k)
        solver = self.settings.solver
        if self.settings.linear is not None and gram.linear is not None and self._by_weights(k):
            solver = self.settings.linear
        solution = self._solved(self.problem(k), gram, solver, self.start(k), self.settings.tol, watch)
        if margin is None or margin.is_clear(solution, gram):
            return solution
        exact = gram if gram.dtype == np.float64 else gram.refined() or gram

        def further(problem: Problem, start: Array | None, tol: float, n_iter: int) -> Solution:
            inner = watch.inner()
            inner.share *= FURTHER_SHARE
            return self._solved(problem, exact, Decomposition(most_steps=FURTHER_STEPS), start, tol, inner, n_iter)

        return replace(margin.settle(solution, exact, further), trace=solution.trace)

    def _solved(
        self,
        problem: Problem,
        gram: Gram,
        solver: Solver,
        start: Array | None,
        tol: float,
        watch: Watch,
        n_iter: int = 0,  # done already
    ) -> Solution:
        limit = self.settings.max_iter
        solution = solve(
            problem,
            gram,
            solver,
            start=None if start is None else meet_sums(problem, start),
            tol=tol,
            max_iter=limit if limit < 0 else max(limit - n_iter, 0),
            watch=watch,
        )
        exact = gram.dtype == np.float64 and solution.arithmetic == gram.arithmetic
        if solution.converged and exact and not (isinstance(solver, LinearSolver) and gram.size > SMALL):
            return polish(problem, gram, solution)
        return solution


def _share(watch: Watch, waiting: int, rounds: int, count: int) -> Watch:
    """A watch for the next of so many problems: a fair part of the time that is left, and of the grace after it."""
    left = None if watch.max_time is None else max(watch.max_time - watch.seconds, 1e-3) / max(waiting, 1)
    share = max(1 / count, LEAST_SHARE)
    return Watch(max_time=left, trace=Trace(), cancelled=watch.cancelled, grace=watch.grace / rounds, share=share)


def _relay(share: Watch, watch: Watch) -> Progress | None:
    """Calls the whole fit's listener, who finds the state of the problem at hand on the whole fit's watch."""
    if (listener := watch.progress) is None:
        return None

    def progress(at: dict[str, float]) -> Any:
        watch.last, watch.coef = share.last, share.coef
        return listener(at)

    return progress


def _as_stopped(solution: Solution) -> Solution:
    if solution.status is Status.INTERRUPTED:
        solution.status = Status.STOPPED
    return solution
