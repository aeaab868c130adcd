"""Watching a solver work: what it reports as it goes, and what can stop it from outside."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from threading import Event
from time import perf_counter, thread_time
from typing import Any, NamedTuple

from adatron._check import Array

ACCOUNT = ("objective", "gap", "kkt_violation", "margin", "bias", "sum", "support", "at_bound")


class Round(NamedTuple):
    """A row of the trace as the engine keeps it; see TraceRow in core/engine.hpp."""

    time: float  # of the core's clock
    rounds: float
    objective: float
    gap: float
    kkt_violation: float
    margin: float
    bias: float
    sum: float
    support: float
    at_bound: float
    steps: float
    rows_computed: float
    active: float


class Report(NamedTuple):
    """What a solver says of where it stands. Taking it costs next to nothing; `values` spells it out when asked."""

    seconds: float
    epoch: int
    account: Any  # objective, gap, ... of the coefficients
    bias: float
    updates: int
    kernel_evaluations: int
    more: dict[str, float]

    def values(self) -> dict[str, float]:
        """A row of the trace."""
        account = {name: self.bias if name == "bias" else getattr(self.account, name) for name in ACCOUNT}
        account |= {name: int(account[name]) for name in ("support", "at_bound")}
        effort = {"updates": self.updates, "kernel_evaluations": self.kernel_evaluations}
        return {"seconds": self.seconds, "epoch": self.epoch, **account, **effort, **self.more}


class Trace:
    """Columns sampled as a solver works, one row a report."""

    def __init__(self) -> None:
        self._columns: dict[str, list[float]] = {}
        self._reports: list[Report] = []  # not spelled out yet

    @classmethod
    def of_rounds(cls, rounds: Any, started: float, rows: int) -> Trace:
        """The trace that the engine has kept of one problem, of so many rows."""
        trace = cls()
        for at in map(Round._make, rounds.tolist()):
            effort = int(at.steps), int(at.rows_computed) * rows
            more: dict[str, float] = {"active": int(at.active)}
            trace.append(Report(at.time - started, int(at.rounds), at, at.bias, *effort, more))
        return trace

    def append(self, report: Report) -> None:
        """Add a row."""
        self._reports.append(report)

    @property
    def columns(self) -> dict[str, list[float]]:
        """From name to values."""
        for report in self._reports:
            for name, value in report.values().items():
                self._columns.setdefault(name, []).append(value)
        self._reports.clear()
        return self._columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def __getitem__(self, name: str) -> list[float]:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __repr__(self) -> str:
        return f"Trace({len(self)} rows of {', '.join(self)})"

    def __getstate__(self) -> dict[str, Any]:
        return {"_columns": self.columns, "_reports": []}

    def keys(self) -> list[str]:
        """The columns' names; with this, ``dict(trace)`` works."""
        return list(self.columns)

    def frame(self) -> Any:
        """A pandas DataFrame, one row a report."""
        from pandas import DataFrame  # an extra: loaded on use

        return DataFrame(self.columns)

    def to_json(self) -> str:
        """The columns as JSON; what is not a finite number becomes null."""
        return json.dumps(
            {name: [value if isfinite(value) else None for value in column] for name, column in self.columns.items()}
        )


class OutOfTime(Exception):
    """The deadline has passed."""


class OutOfBudget(Exception):
    """The CPU time that a solver may spend on a small problem is used up."""


class StoppedByCaller(Exception):
    """The progress callback asked for an end."""


def _none() -> Array:
    raise RuntimeError("nothing was reported yet: there are no coefficients to ask for.")


@dataclass
class Watch:
    """Deadline, progress and trace of one solve.

    ``progress`` is called with a dictionary of numbers every time the solver comes up for air, at least every
    50 ms; when it returns True the solve ends there with what it has. Ctrl-C needs nothing: it arrives as a
    KeyboardInterrupt between two calls of the core.

    ``held_out`` tells the error on other data of the machine with these coefficients, one a kernel row, and this
    bias; a trace has it in its column "error".
    """

    max_time: float | None = None
    progress: Callable[[dict[str, float]], Any] | None = None
    trace: Trace | None = None
    held_out: Callable[[Array, float], float] | None = None
    cancelled: Event = field(default_factory=Event)  # set by whoever waits for a solve in another thread
    started: float = field(default_factory=perf_counter)
    last: Report | None = None  # what was reported last
    coef: Callable[[], Array] = _none  # the coefficients at that time
    grace: float = 0.1  # seconds that a certificate may take after the deadline
    share: float = 1.0  # of the CPU time that small problems may take: many problems of one fit divide it
    cpu_end: float | None = None  # on this thread's CPU clock; set by a run for itself and the runs inside it

    @property
    def seconds(self) -> float:
        """Since the start."""
        return perf_counter() - self.started

    @property
    def listens(self) -> bool:
        """Whether anybody wants to know."""
        return self.trace is not None or self.progress is not None

    def limit(self, max_time: float) -> None:
        """End after so many seconds since the start, if that is sooner."""
        self.max_time = max_time if self.max_time is None else min(self.max_time, max_time)

    def release(self) -> None:
        """Let go of the solver, which knows this watch."""
        self.coef = _none

    def inner(self) -> Watch:
        """A watch for a solve within this one: what is left of its time; while it lasts, the caller hears the last
        account of the whole again.
        """
        left = None if self.max_time is None else max(self.max_time - self.seconds, 1e-3)
        return Watch(
            max_time=left,
            progress=self._repeat if self.progress else None,
            cancelled=self.cancelled,
            share=self.share,
            cpu_end=self.cpu_end,
        )

    def _repeat(self, _: dict[str, float]) -> Any:
        known = {} if self.last is None else self.last.values()
        return self.progress and self.progress({**known, "seconds": self.seconds})

    def check(self) -> None:
        """Raise when time or budget is used up, or when the solve has been cancelled."""
        if self.cancelled.is_set():
            raise KeyboardInterrupt
        if self.max_time is not None and self.seconds > self.max_time:
            raise OutOfTime
        if self.cpu_end is not None and thread_time() > self.cpu_end:
            raise OutOfBudget

    def report(self, coef: Callable[[], Array], report: Report) -> None:
        """Tell whoever listens; ``coef`` gives the coefficients, one per kernel row, to those who ask.

        What listeners take is not charged to the solver's budget.
        """
        began = 0.0 if self.cpu_end is None else thread_time()
        if self.held_out is not None:
            report.more["error"] = self.held_out(coef(), report.bias)
        self.coef, self.last = coef, report
        if self.trace is not None:
            self.trace.append(report)
        ended = self.progress is not None and self.progress(report.values()) is True
        if self.cpu_end is not None:
            self.cpu_end += thread_time() - began
        if ended:
            raise StoppedByCaller
