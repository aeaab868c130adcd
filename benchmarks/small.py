"""Small fits, predictions and searches beside scikit-learn's and intelex's: ``python -m benchmarks.small``.

The contenders take turns in one process, after one call each that is not timed; the median of all calls counts. Each
is called at least five times and for 0.3 s, unless that takes more than ten seconds. First fits, and the later ones
beside them, are made in processes of their own (`benchmarks.run`), in float32 with two threads. Every model is judged
off the clock: its KKT violation from its coefficients alone, and of classifiers the share of rows that are predicted
as by scikit-learn. The points are in `benchmarks.small_points`.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from importlib import import_module
from math import inf
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from .__main__ import tell
from .datasets import PROBLEMS
from .machine import DISTURBED, OtherLoad, machine, versions
from .objective import SLACK, judge, largest_violation
from .report import number, table
from .run import Outcome, Settings, Task, compete
from .small_points import POINTS, Point, load
from .summary import Entry, finite, geometric_mean

OURS, SKLEARN, INTELEX = "adatron", "scikit-learn", "intelex"
MODULES = {OURS: "adatron", SKLEARN: "sklearn.svm", INTELEX: "sklearnex.svm"}
WORKERS = {OURS: "adatron", SKLEARN: "sklearn", INTELEX: "intelex-f32"}  # their names in benchmarks.contenders
PEERS = (SKLEARN, INTELEX)
FEWEST_ROWS = 500  # of the points that means are over
TOL = 1e-3  # every estimator's default
FIRST, FIRST_QUICK = "synthetic-C1", "checkerboard"  # 10,000 x 50; of the latter 800 rows
QUICK = f"iris|50 rows|{FIRST_QUICK}"
NOTES = f"""medians in milliseconds; / name: that contender's time divided by adatron's
KKT: largest violation of {OURS}, {SKLEARN}, {INTELEX};  agree: least share of rows predicted as by {SKLEARN}
! KKT violation over {SLACK} tol, so not equal accuracy;  ~ other processes kept more than a tenth of a core busy"""


@dataclass(frozen=True)
class Effort:
    """How often calls are repeated."""

    turns: int = 5
    turn_seconds: float = 0.06
    patience: float = 10.0
    processes: int = 3
    fits: int = 4


@dataclass
class Calls:
    """One contender's calls at one point."""

    call: Callable[[], Any]
    result: Any = None
    seconds: list[float] = field(default_factory=list)
    spent: float = 0.0

    def once(self) -> float:
        """Call, keep the result and return the time."""
        begin = perf_counter()
        self.result = self.call()
        return perf_counter() - begin

    def add(self, seconds: float) -> None:
        """Count a call."""
        self.seconds.append(seconds)
        self.spent += seconds

    def warm_up(self, effort: Effort) -> None:
        """Call once, untimed unless that has used up the patience."""
        if (taken := self.once()) > effort.patience:
            self.add(taken)

    def take_turn(self, effort: Effort) -> None:
        """Call until the turn's time is over, or the patience."""
        end = min(self.spent + effort.turn_seconds, effort.patience)
        while self.spent < end:
            self.add(self.once())


def measure(point: Point, effort: Effort) -> Entry:
    """All contenders at one point."""
    X, y = load(point.data)
    load_of_others = OtherLoad()
    entries: dict[str, Entry] = {}
    contenders: dict[str, Calls] = {}
    for name in MODULES:
        try:
            calls = Calls(point.prepare(estimator(name, point, X, y), X, y))
            calls.warm_up(effort)
        except (ImportError, RuntimeError, ValueError) as error:
            entries[name] = figures([], failed=str(error))
            continue
        contenders[name] = calls
    for _ in range(effort.turns):
        for calls in contenders.values():
            calls.take_turn(effort)
    disturbance = load_of_others.cores()
    classes = 0 if point.estimator in ("SVR", "OneClassSVM") else len(np.unique(y))
    answers = {name: answer(point, calls.result, X) for name, calls in contenders.items()}
    for name, calls in contenders.items():
        violation = largest_violation(calls.result, X, y) if point.kind == "fit" else None
        agreement = None
        if classes and SKLEARN in answers:
            agreement = float(np.mean(answers[name] == answers[SKLEARN]))
        entries[name] = figures(calls.seconds, violation, agreement)
    return entry(point.name, point.kind, X.shape, classes, entries, disturbance)


