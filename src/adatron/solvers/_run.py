"""What the run of every solver shares: the judge, the clock, the account it gives, and how it ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf, nan
from typing import Any

import numpy as np

from adatron import _core
from adatron._check import Array
from adatron.certificates import bias, gradient, judgement
from adatron.gram import Gram, Paced
from adatron.problems import Problem
from adatron.solution import Certificate, Solution, Status
from adatron.solvers.protocol import Stop
from adatron.trace import OutOfTime, Report, StoppedByCaller, Watch

CERTAIN = 1 + 1e-4  # the certificate may differ from the climb's own sums by their rounding
LAST_MOMENT = 0.1  # seconds for a certificate after the deadline
PATIENCE = 1000  # epochs without progress, beside half of all made, before a climb gives up
FALL = 1e-9  # of the objective, that counts as progress
DOUBT = 50  # epochs before the existence of a hard margin is doubted
BEYOND = 1e100  # an objective so large has no end
ENDLESS = 1e-9  # ‖Kd‖ next to nothing against d: the coefficients grow along d without end


class End(Exception):
    """Leave the climb with this status."""

    def __init__(self, status: Status) -> None:
        self.status = status


class Run(ABC):
    """One solve: where it stands, and what may end it."""

    def __init__(self, problem: Problem, gram: Gram, start: Array | None, stop: Stop | None, watch: Watch | None):
        self.problem, self.gram = problem, gram
        self.stop, self.watch = stop or Stop(), watch or Watch()
        self.fresh = start is None
        self.before = self.watch.last  # of a climb that this one goes on from: the trace counts on
        self.beta = problem.start() if start is None else np.array(start, dtype=np.float64)
        self.guess = np.zeros(problem.rows)  # K·fold(β) as the climb knows it
        self.n_iter = 0
        self.evaluations = 0  # of kernel values outside the gram
        closed = np.isfinite([problem.lower, problem.upper]).all() or problem.ridge.any()
        self.bounded = bool(closed) or len(problem.totals) == 2
        self._least = self._lowest = inf
        self._marked = 0.0
        self._old: tuple[Array, Array] | None = None
        self._doubt_at = DOUBT if is_hard_margin(problem) else inf

    @abstractmethod
    def climb(self) -> Status:
        """Climb until the judge is content."""

    def settle(self) -> None:
        """Take over from the core what it has; called before the end. What is in β already stays."""
        return

    def solve(self) -> Solution:
        """Climb, and hand back what there is, whatever ends the climb."""
        try:
            status = self.climb()
        except End as end:
            status = end.status
        except OutOfTime:
            status = Status.MAX_TIME
        except StoppedByCaller:
            status = Status.STOPPED
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        self.settle()
        self.watch.release()
        return self.solution(status)

    def product(self) -> Array:
        """K·fold(β), made anew."""
        return self.gram.product(self.problem.fold(self.beta), self.watch.check)

    def judge(self) -> Certificate:
        """The certificate of where we stand."""
        return judgement(self.problem, Paced(self.gram, self.watch.check), self.beta)

    def content(self, verdict: Certificate) -> bool:
        """Whether the certificate is within the tolerance."""
        return verdict.kkt_violation <= self.stop.tol * CERTAIN

    def start_core(self, make32: Any, make64: Any, **options: Any) -> Any:
        """The core's climb from β over all rows."""
        problem, gram = self.problem, self.gram
        gram.activate(None)
        make = make64 if gram.dtype == np.float64 else make32
        return make(gram.core, **spans(problem), beta=self.beta, product=self.product(), **options)

    def tell(self, account: Any, *, bias: float, updates: int, epoch: int | None = None, **more: float) -> None:
        """A row of the trace; an epoch is an iteration unless told otherwise."""
        watch = self.watch
        if not watch.listens:
            return
        at = self.n_iter if epoch is None else epoch
        evaluations = self.evaluations + self.gram.core.rows_computed * self.gram.size
        if (before := self.before) is not None:
            if updates == 0:
                return  # said already
            at, updates = at + before.epoch, updates + before.updates
            evaluations += before.kernel_evaluations
        watch.report(self.coef, Report(watch.seconds, at, account, bias, updates, evaluations, more))

    def coef(self) -> Array:
        """One coefficient a kernel row, as the climb has them now."""
        self.settle()
        return self.problem.fold(self.beta)

    def patience(self, lack: float, objective: float, epoch: float) -> None:
        """End a climb that gets nowhere: neither its violation falls by a hundredth nor its objective by a billionth.

        Where the box has no end the objective may fall for ever, and counts for nothing.
        """
        if not abs(objective) < BEYOND:
            raise End(Status.UNBOUNDED)
        somewhere = lack < 0.99 * self._least
        if self.bounded:
            somewhere |= objective < self._lowest - FALL * abs(self._lowest)
        if somewhere:
            self._least, self._lowest = min(lack, self._least), min(objective, self._lowest)
            self._marked = epoch
        elif epoch - self._marked > PATIENCE + epoch / 2:
            raise End(Status.STALLED)

    def endless(self, beta: Array, product: Array) -> None:
        """End a climb whose coefficients grow in a direction d with Kd = 0, along which the objective falls for ever.

        A direction is taken from the last call to this one. It must stay in the box for ever and keep the sums.
        """
        problem = self.problem
        if self._old is not None:
            d, change = beta - self._old[0], product - self._old[1]
            size = float(np.abs(d).sum())
            reach = float(np.sqrt(max(self.gram.diagonal.max(), 0.0)))
            leaves = np.where(d > 0, np.isfinite(problem.upper), np.isfinite(problem.lower))
            kept = [abs(float(d[i].sum())) for i, _ in problem.sums]
            small = ENDLESS * size
            if (
                size > 0
                and float(np.abs(d[leaves]).sum()) <= small
                and max(kept, default=0.0) <= small
                and float(np.abs(problem.ridge * d).max()) <= small
                and float(np.abs(change).max()) <= small * reach * max(reach, 1e-300)
                and float(problem.linear @ d) < -small
            ):
                raise End(Status.UNBOUNDED)
        self._old = beta, product

    def doubt(self, epoch: float) -> None:
        """A hard margin that takes so long may not exist: now and then see whether the classes' hulls are apart."""
        if epoch < self._doubt_at:
            return
        from adatron.solvers.nearest_point import NearestPoint

        self._doubt_at *= 4
        look = Stop(tol=0.1, max_iter=DOUBT * len(self.problem))
        found = NearestPoint().solve(self.problem, self.gram, stop=look, watch=self.watch.inner()).status
        if found in (Status.UNBOUNDED, Status.MAX_TIME, Status.INTERRUPTED, Status.STOPPED):
            raise End(found)
        self.gram.activate(None)

    def solution(self, status: Status) -> Solution:
        """Coefficients, status and certificate; whoever has no time left gets none, and is told so."""
        ended_early = status in (Status.MAX_TIME, Status.INTERRUPTED)
        hurry = Watch(max_time=LAST_MOMENT if ended_early else None)
        try:
            verdict = judgement(self.problem, Paced(self.gram, hurry.check), self.beta)
        except OutOfTime:
            g = gradient(self.problem, self.guess, self.beta)
            verdict = Certificate(nan, inf, nan, inf, inf, nan, *bias(self.problem, g, self.beta))
        return Solution(
            beta=self.beta,
            status=status,
            certificate=verdict,
            n_iter=self.n_iter,
            seconds=self.watch.seconds,
            trace=self.watch.trace,
            rows=self.problem.rows,
        )


