"""Successive over-relaxation, section 3.2 of the SVM tutorial chapter (after Mangasarian & Musicant).

With ½ b² added to ½ wᵀw + C Σ ξ the dual has only a box: minimise ½ αᵀDα - Σ α, D = y y (K + 1).
"""

from __future__ import annotations

import numpy as np


def sor(K, y, *, C, omega):
    """Gauss-Seidel, relaxed by 0 < ω < 2 and projected onto [0, C]: yields α after each sweep."""
    D = np.outer(y, y) * (K + 1)
    alpha = np.zeros(len(y))
    while True:
        for i in range(len(y)):
            gradient = D[i] @ alpha - 1
            alpha[i] = min(max(alpha[i] - omega * gradient / D[i, i], 0.0), C)
        yield alpha.copy()
