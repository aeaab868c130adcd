"""Many classes by binary tasks: which tasks, and what the outputs of their classifiers say together.

A scheme is a list of `BinaryTask`s, each with classes on its positive and its negative side, and readings of the
outputs, one row per point and one column per task: the class, a score for each class, and whether to reject.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adatron import _core
from adatron._check import Array, choice
from adatron.problem_set import Tasks, class_pairs

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class BinaryTask:
    """Classes, as numbers, on either side of one binary classifier; on given labels, its rows and their signs."""

    positive: tuple[int, ...]
    negative: tuple[int, ...]

    def rows(self, labels: Labels) -> NDArray[np.int64]:
        """The rows of its classes."""
        return np.flatnonzero(np.isin(labels, (*self.positive, *self.negative))).astype(np.int64)

    def signs(self, labels: Labels) -> Array:
        """+1 or -1 for rows of its classes."""
        return np.where(np.isin(labels, self.positive), 1.0, -1.0)


class Scheme(ABC):
    """How ``count`` classes are told apart."""

    def __init__(self, count: int) -> None:
        self.count = count

    @property
    @abstractmethod
    def binary_tasks(self) -> list[BinaryTask]:
        """One per output."""

    def tasks(self, labels: Labels) -> Tasks:
        """The binary tasks on these labels, the numbers of classes: the rows of each, in their order, and signs."""
        index = [task.rows(labels) for task in self.binary_tasks]
        signs = [task.signs(labels[rows]) for task, rows in zip(self.binary_tasks, index, strict=True)]
        start = np.concatenate(([0], np.cumsum([len(rows) for rows in index])))
        whole = all(len(rows) == len(labels) for rows in index)
        return Tasks(start, None if whole else np.concatenate(index), np.concatenate(signs))

    def tasks_of_known(self, labels: Labels) -> Tasks:
        """The same for labels of which some, -1, are of no class here: their rows belong to no task."""
        if (known := labels >= 0).all():
            return self.tasks(labels)
        index = np.flatnonzero(known).astype(np.int64)
        inside = self.tasks(labels[index])
        return Tasks(inside.start, index[inside.flat_rows], inside.signs)

    def decision(self, values: Array, shape: str) -> Array:
        """What ``decision_function`` returns: one column per class (shape "ovr") or per task ("ovo")."""
        return self.scores(values) if shape == "ovr" else values

    def choose(self, values: Array, break_ties: bool = False) -> Labels:
        """The class of each row of outputs; with ``break_ties`` that of the largest score."""
        return np.asarray(self.scores(values).argmax(axis=1)) if break_ties else self.predict(values)

    @abstractmethod
    def predict(self, values: Array) -> Labels:
        """The class of each row of outputs."""

    @abstractmethod
    def scores(self, values: Array) -> Array:
        """One column per class; the larger, the surer."""

    @abstractmethod
    def accepted(self, values: Array) -> NDArray[np.bool_]:
        """Whether some class has every classifier that knows it on its side."""

    def sure(self, values: Array) -> NDArray[np.bool_]:
        """Whether every classifier that speaks for the predicted class has it outside its margin, |f| ≥ 1."""
        chosen = self.predict(values)
        inside = np.zeros((len(values), self.count), dtype=bool)
        for k, task in enumerate(self.binary_tasks):
            doubtful = np.abs(values[:, k]) < 1
            for name in self.spoken_for(task):
                inside[:, name] |= doubtful
        return np.asarray(~inside[np.arange(len(values)), chosen])

    def spoken_for(self, task: BinaryTask) -> tuple[int, ...]:
        """The classes that the classifier of a task has a say about."""
        return (*task.positive, *task.negative)


class Two(Scheme):
    """Two classes, one task: positive for the second."""

    def __init__(self) -> None:
        super().__init__(2)

    @property
    def binary_tasks(self) -> list[BinaryTask]:
        """The one."""
        return [BinaryTask((1,), (0,))]

    def tasks(self, labels: Labels) -> Tasks:
        """All rows."""
        return Tasks(np.array([0, len(labels)]), None, np.where(labels == 1, 1.0, -1.0))

    def predict(self, values: Array) -> Labels:
        """By the sign."""
        return (values[:, 0] > 0).astype(np.intp)

    def scores(self, values: Array) -> Array:
        """Either way."""
        return np.hstack((-values, values))

    def decision(self, values: Array, shape: str) -> Array:
        """The one output, whatever the shape."""
        return values[:, 0]

    def choose(self, values: Array, break_ties: bool = False) -> Labels:
        """By the sign: there are no ties."""
        return self.predict(values)

    def accepted(self, values: Array) -> NDArray[np.bool_]:
        """Always: where the output is not positive, it is so for the other class."""
        return np.ones(len(values), dtype=bool)


class OneVsOne(Scheme):
    """A task for each pair; the class with most votes. The order of pairs and ties are scikit-learn's."""

    @property
    def binary_tasks(self) -> list[BinaryTask]:
        """(0, 1), (0, 2), ... (1, 2), ..."""
        return [BinaryTask((i,), (j,)) for i in range(self.count) for j in range(i + 1, self.count)]

    def tasks(self, labels: Labels) -> Tasks:
        """The same without a loop over pairs.

        A row's place in the pair of its class with another is its rank in its own class, and the number of rows of the
        other class before it.
        """
        first, second = class_pairs(self.count)
        own = labels == np.arange(self.count)[:, None]
        before = own.cumsum(axis=1) - own  # rows of each class before each row
        counts = before[:, -1] + own[:, -1]
        start = np.zeros(len(first) + 1, dtype=np.int64)
        (counts[first] + counts[second]).cumsum(out=start[1:])
        pair_start = np.zeros((self.count, self.count), dtype=np.int64)
        pair_start[first, second] = pair_start[second, first] = start[:-1]
        place = pair_start[:, labels] + before + before[labels, np.arange(len(labels))]
        other, row = np.nonzero(~own)
        rows, signs = np.empty(start[-1], dtype=np.int64), np.empty(start[-1])
        at = place[other, row]
        rows[at] = row
        signs[at] = np.where(labels[row] < other, 1.0, -1.0)
        return Tasks(start, rows, signs)

    def predict(self, values: Array) -> Labels:
        """Most votes; of equals, the first."""
        return np.asarray(self.votes(values).argmax(axis=1))

    def votes(self, values: Array) -> Array:
        """How many pairs each class wins."""
        return self._count(values)[0]

    def scores(self, values: Array) -> Array:
        """Votes, and within a third of a vote the sum of outputs: scikit-learn's "ovr" shape."""
        votes, confidence = self._count(values)
        return np.asarray(votes + confidence / (3 * (np.abs(confidence) + 1)))

    def _count(self, values: Array) -> tuple[Array, Array]:
        votes, confidence = np.empty((2, len(values), self.count))
        _core.count_votes(np.ascontiguousarray(values.T), votes=votes, confidence=confidence)
        return votes, confidence

    def accepted(self, values: Array) -> NDArray[np.bool_]:
        """A class that wins all its pairs."""
        return np.asarray(self.votes(values).max(axis=1) == self.count - 1)