def slack(problem: Problem, beta: Array, product: Array) -> Array:
    """How far every kernel row is from having to move: less than 0 if it must, -inf if a coefficient of it is free."""
    ascent = -gradient(problem, product, beta)
    may_grow, may_shrink = beta < problem.upper, beta > problem.lower
    far = np.full(len(problem), inf)
    for group in range(max(1, len(problem.totals))):
        here = problem.group == group
        free = may_grow & may_shrink & here
        level = float(ascent[free].mean()) if problem.sums and free.any() else 0.0
        far = np.where(may_grow & here, level - ascent, far)
        far = np.where(may_shrink & here, np.minimum(far, ascent - level), far)
        far[free] = -inf
    return np.asarray(far.reshape(-1, problem.rows).min(axis=0))


def is_margin(problem: Problem) -> bool:
    """Whether this is a classifier with exact bias and no bound on its coefficients: hard margin or squared hinge."""
    counts = problem.lower < problem.upper
    away = np.where(problem.linear < 0, problem.upper, -problem.lower)
    return bool(
        len(problem.totals) == 1
        and problem.totals[0] == 0
        and not problem.doubled
        and (np.abs(problem.linear) == 1).all()
        and (away[counts] == inf).all()
        and (np.where(problem.linear < 0, problem.lower, problem.upper) == 0).all()
    )


def is_hard_margin(problem: Problem) -> bool:
    """The same without a ridge: it may have no solution."""
    return is_margin(problem) and not problem.ridge.any()


def spans(problem: Problem) -> dict[str, Any]:
    """The problem as the core takes it."""
    return {
        "linear": problem.linear,
        "lower": problem.lower,
        "upper": problem.upper,
        "ridge": problem.ridge,
        "group": problem.group,
        "totals": problem.totals,
        "rows": problem.rows,
    }


def account_of(problem: Problem, beta: Array, product: Array, bias: float, rho: float) -> Any:
    """What a row of the trace says of these coefficients."""
    return _core.account(**spans(problem), beta=beta, product=product, bias=bias, rho=rho)


def meet_sums(problem: Problem, beta: Array) -> Array:
    """β with its sums put right: what is missing is spread over the free coefficients, then over any with room."""
    beta = np.clip(beta, problem.lower, problem.upper)
    for members, total in problem.sums:
        part, low, high = beta[members], problem.lower[members], problem.upper[members]
        for free_only in (True, False):
            for _ in range(len(part)):
                missing = total - part.sum()
                room = (part < high) if missing > 0 else (part > low)
                if free_only:
                    room &= (part > low) & (part < high)
                if abs(missing) <= 1e-15 * (np.abs(part).sum() + abs(total)) or not room.any():
                    break
                part = np.where(room, np.clip(part + missing / room.sum(), low, high), part)
        beta[members] = part
    return beta
