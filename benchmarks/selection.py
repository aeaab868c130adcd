"""Choosing σ and C, beside a grid search: ``python -m benchmarks.selection``.

* **study**: test errors and times of `SVC(gamma="adapt", C="adapt")`, by default and by the span and bound criteria, of
  `cross_validate` on a 10 x 10 grid with 5 folds, and of GridSearchCV over the same grid with scikit-learn and with
  scikit-learn-intelex; see selection_study.py. It goes on where it was ended;
* **cost**: a fit that adapts σ, or σ and C, against a single fit at what it chose;
* **folds**: a 10 x 10 grid in 5 folds on 5,000 rows of covtype against one fit of scikit-learn-intelex in float32;
* **paths**: the papers' experiments with the kernel path, and their picture;
* **regression**: R² of SVR that adapts, against a grid;
* **machines**: many classes with one σ and C for all their machines, and with one for each.

Features are standardised with the training rows' mean and deviation. All figures go to benchmarks/results.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from adatron import SVC, SVR
from adatron.datasets import load
from adatron.plots import save_paths
from adatron.selection import cross_validate, kernel_path
from adatron.solvers import Adatron
from benchmarks import selection_study
from benchmarks.datasets import covtype
from benchmarks.selection_sets import MANY_CLASSES, REGRESSIONS, SETS, Split, pair, split
from benchmarks.selection_study import CONTENDERS, OURS, WIDTHS

RESULTS = Path(__file__).parent / "results"


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and the seconds it took."""
    began = perf_counter()
    result = work()
    return result, perf_counter() - began


def peers() -> dict[str, Any]:
    """SVC by library; those that are installed."""
    from sklearn import svm

    found: dict[str, Any] = {"scikit-learn": svm.SVC}
    try:
        from sklearnex import svm as extended
    except ImportError:
        return found
    return found | {"intelex": extended.SVC}


def cost(rows: int, repeats: int = 3) -> dict[str, Any]:
    """Seconds of a fit that adapts, over those of a single one at what it chose: the least of some."""
    out: dict[str, Any] = {}
    for name, source in SETS.items():
        try:
            X, y, *_ = split(source(), rows, 0)
        except FileNotFoundError:
            continue
        chosen = SVC(gamma="adapt", C="adapt").fit(X, y)
        width = SVC(gamma="adapt", C=chosen.C_).fit(X, y)

        def best(machine: SVC, X: np.ndarray = X, y: np.ndarray = y) -> float:
            return min(timed(lambda: machine.fit(X, y))[1] for _ in range(repeats))

        single, single_width = best(SVC(gamma=chosen.gamma_, C=chosen.C_)), best(SVC(gamma=width.gamma_, C=width.C_))
        out[name] = {
            "rows": len(y),
            "single": single,
            "sigma and C": best(SVC(gamma="adapt", C="adapt")) / single,
            "sigma": best(SVC(gamma="adapt", C=chosen.C_)) / single_width,
        }
        print(name, {k: round(v, 4) for k, v in out[name].items()}, flush=True)
    for what in ("sigma and C", "sigma"):
        print(f"median for {what}: {median(v[what] for v in out.values()):.2f} single fits")
    return out


