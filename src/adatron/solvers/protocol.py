"""What every solver is: a name, what it accepts, and `solve`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from adatron._check import Array
from adatron.gram import Gram
from adatron.problems import Problem
from adatron.solution import Solution
from adatron.trace import Watch


@dataclass(frozen=True)
class Stop:
    """When to be content: KKT violation below ``tol``; or at the latest after ``max_iter`` steps (-1: no limit)."""

    tol: float = 1e-3
    max_iter: int = -1


@dataclass(frozen=True)
class About:
    """What a solver is, for those who look for one."""

    update: str
    source: str
    iteration: str  # what `max_iter` and `n_iter` count
    good_for: str


@dataclass(frozen=True)
class Capabilities:
    """What a solver can be handed."""

    sums: tuple[int, ...] = (0, 1, 2)
    infinite_box: bool = True
    ridge: bool = True
    doubled: bool = True
    warm_start: bool = True
    hard_margin: bool = True
    linear_kernel: bool = False  # whether it needs one

    def kernel_refusal(self, gram: Gram) -> str | None:
        """Why the kernel is not for this solver, or None."""
        if self.linear_kernel and gram.linear is None:
            return f"kernel={gram.kernel!r}, only linear ones"
        return None

    def refusal(self, problem: Problem) -> str | None:
        """Why the problem is not for this solver, or None."""
        if not self.hard_margin:
            open_end = np.isinf(problem.lower) | np.isinf(problem.upper)
            if (open_end & (problem.ridge == 0)).any():
                return "a box without end and without ridge (C=inf)"
        if len(problem.totals) not in self.sums:
            return _SUMS[len(problem.totals)]
        if not self.infinite_box and not np.isfinite([problem.lower, problem.upper]).all():
            return "a box without end (C=inf, squared hinge)"
        if not self.ridge and problem.ridge.any():
            return "a ridge (squared hinge)"
        if not self.doubled and problem.doubled:
            return "two coefficients a row (regression)"
        return None

    def __str__(self) -> str:
        sums = " or ".join(("no sum", "one sum", "two sums")[count] for count in self.sums)
        lacks = {"boxes without end": self.infinite_box, "ridge": self.ridge, "regression": self.doubled}
        lacks["hard margins"] = self.hard_margin
        without = [name for name, able in lacks.items() if not able]
        without += ["kernels that are not linear"] if self.linear_kernel else []
        warm = "warm starts" if self.warm_start else "no warm starts"
        return f"{sums}; {warm}" + (f"; not {', '.join(without)}" if without else "")


_SUMS = (
    "a problem without a sum (bias='none' or 'augmented')",
    "a problem with a sum (bias='exact')",
    "a problem with two sums (ν, nearest points)",
)


class Solver(Protocol):
    """An algorithm for the one problem."""

    name: str
    about: About

    @property
    def accepts(self) -> Capabilities:
        """What it can be handed."""
        ...

    def solve(
        self,
        problem: Problem,
        gram: Gram,
        *,
        start: Array | None = None,
        stop: Stop,
        watch: Watch | None = None,
    ) -> Solution:
        """Climb from ``start``, a feasible point, until ``stop`` or until ``watch`` ends it."""
        ...
