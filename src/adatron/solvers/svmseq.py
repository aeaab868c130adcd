"""SVMseq: the bias folded into the kernel, one multiplier after the other.

Problem   no sum: the bias comes from a kernel with λ² added to every value (``bias="augmented"``), or there is none;
          classification and ε-regression.
Update    h_i ← h_i + min{max[γ (1 − E_i), −h_i], C − h_i},  E_i = Σ h_j D_ij,  D_ij = y_i y_j (K_ij + λ²);
          in signed form, β = y h, β_i ← clip(β_i − γ g_i).  γ = 1.9 / max D_ii, any below 2 / max D_ii converges.
After     Vijayakumar & Wu, Sequential Support Vector Classifiers and Regression: 4.2 (eqs. 35-40, 44), 6.1 (49-51);
          the balanced classifier of 4.1.2 (eqs. 28-34) is `balance`.
Stop      when an epoch changes the cost function (eq. 40), or any multiplier, by less than tol, relatively; then the
          certificate decides.

In regression the paper moves α* and α of a point from the same residual. A point that changes sides then takes two
steps at once, and with γ near its bound the cost can fall back; here the residual is taken afresh between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adatron._check import Array, choice, integer, real
from adatron.gram import Gram
from adatron.problems import Problem
from adatron.solution import Solution
from adatron.solvers._coordinate import STEEPEST, CoordinateRun, curvatures, flat_ones
from adatron.solvers.protocol import About, Capabilities, Stop
from adatron.trace import Watch

RATE = 1.9  # over max D_ii


@dataclass
class SVMseq:
    """Sequential ascent with one rate for all."""

    rate: float | None = None  # γ; None: 1.9 / max D_ii
    rule: str = "cost"  # what has to come to rest: the "cost" function or the largest "update"
    order: str = "cyclic"
    seed: int = 0

    name = "svmseq"
    accepts = Capabilities(sums=(0,))
    about = About(
        update="h_i ← h_i + min{max[γ(1 − E_i), −h_i], C − h_i},  γ = 1.9 / max D_ii",
        source="Vijayakumar & Wu, 4.2: eqs. 35-40 and 44; 6.1: eqs. 49-51; 4.1.2: eqs. 28-34",
        iteration="epoch",
        good_for="classification and regression without an equation to keep; kernels with a constant diagonal",
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
        solver: SVMseq,
        problem: Problem,
        gram: Gram,
        start: Array | None,
        stop: Stop | None,
        watch: Watch | None,
    ) -> None:
        super().__init__(problem, gram, start, stop, watch, order=solver.order, seed=integer("seed", solver.seed))
        self.rule = choice("rule", solver.rule, ("cost", "update"))
        largest = float(curvatures(problem, gram).max())
        self.rate = RATE / largest if largest > 0 else STEEPEST
        if solver.rate is not None:
            self.rate = real("rate", solver.rate, above=0)
            if not self.rate * largest < 2:
                raise ValueError(
                    f"rate={solver.rate!r} may not converge: pass one below 2 / max D_ii = {2 / largest:g}."
                )

    def steps(self) -> Array:
        flat_ones(self.problem, curvatures(self.problem, self.gram))
        return np.full(len(self.problem), self.rate)

    def at_rest(self, account: Any) -> bool:
        if self.rule == "cost":
            return bool(self.core.gain <= self.stop.tol * abs(account.objective))
        return bool(self.core.largest <= self.stop.tol * np.abs(self.core.beta).max())


@dataclass(frozen=True)
class Balance:
    """How a machine with its bias in the kernel lies between two separable classes.

    `positive` and `negative` are the outputs nearest to the boundary on either side; balanced they are 1 and -1.
    `norm` is ‖w*‖² of the balanced machine without its bias: above ¼ the climb was bound to end balanced (eq. 34).
    The balanced machine is f* = scale · f + shift (eqs. 28-32).
    """

    positive: float
    negative: float
    norm: float

    @property
    def scale(self) -> float:
        """Makes the outputs' distance 2."""
        return 2.0 / (self.positive - self.negative)

    @property
    def shift(self) -> float:
        """Puts the boundary half-way."""
        return -(self.positive + self.negative) / (self.positive - self.negative)

    @property
    def assured(self) -> bool:
        """The sufficient condition ‖w*‖² > ¼."""
        return self.norm > 0.25

    def __str__(self) -> str:
        verdict = "balanced for sure" if self.assured else "balance not assured"
        return f"nearest outputs {self.negative:.6g} and {self.positive:.6g}, ‖w*‖² = {self.norm:.6g}: {verdict}."


def balance(problem: Problem, gram: Gram, solution: Solution, *, augment: float = 1.0) -> Balance:
    """Test a solved classifier for balance; ``augment`` is λ, the gram being that of kernel + λ²."""
    augment = real("augment", augment, at_least=0)
    coef = solution.coef
    outputs = gram.product(coef)
    positive, negative = outputs[problem.linear < 0], outputs[problem.linear > 0]
    if problem.doubled or not (len(positive) and len(negative)):
        raise ValueError(f"problem={problem!r} has no two classes: pass one made by hinge or squared_hinge.")
    if not (nearest := float(positive.min())) > (farthest := float(negative.max())):
        raise ValueError("the classes are not separated by this machine: balance is defined for separable ones.")
    whole = float(coef @ outputs) - (augment * float(coef.sum())) ** 2
    return Balance(nearest, farthest, whole * (2.0 / (nearest - farthest)) ** 2)