def folds(rows: int = 5000, check: int = 6, repeats: int = 5) -> dict[str, Any]:
    """The grid on covtype, one fit of intelex beside it, and scores against fold-by-fold fits at some of its points."""
    X, y = (part[:rows] for part in covtype())
    grid_C, grid_gamma = np.geomspace(0.1, 1e4, 10), np.geomspace(0.01, 316, 10)
    out: dict[str, Any] = {"rows": len(y)}
    single = peers()["intelex"](C=10, gamma=3) if "intelex" in peers() else None
    X32 = X.astype(np.float32)
    singles, found = [], []
    for _ in range(repeats):  # in turn: the machine's pace changes from minute to minute
        if single is not None:
            singles += [timed(lambda: single.fit(X32, y))[1] for _ in range(6)]
        found.append(timed(lambda: cross_validate(SVC(), X, y, gamma=grid_gamma, C=grid_C)))
    ours = [seconds for _, seconds in found]
    out["seconds"], out["each"] = median(ours), ours
    out["largest violation"] = float(np.nanmax(found[0][0].violation))
    if singles:
        out["intelex fit"], out["intelex each"] = median(singles), singles
        out["ratio"], out["ratio of the least"] = median(ours) / median(singles), min(ours) / min(singles)
    apart, points = 0, []
    for g, c in np.random.default_rng(0).integers(0, 10, (check, 2)):
        machine = SVC(gamma=grid_gamma[g], C=grid_C[c])
        own = cross_val_score(machine, X, y, cv=StratifiedKFold(5))
        off = np.abs(own - found[0][0].scores[g, c]) * len(y) / 5
        apart = max(apart, round(float(off.max())))
        points.append({"gamma": float(grid_gamma[g]), "C": float(grid_C[c]), "rows apart": off.round().tolist()})
    out["points checked"], out["most rows apart"] = points, apart
    print({k: v for k, v in out.items() if not k.endswith(("checked", "each"))}, flush=True)
    return out


def regression(rows: int) -> list[dict[str, Any]]:
    """R² on test rows: SVR that adapts, that has gone through a grid, and as it comes."""
    records = []
    for name, source in REGRESSIONS.items():
        try:
            data = split(source(), rows, 0)
        except FileNotFoundError as missing:
            print(f"{name}: {missing}")
            continue
        records.append({"set": name, "rows": len(data[1])} | regressed(data))
        print(records[-1], flush=True)
    return records


def machines(rows: int, splits: int) -> list[dict[str, Any]]:
    """Test errors in per cent, one σ and C for all machines or for each, by pairs and against the rest."""
    pairs, rest = SVC(gamma="adapt", C="adapt"), SVC(gamma="adapt", C="adapt", multiclass="ovr")
    ways = {"pairs": pairs, "pairs, each": OneVsOneClassifier(pairs)}
    ways |= {"rest": rest, "rest, each": OneVsRestClassifier(pairs)}
    records = []
    for name, source in MANY_CLASSES.items():
        try:
            data = [split(source(), rows, seed) for seed in range(splits)]
        except FileNotFoundError as missing:
            print(f"{name}: {missing}")
            continue
        record: dict[str, Any] = {"set": name, "rows": len(data[0][1]), "classes": len(np.unique(data[0][1]))}
        for way, machine in ways.items():
            fits = [(timed(lambda m=machine, d=d: clone(m).fit(d[0], d[1])), d) for d in data]
            record[way] = float(np.mean([100 * (1 - fitted.score(d[2], d[3])) for (fitted, _), d in fits]))
            record[f"{way}, s"] = median(seconds for (_, seconds), _ in fits)
        records.append(record)
        print(record, flush=True)
    return records


def regressed(data: Split) -> dict[str, Any]:
    """Of every way to choose, R² and seconds."""
    X, y, X_test, y_test = data
    grid = {"C": np.geomspace(0.03, 300, 10), "gamma": WIDTHS / X.shape[1]}
    ways: dict[str, Callable[[], SVR]] = {
        "adapt": lambda: SVR(gamma="adapt", C="adapt").fit(X, y),
        "epsilon too": lambda: SVR(gamma="adapt", C="adapt", epsilon="adapt").fit(X, y),
        "cross_validate": lambda: SVR(**cross_validate(SVR(), X, y, **grid).best_params).fit(X, y),
        "default": lambda: SVR().fit(X, y),
    }
    out = {}
    for way, fit in ways.items():
        machine, seconds = timed(fit)
        out[way] = {"r2": machine.score(X_test, y_test), "seconds": seconds}
    return out


