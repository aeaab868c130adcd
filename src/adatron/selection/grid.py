"""The work of a cross-validation over widths, C and folds.

What a fit on every fold, width and C would do is done, but what they share is done once: distances for all; a kernel
matrix for all folds and C of a width (a fold is a mask: its coefficients are held at zero, and its decision values come
with the climb's products); the climb itself goes on from one C to the next. Widths are spread over threads.

Cost: m² d for the distances, m² exponentials a width, and climbs whose rounds cost m each for a working set of 384.
Memory: 4 m² bytes for the distances, and for each thread's matrix with its part near the margin 5 m² (8 and 10 m² up to
`SMALL` rows). Fewer threads have a matrix where `cache_size` has no room for all. Where there is room for none, above
`MOST` rows, and for what has no such matrix (a tree of classes, other solvers), every fold is fitted by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from threading import Event
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array
from adatron.certificates import bias
from adatron.gram import Gram
from adatron.kernels import Exponential, has_width, of_width, width_of
from adatron.plan import Learning, Plan, leaving_unsaid, margin_is_clear
from adatron.precision import kernel_dtype
from adatron.problems import Problem
from adatron.selection.chain import Chain, Reached
from adatron.selection.left_out import LeftOut, leaves_one_out
from adatron.selection.scoring import Scoring
from adatron.selection.widths import MANY, MOST_FEW, Matrix, Widths, plain_matrix

MOST = 12_000  # rows whose matrices are held in memory
AT_A_TIME = 1024  # rows of a matrix that has no distances
MOST_BYTES = 50_000_000  # of problems that are kept from width to width
PROBLEM_BYTES = 90  # a row, in regression; half as much otherwise

Index = NDArray[np.int64]
ProblemOf = Callable[[int, float | None], Problem]  # of a task, for the spec's C or another


@dataclass(frozen=True)
class Part:
    """What of a grid is wanted of a search within a fit.

    ``wanted`` says which points, a row per width and a column per C; ``score_weight`` how rows count in scores, where
    that is not how they count in fits, and ``plain_scores`` that they all count alike there; ``deadline``, of
    `perf_counter`, when to leave the rest.
    """

    wanted: NDArray[np.bool_] | None = None
    score_weight: Array | None = None
    plain_scores: bool = False
    deadline: float = np.inf

    def wants(self, width: int, C: int) -> bool:
        """Whether a point is wanted, and there is time left."""
        return (self.wanted is None or bool(self.wanted[width, C])) and perf_counter() < self.deadline


EVERYTHING = Part()


class _OutOfTime(Exception):
    """The deadline has passed in the middle of a solve."""


class Grid:
    """One cross-validation: what its solves share.

    Parameters
    ----------
    learning : Learning
    splits : pairs of training and test rows, one per fold.
    widths, Cs : ndarrays or None
        Values of γ and C; None: the one that the kernel and the spec have.
    scoring : None or a scorer of scikit-learn's.
    threads : int
    fresh : function
        An estimator to be fitted on a fold, where folds share no matrix.
    within_fit : bool
        Whether a fit asks, which weighs scores and speaks for itself.
    part : Part
        What of the grid is wanted.
    """

    def __init__(
        self,
        learning: Learning,
        splits: Sequence[tuple[Index, Index]],
        widths: Array | None,
        Cs: Array | None,
        scoring: Any,
        threads: int,
        fresh: Callable[[], Any],
        within_fit: bool = False,
        part: Part = EVERYTHING,
    ) -> None:
        spec, settings, rows = self.spec, self.settings, self.rows = learning.spec, learning.settings, learning.data
        self.fresh, self.splits = fresh, splits
        self.widths, self.threads = widths, threads
        self.C = Cs if Cs is not None else np.array([np.nan if spec.C is None else spec.C])
        self.given_C = Cs is not None
        self.scoring = Scoring(learning.estimator, scoring)
        self.within_fit = within_fit
        self.part = part
        self.score_weight: Array | None = None  # of the rows as given
        if within_fit and not part.plain_scores:
            self.score_weight = rows.weight if part.score_weight is None else part.score_weight
        m = rows.n_rows
        self.order: Index = np.arange(m)  # rows are sorted as in the matrix: these
        self.y, self.weight = rows.y, rows.weight  # in that order
        self.dtype = kernel_dtype(m, settings.tol)
        own = settings.kernel
        self.own_width: float | None = None
        self.per_fold = False
        if widths is None and has_width(own):
            raw = own.a if isinstance(own, Exponential) else own.gamma  # type: ignore[attr-defined]
            self.per_fold = isinstance(raw, str)  # "scale" looks at each fold's own rows
            self.own_width = np.nan if self.per_fold else float(raw)
        plain_solver = settings.solver.name == "decomposition" and settings.max_iter < 0 and settings.max_time is None
        unresolved = not has_width(own) and own != own.resolve(rows.X)  # "scale" of a polynomial
        plain_spec = spec.multiclass != "tree" and spec.bias != "augmented"
        self.shared = m <= MOST and plain_solver and plain_spec and not unresolved
        self.workers = min(threads, self._matrices())
        self.shared = self.shared and self.workers > 0
        # where a row that supports nothing has a say in the others' weights after all
        self.dependent = isinstance(spec.class_weight, str) or spec.nu is not None
        self.cancelled = Event()
        self._plans: dict[int, tuple[Plan, ProblemOf]] = {}
        self._without_margin: set[tuple[int, int]] = set()  # widths and folds in which ν leaves none

    def _matrices(self) -> int:
        """For how many kernel matrices there is room."""
        m, room = self.rows.n_rows, self.settings.cache_bytes
        square = float(self.dtype.itemsize) * m * m
        each = square * (1 + (MOST_FEW**2 if m >= MANY else 0))
        if self.spec.classifies and self.spec.multiclass == "ovo":
            counts = np.unique(self.rows.y, return_counts=True)[1].astype(np.float64)
            if len(counts) > 2:  # each pair of classes has its part
                each += self.dtype.itemsize * float((np.triu(np.add.outer(counts, counts), 1) ** 2).sum())
        return int(max(0.0, room - (square if has_width(self.settings.kernel) else 0.0)) // each)

    def shape(self) -> tuple[int, int, int]:
        """Widths, C, folds."""
        return (1 if self.widths is None else len(self.widths), len(self.C), len(self.splits))

    # ------------------------------------------------------------ shared matrices

    def run(self) -> tuple[Array, Array]:
        """Widths over threads, each with a matrix of its own; folds and C in turn on it."""
        scores, violation = np.full(self.shape(), np.nan), np.full(self.shape(), np.nan)
        kernel, X = self.settings.kernel, self.rows.X
        family: Widths | None = None
        if has_width(kernel):
            largest = float(self.widths.max()) if self.widths is not None else 0.0
            whole = self.spec.bias == "none"
            family = Widths(kernel, X, dtype=self.dtype, threads=self.threads, largest=largest, whole=whole)
            self.order = family.order
            self.y = self.rows.y[self.order]
            self.weight = None if self.rows.weight is None else self.rows.weight[self.order]
        place = np.empty(len(self.order), dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        splits: Sequence[tuple[Index, Index]] = (
            LeftOut(place)
            if isinstance(self.splits, LeftOut)
            else [(np.sort(place[train]), place[test]) for train, test in self.splits]
        )
        if family is None:
            room = min(self.settings.cache_bytes, AT_A_TIME * X.shape[0] * self.dtype.itemsize)
            gram = Gram(kernel, X, dtype=self.dtype, threads=self.threads, cache_bytes=room)
            with suppress(_OutOfTime):
                self._width(0, plain_matrix(gram), splits, scores, violation)
            return scores, violation
        if self.per_fold:
            matrix = family.blank()
            for k, (train, _) in enumerate(self.splits):
                if isinstance(self.spec.class_weight, dict):  # a fit does not see rows of classes without weight
                    plan = self._plan(k, splits[k][0])[0]
                    train = train[plan.weight[place[train]] > 0] if plan.weight is not None else train
                weight = None if self.rows.weight is None else self.rows.weight[train]
                gamma = width_of(kernel.resolve(X[train], weight))
                family.fill(matrix, gamma)
                with suppress(_OutOfTime):
                    self._width(0, matrix, splits, scores, violation, folds=[k])
            return scores, violation

        gammas = self.widths if self.widths is not None else np.array([self.own_width])
        # widths in the middle take longest and the largest γ least: long ones come first, so that threads end together
        middle = 0.5 * (len(gammas) - 1)
        waiting = deque(sorted(range(len(gammas)), key=lambda g: max(middle - g, 2 * (g - middle))))
        workers = max(1, min(self.workers, len(waiting)))

        def work() -> None:
            matrix = family.blank()
            while not self.cancelled.is_set():
                try:
                    g = waiting.popleft()
                except IndexError:  # another worker has taken the last
                    return
                family.fill(matrix, float(gammas[g]), threads=1 if workers > 1 else self.threads)
                with suppress(_OutOfTime):
                    self._width(g, matrix, splits, scores, violation)

        with ThreadPoolExecutor(workers) as pool:
            try:
                futures = [pool.submit(work) for _ in range(workers)]
                while (left := wait(futures, timeout=0.05)).not_done:
                    if any(future.exception() for future in left.done):
                        break
            finally:
                self.cancelled.set()  # Ctrl-C: the others end at their next breath
            for future in futures:
                future.result()
        return scores, violation

    def _width(
        self,
        g: int,
        matrix: Matrix,
        splits: Sequence[tuple[Index, Index]],
        scores: Array,
        violation: Array,
        folds: Sequence[int] | None = None,
    ) -> None:
        """All folds and C of one width."""
        chains: dict[bytes | None, Chain] = {}
        whole = _Whole(self, matrix, chains) if leaves_one_out(splits, matrix.size) else None
        start_C = 0 if self.part.wanted is None else int(self.part.wanted[g].argmax())
        first: list[Reached | None] = []  # of the last fold at the first C: the next fold's resembles it
        for k in range(len(splits)) if folds is None else folds:
            train, test = splits[k]
            plan, problem_of = self._plan(k, train)
            last: list[Reached | None] = list(first) if len(first) == len(plan) else [None] * len(plan)
            for c, C in enumerate(self.C):
                if not self.part.wants(g, c):
                    continue
                known = whole.values(c, int(test[0])) if whole is not None else None
                if known is not None:
                    values, worst = known
                else:
                    values = np.empty((len(test), len(plan)))
                    worst = 0.0
                    for p in range(len(plan)):
                        chain = self.chain(matrix, plan.tasks.index(p), chains)
                        problem = problem_of(p, self.C_of(C))
                        start = whole.start(c, p) if whole is not None else last[p]
                        reached = last[p] = chain.solve(problem, start)
                        worst = max(worst, reached.violation)
                        if _lacks_margin(reached, matrix):
                            self._without_margin.add((g, k))
                        values[:, p] = outputs(matrix, plan, p, reached, test)
                if c == start_C:
                    first = list(last)
                scores[g, c, k] = self._score(plan, values, test)
                violation[g, c, k] = worst

    def C_of(self, C: float) -> float | None:
        """A value on the grid; None if that is the spec's own."""
        return float(C) if self.given_C else None

    def plan_of(self, train: Index) -> Plan:
        """Of the rows of a fold."""
        return Plan.of_fold(self.spec, self.y, self.weight, train)

    def _plan(self, fold: int, train: Index) -> tuple[Plan, ProblemOf]:
        """Of a fold: the same for every width, and so are its problems, as long as they do not take much memory."""
        if fold not in self._plans:
            plan = self.plan_of(train)
            problems = len(self.splits) * len(self.C) * len(plan)
            if problems * len(self.y) * PROBLEM_BYTES > min(MOST_BYTES, self.settings.cache_bytes):
                return plan, plan.problem
            self._plans[fold] = plan, cache(plan.problem)
        return self._plans[fold]

    def chain(self, matrix: Matrix, index: Index | None, chains: dict[bytes | None, Chain]) -> Chain:
        """Of all rows, or for few of them of their part of the matrix."""
        key = None if index is None else index.tobytes()
        if key not in chains:
            part = matrix if index is None else matrix.subset(index)
            chains[key] = Chain(part, tol=self.settings.tol, pulse=self.pulse)
        return chains[key]

    def pulse(self) -> None:
        """End a worker that is not wanted any more."""
        if self.cancelled.is_set():
            raise KeyboardInterrupt
        if perf_counter() > self.part.deadline:
            raise _OutOfTime

    def _score(self, plan: Plan, values: Array, test: Index) -> float:
        weight = None if self.score_weight is None else self.score_weight[self.order[test]]

        def rows() -> Any:
            return np.empty((len(test), 0)) if self.settings.precomputed else self.rows.X[self.order[test]]

        return self.scoring.of_outputs(plan, values, rows, self.y[test], weight)

    # ------------------------------------------------------------ the plain way

    def one_by_one(self) -> tuple[Array, Array]:
        """Every fold by a fit of its own, from one C to the next."""
        scores, violation = np.full(self.shape(), np.nan), np.full(self.shape(), np.nan)
        for g in range(self.shape()[0]):
            for k in range(len(self.splits)):
                self._fit_fold(g, k, scores, violation)
        return scores, violation

    def refit_without_margin(self, scores: Array, violation: Array) -> int:
        """Fit again where ν leaves no margin, with the smallest ν that does; how many folds and widths that were."""
        for g, k in sorted(self._without_margin):
            self._fit_fold(g, k, scores, violation)
        return len(self._without_margin)

    def _fit_fold(self, g: int, k: int, scores: Array, violation: Array) -> None:
        rows, precomputed, (train, test) = self.rows, self.settings.precomputed, self.splits[k]
        machine = self.fresh().set_params(warm_start=True)
        if self.widths is not None:
            kernel = of_width(self.settings.kernel, float(self.widths[g]))
            machine.set_params(kernel=kernel, gamma="scale")
        X = rows.X[np.ix_(train, train)] if precomputed else rows.X[train]
        X_test = rows.X[np.ix_(test, train)] if precomputed else rows.X[test]
        weight = None if rows.weight is None else rows.weight[train]
        for c, C in enumerate(self.C):
            if not self.part.wants(g, c):
                continue
            if self.given_C:
                machine.set_params(C=float(C))
            with leaving_unsaid("parameters", *(("convergence",) if self.within_fit else ())):
                machine.fit(X, rows.y[train], sample_weight=weight)
            held = None if self.score_weight is None else self.score_weight[test]
            scores[g, c, k] = self.scoring.of_fitted(machine, X_test, rows.y[test], held)
            violation[g, c, k] = machine.kkt_violation_


