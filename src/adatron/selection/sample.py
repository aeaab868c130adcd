"""The rows that a search looks at: in an order of their own, copies taken together, drawn by weight.

The order comes from the rows' contents, so that a choice does not depend on the order in which they were given. Equal
rows with equal targets are one row of their weights' sum: a row of weight 2 and two rows of weight 1 are the same.
Samples are drawn with probabilities proportional to the weights, and what is drawn stands for what is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array
from adatron._rows import is_sparse

Index = NDArray[np.int64]
Hash = NDArray[np.uint64]

BLOCK = 1 << 16  # values hashed at a time: they stay in cache
LEAST = 8  # rows of every class in a sample
NEGLIGIBLE = 1e-5  # of a class's weight
MOST_RATE = 100.0  # at which rows are drawn, times their weight
STEP = 32.0  # weights up to so many times 1 count as so many rows, and leave the range of C as it is
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class CanonicalRows:
    """Distinct rows whose weight is not negligible, in an order that follows from their contents.

    Attributes
    ----------
    index : ndarray, for each of them a row of the data given that it stands for.
    y, weight : ndarrays, their targets and weights (of copies, the sum).
    place : ndarray, for each row given its number among them; -1 for negligible rows.
    share : ndarray, for each row given its part of that weight.
    scale : float, 1, or where the weights are of another order of magnitude a power of `STEP` near their size.
    """

    def __init__(
        self,
        X: Any,
        y: NDArray[Any],
        weight: Array,
        *,
        classes: bool = False,
        precomputed: bool = False,
        every_row: bool = False,
    ) -> None:
        labels = np.unique(y, return_inverse=True)[1] if classes else np.zeros(len(y), dtype=np.int64)
        known = weight > 0 if every_row else _counting(weight, labels)
        targets = labels if classes else y / (np.abs(y[known]).max() or 1.0)  # the same in any unit
        key = row_hashes(X, precomputed) + _mixed(_bits(targets)) * np.uint64(0xD1B54A32D192ED03)
        order = np.lexsort((weight, key))
        order = order[known[order]].astype(np.int64)
        first = np.ones(len(order), dtype=bool)
        if not (every_row or precomputed):  # there, equal contents in another order are no copies
            first[1:] = key[order[1:]] != key[order[:-1]]
        starts = np.flatnonzero(first)
        self.index = order[starts]
        self.y = y[self.index]
        self.weight = np.add.reduceat(weight[order], starts)
        self.place = np.full(len(y), -1, dtype=np.int64)
        self.place[order] = np.cumsum(first) - 1
        self.share = weight / self.weight[self.place]
        relative = weight / weight.max()
        typical = float((relative * relative).sum() / relative.sum()) * float(weight.max())
        self.scale = 1.0 if 1 / STEP < typical < STEP else STEP ** round(np.log(typical) / np.log(STEP))

    def __len__(self) -> int:
        return len(self.index)

    def gathered(self, X: Any, weight: Array) -> tuple[Any, Array]:
        """Rows of X for them, and the sums of another weight of the rows given."""
        known = self.place >= 0
        return X[self.index], np.bincount(self.place[known], weight[known]).astype(np.float64)

    def draw(self, most: int, labels: NDArray[Any] | None) -> tuple[Index, Array]:
        """Numbers of at most so many rows (and `LEAST` of every class), and the weights they stand for.

        Rows of weight w·c ≥ 1 are certain, the others are drawn with probability w·c, evenly over the classes and the
        canonical order; c is limited, so that nothing without weight is drawn to fill up. Each counts as min(c, 1)·w
        over its probability: unweighted rows keep their weight of 1, and rows that are all certain their own.
        """
        m = len(self)
        if m <= most:
            return np.arange(m), self.weight
        weight = self.weight / self.scale
        c = _rate(weight, most, at_most=MOST_RATE)
        chance = np.minimum(1.0, c * weight)
        along = np.arange(m)
        if labels is not None:
            along = np.argsort(labels, kind="stable")
            for name in np.unique(labels):
                members = np.flatnonzero(labels == name)
                if chance[members].sum() < (least := min(LEAST, len(members))):
                    chance[members] = np.minimum(1.0, _rate(weight[members], least) * weight[members])
        certain = chance >= 1
        passed = np.floor(np.cumsum(np.where(certain, 0.0, chance)[along]) + 0.5)
        drawn = certain.copy()
        drawn[along] |= np.diff(passed, prepend=0.0) > 0
        index = np.flatnonzero(drawn)
        return index, self.scale * min(c, 1.0) * weight[index] / chance[index]


def _counting(weight: Array, labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows but for the lightest of every class, which have `NEGLIGIBLE` of its weight at most."""
    total = np.bincount(labels, weight)[labels]
    share = np.divide(weight, total, out=1 / np.bincount(labels)[labels], where=total > 0)
    order = np.lexsort((share, labels))
    counts = np.empty(len(weight), dtype=bool)
    counts[order] = np.cumsum(share[order]) - labels[order] > NEGLIGIBLE
    return counts & (weight > 0)


