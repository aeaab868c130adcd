"""What the contenders are judged by: seconds to an answer whose certificate holds.

The duality gap and the KKT violation are recomputed in float64 from beta alone, off the clock,
the same for every contender. A violation above 1.5 times the tolerance asked for is not equal
accuracy, and such a time is marked.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

from adatron import problems
from adatron.solution import Certificate

from .run import Task

SLACK = 1.5
SNAP = 1e-6
BLOCK_BYTES = 16 << 20


class GaussianGram:
    """exp(-gamma |x - x'|^2) over the rows of X, never stored: products only, in float64."""

    def __init__(self, X: np.ndarray, gamma: float, threads: int = 2) -> None:
        """Keep the data as it is; blocks of it become float64 when needed."""
        self.X, self.gamma, self.threads = X, gamma, threads
        self.shape = (len(X), len(X))
        self.diagonal = np.ones(len(X))

    def product(self, coef: np.ndarray) -> np.ndarray:
        """K @ coef, a block of rows at a time over the support vectors only."""
        support = np.flatnonzero(coef)
        Z = self.X[support].astype(np.float64)
        z_norms = np.einsum("ij,ij->i", Z, Z)
        Zt, weights = np.ascontiguousarray(Z.T), coef[support]
        result = np.empty(len(self.X))

        def block(rows: slice) -> None:
            x = self.X[rows].astype(np.float64)
            values = (2 * x) @ Zt
            values -= np.einsum("ij,ij->i", x, x)[:, None]
            values -= z_norms
            np.minimum(values, 0, out=values)
            values *= self.gamma
            result[rows] = np.exp(values, out=values) @ weights

        step = max(1, BLOCK_BYTES // (8 * max(len(support), 1)))
        starts = range(0, len(self.X), step)
        with threadpool_limits(1), ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(block, [slice(start, start + step) for start in starts]))
        return result


def judge(task: Task, beta: np.ndarray, threads: int) -> Certificate:
    """The certificate of beta for the hinge problem with bias."""
    problem = problems.hinge(task.y.astype(np.float64), task.problem.C)
    gram = GaussianGram(task.X, task.problem.gamma, threads)
    return problems.certificate(problem, gram, beta, snap=SNAP)


def is_accurate(certificate: Certificate, tol: float) -> bool:
    """Whether the answer is as good as was asked for."""
    return bool(certificate.kkt_violation <= SLACK * tol)
