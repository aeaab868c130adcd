"""The study: ways to choose σ and C, on many sets, sizes and splits: ``python -m benchmarks.selection study``.

A figure is what one contender does on one split: its test error (of regression, 1 − R²) and its seconds. Figures are
written to a JSON file as soon as they are there, and what is in that file is not measured again: a study that was ended
goes on where it stopped.

A grid search that takes longer than the limit is ended: its seconds are a lower bound, and its choice is taken from
`cross_validate`, which tries the same grid on the same folds. Above `MOST_ROWS` training rows `cross_validate` is given
that many of them, and so every grid's choice there is one from that many rows.
"""

from __future__ import annotations

import json
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

from adatron import SVC, SVR
from adatron.selection import cross_validate
from benchmarks.selection_sets import HELD_OUT, REGRESSIONS, SETS, SIZES, Split, split

Figure = dict[str, Any]
C_GRID = np.geomspace(0.03, 3000, 10)
REGRESSION_C_GRID = np.geomspace(0.03, 300, 10)
WIDTHS = np.geomspace(0.01, 30, 10)  # times 1 / features
OURS = ("default", "span", "bound", "cross_validate")
GRIDS = ("scikit-learn", "intelex")
CONTENDERS = (*OURS, *GRIDS)
OF_REGRESSION = ("default", "cross_validate", *GRIDS)
MOST_ROWS = 10_000
TUNED_REGRESSIONS = ("abalone", "concrete", "diabetes")


class TimeUp(BaseException):
    """A limit has passed; no `Exception`, since a grid search would take that for a failed fit and go on."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeUp` in the main thread after so many seconds, or as soon as the fit that is running then has ended."""

    def ring(*_: Any) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def grid_of(X: np.ndarray, regression: bool) -> dict[str, Any]:
    """The 10 x 10 grid of all contenders."""
    return {"C": (REGRESSION_C_GRID if regression else C_GRID).tolist(), "gamma": (WIDTHS / X.shape[1]).tolist()}


def peer(name: str, regression: bool) -> Any:
    """Another library's estimator; ImportError if it is not installed."""
    if name == "scikit-learn":
        from sklearn import svm
    else:
        from sklearnex import svm
    return (svm.SVR if regression else svm.SVC)()


def measured(contender: str, data: Split, regression: bool, limit: float, chosen: Any) -> Figure:
    """Error and seconds of one contender; ``chosen`` gives what `cross_validate` has chosen on this split."""
    X, y, X_test, y_test = data
    kind = SVR if regression else SVC
    both = {"gamma": "adapt", "C": "adapt"}
    if contender in GRIDS:
        return _searched(contender, data, regression, limit, chosen)
    rows, params = len(y), {}
    SVC(**both).fit(*_few(X))  # modules are loaded, threads are there
    began = perf_counter()
    if contender == "cross_validate":
        rows = min(len(y), MOST_ROWS)
        params = cross_validate(kind(), X[:rows], y[:rows], **grid_of(X, regression)).best_params
        machine = kind(**params)
    elif contender == "default":
        machine = kind(**both)
    else:  # the bound is that of the squared hinge
        machine = SVC(**both, criterion=contender, loss="squared_hinge" if contender == "bound" else "hinge")
    machine.fit(X, y)
    seconds = perf_counter() - began
    error = 1 - machine.score(X_test, y_test)
    figure = {"error": error, "seconds": seconds, "gamma": machine.gamma_, "C": machine.C_, "chosen on": rows}
    if contender == "default":
        figure |= {"estimate": machine.path_.estimate, "chosen on": machine.path_.best.rows}
    return figure


