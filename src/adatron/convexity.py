"""Whether the problem at hand is convex, which a duality gap rests on.

With a positive semidefinite kernel it is. Of other kernels (sigmoid, functions, matrices computed beforehand) only the
data can tell: the objective is convex on the feasible set if K + r has no negative curvature along directions that
keep the sums. That is tested on the support rows and some others by a Cholesky factorisation, and on more of them by
some steps of Lanczos' method. Negative curvature found there is proof that the problem is not convex; none found is
evidence that it is, not proof.
"""

from __future__ import annotations

from collections.abc import Callable
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
MORE = 4  # times as many are looked at more quickly
DIRECTIONS = 20  # that this takes
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
    coef, most = problem.fold(beta), MOST_BY_PYTHON if gram.by_python else MOST
    rows = _tested_rows(coef, gram.diagonal, most)
    if not _passes(_has_no_negative_curvature, problem, gram, rows):
        return False
    if len(rows) == problem.rows:
        return True
    # a few rows among many may be what speaks against it, or what many have in common
    return _passes(_meets_no_negative_curvature, problem, gram, _tested_rows(coef, gram.diagonal, MORE * most))


def _passes(test: Callable[..., bool], problem: Problem, gram: Gram, rows: Index) -> bool:
    """A test of the kernel values of these rows, and of those without outliers."""
    origin = gram if gram.part_of is None else gram.part_of[0]
    if isinstance(gram.kernel, Precomputed):
        K = np.asarray(gram.X[np.ix_(rows, rows)], dtype=np.float64)
    else:
        K = gram.kernel(gram.X[rows])
    given = origin.X.dtype if isinstance(origin.kernel, Precomputed) else np.float64  # precision of the values
    size = np.abs(K.diagonal())
    ordinary = size <= OUTLYING * np.median(size)  # beside huge values the curvature of all others would be rounding
    if not test(K if ordinary.all() else K.copy(), problem, rows, given):
        return False
    some = np.flatnonzero(ordinary)
    return len(some) == len(K) or test(K[np.ix_(some, some)], problem, rows[some], given)


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


def _meets_no_negative_curvature(K: Array, problem: Problem, rows: Index, given: Any) -> bool:
    """Whether none is met in as many directions as Lanczos' method takes, which finds the extremes first."""
    noise = 10 * float(np.finfo(given).eps) * np.sqrt(len(K)) * float(np.abs(K).max())
    ridge = np.zeros(len(rows)) if problem.doubled else problem.ridge[rows]
    epsilon = max(noise, ROUNDING * (_row_sum(K) + float(ridge.max())), float(np.finfo(np.float64).tiny))
    basis = np.zeros((min(DIRECTIONS, len(K) - 1), len(K)))
    values = np.zeros((len(basis), len(K)))
    direction = _within_sums(np.random.default_rng(0).normal(size=len(K)), problem, rows)
    for k in range(len(basis)):
        for _ in range(2):  # once is not enough for rounding
            direction = direction - basis[:k].T @ (basis[:k] @ direction)
        length = float(np.linalg.norm(direction))
        if not length > np.finfo(np.float64).eps * max(epsilon, 1.0):
            basis, values = basis[:k], values[:k]
            break
        basis[k] = direction / length
        direction = values[k] = _within_sums(K @ basis[k] + ridge * basis[k], problem, rows)
    if not len(basis) or not np.isfinite(values).all():
        return True
    return bool(np.linalg.eigvalsh(basis @ values.T).min() >= -epsilon)


def _groups(problem: Problem, rows: Index) -> Index:
    """The sum that each of these rows belongs to."""
    return np.zeros(len(rows), dtype=np.int64) if problem.doubled else problem.group[rows].astype(np.int64)


def _within_sums(direction: Array, problem: Problem, rows: Index) -> Array:
    """The part of a direction that keeps every sum."""
    if not problem.sums:
        return direction
    group = _groups(problem, rows)
    count = np.maximum(np.bincount(group), 1)
    return np.asarray(direction - (np.bincount(group, weights=direction) / count)[group])


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
    group = _groups(problem, rows)
    member = np.eye(len(problem.totals))[group]
    mean = member / np.maximum(member.sum(axis=0), 1)
    half = K - member @ (mean.T @ K)
    return np.asarray(half - (half @ mean) @ member.T)
