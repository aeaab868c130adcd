"""Choosing σ and C, beside a grid search: ``python -m benchmarks.selection``.

* **study**: test errors and times, on splits that nothing was tuned on, of `SVC(gamma="adapt", C="adapt")` by every
  criterion, of scikit-learn's GridSearchCV (10 x 10, 5 folds) over its own SVC and over scikit-learn-intelex, and of
  `cross_validate` on the same grid;
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
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from adatron import SVC, SVR
from adatron.datasets import find, load
from adatron.plots import save_paths
from adatron.selection import cross_validate, kernel_path
from adatron.solvers import Adatron
from benchmarks.datasets import covtype

Data = tuple[np.ndarray, np.ndarray]
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
C_GRID = np.geomspace(0.03, 3000, 10)
WIDTHS = np.geomspace(0.01, 30, 10)  # times 1 / features
CRITERIA = ("span", "bound", "xi-alpha", "cv")
TEST_ROWS = 3000
SMALL_SET, MORE_SPLITS = 800, 8


def pair(name: str, positive: Any = None) -> Callable[[], Data]:
    """A stored set of two classes, or one class against the rest."""

    def loaded() -> Data:
        data = find(name)
        if "X_train" in data.files:
            X, y = data["X_train"], data["y_train"]
        else:
            X, y = data["X"], data["y"]
        known = ~np.isnan(np.asarray(X, dtype=np.float64)).reshape(len(y), -1).any(axis=1)
        X, y = np.asarray(X, dtype=np.float64).reshape(len(y), -1)[known], y[known]
        return X, np.where(y == positive, 1, -1) if positive is not None else np.where(y > 0, 1, -1)

    return loaded


def a9a() -> Data:
    """Census, made dense."""
    from scipy.sparse import csr_array

    data = find("a9a")
    parts = (data["train_data"], data["train_indices"], data["train_indptr"])
    X = csr_array(parts, shape=tuple(data["train_shape"]))[:15_000]
    return X.toarray().astype(np.float64), np.where(data["y_train"][:15_000] > 0, 1, -1)


def cancer() -> Data:
    """Wisconsin diagnostic, with scikit-learn."""
    X, y = load_breast_cancer(return_X_y=True)
    return X, np.where(y == 1, 1, -1)


def digits() -> Data:
    """Even against odd digits, 8 x 8."""
    X, y = load_digits(return_X_y=True)
    return X, np.where(y % 2 == 0, 1, -1)


SETS: dict[str, Callable[[], Data]] = {
    "pima": pair("pima"),
    "ionosphere": pair("ionosphere"),
    "sonar": pair("sonar"),
    "wbc": pair("wbc"),
    "splice": pair("splice"),
    "svmguide1": pair("svmguide1"),
    "usps 8": pair("usps", 8),
    "covtype": covtype,
    "a9a": a9a,
    "ijcnn1": pair("ijcnn1"),
    "cancer": cancer,
    "digits": digits,
}


def digits_of_mail() -> Data:
    """USPS, ten classes."""
    data = find("usps")
    return np.asarray(data["X_train"], dtype=np.float64).reshape(len(data["y_train"]), -1), data["y_train"]


def trees() -> Data:
    """Forest cover, seven classes: 20,000 rows of subset100k."""
    data = find("covtype")
    return covtype()[0], data["y"][data["subset100k"][:20_000]]


MANY_CLASSES: dict[str, Callable[[], Data]] = {
    "wine": lambda: load_wine(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "usps": digits_of_mail,
    "covtype": trees,
}


def stored_regression(name: str) -> Callable[[], Data]:
    """A stored set with real targets, standardised; categories are left out."""

    def loaded() -> Data:
        data = find(name)
        y = np.asarray(data["y"], dtype=np.float64)
        return np.asarray(data["X"], dtype=np.float64), (y - y.mean()) / y.std()

    return loaded


def diabetes() -> Data:
    """Of scikit-learn, targets standardised."""
    X, y = load_diabetes(return_X_y=True)
    return X, (y - y.mean()) / y.std()


REGRESSIONS: dict[str, Callable[[], Data]] = {
    "concrete": stored_regression("concrete"),
    "abalone": stored_regression("abalone"),
    "cpusmall": stored_regression("cpusmall"),
    "california": stored_regression("california"),
    "diabetes": diabetes,
}


def split(data: Data, rows: int, seed: int) -> Split:
    """Training rows, at most so many and 60 % of all, and others to test on."""
    X, y = data
    order = np.random.default_rng(seed).permutation(len(y))
    count = min(rows, int(0.6 * len(y)))
    train, test = order[:count], order[count : count + TEST_ROWS]
    mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
    scaled = [(X[part] - mean) / np.where(deviation > 0, deviation, 1) for part in (train, test)]
    return scaled[0], y[train], scaled[1], y[test]


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


def study(rows: int, first: int, with_peers: bool) -> list[dict[str, Any]]:
    """A record a set and split: two splits, and more of sets so small that chance would decide."""
    records = []
    for name, source in SETS.items():
        try:
            whole = source()
        except FileNotFoundError as missing:
            print(f"{name}: {missing}")
            continue
        splits = 1 if not with_peers else MORE_SPLITS if len(whole[1]) < SMALL_SET else 2
        for seed in range(first, first + splits):
            data = split(whole, rows, seed)
            record = {"set": name, "seed": seed, "rows": len(data[1]), "features": data[0].shape[1]}
            allowed = () if not with_peers else ("scikit-learn", "intelex") if seed < first + 2 else ("scikit-learn",)
            records.append(record | compared(data, allowed))
            shown = {k: f"{100 * v['error']:.2f}" for k, v in records[-1].items() if isinstance(v, dict)}
            times = {k: f"{v['seconds']:.3g}" for k, v in records[-1].items() if isinstance(v, dict)}
            print(name, seed, record["rows"], shown, times, flush=True)
    return records


def compared(data: Split, allowed: tuple[str, ...]) -> dict[str, Any]:
    """Test error and seconds of every way to choose."""
    X, y, X_test, y_test = data
    grid = {"C": C_GRID.tolist(), "gamma": (WIDTHS / X.shape[1]).tolist()}
    out: dict[str, Any] = {}

    def take(name: str, fit: Callable[[], Any], dtype: Any = np.float64) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine, seconds = timed(fit)
        out[name] = {"error": 1 - machine.score(X_test.astype(dtype), y_test), "seconds": seconds}

    def exhaustive() -> SVC:
        return SVC(**cross_validate(SVC(), X, y, gamma=grid["gamma"], C=C_GRID).best_params).fit(X, y)

    SVC(gamma="adapt", C="adapt").fit(X, y)  # memory is touched, modules are loaded
    for criterion in CRITERIA:
        loss = "squared_hinge" if criterion == "bound" else "hinge"  # the bound is that loss's
        machine = SVC(gamma="adapt", C="adapt", criterion=criterion, loss=loss)
        take(criterion, lambda m=machine: m.fit(X, y))
    take("cross_validate", exhaustive)
    take("default", lambda: SVC().fit(X, y))
    for peer, make in ((peer, make) for peer, make in peers().items() if peer in allowed):
        dtype = np.float32 if peer == "intelex" else np.float64
        take(peer, lambda m=make, d=dtype: GridSearchCV(m(), grid, cv=5).fit(X.astype(d), y), dtype)
    return out


def summary(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the sets, distances from the grid search, and how many times faster."""
    base = next((p for p in ("scikit-learn", "intelex", "cross_validate") if p in records[0]), "cross_validate")
    names = [k for k, v in records[0].items() if isinstance(v, dict)]
    out: dict[str, Any] = {"grid": base}
    for name in names:
        errors = _by_set(records, name)
        grid = _by_set([r for r in records if name in r], base)
        apart = {s: 100 * (errors[s] - grid[s]) for s in errors}
        worst = max(apart, key=lambda s: apart[s])
        out[name] = {
            "mean error": 100 * float(np.mean(list(errors.values()))),
            "from grid": float(np.mean(list(apart.values()))),
            "worst": f"{worst} {apart[worst]:+.2f}",
        }
    for peer in ("scikit-learn", "intelex"):
        if peer in names:
            timed_too = [r for r in records if peer in r]
            ratios = [r[peer]["seconds"] / r["span"]["seconds"] for r in timed_too]
            total = sum(r[peer]["seconds"] for r in timed_too) / sum(r["span"]["seconds"] for r in timed_too)
            out[f"{peer} over span"] = {"median": median(ratios), "least": min(ratios), "of totals": total}
    return out


