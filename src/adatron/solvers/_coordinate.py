"""The epochs of Kernel-Adatron, SVMseq and SOR: one coefficient after the other, and one judge at the end.

    β_i ← clip(β_i − step_i (g_i + λ), lower_i, upper_i)

An epoch visits every coefficient once, in the papers in the order of the rows ("cyclic"). The core keeps the
gradient and updates it when a coefficient moves, so that an epoch costs m for each that does, not m². With
``order="random"`` every epoch has its own permutation; with "greedy" each visit goes where the objective falls most,
and as many visits as there are coefficients count as an epoch.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron import _core
from adatron._check import Array, choice
from adatron.gram import SLICE_SECONDS, Gram
from adatron.problems import Problem, meet_sums
from adatron.solution import Status
from adatron.solvers._run import End, Run
from adatron.solvers.protocol import Stop
from adatron.trace import Watch

ORDERS = ("cyclic", "random", "greedy")
STEEPEST = 1e150  # stands for the step along a coefficient without curvature: as far as the box goes
PROBE = 1024  # epochs of a look whether there is an end
ENDLESS_EVERY = 64  # epochs between two looks for a direction without end


class CoordinateRun(Run):
    """One climb; a subclass names its steps, its bias on trial and the paper's own sign of rest."""

    def __init__(
        self,
        problem: Problem,
        gram: Gram,
        start: Array | None,
        stop: Stop | None,
        watch: Watch | None,
        *,
        order: str,
        seed: int,
    ) -> None:
        super().__init__(problem, gram, start, stop, watch)
        self.order = choice("order", order, ORDERS)
        self.random = np.random.default_rng(seed)
        self.shift = self.augment = 0.0
        self.step = np.zeros(0)
        self.core: Any = None
        self.updates = 0  # of cores before this one
        self.origin = self.beta

    @abstractmethod
    def steps(self) -> Array:
        """The step along each coefficient."""

    @abstractmethod
    def at_rest(self, account: Any) -> bool:
        """The paper's own stopping rule, after an epoch."""

    def lack(self, account: Any) -> float:
        """What is missing to the optimum."""
        return float(account.kkt_violation)

    def before_epoch(self) -> None:
        """A chance to set the bias on trial, `shift`."""

    def climb(self) -> Status:
        """Epochs until paper, account and certificate agree: each is asked only when the one before is content."""
        self.step = self.steps()
        self.restart()
        aim = self.stop.tol
        account = self.look()
        rested = not self.fresh  # a start may be the optimum already
        while True:
            if rested and self.lack(account) <= aim:
                self.settle()
                if self.content(self.judge()):
                    return Status.CONVERGED
                if not 0 <= self.stop.max_iter <= self.n_iter:
                    self.restart()
                aim *= 0.5
            self.be_patient(account)
            if 0 <= self.stop.max_iter <= self.n_iter:
                return Status.MAX_ITER
            self.before_epoch()
            self.epoch()
            self.n_iter += 1
            account = self.look()
            rested = self.at_rest(account)
            if not self.bounded and self.n_iter % ENDLESS_EVERY == 0:
                self.endless(self.core.beta, self.core.product)
                self.doubt(self.n_iter)

    def be_patient(self, account: Any) -> None:
        """Patience; but coefficients that grow for ever show it best where each epoch is like the last, from the start.

        So before a hard margin in another order is given up, a cyclic climb looks whether there is one at all.
        """
        try:
            self.patience(self.lack(account), account.objective, self.n_iter)
        except End as end:
            if self.bounded or self.order == "cyclic" or end.status is not Status.STALLED:
                raise
            self.settle()
            reached, self.beta = self.beta, self.origin
            self.order = "cyclic"
            self.restart()
            for epoch in range(1, PROBE + 1):
                self.epoch()
                if epoch % ENDLESS_EVERY == 0:
                    self.endless(self.core.beta, self.core.product)
            self.core, self.beta = None, reached
            raise

    def restart(self) -> None:
        """A core that starts from β, with a fresh product."""
        self.updates += 0 if self.core is None else self.core.updates
        self.core = self.start_core(_core.Coordinate32, _core.Coordinate64)

    def look(self) -> Any:
        """The account of where the core stands, also for the trace."""
        account = self.core.account(bias=self.shift, rho=0.0)
        self.tell(account, bias=self.shift, updates=self.updates + self.core.updates)
        return account

    def epoch(self) -> None:
        """Visit every coefficient once."""
        core, n = self.core, len(self.problem)
        core.begin_epoch()
        order = self.visits()
        done = 0
        while done < n:
            rule = {"step": self.step, "shift": self.shift, "augment": self.augment, "seconds": SLICE_SECONDS}
            if order is None:
                made = core.visit_best(n - done, **rule)
                if made == 0 and not len(core.wanted):
                    return  # nothing moves any more
            else:
                made = core.visit(order[done:], **rule)
            done += made
            self.shift = core.shift
            if len(wanted := core.wanted):
                self.gram.fetch(wanted, self.watch.check)
            self.watch.check()

    def visits(self) -> NDArray[np.int64] | None:
        """The order of the next epoch; None: wherever it is steepest."""
        if self.order == "greedy":
            return None
        rows = np.arange(self.problem.rows) if self.order == "cyclic" else self.random.permutation(self.problem.rows)
        if self.problem.doubled:  # a point's two multipliers one after the other
            rows = np.stack((rows, rows + self.problem.rows), axis=1).ravel()
        return np.ascontiguousarray(rows, dtype=np.int64)

    def settle(self) -> None:
        """Coefficients from the core; sums, which a run with a bias on trial meets in the end only, put right."""
        if self.core is not None and np.isfinite(self.core.beta).all():
            self.beta, self.guess = self.core.beta, self.core.product
        if self.problem.sums:
            self.beta = meet_sums(self.problem, self.beta)

    def last_row(self) -> None:
        """An epoch that was cut short."""
        if self.core is not None and self.updates + self.core.updates != self.told:
            self.look()


def curvatures(problem: Problem, gram: Gram) -> Array:
    """K_ii + r_i of every coefficient."""
    diagonal = np.concatenate((gram.diagonal, gram.diagonal)) if problem.doubled else gram.diagonal
    return np.asarray(diagonal + problem.ridge)


def newton_steps(problem: Problem, curvature: Array) -> Array:
    """1 / curvature; where there is none the box decides."""
    flat = flat_ones(problem, curvature)
    return np.where(flat, STEEPEST, 1.0 / np.where(flat, 1.0, curvature))


def flat_ones(problem: Problem, curvature: Array) -> NDArray[np.bool_]:
    """Coefficients without curvature; where the box of one has no end either, nothing holds it."""
    flat = curvature <= 0
    falls = np.where(problem.linear < 0, problem.upper, np.where(problem.linear > 0, problem.lower, 0.0))
    if (flat & np.isinf(falls)).any():
        raise End(Status.UNBOUNDED)
    return flat
