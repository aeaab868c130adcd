"""Exact cross-validation over a grid of widths and C, made fast.

A fit on every fold, width and C: the same scores as by fitting them one by one (see grid.py for how).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_outlier_detector
from sklearn.model_selection import LeaveOneOut, check_cv
from sklearn.utils.multiclass import check_classification_targets

from adatron._check import Array, integer, real
from adatron.kernels import has_width
from adatron.plan import Learning, Plan, Spec, TrainingData
from adatron.selection.grid import EVERYTHING, Grid, Part
from adatron.selection.left_out import LeftOut
from adatron.selection.scoring import refuse_unfit
from adatron.threads import effective_threads

Index = NDArray[np.int64]


@dataclass(frozen=True)
class CrossValidation:
    """Scores of every width, C and fold: ``scores[g, c, k]``; the best in the mean is the choice.

    Among equals the smoother machine is chosen: the smaller gamma, then the smaller C.
    """

    gamma: Array
    C: Array
    scores: Array
    violation: Array  # KKT violation of every fit; NaN where the estimator was fitted by itself
    seconds: float
    on_grid: tuple[str, ...] = ("gamma", "C")

    @property
    def mean(self) -> Array:
        """Over the folds."""
        return np.asarray(self.scores.mean(axis=2))

    @property
    def best(self) -> tuple[int, int]:
        """Where the mean is largest."""
        mean = np.where(np.isnan(self.mean), -np.inf, self.mean)
        g, c = np.nonzero(mean >= mean.max() - 1e-12)
        k = int(np.lexsort((self.C[c], self.gamma[g]))[0])
        return int(g[k]), int(c[k])

    @property
    def best_params(self) -> dict[str, float]:
        """For ``set_params``: what was on a grid."""
        g, c = self.best
        found = {"gamma": float(self.gamma[g]), "C": float(self.C[c])}
        return {name: found[name] for name in self.on_grid}

    @property
    def cv_results_(self) -> dict[str, Any]:
        """The scores as `sklearn.model_selection.GridSearchCV` names them: one entry per point of the grid.

        ``params``, ``param_gamma`` and ``param_C`` (those that were on a grid), ``split0_test_score`` and so on,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``. Points come in scikit-learn's order of
        ``ParameterGrid``: gamma changes fastest. ``pandas.DataFrame(found.cv_results_)`` makes a table of it.
        """
        C, gamma = (values.ravel() for values in np.meshgrid(self.C, self.gamma, indexing="ij"))
        points = {name: values for name, values in (("C", C), ("gamma", gamma)) if name in self.on_grid}
        scores = self.scores.transpose(2, 1, 0).reshape(self.scores.shape[2], -1)
        mean = scores.mean(axis=0)
        known = np.where(np.isnan(mean), -np.inf, mean)
        return {
            "params": [{name: float(values[k]) for name, values in points.items()} for k in range(len(mean))],
            **{f"param_{name}": values for name, values in points.items()},
            **{f"split{k}_test_score": each for k, each in enumerate(scores)},
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=0),
            "rank_test_score": 1 + (known[:, None] < known).sum(axis=1).astype(np.int32),
        }

    def __str__(self) -> str:
        head = " ".join(f"{C:>8.3g}" for C in self.C)
        rows = [
            f"{gamma:>9.3g} " + " ".join(f"{value:8.4f}" for value in row)
            for gamma, row in zip(self.gamma, self.mean, strict=True)
        ]
        g, c = self.best
        best = f"best {self.mean[g, c]:.4f} at gamma={self.gamma[g]:.6g}, C={self.C[c]:.6g}"
        return "\n".join([f"  gamma\\C {head}", *rows, f"{best}; {self.scores.size} fits in {self.seconds:.3g} s"])


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    gamma: ArrayLike | None = None,
    C: ArrayLike | None = None,
    cv: Any = 5,
    scoring: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> CrossValidation:
    """Scores of the estimator (SVC, NuSVC, SVR, NuSVR) for all ``gamma`` and ``C``, fold by fold.

    They are those of ``sklearn.model_selection.cross_val_score`` with the same ``cv``: as exact as ``tol`` makes
    either. Without ``gamma`` or ``C`` the estimator's own is kept. ``cv`` is a number of folds, a splitter or a list of
    pairs of indices; "loo" leaves one row out at a time, and does not fit again for rows that support nothing, whose
    absence changes nothing. ``scoring`` is None for accuracy or R², or one of scikit-learn's scorers. The estimator's
    ``cache_size`` bounds the memory: matrices that all folds share are used where they fit. Ctrl-C ends it within a
    moment.
    """
    if not hasattr(estimator, "learning_plan") or is_outlier_detector(estimator):
        name = type(estimator).__name__
        raise TypeError(f"estimator={name} is none of adatron's SVC, NuSVC, SVR and NuSVR: pass one of them.")
    refuse_unfit(scoring)
    began = perf_counter()
    learning: Learning = estimator.learning_plan(X, y, sample_weight)
    spec, settings, data = learning.spec, learning.settings, learning.data
    _refuse_adapt(settings.adapts, gamma, C)
    if spec.classifies:
        check_classification_targets(data.y)
        if len(classes := np.unique(data.y)) < 2:
            raise ValueError(f"y holds one class, {classes.tolist()}: pass rows of two classes or more.")
    splits = _splits(cv, spec.classifies, data)
    if scoring is None and not spec.classifies and any(len(test) < 2 for _, test in splits):
        raise ValueError("scoring=None is R², which needs two rows: pass scoring='neg_mean_squared_error'.")
    widths, Cs = _grid("gamma", gamma), _grid("C", C, above=0)
    if widths is not None and not has_width(settings.kernel):
        raise ValueError(f"gamma={gamma!r} is given, but kernel={estimator.kernel!r} has no width: leave gamma out.")
    if Cs is not None and spec.C is None:
        raise ValueError(f"C={C!r} is given, but {settings.name} has none: leave it out.")
    integer_or_none(n_jobs)
    if text := _too_large_nu(spec, data):
        warnings.warn(text, UserWarning, stacklevel=2)
    threads = effective_threads(n_jobs)
    grid = Grid(learning, splits, widths, Cs, scoring, threads, fresh=lambda: clone(estimator))
    found, again = _scored(grid, began)
    if again:
        warnings.warn(
            f"nu={spec.nu:g} leaves no margin between the classes in {again} of {found.scores.size} fits: the smallest "
            "nu that gives one was used there; pass a larger nu.",
            UserWarning,
            stacklevel=2,
        )
    return found


def weighted_validation(
    learning: Learning,
    splits: Sequence[tuple[Index, Index]],
    *,
    gamma: Array | None,
    C: Array | None,
    scoring: Any,
    fresh: Callable[[], Any],
    part: Part = EVERYTHING,
) -> tuple[CrossValidation, Array]:
    """The same within a fit: scores in which rows count by their weights, and the weight of every fold's test rows.

    ``learning`` and the numbers on the grid have been checked; ``fresh`` makes an estimator for folds that have to be
    fitted by themselves. ``part`` names the points of the grid that are wanted, other weights for the scores, and when
    to stop; scores that were not wanted, or that there was no time for, are NaN.
    """
    threads = effective_threads(learning.settings.n_jobs)
    grid = Grid(learning, splits, gamma, C, scoring, threads, fresh, within_fit=True, part=part)
    weight = learning.data.weights()
    return _scored(grid, perf_counter())[0], np.array([weight[test].sum() for _, test in splits])


def _scored(grid: Grid, began: float) -> tuple[CrossValidation, int]:
    """All scores of a grid, and how many fits had to be made anew with another ν."""
    scores, violation = grid.run() if grid.shared else grid.one_by_one()
    again = grid.refit_without_margin(scores, violation)
    widths = (
        grid.widths if grid.widths is not None else np.array([np.nan if grid.own_width is None else grid.own_width])
    )
    on_grid = tuple(name for name, given in (("gamma", grid.widths is not None), ("C", grid.given_C)) if given)
    return CrossValidation(widths, grid.C, scores, violation, perf_counter() - began, on_grid), again


def _too_large_nu(spec: Spec, data: TrainingData) -> str:
    """What to say of a ν that the classes' weights do not allow, once for all folds."""
    if spec.use != "nu_classification":
        return ""
    everything = np.arange(data.n_rows)

    def alike(count: int) -> Array:
        """Which classes a tree parts depends on the kernel: any tree stands for it here."""
        return np.zeros((count, count))

    return Plan.of_fold(spec, data.y, data.weight, everything, alike).too_large_nu()


