"""Linear kernels: the weight vector w = Σ β_i x_i is kept, and no kernel value is computed.

Problem   no sum or one, any ridge, finite boxes unless there is a ridge, each row once or twice; kernels that are
          scale · x·y + constant, X dense or sparse. A pass over the rows costs the non-zeros of X.
Update    "coordinate": one coefficient after the other in random order, β_i ← clip(β_i − (g_i + λ) / K_ii) with
          g_i = x_i·w + r_i β_i + p_i, then w ← w + δ x_i; rows whose coefficients stay at a bound are left out until
          the others have settled (core/linear.cpp). This is SOR with ω = 1 and an explicit w.
          "newton": Newton steps in w, for many rows of few features (_weight_newton.py).
Bias      of coordinate descent, by the method of multipliers: λ + ρ (Σβ − total) is the bias on trial. When the
          coefficients have settled λ moves by ρ (Σβ − total), or further as secants tell.
After     Hsieh, Chang, Lin, Keerthi & Sundararajan, A Dual Coordinate Descent Method for Large-scale Linear SVM (2008);
          Mangasarian & Musicant (1999); Mangasarian, A Finite Newton Method for Classification (2002); Yan & Li, An
          Efficient Augmented Lagrangian Method for Support Vector Machine (2020).
Stop      when the certificate, computed afresh from the coefficients, shows a KKT violation of at most ``tol``. Where
          passes run out before that, the working-set decomposition goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from adatron import _core
from adatron._check import Array, choice, flag, integer
from adatron.certificates import bias, gradient
from adatron.gram import SLICE_SECONDS, Gram
from adatron.problems import Problem, meet_sums
from adatron.solution import Solution, Status
from adatron.solvers._run import End, Run, account_of
from adatron.solvers._solve import solve
from adatron.solvers._weight_newton import WeightNewton
from adatron.solvers.protocol import About, Capabilities, Stop
from adatron.trace import Watch
from adatron.weight_space import WeightSpace

METHODS = ("auto", "coordinate", "newton")
FEWEST_ROWS = 1000  # up to which the general engine has its matrix in no time, and polishes
NEWTON_FEATURES = 1000  # up to which the Hessian is cheap
NEWTON_RATIO = 3.0  # rows per feature: 2,000 × 1,000 takes coordinate descent 0.3 s, Newton steps 2 s or for ever
# They come first with few features, or many more rows than features and coefficients that take long to cross their box
# in steps of 1 / K_ii. Seconds of CPU time by coordinate descent and by Newton steps, for C · K_ii of 3, 10 and 100:
# 1,100 × 50 0.02, 0.15, 0.05 and 0.01, 0.01, 0.02; 1,100 × 300 0.01, 0.03, 0.05 and 0.09, 0.12, 0.12;
# 4,000 × 300 0.05, 0.28, 0.40 and 0.18, 0.19, 0.23; 20,000 × 300 0.35, 1.43, 2.65 and 0.63, 0.60, 0.63.
FEW_FEATURES = 50
MANY_ROWS = 10.0  # per feature
FAR = 40.0  # C · K_ii · √(rows per feature)
IDLE = 8  # minima of Newton steps without a smaller violation
# What is spent before the general engine goes on, in terms of what it takes for all kernel values of the problem
# (m² times the values of a row): it needs several times that, where coordinate descent is slow.
VISITS = 0.15  # values of X that coordinate descent visits; these take about as long
NEWTON_WORK = 10.0  # multiplications in Newton steps
FEWEST_PASSES = 50  # of either, in any case
SMALL_PASSES = 1000  # where an active-set method goes on instead
ROUGH = 0.1  # violation to which coefficients settle before λ moves for the first time
PENALTY = 0.1  # ρ, relative to the mean of K_ii: text takes 26 epochs with 0.1, 31 with 0.3, 52 with 1
OFF = 0.1  # of tol, that b may be off where it is in the kernel
FARTHEST = 30.0  # times ρ (Σβ − total), that λ moves at most
ACCOUNT_WORK = 4.0  # passes between two rows of the trace, each of which costs one
ACCOUNT_VALUES = 1e5  # of X, up to which every epoch has its row
GENERAL_ROWS = 1000  # rows from which on the general engine works in float32 where tol allows
GENERAL_TOL = 1e-5


@dataclass
class LinearSolver:
    """Coordinate descent or Newton steps with an explicit weight vector, for linear kernels.

    Parameters
    ----------
    method : {"auto", "coordinate", "newton"}, default="auto"
        "auto" takes Newton steps where there are at most 1,000 features, many more rows, and C is not small against
        the kernel's values; or where coordinate descent is slow.
    shrinking : bool, default=True
        Whether coordinate descent leaves out rows whose coefficients stay at a bound.
    seed : int, default=0
        Of the order in which coefficients are visited.
    """

    method: str = "auto"
    shrinking: bool = True
    seed: int = 0

    name = "linear"
    accepts = Capabilities(sums=(0, 1), hard_margin=False, linear_kernel=True)
    about = About(
        update="β_i ← clip(β_i − (x_i·w + r_i β_i + p_i + λ) / K_ii), w ← w + δ x_i;  or Newton steps in w",
        source="Hsieh et al. (2008); Mangasarian & Musicant (1999); Mangasarian (2002); Yan & Li (2020)",
        iteration="epoch",
        good_for="linear kernels with many rows, sparse or dense",
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
        """Iterate until the certificate is within the tolerance."""
        choice("method", self.method, METHODS)
        flag("shrinking", self.shrinking)
        integer("seed", self.seed, at_least=0)
        if refusal := self.accepts.refusal(problem) or self.accepts.kernel_refusal(gram):
            raise ValueError(f"solver='linear' does not take {refusal}.")
        run = _Run(self, problem, gram, start, stop, watch)
        solution = run.solve()
        if solution.status is Status.STALLED and run.hands_over:
            return _handed_over(problem, gram, solution, run.stop, run.watch)
        return solution


def suits_newton(space: WeightSpace) -> bool:
    """Whether Newton steps in w are cheap."""
    return bool(space.features <= NEWTON_FEATURES and space.count >= NEWTON_RATIO * space.features)


def begins_with_newton(problem: Problem, gram: Gram, space: WeightSpace) -> bool:
    """Whether they are faster than coordinate descent."""
    if not suits_newton(space):
        return False
    ratio = space.count / max(space.features, 1)
    with np.errstate(divide="ignore"):
        width = np.minimum(problem.upper - problem.lower, 1.0 / problem.ridge)
    far = float(width.mean() * gram.diagonal.mean()) * ratio**0.5
    return bool(space.features <= FEW_FEATURES or (ratio >= MANY_ROWS and far > FAR))


def _handed_over(problem: Problem, gram: Gram, solution: Solution, stop: Stop, watch: Watch) -> Solution:
    """The general engine's solution, started from this one."""
    if gram.dtype == np.float64 and gram.size > GENERAL_ROWS and stop.tol >= GENERAL_TOL:
        gram = Gram(gram.kernel, gram.X, dtype=np.float32, cache_bytes=gram.cache_bytes, threads=gram.threads)
    start = meet_sums(problem, solution.beta)
    found = solve(problem, gram, "decomposition", start=start, tol=stop.tol, watch=watch)
    return replace(found, n_iter=solution.n_iter + found.n_iter)


