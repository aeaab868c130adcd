"""What an estimator learns, taken apart: its machines of two classes, their problems, how their outputs are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array
from adatron.estimators._fit import Settings
from adatron.problems import Problem
from adatron.selection.chain import Reached

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Piece:
    """One machine of a learner: its rows (None: all) and its problem for a C."""

    rows: Index | None
    problem: Callable[[float | None], Problem]


@dataclass(frozen=True)
class Learner:
    """What an estimator learns from some rows: its machines, and how their outputs are read."""

    pieces: list[Piece]
    predict: Callable[[Array], Any]
    decision: Callable[[Array], Any]
    classes: Any
    scale: Callable[[Reached], float]


class Ordered:
    """The estimator's data in the matrix's order."""

    def __init__(self, estimator: Any, settings: Settings, rows: Any, order: Index) -> None:
        self.estimator, self.settings = estimator, settings
        self.y = rows.y[order]
        self.weight = None if rows.weight is None else rows.weight[order]
        self.size, self.order = len(order), order

    def learner(self, train: Index) -> Learner:
        """Of a fold; rows outside of it have weight zero."""
        mask = np.bincount(train, minlength=self.size).astype(np.float64)  # a row taken twice counts twice
        weight = mask if self.weight is None else mask * self.weight
        pieces, predict, decision, classes = self.estimator._pieces(self.settings, self.y, weight)
        return Learner([Piece(index, make) for index, make in pieces], predict, decision, classes, self.estimator._unit)
