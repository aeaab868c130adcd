"""The problems of a fit side by side in the core, one per thread, while they are small.

Python is entered a few times per fit, not per problem: building, solving, judging and polishing happen in the core
(core/batch.cpp), and what they return stays in arrays. A problem that does not converge there in the usual way, or of
which it is not known how exact its kernel values are, is left to the solvers, which look at it with all the care there
is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adatron import _core
from adatron._check import Array
from adatron.estimators._matrix import TrainingMatrix
from adatron.estimators._outcome import (
    BIAS,
    GAP,
    INFEASIBILITY,
    RHO,
    ROUNDING,
    VIOLATION,
    Outcome,
)
from adatron.gram import checked_diagonal
from adatron.kernels import Kernel, Linear
from adatron.packing import pack
from adatron.plan import Settings, margin_is_clear
from adatron.plan.margin import ENDED
from adatron.precision import Arithmetic
from adatron.problem_set import ProblemSet, Tasks
from adatron.solution import Status
from adatron.solvers import FEASIBLE, Decomposition, assured, is_certain, unsolved
from adatron.trace import OutOfTime, Watch

LARGEST = 1000  # rows of a problem alone that is solved here, in float64
SEVERAL = 2500  # the same where there are several: float32 would be faster, but not what comes with it in Python
SLICE_SECONDS = 0.05
UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2
ZERO: Any = np.float64(0.0)
CODES = {int(_core.BatchStatus.open.value): None, int(_core.BatchStatus.converged.value): Status.CONVERGED}


def suits_batch(settings: Settings, kernel: Kernel, tasks: Tasks, watch: Watch) -> bool:
    """Whether the problems of these tasks can be solved here: small ones, and nobody watches single steps."""
    solver = settings.solver
    plain = type(solver) is Decomposition and solver.working_size is None and solver.most_steps is None
    native = settings.precomputed or kernel.terms() is not None
    weights = settings.linear is not None and isinstance(kernel, Linear)  # larger problems have a solver of their own
    largest = LARGEST if len(tasks) == 1 or weights else SEVERAL
    return plain and native and settings.max_iter < 0 and watch.progress is None and tasks.largest <= largest


def solve_batch(
    matrix: TrainingMatrix, problems: ProblemSet, outcome: Outcome, watch: Watch, threads: int
) -> list[int]:
    """Solve what can be solved here; the numbers of the problems that are left to be solved one by one."""
    core, arithmetic, errors, largest = _core_batch(matrix, problems, outcome.beta, threads)
    ended: Status | None = None
    outcome.started = _core.seconds_now()
    try:
        while not core.advance(seconds=_slice(watch)):
            watch.check()
    except KeyboardInterrupt:
        ended, outcome.interrupted = Status.INTERRUPTED, True
        watch.cancelled.set()
    except OutOfTime:
        ended = Status.MAX_TIME
    if ended is not None:
        core.stop()
    beta, status, steps = core.beta, core.status, core.steps
    outcome.beta, outcome.n_iter, outcome.arithmetic = beta, steps, arithmetic
    outcome.certificates[:, :ROUNDING] = core.certificates
    outcome.rounds = core.traces, core.trace_start
    outcome.seconds = _core.seconds_now() - outcome.started
    outcome.statuses = [CODES.get(code) for code in status.tolist()]
    if ended is not None:
        for k in np.flatnonzero(status != _core.BatchStatus.converged.value).tolist():
            _end(problems, outcome, k, ended)
    outcome.largest = largest
    _bound_errors(problems, outcome, errors)
    left = [k for k, at in enumerate(outcome.statuses) if at is None]
    table = outcome.certificates
    doubtful = ~is_certain(table[:, VIOLATION], table[:, ROUNDING], matrix.settings.tol)
    if not matrix.kernel.positive_semidefinite:
        doubtful[:] = True
    for k in doubtful.nonzero()[0].tolist():
        if outcome.statuses[k] is Status.CONVERGED:
            gram = matrix.gram(problems.tasks.index(k), threads, np.float64)
            solution = assured(problems[k], gram, outcome.solution(k), matrix.settings.tol)
            if solution.status is Status.IMPRECISE:
                left.append(k)
            else:
                outcome.put(k, solution)
    return sorted(left)


def _slice(watch: Watch) -> float:
    """Seconds until Python looks at signals and the clock."""
    return SLICE_SECONDS if watch.max_time is None else min(SLICE_SECONDS, max(watch.max_time - watch.seconds, 0.0))


def _core_batch(
    matrix: TrainingMatrix, problems: ProblemSet, beta: Array, threads: int
) -> tuple[Any, Arithmetic, float, float]:
    """The core's batch, its arithmetic, a bound on the error of any kernel value, and the largest on the diagonal."""
    settings, kernel = matrix.settings, matrix.augmented_kernel
    options = {"cache_bytes": int(settings.cache_bytes), "threads": threads, "tol": settings.tol, "record": True}
    given = {**problems.spans, "beta": beta, **options}
    if settings.precomputed:
        gram = matrix.gram(None, threads, np.float64)  # sees to symmetry
        core = _core.Batch.of_matrix(gram.matrix, diagonal=gram.diagonal, **given)
        return core, gram.arithmetic, gram.asymmetry, float(np.abs(gram.diagonal).max())
    diagonal = checked_diagonal(kernel, matrix.X)
    points = pack(matrix.X, kernel.terms() or (), np.float64, threads=threads)
    core = _core.Batch.of_points(points.native(), points.core, diagonal=diagonal, **given)
    reach: Any = points.reach
    errors = float(points.error_bound()(reach, reach, ZERO))
    return core, points.arithmetic, errors, float(np.abs(diagonal).max())


def _end(problems: ProblemSet, outcome: Outcome, k: int, ended: Status) -> None:
    """A problem that was not solved in time: as it stands, or as it would have started."""
    outcome.statuses[k] = ended
    if outcome.n_iter[k] == 0:
        outcome.put(k, unsolved(problems[k], outcome.beta[outcome.variables(k)].copy(), ended, convex=True))


def _bound_errors(problems: ProblemSet, outcome: Outcome, errors: float) -> None:
    """How far gradients may be off because kernel values and their sums are; no gap for points that are infeasible."""
    coef, tasks, table = outcome.coef, problems.tasks, outcome.certificates
    total, support = tasks.sums(np.abs(coef)), tasks.sums((coef != 0).astype(np.float64))
    table[:, ROUNDING] = errors * total + support * UNIT_ROUNDOFF * total * outcome.largest
    if (table[:, INFEASIBILITY] > FEASIBLE).any():
        size = np.maximum.reduceat(np.abs(outcome.beta), tasks.start[:-1] * (2 if outcome.doubled else 1))
        table[table[:, INFEASIBILITY] > FEASIBLE * (1 + size), GAP] = np.nan


def unclear_margins(matrix: TrainingMatrix, problems: ProblemSet, outcome: Outcome) -> list[int]:
    """The ν-problems whose margin is not more than their errors; of solves that were ended early nothing is asked."""
    table = outcome.certificates
    rho = table[:, RHO] if problems.totals.shape[1] == 2 else np.abs(table[:, BIAS])
    copies = 2 if outcome.doubled else 1
    size = np.add.reduceat(np.abs(outcome.beta), copies * outcome.tasks.start[:-1])
    given = matrix.settings.precomputed and matrix.X.dtype == np.float32
    error = table[:, VIOLATION] + table[:, ROUNDING]
    clear = margin_is_clear(rho, error, size, outcome.largest, given_in_float32=given)
    return [k for k in np.flatnonzero(~clear).tolist() if outcome.statuses[k] in ENDED]
