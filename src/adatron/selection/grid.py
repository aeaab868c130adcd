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
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from threading import Event
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring, r2_score

from adatron._check import Array
from adatron.certificates import bias
from adatron.estimators._fit import FLOAT64_TOL, SMALL, Settings
from adatron.estimators._margin import CLEAR, ROUNDING
from adatron.gram import Gram
from adatron.kernels import has_width, of_width, width_of
from adatron.selection.chain import MANY, MOST_FEW, Chain, Reached
from adatron.selection.learner import Learner, Ordered, Piece
from adatron.selection.widths import Matrix, Widths, plain_matrix

MOST = 12_000  # rows whose matrices are held in memory
AT_A_TIME = 1024  # rows of a matrix that has no distances
MOST_BYTES = 50_000_000  # of problems that are kept from width to width
PROBLEM_BYTES = 90  # a row, in regression; half as much otherwise

Index = NDArray[np.int64]


class _Known:
    """What a scorer asks: an estimator whose answers on the held-out rows are known already."""

    def __init__(self, estimator: Any, reader: Any, values: Array) -> None:
        self._estimator_type = getattr(estimator, "_estimator_type", None)
        self._estimator, self._reader, self._values = estimator, reader, values
        if hasattr(reader, "classes"):
            self.classes_ = reader.classes

    def __sklearn_tags__(self) -> Any:
        return self._estimator.__sklearn_tags__()

    def fit(self, X: Any, y: Any) -> Any:
        raise NotImplementedError("its answers are known already.")

    @property
    def predict_proba(self) -> Any:
        return self._estimator.predict_proba  # which says where probabilities come from

    def predict(self, X: Any) -> Any:
        return self._reader.predict(self._values)

    def decision_function(self, X: Any) -> Any:
        return self._reader.decision(self._values)


