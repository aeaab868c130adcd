"""Folds that leave out one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]


class LeftOut(Sequence[tuple[Index, Index]]):
    """Folds that leave out a row each, in this order; made when asked for, since all at once would take 8 m² bytes."""

    def __init__(self, order: Index) -> None:
        self.order = order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, fold: Any) -> Any:
        row = self.order[fold]
        return np.delete(np.arange(len(self), dtype=np.int64), row), np.array([row])


def leaves_one_out(splits: Sequence[tuple[Index, Index]], m: int) -> bool:
    """Whether every fold learns from all rows but the one that it is tested on."""
    if isinstance(splits, LeftOut):
        return True
    return len(splits) > 1 and all(
        len(test) == 1 and len(train) == m - 1 and len(np.unique(train)) == m - 1 and test[0] not in train
        for train, test in splits
    )
