"""Watching a solver work: what it reports as it goes, and what can stop it from outside."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from time import perf_counter
from typing import Any

from adatron._check import Array


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
    started: float = field(default_factory=perf_counter)
    last: dict[str, float] = field(default_factory=dict)  # what was reported last
    coef: Callable[[], Array] = _none  # the coefficients at that time

    @property
    def seconds(self) -> float:
        """Since the start."""
        return perf_counter() - self.started

    @property
    def listens(self) -> bool:
        """Whether anybody wants to know."""
        return self.trace is not None or self.progress is not None

    def inner(self) -> Watch:
        """A watch for a solve within this one: what is left of its time; while it lasts, the caller hears the last
        account of the whole again.
        """
        left = None if self.max_time is None else max(self.max_time - self.seconds, 1e-3)
        return Watch(max_time=left, progress=self._repeat if self.progress else None)

    def _repeat(self, _: dict[str, float]) -> Any:
        return self.progress and self.progress({"seconds": self.seconds, **self.last})

    def check(self) -> None:
        """Raise when time is up."""
        if self.max_time is not None and self.seconds > self.max_time:
            raise OutOfTime

    def report(self, coef: Callable[[], Array], **values: float) -> None:
        """Tell whoever listens; ``coef`` gives the coefficients, one a kernel row, to those who ask."""
        self.coef, self.last = coef, values
        if self.held_out is not None:
            values["error"] = self.held_out(coef(), values["bias"])
        if self.trace is not None:
            self.trace.append(seconds=self.seconds, **values)
        if self.progress is not None and self.progress({"seconds": self.seconds, **values}) is True:
            raise StoppedByCaller