def markdown(records: list[dict[str, Any]]) -> str:
    """The study as a table: errors in per cent, mean over splits, and seconds."""
    ways = ("default", "scikit-learn", "cross_validate", *CRITERIA)
    lines = ["| set | rows | splits | " + " | ".join(ways) + " | span, s | grid, s |", "|---" * (len(ways) + 5) + "|"]
    rows = []
    for name in dict.fromkeys(r["set"] for r in records):
        here = [r for r in records if r["set"] == name]
        errors = [100 * float(np.mean([r[way]["error"] for r in here])) for way in ways]
        times = [median(r[way]["seconds"] for r in here) for way in ("span", "scikit-learn")]
        rows.append(errors)
        cells = [*(f"{e:.2f}" for e in errors), f"{times[0]:.3f}", f"{times[1]:.1f}"]
        lines.append(
            f"| {name} | {here[0]['rows']} x {here[0]['features']} | {len(here)} | " + " | ".join(cells) + " |"
        )
    mean = " | ".join(f"**{e:.2f}**" for e in np.mean(rows, axis=0))
    return "\n".join([*lines, f"| **mean** | | | {mean} | | |"])


def _by_set(records: list[dict[str, Any]], name: str) -> dict[str, float]:
    sets: dict[str, list[float]] = {}
    for record in (r for r in records if name in r):
        sets.setdefault(record["set"], []).append(record[name]["error"])
    return {s: float(np.mean(v)) for s, v in sets.items()}


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
    parser.add_argument("--rows", type=int, default=1000, help="of the study")
    options = parser.parse_args(words)
    parts = options.parts or ["study", "cost", "folds", "paths", "regression", "machines"]
    quick = options.quick
    out: dict[str, Any] = {}
    if "study" in parts:
        out["study"] = study(120 if quick else options.rows, 10, with_peers=not quick)
        out["summary"] = summary(out["study"])
        print(json.dumps(out["summary"], indent=1))
        if not quick:
            print(markdown(out["study"]))
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
    if not quick:
        to = Path(__file__).parent / "results" / f"{datetime.now(UTC):%Y-%m-%d}-selection.json"
        known = json.loads(to.read_text()) if to.exists() else {}
        to.write_text(json.dumps(known | out, indent=1) + "\n")


if __name__ == "__main__":
    main()
