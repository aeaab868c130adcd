"""The problems of a fit, rebuilt from labels, weights and parameters; and the textbook's primal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .exact import Array

BISECTIONS = 200
LITTLE = 1e-14


@dataclass
class Rebuilt:
    """minimise ½ cᵀKc + ½ Σ r β² + pᵀβ in a box, with sums; c = β, or its halves added up (regression)."""

    rows: Array  # of the training data that count
    p: Array
    lower: Array
    upper: Array
    ridge: Array
    sums: list[tuple[Array, float]] = field(default_factory=list)  # which variables, and their total
    doubled: bool = False
    signs: Array | None = None  # of a classifier

    def fold(self, beta: Array) -> Array:
        """One coefficient per row."""
        return beta[: len(self.rows)] + beta[len(self.rows) :] if self.doubled else beta

    def spread(self, values: Array) -> Array:
        """One value per variable."""
        return np.tile(values, 2) if self.doubled else values

    def with_larger_sums(self, beta: Array) -> Rebuilt:
        """The problem with the sums that β has, if both are larger than asked for, and alike."""
        up, down = (abs(float(beta[members].sum())) for members, _ in self.sums)
        asked = abs(self.sums[0][1])
        if not (up > asked * (1 + 1e-9) and abs(up - down) <= 1e-9 * up):
            return self
        return replace(self, sums=[(members, np.copysign(up, total)) for members, total in self.sums])

    def infeasibility(self, beta: Array) -> float:
        """How far β is outside the box or off a sum."""
        outside = np.maximum(self.lower - beta, beta - self.upper).max(initial=0.0)
        return float(max([outside, *(abs(beta[members].sum() - total) for members, total in self.sums)]))

    def violation(self, g: Array, slack: Array, beta: Array) -> tuple[float, Array]:
        """The KKT violation that remains if every gradient is off by its slack; and the rows that decide it."""
        with np.errstate(invalid="ignore"):  # the order in which C and weights were multiplied moves a bound a little
            grows = beta < self.upper - LITTLE * np.abs(self.upper)
            shrinks = beta > self.lower + LITTLE * np.abs(self.lower)
        grows, shrinks = grows | (self.upper == np.inf), shrinks | (self.lower == -np.inf)
        groups = [members for members, _ in self.sums] or [np.ones(len(beta), dtype=bool)]
        worst, rows = 0.0, []
        for members in groups:
            high, low = np.where(grows & members, -g - slack, -np.inf), np.where(shrinks & members, -g + slack, np.inf)
            most, least = high.max(initial=-np.inf), low.min(initial=np.inf)
            if not self.sums:
                most, least = max(most, 0.0), min(least, 0.0)
            worst = max(worst, float(most - least) if np.isfinite(most - least) else 0.0)
            rows += [np.argsort(-high, kind="stable")[:20], np.argsort(low, kind="stable")[:20]]
        return worst, np.unique(np.concatenate(rows))

    def multipliers(self, g: Array, slack: Array, beta: Array) -> list[tuple[float, float]]:
        """For each sum the range in which its multiplier (the bias) must lie."""
        ranges = []
        for members, _ in self.sums:
            high = np.where((beta < self.upper) & members, -g, -np.inf)
            low = np.where((beta > self.lower) & members, -g, np.inf)
            ends = (float(low.min()), float(high.max()))
            least, most = min(ends), max(ends)
            room = float(slack[members].max(initial=0.0))
            ranges.append((least - room, most + room))
        return ranges

    def movable(self) -> Array:
        """Variables that a feasible change can move."""
        moves = self.lower < self.upper
        for members, total in self.sums:
            for end in (self.lower, self.upper):
                if np.isfinite(end[members]).all() and abs(end[members].sum() - total) <= 1e-9 * abs(total):
                    moves = moves & ~members  # the sum leaves them no choice
        return moves

    def some_movable(self, most: int) -> Array:
        """Up to so many rows whose variables a feasible change can move."""
        rows = np.flatnonzero(self.movable()[: len(self.rows)])
        return np.sort(np.random.default_rng(0).permutation(rows)[:most])

    def smallest_curvature(self, rows: Array, K: Array) -> tuple[float, float]:
        """The least eigenvalue of K + r over feasible changes of these rows alone, and the largest in size."""
        Q = K + np.diag(self.ridge[rows])
        groups = [members[rows].astype(float) for members, _ in self.sums]
        if self.doubled and groups:
            groups = [np.ones(len(rows))]
        for ones in groups:
            if not ones.any():
                continue
            unit = ones / np.linalg.norm(ones)
            Q = Q - np.outer(unit, unit @ Q)
            Q = Q - np.outer(Q @ unit, unit)
        values = np.linalg.eigvalsh((Q + Q.T) / 2)
        return float(values[0]), float(np.abs(values).max())


def classification(name: str, signs: Array, rows: Array, weight: Array, options: dict[str, Any]) -> Rebuilt:
    """The problem of one binary classifier."""
    n = len(signs)
    zero = np.zeros(n)
    if name == "NuSVC":
        largest = 2 * min(weight[signs > 0].sum(), weight[signs < 0].sum()) / weight.sum()
        half = min(options["nu"], largest) * weight.sum() / 2
        sums = [(signs > 0, half), (signs < 0, -half)]
        ends = signs * weight
        return Rebuilt(rows, zero, np.minimum(ends, 0), np.maximum(ends, 0), zero, sums, signs=signs)
    bounds = np.where(weight > 0, options["C"] * np.where(weight > 0, weight, 1.0), 0.0)
    ridge = zero
    if options["loss"] == "squared_hinge":
        ridge = np.where(bounds > 0, 0.5 / np.where(bounds > 0, bounds, 1.0), 0.0)
        bounds = np.where(weight > 0, np.inf, 0.0)
    ends = signs * bounds
    sums = [(np.ones(n, dtype=bool), 0.0)] if options["bias"] == "exact" else []
    return Rebuilt(rows, -signs, np.minimum(ends, 0), np.maximum(ends, 0), ridge, sums, signs=signs)


def regression(name: str, t: Array, rows: Array, weight: Array, options: dict[str, Any]) -> Rebuilt:
    """The problem of a regressor: β⁺, then β⁻."""
    n = len(t)
    bounds = options["C"] * weight
    upper, lower = np.concatenate((bounds, np.zeros(n))), np.concatenate((np.zeros(n), -bounds))
    first = np.arange(2 * n) < n
    if name == "NuSVR":
        half = options["nu"] * bounds.sum() / 2
        return Rebuilt(rows, -np.tile(t, 2), lower, upper, np.zeros(2 * n), [(first, half), (~first, -half)], True)
    p = np.where(first, options["epsilon"], -options["epsilon"]) - np.tile(t, 2)
    sums = [(np.ones(2 * n, dtype=bool), 0.0)] if options["bias"] == "exact" else []
    return Rebuilt(rows, p, lower, upper, np.zeros(2 * n), sums, True)


def one_class(rows: Array, weight: Array, nu: float) -> Rebuilt:
    """0 ≤ β ≤ w, Σβ = ν Σw."""
    n = len(rows)
    members = np.ones(n, dtype=bool)
    return Rebuilt(rows, np.zeros(n), np.zeros(n), weight, np.zeros(n), [(members, nu * weight.sum())])


def losses(problem: Rebuilt, f: Array, C: Array, epsilon: float | None, squared: bool) -> float:
    """Σ C · loss at the bias that makes it least (zero without a sum), by bisection on its derivative."""

    def at(b: float) -> tuple[float, float]:
        if problem.signs is not None:
            short = np.maximum(0.0, 1.0 - problem.signs * (f + b))
            if squared:
                return float(C @ short**2), float(-2 * (C * problem.signs) @ short)
            return float(C @ short), -float((C * problem.signs)[short > 0].sum())
        off = -problem.p[: len(f)] + (epsilon or 0.0) - f - b
        short = np.maximum(0.0, np.abs(off) - (epsilon or 0.0))
        return float(C @ short), -float((C * np.sign(off))[short > 0].sum())

    if not problem.sums:
        return at(0.0)[0]
    reach = 2.0 * float(np.abs(problem.p).max() + np.abs(f).max()) + 1.0
    low, high = -reach, reach
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle)[1] < 0 else (low, middle)
    return min(at(low)[0], at(high)[0])
