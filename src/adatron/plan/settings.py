"""How a fit goes about it: kernel, precision, limits and solver, checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adatron._check import integer
from adatron.kernels import Kernel, Precomputed
from adatron.plan.data import TrainingData
from adatron.plan.spec import Spec
from adatron.solvers import LinearSolver, Solver


@dataclass(frozen=True)
class Settings:
    """The parameters that all estimators share and that do not change what is learnt.

    Attributes
    ----------
    name : of the estimator, for messages.
    kernel : before "scale" and "auto" are resolved.
    random_state : what randomness comes from, of a fit and of a search.
    adapts : of "gamma", "C" and "epsilon", those to be chosen automatically.
    linear : solver="auto": what solves linear kernels where that pays.
    """

    name: str
    kernel: Kernel
    tol: float
    cache_bytes: float
    max_iter: int
    max_time: float | None
    solver: Solver
    n_jobs: int | None
    verbose: bool
    random_state: Any = None
    adapts: tuple[str, ...] = ()
    linear: LinearSolver | None = None

    @property
    def precomputed(self) -> bool:
        """Whether X is the kernel matrix itself."""
        return isinstance(self.kernel, Precomputed)

    @cached_property
    def seed(self) -> int:
        """One number from ``random_state``."""
        return seed_of(self.random_state)


def seed_of(random_state: Any) -> int:
    """One number from an integer, or handed out by a generator; 0 from None."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    elif not isinstance(random_state, np.random.Generator | np.random.SeedSequence | np.random.BitGenerator):
        random_state = integer("random_state", random_state)
    return int(np.random.default_rng(random_state).integers(2**31))


@dataclass(frozen=True)
class Learning:
    """What an estimator is asked to learn, from what and how; nothing has been computed yet.

    Attributes
    ----------
    spec : Spec
    settings : Settings
    data : TrainingData, rows of weight zero included.
    estimator : the estimator, for fits by ``clone``, ``set_params`` and ``fit``.
    """

    spec: Spec
    settings: Settings
    data: TrainingData
    estimator: Any