def _lacks_margin(reached: Reached, matrix: Matrix) -> bool:
    """Whether a solution of ν-classification is noise: its margin ρ is within its errors."""
    problem, beta = reached.problem, reached.beta
    if len(problem.totals) < 2 or problem.doubled:
        return False
    rho, size = bias(problem, reached.gradient, beta)[1], np.abs(beta).sum()
    return not margin_is_clear(rho, reached.violation, size, np.abs(matrix.diagonal).max())


def outputs(matrix: Matrix, plan: Plan, k: int, reached: Reached, rows: Index) -> Array:
    """What a task's solution says of some rows; products that the solve has not carried along are made here."""
    index, coef = plan.tasks.index(k), reached.coef
    at, rho = bias(reached.problem, reached.gradient, reached.beta)
    if index is None:
        # without a bias the faintest value may decide, and must not drown in what climbing has left of rounding
        product = reached.product if reached.problem.sums else matrix.product(coef)
        return np.asarray((product[rows] + at) / plan.unit(rho))
    some = np.flatnonzero(coef)
    K = matrix.values[np.ix_(rows, index[some])]
    # no BLAS: its threads would wait for each other's by spinning
    return np.asarray((np.einsum("ij,j->i", K.astype(np.float64), coef[some]) + at) / plan.unit(rho))


