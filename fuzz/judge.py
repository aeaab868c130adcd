"""Judges a fit from outside: what the estimator claims and predicts against what its own numbers say."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from . import exact, rebuilt
from .base import compact, used
from .exact import Array
from .predictions import Predictions
from .rebuilt import Rebuilt
from .words import resolve

AT_BOUND = 1e-6  # of its box, that a coefficient may be away from an end of it and count as being there
SUMMED = 1e-15  # of the sum of all coefficients: its rounding, which may take a coefficient off its bound


class Judge(Predictions):
    """Everything that can be said about a fitted estimator."""

    def fit(self, estimator: Any, heard: list[Any]) -> None:
        """Everything that can be said about a fitted estimator."""
        self.estimator, self.tol = estimator, float(estimator.tol)
        self.said = bool(heard)
        self.columns = used(self.case.X, self.case.test)
        self.X = compact(self.case.X, self.columns)
        self._weigh()
        self.precomputed = estimator.kernel == "precomputed"
        self.kernel = None if self.precomputed else resolve(self.case, estimator)
        self._gamma()
        self._attributes()
        self.augment = estimator.augment**2 if getattr(estimator, "bias", "exact") == "augmented" else 0.0
        problems = self._problems()
        if len(problems) != len(estimator.solutions_):
            self.find("shape", f"{len(estimator.solutions_)} solutions for {len(problems)} problems")
            return
        for k, (problem, solution) in enumerate(zip(problems, estimator.solutions_, strict=True)):
            if len(solution.beta) != len(problem.p):
                self.find("shape", f"solution {k} has {len(solution.beta)} coefficients, its problem {len(problem.p)}")
                return
            self._solution(k, problem, solution)
        self._predictions(problems)

    def leaves_bias_open(self, estimator: Any) -> bool:
        """Whether all coefficients of a problem are at a bound, but for rounding and tol.

        An interval of biases is optimal then, up to the whole margin wide, and which of them is found says nothing.
        """
        self.estimator = estimator
        self._weigh()
        for problem, solution in zip(self._problems(), estimator.solutions_, strict=True):
            beta = np.asarray(solution.beta, dtype=float)
            span = problem.upper - problem.lower
            room = np.where(np.isfinite(span), AT_BOUND * span, 0.0)
            room = np.maximum(room, SUMMED * np.abs(beta).sum())  # what rounding of a sum leaves to light rows
            inside = (beta > problem.lower + room) & (beta < problem.upper - room)
            if any(not inside[members].any() for members, _ in problem.sums):
                return True
        return False

    def _weigh(self) -> None:
        """Rows that count, and their weights."""
        weight = np.ones(self.case.rows) if self.case.weight is None else np.asarray(self.case.weight, dtype=float)
        self.kept = np.flatnonzero(weight > 0)
        self.weight = weight[self.kept]

    def _gamma(self) -> None:
        estimator = self.estimator
        if estimator.gamma != "scale" or not isinstance(estimator.kernel, str) or not hasattr(estimator, "gamma_"):
            return
        X, weight = self.X[self.kept].astype(exact.EXTENDED), self.weight.astype(exact.EXTENDED)
        features = np.shape(self.case.X)[1]
        absent = features - X.shape[1]
        mean = (weight @ X).sum() / (weight.sum() * features)
        variance = (weight @ (X - mean) ** 2).sum() / (weight.sum() * features) + mean**2 * absent / features
        if variance > 1e-9 * mean**2 and 1e-280 < variance < 1e280:
            wanted = float(1 / (features * variance))
            if abs(estimator.gamma_ - wanted) > 1e-3 * wanted:
                self.find("gamma", f'gamma="scale" became {estimator.gamma_:.6g}; 1 / (d var X) is {wanted:.6g}')

    def _attributes(self) -> None:
        e = self.estimator
        named = {name: getattr(e, name) for name in ("dual_coef_", "intercept_", "objective_")}
        wrong = [name for name, value in named.items() if not np.isfinite(value).all()]
        if e.converged_ and not np.isfinite(e.kkt_violation_):
            wrong.append("kkt_violation_")
        if wrong and not self.said:
            self.find("not finite", f"{', '.join(wrong)} without a warning")
        if not self.precomputed:
            rows = compact(e.support_vectors_, self.columns if sparse.issparse(e.support_vectors_) else None)
            if rows.shape != self.X[e.support_].shape or (rows != self.X[e.support_]).any():
                self.find("model", "support_vectors_ are not the rows of X that support_ names")
        if len(e.support_) != e.dual_coef_.shape[1]:
            self.find("shape", f"{len(e.support_)} support rows, {e.dual_coef_.shape[1]} columns of dual_coef_")

    def _problems(self) -> list[Rebuilt]:
        e, name = self.estimator, type(self.estimator).__name__
        options = e.get_params() | {"C": getattr(e, "C_", np.nan), "epsilon": getattr(e, "epsilon_", np.nan)}
        everything = np.arange(len(self.kept))
        if name == "OneClassSVM":
            return [rebuilt.one_class(everything, self.weight, e.nu)]
        y = np.asarray(self.case.y)[self.kept]
        if name in ("SVR", "NuSVR"):
            return [rebuilt.regression(name, np.asarray(y, dtype=float), everything, self.weight, options)]
        self.classes, self.labels = np.unique(y, return_inverse=True)
        self.parts = parts(e, len(self.classes))
        weight = self.weight * self._class_weight()[self.labels]
        problems = []
        for positive, negative in self.parts:
            rows = np.flatnonzero(np.isin(self.labels, positive + negative))
            signs = np.where(np.isin(self.labels[rows], positive), 1.0, -1.0)
            problems.append(rebuilt.classification(name, signs, rows, weight[rows], options))
        return problems

    def _class_weight(self) -> Array:
        wanted, count = self.estimator.class_weight, len(self.classes)
        if wanted is None:
            return np.ones(count)
        if wanted == "balanced":
            return self.weight.sum() / (count * np.bincount(self.labels, self.weight))
        return np.array([wanted.get(c, 1.0) for c in self.classes.tolist()])


def parts(estimator: Any, count: int) -> list[tuple[list[int], list[int]]]:
    """The classes, as numbers, on either side of each binary classifier."""
    if count == 2:
        return [([1], [0])]
    if estimator.multiclass == "ovo":
        return [([i], [j]) for i in range(count) for j in range(i + 1, count)]
    if estimator.multiclass == "ovr":
        return [([i], [j for j in range(count) if j != i]) for i in range(count)]
    names = estimator.classes_.tolist()

    def leaves(branch: Any) -> list[int]:
        return [names.index(branch)] if not isinstance(branch, tuple) else leaves(branch[0]) + leaves(branch[1])

    def nodes(branch: Any) -> list[Any]:
        return [] if not isinstance(branch, tuple) else [branch, *nodes(branch[0]), *nodes(branch[1])]

    return [(leaves(left), leaves(right)) for left, right in nodes(estimator.tree_)]