def paths(picture: Path | None) -> dict[str, Any]:
    """The papers' experiments: bound and test error as σ grows, and epochs of the path against those of single fits."""
    found: dict[str, Any] = {}
    sonar = load("sonar")
    train, test = (sonar.X_train, sonar.y_train), (sonar.X_test, sonar.y_test)
    found["sonar"] = kernel_path(*train, sigma=(0.1, 2.0), step=0.1, held_out=test, until_turned=False)
    X, y = pair("wbc")()
    half = np.random.default_rng(0).permutation(len(y)) < 0.7 * len(y)
    found["Wisconsin breast cancer"] = kernel_path(
        X[half], y[half], sigma=(0.5, 12.0), step=0.5, held_out=(X[~half], y[~half]), until_turned=False
    )
    usps = load("usps")
    for digit in (0, 3):
        train, test = (
            (part.astype(np.float64), np.where(digits == digit, 1.0, -1.0))
            for part, digits in ((usps.X_train, usps.y_train), (usps.X_test, usps.y_test))
        )
        found[f"USPS, {digit} against the rest"] = kernel_path(
            *train, sigma=(1.5, 14.0), factor=1.2, held_out=test, until_turned=False, refine=False
        )
    out: dict[str, Any] = {}
    for name, path in found.items():
        least = min(point.error for point in path)
        there = [point.sigma for point in path if point.error == least]
        out[name] = {
            "bound least at": path.best.sigma,
            "error there": path.best.error,
            "least error": least,
            "least error at": [min(there), max(there)],
            "seconds": path.seconds,
        }
        print(name, out[name], flush=True)
    out["epochs"] = epochs(sonar)
    print(out["epochs"])
    if picture is not None:
        save_paths(found, picture)
    return out


def epochs(sonar: Any) -> dict[str, Any]:
    """Of the Kernel-Adatron on sonar from σ = 0.1 by 0.1, to 1 and 2, and of single fits there; beside the paper's."""
    climb = {"solver": Adatron(initial=1.0), "tol": 0.1, "until_turned": False, "refine": False}
    along = kernel_path(sonar.X_train, sonar.y_train, sigma=(0.1, 2.0), step=0.1, **climb)
    total = np.cumsum(along["iterations"]).astype(int)
    single = [kernel_path(sonar.X_train, sonar.y_train, sigma=[s], **climb).iterations for s in (1.0, 2.0)]
    return {"path": [int(total[9]), int(total[19])], "single": single, "paper": [[186, 4895], [110, 2624]]}


def main(words: list[str] | None = None) -> None:
    """Run all parts, or those named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection", description=__doc__)
    parser.add_argument("parts", nargs="*", help="study, cost, folds, paths, regression, machines; all unless named")
    parser.add_argument("--picture", type=Path, help="where the papers' paths are drawn")
    parser.add_argument("--quick", action="store_true", help="few rows, no peers, nothing saved")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="of the study; all unless named")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS, metavar="NAME")
    parser.add_argument("--splits", type=int, default=5, help="of each set in the study")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds after which a grid search is ended")
    parser.add_argument("--json", type=Path, default=RESULTS / "selection-study.json", help="the study's figures")
    options = parser.parse_args(words)
    parts = options.parts or ["study", "cost", "folds", "paths", "regression", "machines"]
    quick = options.quick
    out: dict[str, Any] = {}
    if "study" in parts:
        contenders = tuple(c for c in options.contenders if not quick or c in OURS)
        with TemporaryDirectory() as nowhere:
            to = Path(nowhere) / "study.json" if quick else options.json
            splits = 1 if quick else options.splits
            figures = selection_study.study(to, options.sets, contenders, splits, options.limit, quick)
        print(selection_study.markdown(figures))
        print(json.dumps(selection_study.summary(figures), indent=1))
    if "cost" in parts:
        out["cost"] = cost(150 if quick else 10_000, 1 if quick else 3)
    if "folds" in parts:
        out["folds"] = folds(400, 1, 1) if quick else folds()
    if "paths" in parts and not quick:
        out["paths"] = paths(options.picture)
    if "regression" in parts:
        out["regression"] = regression(120 if quick else 1000)
    if "machines" in parts:
        out["machines"] = machines(90, 1) if quick else machines(1000, 4)
    if not quick and out:
        to = RESULTS / f"{datetime.now(UTC):%Y-%m-%d}-selection.json"
        known = json.loads(to.read_text()) if to.exists() else {}
        to.write_text(json.dumps(known | out, indent=1) + "\n")


if __name__ == "__main__":
    main()
