"""Many problems of one kind over parts of the same rows, as flat arrays: what a batch of the core takes.

One Python object per problem costs more than a small problem takes to solve. Here they are made when asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array
from adatron.problems import Problem, feasible, sums_of

Index = NDArray[np.int64]
NAMES = ("linear", "lower", "upper", "ridge", "group")


@lru_cache(maxsize=64)
def class_pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All pairs of so many classes, in scikit-learn's order: (0, 1), (0, 2), ... (1, 2), ..."""
    first, second = np.triu_indices(count, 1)
    first.setflags(write=False)
    second.setflags(write=False)
    return first, second


@dataclass(frozen=True, eq=False)
class Tasks:
    """The binary tasks of a classifier, or the one task of any other model: which rows, with which signs.

    ``start`` is where each task's rows begin, and where the last one's end; ``rows`` numbers them in the data (None:
    every task is over all rows, in their order); ``signs`` is +1 or -1 for each.
    """

    start: Index
    rows: Index | None
    signs: Array

    def __len__(self) -> int:
        return len(self.start) - 1

    def of(self, k: int) -> slice:
        """The place of a task in flat arrays."""
        return slice(int(self.start[k]), int(self.start[k + 1]))

    def index(self, k: int) -> Index | None:
        """The rows of a task; None: all."""
        return None if self.rows is None else self.rows[self.of(k)]

    def one(self, k: int) -> Tasks:
        """One of them by itself, over its own rows."""
        signs = self.signs[self.of(k)]
        return Tasks(np.array([0, len(signs)]), None, signs)

    def spread(self, values: Array) -> Array:
        """Values given for every row of the data, one for each row of each task."""
        return np.tile(values, len(self)) if self.rows is None else values[self.rows]

    def sums(self, values: Array) -> Array:
        """The sum over each task's rows of values in flat form."""
        return np.add.reduceat(values, self.start[:-1])

    @cached_property
    def flat_rows(self) -> Index:
        """The row of the data behind each entry of flat arrays."""
        if self.rows is not None:
            return self.rows
        return np.tile(np.arange(self.start[1], dtype=np.int64), len(self))

    @cached_property
    def sizes(self) -> Index:
        """How many rows each task has."""
        return self.start[1:] - self.start[:-1]

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """The task that each entry of flat arrays belongs to."""
        return np.arange(len(self)).repeat(self.sizes)

    @property
    def largest(self) -> int:
        """Rows of the largest task."""
        return int(self.sizes.max())


def whole_task(rows: int) -> Tasks:
    """One task over all rows."""
    return Tasks(np.array([0, rows]), None, np.ones(rows))


@dataclass(frozen=True, eq=False)
class ProblemSet:
    """The problems of some tasks; arrays are those of `Problem`, end to end, ``totals`` one line per problem."""

    use: str
    tasks: Tasks
    linear: Array
    lower: Array
    upper: Array
    ridge: Array
    group: NDArray[np.int8]
    totals: Array
    doubled: bool = False
    made: tuple[Problem, ...] = ()  # where they were problems before

    @classmethod
    def of(cls, problems: Sequence[Problem], tasks: Tasks) -> ProblemSet:
        """Of problems that are there already."""
        first = problems[0]
        if len(problems) == 1:
            arrays: dict[str, Any] = {name: getattr(first, name) for name in NAMES}
        else:
            arrays = {name: np.concatenate([getattr(each, name) for each in problems]) for name in NAMES}
        totals = np.array([problem.totals for problem in problems]).reshape(len(problems), -1)
        return cls(first.use, tasks, **arrays, totals=totals, doubled=first.doubled, made=tuple(problems))

    def __len__(self) -> int:
        return len(self.tasks)

    def variables(self, k: int) -> slice:
        """The place of a problem's variables in flat arrays."""
        copies = 2 if self.doubled else 1
        return slice(copies * int(self.tasks.start[k]), copies * int(self.tasks.start[k + 1]))

    def __getitem__(self, k: int) -> Problem:
        if self.made:
            return self.made[k]
        v = self.variables(k)
        arrays = self.linear[v], self.lower[v], self.upper[v], self.ridge[v], self.group[v]
        return Problem.trusted(self.use, *arrays, self.totals[k], doubled=self.doubled)

    def start(self) -> Array:
        """A feasible point of every problem."""
        if not self.totals.any() and (self.lower <= 0).all() and (self.upper >= 0).all():
            return np.zeros(len(self.linear))
        return np.concatenate([self._start(self.variables(k), self.totals[k]) for k in range(len(self))])

    def _start(self, v: slice, totals: Array) -> Array:
        return feasible(self.lower[v], self.upper[v], sums_of(self.group[v], totals))

    @cached_property
    def boxes(self) -> Array:
        """The sum of upper - lower of each problem."""
        return self.tasks.sums(self.upper - self.lower)

    def fold(self, beta: Array) -> Array:
        """One coefficient per kernel row, in flat form."""
        if not self.doubled:
            return beta
        return np.concatenate([self[k].fold(beta[self.variables(k)]) for k in range(len(self))])

    @property
    def spans(self) -> dict[str, Any]:
        """The arrays as the core takes them."""
        arrays = {name: getattr(self, name) for name in (*NAMES, "totals", "doubled")}
        return arrays | {"start": self.tasks.start, "rows": self.tasks.rows}
