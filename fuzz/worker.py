"""Runs the cases whose numbers come on standard input; writes a line of JSON for each phase and each result."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import resource
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import replace
from hashlib import sha1
from typing import Any

import numpy as np

from .base import SMALL
from .cases import case
from .judge import Judge

MEMORY = 4 << 30  # bytes of address space
SECONDS = {"fit": 2.0, "large": 60.0, "search": 20.0}  # of CPU
SPARE = 96.0  # MB beside the cache and the data
COARSE = 0.05  # tol beside how much targets vary
HERE = os.path.dirname(os.path.abspath(__file__))
MANY, MANY_SECONDS = 10, 0.05  # binary problems that a fit has without more time, and seconds for each beyond them


class Run:
    """One case: fit, predict, judge."""

    def __init__(self, number: int, tell: Any) -> None:
        self.tell = tell
        self.case = case(number)
        self.judge = Judge(self.case)
        self.result: dict[str, Any] = {"number": number, "about": str(self.case), "rows": self.case.rows}
        self.heard: list[Any] = []

    def __call__(self) -> dict[str, Any]:
        """The result as JSON has it."""
        self.tell({"phase": "fit", "about": str(self.case), "limit": self._limit() + 8.0})
        estimator = self._timed(
            {"cross_validate": self._folds, "kernel_path": self._path}.get(self.case.task, self._fit)
        )
        if estimator is not None and self.case.task in ("fit", "invalid"):
            self.tell({"phase": "judge", "about": str(self.case), "limit": 60.0})
            self._judged(estimator)
        for file in self.case.files:
            file.cleanup()
        return self.result | {"findings": self.judge.findings}

    def _limit(self) -> float:
        if self.case.task not in ("fit", "invalid") or "adapt" in (
            self.case.estimator.gamma,
            getattr(self.case.estimator, "C", 0),
        ):
            return SECONDS["search"]
        return SECONDS["fit" if self.case.rows <= SMALL else "large"]

    def _timed(self, work: Any) -> Any:
        """Run it; CPU time, memory, warnings and exceptions are judged."""
        gc.collect()
        before, began, wall = _resident(reset=True), time.process_time(), time.perf_counter()
        with warnings.catch_warnings(record=True) as self.heard:
            warnings.simplefilter("always")
            try:
                fitted = work()
            except Exception as error:
                fitted = None
                kind = self.judge.error(error, self.case.task)
                self.result |= {"outcome": "refused", "refusal": kind, "message": str(error)[:300]}
        cpu, wall = time.process_time() - began, time.perf_counter() - wall
        peak = _resident(peak=True) - before
        self.result |= {"cpu": cpu, "wall": wall, "peak": peak}
        limit, estimator = self._limit(), self.case.estimator
        if self.case.task == "fit" and estimator.max_time is not None:
            limit = min(limit, estimator.max_time + 1.0) * (2 if estimator.n_jobs == 2 else 1)
        problems = len(getattr(fitted, "solutions_", ())) if fitted is not None else 1
        limit += MANY_SECONDS * max(0, problems - MANY)  # the limit is that of a problem
        if cpu > limit:
            self.judge.find("slow", f"{cpu:.1f} s of CPU, limit {limit:g} s")
        data = _bytes(self.case.X) / 1e6
        m = self.case.rows
        whole = 16 * min(m, 1000) ** 2 / 1e6  # small problems have their matrix in float64
        if estimator.solver == "qp":
            whole = 160 * m * m / 1e6  # dense matrices of an interior-point method
        allowed = min(estimator.cache_size, 16 * m * m / 1e6) + 6 * data + whole + SPARE
        if peak > allowed and self.case.task != "invalid":
            self.judge.find("memory", f"grew by {peak:.0f} MB, cache_size {estimator.cache_size:g}, data {data:.0f} MB")
        if fitted is not None:
            self.result["outcome"] = "fitted"
        return fitted

    def _fit(self) -> Any:
        case = self.case
        estimator = case.estimator
        options = {} if case.weight is None else {"sample_weight": case.weight}
        before = _digest(case.X, case.y, case.weight), repr(estimator)
        estimator.fit(case.X, case.y, **options)
        if case.task == "invalid":
            estimator.predict(case.test)
        after = _digest(case.X, case.y, case.weight), repr(estimator).partition("  #")[0]
        if before != after:
            self.judge.find("changed", f"fit changed its {'data' if before[0] != after[0] else 'parameters'}")
        return estimator

    def _judged(self, estimator: Any) -> None:
        if self.case.task == "invalid":
            self.judge.find("accepted", "a mistake was not refused")
            return
        self.result |= {"status": str(estimator.stop_reason_), "kkt": float(estimator.kkt_violation_)}
        self.judge.warnings(self.heard, estimator)
        began = time.process_time()
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                self.judge.fit(estimator, self.heard)
            except (ValueError, TypeError, MemoryError, OverflowError) as error:
                if not _raised_by_library(error):
                    raise
                self.judge.find("exception", f"predicting raised {type(error).__name__}: {str(error)[:200]}")
        self.judge.warnings([each for each in heard if os.path.dirname(each.filename) != HERE], None)
        self.result["judged"] = time.process_time() - began

    # ------------------------------------------------------------ selection

    def _folds(self) -> Any:
        """Scores are those of fits fold by fold, up to rows that tol leaves open."""
        from sklearn.base import clone, is_classifier
        from sklearn.model_selection import check_cv

        from adatron.selection import cross_validate

        case = self.case
        X = case.X.tocsr() if hasattr(case.X, "tocsr") else np.asarray(case.X)
        found = cross_validate(
            case.estimator, X, case.y, C=case.options["C"], cv=case.options["cv"], sample_weight=case.weight
        )
        if not np.isfinite(found.scores).all():
            self.judge.find("not finite", "scores of cross_validate")
        splits = check_cv(case.options["cv"], case.y, classifier=is_classifier(case.estimator)).split(X, case.y)
        for k, (train, test) in enumerate(splits):
            model = clone(case.estimator).set_params(C=case.options["C"][-1])
            weight = None if case.weight is None else case.weight[train]
            model.fit(X[train], case.y[train], sample_weight=weight)
            score = float(model.score(X[test], case.y[test]))
            allowed = 0.1 * max(1.0, abs(score))
            if not is_classifier(model) and model.tol > COARSE * np.std(case.y):
                continue  # tol leaves open what is learnt
            if is_classifier(model):
                values = model.set_params(decision_function_shape="ovo").decision_function(X[test])
                if values.ndim == 2 and model.multiclass == "ovr":
                    ranked = np.sort(values, axis=1)
                    values = ranked[:, -1] - ranked[:, -2]
                values = np.abs(values.reshape(len(test), -1)).min(axis=1)
                allowed = float((values < 0.05).mean()) + 1.5 / len(test)
            fold = Judge(replace(case, X=X[train], y=case.y[train], weight=weight))
            if abs(score - found.scores[0, -1, k]) > allowed and model.converged_ and not fold.leaves_bias_open(model):
                detail = f"fold {k}: cross_validate has {found.scores[0, -1, k]:.4f}, a fit of its own {score:.4f}"
                self.judge.find("folds", detail)
        self.result["status"] = "searched"
        self.judge.warnings(self.heard, None)
        return found

    def _path(self) -> Any:
        from adatron.selection import kernel_path

        case, e = self.case, self.case.estimator
        kernel = {"rbf": None}.get(e.kernel, _with_width(e.kernel))
        path = kernel_path(
            case.X,
            np.where(case.y == case.y.max(), 1.0, -1.0),
            C=e.C,
            loss=e.loss,
            bias=e.bias,
            tol=max(e.tol, 1e-4),
            kernel=kernel,
        )
        chosen = path.best
        sound = np.isfinite([chosen.bound, chosen.margin]).all() and min(chosen.bound, chosen.margin) > 0
        if not sound and not path.notes:
            self.judge.find("path", f"chose bound {chosen.bound:g}, margin {chosen.margin:g}")
        self.result["status"] = "searched"
        self.judge.warnings(self.heard, None)
        return path


def _with_width(name: str) -> Any:
    from adatron.kernels import resolve_kernel

    return resolve_kernel(name, gamma=1.0)


def _arrays(X: Any) -> list[Any]:
    return [X.data, X.indices, X.indptr] if hasattr(X, "indptr") else [np.asarray(X)]


def _bytes(X: Any) -> int:
    return sum(part.nbytes for part in _arrays(X))


def _digest(*inputs: Any) -> bytes:
    return b"".join(
        sha1(np.ascontiguousarray(part).tobytes() if part.dtype != object else b"").digest()
        for X in inputs
        for part in _arrays(X)
    )


def _raised_by_library(error: BaseException) -> bool:
    trace, files = error.__traceback__, []
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    return any(f"{os.sep}adatron{os.sep}" in file for file in files)


def _resident(*, reset: bool = False, peak: bool = False) -> float:
    """MB of memory in use, or at the most since the last reset; 0 where the system does not say."""
    try:
        if reset:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        name = "VmHWM:" if peak else "VmRSS:"
        with open("/proc/self/status") as file:
            return next(float(line.split()[1]) / 1e3 for line in file if line.startswith(name))
    except OSError:
        return 0.0


def run(number: int, tell: Any = lambda message: None) -> dict[str, Any]:
    """One case, in this process."""
    return Run(number, tell)()


def main() -> None:
    """Serve case after case; what the library prints goes to standard error."""
    faulthandler.enable()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with suppress(ValueError, OSError):  # not every system limits it
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def tell(message: dict[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    tell({"phase": "ready", "limit": 60.0})
    for line in sys.stdin:
        tell(run(int(line), tell))


if __name__ == "__main__":
    main()
