"""Watching a solver work: what it reports as it goes, and what can stop it from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any


@dataclass
class Trace:
    """Columns sampled as a solver works, one row a report."""

    columns: dict[str, list[float]] = field(default_factory=dict)

    def append(self, **values: float) -> None:
        """Add a row."""
        for name, value in values.items():
            self.columns.setdefault(name, []).append(value)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def __getitem__(self, name: str) -> list[float]:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def keys(self) -> list[str]:
        """The columns' names; with this, ``pandas.DataFrame(trace)`` and ``dict(trace)`` work."""
        return list(self.columns)


class OutOfTime(Exception):
    """The deadline has passed."""


class StoppedByCaller(Exception):
    """The progress callback asked for an end."""


@dataclass
class Watch:
    """Deadline, progress and trace of one solve.

    ``progress`` is called with a dictionary of numbers every time the solver comes up for air, at least every
    50 ms; when it returns True the solve ends there with what it has. Ctrl-C needs nothing: it arrives as a
    KeyboardInterrupt between two calls of the core.
    """

    max_time: float | None = None
    progress: Callable[[dict[str, float]], Any] | None = None
    trace: Trace | None = None
    started: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return perf_counter() - self.started

    def check(self) -> None:
        """Raise when time is up."""
        if self.max_time is not None and self.seconds > self.max_time:
            raise OutOfTime

    def report(self, **values: float) -> None:
        """Tell whoever listens."""
        if self.trace is not None:
            self.trace.append(seconds=self.seconds, **values)
        if self.progress is not None and self.progress({"seconds": self.seconds, **values}) is True:
            raise StoppedByCaller
