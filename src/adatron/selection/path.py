"""A path over kernels: what was tried, how good it was said to be, what was chosen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from math import isfinite, nan
from typing import Any

import numpy as np

from adatron._check import Array

HEADS = {"sigma": "σ", "iterations": "steps", "standard_error": "std error"}
FORMATS = {"support": "d", "iterations": "d", "rows": "d", "seconds": ".4f"}


@dataclass(frozen=True)
class Point:
    """One kernel and one C. What a criterion does not look at is NaN.

    ``value`` is the criterion's, the less the better; with cross-validation the mean over folds, whose standard error
    is ``standard_error``; ``margin`` is γ = 1/‖w‖ (of many machines, from the mean of
    ‖w‖²); ``bound`` is R²/(mγ²) with R = ``radius``; ``error`` that on held-out rows, where some were given; ``rows``
    how many it was judged on.
    """

    sigma: float
    gamma: float
    C: float
    value: float
    standard_error: float = nan
    bound: float = nan
    radius: float = nan
    margin: float = nan
    error: float = nan
    support: int = 0
    iterations: int = 0
    seconds: float = 0.0
    rows: int = 0


@dataclass
class Path:
    """Points in the order in which they were tried; ``chosen`` is one of them, ``criterion`` says by what.

    ``estimate`` is the loss to expect of the choice on new rows, and ``estimate_error`` its standard error: of each
    fold the loss at the point that the other folds choose. It is more than the chosen point's own ``value``, which is
    the least of many and owes something to chance. Known where a path was judged by cross-validation.

    ``notes`` holds what went otherwise than asked: a hard margin that does not exist, distances that are all zero.
    """

    criterion: str
    points: list[Point] = field(default_factory=list)
    chosen: Point | None = None
    notes: list[str] = field(default_factory=list)
    estimate: float = nan
    estimate_error: float = nan
    epsilon: float = nan  # of a regressor that asked for it, from the error of the chosen point

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __getitem__(self, name: str) -> Array:
        """A column by its name."""
        if name not in {f.name for f in fields(Point)}:
            raise KeyError(f"{name!r} is no column: {', '.join(f.name for f in fields(Point))}.")
        return np.array([getattr(point, name) for point in self.points], dtype=np.float64)

    @property
    def best(self) -> Point:
        """The chosen point."""
        if self.chosen is None:
            raise ValueError("nothing has been chosen: the path has no points.")
        return self.chosen

    @property
    def iterations(self) -> int:
        """Of all points."""
        return sum(point.iterations for point in self.points)

    @property
    def seconds(self) -> float:
        """Of all points."""
        return sum(point.seconds for point in self.points)

    def __str__(self) -> str:
        known = [f.name for f in fields(Point) if np.isfinite(self[f.name]).any()] if self.points else []
        known = [name for name in known if name != "gamma" or "sigma" not in known]
        known = [name for name in known if name not in ("support", "iterations") or self[name].any()]
        lines = ["  " + " ".join(f"{HEADS.get(name, name):>10}" for name in known)]
        for point in self.points:
            cells = [format(getattr(point, name), ">10" + FORMATS.get(name, ".4g")) for name in known]
            lines.append(("> " if point is self.chosen else "  ") + " ".join(cells))
        if self.chosen is not None:
            here = self.chosen
            width = f"σ = {here.sigma:.6g} (gamma = {here.gamma:.6g})" if isfinite(here.sigma) else ""
            price = "" if np.isnan(here.C) else f"C = {here.C:.6g}"
            tube = f"ε = {self.epsilon:.6g}" if isfinite(self.epsilon) else ""
            found = ", ".join(part for part in (width, price, tube) if part)
            hope = f"; estimate {self.estimate:.4g} ± {self.estimate_error:.2g}" if isfinite(self.estimate) else ""
            lines.append(f"chosen by {self.criterion}: {found}{hope}; {len(self)} points, {self.seconds:.3g} s")
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        return f"Path({len(self)} points by {self.criterion!r}, chosen {self.chosen})"

    def frame(self) -> Any:
        """A pandas DataFrame, one row a point."""
        from pandas import DataFrame  # an extra: loaded on use

        return DataFrame([asdict(point) for point in self.points])

    def to_json(self) -> str:
        """Everything as JSON; what is not a finite number becomes null."""

        def plain(point: Point) -> dict[str, Any]:
            return {k: v if isfinite(v) else None for k, v in asdict(point).items()}

        chosen = None if self.chosen is None else plain(self.chosen)
        numbers = {name: getattr(self, name) for name in ("estimate", "estimate_error", "epsilon")}
        return json.dumps(
            {"criterion": self.criterion, "points": list(map(plain, self)), "chosen": chosen, "notes": self.notes}
            | {name: value if isfinite(value) else None for name, value in numbers.items()}
        )

    def plot(self, ax: Any = None) -> Any:
        """The criterion along σ, and the bound and held-out error where they are known; over σ and C, a map of it."""
        from adatron.plots import path

        return path(self, ax)
