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
from time import perf_counter
from typing import Any

import numpy as np

from .__main__ import tell
from .datasets import PROBLEMS
from .machine import OtherLoad, machine, versions
from .objective import judge, largest_violation
from .report import number
from .run import Outcome, Settings, Task, compete
from .small_points import POINTS, Point, load
from .small_report import INTELEX, OURS, SKLEARN, TOL, compare, entry, figures, show
from .summary import Entry

MODULES = {OURS: "adatron", SKLEARN: "sklearn.svm", INTELEX: "sklearnex.svm"}
WORKERS = {OURS: "adatron", SKLEARN: "sklearn", INTELEX: "intelex-f32"}  # their names in benchmarks.contenders
FIRST, FIRST_QUICK = "synthetic-C1", "checkerboard"  # 10,000 x 50; of the latter 800 rows
QUICK = f"iris|50 rows|{FIRST_QUICK}"


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


def run(options: argparse.Namespace) -> Entry:
    """All points asked for."""
    chosen = options.only or re.compile(QUICK if options.quick else "")
    effort = Effort(turns=1, turn_seconds=1e-3, processes=1, fits=2) if options.quick else Effort()
    entries: list[Entry] = []

    def keep(found: Entry) -> None:
        entries.append(found)
        times = "  ".join(f"{name} {number(c['seconds'], '.6f')}" for name, c in found["contenders"].items())
        tell(f"{found['name']:40} {times}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for point in POINTS:
            if not chosen.search(point.name):
                continue
            try:
                keep(measure(point, effort))
            except FileNotFoundError as absent:
                tell(f"{point.name}: {absent}")
        for name in PROBLEMS if options.large else (FIRST_QUICK if options.quick else FIRST,):
            if chosen.search(f"first fit {name}"):
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


def pattern(text: str) -> re.Pattern[str]:
    """A regular expression from the command line."""
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None


def main(words: list[str] | None = None) -> None:
    """Measure, write, show."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", type=pattern, metavar="PATTERN", help="points whose name has this regular expression")
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
