"""What the run of every solver shares: the judge, the clock, the account it gives, and how it ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from math import inf, nan
from time import thread_time
from typing import Any

import numpy as np

from adatron import _core
from adatron._check import Array
from adatron.certificates import CERTAIN, BetaOverflow, bias, gradient, judgement
from adatron.gram import Gram, Paced
from adatron.problems import Problem, meet_sums
from adatron.solution import Certificate, Solution, Status
from adatron.solvers._active_set import ActiveSet, Unbounded
from adatron.solvers._registry import make_solver
from adatron.solvers.protocol import Stop
from adatron.trace import OutOfBudget, OutOfTime, Report, StoppedByCaller, Watch

EARLY = (Status.MAX_ITER, Status.MAX_TIME, Status.STOPPED, Status.INTERRUPTED)  # ends that return the iterate as it is
FEASIBLE = 1e-9  # relative to the largest coefficient: no gap is claimed for a point that misses box or sums by more
PATIENCE = 1000  # epochs without progress, beside half of all made, before a climb gives up
FALL = 1e-9  # of the objective, that counts as progress
DOUBT = 50  # epochs before the existence of a hard margin is doubted
BEYOND = 1e100  # an objective so large has no end
SMALL = 300  # rows of problems that no solver may spend more on than a budget of CPU time, unless told how much
BUDGET = 0.6  # seconds; well-scaled problems of this size take the papers' algorithms 1 to 300 ms
ROUGH_BUDGET = 0.3  # seconds in float32, after which float64 goes on
FINISH = 0.7  # seconds for the active-set method after that: 300 iterations over 300 free coefficients
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
        self.judged: Array | None = None  # the last β that had a certificate
        self.guess = np.zeros(problem.rows)  # K·fold(β) as the climb knows it
        self.n_iter = 0
        self.evaluations = 0  # of kernel values outside the gram
        self.trial: float | None = None  # the bias that goes with β on the way, unlike the certificate's
        self.told = -1  # updates at the last row of the trace
        self.small = problem.rows <= SMALL and self.stop.max_iter < 0  # an active-set method may finish it
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

    def last_row(self) -> Any:
        """Tell of the iterate that a run which ends early returns, unless the last row of the trace did."""
        return

    def solve(self) -> Solution:
        """Iterate, and hand back what there is, whatever ends the run.

        A small problem on which the solver stalls, or spends its budget, is finished by an active-set method: however
        badly it is scaled, it ends.
        """
        watch = self.watch
        budgeted = self.small and watch.max_time is None and watch.cpu_end is None
        exact = self.gram.dtype == np.float64
        if budgeted:
            watch.cpu_end = thread_time() + watch.share * (self.budget() if exact else ROUGH_BUDGET)
        try:
            status = self.guarded(self.climb)
        finally:
            if budgeted:
                watch.cpu_end = None
        self.settle()
        if self.small and exact and status is Status.STALLED and watch.cpu_end is None:
            status = self.guarded(self.finish)
        if status in EARLY:
            progress, watch.progress = watch.progress, None
            self.guarded(self.last_row)
            watch.progress = progress
        else:
            self.trial = None
        watch.release()
        return self.solution(status)

    def guarded(self, work: Callable[[], Any]) -> Any:
        """The status in which ``work`` ends, by itself or otherwise."""
        try:
            return work()
        except End as end:
            return end.status
        except OutOfBudget:
            return Status.STALLED
        except OutOfTime:
            return Status.MAX_TIME
        except StoppedByCaller:
            return Status.STOPPED
        except KeyboardInterrupt:
            return Status.INTERRUPTED

    def budget(self) -> float:
        """Seconds of CPU time for a small problem, before an active-set method finishes it."""
        return BUDGET

    def finish(self) -> Status:
        """The active-set method from β on; the certificate decides what is kept."""
        problem, gram = self.problem, self.gram
        reached, before = self.beta, self.judge()
        if self.content(before):
            return Status.CONVERGED
        if before.kkt_violation <= self.noise():
            return Status.STALLED  # rounding hides all that is left to gain
        gram.activate(None)
        K = gram.rows(np.arange(problem.rows))
        method = ActiveSet(problem, K, meet_sums(problem, reached), self.stop.tol)
        try:
            method.run(thread_time() + self.watch.share * FINISH, self.watch.check)
        except Unbounded:
            if not self.bounded:
                return Status.UNBOUNDED
        finally:
            verdict = judgement(problem, gram, method.best)
            if is_feasible(verdict, method.best) and verdict.kkt_violation < before.kkt_violation:
                self.beta, before = method.best, verdict
                self.guess = np.asarray(gram.product(problem.fold(self.beta)))
                self.tell_finish(verdict)
        return Status.CONVERGED if self.content(before) else Status.STALLED

    def tell_finish(self, verdict: Certificate) -> None:
        """The last row of the trace, of where the active-set method ended."""
        account = account_of(self.problem, self.beta, self.guess, verdict.bias, verdict.rho)
        last = self.watch.last
        more: dict[str, Any] = (
            {} if last is None else {name: value for name, value in last.more.items() if name != "error"}
        )
        epoch = self.n_iter if last is None else last.epoch - (self.before.epoch if self.before else 0)
        self.tell(account, bias=verdict.bias, updates=max(self.told, 0), epoch=epoch, **more)

    def noise(self) -> float:
        """What rounding alone may make of the gradient, in float64."""
        coef = self.problem.fold(self.beta)
        return float(16 * np.finfo(np.float64).eps * np.abs(self.gram.diagonal).max() * np.abs(coef).sum())

    def product(self) -> Array:
        """K·fold(β), made anew."""
        return self.gram.product(self.problem.fold(self.beta), self.watch.check)

    def judge(self) -> Certificate:
        """The certificate of where we stand; coefficients that overflow end the run where it was judged last."""
        try:
            verdict = judgement(self.problem, Paced(self.gram, self.watch.check), self.beta)
        except BetaOverflow:
            self.step_back()
            raise End(Status.STALLED) from None
        self.judged = self.beta.copy()
        return verdict

    def step_back(self) -> None:
        """To coefficients whose sums are finite: along negative curvature they grow without end."""
        self.beta = self.problem.start() if self.judged is None else self.judged
        self.trial = None

    def content(self, verdict: Certificate) -> bool:
        """Whether the certificate is within the tolerance."""
        return verdict.kkt_violation <= self.stop.tol * CERTAIN

    def start_core(self, make32: Any, make64: Any, **options: Any) -> Any:
        """The core's climb from β over all rows."""
        problem, gram = self.problem, self.gram
        gram.activate(None)
        make = make64 if gram.dtype == np.float64 else make32
        return make(gram.core, **problem.spans, beta=self.beta, product=self.product(), **options)

    def tell(
        self,
        account: Any,
        *,
        bias: float,
        updates: int,
        epoch: int | None = None,
        seconds: float | None = None,
        rows_computed: int | None = None,
        **more: float,
    ) -> None:
        """A row of the trace; an epoch is an iteration unless told otherwise, and the time is now."""
        watch = self.watch
        self.trial, self.told = bias, updates
        if not watch.listens:
            return
        at = self.n_iter if epoch is None else epoch
        computed = self.gram.evaluations if rows_computed is None else rows_computed * self.gram.size
        evaluations = self.evaluations + computed
        if (before := self.before) is not None:
            if updates == 0:
                return  # said already
            at, updates = at + before.epoch, updates + before.updates
            evaluations += before.kernel_evaluations
        time = watch.seconds if seconds is None else seconds
        watch.report(self.coef, Report(time, at, account, bias, updates, evaluations, more))

    def coef(self) -> Array:
        """One coefficient a kernel row, as the climb has them now."""
        self.settle()
        return self.problem.fold(self.beta)

    def patience(self, lack: float, objective: float, epoch: float) -> None:
        """End a climb that gets nowhere: neither its violation falls by a hundredth nor its objective by a billionth.

        Where the box has no end the objective may fall for ever, and counts for nothing.
        """
        if not abs(objective) < BEYOND:
            raise End(Status.STALLED if self.bounded else Status.UNBOUNDED)
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
        self._doubt_at *= 4
        look = Stop(tol=0.1, max_iter=DOUBT * len(self.problem))
        found = (
            make_solver("solver", "nearest-point")
            .solve(self.problem, self.gram, stop=look, watch=self.watch.inner())
            .status
        )
        if found in (Status.UNBOUNDED, Status.MAX_TIME, Status.INTERRUPTED, Status.STOPPED):
            raise End(found)
        self.gram.activate(None)

    def solution(self, status: Status) -> Solution:
        """Coefficients, status and certificate; where no time is left there is none, and its values say so."""
        in_haste = status in (Status.MAX_TIME, Status.INTERRUPTED)
        hurry = Watch(max_time=self.watch.grace if in_haste else None)
        gram = Paced(self.gram, hurry.check)
        try:
            try:
                verdict = judgement(self.problem, gram, self.beta)
            except BetaOverflow:
                self.step_back()
                verdict = judgement(self.problem, gram, self.beta)
        except OutOfTime:
            verdict = no_certificate(self.problem, self.beta, self.guess)
        if not is_feasible(verdict, self.beta):
            verdict = replace(verdict, gap=nan)
        if status is Status.CONVERGED and not self.content(verdict):
            status = Status.STALLED  # what is claimed is what is certified
        return Solution(
            beta=self.beta,
            status=status,
            certificate=verdict,
            n_iter=self.n_iter,
            seconds=self.watch.seconds,
            trace=self.watch.trace,
            rows=self.problem.rows,
            bias=self.trial,
        )


