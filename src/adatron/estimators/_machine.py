"""What all support vector machines share as scikit-learn estimators: their data, their fit, their attributes."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from hashlib import blake2b
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from adatron._check import Array, choice, sound
from adatron._rows import is_ready, is_sparse
from adatron.estimators._assembly import assembled, class_distances
from adatron.estimators._callbacks import CallbackSupportMixin, Reporter
from adatron.estimators._matrix import TrainingMatrix
from adatron.estimators._outcome import BIAS, GAP, OBJECTIVE, RHO, VIOLATION, Outcome
from adatron.estimators._report import both, warn_unless_converged, watch_for, worst
from adatron.estimators._settings import settings_of
from adatron.estimators._training import Training
from adatron.kernels import Precomputed, has_width, of_width, sigma_of, width_of
from adatron.model import Model
from adatron.plan import Classes, Learning, Plan, Settings, Spec, TrainingData, is_unsaid, said_once, sample_weights
from adatron.precision import EXACT, Arithmetic
from adatron.solution import Solution, Status

FEATURES = ("n_features_in_", "feature_names_in_")  # what validation says of them
CRITERIA = ("span", "bound", "xi-alpha", "cv", "loo", "auto")  # by which "adapt" chooses
NO_PROBABILITY = (
    "{name} has no {what}: fit CalibratedClassifierCV({name}(...), ensemble=False) from sklearn.calibration, "
    "whose predict_proba is calibrated on rows that the machine has not seen."
)


def is_plain(y: Any) -> bool:
    """Whether these are labels in the form in which they are used: a vector of integers."""
    return type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iub"


def forget(estimator: Any) -> None:
    """Drop what an earlier fit has left, but for what validation has just said of the new rows."""
    known = vars(estimator)
    for name in [name for name in known if name.endswith("_") and not name.startswith("_") and name not in FEATURES]:
        del known[name]
    for name in ("_model", "_scheme", "_outcome"):
        known.pop(name, None)


class Machine(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """The common part of all estimators here."""

    _target_options: ClassVar[dict[str, Any] | None] = {}  # how they are validated; None: not looked at

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

    def _validated(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        """Rows, targets and weights in one form; what was fitted before stays usable if they are refused."""
        known = {name: self.__dict__[name] for name in FEATURES if name in self.__dict__}
        try:
            return self._checked(X, y, sample_weight)
        except BaseException:
            for name in FEATURES:
                self.__dict__.pop(name, None)
            self.__dict__.update(known)
            raise

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        sound("X", X)
        how = self._target_options
        if how is None:
            X = self._as_matrix(X, reset=True)
            y = np.zeros(X.shape[0])
        elif is_ready(y, 1) if how else is_plain(y):  # nothing to convert
            X = self._as_matrix(X, reset=True)
            if X.shape[0] != len(y):
                check_consistent_length(X, y)
        else:
            X, y = validate_data(self, X, y, **self._accepted(), **how)
        if self._precomputed() and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X has shape {X.shape} with kernel='precomputed': pass the square matrix of kernel values."
            )
        weight = None if sample_weight is None else sample_weights(sample_weight, X.shape[0])
        return TrainingData(X, y, weight, None, X.shape, self._precomputed())

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

    # ------------------------------------------------------------ fit

    @abstractmethod
    def _spec(self, adapts: tuple[str, ...]) -> Spec:
        """What the parameters say is learnt; those to be chosen automatically have any value."""

    def _learning(self, X: Any, y: Any, sample_weight: Any) -> Learning:
        settings = settings_of(self)
        spec = self._spec(settings.adapts)
        return Learning(spec, settings, self._validated(X, y, sample_weight), self)

    def learning_plan(self, X: Any, y: Any = None, sample_weight: Any = None) -> Learning:
        """What ``fit`` would learn from these rows: parameters and data, checked; nothing is computed or kept.

        `adatron.selection` works from it.

        Parameters
        ----------
        X, y, sample_weight : as of ``fit``.

        Returns
        -------
        Learning
            With ``spec`` (the loss and its parameters), ``settings`` (kernel, tolerance, limits, solver), ``data`` (the
            rows as they are used) and ``estimator``.
        """
        return copy(self)._learning(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, held_out: Any = None) -> Self:
        """The one story of every fit: validate, plan, kernel matrix, solve, model."""
        learning = self._learning(X, y, sample_weight)
        data, classes = self._classes(learning.spec, learning.data.weighted())
        spec, settings, starts = self._adapted(learning.spec, learning.settings, data)
        matrix = TrainingMatrix(settings, data.X, data.weight, spec.offset)
        if classes is None:
            plan = Plan.of_targets(spec, data.y, data.weight)
        else:
            plan = Plan.of_classes(spec, classes, data.weight, lambda _: class_distances(matrix, classes.numbers))
        held = None if held_out is None else self._held_out(matrix, plan, held_out)
        training = Training(matrix, plan, self._warmed(data, plan, starts), held)
        numbers = None if classes is None else classes.numbers

        def made(coef: Array, biases: Array, arithmetic: Arithmetic = EXACT) -> tuple[Model, Any]:
            return assembled(matrix, data, plan, numbers, coef, biases, arithmetic)

        outcome = self._solve(training, data, lambda coef, biases: self._state(made(coef, biases)[0], plan))
        table = outcome.certificates
        flat = [k for k, margin in training.margins.items() if margin.flat]
        coef, biases = plan.outputs(outcome.coef, table[:, BIAS], table[:, RHO], flat)
        model, support = made(coef, biases, training.arithmetic(outcome))
        self.support_ = data.given(support).astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if data.precomputed else data.X[support]
        self._take_over(model, plan, classes, support, outcome, training)
        self._conclude(settings, data, outcome)
        return self

    def _classes(self, spec: Spec, data: TrainingData) -> tuple[TrainingData, Classes | None]:
        """The rows that count and, of a classifier, their classes."""
        return data, None

    def _held_out(
        self, matrix: TrainingMatrix, plan: Plan, held_out: Any
    ) -> Sequence[Callable[[Array, float], float]] | None:
        """For each task, the error of its classifier on other rows."""
        return None

    def _state(self, model: Model, plan: Plan) -> dict[str, Any]:
        """The attributes that make a usable estimator of a model, for callbacks on the way."""
        return {"_model": model}

    def _take_over(
        self, model: Model, plan: Plan, classes: Classes | None, support: Any, outcome: Outcome, training: Training
    ) -> None:
        """The fitted attributes that come from the model, and what there is to say of the parameters."""
        self._model = model
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self.dual_coef_ = model.coef
        self.intercept_ = model.bias
        self.n_iter_: Any = int(outcome.n_iter[0])

    def _adapted(
        self, spec: Spec, settings: Settings, data: TrainingData
    ) -> tuple[Spec, Settings, Sequence[Array | None] | None]:
        """What is learnt and how, and where to start: parameters that say "adapt" are chosen first.

        What was chosen is in ``path_``; ``gamma_``, ``sigma_`` and ``C_`` tell what the model is trained with.
        """
        starts = None
        criterion = choice("criterion", self.criterion, CRITERIA) if hasattr(self, "criterion") else ""
        forget(self)
        if settings.adapts:
            from adatron.selection.adapt import adapt

            began = perf_counter()
            scoring = getattr(self, "scoring", None)
            with said_once():
                self.path_, starts = adapt(Learning(spec, settings, data, self), criterion, scoring)
            chosen = self.path_.best
            if "C" in settings.adapts:
                spec = spec.with_C(chosen.C)
            if "epsilon" in settings.adapts:
                spec = replace(spec, epsilon=self.path_.epsilon)
            if "gamma" in settings.adapts:
                settings = replace(settings, kernel=of_width(settings.kernel, chosen.gamma))
            if settings.max_time is not None:
                settings = replace(settings, max_time=max(settings.max_time - (perf_counter() - began), 1e-3))
        if has_width(settings.kernel):
            settings = replace(settings, kernel=settings.kernel.resolve(data.X, data.weight))
            self.gamma_ = width_of(settings.kernel)
            self.sigma_ = sigma_of(settings.kernel, self.gamma_)
        if spec.C is not None:
            self.C_ = spec.C
        return spec, settings, starts

    def _solve(
        self, training: Training, data: TrainingData, state_of: Callable[[Array, Array], dict[str, Any]]
    ) -> Outcome:
        """Solve the problems; ``state_of`` makes attributes of coefficients and biases, for callbacks on the way."""
        settings = training.settings
        watch = watch_for(settings)

        def state() -> dict[str, Any]:
            return state_of(watch.coef(), np.array([watch.last.bias if watch.last else 0.0]))

        epochs = settings.max_iter if settings.max_iter > 0 and settings.solver.about.iteration == "epoch" else None
        alone = len(training.plan) == 1
        self._reporter = Reporter(self, data.X, data.y, data.weight, max_epochs=epochs, state=state if alone else None)
        if self._reporter.wanted:
            watch.progress = both(watch.progress, self._reporter)
        outcome = training.solve(watch)
        if self.warm_start:
            self._warm = (self._fingerprint(data), outcome.betas())
        return outcome

    def _warmed(
        self, data: TrainingData, plan: Plan, starts: Sequence[Array | None] | None
    ) -> Sequence[Array | None] | None:
        """Where to start: from the last fit's coefficients, if that is wanted and had the same rows."""
        if not self.warm_start or not hasattr(self, "_warm"):
            return starts
        fingerprint, betas = self._warm
        sizes = plan.tasks.sizes.tolist()
        fits = len(betas) == len(plan) and all(len(b) in (n, 2 * n) for b, n in zip(betas, sizes, strict=True))
        return betas if fits and fingerprint == self._fingerprint(data) else starts

    def _fingerprint(self, data: TrainingData) -> bytes:
        """Of the rows and targets."""
        digest = blake2b(digest_size=16)
        X = data.X
        for part in (X.data, X.indices, X.indptr) if is_sparse(X) else (X,):
            digest.update(np.ascontiguousarray(part).data)
        digest.update(np.unique(data.y, return_inverse=True)[1].tobytes())
        return digest.digest()

    def _conclude(self, settings: Settings, data: TrainingData, outcome: Outcome) -> None:
        """The attributes that tell how the fit went; loud if it did not go well."""
        self.shape_fit_ = data.shape
        self._outcome = outcome
        self.converged_ = outcome.converged
        fitted = (Status.CONVERGED, Status.STATIONARY)  # as far as scikit-learn asks
        self.fit_status_ = int(any(status not in fitted for status in outcome.statuses))
        told = Status.CONVERGED if self.converged_ else outcome.statuses[worst(outcome)]
        assert told is not None
        self.stop_reason_ = told.value
        self.objective_ = float(outcome.certificates[:, OBJECTIVE].sum())
        largest = outcome.certificates.max(axis=0).tolist()  # NaN if any is
        self.duality_gap_, self.kkt_violation_ = largest[GAP], largest[VIOLATION]
        self._reporter.end()
        del self._reporter
        warn_unless_converged(settings, outcome, quiet=is_unsaid("convergence"))

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
