"""Linear kernels beside LinearSVC and SVC(kernel="linear"): ``python -m benchmarks.linear``.

Two problems of the size at which linear models are used: sparse rows like those of a text (20,000 × 30,000, 590,000
values, word frequencies after Zipf) and dense standardised ones (100,000 × 100), each with a planted linear model and
noise, C = 1. Contenders alternate in one process, and medians of their times are shown.

The models are judged alike, from weights and intercept: gap = (primal − dual) / primal, where ``dual`` is the value of
adatron's solution to tol = 1e-6, which bounds every primal value from below. LinearSVC regularises the intercept, and
so does ``bias="augmented"``. It makes few epochs on the dense problem, where it converges within hours if at all.
``SVC(kernel="linear")`` fits a part of the rows, with an intercept that is not regularised, and adatron the same part.
Memory is what a fit in a fresh process adds to the peak that it had with the data.
"""

from __future__ import annotations

import argparse
import json
import resource
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from adatron import SVC, Gram, problems, solve
from adatron.kernels import Constant, Kernel, Linear

ROUNDS = 3
TOL = 2e-4
THEIR_TOL = 1e-3  # of LinearSVC, whose models then have about the same gap
PART = 5000  # rows of the comparison with SVC
EPOCHS = {"text": 1000, "dense": 100}  # of LinearSVC, which takes 0.06 s for each on the dense rows
LOSSES = ("hinge", "squared_hinge")


@dataclass(frozen=True)
class Figures:
    """What one contender took, and how good its model is."""

    seconds: float
    gap: float
    iterations: int


def text(rows: int = 20_000, features: int = 30_000, words: float = 33.3) -> tuple[Any, np.ndarray]:
    """Sparse rows of norm one: words after Zipf's law, weighted by tf-idf, and the sign of a noisy linear function."""
    random = np.random.default_rng(0)
    frequency = 1.0 / np.arange(1, features + 1)
    count = 1 + random.poisson(words, size=rows)
    word = random.choice(features, size=count.sum(), p=frequency / frequency.sum())
    place = np.repeat(np.arange(rows), count)
    X = sparse.csr_array((np.ones(len(word)), (place, word)), shape=(rows, features))
    X.sum_duplicates()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # LinearSVC takes no others
    documents = np.bincount(X.indices, minlength=features)
    X.data = (1 + np.log(X.data)) * np.log(1 + rows / (1 + documents))[X.indices]
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    value = X @ random.normal(size=features)
    noise = 0.5 * value.std() * random.normal(size=rows)
    return X, np.where(value + noise > 0.3 * value.std(), 1, -1)


def dense(rows: int = 100_000, features: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's make_classification, standardised, one label in twenty at random."""
    from sklearn.datasets import make_classification

    informative = features // 5
    X, y = make_classification(
        rows, features, n_informative=informative, n_redundant=informative // 2, flip_y=0.05, random_state=0
    )
    return np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0)), np.where(y == 1, 1, -1)


def primal(X: Any, y: np.ndarray, loss: str, weights: np.ndarray, intercept: float, augmented: bool) -> float:
    """½‖w‖² (+ ½ b²) + Σ loss, C = 1."""
    slack = np.maximum(0.0, 1 - y * (X @ weights + intercept))
    regulariser = weights @ weights + (intercept**2 if augmented else 0.0)
    return float(0.5 * regulariser + (slack if loss == "hinge" else slack**2).sum())


def bound(X: Any, y: np.ndarray, loss: str, augmented: bool) -> float:
    """A certified lower bound of the primal value."""
    kernel: Kernel = Linear() + Constant(1.0) if augmented else Linear()
    make = problems.hinge if loss == "hinge" else problems.squared_hinge
    problem = make(y.astype(float), 1.0, bias="augmented" if augmented else "exact")
    return float(solve(problem, Gram(kernel, X, dtype=np.float64), "linear", tol=1e-6).certificate.dual)


def ours(loss: str, bias: str) -> Callable[[], Any]:
    """adatron's estimator."""
    return lambda: SVC(kernel="linear", loss=loss, bias=bias, tol=TOL)