class _Run(Run):
    """One solve by either method."""

    def __init__(
        self,
        solver: LinearSolver,
        problem: Problem,
        gram: Gram,
        start: Array | None,
        stop: Stop | None,
        watch: Watch | None,
    ) -> None:
        super().__init__(problem, gram, start, stop, watch)
        assert gram.linear is not None
        self.solver, self.space = solver, gram.linear
        self.hands_over = self.stop.max_iter < 0 and not self.small
        self.core: Any = None  # coordinate descent, while it runs
        self.bias: _Bias
        self.newton: WeightNewton | None = None
        self.updates = 0  # of coordinate descent, where Newton steps go on
        whole = self.space.count**2 * (self.space.values_of_a_row + 16)  # multiplications for all kernel values
        self.passes = SMALL_PASSES if self.small else FEWEST_PASSES
        self.most_visits = max(VISITS * whole, self.passes * self.space.count * self.space.values_of_a_row)
        self.most_work = NEWTON_WORK * whole
        self.accounted = 0.0  # values of X visited when the last row of the trace was made

    def climb(self) -> Status:
        """The method asked for, or the one that suits rows and features."""
        product = self.product()
        shift, _ = bias(self.problem, gradient(self.problem, product, self.beta), self.beta)
        self.tell_of(self.beta, product, shift)
        if not self.fresh and self.content(self.judge()):
            return Status.CONVERGED
        method = self.solver.method
        if method == "newton" or (method == "auto" and begins_with_newton(self.problem, self.gram, self.space)):
            return self.newton_steps(shift)
        try:
            return self.coordinates(shift)
        except End as end:
            if end.status is not Status.STALLED or method != "auto" or not suits_newton(self.space):
                raise
        self.settle()
        self.updates, self.core = self.updates + self.core.updates, None
        shift, _ = bias(self.problem, gradient(self.problem, self.product(), self.beta), self.beta)
        return self.newton_steps(shift)

    # ------------------------------------------------------------ coordinate descent

    def coordinates(self, shift: float) -> Status:
        """Epochs until coefficients have settled, then the multiplier, and again."""
        problem, space = self.problem, self.space
        own = float(self.gram.diagonal.mean()) - space.constant
        self.bias = _Bias(problem, space.constant, max(PENALTY * own, self.least_penalty()), shift)
        make: Any = _core.LinearCoordinate32 if space.X.dtype == np.float32 else _core.LinearCoordinate64
        self.core = make(
            space.rows,
            scale=space.scale,
            constant=0.0 if self.bias.on_trial else space.constant,
            **problem.spans,
            beta=self.beta,
            seed=self.solver.seed,
            shrinking=self.solver.shrinking,
        )
        tol = self.stop.tol
        goal = max(tol, ROUGH) if self.bias.on_trial else tol
        while True:
            self.core.set_bias(**self.bias.as_penalty())
            self.settle_down(goal)
            off = self.bias.move(self.core.sum)
            if goal > tol:
                goal = max(0.1 * goal, tol)
            elif off <= OFF * tol:
                self.settle()
                verdict = self.judge()
                if self.content(verdict):
                    self.tell_of(self.beta, self.product(), verdict.bias)
                    return Status.CONVERGED
                goal *= 0.5
            self.core.load(self.core.beta)  # with w and Σβ free of what rounding has added up

    def least_penalty(self) -> float:
        """A ρ with which λ crosses the gradients' range even if kernel values are next to nothing."""
        problem = self.problem
        width = problem.upper - problem.lower
        across = float(width[np.isfinite(width)].sum()) or float(len(problem))
        return (float(np.ptp(problem.linear)) or 1.0) / across

    def settle_down(self, goal: float) -> None:
        """Epochs over the active rows until the violation seen in one is at most ``goal``."""
        core, stop = self.core, self.stop
        values = self.space.values_of_a_row * self.space.count
        small = values <= ACCOUNT_VALUES
        while True:
            most = 1 if small and self.watch.listens else 64
            if stop.max_iter >= 0:
                most = min(most, stop.max_iter - self.n_iter)
                if most <= 0:
                    raise End(Status.MAX_ITER)
            before = core.epochs
            end = core.run(goal=goal, most=most, seconds=SLICE_SECONDS)
            self.n_iter += core.epochs - before
            self.watch.check()
            due = small or core.visited - self.accounted >= ACCOUNT_WORK * values
            if due and self.watch.listens and end != _core.EpochEnd.paused:
                self.accounted = core.visited
                self.tell_of_core()
            if end == _core.EpochEnd.settled:
                return
            if core.visited > self.most_visits and stop.max_iter < 0:
                raise End(Status.STALLED)

    def tell_of_core(self) -> None:
        """A row of the trace, by the w that coordinate descent keeps."""
        space, core = self.space, self.core
        product = space.scale * space.values(core.weights, self.watch.check) + space.constant * core.sum
        shift = core.bias - space.constant * core.sum if self.problem.sums else 0.0
        self.tell_of(core.beta, product, shift)

    # ------------------------------------------------------------ Newton steps

    def newton_steps(self, shift: float) -> Status:
        """Newton steps, until where they end the certificate is within the tolerance."""
        problem = self.problem
        self.newton = newton = WeightNewton(problem, self.space, self.beta, shift, self.watch.check)
        best, idle = inf, 0
        while True:
            self.watch.check()
            if 0 <= self.stop.max_iter <= self.n_iter:
                return Status.MAX_ITER
            least = newton.advance()
            self.n_iter += 1
            if not (least or newton.tired):
                continue
            self.settle()
            verdict = self.judge()
            self.tell_of(self.beta, self.product(), verdict.bias)
            if self.content(verdict):
                return Status.CONVERGED
            idle = 0 if verdict.kkt_violation < 0.9 * best else idle + 1
            best = min(best, verdict.kkt_violation)
            if idle > IDLE or (newton.work > self.most_work and newton.total_steps > self.passes):
                return Status.STALLED
            newton.recenter()

    # ------------------------------------------------------------ what a run reports

    def tell_of(self, beta: Array, product: Array, value: float) -> None:
        """A row of the trace."""
        if self.watch.listens:
            made = self.core.updates if self.core is not None else 0
            if self.newton is not None:
                made = self.newton.total_steps * len(self.problem)
            self.tell(account_of(self.problem, beta, product, value, 0.0), bias=value, updates=self.updates + made)

    def settle(self) -> None:
        """Coefficients from where they are; the sum, which is met in the end only, put right."""
        if self.core is not None:
            self.beta = np.asarray(self.core.beta)
        elif self.newton is not None:
            self.beta = self.newton.beta
        else:
            return
        if self.problem.sums:
            self.beta = meet_sums(self.problem, self.beta)

    def last_row(self) -> None:
        """An epoch that was cut short."""
        if self.core is not None and self.core.updates != self.told:
            self.tell_of_core()


