"""Exact cross-validation over a grid of widths and C, made fast.

A fit on every fold, width and C: the same scores as by fitting them one by one (see grid.py for how).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import LeaveOneOut, check_cv
from sklearn.utils.multiclass import check_classification_targets

from adatron._check import Array, integer, real
from adatron.estimators._fit import Settings, says_adapt
from adatron.estimators._machine import _weights
from adatron.kernels import has_width
from adatron.selection.grid import EVERYTHING, Grid, LeftOut, Part
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
    return _cross_validated(estimator, X, y, gamma, C, cv, scoring, sample_weight, n_jobs, within_fit=False)[0]


def weighted_validation(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    gamma: Any,
    C: Any,
    cv: Any,
    scoring: Any,
    sample_weight: Array,
    n_jobs: Any,
    part: Part = EVERYTHING,
) -> tuple[CrossValidation, Array]:
    """The same with scores in which rows count by their weights, and the weight of every fold's test rows.

    ``part`` names the points of the grid that are wanted, other weights for the scores, and when to stop; scores that
    were not wanted, or that there was no time for, are NaN.
    """
    found, splits = _cross_validated(
        estimator, X, y, gamma, C, cv, scoring, sample_weight, n_jobs, within_fit=True, part=part
    )
    return found, np.array([sample_weight[test].sum() for _, test in splits])


def _cross_validated(
    estimator: Any,
    X: Any,
    y: Any,
    gamma: Any,
    C: Any,
    cv: Any,
    scoring: Any,
    sample_weight: Any,
    n_jobs: int | None,
    *,
    within_fit: bool,
    part: Part = EVERYTHING,
) -> tuple[CrossValidation, Sequence[tuple[Index, Index]]]:
    began = perf_counter()
    if not hasattr(estimator, "_pieces"):
        name = type(estimator).__name__
        raise TypeError(f"estimator={name} is none of adatron's SVC, NuSVC, SVR and NuSVR: pass one of them.")
    estimator = copy(estimator)  # validation leaves its marks
    _refuse_adapt(estimator, gamma, C)
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(f"scoring={scoring!r} is no single score: pass one, such as 'accuracy', or None.")
    settings = Settings.of(estimator)
    rows = estimator._validated(X, y, None, **estimator._targets())
    if sample_weight is not None:
        rows = replace(rows, weight=_weights(sample_weight, rows.X.shape[0]))
    if is_classifier(estimator):
        if not within_fit:  # a search within a fit, which has checked them
            check_classification_targets(rows.y)
        if len(classes := np.unique(rows.y)) < 2:
            raise ValueError(f"y holds one class, {classes.tolist()}: pass rows of two classes or more.")
    splits = _splits(cv, estimator, rows)
    if scoring is None and not is_classifier(estimator) and any(len(test) < 2 for _, test in splits):
        raise ValueError("scoring=None is R², which needs two rows: pass scoring='neg_mean_squared_error'.")
    widths = _grid("gamma", gamma)
    Cs = _grid("C", C, above=0) if C is not None else None
    if widths is not None and not has_width(settings.kernel):
        raise ValueError(f"gamma={gamma!r} is given, but kernel={estimator.kernel!r} has no width: leave gamma out.")
    if Cs is not None and not hasattr(estimator, "C"):
        raise ValueError(f"C={C!r} is given, but {settings.name} has none: leave it out.")
    integer_or_none(n_jobs)
    if not within_fit and hasattr(estimator, "_warn_of_nu"):
        estimator._warn_of_nu(settings, rows.y, np.ones(len(rows.y)) if rows.weight is None else rows.weight)
    work = Grid(estimator, settings, rows, splits, widths, Cs, scoring, effective_threads(n_jobs), within_fit, part)
    scores, violation = work.run() if work.shared else work.one_by_one()
    if (again := work.refit_without_margin(scores, violation)) and not within_fit:
        warnings.warn(
            f"nu={estimator.nu:g} leaves no margin between the classes in {again} of {scores.size} fits: the smallest "
            "nu that gives one was used there; pass a larger nu.",
            UserWarning,
            stacklevel=3,
        )
    names = widths if widths is not None else np.array([np.nan if work.own_width is None else work.own_width])
    on_grid = tuple(name for name, given in (("gamma", widths), ("C", Cs)) if given is not None)
    return CrossValidation(names, work.C, scores, violation, perf_counter() - began, on_grid), splits


def integer_or_none(n_jobs: int | None) -> None:
    """Refuse what is no number of threads."""
    if n_jobs is not None and integer("n_jobs", n_jobs, at_least=-(2**31)) == 0:
        raise ValueError("n_jobs=0 is out of range: pass None, -1 for all cores, or a number from 1.")


def _refuse_adapt(estimator: Any, gamma: Any, C: Any) -> None:
    """What is to be found out needs a grid here; on a grid, the estimator's own word does not matter."""
    for name, grid in (("gamma", gamma), ("C", C)):
        if says_adapt(getattr(estimator, name, None)):
            if grid is None:
                raise ValueError(f"{name}='adapt' is no number: pass {name}=[...] to cross_validate.")
            setattr(estimator, name, 1.0)
    if says_adapt(getattr(estimator, "epsilon", None)):
        raise ValueError("epsilon='adapt' is no number: pass a number of at least 0.")


def _grid(name: str, values: ArrayLike | None, above: float | None = None) -> Array | None:
    if values is None:
        return None
    listed = np.atleast_1d(np.asarray(values, dtype=object))
    if listed.ndim != 1 or not listed.size:
        raise ValueError(f"{name} has shape {listed.shape}: pass a list of numbers.")
    return np.array([real(name, v, above=above, at_least=None if above is not None else 0) for v in listed])


def _splits(cv: Any, estimator: Any, rows: Any) -> Sequence[tuple[Index, Index]]:
    """Pairs of row numbers."""
    m = rows.X.shape[0]
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv={cv!r} is unknown: pass a number of folds, a splitter or 'loo'.")
        cv = LeaveOneOut()
    if isinstance(cv, LeaveOneOut) and m > 1:
        return LeftOut(np.arange(m))
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        counts = np.unique(rows.y, return_counts=True)[1] if is_classifier(estimator) else np.array([m])
        most = int(counts.max())
        if not 2 <= int(cv) <= most:
            raise ValueError(f"cv={cv} folds cannot be made of {m} rows: pass 2 to {most}, at most the largest class.")
        if counts.min() < 2:
            raise ValueError(f"cv={cv} leaves no row to learn a class from that has one row alone: drop that class.")
    elif not hasattr(cv, "split") and not isinstance(cv, Iterable):
        raise ValueError(f"cv={cv!r} is unknown: pass a number of folds, a splitter or 'loo'.")
    folds = check_cv(cv, rows.y, classifier=is_classifier(estimator))
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
