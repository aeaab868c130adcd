"""Judges a fit from outside: what the estimator claims and predicts against what its own numbers say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from adatron import kernels
from adatron.kernels import resolve_kernel

from . import exact, rebuilt
from .cases import SMALL, Case, compact, used
from .exact import Array
from .rebuilt import Rebuilt

EPS = exact.epsilon(np.float64)
ROWS = 120  # of the training data, whose decision values are judged
ALONE = 8  # rows predicted one by one
SENTENCE = 320  # characters
RAW = ("signature", "incompatible function arguments", "Traceback", "<class '", "0x7f", "nanobind", "std::")
SKLEARN = ("Input X contains", "Input y contains", "Found array with", "Expected 2D array", "Found input variables")
# Sentences with which a problem that is well formed may be refused.
REFUSALS = {
    r"solver='[\w-]+' does not take": "solver",
    r"one class|in every row of positive weight": "one class",
    r"folds cannot be made|leaves no row to learn": "folds",
    r"asks for a hard margin": "no hard margin",
}


class Judge:
    """Collects findings, each a kind and a sentence."""

    def __init__(self, case: Case) -> None:
        self.case, self.findings = case, list[dict[str, str]]()

    def find(self, kind: str, detail: str) -> None:
        """One finding of a kind is enough for a case."""
        if all(each["kind"] != kind for each in self.findings):
            self.findings.append({"kind": kind, "detail": detail})

    # ------------------------------------------------------------ messages

    def error(self, error: BaseException, where: str) -> str:
        """Judge an exception; returns the kind of refusal."""
        text, name = str(error), type(error).__name__
        if isinstance(error, MemoryError):
            self.find("memory", f"{where} raised MemoryError: {text[:200]}")
            return "memory"
        if not isinstance(error, ValueError | TypeError):
            self.find("exception", f"{where} raised {name}: {text[:200]}")
            return name
        if text.startswith(SKLEARN):
            return self._expected("scikit-learn's check of X", where, text)
        if len(text) > SENTENCE or "\n" in text or not text.endswith((".", ")")) or any(raw in text for raw in RAW):
            self.find("message", f"{where} raised {name}, which is no plain sentence: {text[:200]!r}")
        names = (*self.case.estimator.get_params(), "X", "y", "sample_weight", "weight", "gram", "sigma", "cv")
        if not any(re.search(rf"\b{re.escape(each)}\b", text) for each in names):
            self.find("message", f"{where} raised {name}, which names no parameter: {text[:200]!r}")
        for pattern, kind in REFUSALS.items():
            if re.search(pattern, text):
                return kind
        if re.search(r"NaN|infinity|not finite|overflow|too large", text):
            return self._expected("kernel values beyond float64", where, text)
        return self._expected(re.sub(r"[\d.e+-]+|=\S+", "…", text)[:80], where, text)

    def _expected(self, kind: str, where: str, text: str) -> str:
        """Refusing is right for what is invalid, and where kernel values are beyond float64."""
        if self.case.task != "invalid" and not self._overflows():
            self.find("refused", f"{where}: {text[:200]}")
        return kind

    def _overflows(self) -> bool:
        X = compact(self.case.X, used(self.case.X))
        if not np.isfinite(X).all() or np.abs(X).max(initial=0.0) > 1e150:
            return True
        if self.case.estimator.kernel == "precomputed":
            return bool(np.abs(X).max() > 1e290)
        try:
            kernel = resolve(self.case, self.case.estimator)
        except ValueError:
            return False
        order = np.argsort(-np.abs(X).max(axis=1))[:40]
        K, _ = exact.evaluate(kernel, X[order], X[order], exact.EXTENDED)
        return not bool((np.abs(K) < 1e290).all())

    def warnings(self, heard: list[Any], estimator: Any | None) -> None:
        """No RuntimeWarning ever; a ConvergenceWarning exactly where a fit did not converge."""
        for each in heard:
            if issubclass(each.category, RuntimeWarning | FutureWarning | DeprecationWarning):
                self.find(
                    "warning",
                    f"{each.category.__name__}: {str(each.message)[:120]} ({each.filename[-40:]}:{each.lineno})",
                )
        if estimator is None:
            return
        loud = any(issubclass(each.category, ConvergenceWarning) for each in heard)
        said = any(issubclass(each.category, UserWarning) for each in heard)
        status = str(estimator.stop_reason_)
        if not estimator.converged_ and not (said if "stationary" in status else loud):
            self.find("silent", f"ended as {status!r} without a ConvergenceWarning")
        if estimator.converged_ and loud:
            self.find("loud", "converged with a ConvergenceWarning")
        count = len({str(each.message) for each in heard})
        if len(heard) > 3 * max(count, 1):
            self.find("repeated", f"{len(heard)} warnings, {count} of them different: {str(heard[0].message)[:100]}")

    # ------------------------------------------------------------ a fit

    def fit(self, estimator: Any, heard: list[Any]) -> None:
        """Everything that can be said about a fitted estimator."""
        self.estimator, self.tol = estimator, float(estimator.tol)
        self.said = bool(heard)
        self.columns = used(self.case.X, self.case.test)
        self.X = compact(self.case.X, self.columns)
        weight = np.ones(len(self.X)) if self.case.weight is None else np.asarray(self.case.weight, dtype=float)
        self.kept = np.flatnonzero(weight > 0)
        self.weight = weight[self.kept]
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

    # ------------------------------------------------------------ claims

    def _kernel(self, rows: Array, columns: Array, dtype: Any = np.float64) -> tuple[Array, Array]:
        """Values between training rows, and their rounding; a bias in the kernel included."""
        rows, columns = self.kept[rows], self.kept[columns]
        if self.precomputed:
            K = self.X[np.ix_(rows, columns)].astype(dtype)
            A = np.zeros(K.shape)
        else:
            K, A = exact.evaluate(self.kernel, self.X[rows], self.X[columns], dtype)
        return (K + dtype(self.augment), A + np.abs(K) + self.augment) if self.augment else (K, A)

    def _solution(self, k: int, problem: Rebuilt, solution: Any) -> None:
        beta, at = np.asarray(solution.beta, dtype=float), solution.certificate
        where = f"problem {k} of {len(self.estimator.solutions_)} ({solution.status}): "
        if not np.isfinite(beta).all():
            return self.find("not finite", where + "coefficients are not finite") if not self.said else None
        size = float(np.abs(beta).sum())
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
        self._margin(where, problem, solution, f, K, support)
        rows = problem.some_movable(SMALL) if suspect(self.kernel) else []
        if len(rows) > 1:
            K, _ = self._kernel(problem.rows[rows], problem.rows[rows])
            least, most = problem.smallest_curvature(rows, K)
            noise = 1e-5 * most + 1e-11 * len(rows) * float(np.abs(K).max())
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
        room = problem.spread(error) + 4 * EPS * np.abs(g) + self.tol / 2
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
        true = (primal - dual - slack) / max(abs(primal), abs(dual), 1e-300)
        if true > 1.01 * at.gap + 1e-9:
            self.find("gap", where + f"relative gap {true:.2e} at least, claims {at.gap:.2e}")

    def _margin(self, where: str, problem: Rebuilt, solution: Any, f: Array, K: Array, support: Array) -> None:
        """ν-classification and one-class: an optimum without a margin is noise, and has to be said."""
        if type(self.estimator).__name__ not in ("NuSVC", "OneClassSVM") or not solution.converged or self.said:
            return
        coef = problem.fold(np.asarray(solution.beta, dtype=float))[support]
        inner = K[support]
        if problem.signs is not None:  # Σβ = 0: what all kernel values have in common does not count
            inner = inner - inner.mean(axis=0) - inner.mean(axis=1)[:, None] + inner.mean()
        norm, size = float(coef @ f[support]), float(np.abs(coef) @ np.abs(inner) @ np.abs(coef))
        at = solution.certificate
        if problem.signs is not None and at.rho <= at.kkt_violation:
            self.find("no margin", where + f"ρ = {at.rho:.1e}, KKT violation {at.kkt_violation:.1e}, without a warning")
        if abs(norm) <= 1e-9 * size:
            self.find("no margin", where + f"‖w‖² = {norm:.1e}, of terms of {size:.1e}, without a warning")

    # ------------------------------------------------------------ predictions

    def _predictions(self, problems: list[Rebuilt]) -> None:
        e, case = self.estimator, self.case
        classifier = hasattr(e, "classes_")
        coef, bias = self._model(problems)
        unit = np.array([s.certificate.rho if type(e).__name__ == "NuSVC" else 1.0 for s in e.solutions_])
        tolerance = self.tol / 2 / np.where(unit > 0, unit, 1.0)
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
            with np.errstate(all="ignore"):
                values = ask(X)
                off = np.abs(values - truth.astype(float))
                wrong = np.isfinite(truth) & (np.abs(truth) < 1e300) & ~(off <= tolerance + slack)
            if (strange := ~np.isfinite(values) & np.isfinite(truth) & (np.abs(truth) < 1e300)).any():
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
            rho = solution.certificate.rho if type(e).__name__ == "NuSVC" and solution.certificate.rho > 0 else 1.0
            expected = np.zeros(len(self.support))
            rows = self.kept[problem.rows]
            for row, value in zip(rows[own != 0], own[own != 0] / rho, strict=True):
                if int(row) in place:
                    expected[place[int(row)]] = value
            hopeless = type(e).__name__ == "NuSVC" and not coef[k].any()
            offset = abs(coef[k] - expected).max(initial=0.0)
            if offset > 1e-9 * np.abs(expected).max(initial=0.0) and not hopeless:
                self.find("model", f"output {k}: dual_coef_ is not the solution's, off by {offset:.2e}")
            wanted = solution.certificate.bias / rho + self.augment * float(own.sum())
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


def resolve(case: Case, estimator: Any) -> Any:
    """The kernel with its numbers; those that the estimator shows are the estimator's."""
    gamma = getattr(estimator, "gamma_", estimator.gamma)
    kernel = resolve_kernel(estimator.kernel, degree=estimator.degree, gamma=gamma, coef0=estimator.coef0)
    if isinstance(kernel, kernels.Gaussian | kernels.Laplacian) and isinstance(kernel.gamma, str | float):
        kernel = type(kernel)(gamma=gamma) if hasattr(estimator, "gamma_") else kernel
    if isinstance(kernel, kernels.Exponential) and hasattr(estimator, "gamma_"):
        kernel = kernels.Exponential(estimator.gamma_)
    X = sparse.csr_array(case.X) if sparse.issparse(case.X) else np.asarray(case.X)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if case.weight is None:
        return kernel.resolve(X)
    weight = np.asarray(case.weight, dtype=float)
    return kernel.resolve(X[weight > 0], weight[weight > 0])
