"""What became of the problems of a fit: arrays, from which `Solution` objects are made when asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from adatron._check import Array
from adatron.precision import Arithmetic
from adatron.problem_set import Tasks
from adatron.solution import Certificate, Solution, Status
from adatron.trace import Trace

_STATUS = {status.value: status for status in Status}
OBJECTIVE, PRIMAL, DUAL, GAP, VIOLATION, INFEASIBILITY, BIAS, RHO, ROUNDING = range(9)


class Outcome:
    """Coefficients, certificates and statuses of the problems of one fit.

    Parameters
    ----------
    tasks : Tasks
        Which rows each problem is over.
    beta : array
        Coefficients of all problems, end to end; feasible starts until they are solved.
    doubled : bool
        Whether every row has two coefficients.
    """

    def __init__(self, tasks: Tasks, beta: Array, *, doubled: bool) -> None:
        count = len(tasks)
        self.tasks, self.beta, self.doubled = tasks, beta, doubled
        self.certificates = np.full((count, 9), np.nan)  # columns as named above
        self.statuses: list[Status | None] = [None] * count
        self.n_iter = np.zeros(count, dtype=np.int64)
        self.seconds = 0.0
        self.arithmetic: Arithmetic | None = None  # of those solved in a batch
        self.rounds: tuple[Array, Array] | None = None  # their traces, and where each begins
        self.started = 0.0  # on the traces' clock
        self.interrupted = False  # while those in a batch were solved
        self.largest = 0.0  # on the diagonal of the kernel matrix, in size: of those solved in a batch
        self.own: dict[int, Solution] = {}  # of those solved one by one

    def __len__(self) -> int:
        return len(self.tasks)

    def variables(self, k: int) -> slice:
        """The place of a problem's coefficients."""
        copies = 2 if self.doubled else 1
        return slice(copies * int(self.tasks.start[k]), copies * int(self.tasks.start[k + 1]))

    def put(self, k: int, solution: Solution) -> None:
        """Take over what was solved by itself."""
        at = solution.certificate
        self.own[k] = solution
        self.beta[self.variables(k)] = solution.beta
        self.statuses[k] = solution.status
        self.n_iter[k] = solution.n_iter
        values = at.objective, at.primal, at.dual, at.gap, at.kkt_violation, at.infeasibility
        self.certificates[k] = (*values, solution.model_bias, solution.model_rho, at.rounding)

    @property
    def coef(self) -> Array:
        """One coefficient per row of each task, end to end."""
        if not self.doubled:
            return self.beta
        return np.concatenate([self._folded(k) for k in range(len(self))])

    def _folded(self, k: int) -> Array:
        beta = self.beta[self.variables(k)]
        rows = len(beta) // 2
        return beta[:rows] + beta[rows:]

    @property
    def converged(self) -> bool:
        """Whether all did."""
        return all(status is Status.CONVERGED for status in self.statuses)

    def betas(self) -> list[Array]:
        """The coefficients of each problem."""
        return [self.beta[self.variables(k)] for k in range(len(self))]

    def arithmetics(self) -> list[Arithmetic | None]:
        """Those that solutions were certified in, each once or more."""
        found: list[Arithmetic | None] = [solution.arithmetic for solution in self.own.values()]
        return found if len(found) == len(self) else [self.arithmetic, *found]

    @cached_property
    def solutions(self) -> list[Solution]:
        """One object per problem."""
        return [self.solution(k) for k in range(len(self))]

    def solution(self, k: int) -> Solution:
        """The object of one problem."""
        if k in self.own:
            return self.own[k]
        status = self.statuses[k]
        assert status is not None
        rows = int(self.tasks.start[k + 1] - self.tasks.start[k])
        return Solution(
            beta=self.beta[self.variables(k)],
            status=status,
            certificate=Certificate(*self.certificates[k].tolist()),
            n_iter=int(self.n_iter[k]),
            seconds=self.seconds,
            trace=self._trace(k, rows),
            rows=rows,
            arithmetic=self.arithmetic,
        )

    def _trace(self, k: int, rows: int) -> Trace:
        if self.rounds is None:
            return Trace()
        table, begin = self.rounds
        return Trace.of_rounds(table[int(begin[k]) : int(begin[k + 1])], self.started, rows)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        state["statuses"] = [None if status is None else status.value for status in self.statuses]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.statuses = [value if value is None else _STATUS[value] for value in state["statuses"]]
