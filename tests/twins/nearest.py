"""The nearest points of two convex hulls (tutorial chapter, section 3.2), by Mitchell, Dem'yanov and Malozemov.

Each class's u ≥ 0 sums to one and the signed β = y u; z - z' = Σ β φ(x), so its half square is ½ βᵀKβ,
and g = Kβ is its gradient. A finite `upper` bounds u and so reduces the hulls.
"""

from __future__ import annotations

from math import inf

import numpy as np

from adatron.problems import nearest_points as problem


def nearest_points(K, y, *, upper=inf, tol):
    """Move weight within a class from its worst point to its best: yields (i, j, β) after each step."""
    hulls = problem(y, upper=upper)
    low, high, beta = hulls.lower, hulls.upper, hulls.start()
    while True:
        g = K @ beta
        pairs = [worst_pair(g, y == sign, beta, low, high) for sign in (1, -1)]
        difference, i, j = max(pairs, key=lambda pair: pair[0])
        if difference <= tol:
            return
        curvature = K[i, i] + K[j, j] - 2 * K[i, j]
        d = difference / curvature if curvature > 0 else inf
        up, down = high[i] - beta[i], beta[j] - low[j]
        d = min(d, up, down)
        # assigned, not added: rounding must not leave a point beside its bound
        beta[i] = high[i] if d == up else beta[i] + d
        beta[j] = low[j] if d == down else beta[j] - d
        yield i, j, beta.copy()


def worst_pair(g, members, beta, low, high):
    """(g_j - g_i, i, j): i would gain most from more weight, j from less; the first of equals."""
    gain = np.where(members & (beta < high), -g, -inf)
    loss = np.where(members & (beta > low), -g, inf)
    i, j = int(np.argmax(gain)), int(np.argmin(loss))
    # -inf where a class is full: with upper · count = 1 it is one point, and cannot move
    return gain[i] - loss[j], i, j
