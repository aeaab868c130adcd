"""The support vector machine that learns what is usual."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from adatron._check import Array
from adatron.estimators._callbacks import with_callbacks
from adatron.estimators._machine import Machine
from adatron.estimators._outcome import Outcome
from adatron.estimators._training import Training
from adatron.kernels import Linear
from adatron.model import Model
from adatron.plan import Classes, Plan, Spec

ROUNDING = {np.float32: 1e-6, np.float64: 1e-13}  # of a decision value, relative to the offset


class OneClassSVM(OutlierMixin, Machine):  # type: ignore[misc]
    """Support vectors of one class: a boundary around most of the data.

    Minimises ½‖w‖² − νmρ + Σ max(0, ρ − ⟨w, φ(x_i)⟩); a point is usual where ⟨w, φ(x)⟩ ≥ ρ. ν bounds the share of
    training rows left outside from above, and the share of support vectors from below.

    Parameters
    ----------
    nu : greater than 0 and at most 1. Where it leaves no boundary, because the origin lies inside the mapped data (a
        linear kernel on centred data), every row is called usual, with a warning that says what to pass instead.
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, random_state, solver, max_time,
    warm_start, n_jobs : as of `SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, offset_, coef_, n_iter_, fit_status_, shape_fit_ :
    as in scikit-learn. converged_, stop_reason_, objective_, duality_gap_, kkt_violation_, trace_, solutions_ : as of
    `SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from adatron import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> machine = OneClassSVM(nu=0.1, gamma=0.5).fit(X)
    >>> machine.predict([[0.0, 0.0], [5.0, 5.0]]).tolist()
    [1, -1]
    """

    _target_options: ClassVar[dict[str, Any] | None] = None

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 2000,
        verbose: bool = False,
        max_iter: int = -1,
        random_state: Any = None,
        solver: Any = "auto",
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.random_state = random_state
        self.solver = solver
        self.max_time = max_time
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows X what is usual; y is not looked at. A row of weight w counts as w equal rows."""
        return self._fit(X, None, sample_weight)

    def _spec(self, adapts: tuple[str, ...]) -> Spec:
        return Spec("one_class", nu=self.nu)

    def _state(self, model: Model, plan: Plan) -> dict[str, Any]:
        return {"_model": model, "offset_": -model.bias}

    def _take_over(
        self, model: Model, plan: Plan, classes: Classes | None, support: Any, outcome: Outcome, training: Training
    ) -> None:
        margin = training.margins.get(0)
        if margin is not None and margin.flat:
            # ⟨w, φ(x)⟩ = ρ = 0 for every x: what rounding leaves of that would decide every prediction
            model = replace(model, coef=np.zeros_like(model.coef), bias=np.zeros(1))
            larger = f", or nu of at least {margin.smallest:.6g}" if margin.smallest else ""
            warnings.warn(
                f"nu={self.nu:g} leaves no boundary: with this kernel the origin lies inside the data, as it does for "
                f"kernel='linear' on centred data, so every row is called usual; pass kernel='rbf', or data that are "
                f"not centred{larger}.",
                UserWarning,
                stacklevel=5,  # past `_fit`, fit and the callbacks around it
            )
        super()._take_over(model, plan, classes, support, outcome, training)
        self.offset_ = 0.0 - self.intercept_

    def decision_function(self, X: Any) -> Array:
        """How far inside the boundary each row lies; negative outside, and zero on it but for rounding."""
        values = self._values(X)[:, 0]
        dtype = np.float64 if isinstance(self._model.kernel, Linear) else self._model.arithmetic.dtype.type
        known = self.solutions_[0].certificate.rounding if hasattr(self, "solutions_") else 0.0
        rounding = min(ROUNDING[dtype] * float(np.abs(self.offset_).max()), known, 0.5 * self.tol)
        return np.where(np.abs(values) <= rounding, 0.0, values)

    def score_samples(self, X: Any) -> Array:
        """The decision value without the offset."""
        return np.asarray(self.decision_function(X) + self.offset_)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """1 for what is usual, -1 for what is not."""
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)
