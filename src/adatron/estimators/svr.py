"""The support vector regressors, with ε and with ν."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import RegressorMixin

from adatron._check import Array
from adatron.estimators._callbacks import with_callbacks
from adatron.estimators._machine import Machine
from adatron.estimators._outcome import Outcome
from adatron.estimators._training import Training
from adatron.model import Model
from adatron.plan import Classes, Plan, Spec


class KernelRegressor(RegressorMixin, Machine):  # type: ignore[misc]
    """A regressor whose problem has two coefficients per row."""

    _target_options: ClassVar[dict[str, Any] | None] = {"y_numeric": True}

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X and their targets y; a row of weight w counts as w equal rows."""
        return self._fit(X, y, sample_weight)

    def predict(self, X: Any) -> Array:
        """The value at each row."""
        return self._values(X)[:, 0]


class SVR(KernelRegressor):
    """Support vector regression with an ε-insensitive loss.

    Minimises ½‖w‖² + Σ C_i max(0, |t_i − ⟨w, φ(x_i)⟩ − b| − ε), where C_i is C times the row's weight.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, random_state, solver, bias, augment,
    max_time, warm_start, n_jobs : as of `SVC`.
    C : price of a deviation beyond epsilon; ``np.inf`` allows none; "adapt" finds it out, as ``gamma="adapt"`` does
        the kernel's width.
    criterion : by what "adapt" chooses: "cv", five folds, or "loo", one row left out at a time.
    scoring : what "cv" and "loo" maximise: None for the least mean squared error, or as of `SVC`.
    epsilon : half the width of the tube in which deviations cost nothing, in the unit of the targets; "adapt" takes
        3 s √(ln m / m), where s is the root of the mean squared error in cross-validation.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, fit_status_, shape_fit_ : as in
    scikit-learn. converged_, stop_reason_, objective_, duality_gap_, kkt_violation_, trace_, solutions_, gamma_,
    sigma_, C_, path_ : as of `SVC`. epsilon_ : what it was trained with.

    Examples
    --------
    >>> import numpy as np
    >>> from adatron import SVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> machine = SVR(C=10, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(machine.predict([[1.0]])[0] - np.sin(1.0)) < 0.06)
    True
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float | str = 1.0,
        epsilon: float | str = 0.1,
        shrinking: bool = True,
        cache_size: float = 2000,
        verbose: bool = False,
        max_iter: int = -1,
        random_state: Any = None,
        solver: Any = "auto",
        bias: str = "exact",
        augment: float = 1.0,
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        criterion: str = "cv",
        scoring: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.random_state = random_state
        self.solver = solver
        self.bias = bias
        self.augment = augment
        self.max_time = max_time
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.criterion = criterion
        self.scoring = scoring

    def _spec(self, adapts: tuple[str, ...]) -> Spec:
        return Spec(
            "epsilon_regression",
            C=1.0 if "C" in adapts else self.C,  # type: ignore[arg-type]
            epsilon=0.0 if "epsilon" in adapts else self.epsilon,  # type: ignore[arg-type]
            bias=self.bias,  # type: ignore[arg-type]
            augment=self.augment,
        )

    def _take_over(
        self, model: Model, plan: Plan, classes: Classes | None, support: Any, outcome: Outcome, training: Training
    ) -> None:
        super()._take_over(model, plan, classes, support, outcome, training)
        self.epsilon_ = plan.spec.epsilon


class NuSVR(KernelRegressor):
    """Support vector regression with ν in the place of ε.

    Minimises ½‖w‖² + C (νmε + Σ max(0, |t_i − ⟨w, φ(x_i)⟩ − b| − ε)) over ε too. ν bounds the share of rows outside the
    tube from above, and the share of support vectors from below.

    Parameters
    ----------
    nu : greater than 0 and at most 1.
    C, kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, random_state, solver, max_time,
    warm_start, n_jobs, criterion, scoring : as of `SVR`.

    Attributes
    ----------
    As of `SVR`; epsilon_ is the width that was found.

    Examples
    --------
    >>> import numpy as np
    >>> from adatron import NuSVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> machine = NuSVR(C=10, nu=0.3).fit(X, np.sin(X[:, 0]))
    >>> machine.score(X, np.sin(X[:, 0])) > 0.98
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float | str = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        shrinking: bool = True,
        cache_size: float = 2000,
        verbose: bool = False,
        max_iter: int = -1,
        random_state: Any = None,
        solver: Any = "auto",
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        criterion: str = "cv",
        scoring: Any = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.random_state = random_state
        self.solver = solver
        self.max_time = max_time
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.criterion = criterion
        self.scoring = scoring

    def _spec(self, adapts: tuple[str, ...]) -> Spec:
        return Spec("nu_regression", C=1.0 if "C" in adapts else self.C, nu=self.nu)  # type: ignore[arg-type]

    @property
    def epsilon_(self) -> float:
        """The half width of the tube."""
        return -float(self.solutions_[0].model_rho)