class OneVsRest(Scheme):
    """A task for each class against all others; the class with the largest output."""

    @property
    def binary_tasks(self) -> list[BinaryTask]:
        """One per class."""
        return [BinaryTask((i,), tuple(j for j in range(self.count) if j != i)) for i in range(self.count)]

    def predict(self, values: Array) -> Labels:
        """The largest output."""
        return np.asarray(values.argmax(axis=1))

    def scores(self, values: Array) -> Array:
        """The outputs themselves."""
        return values

    def accepted(self, values: Array) -> NDArray[np.bool_]:
        """An output that is positive."""
        return np.asarray((values > 0).any(axis=1))

    def spoken_for(self, task: BinaryTask) -> tuple[int, ...]:
        """The one class."""
        return task.positive


Branch = int | tuple["Branch", "Branch"]


class Tree(Scheme):
    """N - 1 tasks in a tree: each sends a point to one of two groups of classes, down to one class.

    ``arrangement`` is the tree as nested pairs of class numbers. `arranged` makes it from the classes' distances: the
    nearest are parted last.
    """

    def __init__(self, count: int, arrangement: Branch) -> None:
        super().__init__(count)
        self.arrangement = arrangement

    @classmethod
    def arranged(cls, distances: Array) -> Tree:
        """By average linkage of the classes' distances, a square matrix."""
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        branches: list[Branch] = list(range(len(distances)))
        symmetric = np.maximum(distances / 2 + distances.T / 2, 0.0)
        known = np.isfinite(symmetric)  # what overflows is far away
        symmetric[~known] = max(1.0, 2 * min(float(symmetric[known].max(initial=0.0)), 1e300))
        np.fill_diagonal(symmetric, 0.0)
        for left, right, *_ in linkage(squareform(symmetric, checks=False), method="average"):
            first, second = branches[int(left)], branches[int(right)]
            branches.append((first, second) if min(_leaves(first)) < min(_leaves(second)) else (second, first))
        return cls(len(distances), branches[-1])

    @property
    def binary_tasks(self) -> list[BinaryTask]:
        """From the root down, left before right."""
        return [BinaryTask(_leaves(left), _leaves(right)) for left, right in _nodes(self.arrangement)]

    def predict(self, values: Array) -> Labels:
        """Where the branches lead."""
        return np.asarray(self.scores(values).argmax(axis=1))

    def scores(self, values: Array) -> Array:
        """For each class the least of the outputs on its way, each counted towards it: positive where it is reached."""
        scores = np.full((len(values), self.count), np.inf)
        for k, task in enumerate(self.binary_tasks):
            for classes, towards in ((task.positive, values[:, k]), (task.negative, -values[:, k])):
                columns = list(classes)
                scores[:, columns] = np.minimum(scores[:, columns], towards[:, None])
        return scores

    def accepted(self, values: Array) -> NDArray[np.bool_]:
        """A class whose way is positive throughout."""
        return np.asarray((self.scores(values) > 0).any(axis=1))


def _leaves(branch: Branch) -> tuple[int, ...]:
    return (branch,) if isinstance(branch, int) else (*_leaves(branch[0]), *_leaves(branch[1]))


def _nodes(branch: Branch) -> list[tuple[Branch, Branch]]:
    return [] if isinstance(branch, int) else [branch, *_nodes(branch[0]), *_nodes(branch[1])]


SCHEMES = ("ovo", "ovr", "tree")


def scheme(name: str, count: int, distances: Callable[[int], Array] | None = None) -> Scheme:
    """The scheme of this name for so many classes; for a tree, ``distances`` gives those between them."""
    choice("multiclass", name, SCHEMES)
    if count == 2:
        return Two()
    match name:
        case "ovo":
            return OneVsOne(count)
        case "ovr":
            return OneVsRest(count)
        case _:
            if distances is None:
                raise ValueError("a tree is arranged by distances between classes: pass them.")
            return Tree.arranged(distances(count))
