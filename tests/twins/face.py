"""core/face.cpp in NumPy: free coefficients go straight to where their gradients are level, as far as the box goes."""

from __future__ import annotations

import numpy as np


def descend(A, g, up, down, groups):
    """The change x of every coefficient; ``groups`` holds one 0/1 row a sum.

    Each leg solves min ½ xᵀAx + gᵀx with the sums kept and the stopped ones still; it ends at the first bound met.
    """
    n = len(g)
    x = np.zeros(n)
    stopped: list[int] = []
    while True:
        N = np.vstack([groups, np.eye(n)[stopped]]) if len(stopped) + len(groups) else np.zeros((0, n))
        kkt = np.block([[A, N.T], [N, np.zeros((len(N), len(N)))]])
        way = np.linalg.solve(kkt, np.concatenate([-(g + A @ x), np.zeros(len(N))]))[:n]
        way[stopped] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(way > 0, up - x, down + x) / np.abs(way)
        room[way == 0] = np.inf
        first = int(room.argmin())
        if room[first] >= 1:
            return x + way
        x = x + max(room[first], 0.0) * way
        x[first] = up[first] if way[first] > 0 else -down[first]
        stopped.append(first)
