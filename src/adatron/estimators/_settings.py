"""The parameters of an estimator, checked into `Settings`."""

from __future__ import annotations

from copy import copy
from typing import Any

from adatron._check import choice, flag, integer, real
from adatron.kernels import Exponential, Gaussian, Laplacian, Linear, resolve_kernel
from adatron.plan import Settings, seed_of
from adatron.solvers import SOLVERS, Decomposition, LinearSolver, Solver, make_solver

MOST_THREADS = 4096
MOST_BYTES = 2.0**62  # of a cache: more is as good as no limit
LEAST_BYTES = 4e6  # of a cache: with working sets of 16 rows, 1,726 rows and C = 136,000 took 87 s
ADAPTABLE = ("gamma", "C", "epsilon")


def settings_of(estimator: Any) -> Settings:
    """Those of an estimator, which keeps its own as they are."""
    jobs = estimator.n_jobs
    if jobs is not None and not ((jobs := integer("n_jobs", jobs, at_least=-(2**31))) and jobs <= MOST_THREADS):
        wish = f"pass None, -1 for all cores, or a number from 1 to {MOST_THREADS}"
        raise ValueError(f"n_jobs={jobs} is out of range: {wish}.")
    limit = estimator.max_time
    adapts = tuple(name for name in ADAPTABLE if says_adapt(getattr(estimator, name, None)))
    gamma = 1.0 if "gamma" in adapts else estimator.gamma
    if isinstance(gamma, str) and gamma not in ("scale", "auto"):
        raise ValueError(f'gamma={gamma!r} is unknown: pass "scale", "auto" or a number of at least 0, or "adapt".')
    if isinstance(C := getattr(estimator, "C", None), str) and "C" not in adapts:
        raise TypeError(f'C={C!r} is a str: pass a number greater than 0, or "adapt".')
    if isinstance(epsilon := getattr(estimator, "epsilon", None), str) and "epsilon" not in adapts:
        raise TypeError(f'epsilon={epsilon!r} is a str: pass a number of at least 0, or "adapt".')
    kernel = resolve_kernel(estimator.kernel, degree=estimator.degree, gamma=gamma, coef0=estimator.coef0)
    if "gamma" in adapts and not isinstance(kernel, Gaussian | Exponential | Laplacian):
        raise ValueError(
            f"gamma='adapt' finds a width, and kernel={estimator.kernel!r} has none: pass kernel='rbf', "
            "'exponential' or 'laplacian'."
        )
    flag("warm_start", estimator.warm_start)
    return Settings(
        name=type(estimator).__name__,
        kernel=kernel,
        tol=real("tol", estimator.tol, above=0),
        cache_bytes=max(min(real("cache_size", estimator.cache_size, above=0), MOST_BYTES / 1e6) * 1e6, LEAST_BYTES),
        max_iter=integer("max_iter", estimator.max_iter, at_least=-1),
        max_time=None if limit is None else real("max_time", limit, above=0, infinite=True),
        solver=_solver_of(estimator),
        n_jobs=jobs,
        verbose=flag("verbose", estimator.verbose),
        random_state=estimator.random_state,
        adapts=adapts,
        linear=_linear_solver_of(estimator) if isinstance(kernel, Linear) else None,
    )


def says_adapt(value: Any) -> bool:
    """Whether a parameter is to be chosen automatically."""
    return isinstance(value, str) and value == "adapt"


def _solver_of(estimator: Any) -> Solver:
    """The solver asked for, seeded by ``random_state``; an object handed in stays as it is."""
    wanted = estimator.solver
    if isinstance(wanted, str):
        choice("solver", wanted, ["auto", *SOLVERS])
    solver = make_solver("solver", "decomposition" if isinstance(wanted, str) and wanted == "auto" else wanted)
    if solver is wanted:
        solver = copy(solver)
    shrinks = flag("shrinking", estimator.shrinking)
    if isinstance(solver, Decomposition) and not shrinks:
        solver.lean = False
    if estimator.random_state is not None and hasattr(solver, "seed"):
        solver.seed = seed_of(estimator.random_state)
    return solver


def _linear_solver_of(estimator: Any) -> LinearSolver | None:
    """For linear kernels, unless a solver is asked for, or iterations are limited: those are the general engine's."""
    automatic = isinstance(estimator.solver, str) and estimator.solver == "auto"
    if not automatic or estimator.max_iter != -1:
        return None
    shrinking = flag("shrinking", estimator.shrinking)
    return LinearSolver(shrinking=shrinking, seed=seed_of(estimator.random_state))
