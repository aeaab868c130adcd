"""`solve`: any solver on any problem, in an arithmetic that is exact enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from adatron._check import Array, finite_vector, integer, real
from adatron.certificates import judgement
from adatron.convexity import is_convex
from adatron.gram import Gram
from adatron.precision import EXACT, FLOAT32_TOL
from adatron.problems import Problem
from adatron.solution import Solution, Status
from adatron.solvers._registry import SOLVERS, make_solver
from adatron.solvers.protocol import Solver, Stop
from adatron.trace import Trace, Watch

# Part of the tolerance that errors of kernel values may take up before a more exact arithmetic takes over, and what
# the violation may come to with them: where it may be more, the solve goes on to a smaller one.
ROUNDING_SHARE = 0.5
LARGEST_VIOLATION = 1.3
TIGHTER = 1.25  # the same to aim at: other coefficients have other errors
UNSURE = (Status.STALLED, Status.UNBOUNDED)  # what float32 may have got wrong
RIDGE_SHARE = 1e-5  # of the largest kernel value, that a ridge has to be for float32
ENDED_EARLY = (Status.MAX_ITER, Status.MAX_TIME, Status.STOPPED, Status.INTERRUPTED)


@np.errstate(over="ignore", invalid="ignore")  # coefficients that grow without end overflow; their status tells
def solve(
    problem: Problem,
    gram: Gram,
    solver: str | Solver = "decomposition",
    *,
    start: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
    max_time: float | None = None,
    progress: Callable[[dict[str, float]], Any] | None = None,
    trace: bool = False,
    held_out: Callable[[Array, float], float] | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Solve ``problem`` over ``gram`` until its KKT violation is at most ``tol``.

    Kernel values are tried in the gram's arithmetic; where their errors (`Gram.rounding`) take up too much of ``tol``,
    or float32 allows no more progress, the solve goes on from there in a more exact one.

    ``solver`` is a name in `SOLVERS` or a solver object such as ``Adatron(rate=0.5)``. ``max_iter`` counts what the
    solver calls an iteration (see `describe`). ``progress`` is called with what a row of the trace says, and ends the
    solve by returning True. ``held_out`` maps coefficients, one a kernel row, and a bias to an error, which a trace
    then has beside the rest.
    """
    chosen = make_solver("solver", solver)
    stop = Stop(tol=real("tol", tol, above=0), max_iter=integer("max_iter", max_iter, at_least=-1))
    if max_time is not None:
        max_time = real("max_time", max_time, above=0, infinite=True)
    if watch is None:
        listener = Trace() if trace else None
        watch = Watch(max_time=max_time, progress=progress, trace=listener, held_out=held_out)
    elif max_time is not None:
        watch.limit(watch.seconds + max_time)
    _check(problem, gram, chosen, start)
    if gram.overflows or _ridge_is_lost(problem, gram):
        gram = gram.refined() or gram
    iterations, origin = 0, start
    while True:
        single = gram.dtype == np.float32
        first = replace(stop, tol=max(tol, FLOAT32_TOL)) if single else stop
        solution = _in_this_arithmetic(problem, gram, chosen, start, first, watch)
        solution = replace(solution, n_iter=iterations + solution.n_iter)
        too_coarse = single and (solution.status in UNSURE or first.tol > tol)
        finer = None
        if solution.status is Status.IMPRECISE or (too_coarse and solution.status not in ENDED_EARLY):
            finer = gram.refined()
        if finer is None:
            return solution
        iterations, start, gram = solution.n_iter, solution.beta, finer
        if solution.status in UNSURE:
            start = _better(problem, gram, start, problem.start() if origin is None else origin)
        if stop.max_iter >= 0:
            stop = replace(stop, max_iter=max(0, max_iter - iterations))


