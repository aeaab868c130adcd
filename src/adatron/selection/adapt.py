"""σ and C chosen while training: a coarse map from few rows, then a closer look from more.

The map's axes are σ relative to the median distance, and c = C·v, where v is the variance of the rows in the kernel's
feature space (1 − mean K for a Gaussian): for wide kernels, whose v is small, C has to grow in proportion, so that the
best c hardly depends on σ. Every point is a climb that goes on from its neighbour, and a criterion read from it:

* "span": the smoothed leave-one-out error of the span rule (`bounds.span`); the default, see docs/selection.md;
* "bound": the margin's: Σα/m for a hard margin, (1 + 1/2C) Σα/m of the squared hinge otherwise;
* "xi-alpha": Joachims's estimate;
* "cv", "loo": exact cross-validation (`cross_validate`).

Cost: `COARSE`² climbs on at most `FEW` rows and 3² on at most `MORE`, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from adatron._check import Array
from adatron.estimators._fit import Settings
from adatron.gram import Gram
from adatron.problems import Problem, squared_hinge
from adatron.selection.bounds import span, xi_alpha
from adatron.selection.chain import Chain, Reached
from adatron.selection.folds import cross_validate
from adatron.selection.learner import Ordered
from adatron.selection.path import Path, Point
from adatron.selection.widths import Matrix, Widths, gamma_of, has_width, plain_matrix, sigma_of, width_of
from adatron.threads import effective_threads, one_blas_thread

Index = NDArray[np.int64]

CRITERIA = ("span", "bound", "xi-alpha", "cv", "loo")
FEW, MORE = 256, 800  # rows of the coarse map, and of the closer look
COARSE = 4  # values of σ and of c on the map
SIGMAS = (0.35, 4.2)  # times the median distance
TRADES = (0.3, 200.0)  # values of c
TOL = 1e-2  # of climbs that are only looked at
FOLDS = 5
HARD = 1e6  # C, in place of infinity, where a hard margin does not exist


def adapt(estimator: Any, settings: Settings, rows: Any, criterion: str) -> Path:
    """The path of an estimator with gamma="adapt" or C="adapt"; its chosen point holds what to train with."""
    search = _Search(estimator, settings, rows, criterion)
    with one_blas_thread():
        return search.run()


class _Search:
    def __init__(self, estimator: Any, settings: Settings, rows: Any, criterion: str) -> None:
        self.estimator, self.settings, self.rows, self.criterion = estimator, settings, rows, criterion
        self.path = Path(criterion)
        self.any_gamma = isinstance(estimator.gamma, str) and estimator.gamma == "adapt"
        self.any_C = isinstance(getattr(estimator, "C", None), str)
        self.random = np.random.default_rng(0)

    def run(self) -> Path:
        m = self.rows.X.shape[0]
        few = self.stage(FEW)
        if self.any_gamma and few.median == 0:
            self.path.notes.append("All rows are alike: every distance is zero, and any width will do; σ = 1 is taken.")
            self.any_gamma = False
            few.fixed = 1.0
        sigmas = np.geomspace(*SIGMAS, COARSE if self.any_C else COARSE + 2) * few.median
        trades = np.geomspace(*TRADES, COARSE if self.any_gamma else COARSE + 2)
        values, points = self.map(few, sigmas if self.any_gamma else None, trades if self.any_C else None)
        i, j = np.unravel_index(_blurred(values).argmin(), values.shape)
        best = points[i][j]
        if m > 1:
            look = few if len(few) == m else self.stage(MORE)
            s = np.sqrt(sigmas[1] / sigmas[0])
            t = np.sqrt(trades[1] / trades[0])
            near = best.sigma * np.array([1 / s, 1.0, s]) if self.any_gamma else None
            worth = few.worth(best) * np.array([1 / t, 1.0, t]) if self.any_C else None
            values, points = self.map(look, near, worth)
            i, j = np.unravel_index(_blurred(values).argmin(), values.shape)
        self.path.chosen = points[i][j]
        return self.path

    def stage(self, most: int) -> _Stage:
        return _Stage(self, _sample(self.rows, most, self.random, is_classifier(self.estimator)))

    def map(self, stage: _Stage, sigmas: Array | None, trades: Array | None) -> tuple[Array, list[list[Point]]]:
        """Every σ, from small to large, and every c at each; None: as the estimator has it."""
        points = [stage.line(sigma, trades) for sigma in (sigmas if sigmas is not None else [None])]
        self.path.points.extend(point for line in points for point in line)
        return np.array([[point.value for point in line] for line in points]), points


class _Stage:
    """Climbs on some of the rows."""

    def __init__(self, search: _Search, index: Index | None) -> None:
        self.search = search
        rows, settings = search.rows, search.settings
        if index is not None:
            X = rows.X[np.ix_(index, index)] if settings.precomputed else rows.X[index]
            weight = None if rows.weight is None else rows.weight[index]
            rows = replace(rows, X=X, y=rows.y[index], weight=weight)
        self.rows, kernel = rows, settings.kernel
        self.threads = effective_threads(settings.n_jobs)
        self.widths: Widths | None = None
        self.matrix: Matrix
        self.fixed: float | None = None
        order = np.arange(rows.X.shape[0])
        if has_width(kernel):
            self.widths = Widths(kernel, rows.X, dtype=np.float64, threads=self.threads)
            self.matrix, order = self.widths.blank(), self.widths.order
            self.median = sigma_of(kernel, 1.0) * 0 + _length(kernel, float(self.widths.quantiles(0.5)))
            self.alike = not self.widths.distances(np.arange(min(8, len(order)))).any()
            if self.alike:
                self.median = 0.0
        else:
            self.matrix = plain_matrix(Gram(kernel, rows.X, dtype=np.float64, threads=self.threads))
            self.median = 1.0
        self.data = Ordered(search.estimator, settings, rows, order)
        self.learner = self.data.learner(np.arange(len(order)))

    def __len__(self) -> int:
        return int(self.rows.X.shape[0])

    def worth(self, point: Point) -> float:
        """c of a point."""
        self.fill(point.gamma)
        return point.C * self.variance()

    def fill(self, gamma: float) -> None:
        if self.widths is not None:
            self.widths.fill(self.matrix, gamma)

    def variance(self) -> float:
        """Of the rows in feature space."""
        K = self.matrix.values
        return max(float(self.matrix.diagonal.mean() - K.mean()), 1e-12)

    def line(self, sigma: float | None, trades: Array | None) -> list[Point]:
        """All C at one width."""
        kernel, estimator = self.search.settings.kernel, self.search.estimator
        gamma = np.nan
        if self.widths is not None:
            if sigma is None:
                sigma = self.fixed or sigma_of(kernel, width_of(kernel.resolve(self.search.rows.X)))
            gamma = gamma_of(kernel, sigma)
        self.fill(gamma)
        Cs = [getattr(estimator, "C", np.nan)] if trades is None else (trades / self.variance()).tolist()
        if self.search.criterion in ("cv", "loo"):
            return self.validated(sigma, gamma, Cs, given=trades is not None)
        chains: dict[int, Chain] = {}
        last: list[Reached | None] = [None] * len(self.learner.pieces)
        line = []
        for C in Cs:
            began = perf_counter()
            value, weights, support, steps = 0.0, 0.0, 0, 0
            alpha = 0.0
            for p, piece in enumerate(self.learner.pieces):
                if p not in chains:
                    part = self.matrix
                    if piece.rows is not None:
                        inside = np.ix_(piece.rows, piece.rows)
                        part = Matrix(np.ascontiguousarray(part.values[inside]), part.diagonal[piece.rows])
                    chains[p] = Chain(part, tol=TOL)
                problem = self.problem(piece.problem(float(C) if trades is not None else None), float(C))
                reached = last[p] = chains[p].solve(problem, last[p])
                size = len(problem)
                value += size * self.judged(reached, chains[p].matrix)
                alpha += float(np.abs(reached.beta).sum())
                weights += size
                support += int(np.count_nonzero(reached.coef))
                steps += reached.steps
            value = value / weights if np.isfinite(value) else np.inf
            sigma_here = np.nan if sigma is None else sigma
            line.append(
                Point(
                    sigma_here,
                    gamma,
                    float(C),
                    value,
                    bound=alpha / weights,
                    radius=1.0,
                    margin=float(1 / np.sqrt(alpha)) if alpha > 0 else np.inf,
                    support=support,
                    iterations=steps,
                    seconds=perf_counter() - began,
                    rows=len(self),
                )
            )
        return line

    def problem(self, problem: Problem, C: float) -> Problem:
        """The one to be judged: for the bound of a soft margin, that of the squared hinge."""
        if self.search.criterion != "bound" or problem.use != "hinge" or not np.isfinite(problem.upper).all():
            return problem
        weight = np.maximum(problem.upper, -problem.lower) / C
        return squared_hinge(-problem.linear, C, bias="exact" if len(problem.totals) else "none", weight=weight)

    def judged(self, reached: Reached, matrix: Matrix) -> float:
        """The criterion's value for one machine."""
        problem = reached.problem
        match self.search.criterion:
            case "span":
                return span(problem, matrix, reached.beta).smooth  # type: ignore[arg-type]
            case "xi-alpha":
                return xi_alpha(problem, reached.beta, reached.product, reached.bias, matrix.diagonal, rho=1.0)
            case _:
                return float(np.abs(reached.beta).sum() * (matrix.diagonal.max() + problem.ridge.mean())) / len(problem)

    def validated(self, sigma: float | None, gamma: float, Cs: Sequence[float], *, given: bool) -> list[Point]:
        """The points of a line by exact cross-validation."""
        began = perf_counter()
        folds: Any = "loo" if self.search.criterion == "loo" else FOLDS
        machine = copy(self.search.estimator)
        machine.gamma = gamma if self.widths is not None else machine.gamma
        machine.tol = max(machine.tol, TOL)
        found = cross_validate(
            machine,
            self.rows.X,
            self.rows.y,
            sample_weight=self.rows.weight,
            C=Cs if given else None,
            cv=folds,
            scoring=None if is_classifier(machine) else "neg_mean_squared_error",
            n_jobs=self.search.settings.n_jobs,
        )
        seconds = (perf_counter() - began) / len(Cs)
        losses = -found.mean[0] if not is_classifier(machine) else 1 - found.mean[0]
        here = np.nan if sigma is None else sigma
        return [
            Point(here, gamma, float(C), float(loss), seconds=seconds, rows=len(self))
            for C, loss in zip(Cs, losses, strict=True)
        ]


def _length(kernel: Any, distance: float) -> float:
    """A distance as the kernel sees it, in the units of σ."""
    return float(np.sqrt(distance)) if type(kernel).__name__ == "Gaussian" else distance


def _sample(rows: Any, most: int, random: np.random.Generator, classes: bool) -> Index | None:
    """So many rows at random, every class in proportion and at least twice if it can be; None: all."""
    m = rows.X.shape[0]
    if m <= most:
        return None
    if not classes:
        return np.sort(random.permutation(m)[:most]).astype(np.int64)
    parts = []
    for name in np.unique(rows.y):
        members = np.flatnonzero(rows.y == name)
        share = max(min(8, len(members)), round(most * len(members) / m))
        parts.append(random.permutation(members)[:share])
    return np.sort(np.concatenate(parts)).astype(np.int64)


def _blurred(values: Array) -> Array:
    """Each value with its neighbours: a criterion's noise is less than its blur's."""
    edge = np.pad(values, 1, mode="edge")
    with np.errstate(invalid="ignore"):
        near = edge[:-2, 1:-1] + edge[2:, 1:-1] + edge[1:-1, :-2] + edge[1:-1, 2:]
    return np.asarray(np.where(np.isfinite(values), near / 6 + values / 3, np.inf))
