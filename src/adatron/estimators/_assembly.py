"""From coefficients to a model, and what a tree of classes is arranged by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array
from adatron.estimators._matrix import Index, TrainingMatrix
from adatron.kernels import Precomputed
from adatron.model import Model
from adatron.plan import OneVsOne, Plan, TrainingData
from adatron.precision import Arithmetic
from adatron.problem_set import class_pairs

SAMPLE = 200  # rows of a class from which its place among the others is told


def assembled(
    matrix: TrainingMatrix,
    data: TrainingData,
    plan: Plan,
    numbers: NDArray[np.intp] | None,
    coef: Array,
    biases: Array,
    arithmetic: Arithmetic,
) -> tuple[Model, Index]:
    """One model of all tasks, and the rows that support it.

    ``coef`` holds one coefficient for each row of each task, end to end. With classes, whose ``numbers`` are each
    row's, support rows are sorted by class, in scikit-learn's order.
    """
    edges: tuple[int, ...] = ()
    if numbers is None:
        support = coef.nonzero()[0].astype(np.int64, copy=False)
        lines, intercept = coef[support][None], np.array([matrix.intercept(coef, biases[0])])
    else:
        support, lines, edges = _by_class(plan, numbers, coef)
        intercept = biases + matrix.augment * plan.tasks.sums(coef) if matrix.augment else biases.copy()
    points = data.given(support) if data.precomputed else data.X[support]
    return Model(matrix.kernel, points, lines, intercept, arithmetic, edges), support


def _by_class(plan: Plan, numbers: NDArray[np.intp], coef: Array) -> tuple[Index, Array, tuple[int, ...]]:
    """Support rows by class, lines of coefficients, and where each class begins if there is one line per rival."""
    tasks = plan.tasks
    some = coef.nonzero()[0]
    index, task = tasks.flat_rows[some], tasks.owner[some]
    used = np.zeros(len(numbers), dtype=bool)
    used[index] = True
    support = used.nonzero()[0].astype(np.int64, copy=False)
    support = support[numbers[support].argsort(kind="stable")]
    place = np.empty(len(numbers), dtype=np.intp)
    place[support] = np.arange(len(support))
    edges: tuple[int, ...] = ()
    line, lines = task, len(tasks)
    if isinstance(plan.scheme, OneVsOne):  # a row has coefficients against every other class alone
        count = plan.scheme.count
        first, second = class_pairs(count)
        line = np.where(numbers[index] == first[task], second[task] - 1, first[task])
        lines = count - 1
        edges = tuple(numbers[support].searchsorted(np.arange(count + 1)).tolist())
    values = np.zeros((lines, len(support)))
    values[line, place[index]] = coef[some]
    return support, values, edges


def class_distances(matrix: TrainingMatrix, numbers: NDArray[np.intp]) -> Array:
    """Squared distances between the classes' means in feature space, from a sample of each."""
    random = np.random.default_rng(matrix.settings.seed)
    samples = [np.flatnonzero(numbers == k) for k in range(int(numbers.max()) + 1)]
    samples = [np.sort(random.permutation(rows)[:SAMPLE]) for rows in samples]
    index = np.concatenate(samples)
    if isinstance(matrix.kernel, Precomputed):
        K = np.asarray(matrix.X[np.ix_(index, index)], dtype=np.float64)
    else:
        K = matrix.kernel(matrix.X[index])
    owner = np.repeat(np.arange(len(samples)), [len(rows) for rows in samples])
    mean = np.eye(len(samples))[owner] / np.bincount(owner)[owner][:, None]
    between = mean.T @ K @ mean
    return np.asarray(between.diagonal()[:, None] + between.diagonal() - 2 * between)


def named(branch: Any, classes: NDArray[Any]) -> Any:
    """A tree with the classes' names for its leaves."""
    return classes.tolist()[branch] if isinstance(branch, int) else tuple(named(part, classes) for part in branch)