def _in_this_arithmetic(
    problem: Problem, gram: Gram, solver: Solver, start: Array | None, stop: Stop, watch: Watch
) -> Solution:
    """A solution; where errors of kernel values are small but leave too much open, of a smaller violation."""
    solution = assured(problem, gram, solver.solve(problem, gram, start=start, stop=stop, watch=watch), stop.tol)
    rounding, before = solution.certificate.rounding, solution.n_iter
    if solution.status is not Status.IMPRECISE or rounding > ROUNDING_SHARE * stop.tol:
        return solution
    smaller = replace(stop, tol=TIGHTER * stop.tol - 2 * rounding)
    if solver.accepts.warm_start and stop.max_iter >= 0:
        smaller = replace(smaller, max_iter=max(stop.max_iter - before, 0))
    further = solver.solve(problem, gram, start=solution.beta, stop=smaller, watch=watch)
    further = assured(problem, gram, replace(further, n_iter=before + further.n_iter), stop.tol)
    if further.status is Status.CONVERGED:
        return further
    # neither is certain: the better of the two, unless somebody has ended it
    status = further.status if further.status in (Status.STOPPED, Status.INTERRUPTED) else Status.IMPRECISE
    if not further.certificate.kkt_violation <= solution.certificate.kkt_violation:
        further = replace(solution, n_iter=further.n_iter, trace=further.trace)
    return replace(further, status=status)


def _ridge_is_lost(problem: Problem, gram: Gram) -> bool:
    """Whether float32 cannot tell K + r from K: along directions that only the ridge holds, steps would go anywhere."""
    if gram.dtype == np.float64 or not problem.ridge.any():
        return False
    return bool(problem.ridge[problem.ridge > 0].min() < RIDGE_SHARE * np.abs(gram.diagonal).max())


def _better(problem: Problem, gram: Gram, *points: Array) -> Array:
    """The point with the lowest objective: what float32 has led astray is no start."""
    found = {judgement(problem, gram, point).objective: point for point in points}
    return found[min(found)]


def assured(problem: Problem, gram: Gram, solution: Solution, tol: float) -> Solution:
    """The solution with what its certificate cannot know by itself: errors of kernel values, and convexity."""
    certificate, status = solution.certificate, solution.status
    goal = ROUNDING_SHARE * tol
    in_time = status not in (Status.MAX_TIME, Status.INTERRUPTED)
    rounding = gram.rounding(solution.coef, goal if in_time else np.inf)  # measuring takes time, a bound does not
    exact_enough = rounding <= goal
    certificate = replace(certificate, rounding=rounding)
    if status is Status.CONVERGED and not is_certain(certificate.kkt_violation, rounding, tol):
        status = Status.IMPRECISE
    if not is_convex(problem, gram, solution.beta, test=in_time):
        certificate = replace(certificate, primal=np.nan, gap=np.nan)
        status = Status.STATIONARY if status is Status.CONVERGED else status
    predicts = exact_enough and (not in_time or gram.error_beside(solution.coef) <= goal)
    arithmetic = gram.arithmetic if predicts else EXACT
    return replace(solution, certificate=certificate, status=status, arithmetic=arithmetic)


def is_certain(violation: Any, rounding: Any, tol: float) -> Any:
    """Whether a violation, or each of several, is small whatever the errors of kernel values within ``rounding``."""
    return (rounding <= ROUNDING_SHARE * tol) & (violation + 2 * rounding <= LARGEST_VIOLATION * tol)


def _check(problem: Problem, gram: Gram, solver: Solver, start: Array | None) -> None:
    if gram.size != problem.rows:
        raise ValueError(f"gram has {gram.size} rows: pass one with {problem.rows}, as the problem has.")
    if refusal := solver.accepts.refusal(problem) or solver.accepts.kernel_refusal(gram):
        fit = next(name for name, make in SOLVERS.items() if not make().accepts.refusal(problem))
        raise ValueError(f"solver={solver.name!r} does not take {refusal}: pass solver={fit!r}.")
    if start is not None:
        beta = finite_vector("start", start, length=len(problem))
        outside = np.maximum(problem.lower - beta, beta - problem.upper).max()
        off = [abs(beta[members].sum() - total) for members, total in problem.sums]
        if max([outside, *off]) > 1e-8 * (1 + np.abs(beta).max()):
            raise ValueError("start breaks the problem's box or sums: pass a feasible point, e.g. problem.start().")