def _few(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A small problem, for a fit before the clock starts."""
    return X[:40], np.arange(len(X[:40])) % 2


def _searched(contender: str, data: Split, regression: bool, limit: float, chosen: Any) -> Figure:
    """A grid search, or its lower bound."""
    X, y, X_test, y_test = data
    dtype = np.float32 if contender == "intelex" else np.float64
    search = GridSearchCV(peer(contender, regression), grid_of(X, regression), cv=5)
    given = X.astype(dtype)
    began = perf_counter()
    try:
        with time_limit(limit):
            search.fit(given, y)
    except TimeUp:
        known = chosen()
        return {"error": known["error"], "seconds": perf_counter() - began, "complete": False} | {
            name: known[name] for name in ("gamma", "C", "chosen on")
        }
    seconds = perf_counter() - began
    error = 1 - search.score(X_test.astype(dtype), y_test)
    return {"error": error, "seconds": seconds, "complete": True, "chosen on": len(y)} | search.best_params_


def tasks(names: list[str] | None, quick: bool) -> Iterator[tuple[str, Callable[[], Any], tuple[int, ...], bool]]:
    """Sets, where they come from, their sizes and whether they are regressions."""
    for regression, sets in ((False, SETS | HELD_OUT), (True, REGRESSIONS)):
        for name, source in sets.items():
            title = f"{name} (R²)" if regression else name
            if names is None or title in names or name in names:
                yield title, source, (120,) if quick else SIZES.get(name, (1000,)), regression


def study(
    to: Path,
    names: list[str] | None = None,
    contenders: tuple[str, ...] = CONTENDERS,
    splits: int = 5,
    limit: float = 900.0,
    quick: bool = False,
) -> list[Figure]:
    """All figures, from the file or measured now."""
    known: dict[str, Figure] = json.loads(to.read_text()) if to.exists() else {}
    wanted = []
    for name, source, sizes, regression in tasks(names, quick):
        try:
            whole = source()
        except FileNotFoundError as missing:
            print(f"{name}: {missing}")
            continue
        for size in sizes:
            for seed in range(10, 10 + splits):
                data = split(whole, size, seed)
                here = {"set": name, "rows": len(data[1]), "features": data[0].shape[1], "seed": seed}
                for contender in contenders if not regression else [c for c in contenders if c in OF_REGRESSION]:
                    key = f"{name} | {here['rows']} | {seed} | {contender}"
                    if key not in known:
                        figure = _figure(contender, data, regression, limit, known, key)
                        if figure is None:
                            continue
                        known[key] = here | {"contender": contender} | figure
                        _write(to, known)
                        print(f"{key}: {100 * figure['error']:.2f} in {figure['seconds']:.3g} s", flush=True)
                    wanted.append(known[key])
    return wanted


def _figure(
    contender: str, data: Split, regression: bool, limit: float, known: dict[str, Figure], key: str
) -> Figure | None:
    def chosen() -> Figure:
        before = key.rsplit(" | ", 1)[0] + " | cross_validate"
        return known.get(before) or measured("cross_validate", data, regression, limit, None)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return measured(contender, data, regression, limit, chosen)
        except ImportError as missing:
            print(f"{contender}: {missing}")
            return None


def _write(to: Path, known: dict[str, Figure]) -> None:
    """In one step: an end in the middle of it leaves the old file."""
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_suffix(".part")
    part.write_text(json.dumps(known, indent=1) + "\n")
    part.replace(to)


# ---------------------------------------------------------------- tables


def is_held_out(name: str) -> bool:
    """Whether a set took no part in any decision."""
    if name.endswith(" (R²)"):
        return name.removesuffix(" (R²)") not in TUNED_REGRESSIONS
    return name in HELD_OUT


def _mean(figures: list[Figure], contender: str) -> float:
    values = [f["error"] for f in figures if f["contender"] == contender]
    return float(np.mean(values)) if values else float("nan")


def _groups(figures: list[Figure]) -> dict[tuple[str, int], list[Figure]]:
    groups: dict[tuple[str, int], list[Figure]] = {}
    for figure in figures:
        groups.setdefault((figure["set"], figure["rows"]), []).append(figure)
    return groups


def summary(figures: list[Figure]) -> dict[str, Any]:
    """How far the default is from the grid, of all sets and of those held out, and how many times faster."""
    out: dict[str, Any] = {}
    present = {f["contender"] for f in figures}
    base = "scikit-learn" if "scikit-learn" in present else "cross_validate"
    for regression in (False, True):
        groups = {k: v for k, v in _groups(figures).items() if k[0].endswith(" (R²)") == regression}
        for title, kept in (("all", groups), ("held out", {k: v for k, v in groups.items() if is_held_out(k[0])})):
            for contender in sorted(present - {base, *GRIDS}):
                apart = {k: _mean(v, contender) - _mean(v, base) for k, v in kept.items()}
                apart = {k: v for k, v in apart.items() if np.isfinite(v)}
                if not apart:
                    continue
                worst = max(apart, key=lambda k: apart[k])
                unit = 1 if regression else 100
                name = f"{'1 - R², ' if regression else ''}{title}: {contender} from {base}"
                out[name] = {
                    "mean": unit * float(np.mean(list(apart.values()))),
                    "worst": f"{worst[0]} {worst[1]} rows {unit * apart[worst]:+.3f}",
                }
    for other in (*GRIDS, "cross_validate"):
        ratios = [r for group in _groups(figures).values() for r in [_times_faster(group, other)] if r is not None]
        if ratios:
            out[f"{other} over default, times"] = {"median": median(ratios), "least": min(ratios)}
    return out


def _times_faster(group: list[Figure], other: str) -> float | None:
    times = {c: [f["seconds"] for f in group if f["contender"] == c] for c in ("default", other)}
    return median(times[other]) / median(times["default"]) if all(times.values()) else None


def markdown(figures: list[Figure]) -> str:
    """One line for each set and size: errors in per cent (of regression R²), mean over splits, and median seconds."""
    present = [c for c in CONTENDERS if any(f["contender"] == c for f in figures)]
    timed = [c for c in ("default", "cross_validate", *GRIDS) if c in present]
    heads = ["set", "rows", "splits", *present, *(f"{c}, s" for c in timed)]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for (name, rows), group in _groups(figures).items():
        cells = [f"{name}{' *' if is_held_out(name) else ''}", f"{rows} x {group[0]['features']}"]
        cells.append(str(len({f["seed"] for f in group})))
        for contender in present:
            error = _mean(group, contender)
            shown = f"{1 - error:.3f}" if name.endswith(" (R²)") else f"{100 * error:.2f}"
            late = any(f["contender"] == contender and not f.get("complete", True) for f in group)
            cells.append("" if np.isnan(error) else shown + (" †" if late else ""))
        for contender in timed:
            here = [f for f in group if f["contender"] == contender]
            late = any(not f.get("complete", True) for f in here)
            cells.append(f"{'> ' if late else ''}{median(f['seconds'] for f in here):.3g}" if here else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", "\\* took no part in any decision. † ended by the limit: `cross_validate`'s choice."])
