"""Random fits over everything the library offers, each judged from outside.

``make fuzz`` runs for two minutes; ``make fuzz ARGS="--cases 20000 --seed 7 --jobs 2"`` so many cases;
``make fuzz ARGS="--case 7000123"`` one case again, with all there is to say about it.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any

from .pool import ONE_THREAD, campaign

APART = 1_000_000  # between the numbers of two seeds' first cases
SHOWN = 3  # findings of a kind


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.split("\n")[0] if __doc__ else None)
    add = parser.add_argument
    add("--cases", type=int, help="how many (default: as many as there is time for)")
    add("--seconds", type=float, help="how long (default: 120, without --cases)")
    add("--seed", type=int, help="of the campaign: its cases are seed * 1000000 and on (default: a new one)")
    add("--jobs", type=int, default=2, help="worker processes (default 2)")
    add("--case", type=int, metavar="NUMBER", help="run this case alone, in this process")
    add("--most", type=float, default=1e9, help="seconds of CPU after which any fit is killed (default: its own limit)")
    add("--json", type=Path, metavar="FILE", help="write every result there, one line each")
    return parser.parse_args(words)


def one(number: int) -> int:
    """A case again, and all about it."""
    os.environ.update(ONE_THREAD)  # as in a campaign, before NumPy is loaded
    from .worker import run

    result = run(number)
    for name, value in result.items():
        if name != "findings":
            print(f"{name:9} {value}")
    for finding in result["findings"]:
        print(f"FINDING   {finding['kind']}: {finding['detail']}")
    return int(bool(result["findings"]))


class Summary:
    """What a campaign has seen."""

    def __init__(self) -> None:
        self.cases = self.large = 0
        self.outcomes: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.findings: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        self.cpu: list[float] = []

    def add(self, result: dict[str, Any]) -> None:
        """One more case."""
        self.cases += 1
        self.large += result["rows"] > 1000
        self.outcomes[result["outcome"]] += 1
        if "refusal" in result:
            self.refusals[result["refusal"]] += 1
        if "status" in result:
            self.statuses[result["status"]] += 1
        if "cpu" in result:
            self.cpu.append(result["cpu"])
        for finding in result["findings"]:
            self.findings[finding["kind"]].append((result["number"], finding["detail"], result["about"]))

    def __str__(self) -> str:
        lines = [f"{self.cases} cases, {self.large} of them above 1,000 rows: {_listed(self.outcomes)}"]
        lines += [f"refused: {_listed(self.refusals)}"] if self.refusals else []
        lines += [f"statuses: {_listed(self.statuses)}"] if self.statuses else []
        if self.cpu:
            lines.append(f"CPU seconds of a fit: median {median(self.cpu):.3f}, largest {max(self.cpu):.2f}")
        for kind, found in sorted(self.findings.items(), key=lambda item: -len(item[1])):
            lines.append(f"\nFOUND {len(found)} × {kind}")
            for number, detail, about in sorted(found)[:SHOWN]:
                lines.append(f"  case {number}: {detail}\n    {about}")
            if len(found) > SHOWN:
                lines.append(f"  and {', '.join(str(number) for number, *_ in sorted(found)[SHOWN : SHOWN + 20])}")
        total = len({number for found in self.findings.values() for number, *_ in found})
        lines.append(f"\n{total} cases with findings." if total else "\nNothing found.")
        return "\n".join(lines)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.most_common()) or "none"


def main(words: list[str] | None = None) -> int:
    """Run a campaign; 1 if anything was found."""
    options = arguments(words)
    if options.case is not None:
        return one(options.case)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # on which workers are ended too
    seed = secrets.randbelow(1000) if options.seed is None else options.seed
    seconds = options.seconds or (None if options.cases else 120.0)
    print(f"seed {seed}: cases from {seed * APART} on, {options.jobs} workers", flush=True)
    numbers = islice(count(seed * APART), options.cases)
    began = last = time.monotonic()
    summary = Summary()

    def in_time() -> bool:
        return seconds is None or time.monotonic() - began < seconds

    written = options.json.open("w") if options.json else None
    try:
        for result in campaign(numbers, options.jobs, most=options.most, going=in_time):
            summary.add(result)
            if written:
                print(json.dumps(result), file=written, flush=True)
            if time.monotonic() - last > 10:
                last = time.monotonic()
                found = Counter({kind: len(each) for kind, each in summary.findings.items()})
                print(f"{last - began:5.0f} s: {summary.cases} cases; {_listed(found)}", flush=True)
    except KeyboardInterrupt:
        print("Stopped; so far:")
    finally:
        if written:
            written.close()
    print(summary)
    return int(bool(summary.findings))


if __name__ == "__main__":
    sys.exit(main())
