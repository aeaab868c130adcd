"""The one story of a fit: kernel -> Gram -> problem -> solve -> model, told for every estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from adatron._check import choice, integer, real
from adatron.gram import Gram
from adatron.kernels import Constant, Kernel, Precomputed, resolve_kernel
from adatron.model import Model
from adatron.problems import Bias, Problem
from adatron.solution import Solution, Status
from adatron.solvers import SOLVERS, Decomposition, Solver, solve
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
        name = "decomposition" if estimator.solver == "auto" else estimator.solver
        solver: Solver = SOLVERS[choice("solver", name, [*SOLVERS, "auto"])]()
        if isinstance(solver, Decomposition):
            seed = estimator.random_state
            solver.seed = 0 if seed is None else int(np.random.default_rng(seed).integers(2**31))
            solver.lean = None if estimator.shrinking else False
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


@dataclass(frozen=True)
class Fitted:
    """What a fit of one problem yields."""

    solution: Solution
    model: Model
    support: np.ndarray[Any, np.dtype[np.int64]]


def fit_task(settings: Settings, X: Any, problem: Problem, watch: Watch) -> Fitted:
    """Solve one problem over the kernel matrix of X."""
    kernel = settings.kernel.resolve(X)
    augment = settings.augment**2 if settings.bias == "augmented" else 0.0
    trained_on, trained_kernel = X, kernel
    if augment and settings.precomputed:
        trained_on = X + augment
    elif augment:
        trained_kernel = kernel + Constant(augment)
    small = problem.rows <= SMALL or settings.tol < FLOAT64_TOL
    dtype = np.float64 if small else np.float32
    gram = Gram(trained_kernel, trained_on, dtype=dtype, cache_bytes=settings.cache_bytes, threads=settings.n_jobs)
    solution = solve(problem, gram, settings.solver, tol=settings.tol, max_iter=settings.max_iter, watch=watch)
    coef = solution.coef
    support = np.flatnonzero(coef)
    bias = solution.certificate.bias + augment * coef.sum()
    rows = support if settings.precomputed else X[support]
    model = Model(kernel, rows, coef[support][None], np.array([bias]), np.dtype(dtype))
    return Fitted(solution, model, support)


def watch_for(settings: Settings, name: str) -> Watch:
    """Deadline and, when asked for, a line a second."""
    return Watch(max_time=settings.max_time, progress=_narrator(name) if settings.verbose else None, trace=Trace())


def _narrator(name: str) -> Callable[[dict[str, float]], None]:
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
            stacklevel=3,
        )