def estimator(contender: str, point: Point, X: Any, y: np.ndarray) -> Any:
    """The contender's class; ImportError where it has none, RuntimeError where it would hand over to scikit-learn."""
    try:
        found = getattr(import_module(MODULES[contender]), point.estimator)
    except AttributeError:
        raise ImportError(f"no {point.estimator}") from None
    if contender == INTELEX and not hasattr(found(**point.options).fit(X, y), "_onedal_estimator"):
        raise RuntimeError(f"falls back to {SKLEARN}")
    return found


def answer(point: Point, result: Any, X: Any) -> np.ndarray:
    """The predictions of a call's result."""
    return result if point.kind == "predict" else result.predict(X)


def measure_first(name: str, effort: Effort, quick: bool) -> Iterator[Entry]:
    """The first fits in fresh processes, then the later ones in the same processes."""
    try:
        task = Task(PROBLEMS[name], *PROBLEMS[name].load(quick))
    except FileNotFoundError as absent:
        tell(f"{name}: {absent}")
        return
    settings = Settings(tol=TOL, repeat=1, fits=effort.fits, limit=3 * effort.patience, quick=quick)
    outcomes: dict[str, list[Outcome]] = {worker: [] for worker in WORKERS.values()}
    for _ in range(effort.processes):
        running = [worker for worker, past in outcomes.items() if not past or is_quick(past[-1], effort)]
        for worker, outcome in compete([task], running, settings, tell)[name].items():
            outcomes[worker].append(outcome)
    disturbance = max(outcome.disturbance for past in outcomes.values() for outcome in past)
    violations = {worker: judged(task, past[-1], settings) for worker, past in outcomes.items()}
    for kind, which in (("first fit", slice(1)), ("later fit", slice(1, None))):
        entries = {}
        for contender, worker in WORKERS.items():
            seconds = [taken for outcome in outcomes[worker] for taken in outcome.seconds[which]]
            entries[contender] = figures(seconds, violations[worker], failed=failure(outcomes[worker][-1]))
        yield entry(f"{kind} {name}", kind, task.X.shape, 2, entries, disturbance)


def is_quick(outcome: Outcome, effort: Effort) -> bool:
    """Whether a worker is worth another process."""
    return min(outcome.seconds, default=inf) < effort.patience


def judged(task: Task, outcome: Outcome, settings: Settings) -> float | None:
    """The KKT violation of a worker's answer."""
    return None if outcome.beta is None else judge(task, outcome.beta, settings.threads).kkt_violation


def failure(outcome: Outcome) -> str | None:
    """Why a worker has no time, if so."""
    return outcome.reason or (None if outcome.seconds else str(outcome))


def figures(
    seconds: list[float], violation: float | None = None, agreement: float | None = None, failed: str | None = None
) -> Entry:
    """One contender's figures at one point."""
    return {
        "seconds": median(seconds) if seconds else None,
        "least_seconds": min(seconds, default=None),
        "calls": len(seconds),
        "kkt_violation": None if violation is None else finite(violation),
        "accurate": None if violation is None else bool(violation <= SLACK * TOL),
        "agreement": agreement,
        "failed": failed,
    }


def entry(
    name: str, kind: str, shape: tuple[int, int], classes: int, contenders: dict[str, Entry], disturbance: float
) -> Entry:
    """One point, with each contender's time divided by ours."""
    ours = contenders[OURS]["seconds"]
    for found in contenders.values():
        found["ratio"] = found["seconds"] / ours if found["seconds"] and ours else None
    size = {"rows": shape[0], "features": shape[1], "classes": classes}
    ordered = {contender: contenders[contender] for contender in MODULES}
    return {"name": name, "kind": kind} | size | {"disturbance": disturbance, "contenders": ordered}


