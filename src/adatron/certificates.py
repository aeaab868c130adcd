"""Judging coefficients from themselves alone: gradient, bias, KKT violation and duality gap.

Why β alone yields a gap. The quadratic form lies above its tangent at sβ, so with c = fold(β) and
f = Kc, for every feasible z, every multiplier b of the sums and every scale s,

    objective(z) ≥ Σ min_{z in box} [½ r z² + (p + s f + b) z] - ½ s² cᵀKc - Σ b·total = -primal.

With s = 1 this `primal` is the textbook's, ½‖w‖² plus the losses, and b is the bias. It is convex
and piecewise quadratic in b: one sweep over its breakpoints finds the best b exactly. A box without
end and without ridge makes a constraint of its term, p + s f + b ≥ 0 or ≤ 0. If the sum has such
ends on one side only (ball, hulls), b alone meets them all, as if the sum had closed the box; if on
both (hard margin), s ≥ 1 is taken just large enough. Where C is huge against ½‖w‖², so that a violation
within the tolerance costs more than all the rest, a slightly larger s pays too. The cost is some passes
over vectors, and a sort of the few breakpoints that lie inside the KKT violation.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adatron import _core
from adatron._check import Array, finite_vector, real
from adatron.solution import Certificate

if TYPE_CHECKING:
    from adatron.problems import Problem

Members = slice | NDArray[np.intp]
Mask = NDArray[np.bool_]

NEWTON_STEPS = 64  # two or three are usual: each passes a vertex of a piecewise linear function
WIDE_GAP = 0.1  # with a gap as wide other scales are tried: C times a small violation may dwarf all of ½‖w‖²
NEARLY = 0.01  # KKT violation from which on that is worth its time
SCALES = 1 + 10.0 ** -np.arange(2, 16)
ROUNDING = 1e-12  # a constraint violated by less, relatively, is met
CERTAIN: float = _core.CERTAIN  # times tol: the certificate may differ from a solver's own sums by their rounding


class Multiplies(Protocol):
    """All that is asked of a Gram matrix here."""

    def product(self, coef: Array, /) -> Array:
        """K @ coef in float64."""
        ...


def gradient(problem: Problem, product: Array, beta: Array) -> Array:
    """Kβ + rβ + p for every variable, given product = K @ fold(β)."""
    return _spread(problem, product) + problem.ridge * beta + problem.linear


def bias(problem: Problem, g: Array, beta: Array) -> tuple[float, float]:
    """The bias and rho: minus the mean, and half the difference, of the groups' gradients.

    A group's gradient is its mean at free coefficients; if none is free, the midpoint of the values
    that the coefficients at their bounds allow. Without a sum the bias is zero.
    """
    values = [_multiplier(problem, g, beta, members) for members, _ in problem.sums]
    if len(values) == 2:
        return (values[0] + values[1]) / 2, (values[1] - values[0]) / 2
    return (values[0] if values else 0.0), 0.0


def kkt_violation(problem: Problem, g: Array, beta: Array) -> float:
    """How far gradients are from level where they should be: max of -g of what may grow less min of what may shrink."""
    return max(0.0, *(high - low for low, high in _brackets(problem, g, beta)))


def violations(problem: Problem, g: Array, beta: Array, levels: ArrayLike = ()) -> tuple[Array, Array]:
    """By how much every variable's gradient asks it to grow, and to shrink; -inf where its bound forbids it.

    ``levels`` holds a multiplier for each sum; without sums it is 0.
    """
    known = np.asarray(levels, dtype=np.float64)
    ascent = -g - known[problem.group] if len(known) else -g
    return np.where(beta < problem.upper, ascent, -inf), np.where(beta > problem.lower, -ascent, -inf)


def certificate(problem: Problem, gram: Multiplies, beta: ArrayLike, *, snap: float = 0.0) -> Certificate:
    """Judge β: objective, duality gap, KKT violation, infeasibility and bias, and how exactly they are known.

    Kernel values are the gram's; `rounding` says what their errors may add to the KKT violation. Where the problem is
    not convex no gap is claimed. Of a ``gram`` that is anything else with a ``product`` neither is known.
    ``snap`` is as of `judgement`.
    """
    from adatron.convexity import is_convex
    from adatron.gram import Gram

    if not isinstance(gram, Gram):
        return judgement(problem, gram, beta, snap=snap)
    if gram.size != problem.rows:
        raise ValueError(f"gram has {gram.size} rows: pass one with {problem.rows}, as the problem has.")
    point = finite_vector("beta", beta, length=len(problem))
    if real("snap", snap, at_least=0) > 0:
        point = snapped(problem, point, snap)
    verdict = replace(judgement(problem, gram, point), rounding=gram.rounding(problem.fold(point)))
    if not is_convex(problem, gram, point):
        verdict = replace(verdict, primal=nan, gap=nan)
    return verdict


class BetaOverflow(ValueError):
    """Coefficients so large that their sums overflow, though kernel values are finite."""


@np.errstate(over="ignore", invalid="ignore")  # coefficients that grow without end overflow, and are judged so
def judgement(problem: Problem, gram: Multiplies, beta: ArrayLike, *, snap: float = 0.0) -> Certificate:
    """The same as far as it can be read off K·β: kernel values are taken as they are, and the problem as convex.

    Coefficients within `snap` times the box's width of a bound (times the largest coefficient, if
    the box has no end) are first put on it, and the free ones make up for it in the sums:
    interior-point and float32 solvers stop just short of bounds.
    """
    point = finite_vector("beta", beta, length=len(problem))
    if real("snap", snap, at_least=0) > 0:
        point = snapped(problem, point, snap)
    coef = problem.fold(point)
    product = np.asarray(gram.product(coef), dtype=np.float64)
    if not np.isfinite(product).all():
        largest = np.abs(coef).max()
        if largest > 1 and np.isfinite(gram.product(coef / largest)).all():
            raise BetaOverflow(f"beta goes up to {largest:.3g}, too far for finite sums: pass smaller coefficients.")
        raise ValueError("gram has values that are not finite: scale X or use a smaller degree.")
    return certified(problem, point, product)


def certified(problem: Problem, beta: Array, product: Array) -> Certificate:
    """The certificate of β, given K·fold(β), by the core."""
    at = _core.certify(**problem.spans, beta=beta, product=product)
    return Certificate(
        at.objective, at.primal, -at.objective, at.gap, at.kkt_violation, at.infeasibility, at.bias, at.rho
    )


def reference(problem: Problem, beta: Array, product: Array) -> Certificate:
    """The same in NumPy, formula by formula: what the core is tested against."""
    point, coef = beta, problem.fold(beta)
    quadratic = _dot(coef, product)
    objective = 0.5 * quadratic + _dot(0.5 * problem.ridge * point + problem.linear, point)
    g = gradient(problem, product, point)
    brackets = _brackets(problem, g, point)
    primal = least = _primal(problem, _spread(problem, product), quadratic, brackets)
    violation = max(0.0, *(high - low for low, high in brackets))
    if violation <= NEARLY and _relative(primal, -objective) > WIDE_GAP:
        scaled = (_primal(problem, _spread(problem, product), quadratic, brackets, s) for s in SCALES)
        least = min(primal, *scaled)
    value, rho = bias(problem, g, point)
    return Certificate(
        objective=objective,
        primal=primal,
        dual=-objective,
        gap=_relative(least, -objective),
        kkt_violation=violation,
        infeasibility=_infeasibility(problem, point),
        bias=value,
        rho=rho,
    )


def _spread(problem: Problem, product: Array) -> Array:
    """One value a variable from one a kernel row."""
    return np.concatenate((product, product)) if problem.doubled else product


def _dot(a: Array, b: Array) -> float:
    """Summed pairwise: as accurate as can be, and no BLAS threads are woken for a short vector."""
    return float((a * b).sum())


def snapped(problem: Problem, beta: Array, snap: float) -> Array:
    """Coefficients within `snap` of a bound put on it, as `certificate` explains."""
    width = problem.upper - problem.lower
    reach = snap * np.where(np.isfinite(width), width, np.abs(beta).max())
    beta = np.where(beta <= problem.lower + reach, problem.lower, beta)
    beta = np.where(beta >= problem.upper - reach, problem.upper, beta)
    free = (beta > problem.lower) & (beta < problem.upper)
    for members, total in problem.sums:
        missing = total - beta[members].sum()
        beta[members] += free[members] * (missing / max(free[members].sum(), 1))
    return beta


def _infeasibility(problem: Problem, beta: Array) -> float:
    """How far β lies outside the box or a sum from its total, whichever is worse."""
    outside = np.maximum(problem.lower - beta, beta - problem.upper).max()
    return max(0.0, float(outside), *(abs(float(beta[i].sum()) - t) for i, t in problem.sums))


def _relative(primal: float, dual: float) -> float:
    if primal == inf:
        return inf
    gap = max(primal - dual, 0.0)
    return gap / max(abs(primal), abs(dual)) if gap else 0.0


def _bracket(problem: Problem, g: Array, beta: Array, members: Members) -> tuple[float, float]:
    """Min of -g over {β > lower} and max of -g over {β < upper}: β is optimal if max ≤ min."""
    value, point = -g[members], beta[members]
    low = np.where(point > problem.lower[members], value, inf).min()
    high = np.where(point < problem.upper[members], value, -inf).max()
    return float(low), float(high)


def _brackets(problem: Problem, g: Array, beta: Array) -> list[tuple[float, float]]:
    """One bracket a sum; without a sum the multiplier is known to be 0, which joins both sets."""
    if problem.sums:
        return [_bracket(problem, g, beta, members) for members, _ in problem.sums]
    low, high = _bracket(problem, g, beta, slice(None))
    return [(min(low, 0.0), max(high, 0.0))]


def _multiplier(problem: Problem, g: Array, beta: Array, members: Members) -> float:
    point = beta[members]
    free = (point > problem.lower[members]) & (point < problem.upper[members])
    if count := np.count_nonzero(free):
        return -float((g[members] * free).sum()) / int(count)
    return _middle(*_bracket(problem, g, beta, members))


def _middle(low: float, high: float) -> float:
    """The midpoint; the finite end if there is one; zero if there is none."""
    ends = [end for end in (low, high) if isfinite(end)]
    return sum(ends) / len(ends) if ends else 0.0


def _primal(
    problem: Problem, f: Array, quadratic: float, brackets: list[tuple[float, float]], scale: float = 1.0
) -> float:
    """The bound in the head of this file at its best b; inf if no scale meets the constraints."""
    rigid, lower, upper = problem.ridge == 0, problem.lower, problem.upper
    up, down = rigid & (upper == inf), rigid & (lower == -inf)
    hard = bool(up.any() or down.any())
    if hard:
        scale = max(scale, _hard_scale(problem, f, up, down))
        if scale == inf:
            return inf
        # Where its constraint holds, a term is least at its finite end: the box may close on that.
        ends = np.where(up & down, 0.0, np.where(up, lower, upper))
        lower, upper = np.where(up | down, ends, lower), np.where(up | down, ends, upper)
    slope = problem.linear + scale * f
    primal = 0.5 * scale**2 * quadratic
    groups = problem.sums or [(slice(None), 0.0)]
    for (members, total), (low, high) in zip(groups, brackets, strict=True):
        part = slope[members], problem.ridge[members], lower[members], upper[members]
        b = 0.0
        if scale > 1:  # the brackets are those of the gradient, which is not scaled
            low, high = float((-part[0]).min()), float((-part[0]).max())
        if problem.sums:
            b = _best_multiplier(*part, total, low, high) if low < high else _middle(low, high)
        if problem.sums and hard:
            least = np.where(up[members], -part[0], -inf).max()
            most = np.where(down[members], -part[0], inf).min()
            b = float(np.clip(b, least, max(least, most)))
        primal += b * total - _least(*part, b)
    return primal


def _least(slope: Array, ridge: Array, lower: Array, upper: Array, b: float) -> float:
    """Σ min over the box of ½ r z² + (slope + b) z."""
    tilt = slope + b
    with np.errstate(divide="ignore", invalid="ignore"):
        stationary = np.where(tilt == 0, 0.0, -tilt / ridge)
    z = np.clip(stationary, lower, upper)
    return _dot(0.5 * ridge * z + tilt, z)


def _best_multiplier(
    slope: Array, ridge: Array, lower: Array, upper: Array, total: float, low: float, high: float
) -> float:
    """The b in [low, high] at which the least z of each term (see `_least`) sum to the total.

    Their sum falls as b grows: each z leaves `upper` at b = -slope - r·upper and reaches `lower` at
    -slope - r·lower, at the rate 1/r between the two, or in one jump if r = 0.
    """
    leaves, arrives = -slope - ridge * upper, -slope - ridge * lower
    with np.errstate(divide="ignore", invalid="ignore"):
        between = -(slope + low) / ridge
    surplus = np.select([leaves >= low, arrives < low], [upper, lower], between).sum() - total

    moving = (leaves <= high) & (arrives >= low)
    jumping, sliding = np.flatnonzero(moving & (ridge == 0)), np.flatnonzero(moving & (ridge > 0))
    places = np.concatenate(([low], leaves[jumping], leaves[sliding], arrives[sliding], [high]))
    places = places.clip(low, high)
    jumps, rates = np.zeros_like(places), np.zeros_like(places)
    jumps[1 : 1 + len(jumping)] = (upper - lower)[jumping]
    rates[1 + len(jumping) : -1] = np.concatenate((1 / ridge[sliding], -1 / ridge[sliding]))

    order = np.argsort(places)
    places, jumps, rates = places[order], np.cumsum(jumps[order]), np.cumsum(rates[order])
    slides = np.cumsum(rates[:-1] * np.diff(places))
    left = surplus - jumps - np.concatenate(([0.0], slides))  # of the surplus, after each place
    if not (left <= 0).any():
        return high
    k = int(np.argmax(left <= 0))
    if k and rates[k - 1] * (places[k] - places[k - 1]) >= left[k - 1]:
        return float(places[k - 1] + left[k - 1] / rates[k - 1])
    return float(places[k])


def _hard_scale(problem: Problem, f: Array, up: Mask, down: Mask) -> float:
    """The least s ≥ 1 for which some b has p + sf + b ≥ 0 where z has no upper end, ≤ 0 no lower.

    The violation max(-p - sf) + max(p + sf) is convex and piecewise linear in s, so Newton's steps
    from the left never pass its root, and a rate that is not negative proves that there is none.
    """
    s = 1.0
    for _ in range(NEWTON_STEPS):
        slope = problem.linear + s * f
        violation, rate = max(
            _hard_violation(slope[i], f[i], up[i], down[i], bool(problem.sums))
            for i, _ in problem.sums or [(slice(None), 0.0)]
        )
        if violation <= ROUNDING * (1.0 + float(np.abs(slope).max())):
            return s
        if rate >= 0:
            return inf
        s -= violation / rate
    return inf


def _hard_violation(slope: Array, f: Array, up: Mask, down: Mask, movable: bool) -> tuple[float, float]:
    """How far any b (b = 0 unless movable) must violate a constraint, and the rate of that in s."""
    above, below = np.where(up, -slope, -inf), np.where(down, slope, -inf)
    i, j = above.argmax(), below.argmax()
    needs = [(float(above[i]), -float(f[i])), (float(below[j]), float(f[j]))]
    if not movable:
        needs = [max(need, (0.0, 0.0)) for need in needs]
    return needs[0][0] + needs[1][0], needs[0][1] + needs[1][1]
