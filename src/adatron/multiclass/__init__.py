"""Many classes by machines of two: which machines, and what their outputs say together.

A scheme is a list of `Part`s, each with classes on its positive and its negative side, and two readings of the
machines' outputs, a row a point and a column a part: the class, and a score for each class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron import _core
from adatron._check import Array, choice
from adatron.problem_set import Tasks, class_pairs

__all__ = ["SCHEMES", "OneVsOne", "OneVsRest", "Part", "Scheme", "Tree", "Two", "scheme"]

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Part:
    """One machine: classes, as numbers, on either side."""

    positive: tuple[int, ...]
    negative: tuple[int, ...]

    def rows(self, labels: Labels) -> NDArray[np.int64]:
        """The rows that it learns from."""
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
    def parts(self) -> list[Part]:
        """The machines."""

    def tasks(self, labels: Labels) -> Tasks:
        """The rows of each part, in their order, and their signs."""
        index = [part.rows(labels) for part in self.parts]
        signs = [part.signs(labels[rows]) for part, rows in zip(self.parts, index, strict=True)]
        start = np.concatenate(([0], np.cumsum([len(rows) for rows in index])))
        whole = all(len(rows) == len(labels) for rows in index)
        return Tasks(start, None if whole else np.concatenate(index), np.concatenate(signs))

    @abstractmethod
    def predict(self, values: Array) -> Labels:
        """The class of each row of outputs."""

    @abstractmethod
    def scores(self, values: Array) -> Array:
        """A column a class; the larger, the surer."""

    @abstractmethod
    def accepted(self, values: Array) -> NDArray[np.bool_]:
        """Whether some class has every machine that knows it on its side."""

    def sure(self, values: Array) -> NDArray[np.bool_]:
        """Whether every machine that speaks for the predicted class has it outside its margin, |f| ≥ 1."""
        chosen = self.predict(values)
        inside = np.zeros((len(values), self.count), dtype=bool)
        for k, part in enumerate(self.parts):
            doubtful = np.abs(values[:, k]) < 1
            for name in self.spoken_for(part):
                inside[:, name] |= doubtful
        return np.asarray(~inside[np.arange(len(values)), chosen])

    def spoken_for(self, part: Part) -> tuple[int, ...]:
        """The classes that a machine has a say about."""
        return (*part.positive, *part.negative)


class Two(Scheme):
    """Two classes, one machine: positive for the second."""

    def __init__(self) -> None:
        super().__init__(2)

    @property
    def parts(self) -> list[Part]:
        """The one."""
        return [Part((1,), (0,))]

    def tasks(self, labels: Labels) -> Tasks:
        """All rows."""
        return Tasks(np.array([0, len(labels)]), None, np.where(labels == 1, 1.0, -1.0))

    def predict(self, values: Array) -> Labels:
        """By the sign."""
        return (values[:, 0] > 0).astype(np.intp)

    def scores(self, values: Array) -> Array:
        """Either way."""
        return np.hstack((-values, values))

    def accepted(self, values: Array) -> NDArray[np.bool_]:
        """Always: where the machine is not positive, it is so for the other class."""
        return np.ones(len(values), dtype=bool)


class OneVsOne(Scheme):
    """A machine for each pair; the class with most votes. The order of pairs and ties are scikit-learn's."""

    @property
    def parts(self) -> list[Part]:
        """(0, 1), (0, 2), ... (1, 2), ..."""
        return [Part((i,), (j,)) for i in range(self.count) for j in range(i + 1, self.count)]

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
    """A machine for each class against all others; the class with the largest output."""

    @property
    def parts(self) -> list[Part]:
        """One a class."""
        return [Part((i,), tuple(j for j in range(self.count) if j != i)) for i in range(self.count)]

    def predict(self, values: Array) -> Labels:
        """The largest output."""
        return np.asarray(values.argmax(axis=1))

    def scores(self, values: Array) -> Array:
        """The outputs themselves."""
        return values

    def accepted(self, values: Array) -> NDArray[np.bool_]:
        """An output that is positive."""
        return np.asarray((values > 0).any(axis=1))

    def spoken_for(self, part: Part) -> tuple[int, ...]:
        """The one class."""
        return part.positive


Branch = int | tuple["Branch", "Branch"]


class Tree(Scheme):
    """N - 1 machines in a tree: each sends a point to one of two groups of classes, down to one class.

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
    def parts(self) -> list[Part]:
        """From the root down, left before right."""
        return [Part(_leaves(left), _leaves(right)) for left, right in _nodes(self.arrangement)]

    def predict(self, values: Array) -> Labels:
        """Where the branches lead."""
        return np.asarray(self.scores(values).argmax(axis=1))

    def scores(self, values: Array) -> Array:
        """For each class the least of the outputs on its way, each counted towards it: positive where it is reached."""
        scores = np.full((len(values), self.count), np.inf)
        for k, part in enumerate(self.parts):
            for classes, towards in ((part.positive, values[:, k]), (part.negative, -values[:, k])):
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


def scheme(name: str, count: int, distances: Any) -> Scheme:
    """The scheme of this name for so many classes; ``distances`` gives those between classes when called."""
    choice("multiclass", name, SCHEMES)
    if count == 2:
        return Two()
    match name:
        case "ovo":
            return OneVsOne(count)
        case "ovr":
            return OneVsRest(count)
        case _:
            return Tree.arranged(distances())
