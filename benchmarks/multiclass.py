"""Many classes, one against one: fits and predictions beside the peers', ``python -m benchmarks.multiclass``.

MNIST's 60,000 rows (gamma 0.02, C 10) and 20,000 rows of 26 classes in 16 features, like letters. Each contender fits
in a process of its own and predicts 10,000 rows; scikit-learn predicts with the machine that adatron has fitted (its
own fit takes many minutes), and some rows only, from which the time for all is told.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from math import prod
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from adatron.datasets import find

ROUNDS = 2
FEW = 500  # rows that scikit-learn predicts


@dataclass(frozen=True)
class Case:
    """Data and parameters."""

    name: str
    C: float
    gamma: float
    rows: int | None = None

    def load(self) -> tuple[np.ndarray, ...]:
        """Training rows and classes, test rows and classes."""
        if self.name == "mnist":
            data = find("mnist")
            parts = [
                data[f"X_{part}"].reshape(-1, 784).astype(np.float32) / np.float32(255) for part in ("train", "test")
            ]
            train, test = slice(None, self.rows), slice(None, self.rows)
            return parts[0][train], data["y_train"][train], parts[1][test], data["y_test"][test]
        from sklearn.datasets import make_classification

        count = self.rows or 20_000
        X, y = make_classification(
            2 * count,
            16,
            n_informative=16,
            n_redundant=0,
            n_classes=26,
            n_clusters_per_class=2,
            class_sep=2.0,
            random_state=0,
        )
        X = X.astype(np.float32)
        half = min(10_000, count)
        return X[:count], y[:count], X[count : count + half], y[count : count + half]


@dataclass(frozen=True)
class Figures:
    """What one contender took."""

    fit: float
    predict: float
    accuracy: float
    support: int


def contend(name: str, case: Case) -> Figures:
    """The best of some rounds."""
    X, y, X_test, y_test = case.load()
    options: dict[str, Any] = {"C": case.C, "gamma": case.gamma, "cache_size": 4000}
    if name == "scikit-learn-intelex":
        from sklearnex.svm import SVC
    else:
        from adatron import SVC
    fits, predictions = [], []
    for _ in range(ROUNDS if name != "scikit-learn" else 1):
        began = perf_counter()
        machine = SVC(**options).fit(X, y)
        fits.append(perf_counter() - began)
        began = perf_counter()
        guessed = machine.predict(X_test)
        predictions.append(perf_counter() - began)
    if name == "scikit-learn":
        rows = X_test[:FEW].astype(np.float64)
        original = as_original(machine)
        began = perf_counter()
        guessed = original.predict(rows)
        taken = (perf_counter() - began) * len(X_test) / len(rows)
        return Figures(float("nan"), taken, float(np.mean(guessed == y_test[:FEW])), len(machine.support_))
    return Figures(min(fits), min(predictions), float(np.mean(guessed == y_test)), len(machine.support_))


def as_original(machine: Any) -> Any:
    """scikit-learn's object with what ours has learned."""
    import sklearn.svm

    original = sklearn.svm.SVC(C=machine.C, gamma=machine.gamma)
    for name in ("support_", "dual_coef_", "intercept_", "classes_", "shape_fit_", "n_features_in_", "fit_status_"):
        setattr(original, name, getattr(machine, name))
    original.support_vectors_ = machine.support_vectors_.astype(np.float64)
    original._dual_coef_, original._intercept_ = machine.dual_coef_, machine.intercept_
    original._n_support, original._gamma, original._sparse = machine.n_support_, machine.gamma, False
    original._probA = original._probB = np.empty(0)
    return original


def main(words: list[str] | None = None) -> dict[str, Any]:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.multiclass", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 rows")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write every figure there")
    options = parser.parse_args(words)
    rows = 2000 if options.quick else None
    report: dict[str, Any] = {}
    ratios: dict[str, list[float]] = {"fit": [], "predict": []}
    for case in (Case("mnist", 10.0, 0.02, rows), Case("letters", 10.0, 0.05, rows)):
        figures: dict[str, Figures] = {}
        for name in ("adatron", "scikit-learn-intelex", "scikit-learn"):
            try:
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                    figures[name] = pool.submit(contend, name, case).result()
            except (ImportError, FileNotFoundError) as absent:
                print(f"{case.name:8} {name:22} {absent}")
                continue
            f, ours = figures[name], figures.get("adatron")
            line = f"{case.name:8} {name:22} fit {f.fit:8.2f} s  predict {f.predict:8.2f} s  accuracy {f.accuracy:.4f}"
            line += f"  {f.support} support vectors"
            if ours and name != "adatron":
                line += f"  ratios {f.fit / ours.fit:.2f} {f.predict / ours.predict:.2f}"
            print(line, flush=True)
        if {"adatron", "scikit-learn-intelex"} <= figures.keys():
            ours, theirs = figures["adatron"], figures["scikit-learn-intelex"]
            ratios["fit"].append(theirs.fit / ours.fit)
            ratios["predict"].append(theirs.predict / ours.predict)
        report[case.name] = {name: asdict(f) for name, f in figures.items()}
    for what, values in ratios.items():
        if values:
            print(f"scikit-learn-intelex / adatron, {what}: {prod(values) ** (1 / len(values)):.2f} geometric mean")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return report


if __name__ == "__main__":
    main()
