"""How well a machine will do on rows that it has not seen, told from its training alone.

Three kinds of answer, none of which needs a validation set:

* **bounds from the margin** (`margin_bound`, `coefficient_bound`, `radius_margin`, and with their constants
  `generalisation_bound`, `vc_bound`): the wider the margin for the size of the data, the fewer errors. Their place is
  in comparing kernels; as probabilities they mostly exceed 1 and say nothing;
* **`radius`**, the ball around the mapped rows, on whose size these depend;
* **leave-one-out without leaving out** (`xi_alpha`, `span`): what each row's value would have been, had the machine
  been trained without it. These are error rates, to be read as such.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, e, floor, inf, isfinite, log, log2, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from adatron import _core
from adatron._check import Array, finite_vector, integer, real
from adatron.certificates import bias as bias_of
from adatron.certificates import gradient
from adatron.gram import Gram, KernelMatrix
from adatron.problems import Problem, checked_weights, enclosing_ball
from adatron.solution import Solution
from adatron.solvers import solve

__all__ = [
    "Ball",
    "Span",
    "coefficient_bound",
    "generalisation_bound",
    "margin_bound",
    "radius",
    "radius_margin",
    "span",
    "vc_bound",
    "vc_dimension",
    "xi_alpha",
]

FAT = 577  # the theorem's constant: the dimension of hyperplanes of margin γ is FAT R²/γ² at most
JITTER = 1e-10  # of the mean diagonal: makes the system of the free coefficients regular
MORE_JITTER = 100.0  # times as much, as long as rounded or indefinite kernel values need it
STEEPNESS = 5.0  # of the sigmoid that stands for the step from right to wrong
ROUNDING = 8.0  # times the error expected of ‖w‖², if those of kernel values are independent
NEGLIGIBLE = 1e-3  # of the largest box
BLOCK = 1024  # kernel rows taken at a time

Mask = NDArray[np.bool_]


def norm_is_known(norm2: float, coef: Array, diagonal: Array, dtype: Any) -> bool:
    """Whether ‖w‖² = cᵀKc is positive beyond what rounding of the kernel values makes of it."""
    rounding = float(np.finfo(dtype).eps) * float(np.abs(diagonal).max(initial=0.0)) * float((coef * coef).sum())
    return norm2 > ROUNDING * rounding


def margin_bound(rows: int, margin: float, radius: float = 1.0) -> float:
    """R² / (mγ²): the error grows no faster than this.

    After Cristianini, Campbell & Shawe-Taylor, *Dynamically Adapting Kernels*. It holds up to a constant, for m rows
    separated without error; so it compares kernels on the same rows, and is no probability. R = 1 is
    large enough for any kernel with K(x, x) = 1.
    """
    m = integer("rows", rows, at_least=1)
    return _squared_ratio(radius, margin) / m


def coefficient_bound(coef: ArrayLike) -> float:
    """Σ|α| / m: the same with R = 1, for a hard margin has Σα = ‖w‖² = 1/γ².

    One coefficient for each of the m rows, zeros included; signs do not matter. With a soft margin of any kind it is
    still a number, but no bound: `radius_margin` is.
    """
    alpha = finite_vector("coef", coef)
    return float(np.abs(alpha).mean())


def generalisation_bound(rows: int, margin: float, radius: float = 1.0, confidence: float = 0.95) -> float:
    """(k log₂(8em/k) log₂(32m) + log₂(8m/δ)) / m, with k = ⌊577 R²/γ²⌋ and confidence 1 - δ.

    The theorem of Shawe-Taylor, Bartlett, Williamson & Anthony (1998) as Campbell & Cristianini print it, for m rows
    that a hyperplane with |θ| ≤ R separates with margin γ. Logarithms are to base 2: the proof swaps pairs of rows
    between the sample and its ghost, and the chance that all errors fall on one side is a power of ½. (By that argument
    the power is εm/2, so 2/m stands where the paper prints 1/m; nothing that compares margins depends on it.)

    It means something below 1 only, that is for m beyond a hundred thousand times R²/γ². With k = 0 its first term is
    0; from k = 8m on, where the formula would fall again, it stays.
    """
    m, delta = integer("rows", rows, at_least=1), _doubt(confidence)
    k = floor(min(FAT * _squared_ratio(radius, margin), 8.0 * m))
    complexity = k * log2(8 * e * m / k) * log2(32 * m) if k else 0.0
    return (complexity + log2(8 * m / delta)) / m


def vc_dimension(radius: float, margin: float, features: float = inf) -> float:
    """h ≤ min(⌈ρ²/Δ²⌉, n) + 1, for hyperplanes of margin Δ on points in a ball of radius ρ in n dimensions.

    Eq. 53 of the tutorial in Misra, ed. (2003); Vapnik (1995). `features` counts those of the space that the kernel
    maps into: of a Gaussian there is no end to them.
    """
    n = real("features", features, at_least=1, infinite=True)
    ratio = _squared_ratio(radius, margin)
    return min(float(ceil(ratio)) if isfinite(ratio) else inf, n) + 1


def vc_bound(rows: int, dimension: float, *, empirical_risk: float = 0.0, confidence: float = 0.95) -> float:
    """R ≤ R_emp + (E/2) (1 + √(1 + 4 R_emp/E)), with E = 4 (h (ln(2l/h) + 1) - ln η) / l and confidence 1 - η.

    Eqs. 50 and 51 of the tutorial in Misra, ed. (2003); Vapnik (1999). It is the root of R - R_emp = √(E R), since the
    error exceeds the training error by √(E R) with probability η only. (The proof has η/4 for η: a little more.)

    It means something below 1 only: many rows for each of the h dimensions. From h = 2l on, where the formula would
    fall again, it stays.
    """
    m, eta = integer("rows", rows, at_least=1), _doubt(confidence)
    h = min(real("dimension", dimension, at_least=1, infinite=True), 2.0 * m)
    risk = real("empirical_risk", empirical_risk, at_least=0)
    if risk > 1:
        raise ValueError(f"empirical_risk={empirical_risk!r} is out of range: pass a share of rows, 0 to 1.")
    E = 4 * (h * (log(2 * m / h) + 1) - log(eta)) / m
    return risk + E / 2 * (1 + sqrt(1 + 4 * risk / E))


@dataclass(frozen=True, eq=False)
class Ball:
    """The smallest ball around the mapped rows: its centre is Σ center_i φ(x_i)."""

    radius: float
    center: Array
    solution: Solution


def radius(gram: Gram, *, ridge: ArrayLike = 0.0, start: Array | None = None, tol: float = 1e-3) -> Ball:
    """R² = max over λ ≥ 0, Σλ = 1 of Σ λ_i K̃_ii - λᵀK̃λ, with K̃ = K + diag(ridge).

    The answer comes from inside: no row lies farther than √(R² + 2 tol max K̃_ii) from the centre. `start` is the
    centre of a ball nearby, such as that of the last kernel; a ridge, one for all rows or one for each, is what a
    squared hinge adds to the kernel (see `radius_margin`).
    """
    added = finite_vector("ridge", np.full(gram.size, ridge) if np.ndim(ridge) == 0 else ridge, length=gram.size)
    problem = replace(enclosing_ball(gram.diagonal + added), ridge=added)
    scale = float(np.abs(problem.linear).max()) * 2 or 1.0
    solution = solve(problem, gram, start=start, tol=real("tol", tol, above=0) * scale)
    return Ball(sqrt(max(0.0, -2 * solution.certificate.objective)), solution.beta, solution)


def radius_margin(problem: Problem, gram: Gram, beta: ArrayLike, *, ball: Ball | None = None) -> float:
    """R̃²‖w̃‖² / m: `margin_bound` of a squared hinge, which is a hard margin with the kernel K̃ = K + diag(r).

    r = 1/(2C) is the problem's ridge, ‖w̃‖² = βᵀK̃β = 1/γ̃², and R̃ the radius of the ball around the rows as K̃ maps
    them: `ball` if it is known, `radius(gram, ridge=problem.ridge)` otherwise. Vapnik (1998); for choosing C and
    kernel, Chapelle, Vapnik, Bousquet & Mukherjee (2002). At the optimum ‖w̃‖² = Σ|β|, and the bound is for that.
    """
    _labels(problem, "squared_hinge", "hinge")
    if (np.isfinite(problem.upper - problem.lower) & (problem.upper > problem.lower)).any():
        raise ValueError(f"problem={problem!r} has a finite C: pass squared_hinge(y, C), or hinge(y, inf).")
    point = _coefficients(problem, gram, beta)
    if ball is None:
        ball = radius(gram, ridge=problem.ridge)
    norm2 = float((point * (gram.product(point) + problem.ridge * point)).sum())
    return ball.radius**2 * norm2 / len(problem)


def xi_alpha(
    problem: Problem,
    beta: ArrayLike,
    product: ArrayLike,
    bias: float,
    diagonal: ArrayLike,
    rho: float = 2.0,
    *,
    least: float = 0.0,
    weight: ArrayLike | None = None,
) -> float:
    """The share of rows with ρ α_i R_Δ² + ξ_i ≥ 1, where R_Δ² = max K_ii - min K_ij.

    Joachims's ξα estimate (2000), for the hinge: with ρ = 2 no fewer rows than leave-one-out gets wrong, if any
    coefficient is free; ρ = 1 is what his program uses. It costs nothing, and is too high to choose by.

    `product` is Kβ; `least` stands for min K_ij: 0 does for kernels that are never negative, -max K_ii for all.
    `weight` weighs the rows.
    """
    signs = _labels(problem, "hinge")
    alpha = np.abs(finite_vector("beta", beta, length=len(problem)))
    f = finite_vector("product", product, length=len(problem)) + real("bias", bias)
    largest = float(finite_vector("diagonal", diagonal, length=len(problem)).max())
    if real("least", least) > largest:
        raise ValueError(f"least={least!r} exceeds the largest K_ii={largest:g}: pass what no kernel value is below.")
    slack = np.maximum(0.0, 1 - signs * f)
    wrong = real("rho", rho, above=0) * alpha * (largest - least) + slack >= 1
    return float(np.average(wrong, weights=checked_weights(weight, len(problem))))


@dataclass(frozen=True, eq=False)
class Span:
    """Leave-one-out by the span: each row's y f without it, and three means over the rows.

    `error` counts the rows with y f ≤ 0; `slack` is the mean hinge loss max(0, 1 - y f), which tells apart what
    `error` cannot; `smooth` is the mean of 1 / (1 + exp(5 y f)), an error without steps.
    """

    margins: Array
    error: float
    slack: float
    smooth: float

    @property
    def errors(self) -> Mask:
        """The rows that leave-one-out gets wrong."""
        return self.margins <= 0


def span(
    problem: Problem,
    gram: KernelMatrix,
    beta: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    product: Array | None = None,
) -> Span:
    """Leave-one-out of a hinge or squared hinge, exact as long as free coefficients stay free and bounded ones bound.

    The span rule of Vapnik & Chapelle (2000). Without row p, its coefficient is made up for by the free ones, V, and

        y_p f_p  becomes  y_p f_p - α_p (S_p² - r_p),    S_p² = 1 / (M⁻¹)_pp for p in V,  K_pp - vᵀM⁻¹v for p bounded,

    with M = [[K_VV + r, 1], [1ᵀ, 0]] and v = (K_Vp, 1), both without their last place if the problem has no sum. The
    ridge r = 1/(2C) of a squared hinge is in M, but the row's own has no part in its prediction. Rows without a
    coefficient stay. S_p is the distance of φ(x_p) from what the others span.

    Where V∖p is empty there is nothing to solve: without a sum S_p² = K_pp. With one, the bias moves until the first
    bounded coefficient is free to make up for p's, that of row q say, and S_p² = ‖φ(x_p) - φ(x_q)‖². K_VV gets 1e-10 of
    its mean diagonal added, and more where it is not positive definite even so: then M cannot be singular, and a row
    with a twin in V has S_p = 0 to rounding.

    β should be optimal to 1e-3 or better. `weight` weighs the rows in the means; `product` is K β, if that is known.
    Cost for V of size v: v(v + bounded) kernel values, 2v³/3 + v² · bounded operations.
    """
    signs = _labels(problem, "hinge", "squared_hinge")
    point = _coefficients(problem, gram, beta)
    product = gram.product(point) if product is None else product
    g = gradient(problem, product, point)
    b, _ = bias_of(problem, g, point)
    distance, shift = _spans(problem, gram, point, g, b)
    margins = signs * (product + b + shift) - np.abs(point) * (distance - problem.ridge)
    weights = checked_weights(weight, len(problem))
    total = weights.sum()
    return Span(
        margins,
        error=float(weights @ (margins <= 0) / total),
        slack=float(weights @ np.maximum(0.0, 1 - margins) / total),
        smooth=float(weights @ expit(-STEEPNESS * margins) / total),
    )


def _spans(problem: Problem, gram: KernelMatrix, beta: Array, g: Array, b: float) -> tuple[Array, Array]:
    """S² for each row with a coefficient, and how far the bias moves before that counts; zero for the others."""
    free = (beta > problem.lower) & (beta < problem.upper) & _able(problem)
    bounded = ~free & (beta != 0)
    V, B, border = np.flatnonzero(free), np.flatnonzero(bounded), bool(problem.sums)
    distance, shift = np.zeros(len(beta)), np.zeros(len(beta))
    if len(V):
        K = _values(gram, V, np.concatenate((V, B)))
        L = _factor(K[:, : len(V)], problem.ridge[V])
        u = np.ones((1, len(V)))
        _core.cholesky_forward(L, u)
        distance[B] = _bounded_spans(L, u[0] if border else None, K[:, len(V) :], gram.diagonal[B])
        if len(V) > 1 or not border:
            distance[V] = _free_spans(L, u[0] if border else None)
    elif not border:
        distance[B] = gram.diagonal[B]
    if border and len(V) < 2:
        for sign in (1.0, -1.0):
            leaving = np.flatnonzero((free if len(V) else bounded) & (sign * beta > 0))
            q = _heir(problem, beta, g, free, sign)
            between = _values(gram, np.array([q]), leaving)[0]
            distance[leaving] = np.maximum(gram.diagonal[leaving] - 2 * between + gram.diagonal[q], 0.0)
            shift[leaving] = -g[q] - b
    return distance, shift


def _able(problem: Problem) -> Mask:
    """Rows with a box that is not negligible beside the largest of their class: others can make up for nothing."""
    room, positive = problem.upper - problem.lower, problem.linear < 0
    most = np.where(positive, room.max(where=positive, initial=0.0), room.max(where=~positive, initial=0.0))
    return np.asarray(room >= NEGLIGIBLE * most)


def _heir(problem: Problem, beta: Array, g: Array, free: Mask, sign: float) -> int:
    """The bounded coefficient that is first to move up (sign = 1) or down as the bias falls or rises to its -g."""
    able = beta < problem.upper if sign > 0 else beta > problem.lower
    return int(np.where(able & ~free, -sign * g, -inf).argmax())


def _free_spans(L: Array, u: Array | None) -> Array:
    """1 / (M⁻¹)_pp, where (M⁻¹)_VV = L⁻ᵀ (I - uuᵀ/‖u‖²) L⁻¹ with u = L⁻¹1; without a sum no u."""
    columns = np.eye(len(L))  # row p becomes column p of L⁻¹
    _core.cholesky_forward(L, columns)
    if u is not None:
        columns -= np.outer(np.einsum("pi,i->p", columns, u) / (u * u).sum(), u)
    return np.asarray(1 / np.einsum("pi,pi->p", columns, columns))


def _bounded_spans(L: Array, u: Array | None, across: Array, diagonal: Array) -> Array:
    """K_pp - vᵀM⁻¹v = K_pp - ‖z‖² + (uᵀz - 1)²/‖u‖² with z = L⁻¹K_Vp, u = L⁻¹1; without a sum no third term."""
    z = np.ascontiguousarray(across.T)
    _core.cholesky_forward(L, z)
    distance = diagonal - np.einsum("pi,pi->p", z, z)
    if u is not None:
        distance += (np.einsum("pi,i->p", z, u) - 1) ** 2 / (u * u).sum()
    return np.asarray(np.maximum(distance, 0.0))


def _factor(K: Array, ridge: Array) -> Array:
    """L with LLᵀ = K + ridge + jitter in its lower triangle: the least that works."""
    jitter = JITTER
    scale = float(np.abs(K.diagonal() + ridge).mean()) or 1.0
    while True:
        A = np.array(K, order="C")
        A[np.diag_indices(len(A))] += ridge + jitter * scale
        if _core.cholesky(A):
            return A
        jitter *= MORE_JITTER


def _values(gram: KernelMatrix, index: NDArray[Any], columns: NDArray[Any]) -> Array:
    """K[index][:, columns] in float64, without whole rows of all the index at once."""
    parts = [index[begin : begin + BLOCK] for begin in range(0, len(index), BLOCK)]
    return np.concatenate([np.asarray(gram.rows(part)[:, columns], dtype=np.float64) for part in parts])


def _labels(problem: Problem, *uses: str) -> Array:
    """y of a problem made for one of these uses."""
    if problem.use not in uses:
        raise ValueError(f"problem={problem!r} is of another kind: pass one made by {' or '.join(uses)}.")
    return -problem.linear


def _coefficients(problem: Problem, gram: KernelMatrix, beta: ArrayLike) -> Array:
    """β of a problem over this matrix."""
    if gram.size != problem.rows:
        raise ValueError(f"gram has {gram.size} rows: pass one with {problem.rows}, as the problem has.")
    return finite_vector("beta", beta, length=len(problem))


def _squared_ratio(radius: float, margin: float) -> float:
    """R²/γ²; infinite rather than an overflow."""
    ratio = real("radius", radius, at_least=0) / real("margin", margin, above=0)
    return ratio * ratio


def _doubt(confidence: float) -> float:
    """1 - confidence, strictly between 0 and 1."""
    if real("confidence", confidence, above=0) >= 1:
        raise ValueError(f"confidence={confidence!r} is out of range: pass a number between 0 and 1, e.g. 0.95.")
    return 1 - float(confidence)
