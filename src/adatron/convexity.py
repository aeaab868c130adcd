"""Whether the problem at hand is convex, which a duality gap rests on.

With a positive semidefinite kernel it is. Of other kernels (sigmoid, functions, matrices computed beforehand) only the
data can tell: the objective is convex on the feasible set if K + r has no negative curvature along directions that
keep the sums. That is tested on the support rows and some others, by a Cholesky factorisation. Negative curvature
found there is proof that the problem is not convex; none found is evidence that it is, not proof.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adatron import _core
from adatron._check import Array
from adatron.kernels import Precomputed

if TYPE_CHECKING:
    from adatron.gram import Gram
    from adatron.problems import Problem

Index = NDArray[np.int64]

MOST = 500  # rows tested: a few milliseconds
MOST_BY_PYTHON = 250  # of a kernel that is a Python function
DOUBTFUL = 4  # times as many are tested where those leave it open: half a second
SUPPORT = 0.7  # part of them that are support rows, where there are so many
UNUSUAL = 0.1  # part of them that are chosen for their diagonal: a single row may be what speaks against convexity
ROUNDING = 1e-9  # of the largest row sum: curvature that is next to none
OUTLYING = 1e4  # times the median of the diagonal: such rows are also left out


def is_convex(problem: Problem, gram: Gram, beta: Array, *, test: bool = True) -> bool:
    """Whether it is known to be, or else (if it may be tested) nothing speaks against it."""
    origin = gram if gram.part_of is None else gram.part_of[0]
    if origin.kernel.positive_semidefinite:
        return True
    if not test:
        return False
    most = MOST_BY_PYTHON if gram.by_python else MOST
    rows = _tested_rows(problem.fold(beta), gram.diagonal, most)
    left_out = problem.rows / len(rows)
    if not _nothing_speaks_against(problem, gram, rows, 1.0):
        return False
    if left_out == 1 or not problem.ridge.any():
        return True
    # a ridge that outweighs the negative curvature of some rows may not do so for all: it may grow with their number
    if _nothing_speaks_against(problem, gram, rows, left_out):
        return True
    return _nothing_speaks_against(problem, gram, _tested_rows(problem.fold(beta), gram.diagonal, DOUBTFUL * most), 1.0)


def _nothing_speaks_against(problem: Problem, gram: Gram, rows: Index, repeated: float) -> bool:
    """Whether no negative curvature is found on these rows, each standing for so many."""
    origin = gram if gram.part_of is None else gram.part_of[0]
    if isinstance(gram.kernel, Precomputed):
        K = np.asarray(gram.X[np.ix_(rows, rows)], dtype=np.float64)
    else:
        K = gram.kernel(gram.X[rows])
    given = origin.X.dtype if isinstance(origin.kernel, Precomputed) else np.float64  # precision of the values
    size = np.abs(K.diagonal())
    ordinary = size <= OUTLYING * np.median(size)  # beside huge values the curvature of all others would be rounding
    subsets = [np.arange(len(K))] if ordinary.all() else [np.arange(len(K)), np.flatnonzero(ordinary)]
    return all(_has_no_negative_curvature(repeated * K[np.ix_(i, i)], problem, rows[i], given) for i in subsets)


def _has_no_negative_curvature(K: Array, problem: Problem, rows: Index, given: Any) -> bool:
    """Whether none is found on these rows, along directions that keep the sums."""
    noise = 10 * float(np.finfo(given).eps) * np.sqrt(len(K)) * float(np.abs(K).max())
    if np.abs(K - K.T).max() > max(noise, ROUNDING * _row_sum(K)):
        return False
    K = _along_sums(K, problem, rows)
    epsilon = max(noise, ROUNDING * _row_sum(K), float(np.finfo(np.float64).tiny))
    if not problem.doubled:
        K[np.diag_indices_from(K)] += problem.ridge[rows]
    K[np.diag_indices_from(K)] += epsilon
    return _core.cholesky(np.ascontiguousarray(K))


def _row_sum(K: Array) -> float:
    return float(np.abs(K).sum(axis=1).max())


def _tested_rows(coef: Array, diagonal: Array, most: int) -> Index:
    """Support rows first, then others, of either those with an unusual diagonal, and else at random."""
    random = np.random.default_rng(0)
    unusual = np.zeros(len(coef), dtype=bool)
    unusual[np.argsort(np.abs(diagonal - np.median(diagonal)))[-int(UNUSUAL * most) :]] = True
    support, others = (_at_random(mask, unusual, random) for mask in (coef != 0, coef == 0))
    support = support[: max(int(SUPPORT * most), most - len(others))]
    return np.sort(np.concatenate((support, others[: most - len(support)])))


def _at_random(mask: NDArray[np.bool_], first: NDArray[np.bool_], random: np.random.Generator) -> Index:
    return np.concatenate([random.permutation(np.flatnonzero(mask & part)) for part in (first, ~first)])


def _along_sums(K: Array, problem: Problem, rows: Index) -> Array:
    """K on the directions that keep every sum: of each group the mean is taken out, on either side."""
    if not problem.sums:
        return K
    group = np.zeros(len(rows), dtype=int) if problem.doubled else problem.group[rows].astype(int)
    member = np.eye(len(problem.totals))[group]
    mean = member / np.maximum(member.sum(axis=0), 1)
    half = K - member @ (mean.T @ K)
    return np.asarray(half - (half @ mean) @ member.T)
