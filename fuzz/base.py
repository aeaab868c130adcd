"""What a case is, and what its parts need."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

SMALL = 300  # rows up to which no fit may take longer than 2 s


@dataclass
class Case:
    """One fit, and what to try on it."""

    number: int
    task: str  # "fit", "cross_validate", "kernel_path" or "invalid"
    estimator: Any
    X: Any
    y: Any
    weight: Any
    test: Any  # rows to predict
    about: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)  # of the task
    files: list[Any] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Of the training data."""
        return int(np.shape(self.X)[0]) if np.ndim(self.X) or sparse.issparse(self.X) else 0

    @property
    def limited(self) -> bool:
        """Whether a parameter asks for an early end."""
        return self.estimator.max_iter != -1 or self.estimator.max_time is not None

    def __str__(self) -> str:
        data = ", ".join(f"{name} {value}" for name, value in self.about.items())
        options = "".join(f", {name}={value}" for name, value in self.options.items())
        return f"{self.task} {self.estimator!r}{options} on {data}"


def dense(X: Any) -> Any:
    """A float64 array of what may be sparse."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def compact(X: Any, columns: Any) -> Any:
    """A float64 array of some columns; None stands for all."""
    return dense(X if columns is None else sparse.csr_array(X)[:, columns])


def used(*matrices: Any) -> Any:
    """The columns with entries, of wide sparse matrices; of others None."""
    if not all(sparse.issparse(X) for X in matrices) or matrices[0].shape[1] <= 1000:
        return None
    return np.unique(np.concatenate([sparse.csr_array(X).indices for X in matrices]))


def pick(random: Any, *values: Any, **weighted: float) -> Any:
    """One of the values, or of the names by their weights."""
    if weighted:
        share = np.array(list(weighted.values())) / sum(weighted.values())
        return list(weighted)[random.choice(len(share), p=share)]
    return values[random.integers(len(values))]
