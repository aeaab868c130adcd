"""An independent judge: any `Problem`, solved by an interior-point method that is not ours."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse

from adatron.problems import Problem

TOLERANCE = 1e-11


class DenseGram:
    """A Gram matrix held whole, with the face that solvers and `certificate` expect."""

    def __init__(self, K):
        self.K = np.asarray(K, dtype=np.float64)
        self.shape, self.size, self.dtype = self.K.shape, len(self.K), self.K.dtype
        self.diagonal = self.K.diagonal().copy()

    def rows(self, index):
        return self.K[index]

    def product(self, coef):
        return self.K @ coef

    def subset(self, index):
        return DenseGram(self.K[np.ix_(index, index)])


def solve(problem: Problem, K) -> tuple[np.ndarray, float]:
    """The optimal β, clipped to the box, and its objective.

    Written with a factor of K, K = LLᵀ, and u = Lᵀ fold(β) as extra variables: minimise
    ½ uᵀu + ½ Σ r β² + pᵀβ. That is the same problem to rounding for any rank of K, and its form
    cannot become indefinite. Fixed variables are equations, for an interior must exist.
    """
    n, m = len(problem), problem.rows
    L = _factor(np.asarray(K, dtype=np.float64))
    rank = L.shape[1]
    quadratic = sparse.diags_array(np.concatenate((problem.ridge, np.ones(rank))))
    linear = np.concatenate((problem.linear, np.zeros(rank)))

    fold = L.T[:, np.arange(n) % m]
    fixed = problem.lower == problem.upper
    above = ~fixed & np.isfinite(problem.upper)
    below = ~fixed & np.isfinite(problem.lower)
    one = sparse.eye_array(n, format="csr")
    sums = [problem.group == g for g in range(len(problem.totals))]
    equations = [np.hstack((fold, -np.eye(rank)))]
    equations += [_pad(np.array(sums, dtype=float).reshape(-1, n), rank), _pad(one[fixed], rank)]
    inequalities = [_pad(one[above], rank), _pad(-one[below], rank)]
    right = [np.zeros(rank), problem.totals, problem.lower[fixed]]
    right += [problem.upper[above], -problem.lower[below]]
    A = sparse.vstack([sparse.csc_array(block) for block in equations + inequalities], format="csc")
    equal = rank + len(sums) + int(fixed.sum())
    cones = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(A.shape[0] - equal)]

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 500
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(quadratic),
        linear,
        sparse.csc_matrix(A),
        np.concatenate(right),
        cones,
        settings,
    )
    result = solver.solve()
    status = str(result.status)
    if status not in ("Solved", "AlmostSolved"):
        raise RuntimeError(f"clarabel gave up on {problem}: {status}")
    beta = np.clip(np.asarray(result.x)[:n], problem.lower, problem.upper)
    return beta, objective(problem, K, beta)


def objective(problem: Problem, K, beta) -> float:
    """½ cᵀKc + ½ Σ r β² + pᵀβ with c = β summed over the variables of a kernel row."""
    coef = beta.reshape(-1, problem.rows).sum(axis=0)
    return float(0.5 * coef @ K @ coef + 0.5 * problem.ridge @ beta**2 + problem.linear @ beta)


def _factor(K):
    """L with K = LLᵀ to rounding."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    kept = values > 1e-15 * len(K) * max(values[-1], 0.0)
    return vectors[:, kept] * np.sqrt(values[kept])


def _pad(block, columns):
    return sparse.hstack((sparse.csr_array(block), sparse.csr_array((block.shape[0], columns))))
