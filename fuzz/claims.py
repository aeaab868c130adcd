"""Coefficients against what their certificates claim."""

from __future__ import annotations

from typing import Any

import numpy as np

from adatron import kernels

from . import exact, rebuilt
from .base import SMALL
from .exact import EPS, Array
from .rebuilt import Rebuilt
from .words import Words

ABOVE_NOISE = 3.0  # times its rounding that ‖w‖² has to be


class Claims(Words):
    """Feasibility, violation, objective, bias, gap and convexity of each solution."""

    estimator: Any
    tol: float
    said: bool  # whether the fit has warned
    X: Array
    kept: Array  # the rows of X with weight
    kernel: Any  # None: X is the matrix
    augment: float
    precomputed: bool

    def _kernel(self, rows: Array, columns: Array, dtype: Any = np.float64) -> tuple[Array, Array]:
        """Values between training rows, and their rounding; a bias in the kernel included."""
        rows, columns = self.kept[rows], self.kept[columns]
        if self.precomputed:
            K = self.X[np.ix_(rows, columns)].astype(dtype)
            A = np.zeros(K.shape)
        else:
            K, A = exact.evaluate(self.kernel, self.X[rows], self.X[columns], dtype)
        return (K + dtype(self.augment), A + np.abs(K) + self.augment) if self.augment else (K, A)

    @np.errstate(all="ignore")  # sums of coefficients without end overflow
    def _solution(self, k: int, problem: Rebuilt, solution: Any) -> None:
        beta, at = np.asarray(solution.beta, dtype=float), solution.certificate
        where = f"problem {k} of {len(self.estimator.solutions_)} ({solution.status}): "
        if not np.isfinite(beta).all():
            return self.find("not finite", where + "coefficients are not finite") if not self.said else None
        size = float(np.abs(beta).sum())
        if type(self.estimator).__name__ == "NuSVC" and self.said:  # of a larger nu, where the one given has no margin
            problem = problem.with_larger_sums(beta)
        off = problem.infeasibility(beta)
        if off > 1e-7 * size + 2 * at.infeasibility and off > 1e-300:
            self.find("infeasible", where + f"off by {off:.2e} of Σ|β| = {size:.2e}, claimed {at.infeasibility:.2e}")
        coef = problem.fold(beta)
        support = np.flatnonzero(coef)
        K, A = self._kernel(problem.rows, problem.rows[support])
        f, bound = exact.total(K, A, coef[None, support])
        f, bound = f[:, 0], bound[:, 0]
        if not np.isfinite(f).all() or not np.isfinite(bound).all():
            return None
        self._violation(where, problem, solution, f, bound, support)
        self._objective(where, problem, solution, f, bound)
        self._gap(where, problem, solution, f, bound)
        self._margin(where, problem, solution, f, bound, support)
        rows = problem.some_movable(SMALL) if suspect(self.kernel) else []
        if len(rows) > 1:
            K, _ = self._kernel(problem.rows[rows], problem.rows[rows])
            least, most = problem.smallest_curvature(rows, K)
            noise = 1e-5 * most + 1e-11 * len(rows) * float(np.abs(K).max())
            if self.precomputed and (K.astype(np.float32) == K).all():  # a matrix that was rounded to float32
                noise += float(10 * np.finfo(np.float32).eps * np.sqrt(len(rows)) * np.abs(K).max())
            claims = "converged" if solution.converged else f"gap {at.gap:.2e}" if np.isfinite(at.gap) else ""
            if least < -noise and claims:
                self.find("not convex", where + f"claims {claims}; curvature from {least:.2e} to {most:.2e}")
        return None

    def _violation(self, where: str, problem: Rebuilt, solution: Any, f: Array, bound: Array, support: Array) -> None:
        """The violation against what is claimed; extended precision where float64 leaves it open."""
        beta, at = np.asarray(solution.beta, dtype=float), solution.certificate
        rest = problem.ridge * beta + problem.p
        extra = 4 * EPS * (np.abs(problem.ridge * beta) + np.abs(problem.p))
        allowed = at.kkt_violation + 2 * at.rounding if np.isfinite(at.kkt_violation) else np.inf
        if solution.converged:
            allowed = min(allowed + 1e-6 * self.tol, 1.3 * self.tol)
        else:
            allowed *= 1.01  # what tells that tol was not reached need not be exact
        g, slack = problem.spread(f) + rest, EPS * problem.spread(bound) + extra
        limit = allowed * (1 + 1e-9)
        reached, _ = problem.violation(g, 2 * slack, beta)
        if reached <= limit:
            raw, at_rows = problem.violation(g, 0.0 * slack, beta)
            if raw <= limit:
                return
            rows = np.unique(at_rows % len(problem.rows))
            K, A = self._kernel(problem.rows[rows], problem.rows[support], exact.EXTENDED)
            sharp = exact.total(K, A, problem.fold(beta)[None, support])[0][:, 0]
            f = f.copy()
            sharper = np.full(len(f), np.nan)
            sharper[rows] = sharp.astype(float)
            known = problem.spread(np.isfinite(sharper))
            g = np.where(known, problem.spread(sharper), g) + np.where(known, rest, 0.0)
            reached, _ = problem.violation(g, np.where(known, slack, 2 * slack), beta)
            if reached <= limit:
                return
        claim = f"claims {at.kkt_violation:.4g} ± {at.rounding:.1e}"
        self.find("violation", where + f"KKT violation {reached:.4g} at least, {claim}, tol {self.tol:g}")

    def _objective(self, where: str, problem: Rebuilt, solution: Any, f: Array, bound: Array) -> None:
        """The objective that is claimed, and a bias that the coefficients allow."""
        beta, at = np.asarray(solution.beta, dtype=float), solution.certificate
        coef, terms = problem.fold(beta), (0.5 * problem.ridge * beta + problem.p) * beta
        error = 2 * EPS * bound + at.rounding
        slack = float(np.abs(coef) @ error) + 1e-13 * float(np.abs(coef * f).sum() + np.abs(terms).sum())
        objective = 0.5 * float(coef @ f) + float(terms.sum())
        if abs(objective - at.objective) > slack + 1e-9 * abs(objective) and (solution.converged or not self.said):
            self.find("objective", where + f"{objective:.10g} ± {slack:.1e}, claims {at.objective:.10g}")
        if not problem.sums or not solution.converged:
            return
        g = problem.spread(f) + problem.ridge * beta + problem.p
        room = problem.spread(error) + 4 * EPS * (np.abs(g) + abs(at.bias) + abs(at.rho)) + self.tol / 2
        claims = [at.bias - at.rho, at.bias + at.rho] if len(problem.sums) == 2 else [at.bias]
        for claim, (least, most) in zip(claims, problem.multipliers(g, room, beta), strict=True):
            if np.isfinite(least + most) and not least <= claim <= most:
                self.find("bias", where + f"{claim:.6g} is outside {least:.6g} to {most:.6g}")

    def _gap(self, where: str, problem: Rebuilt, solution: Any, f: Array, bound: Array) -> None:
        """The textbook's primal less the dual, where losses are finite and a gap is claimed."""
        at, name = solution.certificate, type(self.estimator).__name__
        if name not in ("SVC", "SVR") or not np.isfinite(at.gap):
            return
        beta = np.asarray(solution.beta, dtype=float)
        squared = name == "SVC" and self.estimator.loss == "squared_hinge"
        n = len(f)
        C = problem.upper[:n] if name == "SVR" else np.maximum(problem.upper, -problem.lower)
        if squared:
            C = np.where(problem.ridge > 0, 0.5 / np.where(problem.ridge > 0, problem.ridge, 1.0), 0.0)
            if (problem.ridge[problem.lower < problem.upper] == 0).any():
                return  # C is infinite
        if not np.isfinite(C).all():
            return
        quadratic = float(problem.fold(beta) @ f)
        epsilon = self.estimator.epsilon_ if name == "SVR" else None
        loss = rebuilt.losses(problem, f, C, epsilon, squared)
        primal = 0.5 * quadratic + loss
        linear = 0.5 * problem.ridge * beta + problem.p
        dual = -0.5 * quadratic - float(linear @ beta)
        error = 2 * EPS * bound + 2 * at.rounding + 1e-14
        rate = C if not squared else 2 * C * (np.abs(f) + 1 + np.abs(at.bias))
        slack = float(rate @ error + np.abs(problem.fold(beta)) @ error)
        slack += 1e-13 * (abs(quadratic) + loss + float(np.abs(linear * beta).sum()))

        def gap(primal: float) -> float:
            return (primal - dual - slack) / max(abs(primal), abs(dual), 1e-300)

        true = gap(primal)
        if true > 1.01 * at.gap + 1e-9:  # any multiple of the model bounds the optimum too
            scales = 1 + 10.0 ** -np.arange(2, 16)
            multiples = [0.5 * s**2 * quadratic + rebuilt.losses(problem, s * f, C, epsilon, squared) for s in scales]
            true = min(true, *map(gap, multiples))
        if true > 1.01 * at.gap + 1e-9:
            self.find("gap", where + f"relative gap {true:.2e} at least, claims {at.gap:.2e}")

    def _margin(self, where: str, problem: Rebuilt, solution: Any, f: Array, bound: Array, support: Array) -> None:
        """ν-classification and one-class: an optimum without a margin is noise, and has to be said.

        ‖w‖² may be a tiny part of its terms and still be known, as long as it exceeds what rounding makes of them.
        """
        if type(self.estimator).__name__ not in ("NuSVC", "OneClassSVM") or not solution.converged or self.said:
            return
        coef = problem.fold(np.asarray(solution.beta, dtype=float))[support]
        norm, noise = float(coef @ f[support]), EPS * float(np.abs(coef) @ bound[support])
        at = solution.certificate
        if problem.signs is not None and at.rho <= at.kkt_violation:
            self.find("no margin", where + f"ρ = {at.rho:.1e}, KKT violation {at.kkt_violation:.1e}, without a warning")
        clear = problem.signs is not None and at.rho > ABOVE_NOISE * EPS * float(bound[support].max())
        if abs(norm) <= ABOVE_NOISE * noise and not clear:  # large coefficients that cancel leave a margin for certain
            self.find("no margin", where + f"‖w‖² = {norm:.1e}, rounding of {noise:.1e}, without a warning")


def suspect(kernel: Any) -> bool:
    """Whether the kernel may not be positive semidefinite."""
    match kernel:
        case kernels.Sum() | kernels.Product():
            return any(suspect(part) for part in kernel.parts)
        case kernels.Polynomial():
            return bool(kernel.coef0 < 0)
        case None | kernels.Sigmoid() | kernels.Callable():
            return True
    return False