def measure(
    makers: dict[str, Callable[[], Any]], X: Any, y: np.ndarray, loss: str, rounds: int, *, augmented: bool
) -> dict[str, Figures]:
    """Fit in turn, ``rounds`` times over; the median of the times, and the gap of the last model."""
    least = bound(X, y, loss, augmented)
    seconds: dict[str, list[float]] = {name: [] for name in makers}
    models: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of LinearSVC that it has not converged
        for _ in range(rounds):
            for name, make in makers.items():
                began = perf_counter()
                models[name] = make().fit(X, y)
                seconds[name].append(perf_counter() - began)
    figures = {}
    for name, model in models.items():
        coef = model.coef_
        weights = np.asarray(coef.toarray() if sparse.issparse(coef) else coef).ravel()
        value = primal(X, y, loss, weights, float(np.ravel(model.intercept_)[0]), augmented)
        figures[name] = Figures(median(seconds[name]), (value - least) / value, int(np.max(model.n_iter_)))
    return figures


def memory(case: str, rows: int | None, loss: str) -> float:
    """Megabytes that a fit adds to the peak of this process."""
    X, y = load(case, rows)
    with suppress(OSError):  # making the data took more than they do: Linux forgets a peak when told so
        Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    ours(loss, "exact")().fit(X, y)
    return peak() - before


def peak() -> float:
    """Megabytes that this process has had at most."""
    with suppress(OSError):
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def load(case: str, rows: int | None) -> tuple[Any, np.ndarray]:
    """The data of a case, or a smaller form of it."""
    if case == "text":
        return text() if rows is None else text(rows, 2 * rows)
    return dense() if rows is None else dense(rows, 20)


def main(words: list[str] | None = None) -> dict[str, Any]:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 rows, one round")
    parser.add_argument("--only", choices=("text", "dense"), help="one of the two problems")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write every figure there")
    options = parser.parse_args(words)
    from sklearn import svm

    rows, rounds = (2000, 1) if options.quick else (None, ROUNDS)
    report: dict[str, Any] = {}
    for case in (options.only,) if options.only else ("text", "dense"):
        X, y = load(case, rows)
        report[case] = {
            "rows": X.shape[0],
            "features": X.shape[1],
            "values": int(X.nnz if sparse.issparse(X) else X.size),
        }
        for loss in LOSSES:
            settings = {"loss": loss, "tol": THEIR_TOL, "random_state": 0, "max_iter": EPOCHS[case]}
            makers: dict[str, Callable[[], Any]] = {
                "adatron": ours(loss, "augmented"),
                "LinearSVC": lambda settings=settings: svm.LinearSVC(dual=True, **settings),
            }
            if loss == "squared_hinge":
                makers["LinearSVC, primal"] = lambda settings=settings: svm.LinearSVC(dual=False, **settings)
            figures = measure(makers, X, y, loss, rounds, augmented=True)
            show(f"{case}, {loss}", figures)
            report[case][loss] = {name: asdict(each) for name, each in figures.items()}
            exact = measure({"adatron": ours(loss, "exact")}, X, y, loss, rounds, augmented=False)
            show(f"{case}, {loss}, exact bias", exact)
            report[case][f"{loss}, exact bias"] = {name: asdict(each) for name, each in exact.items()}
        part = slice(0, PART)
        makers = {
            "adatron": ours("hinge", "exact"),
            "SVC": lambda: svm.SVC(kernel="linear", tol=THEIR_TOL, cache_size=2000),
        }
        figures = measure(makers, X[part], y[part], "hinge", 1, augmented=False)
        show(f"{case}, hinge, {len(y[part]):,} rows", figures)
        report[case]["part"] = {name: asdict(each) for name, each in figures.items()}
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            report[case]["megabytes"] = pool.submit(memory, case, rows, "hinge").result()
        data = (X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes) / 1e6
        print(f"{case}: a fit adds {report[case]['megabytes']:.0f} MB to the peak; the data are {data:.0f} MB")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return report


def show(title: str, figures: dict[str, Figures]) -> None:
    """One line per contender."""
    base = figures["adatron"].seconds
    for name, each in figures.items():
        times = f"{each.seconds / base:7.2f} × adatron" if name != "adatron" else ""
        effort = f"{each.iterations:7} iterations"
        print(f"{title:34} {name:18} {each.seconds:8.3f} s  gap {each.gap:.1e} {effort} {times}", flush=True)


if __name__ == "__main__":
    main()
