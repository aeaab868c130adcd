"""Predictions against the formula with the model's own coefficients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from . import exact
from .base import compact
from .claims import Claims
from .exact import EPS, Array
from .rebuilt import Rebuilt

ROWS = 120  # of the training data, whose decision values are judged
ALONE = 8  # rows predicted one by one
SUMMING = 1e-12  # of a value, that adding up a thousand terms may cost


class Predictions(Claims):
    """Decision values, labels, batches."""

    columns: Any  # of X that are looked at; None: all
    classes: Array
    parts: list[tuple[list[int], list[int]]]  # the classes on either side of each binary classifier

    def _predictions(self, problems: list[Rebuilt]) -> None:
        e, case = self.estimator, self.case
        classifier = hasattr(e, "classes_")
        coef, bias = self._model(problems)
        unit = np.array([s.certificate.rho if type(e).__name__ == "NuSVC" else 1.0 for s in e.solutions_])
        tolerance = self.tol / 2 / np.where(unit > 0, unit, 1.0)
        if self.said:  # where the fit did not converge, and says so, its certificate tells what rounding may do
            told = [0.0 if s.converged else np.nan_to_num(s.certificate.rounding) for s in e.solutions_]
            tolerance = tolerance + 2 * np.array(told) / np.where(unit > 0, unit, 1.0)
        if classifier:
            e.decision_function_shape = "ovo"

        def ask(X: Any) -> Array:
            values = np.asarray(
                e.decision_function(X) if hasattr(e, "decision_function") else e.predict(X), dtype=float
            )
            return values if values.ndim == 2 else values[:, None]

        sample = np.sort(np.random.default_rng(case.number).permutation(case.rows)[:ROWS])
        train = case.X if isinstance(case.X, list) else sparse.csr_array(case.X) if sparse.issparse(case.X) else case.X
        train = [train[i] for i in sample] if isinstance(train, list) else train[sample]
        for place, X in (("training", train), ("test", case.test)):
            truth, slack = self._truth(X, coef, bias, tolerance)
            slack = slack + SUMMING * np.abs(truth.astype(float))
            with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                values = ask(X)
                off = np.abs(values - truth.astype(float))
                wrong = np.isfinite(truth) & (np.abs(truth) < 1e300) & ~(off <= tolerance + slack)
            told = any("overflows" in str(warning.message) for warning in heard)
            wrong &= np.isfinite(values) | (not told)
            if not told and (strange := ~np.isfinite(values) & np.isfinite(truth) & (np.abs(truth) < 1e300)).any():
                self.find("not finite", f"{int(strange.sum())} decision values of {place} rows")
            elif wrong.any():
                count = f"{int(wrong.any(axis=1).sum())} of {len(values)} off"
                i, k = np.unravel_index(np.argmax(np.where(wrong, off / (tolerance + slack), 0)), off.shape)
                self.find(
                    f"values of {place} rows",
                    f"{count}; row {i}, output {k}: {values[i, k]:.6g}, the formula {float(truth[i, k]):.6g} "
                    f"± {tolerance[k] + slack[i, k]:.1e}",
                )
            sure = np.isfinite(truth).all(axis=1) & (np.abs(truth) > tolerance + slack).all(axis=1)
            if classifier or type(e).__name__ == "OneClassSVM":
                self._labels(place, X, truth.astype(float), tolerance + slack, sure, np.asarray(e.predict(X)))
            self._batches(place, X, ask, values, tolerance + slack)
        if classifier:
            self._rejects(case.test)

    @np.errstate(over="ignore")  # sums of coefficients without end
    def _model(self, problems: list[Rebuilt]) -> tuple[Array, Array]:
        """Coefficients, one row per output, and biases, from the public attributes: they must be the solutions'."""
        e = self.estimator
        dual = np.asarray(e.dual_coef_, dtype=float)
        bias = np.atleast_1d(np.asarray(e.intercept_, dtype=float))
        coef = dual
        if hasattr(e, "classes_") and len(self.classes) > 2 and e.multiclass == "ovo":
            of = np.repeat(np.arange(len(self.classes)), e.n_support_)
            coef = np.zeros((len(self.parts), dual.shape[1]))
            for c in range(len(self.classes)):
                own = [k for k, (positive, negative) in enumerate(self.parts) if c in positive + negative]
                coef[np.ix_(own, np.flatnonzero(of == c))] = dual[:, of == c]
        self.support = np.asarray(e.support_, dtype=np.int64)
        place = {int(row): j for j, row in enumerate(self.support)}
        for k, (problem, solution) in enumerate(zip(problems, e.solutions_, strict=True)):
            own = problem.fold(np.asarray(solution.beta, dtype=float))
            rho = solution.model_rho if type(e).__name__ == "NuSVC" and solution.model_rho > 0 else 1.0
            expected = np.zeros(len(self.support))
            rows = self.kept[problem.rows]
            for row, value in zip(rows[own != 0], own[own != 0] / rho, strict=True):
                if int(row) in place:
                    expected[place[int(row)]] = value
            # without a margin a model says so, and may be another than the optimum, which is noise
            hopeless = type(e).__name__ in ("NuSVC", "OneClassSVM") and (self.said or not coef[k].any())
            offset = abs(coef[k] - expected).max(initial=0.0)
            if offset > 1e-9 * np.abs(expected).max(initial=0.0) and not hopeless:
                self.find("model", f"output {k}: dual_coef_ is not the solution's, off by {offset:.2e}")
            wanted = solution.model_bias / rho + self.augment * float(own.sum())
            within = 1e-9 * (abs(wanted) + self.augment * float(np.abs(own).sum()))
            if abs(bias[k] - wanted) > within and not hopeless:
                self.find("model", f"output {k}: intercept_ is {bias[k]:.10g}, the solution's bias {wanted:.10g}")
        return coef, bias

    def _truth(self, X: Any, coef: Array, bias: Array, tolerance: Array) -> tuple[Array, Array]:
        """The formula's values, with their rounding in float64; extended where that exceeds the tolerance."""
        points = compact(X, self.columns)
        if self.precomputed:
            K = points[:, self.support]
            values, bound = exact.total(K, np.zeros(K.shape), coef)
            return values + bias, 2 * EPS * (bound + np.abs(bias))
        values, bound = exact.expansion(self.kernel, points, self.X[self.support], coef)
        with np.errstate(all="ignore"):
            slack = EPS * (bound + np.abs(bias) + np.abs(values))
            work = points.size * max(len(self.support), 1)
            if (slack > tolerance / 10).any() and work < 2e7:
                sharp, _ = exact.expansion(self.kernel, points, self.X[self.support], coef, exact.EXTENDED)
                return sharp + bias, slack
            return values + bias, 2 * slack

    def _labels(self, place: str, X: Any, truth: Array, within: Array, sure: Array, labels: Array) -> None:
        """Labels follow from values that are sure of their sign, and of their order."""
        e = self.estimator
        if type(e).__name__ == "OneClassSVM":
            expected = np.where(truth[:, 0] >= 0, 1, -1)
        elif len(self.classes) == 2:
            expected = self.classes[(truth[:, 0] > 0).astype(int)]
        else:
            score = np.zeros((len(truth), len(self.classes)))
            if e.multiclass == "ovr":
                ranked = np.sort(truth, axis=1)
                sure = np.isfinite(truth).all(axis=1) & (ranked[:, -1] - ranked[:, -2] > 2 * within.max(axis=1))
                score = truth
            elif e.multiclass == "ovo":
                for k, (positive, negative) in enumerate(self.parts):
                    score[:, positive[0]] += truth[:, k] > 0
                    score[:, negative[0]] += truth[:, k] <= 0
            else:
                score[:] = np.inf
                for k, (positive, negative) in enumerate(self.parts):
                    for side, sign in ((positive, 1), (negative, -1)):
                        score[:, side] = np.minimum(score[:, side], sign * truth[:, k, None])
            expected = self.classes[score.argmax(axis=1)]
        if (wrong := sure & (labels != expected)).any():
            i = int(wrong.argmax())
            count = f"{int(wrong.sum())} of {int(sure.sum())} sure ones differ"
            self.find(f"labels of {place} rows", f"{count}; row {i}: {labels[i]!r}, the formula {expected[i]!r}")

    def _rejects(self, X: Any) -> None:
        """A rejected row does not bear the name of a class."""
        e = self.estimator
        try:
            rejected = np.asarray(e.predict_with_reject(X, rule="margin"))
        except ValueError:
            return  # a label that collides may be refused
        differs = [
            given for given, label in zip(rejected.tolist(), e.predict(X).tolist(), strict=True) if given != label
        ]
        if any(given in e.classes_.tolist() for given in differs):
            self.find("reject", f"rejected rows are labelled {differs[0]!r}, as a class is")

    def _batches(self, place: str, X: Any, ask: Any, values: Array, within: Array) -> None:
        """Rows alone, and beside a row of 1e9, are predicted as they are in their batch."""
        some = range(0, len(values), max(1, len(values) // ALONE))
        pick = (lambda i: [X[i]]) if isinstance(X, list) else (lambda i: X[[i]])
        X = sparse.csr_array(X) if sparse.issparse(X) else X
        with np.errstate(all="ignore"):
            for i in some:
                off = np.abs(ask(pick(i))[0] - values[i])
                if (off > 2 * within[i]).any():
                    self.find("alone", f"{place} row {i} alone is off by {off.max():.3g} from the batch")
                    break
            if self.precomputed or isinstance(X, list):
                return
            far = np.full((1, X.shape[1]), 10**9, dtype=X.dtype)
            batch = sparse.vstack((X, sparse.csr_array(far))).tocsr() if sparse.issparse(X) else np.vstack((X, far))
            off = np.abs(ask(batch)[:-1] - values)
            if (off > 2 * within).any():
                rows = int((off > 2 * within).any(axis=1).sum())
                self.find(
                    "batch", f"{rows} of {len(values)} {place} rows change beside a row of 1e9, by {np.nanmax(off):.3g}"
                )
