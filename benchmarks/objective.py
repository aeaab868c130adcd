"""What the contenders are judged by: seconds to an answer whose certificate holds.

The duality gap and the KKT violation are recomputed in float64 from beta alone, off the clock,
the same for every contender. A violation above 1.5 times the tolerance asked for is not equal
accuracy, and such a time is marked.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics.pairwise import pairwise_kernels
from threadpoolctl import threadpool_limits

from adatron import problems
from adatron.certificates import certificate
from adatron.solution import Certificate

from .run import Task

SLACK = 1.5
SNAP = 1e-6
FLOAT64_SNAP = 1e-12  # 1e-6 of C is a large coefficient where kernel values are: of digits with a cubic kernel
BLOCK_BYTES = 16 << 20
Part = tuple[problems.Problem, Any, np.ndarray]  # with the rows it is on, and its coefficients


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
    return certificate(problem, gram, beta, snap=SNAP)


def is_accurate(certificate: Certificate, tol: float) -> bool:
    """Whether the answer is as good as was asked for."""
    return bool(certificate.kkt_violation <= SLACK * tol)


@dataclass(frozen=True, eq=False)
class SupportColumns:
    """A kernel's matrix over the rows of X, in float64, of which only the support vectors' columns are computed."""

    X: np.ndarray
    kernel: dict[str, Any]

    def product(self, coef: np.ndarray) -> np.ndarray:
        """K @ coef."""
        support = np.flatnonzero(coef)
        return pairwise_kernels(self.X, self.X[support], filter_params=True, **self.kernel) @ coef[support]


def largest_violation(model: Any, X: Any, y: np.ndarray) -> float:
    """The largest KKT violation among the problems of a fitted SVC, NuSVC, SVR or OneClassSVM of any library.

    Read from ``support_`` and ``dual_coef_`` alone, in scikit-learn's layout (one-vs-one), after a fit in float64.
    """
    X, dual_coef = dense(X), dense(model.dual_coef_)
    gamma = 1 / (X.shape[1] * X.var()) if model.gamma == "scale" else model.gamma
    kernel = {"metric": model.kernel, "gamma": gamma, "degree": model.degree, "coef0": model.coef0}
    coef = np.zeros((len(dual_coef), len(y)))
    coef[:, model.support_] = dual_coef
    parts = pair_problems(model, y, np.abs(coef)) if hasattr(model, "classes_") else [whole_problem(model, y, coef[0])]
    return max(
        certificate(problem, SupportColumns(X[rows], kernel), beta, snap=FLOAT64_SNAP).kkt_violation
        for problem, rows, beta in parts
    )


def dense(values: Any) -> np.ndarray:
    """The values as a dense array."""
    return values.toarray() if issparse(values) else values


def whole_problem(model: Any, y: np.ndarray, coef: np.ndarray) -> Part:
    """The problem of an SVR or OneClassSVM."""
    if type(model).__name__ == "OneClassSVM":
        return problems.one_class(len(y), model.nu), slice(None), coef
    problem = problems.epsilon_regression(y, model.C, model.epsilon)
    return problem, slice(None), np.concatenate((np.maximum(coef, 0), np.minimum(coef, 0)))


def pair_problems(model: Any, y: np.ndarray, alpha: np.ndarray) -> Iterator[Part]:
    """The problem of each pair of classes."""
    codes = np.searchsorted(model.classes_, y)
    for first, second in combinations(range(len(model.classes_)), 2):
        rows = np.flatnonzero((codes == first) | (codes == second))
        signs = np.where(codes[rows] == second, 1.0, -1.0)
        beta = np.where(signs > 0, alpha[first, rows], -alpha[second - 1, rows])
        if type(model).__name__ == "SVC":
            yield problems.hinge(signs, model.C), rows, beta
            continue
        problem = problems.nu_classification(signs, model.nu)
        # dual_coef_ has been divided by the margin, and the sums say by how much
        yield problem, rows, beta * problem.totals[0] / beta[signs > 0].sum()
