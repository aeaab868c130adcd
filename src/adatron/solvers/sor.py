"""Successive over-relaxation, with b² in the objective.

Problem   no sum: ½ (‖w‖² + b²) in the objective puts the bias into the kernel, K + 1 (``bias="augmented"``).
Update    α_i ← clip(α_i − ω (Σ_j α_j D_ij − 1) / D_ii, 0, C),  D_ij = y_i y_j (K_ij + 1), 0 < ω < 2;
          in signed form β_i ← clip(β_i − (ω / K_ii) g_i).
After     the tutorial chapter in Misra (ed.), section 3.2; Mangasarian & Musicant, Successive Overrelaxation for
          Support Vector Machines (1999).
Stop      when no coefficient moves by more than tol, relatively; then the certificate decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adatron._check import Array, integer, real
from adatron.gram import Gram
from adatron.problems import Problem
from adatron.solution import Solution
from adatron.solvers._coordinate import CoordinateRun, curvatures, newton_steps
from adatron.solvers.protocol import About, Capabilities, Stop
from adatron.trace import Watch


@dataclass
class SOR:
    """Over-relaxed exact steps."""

    omega: float = 1.3
    order: str = "cyclic"
    seed: int = 0

    name = "sor"
    accepts = Capabilities(sums=(0,))
    about = About(
        update="α_i ← clip(α_i − ω (Σ α_j D_ij − 1) / D_ii, 0, C),  0 < ω < 2",
        source="tutorial chapter in Misra (ed.), 3.2; Mangasarian & Musicant (1999)",
        iteration="epoch",
        good_for="many rows at modest accuracy; diagonals that vary",
    )

    def solve(
        self,
        problem: Problem,
        gram: Gram,
        *,
        start: Array | None = None,
        stop: Stop | None = None,
        watch: Watch | None = None,
    ) -> Solution:
        """Climb epoch by epoch."""
        return _Run(self, problem, gram, start, stop, watch).solve()


class _Run(CoordinateRun):
    def __init__(
        self,
        solver: SOR,
        problem: Problem,
        gram: Gram,
        start: Array | None,
        stop: Stop | None,
        watch: Watch | None,
    ) -> None:
        super().__init__(problem, gram, start, stop, watch, order=solver.order, seed=integer("seed", solver.seed))
        self.omega = real("omega", solver.omega, above=0)
        if not self.omega < 2:
            raise ValueError(f"omega={solver.omega!r} is out of range: pass a number with 0 < omega < 2.")

    def steps(self) -> Array:
        return self.omega * newton_steps(self.problem, curvatures(self.problem, self.gram))

    def at_rest(self, account: Any) -> bool:
        return bool(self.core.largest <= self.stop.tol * np.abs(self.core.beta).max())