class LeftOut(Sequence[tuple[Index, Index]]):
    """Folds that leave out a row each, in this order; made when asked for, since all at once would take 8 m² bytes."""

    def __init__(self, order: Index) -> None:
        self.order = order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, fold: Any) -> Any:
        row = self.order[fold]
        return np.delete(np.arange(len(self), dtype=np.int64), row), np.array([row])


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
    """One cross-validation: what its climbs share."""

    def __init__(
        self,
        estimator: Any,
        settings: Settings,
        rows: Any,
        splits: Sequence[tuple[Index, Index]],
        widths: Array | None,
        Cs: Array | None,
        scoring: Any,
        threads: int,
        within_fit: bool = False,
        part: Part = EVERYTHING,
    ) -> None:
        self.estimator, self.settings, self.rows, self.splits = estimator, settings, rows, splits
        self.widths, self.threads = widths, threads
        self.C = Cs if Cs is not None else np.array([getattr(estimator, "C", np.nan)], dtype=np.float64)
        self.given_C = Cs is not None
        self.scoring = scoring
        self.within_fit = within_fit
        self.part = part
        self.score_weight = None
        if within_fit and not part.plain_scores:
            self.score_weight = rows.weight if part.score_weight is None else part.score_weight
        m = rows.X.shape[0]
        self.dtype = np.dtype(np.float64 if m <= SMALL or settings.tol < FLOAT64_TOL else np.float32)
        own = settings.kernel
        self.own_width: float | None = None
        self.per_fold = False
        if widths is None and has_width(own):
            raw = own.a if hasattr(own, "a") else own.gamma  # type: ignore[attr-defined]
            self.per_fold = isinstance(raw, str)  # "scale" looks at each fold's own rows
            self.own_width = np.nan if self.per_fold else float(raw)
        plain_solver = settings.solver.name == "decomposition" and settings.max_iter < 0 and settings.max_time is None
        unresolved = not has_width(own) and own != own.resolve(rows.X)  # "scale" of a polynomial
        tree = getattr(estimator, "multiclass", "ovo") == "tree"
        self.shared = m <= MOST and plain_solver and not tree and not unresolved and settings.bias != "augmented"
        self.workers = min(threads, self._matrices())
        self.shared = self.shared and self.workers > 0
        # where a row that supports nothing has a say in the others' weights after all
        balanced = isinstance(getattr(estimator, "class_weight", None), str)
        self.dependent = balanced or hasattr(estimator, "nu")
        self.cancelled = Event()
        self._learners: dict[int, Learner] = {}
        self._without_margin: set[tuple[int, int]] = set()  # widths and folds in which ν leaves none

    def _matrices(self) -> int:
        """For how many kernel matrices there is room."""
        m, room = self.rows.X.shape[0], self.settings.cache_bytes
        square = float(self.dtype.itemsize) * m * m
        each = square * (1 + (MOST_FEW**2 if m >= MANY else 0))
        if is_classifier(self.estimator) and getattr(self.estimator, "multiclass", "ovo") == "ovo":
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
            whole = self.settings.bias == "none"
            family = Widths(kernel, X, dtype=self.dtype, threads=self.threads, largest=largest, whole=whole)
            order = family.order
        else:
            order = np.arange(X.shape[0])
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        data = Ordered(self.estimator, self.settings, self.rows, order)
        splits: Sequence[tuple[Index, Index]] = (
            LeftOut(place)
            if isinstance(self.splits, LeftOut)
            else [(np.sort(place[train]), place[test]) for train, test in self.splits]
        )
        if family is None:
            room = min(self.settings.cache_bytes, AT_A_TIME * X.shape[0] * self.dtype.itemsize)
            gram = Gram(kernel, X, dtype=self.dtype, threads=self.threads, cache_bytes=room)
            with suppress(_OutOfTime):
                self._width(0, plain_matrix(gram), data, splits, scores, violation)
            return scores, violation
        if self.per_fold:
            matrix = family.blank()
            for k, (train, _) in enumerate(self.splits):
                weight = None if self.rows.weight is None else self.rows.weight[train]
                gamma = width_of(kernel.resolve(X[train], weight))
                family.fill(matrix, gamma)
                with suppress(_OutOfTime):
                    self._width(0, matrix, data, splits, scores, violation, folds=[k])
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
                    self._width(g, matrix, data, splits, scores, violation)

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
        data: Ordered,
        splits: Sequence[tuple[Index, Index]],
        scores: Array,
        violation: Array,
        folds: Sequence[int] | None = None,
    ) -> None:
        """All folds and C of one width."""
        chains: dict[bytes | None, tuple[Matrix, Chain]] = {}
        whole = _Whole(self, matrix, data, chains) if _leaves_one_out(splits, data.size) else None
        start_C = 0 if self.part.wanted is None else int(self.part.wanted[g].argmax())
        first: list[Reached | None] = []  # of the last fold at the first C: the next fold's resembles it
        for k in range(len(splits)) if folds is None else folds:
            train, test = splits[k]
            learner = self._learner(k, train, data)
            last: list[Reached | None] = (
                list(first) if len(first) == len(learner.pieces) else [None] * len(learner.pieces)
            )
            for c, C in enumerate(self.C):
                if not self.part.wants(g, c):
                    continue
                known = whole.values(c, int(test[0])) if whole is not None else None
                if known is not None:
                    values, worst = known
                else:
                    values = np.empty((len(test), len(learner.pieces)))
                    worst = 0.0
                    for p, piece in enumerate(learner.pieces):
                        chain = self._chain(matrix, piece, chains)
                        problem = piece.problem(float(C) if self.given_C else None)
                        start = whole.start(c, p) if whole is not None else last[p]
                        reached = last[p] = chain.solve(problem, start)
                        worst = max(worst, reached.violation)
                        if _lacks_margin(reached, matrix):
                            self._without_margin.add((g, k))
                        values[:, p] = self._outputs(matrix, piece, reached, test, learner)
                if c == start_C:
                    first = list(last)
                scores[g, c, k] = self._score(learner, values, data, test)
                violation[g, c, k] = worst

    def _learner(self, fold: int, train: Index, data: Ordered) -> Learner:
        """Of a fold: the same for every width, and so are its problems, as long as they do not take much memory."""
        if fold not in self._learners:
            learner = data.learner(train)
            problems = len(self.splits) * len(self.C) * len(learner.pieces)
            if problems * data.size * PROBLEM_BYTES > min(MOST_BYTES, self.settings.cache_bytes):
                return learner
            pieces = [Piece(piece.rows, cache(piece.problem)) for piece in learner.pieces]
            self._learners[fold] = replace(learner, pieces=pieces)
        return self._learners[fold]

    def _chain(self, matrix: Matrix, piece: Piece, chains: dict[bytes | None, tuple[Matrix, Chain]]) -> Chain:
        """Of a piece's rows: all, or for few of them their part of the matrix."""
        key = None if piece.rows is None else piece.rows.tobytes()
        if key not in chains:
            part = matrix
            if piece.rows is not None:
                values = np.ascontiguousarray(matrix.values[np.ix_(piece.rows, piece.rows)])
                part = Matrix(values, matrix.diagonal[piece.rows])
            chains[key] = part, Chain(part, tol=self.settings.tol, pulse=self.pulse)
        return chains[key][1]

    def pulse(self) -> None:
        """End a worker that is not wanted any more."""
        if self.cancelled.is_set():
            raise KeyboardInterrupt
        if perf_counter() > self.part.deadline:
            raise _OutOfTime

    def _outputs(self, matrix: Matrix, piece: Piece, reached: Reached, test: Index, learner: Learner) -> Array:
        """Decision values of held-out rows; those that the climb has not carried along are made here."""
        coef, at, rho = reached.coef, reached.bias, learner.scale(reached)
        if piece.rows is None:
            # without a bias the faintest value may decide, and must not drown in what climbing has left of rounding
            product = reached.product if reached.problem.sums else matrix.product(coef)
            return np.asarray((product[test] + at) / rho)
        some = np.flatnonzero(coef)
        K = matrix.values[np.ix_(test, piece.rows[some])]
        # no BLAS: its threads would wait for each other's by spinning
        return np.asarray((np.einsum("ij,j->i", K.astype(np.float64), coef[some]) + at) / rho)

    def _score(self, learner: Learner, values: Array, data: Ordered, test: Index) -> float:
        truth = data.y[test]
        weight = None if self.score_weight is None else self.score_weight[data.order[test]]
        if self.scoring is None:
            predicted = learner.predict(values)
            if is_classifier(self.estimator):
                return float(np.average(predicted == truth, weights=weight))
            return float(r2_score(truth, predicted, sample_weight=weight))
        named = type(type(self.estimator).__name__, (_Known,), {})  # scorers name whom they complain of
        known = named(self.estimator, learner, values)
        X = np.empty((len(test), 0)) if self.settings.precomputed else self.rows.X[data.order[test]]
        return self._scored(known, X, truth, weight)

    def _scored(self, machine: Any, X: Any, truth: Any, weight: Array | None) -> float:
        scorer = check_scoring(machine, scoring=self.scoring)
        with np.errstate(over="ignore"):  # squares of errors beyond 1e154 are infinite
            return float(
                scorer(machine, X, truth) if weight is None else scorer(machine, X, truth, sample_weight=weight)
            )

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
        machine = clone(self.estimator).set_params(warm_start=True)
        machine._quiet = True  # what there is to say of its parameters is said once, for all folds
        machine._searching = self.within_fit
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
            machine.fit(X, rows.y[train], sample_weight=weight)
            held = None if self.score_weight is None else self.score_weight[test]
            scores[g, c, k] = self._scored(machine, X_test, rows.y[test], held)
            violation[g, c, k] = machine.kkt_violation_


