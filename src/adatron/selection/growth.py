"""σ and C by exact cross-validation on more and more rows.

1. **A map** of 4 x 5 points on about 256 rows: σ from 0.35 to 8 median distances, c = C·v from 0.1 to 1,000, where v is
   the variance of the rows in feature space. Where the best point is at the rim, the map grows in that direction.
2. **Growth**: the best point of every width on four times as many rows, then the neighbours of the best of them, half a
   step apart, and so on up to all rows or `MOST`; where the best point is at the edge of what was looked at and clearly
   better than where that began, its neighbours too.
3. Up to `TINY` rows there is one stage only, and one split into folds would be noise: the best three points and their
   neighbours are judged on a second split as well.

Points lie on one lattice at all stages: σ is the median distance times a power of √2, and C a power of √10 in the unit
of the targets, so that several widths of a stage share their values of C, and one cross-validation does them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array
from adatron.kernels import gamma_of, sigma_of, width_of
from adatron.plan import TrainingData
from adatron.selection.folds import CrossValidation, weighted_validation
from adatron.selection.grid import Part
from adatron.selection.lattice import WIDE_BLUR, Losses, Place, Surface, across, around
from adatron.selection.path import Path, Point
from adatron.selection.sample import Index, along_a_line, shuffled, weighted_folds

Lines = tuple[tuple[int, ...], tuple[int, ...]]
MAP: Lines = (-3, 0, 3, 6), (-2, 0, 2, 4, 6)  # steps of √2 in σ, of √10 in c
REGRESSION_MAP = (-2, 0, 2, 4)  # a larger C learns outliers by heart, and extrapolates wildly
ALONE: Lines = (-4, -2, 0, 2, 4, 6), MAP[1]  # where the other is given
STRIDE = (3, 2), (2, 2)  # of the two maps
LIMITS = (-9, 12), (-6, 10)  # how far the map may grow
CENTRE = (0, 2)  # what is taken when there was no time to judge anything
MOST_LINES = 6  # by which the map grows
TINY = 300  # rows up to which there is one stage, with two splits
FACTOR = 4  # from one stage's rows to the next's
LEAST_FACTOR = 1.5
MOST = 4096  # rows of the largest stage: as many as one matrix has room for in a fit's cache
MOST_WITHOUT_WIDTH = 1024  # the same of linear and other kernels, whose solves take long where C is large
MOVES = 3  # of a stage beyond what it began with
CANDIDATES, LATER_CANDIDATES, CANDIDATES_OF_TINY = 4, 2, 3
APART = 3  # steps between candidates
FOLDS = 5
TOL = 1e-3  # of solves that are only looked at
LARGEST_C = 1e300


class Growth:
    """One search by cross-validation; ``search`` holds what it is about (see adapt.py)."""

    def __init__(self, search: Any) -> None:
        self.search: Any = search
        self.path: Path = search.path
        self.axes = [axis for axis, sought in enumerate((search.any_gamma, search.any_C)) if sought]
        self.sizes = self._sizes()
        self.first = search.stage(self.sizes[0])
        self.median, self._shifts = 1.0, dict[int, int]()
        if search.any_gamma:
            self.median = self.first.median()
            if self.median == 0:
                self.path.notes.append(search.ALIKE)
                self.axes.remove(0)
                self.median = 1.0
        self.points: dict[tuple[int, Place], Point] = {}

    def run(self) -> Path:
        """The path, with its chosen point."""
        stage = _Stage(self, self.first.rows)
        surface = stage.surface(WIDE_BLUR)
        self._map(stage, surface)
        done = self._twice(stage, surface) if len(self.sizes) == 1 else list(surface.known)
        for size in self.sizes[1:]:
            if self.search.out_of_time() or not surface.known:
                break
            larger = _Stage(self, self.search.sample(size))
            grown = larger.surface()
            self._grow(larger, grown, self._candidates(surface, first=stage.rows is self.first.rows))
            if not grown.known:
                break
            stage, surface, done = larger, grown, list(grown.known)
        self._choose(stage, surface, done)
        return self.path

    def _sizes(self) -> list[int]:
        """Rows of every stage."""
        rows, first = len(self.search.data), self.search.few()
        if rows <= TINY:
            return [rows]
        top = min(rows, MOST if self.search.has_width else MOST_WITHOUT_WIDTH)
        sizes = [first]
        while sizes[-1] * FACTOR * LEAST_FACTOR < top:
            sizes.append(sizes[-1] * FACTOR)
        return [*sizes, top] if top > LEAST_FACTOR * sizes[-1] else [*sizes[:-1], top]

    # ------------------------------------------------------------ steps of the search

    def _map(self, stage: _Stage, surface: Surface) -> None:
        """Judge the coarse map, and what lies beyond its rim as long as the best point is there."""
        grid, stride = (MAP, STRIDE[0]) if len(self.axes) == 2 else (ALONE, STRIDE[1])
        if not self.search.classifies:
            grid = grid[0], REGRESSION_MAP
        lines = [grid[axis] if axis in self.axes else (0,) for axis in (0, 1)]
        stage.judge(surface, [(i, j) for i in lines[0] for j in lines[1]])
        for _ in range(MOST_LINES):
            if not surface.known or self.search.out_of_time():
                return
            new: set[Place] = set()
            best = surface.best()
            for axis in self.axes:
                outward = surface.beyond(axis, stride[axis], LIMITS[axis])
                if outward is None:
                    continue
                other = 1 - axis
                near = {place[other] for place in surface.known if abs(place[other] - best[other]) <= stride[other]}
                new |= {(outward, there) if axis == 0 else (there, outward) for there in near}
            if not new - set(surface.known):
                return
            stage.judge(surface, new)

    def _twice(self, stage: _Stage, surface: Surface) -> list[Place]:
        """Judge the best points and their neighbours on a second split as well; which they are."""
        if not surface.known:
            return []
        near = {
            place
            for best in surface.ranked()[:CANDIDATES_OF_TINY]
            for place in across(best, self.axes)
            if self._allowed(place)
        }
        stage.judge(surface, near)
        surface.blur = stage.surface().blur
        some = near & set(surface.known)
        stage.judge(surface, some, again=True)
        done = [place for place in surface.known if place in some and len(surface.known[place].folds) > 1]
        return done or list(some)

    def _candidates(self, surface: Surface, first: bool) -> list[Place]:
        """The best point, and the best of widths far from those before: more rows often want a less smooth function."""
        axis = self.axes[0] if self.axes else 0
        found: list[Place] = []
        for place in surface.ranked():
            if all(abs(place[axis] - other[axis]) >= APART for other in found):
                found.append(place)
        return found[: CANDIDATES if first else LATER_CANDIDATES]

    def _grow(self, stage: _Stage, surface: Surface, candidates: Sequence[Place]) -> None:
        """Judge candidates on more rows, then the neighbours of the best, and follow the best one out of them."""
        stage.judge(surface, candidates)
        if not surface.known:
            return
        start = surface.best()
        stage.judge(surface, [place for place in around(start, self.axes) if self._allowed(place)])
        for _ in range(MOVES):
            if self.search.out_of_time():
                return
            best = surface.best()
            new = {place for place in around(best, self.axes) if self._allowed(place)} - set(surface.known)
            if not new or not surface.is_clearly_better(best, start):
                return
            stage.judge(surface, new)
            start = best

    def _choose(self, stage: _Stage, surface: Surface, done: list[Place]) -> None:
        path = self.path
        self.search.out_of_time()  # which says so in the notes
        if not done:  # there was no time for a single point
            place = (CENTRE[0] if 0 in self.axes else 0, CENTRE[1] if 1 in self.axes else 0)
            path.chosen = self.point(place, len(stage), Losses(np.full((1, 1), np.nan), np.ones((1, 1))), 0.0)
            path.points.append(path.chosen)
            return
        if not any(np.isfinite(losses.mean) for losses in surface.known.values()):
            self.search.refuse()
        path.chosen = self.points[len(stage), surface.best(done)]
        path.estimate, path.estimate_error = surface.honest()
        self.search.noise = path.best.value
        if self.search.any_epsilon and not stage.squared:
            self.search.noise = stage.squared_error(path.best)

    def _allowed(self, place: Place) -> bool:
        return all(LIMITS[axis][0] <= place[axis] <= LIMITS[axis][1] for axis in self.axes)

    # ------------------------------------------------------------ what a place stands for

    def gamma(self, i: int) -> float:
        """Of a step in σ; NaN for kernels that have no width."""
        kernel = self.search.settings.kernel
        if 0 in self.axes or (self.search.any_gamma and self.search.has_width):
            return gamma_of(kernel, self.median * 2.0 ** (i / 2))
        return float(width_of(kernel)) if self.search.has_width else np.nan

    def C_step(self, place: Place) -> int:
        """Steps of √10 from 1 to C: those of c, and as many as the variance at this width is worth."""
        i, j = place
        if i not in self._shifts:
            self._shifts[i] = round(-2 * np.log10(self.first.variance(self.gamma(i))))
        return j + self._shifts[i]

    def C(self, step: int) -> float:
        """Of a step."""
        with np.errstate(over="ignore"):
            return float(min(10.0 ** (step / 2) * self.search.unit / self.search.data.scale, LARGEST_C))

    def point(self, place: Place, rows: int, losses: Losses, seconds: float) -> Point:
        """What is told of a place."""
        gamma = self.gamma(place[0])
        kernel = self.search.settings.kernel
        C = self.C(self.C_step(place)) if self.search.any_C else self.search.own_C
        sigma = sigma_of(kernel, gamma) if self.search.has_width else np.nan
        return Point(sigma, gamma, C, losses.mean, standard_error=losses.standard_error, rows=rows, seconds=seconds)

    def tell(self, surface: Surface, rows: int, count: int) -> None:
        """What is printed where the estimator is verbose."""
        settings = self.search.settings
        if not settings.verbose or not surface.known:
            return
        best = self.points[rows, surface.best()]
        found = f"gamma = {best.gamma:.3g}, C = {best.C:.3g}: {best.value:.4g} ± {best.standard_error:.2g}"
        seconds = perf_counter() - self.search.began
        print(f"[{settings.name}] {seconds:.1f} s: {count} points on {rows} rows, best {found}", flush=True)


class _Stage:
    """Cross-validations on some of the rows."""

    def __init__(self, growth: Growth, rows: TrainingData) -> None:
        self.growth, self.search, self.rows = growth, growth.search, rows
        search, classifies = self.search, self.search.classifies
        count = int(np.unique(self.rows.y, return_counts=True)[1].min()) if classifies else len(self)
        if count < 2:
            short = "of every class, and one has 1" if classifies else "or more, not 1 sample"
            raise ValueError(f"criterion='cv' needs two rows {short}: pass more rows.")
        self.count = min(FOLDS, count)
        # from a line through the rows: the same folds in any unit of the features, wherever their origin is
        self.line = np.arange(len(self)) if search.settings.precomputed else along_a_line(self.rows.X)
        self.folds = self._split(0)
        self.squared = not classifies and search.scoring is None
        self.errors = classifies and search.scoring in (None, "accuracy")

    def __len__(self) -> int:
        return self.rows.n_rows

    def _split(self, times: int) -> list[tuple[Index, Index]]:
        """Folds of equal weight, of every class too; other ones for every number."""
        order = shuffled(self.line, times)
        labels = self.rows.y[order] if self.search.classifies else None
        folds = weighted_folds(self.rows.weights()[order], labels, self.count)
        return [(np.sort(order[train]), np.sort(order[test])) for train, test in folds]

    def surface(self, blur: float | None = None) -> Surface:
        """To write losses on."""
        rows = None if self.errors else len(self)
        return Surface(rows) if blur is None else Surface(rows, blur)

    def judge(self, surface: Surface, places: Iterable[Place], again: bool = False) -> None:
        """Losses of places that are not known yet; ``again``: of known ones, on the second split."""
        growth, search = self.growth, self.search
        places = sorted(place for place in set(places) if again or place not in surface.known)
        if not places:
            return
        began = perf_counter()
        widths = sorted({i for i, _ in places})
        steps = {place: growth.C_step(place) if search.any_C else 0 for place in places}
        Cs = sorted(set(steps.values()))
        wanted = np.zeros((len(widths), len(Cs)), dtype=bool)
        for place in places:
            wanted[widths.index(place[0]), Cs.index(steps[place])] = True
        found, weight = self._validated(
            [growth.gamma(i) for i in widths] if search.has_width else None,
            [growth.C(step) for step in Cs] if search.any_C else None,
            self._split(1) if again else self.folds,
            search.scoring,
            wanted,
        )
        seconds = (perf_counter() - began) / len(places)
        for place in places:
            at = widths.index(place[0]), Cs.index(steps[place])
            if np.isnan(found.violation[at]).any() and np.isnan(found.scores[at]).any():
                continue  # there was no time for it
            losses = (1.0 if self.errors else 0.0) - found.scores[at]
            if (found.violation[at] > search.unit).any():  # a hard margin that does not exist
                losses = np.full_like(losses, np.inf)
            self._note(surface, place, losses, weight, seconds)
        growth.tell(surface, len(self), len(places))

    def _note(self, surface: Surface, place: Place, losses: Array, weight: Array, seconds: float) -> None:
        """Write losses down, with those of an earlier split."""
        growth, path = self.growth, self.search.path
        known = surface.known.get(place)
        here = Losses(losses[None], weight[None])
        if known is not None and known.folds.shape[1] == len(losses):
            here = Losses(np.vstack((known.folds, losses)), np.vstack((known.weight, weight)))
        surface.known[place] = here
        old = growth.points.get((len(self), place))
        point = growth.point(place, len(self), here, seconds + (old.seconds if old else 0.0))
        growth.points[len(self), place] = point
        if old is None:
            path.points.append(point)
        else:
            path.points[next(k for k, each in enumerate(path.points) if each is old)] = point

    def squared_error(self, point: Point) -> float:
        """Mean squared error at a point, for the tube's width, where something else was scored."""
        gamma = [point.gamma] if self.search.has_width else None
        C = [point.C] if self.search.any_C else None
        found, weight = self._validated(gamma, C, self.folds, None, None)
        return -float(np.average(found.scores[0, 0], weights=weight))

    def _validated(
        self,
        gamma: list[float] | None,
        C: list[float] | None,
        folds: list[tuple[Index, Index]],
        scoring: Any,
        wanted: NDArray[np.bool_] | None,
    ) -> tuple[CrossValidation, Array]:
        search, rows = self.search, self.rows
        learning, fresh = search.trial(rows, TOL)
        if scoring is None and not search.classifies:
            scoring = "neg_mean_squared_error"
        return weighted_validation(
            learning,
            folds,
            gamma=None if gamma is None else np.array(gamma),
            C=None if C is None else np.array(C),
            scoring=scoring,
            fresh=fresh,
            part=Part(wanted, search.score_weight(rows), search.plain_scores, search.deadline()),
        )
