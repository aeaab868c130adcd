"""The one story of a fit: kernel -> Gram -> problem -> solve -> model, told for every estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from adatron._check import Array, choice, integer, real
from adatron.gram import Gram
from adatron.kernels import Constant, Kernel, Precomputed, resolve_kernel
from adatron.model import Model
from adatron.problems import Bias, Problem
from adatron.solution import Solution, Status
from adatron.solvers import SOLVERS, Decomposition, Solver, make_solver, solve
from adatron.trace import Trace, Watch

BIASES = ("exact", "augmented", "none")
SMALL = 1000  # rows up to which float64 costs nothing worth sparing
FLOAT64_TOL = 1e-5  # float32 values cannot give more
VERBOSE_SECONDS = 1.0


@dataclass(frozen=True)
class Settings:
    """The parameters that all machines share, checked."""

    kernel: Kernel
    tol: float
    cache_bytes: float
    max_iter: int
    max_time: float | None
    bias: Bias
    augment: float
    solver: Solver
    n_jobs: int | None
    verbose: bool

    @property
    def precomputed(self) -> bool:
        """Whether X is the kernel matrix itself."""
        return isinstance(self.kernel, Precomputed)

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """Read them from an estimator; ``fit`` leaves the estimator's own as they are."""
        solver = _solver_of(estimator)
        jobs = estimator.n_jobs
        if jobs is not None and (jobs := integer("n_jobs", jobs, at_least=-(2**31))) == 0:
            raise ValueError("n_jobs=0 is out of range: pass None, -1 for all cores, or a number from 1.")
        limit = estimator.max_time
        return cls(
            kernel=resolve_kernel(
                estimator.kernel, degree=estimator.degree, gamma=estimator.gamma, coef0=estimator.coef0
            ),
            tol=real("tol", estimator.tol, above=0),
            cache_bytes=real("cache_size", estimator.cache_size, above=0) * 1e6,
            max_iter=integer("max_iter", estimator.max_iter, at_least=-1),
            max_time=None if limit is None else real("max_time", limit, above=0, infinite=True),
            bias=cast(Bias, choice("bias", estimator.bias, BIASES)),
            augment=real("augment", estimator.augment, above=0),
            solver=solver,
            n_jobs=jobs,
            verbose=bool(estimator.verbose),
        )


def _solver_of(estimator: Any) -> Solver:
    """The solver asked for, seeded by ``random_state``; an object handed in stays as it is."""
    wanted = estimator.solver
    if isinstance(wanted, str):
        choice("solver", wanted, ["auto", *SOLVERS])
    solver = copy(make_solver("solver", "decomposition" if wanted == "auto" else wanted))
    if isinstance(solver, Decomposition) and not estimator.shrinking:
        solver.lean = False
    if estimator.random_state is not None and hasattr(solver, "seed"):
        solver.seed = int(np.random.default_rng(estimator.random_state).integers(2**31))
    return solver


@dataclass(frozen=True)
class Fitted:
    """What a fit of one problem yields."""

    solution: Solution
    model: Model
    support: np.ndarray[Any, np.dtype[np.int64]]


class Task:
    """One problem over the kernel matrix of X, about to be solved."""

    def __init__(self, settings: Settings, X: Any, problem: Problem) -> None:
        self.settings, self.X, self.problem = settings, X, problem
        self.kernel = settings.kernel.resolve(X)
        self.augment = settings.augment**2 if settings.bias == "augmented" else 0.0
        small = problem.rows <= SMALL or settings.tol < FLOAT64_TOL
        self.dtype = np.dtype(np.float64 if small else np.float32)

    def solve(self, watch: Watch) -> Fitted:
        """Climb, and make a model of what was reached."""
        settings, X, kernel = self.settings, self.X, self.kernel
        if self.augment and settings.precomputed:
            X = X + self.augment
        elif self.augment:
            kernel = kernel + Constant(self.augment)
        gram = Gram(kernel, X, dtype=self.dtype, cache_bytes=settings.cache_bytes, threads=settings.n_jobs)
        solution = solve(self.problem, gram, settings.solver, tol=settings.tol, max_iter=settings.max_iter, watch=watch)
        return Fitted(solution, self.model(solution.coef, solution.certificate.bias), np.flatnonzero(solution.coef))

    def model(self, coef: Array, bias: float) -> Model:
        """The machine with these coefficients, one a row, and this bias, to which a bias in the kernel is added."""
        support = np.flatnonzero(coef)
        rows = support if self.settings.precomputed else self.X[support]
        intercept = np.array([bias + self.augment * coef.sum()])
        return Model(self.kernel, rows, coef[support][None], intercept, self.dtype)


Progress = Callable[[dict[str, float]], Any]


def watch_for(settings: Settings, name: str) -> Watch:
    """Deadline and, when asked for, a line a second."""
    return Watch(max_time=settings.max_time, progress=_narrator(name) if settings.verbose else None, trace=Trace())


def both(first: Progress | None, second: Progress | None) -> Progress | None:
    """A progress callback that calls two, and asks for an end if either does."""
    if first is None or second is None:
        return first or second
    return lambda at: [first(at), second(at)].count(True) > 0


def _narrator(name: str) -> Progress:
    last = 0.0

    def tell(at: dict[str, float]) -> None:
        nonlocal last
        if at["seconds"] - last >= VERBOSE_SECONDS:
            last = at["seconds"]
            print(f"[{name}] {last:.1f} s: {at['updates']:.0f} steps, gap {at['kkt_violation']:.2e}", flush=True)

    return tell


def warn_unless_converged(name: str, tol: float, solution: Solution) -> None:
    """Say loudly what was not reached; an interrupt goes on its way once the model is usable."""
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt(f"{name} keeps the best machine found before the interrupt.")
    if not solution.converged:
        at = solution.certificate
        reached = (
            f"relative duality gap {at.gap:.2e}, KKT violation {at.kkt_violation:.2e}"
            if np.isfinite(at.kkt_violation)
            else "not certified for lack of time"
        )
        warnings.warn(
            f"{name} did not converge ({reached}; tol={tol:g}). {solution.status.sentence} "
            "Scale the features, or raise tol, max_iter or max_time.",
            ConvergenceWarning,
            stacklevel=4,  # past fit and the callbacks around it
        )
