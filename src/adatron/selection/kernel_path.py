"""The papers' kernel selection: σ grows while the margin is kept maximal, and a bound picks the best.

    1. Begin with a very small σ, where the problem is easy.
    2. Maximise the margin, from the coefficients of the last σ. Compute the bound R²/(mγ²).
    3. Increase σ, and go to 2, until a given σ is reached, or the bound has clearly turned.

After Cristianini, Campbell & Shawe-Taylor, *Dynamically Adapting Kernels in Support Vector Machines*, section 3. Any
solver that can start from given coefficients climbs it. Distances are computed once; a step costs one pass of
exponentials and what the solver needs to bring the margin back, which is little as long as steps are small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, nan, sqrt
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array, choice, finite_vector, real
from adatron._rows import matrix
from adatron.gram import Gram
from adatron.kernels import Gaussian, Kernel, gamma_of, has_width, of_width
from adatron.packing import expansion
from adatron.precision import kernel_dtype
from adatron.problems import Bias, Problem, hinge, meet_sums, squared_hinge
from adatron.selection.bounds import margin_bound, norm_is_known
from adatron.selection.bounds import radius as ball_of
from adatron.selection.path import Path, Point
from adatron.selection.widths import Widths
from adatron.solution import Status
from adatron.solvers import Solver, make_solver, solve
from adatron.threads import effective_threads

NO_BOUND = (
    "no sigma has a bound: rows of different classes are alike, or all w are lost in rounding. "
    "Pass a smaller C, or rows that differ."
)
TYPICAL = (0.5, 0.25)  # shares of the distances between rows: the median, and where that has no bound less
RANGE = (0.1, 3.0)  # of σ, times the median distance
FACTOR = 1.25
TURNED = 1.5  # times the least bound, and
PAST = 3  # points beyond it: then it has clearly turned
FAR = 10.0  # times the least bound: then one point is enough, and the next ones would take long
REFINEMENTS = 2
RADII = ("unit", "ball")
LOSSES = {"hinge": hinge, "squared_hinge": squared_hinge}


def kernel_path(
    X: Any,
    y: Any,
    *,
    sigma: Any = None,
    step: float | None = None,
    factor: float = FACTOR,
    C: float = inf,
    loss: str = "hinge",
    kernel: Kernel | None = None,
    bias: Bias = "exact",
    radius: str = "unit",
    solver: str | Solver = "decomposition",
    tol: float = 1e-3,
    until_turned: bool = True,
    refine: bool = True,
    held_out: Any = None,
    n_jobs: int | None = None,
) -> Path:
    """Follow the machine of two classes (y = ±1) as σ grows, and choose the σ of the least bound R²/(mγ²).

    ``sigma`` is (first, last) or a rising list of three or more; without it the range comes from the data: 0.1 to 3
    times the median distance. From first to last σ grows by ``step`` each time, as in the paper, or ``factor`` times.
    With ``until_turned`` the path ends where the bound is 1.5 times its least, three points past it, or 10 times
    its least. ``refine`` looks twice more around the least, halving the steps.

    ``C`` is infinite for the papers' hard margin, for which the bound holds; with a finite C and
    ``loss="squared_hinge"`` it is that of the kernel K + I/2C. ``radius="unit"`` takes R² = max K_ii, which is 1 here
    (with the squared hinge 1 + 1/2C), "ball" that of the smallest ball, each from the last one's centre. ``held_out``,
    a pair of other rows and their labels, adds their error to the path.
    """
    if kernel is not None and not has_width(kernel):
        raise ValueError(f"kernel={kernel!r} is no kernel with a width: pass an object such as Gaussian(sigma=1.0).")
    if choice("bias", bias, ("exact", "none", "augmented")) == "augmented":
        raise ValueError("bias='augmented' is not for a path: pass 'exact' or 'none'.")
    X = matrix("X", X, keep_float32=True)
    signs = finite_vector("y", y, length=X.shape[0])
    kernel = kernel or Gaussian(sigma=1.0)
    for share in TYPICAL if sigma is None else TYPICAL[:1]:  # many outliers may make the median theirs
        climber = _Climber(X, signs, kernel, C, loss, bias, radius, solver, tol, held_out, n_jobs)
        widths = _sigmas(sigma, step, factor, climber.distance(share))
        refusal = NO_BOUND
        try:
            path = climber.run(widths, until_turned=until_turned, refine=refine)
        except _NoMargin as none:
            refusal = str(none)
            continue
        if path.chosen is not None and np.isfinite(path.chosen.bound):
            return path
    raise ValueError(refusal)


class _NoMargin(ValueError):
    """Not even the narrowest kernel has one."""


def _sigmas(sigma: Any, step: float | None, factor: float, median: float) -> Array:
    """The widths to go through."""
    ends = (RANGE[0] * median, RANGE[1] * median) if sigma is None else sigma
    listed = np.array([real("sigma", s, above=0) for s in np.atleast_1d(np.asarray(ends, dtype=object))])
    if not len(listed):
        raise ValueError("sigma=[] is empty: pass (first, last), or a rising list.")
    if (np.diff(listed) <= 0).any():
        raise ValueError(f"sigma={sigma!r} does not rise: pass (first, last) with first < last, or a rising list.")
    if len(listed) != 2:
        return listed
    first, last = listed
    if step is not None:
        return np.asarray(first + real("step", step, above=0) * np.arange(int((last - first) / step * (1 + 1e-9)) + 1))
    if real("factor", factor, above=0) <= 1:
        raise ValueError(f"factor={factor!r} does not raise sigma: pass a number greater than 1.")
    return np.asarray(np.geomspace(first, last, max(2, round(np.log(last / first) / np.log(factor)) + 1)))


class _Climber:
    """Where the path stands."""

    def __init__(
        self,
        X: Any,
        signs: Array,
        kernel: Kernel,
        C: float,
        loss: str,
        bias: Bias,
        radius: str,
        solver: str | Solver,
        tol: float,
        held_out: Any,
        n_jobs: int | None,
    ) -> None:
        self.X, self.kernel, self.tol = X, kernel, tol
        self.C = real("C", C, above=0, infinite=True)
        self.problem: Problem = LOSSES[choice("loss", loss, list(LOSSES))](signs, self.C, bias=bias)
        self.ball = choice("radius", radius, RADII) == "ball"
        self.solver = make_solver("solver", solver)
        if not self.solver.accepts.warm_start:
            raise ValueError(f"solver={self.solver.name!r} cannot start from given coefficients: pass 'decomposition'.")
        self.threads = effective_threads(n_jobs)
        self.dtype = kernel_dtype(X.shape[0], tol)
        self.widths = Widths(kernel, X, dtype=self.dtype, threads=self.threads, ordered=False)
        self.gram = self.widths.gram(X, 1.0)
        self.error = _error_of(held_out, kernel, X, self.threads)
        self.path = Path("bound")
        self.starts: dict[float, Array] = {}
        self.centers: dict[float, Array] = {}

    def distance(self, share: float) -> float:
        """Of two rows, such that this share of all are nearer."""
        d = self.widths.quantile(share)
        if d == 0:
            self.path.notes.append("All rows are alike: every distance is zero, and no width tells them apart.")
            return 1.0
        return sqrt(d) if isinstance(self.kernel, Gaussian) else d

    def run(self, sigmas: Array, *, until_turned: bool, refine: bool) -> Path:
        """All of them, then closer around the least."""
        for sigma in sigmas:
            if self.visit(float(sigma)) is None:
                break
            bounds = np.array([_comparable(point) for point in self.path])
            least = int(bounds.argmin())
            past = len(bounds) - 1 - least
            if until_turned and bounds[-1] > (TURNED if past >= PAST else FAR) * bounds[least]:
                break
        for _ in range(REFINEMENTS if refine and len(self.path) > 2 else 0):
            ordered = sorted(self.path.points, key=lambda point: point.sigma)
            least = min(range(len(ordered)), key=lambda k: _comparable(ordered[k]))
            for beside in (least - 1, least + 1):
                if 0 <= beside < len(ordered):
                    self.visit(sqrt(ordered[least].sigma * ordered[beside].sigma))
        self.path.chosen = min(self.path.points, key=_comparable)
        if np.isnan(self.path.chosen.bound):
            return self.path
        widths = self.path["sigma"]
        if len(widths) > 1 and self.path.chosen.sigma in (widths.min(), widths.max()):
            self.path.notes.append("The least bound is at the end of the path: pass a wider range of sigma.")
        return self.path

    def visit(self, sigma: float) -> Point | None:
        """The machine of this width, from the nearest narrower one's; None if there is no such machine."""
        began = perf_counter()
        gamma = gamma_of(self.kernel, sigma)
        gram = self.gram
        gram.widen(gamma)  # rows are made when they are asked for: what stays inactive costs nothing
        near = max((s for s in self.starts if s <= sigma), default=None)
        start = None if near is None else meet_sums(self.problem, self.starts[near])
        solution = solve(self.problem, gram, self.solver, start=start, tol=self.tol)
        if solution.status is Status.UNBOUNDED:
            if not self.path.points:
                raise _NoMargin(
                    f"C={self.C} asks for a hard margin, and at sigma={sigma:g} there is none: rows that are alike "
                    "have different labels. Pass a finite C with loss='squared_hinge'."
                )
            self.path.notes.append(f"From sigma={sigma:g} on there is no hard margin; the path ends before it.")
            return None
        if not solution.converged:
            self.path.notes.append(f"At sigma={sigma:g}: {solution.status.sentence}")
        coef = solution.coef
        norm2 = float(coef @ gram.product(coef) + (self.problem.ridge * solution.beta**2).sum())
        margin = nan
        if norm_is_known(norm2, coef, gram.diagonal + self.problem.ridge, self.dtype):
            margin = 1 / sqrt(norm2)
        else:
            self.path.notes.append(f"At sigma={sigma:g} rounding hides the size of w: there is no bound.")
        R = self.radius(gram, sigma)
        self.starts[sigma] = solution.beta
        point = Point(
            sigma,
            gamma,
            self.C,
            value=(bound := margin_bound(len(coef), margin, R) if np.isfinite(margin) else nan),
            bound=bound,
            radius=R,
            margin=margin,
            error=self.error(gamma, coef, solution.certificate.bias),
            support=int(np.count_nonzero(coef)),
            iterations=solution.n_iter,
            rows=len(coef),
        )
        self.path.points.append(replace(point, seconds=perf_counter() - began))
        return self.path.points[-1]

    def radius(self, gram: Gram, sigma: float) -> float:
        """R of the rows as the kernel (with its ridge) maps them."""
        if not self.ball:
            return sqrt(float((gram.diagonal + self.problem.ridge).max()))
        near = max((s for s in self.centers if s <= sigma), default=None)
        ball = ball_of(gram, ridge=self.problem.ridge, start=None if near is None else self.centers[near])
        self.centers[sigma] = ball.center
        return ball.radius