def _rate(weight: Array, count: int, at_most: float = np.inf) -> float:
    """The c for which Σ min(1, c·weight) is the count."""
    if count >= len(weight):
        return min(at_most, float(1 / weight.min()))
    certain = np.zeros(len(weight), dtype=bool)
    while True:
        c = min(at_most, (count - np.count_nonzero(certain)) / float(weight[~certain].sum()))
        more = c * weight >= 1
        if (more == certain).all():
            return c
        certain = more


def weighted_median(values: Array, weight: Array) -> float:
    """The least value that half of the weight does not exceed; 0 of nothing."""
    if not values.size:
        return 0.0
    if (weight == weight[0]).all():
        return float(np.partition(values, (len(values) - 1) // 2)[(len(values) - 1) // 2])
    order = np.argsort(values)
    total = np.cumsum(weight[order])
    return float(values[order[min(int(np.searchsorted(total, total[-1] / 2)), len(order) - 1)]])


def spread_evenly(weight: Array, most: int) -> tuple[Index, Array]:
    """All rows, or so many at equal distances along the weight (heavy ones more than once); and what they count."""
    if len(weight) <= most:
        return np.arange(len(weight)), weight
    total = np.cumsum(weight)
    at = (np.arange(most) + 0.5) / most * total[-1]
    return np.minimum(np.searchsorted(total, at), len(weight) - 1).astype(np.int64), np.ones(most)


def along_a_line(X: Any) -> Index:
    """Rows in the order of their projections on a fixed direction: the same in any unit that all features share."""
    direction = _odd(np.arange(X.shape[1])).astype(np.float64) / 2.0**63 - 1.0
    values = X @ direction if is_sparse(X) else np.einsum("ij,j->i", X, direction)
    return np.argsort(values, kind="stable").astype(np.int64)


def shuffled(order: Index, times: int) -> Index:
    """The same rows in an order without a pattern, another one for every number; it follows from their order alone."""
    return order[np.argsort(_odd(np.arange(len(order)) + times * len(order)), kind="stable")]


def weighted_folds(weight: Array, labels: NDArray[Any] | None, folds: int) -> list[tuple[Index, Index]]:
    """Training and test rows of folds that have equal weight, of every class too, as nearly as rows can be split."""
    fold = np.empty(len(weight), dtype=np.int64)
    names = np.zeros(len(weight)) if labels is None else labels
    for name in np.unique(names):
        members = np.flatnonzero(names == name)
        total = np.cumsum(weight[members])
        fold[members] = np.minimum((total - weight[members] / 2) / total[-1] * folds, folds - 1).astype(np.int64)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in np.unique(fold)]


# ---------------------------------------------------------------- hashes


def row_hashes(X: Any, precomputed: bool = False) -> Hash:
    """64 bits for each row: of its features and values, dense and sparse alike; of a kernel matrix, its values alone.

    Then a permutation of rows and columns permutes the hashes.
    """
    m = X.shape[0]
    out = np.empty(m, dtype=np.uint64)
    step = max(1, BLOCK // max(1, X.shape[1]))
    if is_sparse(X):
        step = max(1, int(BLOCK * m // max(1, X.nnz)))
    else:
        factor = np.ones(X.shape[1], dtype=np.uint64) if precomputed else _odd(np.arange(X.shape[1]))
    for begin in range(0, m, step):
        part = X[begin : begin + step]
        if is_sparse(part):
            total = np.zeros(part.nnz + 1, dtype=np.uint64)
            np.cumsum(np.multiply(_mixed(_bits(part.data)), _odd(part.indices)), out=total[1:])
            out[begin : begin + step] = np.diff(total[part.indptr])
        else:
            out[begin : begin + step] = _mixed(_bits(part)) @ factor
    if precomputed:
        out += _mixed(_bits(np.diagonal(X))) * MULTIPLIER
    return out


def _bits(values: Any) -> Hash:
    """Of the values as float64: 0.0 and -0.0 are the same, and zero has none."""
    return (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)


def _mixed(bits: Hash) -> Hash:
    """Spread over all 64 places (round numbers have theirs in the first few); zero stays zero. Changes its argument."""
    bits ^= bits >> np.uint64(32)
    bits *= MULTIPLIER
    bits ^= bits >> np.uint64(29)
    return bits


def _odd(columns: Any) -> Hash:
    """A fixed odd number for each column."""
    number = np.asarray(columns).astype(np.uint64) + np.uint64(1)
    return _mixed(_mixed(number * np.uint64(0xBF58476D1CE4E5B9))) | np.uint64(1)