def compare(entries: list[Entry]) -> Entry:
    """For each peer: mean ratios of each kind and of all from `FEWEST_ROWS` rows on, and where ours is slower."""
    comparison: Entry = {}
    for peer in PEERS:
        known = [(e, e["contenders"][peer]["ratio"]) for e in entries if e["contenders"][peer]["ratio"]]
        large = [(e["kind"], ratio) for e, ratio in known if e["rows"] >= FEWEST_ROWS]
        ratios: dict[str, list[float]] = {"all": [ratio for _, ratio in large]}
        for kind, ratio in large:
            ratios.setdefault(kind, []).append(ratio)
        ordered = sorted(known, key=lambda pair: pair[1])
        comparison[peer] = {
            "points": len(known),
            "points_of_large": len(large),
            "means": {kind: geometric_mean(found) for kind, found in ratios.items()},
            "slower_on": {e["name"]: ratio for e, ratio in ordered if ratio < 1},
            "slower_on_large": sum(ratio < 1 for _, ratio in large),
            "worst": [ordered[0][0]["name"], ordered[0][1]] if ordered else None,
        }
    return comparison


def show(run: Entry) -> None:
    """Print the table, then the means."""
    head = ["point", "rows x features, classes", *MODULES, *(f"/ {peer}" for peer in PEERS), "KKT", "agree", ""]
    table(head, [row(e) for e in run["points"]])
    print(f"\n{NOTES}")
    for peer, found in run["comparison"].items():
        if not found["points"]:
            continue
        means = ", ".join(f"{kind} {number(mean, '.2f')}" for kind, mean in found["means"].items())
        point, ratio = found["worst"]
        print(
            f"\n{peer} / {OURS}, geometric mean over {found['points_of_large']} points of at least {FEWEST_ROWS} rows:"
            f" {means}\n{OURS} slower at {len(found['slower_on'])} of {found['points']} points,"
            f" {found['slower_on_large']} of them of at least {FEWEST_ROWS} rows; worst ratio {ratio:.2f}, {point}"
        )


def row(e: Entry) -> list[str]:
    """One point as text."""
    found = list(e["contenders"].values())
    disturbed = "~" if e["disturbance"] > DISTURBED else ""
    size = f"{e['rows']:,} x {e['features']:,}" + (f", {e['classes']}" if e["classes"] else "")
    agreements = [c["agreement"] for c in found if c["agreement"] is not None]
    return [
        e["name"],
        size,
        *(number(c["seconds"] and 1e3 * c["seconds"], ",.3f") for c in found),
        *(number(e["contenders"][peer]["ratio"], ".2f") for peer in PEERS),
        " ".join(number(c["kkt_violation"], ".0e") + ("!" if c["accurate"] is False else "") for c in found),
        number(min(agreements, default=None), ".4f"),
        disturbed + " ".join(f"{name} {c['failed']}" for name, c in e["contenders"].items() if c["failed"]),
    ]


def run(options: argparse.Namespace) -> Entry:
    """All points asked for."""
    pattern = re.compile(options.only or (QUICK if options.quick else ""))
    effort = Effort(turns=1, turn_seconds=1e-3, processes=1, fits=2) if options.quick else Effort()
    entries: list[Entry] = []

    def keep(found: Entry) -> None:
        entries.append(found)
        times = "  ".join(f"{name} {number(c['seconds'], '.6f')}" for name, c in found["contenders"].items())
        tell(f"{found['name']:40} {times}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for point in POINTS:
            if not pattern.search(point.name):
                continue
            try:
                keep(measure(point, effort))
            except FileNotFoundError as absent:
                tell(f"{point.name}: {absent}")
        for name in PROBLEMS if options.large else (FIRST_QUICK if options.quick else FIRST,):
            if pattern.search(f"first fit {name}"):
                for found in measure_first(name, effort, options.quick):
                    keep(found)
    return {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "settings": asdict(effort),
        "points": entries,
        "comparison": compare(entries),
    }


def main(words: list[str] | None = None) -> None:
    """Measure, write, show."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", metavar="PATTERN", help="points whose name has this regular expression")
    add("--quick", action="store_true", help="a few points, seconds in all")
    add("--large", action="store_true", help="first fits of all problems of `python -m benchmarks`, minutes more")
    add("--json", type=Path, metavar="FILE", help="write every figure there; a full run also writes to results")
    options = parser.parse_args(words)
    result = run(options)
    paths = [options.json] if options.json else []
    if not (options.quick or options.only):
        paths.append(Path(__file__).parent / "results" / f"{result['date'][:10]}-small.json")
    for path in paths:
        path.write_text(json.dumps(result, indent=1, allow_nan=False) + "\n")
    show(result)


if __name__ == "__main__":
    main()
