"""What a search over σ and C knows: losses of points on a lattice, and which point is the best.

A point is a pair of whole numbers: steps of log σ and of log C. Its loss is known fold by fold. Losses are noisy, so a
point is judged by the mean of its own and its neighbours' losses, weighted by a Gaussian of their distance in steps and
by the number of folds. A larger C has to be better by a little, and among equals the larger σ and then the smaller C is
taken: the smoother function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adatron._check import Array

Place = tuple[int, int]

# Chosen on twelve two-class sets with 150 and 400 rows (docs/selection.md, "How it was tuned").
BLUR = 0.7  # steps
WIDE_BLUR = 1.0  # on a map of which only every second or third point is known
CAUTION = 0.002  # spreads of a single row's loss that a step to a larger C has to gain
OTHER_CAUTION = 0.01  # the same of losses that are not errors: squares of outliers make their means noisier
EQUAL = 1e-9  # of the spread: less is a tie


@dataclass(frozen=True)
class Losses:
    """Losses of one point, ``repeats`` x folds, and the weight of each fold's test rows."""

    folds: Array
    weight: Array

    @cached_property
    def mean(self) -> float:
        """Over all folds, by weight."""
        return float(np.average(self.folds, weights=self.weight))

    @cached_property
    def standard_error(self) -> float:
        """Of the mean over the folds of one repeat; repeats share their rows, and do not make it smaller."""
        if not np.isfinite(self.folds).all():
            return np.nan
        return float(np.sqrt(np.mean([_squared_error(*each) for each in zip(self.folds, self.weight, strict=True)])))


class Surface:
    """Losses of the points judged so far, on the same folds of the same rows.

    ``rows`` is the number of rows that losses other than errors are means over: the spread of a single row's error
    follows from the share of errors, that of another loss from the standard error. ``blur`` is how many steps the mean
    over neighbours reaches.
    """

    def __init__(self, rows: int | None = None, blur: float = BLUR) -> None:
        self.known: dict[Place, Losses] = {}
        self.rows, self.blur = rows, blur

    def __len__(self) -> int:
        return len(self.known)

    def spread(self) -> float:
        """Of a single row's loss at the point of the least mean: the unit in which differences count."""
        best = min(self.known.values(), key=lambda losses: losses.mean)
        if self.rows is not None:
            error = best.standard_error * float(np.sqrt(self.rows))
            return error if np.isfinite(error) and error > 0 else abs(best.mean) or 1.0
        share = float(np.clip(best.mean, 0.02, 0.5))
        return float(np.sqrt(share * (1 - share)))

    def means(self) -> Array:
        """Of all points, in the order in which they became known."""
        return np.array([losses.mean for losses in self.known.values()])

    def worth(self, means: Array | None = None) -> Array:
        """Of all points, the less the better; ``means`` in the place of their own mean losses."""
        means = self.means() if means is None else means
        places = np.array(list(self.known), dtype=np.float64)
        finite = means[np.isfinite(means)]
        filled = np.where(np.isfinite(means), means, finite.max(initial=0.0) + 1.0)
        unit = self.spread()
        folds = np.array([losses.folds.size for losses in self.known.values()])
        distance = ((places[:, None] - places) ** 2).sum(axis=2)
        near = np.exp(-distance / (2 * self.blur**2)) * folds
        smooth = (near * filled).sum(axis=1) / near.sum(axis=1)
        smooth[~np.isfinite(means)] = np.inf
        sigma, C = places.T
        caution = CAUTION if self.rows is None else OTHER_CAUTION
        return np.asarray(smooth + unit * (caution * C + EQUAL * (C - 2 * sigma)))

    def ranked(self, among: Iterable[Place] | None = None) -> list[Place]:
        """Points from the best; those that are named, or all."""
        some = set(self.known if among is None else among)
        places, worth = list(self.known), self.worth()
        return [places[k] for k in np.argsort(worth, kind="stable") if places[k] in some]

    def best(self, among: Iterable[Place] | None = None) -> Place:
        """The best point."""
        return self.ranked(among)[0]

    def beyond(self, axis: int, step: int, limits: tuple[int, int], among: Iterable[Place] | None = None) -> int | None:
        """The next coordinate along an axis, where the best point is at the rim and clearly better than all inside."""
        places = list(self.known if among is None else among)
        rims = {min(place[axis] for place in places), max(place[axis] for place in places)}
        ranked = self.ranked(places)
        best, inside = ranked[0], [place for place in ranked if place[axis] not in rims]
        if best[axis] not in rims or not inside or not self.is_clearly_better(best, inside[0]):
            return None
        outward = best[axis] + step * (1 if best[axis] == max(rims) else -1)
        return outward if limits[0] <= outward <= limits[1] else None

    def is_clearly_better(self, one: Place, other: Place) -> bool:
        """Whether one point's losses are less than the other's by more than a standard error of their difference."""
        a, b = self.known[one], self.known[other]
        if not np.isfinite(a.mean) or not np.isfinite(b.mean):
            return bool(a.mean < b.mean)
        apart = Losses(b.folds - a.folds, a.weight)
        return bool(apart.mean > apart.standard_error)

    def honest(self) -> tuple[float, float]:
        """Mean loss and standard error of the choice itself: each fold's loss at the point that the others choose.

        The least of many means is less than what that point will do on new rows, since chance had a part in its being
        the least. What the other folds choose has no such luck on the fold that is left out. All points take part, with
        their first split: those of the second were chosen with the help of every fold.
        """
        folds = np.array([losses.folds[0] for losses in self.known.values()])
        weight = next(iter(self.known.values())).weight[0]
        chosen = np.empty(len(weight))
        for k in range(len(weight)):
            others = np.arange(len(weight)) != k
            means = np.average(folds[:, others], axis=1, weights=weight[others]) if others.any() else folds[:, k]
            chosen[k] = folds[self.worth(means).argmin(), k]
        found = Losses(chosen[None], weight[None])
        return found.mean, found.standard_error


def _squared_error(losses: Array, weight: Array) -> float:
    """Squared standard error of the mean of one repeat's folds."""
    if len(losses) < 2:
        return np.nan
    mean = np.average(losses, weights=weight)
    return float(np.average((losses - mean) ** 2, weights=weight) / (len(losses) - 1))


def around(place: Place, axes: Sequence[int]) -> list[Place]:
    """The point and its neighbours, diagonal ones too."""
    steps = [(-1, 0, 1) if axis in axes else (0,) for axis in (0, 1)]
    return [(place[0] + i, place[1] + j) for i in steps[0] for j in steps[1]]


def across(place: Place, axes: Sequence[int]) -> list[Place]:
    """The point and its neighbours along the axes."""
    return [place] + [
        (place[0] + (axis == 0) * step, place[1] + (axis == 1) * step) for axis in axes for step in (-1, 1)
    ]