def _lacks_margin(reached: Reached, matrix: Matrix) -> bool:
    """Whether a solution of ν-classification is noise: its margin ρ is within its errors."""
    problem, beta = reached.problem, reached.beta
    if len(problem.totals) < 2 or problem.doubled:
        return False
    rounding = ROUNDING * float(np.abs(beta).sum() * np.abs(matrix.diagonal).max())
    return not bias(problem, reached.gradient, beta)[1] > CLEAR * (reached.violation + rounding)


def _leaves_one_out(splits: Sequence[tuple[Index, Index]], m: int) -> bool:
    """Whether every fold learns from all rows but the one that it is tested on."""
    if isinstance(splits, LeftOut):
        return True
    return len(splits) > 1 and all(
        len(test) == 1 and len(train) == m - 1 and len(np.unique(train)) == m - 1 and test[0] not in train
        for train, test in splits
    )


class _Whole:
    """The machines of all rows: what leaving a row out changes nothing about, and where the rest starts from."""

    def __init__(self, grid: Grid, matrix: Matrix, data: Ordered, chains: Any) -> None:
        self.learner = data.learner(np.arange(data.size))
        self.reached: list[list[Reached]] = []
        self.matrix, self.grid = matrix, grid
        for C in grid.C:
            last = self.reached[-1] if self.reached else [None] * len(self.learner.pieces)
            self.reached.append(
                [
                    grid._chain(matrix, piece, chains).solve(piece.problem(float(C) if grid.given_C else None), before)
                    for piece, before in zip(self.learner.pieces, last, strict=True)
                ]
            )

    def start(self, c: int, p: int) -> Reached:
        """Where the machine without a row begins."""
        return self.reached[c][p]

    def values(self, c: int, row: int) -> tuple[Array, float] | None:
        """Outputs for a row that supports no machine; None if it supports one, or changes their weights."""
        if self.grid.dependent:
            return None
        outputs, worst = [], 0.0
        for piece, reached in zip(self.learner.pieces, self.reached[c], strict=True):
            at = row if piece.rows is None else int(np.searchsorted(piece.rows, row))
            inside = piece.rows is None or (at < len(piece.rows) and piece.rows[at] == row)
            if inside and reached.coef[at] != 0:
                return None
            outputs.append(self.grid._outputs(self.matrix, piece, reached, np.array([row]), self.learner)[0])
            worst = max(worst, reached.violation)
        return np.array([outputs]), worst
