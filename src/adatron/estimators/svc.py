"""The support vector classifiers, with C and with ν."""

from __future__ import annotations

from typing import Any, cast

from adatron._check import choice
from adatron.estimators._classifier import KernelClassifier
from adatron.plan import LOSSES, Spec, Use


class SVC(KernelClassifier):
    """Support vector classification.

    Minimises ½‖w‖² + Σ C_i ξ_i with ξ_i = max(0, 1 − y_i (⟨w, φ(x_i)⟩ + b)), or ξ_i² for the squared hinge, where
    C_i is C times the class's and the row's weight, and ⟨φ(x), φ(x')⟩ is the kernel.

    Parameters
    ----------
    C : price of a margin violation; ``np.inf`` for the hard margin; "adapt" finds it out while training.
    kernel : "linear", "poly", "rbf", "sigmoid", "exponential", "laplacian", "precomputed", a kernel object of
        `adatron.kernels`, or a function of two matrices.
    degree, gamma, coef0 : of the kernels given by name, as in scikit-learn; ``gamma="adapt"`` finds the width out
        while training, without a validation set (`adatron.selection`).
    tol : largest KKT violation to be content with.
    cache_size : megabytes of kernel rows to keep at most.
    class_weight : None, "balanced" or a dict; scales C.
    max_iter : most iterations, of whatever the solver counts (see `adatron.solvers.describe`); -1 for no limit.
    shrinking : whether rows far from the margin may be set aside while climbing.
    decision_function_shape, break_ties : as in scikit-learn; they have no effect with two classes.
    multiclass : how more than two classes are told apart: "ovo", a machine a pair and votes, as in scikit-learn;
        "ovr", a machine a class against the rest; "tree", N - 1 machines, each parting a group of classes in two.
    random_state : seeds the solver: samples with which a climb over many rows begins, random orders and partners.
    verbose : print a line a second.
    loss : "hinge" or "squared_hinge".
    solver : "auto", a name in `adatron.solvers.SOLVERS` (`adatron.solvers.describe` tells them apart), or a solver
        object with its own options, such as ``adatron.solvers.Adatron(rate=0.5)``. "auto" is "linear" for
        kernel="linear" and binary problems of more than 1,000 rows, unless C is infinite or max_iter limits the
        steps; else "decomposition".
    bias : "exact" (Σβ = 0), "augmented" (kernel + augment²) or "none" (through the origin).
    warm_start : whether the next fit starts from this one's coefficients, if it has the same rows; C, the kernel and
        other parameters may differ.
    max_time : seconds after which the best machine so far is returned, with a warning.
    n_jobs : threads; None for as many as OpenMP and threadpoolctl allow.
    criterion : by what "adapt" chooses: "cv", cross-validation on up to 4,096 rows; "loo", leaving one row out at a
        time; "span", the leave-one-out error that the span rule predicts; "bound", the margin's; "xi-alpha",
        Joachims's estimate; "auto", "cv" unless a class has one row only, and then "span".
    scoring : what "cv" and "loo" maximise: None for accuracy, in which rows count by their weights and those of their
        classes; "balanced_accuracy" or any other of scikit-learn's names; or a function of an estimator, X and y.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, classes_, class_weight_, coef_, n_iter_,
    fit_status_, shape_fit_ : as in scikit-learn; with ``multiclass`` other than "ovo", ``dual_coef_`` has a row a
        machine.
    tree_ : of ``multiclass="tree"``: nested pairs of classes.
    converged_, stop_reason_ : whether and why the climb ended.
    objective_, duality_gap_, kkt_violation_ : the certificate, computed from the coefficients alone; of several
        machines the sum, the largest and the largest.
    trace_ : what the climb reported on its way, a row an epoch or some steps; ``trace_.frame()`` for
        pandas; with several machines a list of theirs.
    solutions_ : one `adatron.solution.Solution` a machine.
    gamma_, sigma_, C_ : what the machine was trained with: γ and σ = 1/√(2γ) of a kernel that has a width, and C.
    path_ : with "adapt", what was tried on the way to them; it prints as a table and has a ``plot()``.

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
        C: float | str = 1.0,
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
        multiclass: str = "ovo",
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        criterion: str = "auto",
        scoring: Any = None,
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
        self.multiclass = multiclass
        self.max_time = max_time
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.criterion = criterion
        self.scoring = scoring

    def _spec(self, adapts: tuple[str, ...]) -> Spec:
        return Spec(
            cast(Use, choice("loss", self.loss, LOSSES)),
            C=1.0 if "C" in adapts else self.C,  # type: ignore[arg-type]
            bias=self.bias,  # type: ignore[arg-type]
            augment=self.augment,
            multiclass=self.multiclass,
            class_weight=self.class_weight,
            shape=self.decision_function_shape,
            break_ties=self.break_ties,
        )


class NuSVC(KernelClassifier):
    """Support vector classification with ν in the place of C.

    Minimises ½‖w‖² − νρm + Σ ξ_i with ξ_i = max(0, ρ − y_i (⟨w, φ(x_i)⟩ + b)), then divides by ρ, so that the margin is
    at ±1. ν bounds the share of rows inside the margin from above, and the share of support vectors from below.

    Parameters
    ----------
    nu : greater than 0 and at most 1. No machine can have more than twice the lighter class's share of weight; where
        ``nu`` is more, that share is taken, with a warning. Where it is ten times more, as with extreme class weights,
        the machine is what it tends to: always the heavier class. Below some ``nu``, the smallest mean hinge loss that
        the kernel can reach on these rows, there is no margin between the classes and the problem's solution is w = 0:
        the smallest that gives a margin is used, with a warning that names it.
    kernel, degree, gamma, coef0, tol, cache_size, class_weight, max_iter, shrinking, decision_function_shape,
    break_ties, random_state, verbose, solver, multiclass, max_time, warm_start, n_jobs, criterion, scoring : as of
        `SVC`; of the criteria, "cv" and "loo".

    Attributes
    ----------
    As of `SVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from adatron import NuSVC
    >>> X, y = load_wine(return_X_y=True)
    >>> make_pipeline(StandardScaler(), NuSVC(nu=0.2)).fit(X, y).score(X, y) > 0.98
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 2000,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        solver: Any = "auto",
        multiclass: str = "ovo",
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        criterion: str = "cv",
        scoring: Any = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.solver = solver
        self.multiclass = multiclass
        self.max_time = max_time
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.criterion = criterion
        self.scoring = scoring

    def _spec(self, adapts: tuple[str, ...]) -> Spec:
        return Spec(
            "nu_classification",
            nu=self.nu,
            multiclass=self.multiclass,
            class_weight=self.class_weight,
            shape=self.decision_function_shape,
            break_ties=self.break_ties,
        )
