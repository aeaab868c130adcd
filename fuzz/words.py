"""Findings, and what may be said: by exceptions, by warnings."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from adatron import kernels
from adatron.kernels import resolve_kernel

from . import exact
from .base import Case, compact, used

SENTENCE = 320  # characters
RAW = ("signature", "incompatible function arguments", "Traceback", "<class '", "0x7f", "nanobind", "std::")
SKLEARN = ("Input X contains", "Input y contains", "Found array with", "Expected 2D array", "Found input variables")
# Sentences with which a problem that is well formed may be refused.
REFUSALS = {
    r"solver='[\w-]+' does not take": "solver",
    r"one class|in every row of positive weight": "one class",
    r"folds cannot be made|leaves no row to learn": "folds",
    r"asks for a hard margin": "no hard margin",
    r"criterion='[\w-]+' (is for|needs)": "criterion",
}


class Words:
    """Collects findings, each a kind and a sentence."""

    def __init__(self, case: Case) -> None:
        self.case, self.findings = case, list[dict[str, str]]()

    def find(self, kind: str, detail: str) -> None:
        """One finding of a kind is enough for a case."""
        if all(each["kind"] != kind for each in self.findings):
            self.findings.append({"kind": kind, "detail": detail})

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
        if "no sigma has a bound" in text and self._alike():
            return "rows that are alike"
        for pattern, kind in REFUSALS.items():
            if re.search(pattern, text):
                return kind
        if re.search(r"NaN|infinity|not finite|overflow|too large", text):
            return self._expected("kernel values beyond float64", where, text)
        return self._expected(re.sub(r"=\S+|\d[\d.e+-]*", "…", text)[:80], where, text)

    def _expected(self, kind: str, where: str, text: str) -> str:
        """Refusing is right for what is invalid, and where kernel values are beyond float64."""
        if self.case.task != "invalid" and not self._overflows():
            self.find("refused", f"{where}: {text[:200]}")
        return kind

    def _alike(self) -> bool:
        """Whether every row of one class is the same as one row of the other: then w may be 0 for every width.

        A small scale makes them so, in float32 or beside a large offset.
        """
        X, y = compact(self.case.X, used(self.case.X)), np.asarray(self.case.y)
        top = y == y.max()
        sides = [{row.tobytes() for row in X[side] + 0.0} for side in (top, ~top)]  # + 0: no negative zeros
        return any(len(here) == 1 and here <= there for here, there in (sides, sides[::-1]))

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
