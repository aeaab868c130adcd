"""Checked training data, and what rows and classes weigh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from adatron._check import Array, finite_vector, real, shown

HEAVIEST = 1e50  # weight of a row or class: its products with C and kernel values have to stay finite

Index = NDArray[np.int64]


@dataclass(frozen=True)
class TrainingData:
    """Rows, targets and weights in the form in which they are used.

    Attributes
    ----------
    X : array or CSR matrix; with ``precomputed``, the kernel matrix.
    y : ndarray, targets or class labels.
    weight : ndarray or None, sample weights; None: 1 each.
    index : ndarray or None, the numbers of the rows in the data given; None: all.
    shape : of the data given.
    precomputed : whether X is the kernel matrix itself.
    """

    X: Any
    y: NDArray[Any]
    weight: Array | None
    index: Index | None
    shape: tuple[int, int]
    precomputed: bool = False

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])

    def weights(self) -> Array:
        """One for each row."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    def part(self, index: Index) -> TrainingData:
        """Some of the rows."""
        X = self.X[np.ix_(index, index)] if self.precomputed else self.X[index]
        weight = None if self.weight is None else self.weight[index]
        given = index if self.index is None else self.index[index]
        return TrainingData(X, self.y[index], weight, given, self.shape, self.precomputed)

    def weighted(self) -> TrainingData:
        """Without rows of weight zero, as if they were not there."""
        if self.weight is None or (self.weight > 0).all():
            return self
        return self.part(np.flatnonzero(self.weight).astype(np.int64))

    def given(self, rows: Index) -> Index:
        """The numbers of some rows in the data given."""
        return rows if self.index is None else self.index[rows]


def sample_weights(sample_weight: Any, rows: int) -> Array:
    """Weights of at least 0, not all 0; a number stands for all rows."""
    given = np.asarray(sample_weight)
    weight = finite_vector("sample_weight", np.full(rows, given) if given.ndim == 0 else given, length=rows)
    if (weight < 0).any() or not weight.any():
        span = f"{weight.min():g} to {weight.max():g}"
        raise ValueError(
            f"sample_weight runs from {span}: pass weights of at least 0, and not only 0 "
            "(sample weights must contain at least one non-zero number)."
        )
    if weight.max() > HEAVIEST:
        raise ValueError(f"sample_weight goes up to {weight.max():g}: pass weights of at most {HEAVIEST:g}.")
    return weight


def class_weights(wanted: Any, classes: NDArray[Any], y: NDArray[Any], weight: Array | None) -> Array:
    """One for each class, from None, "balanced" or a dict; ``y`` and ``weight`` are the rows'."""
    if wanted is None:
        return np.ones(len(classes))
    if isinstance(wanted, dict):
        for name, value in wanted.items():
            number = real(f"class_weight[{shown(name)}]", value)
            if number < 0:
                raise ValueError(
                    f"class_weight={shown(wanted)} is negative: pass weights of at least 0, and finite ones."
                )
            if number > HEAVIEST:
                raise ValueError(f"class_weight[{shown(name)}]={value} is out of range: pass at most {HEAVIEST:g}.")
    else:
        wish = 'pass None, "balanced" or a dict from classes to weights'
        if not isinstance(wanted, str):
            raise TypeError(f"class_weight={shown(wanted)} is a {type(wanted).__name__}: {wish}.")
        if wanted != "balanced":
            raise ValueError(f"class_weight={wanted!r} is unknown: {wish}.")
    found = compute_class_weight(wanted, classes=classes, y=y, sample_weight=weight)
    return np.asarray(found, dtype=np.float64)


def class_numbers(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.intp]:
    """The place of each label among the classes, which rise; -1 for any other label."""
    numbers = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    return np.where(classes[numbers] == y, numbers, -1)