class _Whole:
    """The solutions with all rows: what leaving a row out changes nothing about, and where the rest starts from."""

    def __init__(self, grid: Grid, matrix: Matrix, chains: Any) -> None:
        self.plan = plan = grid.plan_of(np.arange(matrix.size))
        self.reached: list[list[Reached]] = []
        self.matrix, self.dependent = matrix, grid.dependent
        for C in grid.C:
            last = self.reached[-1] if self.reached else [None] * len(plan)
            self.reached.append(
                [
                    grid.chain(matrix, plan.tasks.index(p), chains).solve(plan.problem(p, grid.C_of(C)), last[p])
                    for p in range(len(plan))
                ]
            )

    def start(self, c: int, p: int) -> Reached:
        """Where the solution without a row begins."""
        return self.reached[c][p]

    def values(self, c: int, row: int) -> tuple[Array, float] | None:
        """Outputs for a row that supports none of them; None if it supports one, or changes their weights."""
        if self.dependent:
            return None
        found, worst = [], 0.0
        for p, reached in enumerate(self.reached[c]):
            index = self.plan.tasks.index(p)
            at = row if index is None else int(np.searchsorted(index, row))
            inside = index is None or (at < len(index) and index[at] == row)
            if inside and reached.coef[at] != 0:
                return None
            found.append(outputs(self.matrix, self.plan, p, reached, np.array([row]))[0])
            worst = max(worst, reached.violation)
        return np.array([found]), worst
