"""The support vector classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from adatron import problems
from adatron._check import Array, choice, finite_vector, real
from adatron.estimators._callbacks import CallbackSupportMixin, Reporter, with_callbacks
from adatron.estimators._fit import Settings, Task, both, warn_unless_converged, watch_for
from adatron.kernels import Precomputed
from adatron.solution import Status

LOSSES = {"hinge": problems.hinge, "squared_hinge": problems.squared_hinge}


class SVC(CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Support vector classification of two classes.

    Minimises ½‖w‖² + Σ C_i ξ_i with ξ_i = max(0, 1 − y_i (⟨w, φ(x_i)⟩ + b)), or ξ_i² for the squared hinge, where
    C_i is C times the class's and the row's weight, and ⟨φ(x), φ(x')⟩ is the kernel.

    Parameters
    ----------
    C : price of a margin violation; ``np.inf`` for the hard margin.
    kernel : "linear", "poly", "rbf", "sigmoid", "exponential", "laplacian", "precomputed", a kernel object of
        `adatron.kernels`, or a function of two matrices.
    degree, gamma, coef0 : of the kernels given by name, as in scikit-learn.
    tol : largest KKT violation to be content with.
    cache_size : megabytes of kernel rows to keep at most.
    class_weight : None, "balanced" or a dict; scales C.
    max_iter : most iterations, of whatever the solver counts (see `adatron.solvers.describe`); -1 for no limit.
    shrinking : whether rows far from the margin may be set aside while climbing.
    decision_function_shape, break_ties : as in scikit-learn; they have no effect with two classes.
    random_state : seeds the solver: samples with which a climb over many rows begins, random orders and partners.
    verbose : print a line a second.
    loss : "hinge" or "squared_hinge".
    solver : "auto", a name in `adatron.solvers.SOLVERS` (`adatron.solvers.describe` tells them apart), or a solver
        object with its own options, such as ``adatron.solvers.Adatron(rate=0.5)``.
    bias : "exact" (Σβ = 0), "augmented" (kernel + augment²) or "none" (through the origin).
    max_time : seconds after which the best machine so far is returned, with a warning.
    n_jobs : threads; None for as many as OpenMP and threadpoolctl allow.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, classes_, coef_, n_iter_, fit_status_,
    shape_fit_ : as in scikit-learn.
    converged_, stop_reason_ : whether and why the climb ended.
    objective_, duality_gap_, kkt_violation_ : the certificate, computed from the coefficients alone.
    trace_ : what the climb reported on its way, a row an epoch or some steps; ``trace_.frame()`` for pandas.
    solutions_ : one `adatron.solution.Solution` a machine.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from adatron import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> machine = make_pipeline(StandardScaler(), SVC(C=10)).fit(X, y)
    >>> machine.score(X, y) > 0.98
    True
    >>> machine[-1].duality_gap_ < 1e-3
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_size: float = 2000,
        class_weight: Any = None,
        max_iter: int = -1,
        shrinking: bool = True,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        verbose: bool = False,
        loss: str = "hinge",
        solver: Any = "auto",
        bias: str = "exact",
        augment: float = 1.0,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.verbose = verbose
        self.loss = loss
        self.solver = solver
        self.bias = bias
        self.augment = augment
        self.max_time = max_time
        self.n_jobs = n_jobs

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, held_out: Any = None) -> Self:
        """Learn from rows X and their classes y.

        ``held_out``, a pair of other rows and their classes, adds the column "error" to ``trace_``: the share of them
        that the machine gets wrong as it stands.
        """
        settings = Settings.of(self)
        watch = watch_for(settings, type(self).__name__)
        C = real("C", self.C, above=0, infinite=True)
        constructor = LOSSES[choice("loss", self.loss, list(LOSSES))]
        X, y = validate_data(self, X, y, **self._accepted())
        if settings.precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X has shape {X.shape} with kernel='precomputed': pass the square matrix of kernel values."
            )
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) != 2:
            held = "one class" if len(classes) == 1 else f"{len(classes)} classes"
            raise ValueError(f"y holds {held}, {classes[:5].tolist()}: pass rows of two classes.")
        weight = self._weights(classes, y, sample_weight)
        problem = constructor(2.0 * labels - 1.0, C, bias=settings.bias, weight=weight)
        task = Task(settings, X, problem)
        watch.held_out = self._held_out(task, classes, held_out)

        def state() -> dict[str, Any]:
            model = task.model(watch.coef(), watch.last.bias if watch.last else 0.0)
            return {"_model": model, "classes_": classes, "intercept_": model.bias}

        epochs = settings.max_iter if settings.max_iter > 0 and settings.solver.about.iteration == "epoch" else None
        reporter = Reporter(self, X, y, sample_weight, max_epochs=epochs, state=state)
        watch.progress = both(watch.progress, reporter if reporter.wanted else None)
        fitted = task.solve(watch)

        by_class = np.argsort(labels[fitted.support], kind="stable")  # as scikit-learn orders them
        self._model = fitted.model
        self.classes_ = classes
        self.support_ = fitted.support[by_class].astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if settings.precomputed else X[self.support_]
        self.dual_coef_ = fitted.model.coef[:, by_class]
        self.intercept_ = fitted.model.bias
        self.n_support_ = np.bincount(labels[self.support_], minlength=2).astype(np.int32)
        self.shape_fit_ = X.shape
        self.solutions_ = [fitted.solution]
        self.trace_ = fitted.solution.trace
        self.n_iter_ = np.array([fitted.solution.n_iter], dtype=np.int64)
        self.converged_ = fitted.solution.converged
        self.fit_status_ = int(not self.converged_)
        self.stop_reason_ = fitted.solution.status.value
        self.objective_ = fitted.solution.certificate.objective
        self.duality_gap_ = fitted.solution.certificate.gap
        self.kkt_violation_ = fitted.solution.certificate.kkt_violation
        reporter.end()
        warn_unless_converged(type(self).__name__, settings.tol, fitted.solution)
        return self

    def decision_function(self, X: Any) -> Array:
        """The signed distance from the boundary, in units where the margin is 1; positive for ``classes_[1]``."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._accepted())
        return self._model.decision(X, self.n_jobs)[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        values = self.decision_function(X)
        return np.asarray(self.classes_[(values > 0).astype(int)])

    @property
    def coef_(self) -> Array:
        """The weights of the features; of the linear kernel only."""
        if self.kernel != "linear":
            raise AttributeError(f"coef_ exists for kernel='linear' only; this kernel is {self.kernel!r}.")
        check_is_fitted(self)
        return self._model.weights

    def _precomputed(self) -> bool:
        return self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)

    def _accepted(self) -> dict[str, Any]:
        return {
            "accept_sparse": False if self._precomputed() else "csr",
            "accept_large_sparse": False,
            "dtype": [np.float64, np.float32],
            "order": "C",
        }

    def _held_out(self, task: Task, classes: NDArray[Any], held_out: Any) -> Callable[[Array, float], float] | None:
        """The error of a machine on other data."""
        if held_out is None:
            return None
        if not (isinstance(held_out, tuple | list) and len(held_out) == 2):
            raise ValueError(f"held_out={type(held_out).__name__} is no pair: pass (X, y) of rows to test on.")
        X, y = validate_data(self, *held_out, reset=False, **self._accepted())
        return lambda coef, bias: float(
            np.mean(classes[(task.model(coef, bias).decision(X, self.n_jobs)[:, 0] > 0).astype(int)] != y)
        )

    def _weights(self, classes: NDArray[Any], y: NDArray[Any], sample_weight: Any) -> Array:
        scale = compute_class_weight(self.class_weight, classes=classes, y=y)
        weight = np.asarray(scale, dtype=np.float64)[np.searchsorted(classes, y)]
        if (scale < 0).any():
            raise ValueError(f"class_weight={self.class_weight!r} is negative: pass weights of at least 0.")
        if sample_weight is None:
            return weight
        if np.ndim(sample_weight) == 0:
            sample_weight = np.full(len(y), sample_weight)
        given = finite_vector("sample_weight", sample_weight, length=len(y))
        if (given < 0).any() or not given.any():
            span = f"{given.min():g} to {given.max():g}"
            raise ValueError(f"sample_weight runs from {span}: pass weights of at least 0, and not only 0.")
        return weight * given

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._precomputed()
        tags.input_tags.pairwise = self._precomputed()
        tags.classifier_tags.multi_class = False
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = str(super().__repr__(N_CHAR_MAX))
        if hasattr(self, "stop_reason_") and self.stop_reason_ != Status.CONVERGED.value:
            text += f"  # {self.stop_reason_}"
        return text