def _comparable(point: Point) -> float:
    """Its bound; infinite if it has none."""
    return inf if np.isnan(point.bound) else point.bound


def _error_of(held_out: Any, kernel: Kernel, X: Any, threads: int) -> Callable[[float, Array, float], float]:
    """The share of other rows that a machine gets wrong; NaN if there are none."""
    if held_out is None:
        return lambda gamma, coef, bias: nan
    if not (isinstance(held_out, Sequence) and len(held_out) == 2):
        raise ValueError(f"held_out={type(held_out).__name__} is no pair: pass (X, y) of rows to test on.")
    points = matrix("held_out", held_out[0], keep_float32=True)
    labels: NDArray[Any] = finite_vector("held_out", held_out[1], length=points.shape[0])
    if points.shape[1] != X.shape[1]:
        raise ValueError(f"held_out has {points.shape[1]} features: pass rows with {X.shape[1]}, as X has.")
    if (wrong := np.abs(labels) != 1).any():
        raise ValueError(f"held_out has the label {labels[wrong][0]:g}: pass -1 or +1.")

    def error(gamma: float, coef: Array, bias: float) -> float:
        some = np.flatnonzero(coef)
        values = expansion(of_width(kernel, gamma), X[some], coef[some][None], points, threads=threads)[0] + bias
        return float(np.mean(np.where(values > 0, 1.0, -1.0) != labels))

    return error
