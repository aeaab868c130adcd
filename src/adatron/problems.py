"""The one convex problem behind every machine here, and a constructor for each use of it.

    minimise    ½ cᵀKc + ½ Σ rᵢ βᵢ² + pᵀβ,    c = fold(β),
    subject to  lower ≤ β ≤ upper   and, for each group g that has a sum,   Σ_{i in g} βᵢ = total_g.

The coefficients are signed (β = y α): labels live in the box and in p, and no solver asks for the
use. Where a kernel row serves two of them (regression: first β⁺ ≥ 0, then β⁻ ≤ 0), variable v lives
on row v % m.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import copysign, inf, isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adatron._check import Array, choice, finite_vector, integer, real, vector

__all__ = [
    "Problem",
    "enclosing_ball",
    "epsilon_regression",
    "hinge",
    "meet_sums",
    "nearest_points",
    "nu_classification",
    "nu_regression",
    "one_class",
    "squared_hinge",
]

Bias = Literal["exact", "augmented", "none"]
Sums = list[tuple[slice | NDArray[np.intp], float]]
ROUNDING = 1e-12  # how far, relatively, a sum may pass what the box allows and still mean its end


@dataclass(frozen=True, eq=False)
class Problem:
    """The data of one problem: validated, float64, read-only."""

    use: str
    linear: Array
    lower: Array
    upper: Array
    ridge: Array = field(default_factory=lambda: np.zeros(1))
    group: NDArray[np.int8] = field(default_factory=lambda: np.zeros(1, dtype=np.int8))
    totals: Array = field(default_factory=lambda: np.zeros(0))
    doubled: bool = False

    def __post_init__(self) -> None:
        linear = finite_vector("linear", self.linear)
        n = len(linear)
        lower, upper = vector("lower", self.lower, length=n), vector("upper", self.upper, length=n)
        ridge = finite_vector("ridge", _for_each(self.ridge, n), length=n)
        group = finite_vector("group", _for_each(self.group, n), length=n)
        totals = np.array(self.totals, dtype=np.float64)
        if (crossed := lower > upper).any():
            i = int(crossed.argmax())
            raise ValueError(f"lower[{i}]={lower[i]} exceeds upper[{i}]={upper[i]}: pass lower <= upper.")
        if (ridge < 0).any():
            raise ValueError(f"ridge={ridge.min()} is negative: pass values of at least 0.")
        if totals.ndim != 1 or len(totals) > 2 or not np.isfinite(totals).all():
            raise ValueError(f"totals={totals} is unknown: pass a vector of 0, 1 or 2 finite sums.")
        if (alone := (group < 0) | (group >= max(len(totals), 1)) | (group % 1 != 0)).any():
            i = int(alone.argmax())
            raise ValueError(f"group[{i}]={group[i]:g} has no sum: pass 0 to len(totals) - 1.")
        if self.doubled and n % 2:
            raise ValueError(f"doubled=True with {n} variables: pass an even number of them.")
        for g, total in enumerate(totals):
            least, most = lower[group == g].sum(), upper[group == g].sum()
            slack = ROUNDING * abs(total)
            if not least - slack <= total <= most + slack:
                raise ValueError(f"totals[{g}]={total} cannot be met: pass {least} to {most}, as the box allows.")
            totals[g] = np.clip(total, least, most)
        arrays: dict[str, NDArray[Any]] = {"linear": linear, "lower": lower, "upper": upper}
        arrays |= {"ridge": ridge, "group": group.astype(np.int8), "totals": totals}
        for name, array in arrays.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def trusted(cls, use: str, *arrays: Any, doubled: bool = False) -> Problem:
        """A problem of arrays that are known to be in order: no copies, no checks."""
        problem = object.__new__(cls)
        names = "linear", "lower", "upper", "ridge", "group", "totals"
        for array in arrays:
            array.setflags(write=False)
        vars(problem).update(zip(names, arrays, strict=True), use=use, doubled=doubled)
        return problem

    def __len__(self) -> int:
        return len(self.linear)

    def __repr__(self) -> str:
        size = f"{len(self)} variables on {self.rows} rows, {len(self.totals)} sums"
        return f"Problem({self.use!r}, {size})"

    @property
    def rows(self) -> int:
        """The number of kernel rows, m."""
        return len(self) // 2 if self.doubled else len(self)

    @property
    def spans(self) -> dict[str, Any]:
        """The arrays as the core takes them."""
        names = ("linear", "lower", "upper", "ridge", "group", "totals", "rows")
        return {name: getattr(self, name) for name in names}

    def fold(self, beta: Array) -> Array:
        """One coefficient a kernel row."""
        return beta[: self.rows] + beta[self.rows :] if self.doubled else beta

    @cached_property
    def sums(self) -> Sums:
        """For each sum, which variables it runs over and its total."""
        return sums_of(self.group, self.totals)

    def start(self) -> Array:
        """A feasible point: nearest to zero, then filled in order of the rows to meet the sums."""
        return feasible(self.lower, self.upper, self.sums)


def sums_of(group: NDArray[np.int8], totals: Array) -> Sums:
    """For each sum, which variables it runs over and its total."""
    if len(totals) == 1:
        return [(slice(None), float(totals[0]))]
    return [((group == g).nonzero()[0], total) for g, total in enumerate(totals.tolist())]


def feasible(lower: Array, upper: Array, sums: Sums) -> Array:
    """The point of the box nearest to zero, then filled in order of the variables to meet the sums."""
    beta = np.minimum(np.maximum(lower, 0.0), upper)
    for members, total in sums:
        base = beta[members]
        missing = total - float(base.sum())
        ends, nearer = (upper, min) if missing > 0 else (lower, max)
        end = ends[members]
        filled = np.abs(end - base).cumsum()
        full = int(filled.searchsorted(abs(missing)))  # so many go to the end of their box, the next part of the way
        if full < len(base):
            rest = abs(missing) - (float(filled[full - 1]) if full else 0.0)
            base[full] = nearer(base[full] + copysign(rest, missing), end[full])
        base[:full] = end[:full]
        beta[members] = base
    return beta


def hinge(y: ArrayLike, C: float = 1.0, *, bias: Bias = "exact", weight: ArrayLike | None = None) -> Problem:
    """½‖w‖² + C Σ max(0, 1 - y f): p = -y, 0 ≤ yβ ≤ C, and Σβ = 0 with an exact bias."""
    signs, weights = _labels(y, weight)
    lower, upper, _ = hinge_box(signs, real("C", C, above=0, infinite=True), weights)
    return Problem("hinge", -signs, lower, upper, totals=_sums(bias))


def squared_hinge(y: ArrayLike, C: float = 1.0, *, bias: Bias = "exact", weight: ArrayLike | None = None) -> Problem:
    """½‖w‖² + C Σ max(0, 1 - y f)²: p = -y, 0 ≤ yβ, r = 1 / (2C)."""
    signs, weights = _labels(y, weight)
    lower, upper, ridge = squared_hinge_box(signs, real("C", C, above=0, infinite=True), weights)
    return Problem("squared_hinge", -signs, lower, upper, ridge, totals=_sums(bias))


def hinge_box(signs: Array, C: float, weights: Array) -> tuple[Array, Array, Array]:
    """Lower, upper and ridge of the hinge loss: 0 ≤ yβ ≤ C."""
    return *_box(signs, _times(C, weights)), np.zeros(len(signs))


def squared_hinge_box(signs: Array, C: float, weights: Array) -> tuple[Array, Array, Array]:
    """Lower, upper and ridge of the squared hinge: 0 ≤ yβ, r = 1 / (2C)."""
    bounds = _times(C, weights)
    ridge = np.divide(0.5, bounds, out=np.zeros_like(bounds), where=bounds > 0)
    return *_box(signs, _times(inf, weights)), ridge


def epsilon_regression(
    t: ArrayLike,
    C: float = 1.0,
    epsilon: float = 0.1,
    *,
    bias: Bias = "exact",
    weight: ArrayLike | None = None,
) -> Problem:
    """½‖w‖² + C Σ max(0, |t - f| - ε): p = (ε - t, -ε - t), 0 ≤ β⁺ ≤ C, -C ≤ β⁻ ≤ 0."""
    targets = finite_vector("t", t)
    epsilon = real("epsilon", epsilon, at_least=0)
    bounds = _times(real("C", C, above=0, infinite=True), checked_weights(weight, len(targets)))
    lower, upper = np.zeros((2, 2 * len(targets)))
    upper[: len(targets)], lower[len(targets) :] = bounds, -bounds
    with np.errstate(over="ignore"):
        linear = finite_vector("linear", np.concatenate((epsilon - targets, -epsilon - targets)))
    return _known("epsilon_regression", linear, lower, upper, _sums(bias), doubled=True)


def nu_classification(y: ArrayLike, nu: float = 0.5, *, weight: ArrayLike | None = None) -> Problem:
    """½‖w‖² - νmρ + Σ max(0, ρ - y f): p = 0, 0 ≤ yβ ≤ 1, Σ₊β = -Σ₋β = νm/2.

    The machine is f / ρ, whose margin is one.
    """
    signs, weights = _labels(y, weight)
    nu = checked_nu(nu)
    smaller = min(weights[signs > 0].sum(), weights[signs < 0].sum())
    largest = 2 * smaller / weights.sum()
    if nu > largest * (1 + ROUNDING):
        raise ValueError(f"nu={nu} is infeasible: pass at most {largest:.6g}, twice the smaller class's share.")
    half = min(nu * weights.sum() / 2, smaller)
    return _two_groups("nu_classification", signs, np.zeros(len(signs)), weights, half)


def nu_half(nu: float, positive: Array, negative: Array) -> Array:
    """νm/2 for weights of both classes, or what the lighter one can bear: |Σ₊β| of several problems."""
    return np.minimum(checked_nu(nu) * (positive + negative) / 2, np.minimum(positive, negative))


def nu_regression(t: ArrayLike, C: float = 1.0, nu: float = 0.5, *, weight: ArrayLike | None = None) -> Problem:
    """½‖w‖² + Cνmε + C Σ max(0, |t - f| - ε) with ε free: p = -t, Σβ⁺ = -Σβ⁻ = Cνm/2.

    The width of the tube is found with the rest: ε = -ρ.
    """
    targets = finite_vector("t", t)
    bounds = _times(real("C", C, above=0), checked_weights(weight, len(targets)))
    half = checked_nu(nu) * bounds.sum() / 2
    signs, linear = np.repeat((1.0, -1.0), len(targets)), -np.tile(targets, 2)
    return _two_groups("nu_regression", signs, linear, np.tile(bounds, 2), half, doubled=True)


def one_class(rows: int, nu: float = 0.5, *, weight: ArrayLike | None = None) -> Problem:
    """½‖w‖² + νmb + Σ max(0, -(f + b)): p = 0, 0 ≤ β ≤ 1, Σβ = νm; b is the bias."""
    m = integer("rows", rows, at_least=1)
    weights = checked_weights(weight, m)
    total = checked_nu(nu) * weights.sum()
    return _known("one_class", np.zeros(m), np.zeros(m), weights, np.array([total]))


def enclosing_ball(diagonal: ArrayLike) -> Problem:
    """The smallest ball around the mapped rows: p = -½ diag K, β ≥ 0, Σβ = 1.

    Its squared radius is -2 times the objective, its centre Σ β φ(x).
    """
    diagonal = finite_vector("diagonal", diagonal)
    m = len(diagonal)
    return Problem("enclosing_ball", -diagonal / 2, np.zeros(m), np.full(m, inf), totals=np.array([1.0]))


def nearest_points(y: ArrayLike, *, upper: float = inf) -> Problem:
    """The nearest points of the classes' hulls: p = 0, 0 ≤ yβ ≤ upper, Σ₊β = -Σ₋β = 1.

    A finite `upper` reduces the hulls. Their squared distance is twice the objective.
    """
    signs, ones = _labels(y, None)
    bound = real("upper", upper, above=0, infinite=True)
    count = int(min((signs > 0).sum(), (signs < 0).sum()))
    if bound * count < 1 - ROUNDING:
        raise ValueError(f"upper={upper} leaves a hull of {count} rows empty: pass at least {1 / count:.6g}.")
    return _two_groups("nearest_points", signs, np.zeros(len(signs)), bound * ones, 1.0)


def meet_sums(problem: Problem, beta: Array) -> Array:
    """β with its sums put right: what is missing is spread over the free coefficients, then over any with room."""
    beta = np.clip(beta, problem.lower, problem.upper)
    for members, total in problem.sums:
        part, low, high = beta[members], problem.lower[members], problem.upper[members]
        for free_only in (True, False):
            for _ in range(len(part)):
                missing = total - part.sum()
                room = (part < high) if missing > 0 else (part > low)
                if free_only:
                    room &= (part > low) & (part < high)
                if abs(missing) <= 1e-15 * (np.abs(part).sum() + abs(total)) or not room.any():
                    break
                part = np.where(room, np.clip(part + missing / room.sum(), low, high), part)
        beta[members] = part
    return beta


def _for_each(values: ArrayLike, n: int) -> ArrayLike:
    """One value stands for all n."""
    return np.full(n, values) if np.size(values) == 1 else values


def _two_groups(
    use: str,
    signs: Array,
    linear: Array,
    bounds: Array,
    half: float,
    *,
    doubled: bool = False,
) -> Problem:
    """Positive coefficients, group 0, sum to `half`; negative ones, group 1, to `-half`."""
    lower, upper = _box(signs, bounds)
    group = (signs < 0).astype(np.int8)
    most, least = float(upper[group == 0].sum()), float(lower[group == 1].sum())
    totals = np.array([min(half, most), max(-half, least)])  # but for rounding what they were
    return _known(use, linear, lower, upper, totals, group, doubled=doubled)


def _known(
    use: str, linear: Array, lower: Array, upper: Array, totals: Array, group: Any = None, *, doubled: bool = False
) -> Problem:
    """A problem without a ridge whose parts were made here, and need no look."""
    group = np.zeros(len(linear), dtype=np.int8) if group is None else group
    return Problem.trusted(use, linear, lower, upper, np.zeros(len(linear)), group, totals, doubled=doubled)


def _box(signs: Array, bounds: Array) -> tuple[Array, Array]:
    """0 ≤ sign·β ≤ bound."""
    ends = signs * bounds
    return np.minimum(ends, 0.0), np.maximum(ends, 0.0)


def _sums(bias: Bias) -> Array:
    exact = choice("bias", bias, ("exact", "augmented", "none")) == "exact"
    return np.zeros(1) if exact else np.zeros(0)


def checked_nu(nu: Any) -> float:
    """ν, if it is a share of rows."""
    share = real("nu", nu, above=0)
    if share > 1:
        raise ValueError(f"nu={share} is out of range: pass a number greater than 0 and at most 1.")
    return share


def _times(C: float, weights: Array) -> Array:
    """C per row; a row of weight zero stays out even if C is infinite."""
    return C * weights if isfinite(C) else np.where(weights > 0, inf, 0.0)


def checked_weights(weight: ArrayLike | None, rows: int) -> Array:
    """One weight of at least 0 for each row; None: 1."""
    if weight is None:
        return np.ones(rows)
    weights = finite_vector("weight", weight, length=rows)
    if (weights < 0).any():
        i = int(weights.argmin())
        raise ValueError(f"weight[{i}]={weights[i]} is negative: pass weights of at least 0.")
    if not weights.any():
        raise ValueError("weight=0 for every row leaves nothing to learn: pass a positive weight.")
    return weights


def _labels(y: ArrayLike, weight: ArrayLike | None) -> tuple[Array, Array]:
    """Signs and weights, both classes present among the rows that count."""
    signs = finite_vector("y", y)
    if (wrong := np.abs(signs) != 1).any():
        i = int(wrong.argmax())
        raise ValueError(f"y[{i}]={signs[i]:g} is no label here: pass -1 or +1.")
    weights = checked_weights(weight, len(signs))
    present = signs[weights > 0]
    if (present == present[0]).all():
        raise ValueError(f"y={present[0]:+g} in every row of positive weight: pass rows of both classes.")
    return signs, weights
