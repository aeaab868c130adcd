"""What all machines share as scikit-learn estimators: their data, their fit, their attributes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from hashlib import blake2b
from numbers import Real
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from adatron._check import Array, choice, cost, finite_vector, sound
from adatron._rows import is_ready, is_sparse
from adatron.estimators._callbacks import CallbackSupportMixin, Reporter
from adatron.estimators._fit import Index, Settings, Training, Work, both, warn_unless_converged, watch_for, worst
from adatron.estimators._outcome import GAP, OBJECTIVE, VIOLATION, Outcome
from adatron.kernels import Precomputed, has_width, of_width, sigma_of, width_of
from adatron.model import Model
from adatron.precision import Arithmetic
from adatron.solution import Solution, Status

FEATURES = ("n_features_in_", "feature_names_in_")  # what validation says of them
HEAVIEST = 1e50  # weight of a row or class: its products with C and kernel values have to stay finite
CRITERIA = ("span", "bound", "xi-alpha", "cv", "loo", "auto")  # by which "adapt" chooses
NO_PROBABILITY = (
    "{name} has no {what}: fit CalibratedClassifierCV({name}(...), ensemble=False) from sklearn.calibration, "
    "whose predict_proba is calibrated on rows that the machine has not seen."
)


Starts = list[tuple[Index | None, Array]] | None  # of every part: its rows (None: all) and coefficients


@dataclass(frozen=True)
class Rows:
    """Training rows that count: those of weight zero are left out, as if they were not there."""

    X: Any
    y: NDArray[Any]
    weight: Array | None
    kept: Index | None  # their numbers in the data given; None: all
    shape: tuple[int, int]  # of the data given


def _weights(sample_weight: Any, rows: int) -> Array:
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


def is_plain(y: Any) -> bool:
    """Whether these are labels in the form in which they are used: a vector of integers."""
    return type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iub"


def forget(estimator: Any) -> None:
    """Drop what an earlier fit has left, but for what validation has just said of the new rows."""
    public = [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]
    for name in {*public, "_model", "_scheme", "_outcome"} - set(FEATURES):
        vars(estimator).pop(name, None)


class Machine(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """The common part of all estimators here."""

    def __new__(cls, *words: Any, **options: Any) -> Self:
        """An object; a parameter that scikit-learn's SVMs had and ours lack is answered with what to do instead."""
        if "probability" in options:
            raise TypeError(NO_PROBABILITY.format(name=cls.__name__, what="probability="))
        machine: Self = super().__new__(cls)
        return machine

    # ------------------------------------------------------------ data

    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _accepted(self) -> dict[str, Any]:
        return {
            "accept_sparse": False if self._precomputed() else "csr",
            "accept_large_sparse": True,
            "dtype": [np.float64, np.float32],
            "order": "C",
        }

    def _validated(self, X: Any, y: Any, sample_weight: Any, **how: Any) -> Rows:
        """Rows, targets and weights in one form; what was fitted before stays usable if they are refused."""
        known = {name: self.__dict__[name] for name in FEATURES if name in self.__dict__}
        try:
            return self._checked(X, y, sample_weight, **how)
        except BaseException:
            for name in FEATURES:
                self.__dict__.pop(name, None)
            self.__dict__.update(known)
            raise

    def _checked(self, X: Any, y: Any, sample_weight: Any, **how: Any) -> Rows:
        sound("X", X)
        if y is None and how.pop("unsupervised", False):
            X = self._as_matrix(X, reset=True)
            y = np.zeros(X.shape[0])
        elif (is_plain(y) and not how) or (is_ready(y, 1) and how == {"y_numeric": True}):  # nothing to convert
            X = self._as_matrix(X, reset=True)
            if X.shape[0] != len(y):
                check_consistent_length(X, y)
        else:
            X, y = validate_data(self, X, y, **self._accepted(), **how)
        if self._precomputed() and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X has shape {X.shape} with kernel='precomputed': pass the square matrix of kernel values."
            )
        if sample_weight is None:
            return Rows(X, y, None, None, X.shape)
        weight = _weights(sample_weight, X.shape[0])
        if (weight > 0).all():
            return Rows(X, y, weight, None, X.shape)
        return self._part(Rows(X, y, weight, None, X.shape), np.flatnonzero(weight).astype(np.int64))

    def _as_matrix(self, X: Any, *, reset: bool) -> Any:
        """X as the core takes it; ``reset``: from here on, this is what the machine knows of features.

        scikit-learn's validation takes 0.1 ms to find out that there is nothing to do, a quarter of a small fit.
        """
        if is_ready(X, 2) and (reset or self._is_as_fitted(X)):
            if reset:
                self.n_features_in_ = X.shape[1]
                self.__dict__.pop("feature_names_in_", None)
            return X
        return validate_data(self, X, reset=reset, **self._accepted())

    def _is_as_fitted(self, X: NDArray[Any]) -> bool:
        return self.n_features_in_ == X.shape[1] and not hasattr(self, "feature_names_in_")

    def _part(self, rows: Rows, index: Index) -> Rows:
        """Some of the rows."""
        X = rows.X[np.ix_(index, index)] if self._precomputed() else rows.X[index]
        weight = None if rows.weight is None else rows.weight[index]
        return Rows(X, rows.y[index], weight, index if rows.kept is None else rows.kept[index], rows.shape)

    # ------------------------------------------------------------ fit

    def _adapted(self, settings: Settings, rows: Rows) -> tuple[Self, Settings, Starts]:
        """Who makes the problems, with what settings, from where: whoever says "adapt" finds out first.

        What was chosen is in ``path_``; ``gamma_``, ``sigma_`` and ``C_`` tell what the machine is trained with.
        """
        maker, starts = self, None
        if hasattr(self, "criterion"):
            choice("criterion", self.criterion, CRITERIA)
        forget(self)
        if settings.adapts:
            from adatron.selection.adapt import adapt

            began = perf_counter()
            self.path_, starts = adapt(self, settings, rows)
            chosen = self.path_.best
            maker = copy(self)
            if "C" in settings.adapts:
                maker.C = chosen.C
            if "epsilon" in settings.adapts:
                maker.epsilon = self.path_.epsilon
            if "gamma" in settings.adapts:
                settings = replace(settings, kernel=of_width(settings.kernel, chosen.gamma))
            if settings.max_time is not None:
                settings = replace(settings, max_time=max(settings.max_time - (perf_counter() - began), 1e-3))
        if has_width(settings.kernel):
            settings = replace(settings, kernel=settings.kernel.resolve(rows.X, rows.weight))
            self.gamma_ = width_of(settings.kernel)
            self.sigma_ = sigma_of(settings.kernel, self.gamma_)
        if isinstance(maker.__dict__.get("C"), Real):
            self.C_ = cost("C", maker.C)
        return maker, settings, starts

    def _solve(
        self,
        settings: Settings,
        training: Training,
        rows: Rows,
        work: Work,
        attributes: Callable[[Array, Array], dict[str, Any]],
    ) -> Outcome:
        """Solve the problems; ``attributes`` makes a model of coefficients and biases, for callbacks on the way."""
        watch = watch_for(settings)
        work = self._warmed(rows, work)

        def state() -> dict[str, Any]:
            return attributes(watch.coef(), np.array([watch.last.bias if watch.last else 0.0]))

        epochs = settings.max_iter if settings.max_iter > 0 and settings.solver.about.iteration == "epoch" else None
        self._reporter = Reporter(
            self, rows.X, rows.y, rows.weight, max_epochs=epochs, state=state if len(work) == 1 else None
        )
        if self._reporter.wanted:
            watch.progress = both(watch.progress, self._reporter)
        outcome = training.solve(work, watch)
        if self.warm_start:
            self._warm = (self._fingerprint(rows), outcome.betas())
        return outcome

    def _warmed(self, rows: Rows, work: Work) -> Work:
        """The problems with the last fit's coefficients to start from, if that had the same rows."""
        if not self.warm_start or not hasattr(self, "_warm"):
            return work
        fingerprint, betas = self._warm
        sizes = np.diff(work.tasks.start).tolist()
        fits = len(betas) == len(work) and all(len(b) in (n, 2 * n) for b, n in zip(betas, sizes, strict=True))
        if not fits or fingerprint != self._fingerprint(rows):
            return work
        return replace(work, starts=betas, job=lambda k: replace(work.job(k), start=betas[k]), made={})

    def _fingerprint(self, rows: Rows) -> bytes:
        """Of the rows and targets."""
        digest = blake2b(digest_size=16)
        X = rows.X
        for part in (X.data, X.indices, X.indptr) if is_sparse(X) else (X,):
            digest.update(np.ascontiguousarray(part).data)
        digest.update(np.unique(rows.y, return_inverse=True)[1].tobytes())
        return digest.digest()

    def _conclude(self, settings: Settings, rows: Rows, outcome: Outcome) -> None:
        """The attributes that tell how the fit went; loud if it did not go well."""
        self.shape_fit_ = rows.shape
        self._outcome = outcome
        self.converged_ = outcome.converged
        fitted = (Status.CONVERGED, Status.STATIONARY)  # as far as scikit-learn asks
        self.fit_status_ = int(any(status not in fitted for status in outcome.statuses))
        told = outcome.statuses[worst(outcome)]
        assert told is not None
        self.stop_reason_ = told.value
        table = outcome.certificates
        self.objective_ = float(table[:, OBJECTIVE].sum())
        self.duality_gap_ = float(table[:, GAP].max())  # NaN if any is
        self.kkt_violation_ = float(table[:, VIOLATION].max())
        self._reporter.end()
        del self._reporter
        warn_unless_converged(settings, outcome, quiet=getattr(self, "_searching", False))

    @property
    def solutions_(self) -> list[Solution]:
        """One solution per binary classifier, or the one of any other model."""
        outcome: Outcome = self._outcome
        return outcome.solutions

    @property
    def trace_(self) -> Any:
        """What the solver reported on its way; with several binary classifiers a list of theirs."""
        traces = [solution.trace for solution in self.solutions_]
        return traces[0] if len(traces) == 1 else traces

    def _set_support(self, training: Training, rows: Rows, support: Index) -> None:
        """Which rows support the machine, numbered as in the data given to fit."""
        given = support if rows.kept is None else rows.kept[support]
        self.support_ = given.astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if training.settings.precomputed else rows.X[support]

    def _model_of(
        self,
        training: Training,
        rows: Rows,
        support: Index,
        coef: Array,
        bias: Array,
        arithmetic: Arithmetic,
        edges: tuple[int, ...] = (),
    ) -> Model:
        given = support if rows.kept is None else rows.kept[support]
        points = given if training.settings.precomputed else rows.X[support]
        return Model(training.kernel, points, coef, bias, arithmetic, edges)

    # ------------------------------------------------------------ fitted

    def _values(self, X: Any) -> Array:
        check_is_fitted(self, "_model")
        sound("X", X)
        X = self._as_matrix(X, reset=False)
        model: Model = self._model
        values = model.decision(X, self.n_jobs)
        if not (finite := np.isfinite(values).all(axis=1)).all():
            warnings.warn(
                f"X has {np.count_nonzero(~finite)} rows on which kernel={model.kernel!r} overflows, row "
                f"{int(finite.argmin())} first: their decision values are not finite. Scale the features.",
                UserWarning,
                stacklevel=3,
            )
        return values

    @property
    def coef_(self) -> Array:
        """The weights of the features; of the linear kernel only."""
        if not (isinstance(self.kernel, str) and self.kernel == "linear"):
            raise AttributeError(f"coef_ exists for kernel='linear' only; this kernel is {self.kernel!r}.")
        check_is_fitted(self, "_model")
        model: Model = self._model
        return model.weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._precomputed()
        tags.input_tags.pairwise = self._precomputed()
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = str(super().__repr__(N_CHAR_MAX))
        if hasattr(self, "stop_reason_") and self.stop_reason_ != Status.CONVERGED.value:
            text += f"  # {self.stop_reason_}"
        return text