def no_certificate(problem: Problem, beta: Array, product: Array) -> Certificate:
    """What is said of coefficients that there was no time to judge, with the bias that ``product`` gives."""
    g = gradient(problem, product, beta)
    return Certificate(nan, inf, nan, inf, inf, nan, *bias(problem, g, beta))


def is_feasible(verdict: Certificate, beta: Array) -> bool:
    """Whether a certified β keeps box and sums, but for rounding."""
    return not verdict.infeasibility > FEASIBLE * (1 + float(np.abs(beta).max()))


def unsolved(problem: Problem, beta: Array, status: Status, *, convex: bool) -> Solution:
    """A start handed back as it is. Zero needs no kernel values for its certificate; anything else gets none.

    Nor does a problem that is not known to be ``convex`` have a gap.
    """
    zero = np.zeros(problem.rows)
    verdict = no_certificate(problem, beta, zero) if beta.any() else judgement(problem, _Zero(), beta)
    if not convex:
        verdict = replace(verdict, primal=nan, gap=nan)
    return Solution(beta=beta, status=status, certificate=verdict, n_iter=0, seconds=0.0, rows=problem.rows)


class _Zero:
    """The product of any Gram matrix with no coefficients."""

    def product(self, coef: Array) -> Array:
        return np.zeros(len(coef))


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


def account_of(problem: Problem, beta: Array, product: Array, bias: float, rho: float) -> Any:
    """What a row of the trace says of these coefficients."""
    return _core.account(**problem.spans, beta=beta, product=product, bias=bias, rho=rho)