class _Bias:
    """The bias on trial, b = λ + ρ (Σβ − s): the method of multipliers for Σβ = s.

    With a sum, s is its total. Without one, s stands for Σβ in the kernel's constant, ½ constant · s², and is least at
    s = (λ + ρ Σβ) / (constant + ρ): a large constant in every kernel value would make steps short.
    """

    def __init__(self, problem: Problem, constant: float, penalty: float, bias: float) -> None:
        self.constant, self.penalty = constant, penalty
        self.total = float(problem.totals[0]) if problem.sums else None
        self.on_trial = bool(problem.sums) or constant > penalty
        self.multiplier = bias + constant * self.total if self.total is not None else 0.0
        self.tried: list[tuple[float, float]] = []  # λ and Σβ − s when coefficients had settled

    def as_penalty(self) -> dict[str, float]:
        """b as a function of Σβ less its total (without a sum: of Σβ)."""
        if not self.on_trial:
            return {"multiplier": 0.0, "penalty": 0.0}
        share = 1.0 if self.total is not None else self.constant / (self.constant + self.penalty)
        return {"multiplier": share * self.multiplier, "penalty": share * self.penalty}

    def move(self, total: float) -> float:
        """Let λ follow Σβ − s: by ρ times that at least, and where two settlements tell of the way beyond, further.

        Returns how far b is from what the kernel's constant makes of Σβ; with a sum that can be put right, and is 0.
        """
        if not self.on_trial:
            return 0.0
        wanted = self.total
        if wanted is None:
            wanted = (self.multiplier + self.penalty * total) / (self.constant + self.penalty)
        omega = total - wanted
        self.tried = [*self.tried[-1:], (self.multiplier, omega)]
        step = self.penalty * omega
        if len(self.tried) == 2 and omega != 0:
            old, before = self.tried[0]
            secant = -omega * (self.multiplier - old) / (omega - before) if before != omega else 0.0
            if secant * omega > 0:
                step = float(np.copysign(min(max(abs(secant), abs(step)), FARTHEST * abs(step)), omega))
        off = abs(self.multiplier + self.penalty * omega - self.constant * total)
        self.multiplier += step
        return off if self.total is None else 0.0
