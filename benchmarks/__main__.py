"""Compare adatron with its peers: ``python -m benchmarks --quick``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from . import limit, report
from .contenders import CONTENDERS
from .datasets import PROBLEMS
from .machine import OtherLoad, machine, versions
from .run import Outcome, Settings, Task, compete
from .summary import Entry, compare, problem_entry, skipped_entry


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--only", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), metavar="PROBLEM")
    add("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), metavar="NAME")
    add("--reference", choices=CONTENDERS, default="adatron", metavar="NAME", help="of ratios")
    add("--quick", action="store_true", help="a tenth of the rows or fewer, one round")
    add("--threads", type=int, default=2)
    add("--repeat", type=int, help="rounds of two fits each, contenders alternating (default 2)")
    add("--limit", type=float, default=300.0, help="seconds after which a fit is stopped")
    add("--cache", type=int, default=4096, metavar="MB", help="kernel cache of each contender")
    add("--tol", type=float, default=1e-3)
    add("--json", type=Path, metavar="PATH", help="write every figure there")
    return parser.parse_args(words)


def run(options: argparse.Namespace) -> Entry:
    """All problems, one after the other."""
    settings = Settings(
        tol=options.tol,
        threads=options.threads,
        cache_mb=options.cache,
        limit=options.limit,
        repeat=options.repeat or (1 if options.quick else Settings.repeat),
        quick=options.quick,
    )
    others = OtherLoad()
    rates = limit.measure(settings.threads)
    measured = {"sgemm_gflops": rates.flops / 1e9, "write_gb": rates.bytes / 1e9}
    measured["disturbance"] = others.cores()
    entries: dict[str, Entry] = {}
    absent: dict[str, Outcome] = {}
    for names in [options.only] if settings.quick else [[name] for name in options.only]:
        tasks = list(load(names, settings.quick, entries))
        present = [name for name in options.contenders if name not in absent]
        outcomes = compete(tasks, present, settings, tell)
        for task in tasks:
            found = outcomes[task.problem.name]
            absent |= {name: outcome for name, outcome in found.items() if not outcome.importable}
            ordered = {name: found.get(name, absent.get(name)) for name in options.contenders}
            entries[task.problem.name] = problem_entry(task, ordered, settings, rates, options.reference)
    ordered_entries = [entries[name] for name in options.only]
    return {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "settings": asdict(settings),
        "rates": measured,
        "problems": ordered_entries,
        "comparison": compare(ordered_entries, options.reference),
    }


def load(names: list[str], quick: bool, entries: dict[str, Entry]) -> Iterator[Task]:
    """The problems whose data is here; for the others an entry that says why not."""
    for name in names:
        try:
            yield Task(PROBLEMS[name], *PROBLEMS[name].load(quick))
        except FileNotFoundError as error:
            entries[name] = skipped_entry(name, str(error))


def tell(line: str) -> None:
    """Progress, away from the table."""
    print(line, file=sys.stderr, flush=True)


def main(words: list[str] | None = None) -> None:
    """Run, write, show."""
    options = arguments(words)
    result = run(options)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2, allow_nan=False) + "\n")
    report.show(result)


if __name__ == "__main__":
    main()
