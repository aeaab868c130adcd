"""What a solver hands back: the coefficients, why it stopped, and an independent certificate."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from adatron._check import Array


class Status(StrEnum):
    """Why a solver stopped; `sentence` says it in words."""

    sentence: str

    CONVERGED = "converged", "The solver reached the tolerance asked for."
    MAX_ITER = "max_iter", "The solver used up its iterations before it reached the tolerance."
    MAX_TIME = "max_time", "The solver used up its time before it reached the tolerance."
    STOPPED = "stopped", "The caller's callback asked for an end; this is the best there was."
    INTERRUPTED = "interrupted", "The solver was interrupted; this is the best it had."
    STALLED = "stalled", "The solver could make no more progress."
    UNBOUNDED = "unbounded", "The objective falls without end: the constraints cannot all be met."

    def __new__(cls, value: str, sentence: str) -> Status:
        """A string that carries its sentence."""
        status = str.__new__(cls, value)
        status._value_ = value
        status.sentence = sentence
        return status


@dataclass(frozen=True)
class Certificate:
    """How good coefficients are, judged from them alone.

    `objective` is that of the minimisation, `dual` is minus the objective, `primal` the cost of the
    machine that the coefficients describe; `gap` = (primal - dual) / max(|primal|, |dual|) bounds
    how far they are from optimal. `infeasibility` is how far they lie outside the box or off a sum.
    `rho` is half the difference of the two groups' gradients, and 0 with fewer than two sums.
    `rounding` is what float32 kernel values may add to the KKT violation, seen on a sample of rows.
    """

    objective: float
    primal: float
    dual: float
    gap: float
    kkt_violation: float
    infeasibility: float
    bias: float
    rho: float
    rounding: float = 0.0

    def __str__(self) -> str:
        return (
            f"objective {self.objective:.10g}, relative duality gap {self.gap:.2e}, "
            f"KKT violation {self.kkt_violation:.2e}, infeasibility {self.infeasibility:.1e}, "
            f"bias {self.bias:.6g}" + (f", rho {self.rho:.6g}" if self.rho else "")
        )


@dataclass(eq=False)
class Solution:
    """The coefficients of one problem, with status and certificate.

    `rows` is the problem's number of kernel rows; 0 means one coefficient per row. A run that ends early returns its
    iterate as it is, with the `bias` and `rho` on trial then; None: those of the certificate. `model_bias` and
    `model_rho` are what a model is made with.
    """

    beta: Array
    status: Status
    certificate: Certificate
    n_iter: int
    seconds: float
    trace: Any = None
    rows: int = 0
    bias: float | None = None
    rho: float | None = None

    @property
    def model_bias(self) -> float:
        """The bias of the model with these coefficients."""
        return self.certificate.bias if self.bias is None else self.bias

    @property
    def model_rho(self) -> float:
        """Likewise rho."""
        return self.certificate.rho if self.rho is None else self.rho

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status is Status.CONVERGED

    @property
    def coef(self) -> Array:
        """One coefficient a kernel row: beta, its halves added up where every row appears twice."""
        halves = self.beta.reshape(-1, self.rows or len(self.beta))
        return np.asarray(halves.sum(axis=0))

    def __str__(self) -> str:
        effort = f"{self.n_iter} iterations, {self.seconds:.3g} s"
        return f"{self.status.sentence} {effort}; {self.certificate}."
