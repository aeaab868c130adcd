"""The last digits: from a solution within tol to the optimum itself.

Which coefficients are at a bound and which are free is what a solver finds; the free ones then solve a linear system,

    (K_ff + r) δ + b = −g_f  for the free,    Σ δ = what the sum still lacks,

in float64. Those that leave their box are held at the bound they passed; those at a bound that want to leave it are
let go; and again, until nothing changes. So the answer depends on the data alone, not on the path, the order of rows
or the threads. It is kept only if the certificate says that it is better.

Systems are solved with the core's own Cholesky factor and sums made by NumPy's own loops: LAPACK and BLAS would wake
threads that cost more than such systems do, and only a process-wide setting could stop them.

Cost: f² kernel values and f³/3 operations for f free coefficients, and a product with K, a few times over. More than
`MOST` free ones are left as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adatron import _core
from adatron._check import Array
from adatron.certificates import gradient, judgement
from adatron.gram import Gram
from adatron.problems import Problem
from adatron.solution import Solution

MOST = 1000  # free coefficients
ROUNDS = 50
JITTER = 1e-13  # of the mean diagonal: makes a singular system solvable, and refinement takes it out again
REFINEMENTS = 3
SMALLEST = 1e-280  # of kernel values that can be told from nothing
ROUNDING = 1e-12  # a violation, relative to the gradients' size, that may be nothing

Mask = NDArray[np.bool_]


def polish(problem: Problem, gram: Gram, solution: Solution) -> Solution:
    """The solution with its free coefficients made exact, if that can be done and is better."""
    best, judged = solution.beta, solution.certificate
    beta, free = best, (best > problem.lower) & (best < problem.upper)
    for _ in range(ROUNDS):
        if free.sum() > MOST:
            break
        g = gradient(problem, gram.product(problem.fold(beta)), beta)
        target = _solved(problem, gram, beta, free, g)
        if target is None:
            break
        beta = np.clip(target, problem.lower, problem.upper)
        passed = free & (target != beta)
        if passed.any():
            free = free & ~passed
            continue
        verdict = judgement(problem, gram, beta)
        if verdict.kkt_violation < judged.kkt_violation and verdict.infeasibility <= 1e-9 * (1 + np.abs(beta).max()):
            best, judged = beta, verdict
        wanting = _wanting(problem, gram, beta, free)
        if not wanting.any():
            break
        free = free | wanting
    return replace(solution, beta=best, certificate=replace(judged, rounding=solution.certificate.rounding))


def _solved(problem: Problem, gram: Gram, beta: Array, free: Mask, g: Array) -> Array | None:
    """β with its free coefficients where the optimality conditions want them; None if the system cannot be solved."""
    index = np.flatnonzero(free)
    lacks = np.array([total - beta[members].sum() for members, total in problem.sums])
    if not len(index):
        return beta
    rows = index % problem.rows
    distinct, place = np.unique(rows, return_inverse=True)
    K = gram.block(distinct)[np.ix_(place, place)]
    K[np.diag_indices_from(K)] += problem.ridge[index]
    A = np.array([problem.group[index] == k for k in range(len(lacks))], dtype=np.float64).reshape(-1, len(index))
    present = A.any(axis=1)  # a sum without a free coefficient cannot be mended here
    A, lacks = np.ascontiguousarray(A[present]), lacks[present]
    scale = float(np.trace(K)) / len(K)
    if not SMALLEST < scale < np.inf:
        return None
    factor = np.array(K, order="C")
    factor[np.diag_indices_from(factor)] += JITTER * scale
    if not _core.cholesky(factor):
        return None
    across = A.copy()
    _core.cholesky_solve(factor, across)
    inner = np.einsum("kf,lf->kl", A, across)
    delta, b = np.zeros(len(index)), np.zeros(len(A))
    for _ in range(REFINEMENTS):
        step = -g[index] - np.einsum("ij,j->i", K, delta) - np.einsum("kf,k->f", A, b)
        missing = lacks - np.einsum("kf,f->k", A, delta)
        _core.cholesky_solve(factor, step)
        if len(A):
            more = np.linalg.solve(inner, np.einsum("kf,f->k", A, step) - missing)
            step, b = step - np.einsum("kf,k->f", across, more), b + more
        delta = delta + step
    moved = beta.copy()
    moved[index] += delta
    return moved if np.isfinite(moved).all() else None


def _wanting(problem: Problem, gram: Gram, beta: Array, free: Mask) -> Mask:
    """Coefficients held at a bound that would rather leave it: those worst off, a tenth of them at least."""
    g = gradient(problem, gram.product(problem.fold(beta)), beta)
    grows, shrinks = beta < problem.upper, beta > problem.lower
    want = np.zeros(len(beta))
    for k in range(max(1, len(problem.totals))):
        here = problem.group == k
        level = 0.0
        if problem.sums:
            inside = here & free
            if not inside.any():  # the bias is free between two values: whoever is beyond both wants to move
                low, high = (-g)[here & shrinks].min(initial=np.inf), (-g)[here & grows].max(initial=-np.inf)
                level = float(low + high) / 2 if np.isfinite(low + high) else 0.0
            else:
                level = float((-g)[inside].mean())
        want = np.where(here & grows & ~free, -g - level, want)
        want = np.where(here & shrinks & ~free, np.maximum(want, g + level), want)
    size = ROUNDING * (1.0 + float(np.abs(g).max()))
    wanting = want > size
    if wanting.sum() > 10:
        wanting &= want >= 0.1 * want.max()
    return wanting