def integer_or_none(n_jobs: int | None) -> None:
    """Refuse what is no number of threads."""
    if n_jobs is not None and integer("n_jobs", n_jobs, at_least=-(2**31)) == 0:
        raise ValueError("n_jobs=0 is out of range: pass None, -1 for all cores, or a number from 1.")


def _refuse_adapt(adapts: tuple[str, ...], gamma: Any, C: Any) -> None:
    """What is to be chosen automatically needs a grid here; on a grid, the estimator's own word does not matter."""
    for name, grid in (("gamma", gamma), ("C", C)):
        if name in adapts and grid is None:
            raise ValueError(f"{name}='adapt' is no number: pass {name}=[...] to cross_validate.")
    if "epsilon" in adapts:
        raise ValueError("epsilon='adapt' is no number: pass a number of at least 0.")


def _grid(name: str, values: ArrayLike | None, above: float | None = None) -> Array | None:
    if values is None:
        return None
    listed = np.atleast_1d(np.asarray(values, dtype=object))
    if listed.ndim != 1 or not listed.size:
        raise ValueError(f"{name} has shape {listed.shape}: pass a list of numbers.")
    return np.array([real(name, v, above=above, at_least=None if above is not None else 0) for v in listed])


def _splits(cv: Any, classifies: bool, rows: TrainingData) -> Sequence[tuple[Index, Index]]:
    """Pairs of row numbers."""
    m = rows.n_rows
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv={cv!r} is unknown: pass a number of folds, a splitter or 'loo'.")
        cv = LeaveOneOut()
    if isinstance(cv, LeaveOneOut) and m > 1:
        return LeftOut(np.arange(m))
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        counts = np.unique(rows.y, return_counts=True)[1] if classifies else np.array([m])
        most = int(counts.max())
        if not 2 <= int(cv) <= most:
            raise ValueError(f"cv={cv} folds cannot be made of {m} rows: pass 2 to {most}, at most the largest class.")
        if counts.min() < 2:
            raise ValueError(f"cv={cv} leaves no row to learn a class from that has one row alone: drop that class.")
    elif not hasattr(cv, "split") and not isinstance(cv, Iterable):
        raise ValueError(f"cv={cv!r} is unknown: pass a number of folds, a splitter or 'loo'.")
    folds = check_cv(cv, rows.y, classifier=classifies)
    pairs = [tuple(_numbers(side, m) for side in pair) for pair in folds.split(rows.X, rows.y)]
    if not pairs:
        raise ValueError(f"cv={cv!r} has no pair of rows to learn from and to test on: pass at least one.")
    return pairs  # type: ignore[return-value]


def _numbers(side: Any, m: int) -> Index:
    index = np.asarray(side)
    if index.dtype == bool:
        index = np.flatnonzero(index)
    if index.ndim != 1 or not index.size:
        raise ValueError(f"cv has a pair with a side of shape {index.shape}: pass vectors of row numbers.")
    if (wrong := index[(index < 0) | (index >= m)]).size:
        raise ValueError(f"cv has a pair with row {wrong[0]}: pass numbers from 0 to {m - 1}.")
    return index.astype(np.int64)
