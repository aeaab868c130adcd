"""SVMseq of Vijayakumar & Wu, "Sequential Support Vector Classifiers and Regression".

The bias is one more feature of value λ: the kernel is K + λ², and only the box [0, C] is left.
"""

from __future__ import annotations

import numpy as np

RATE = 1.9  # section 5: γ = 1.9 / max D_ii, below the 2 / max D_ii of eq. 44


def classification(K, y, *, C, lam, gamma=None):
    """Section 4.2, steps 1-3: yields (h, gain) after each epoch; gain sums eq. 40 over its patterns."""
    D = np.outer(y, y) * (K + lam**2)
    gamma = RATE / D.diagonal().max() if gamma is None else gamma
    h = np.zeros(len(y))
    while True:
        gain = 0.0
        for i in range(len(y)):
            E = h @ D[i]
            delta = min(max(gamma * (1 - E), -h[i]), C - h[i])
            h[i] += delta
            gain += delta * (1 - E - 0.5 * D[i, i] * delta)
        yield h.copy(), gain


def regression(K, t, *, C, epsilon, lam, gamma=None):
    """Section 6.1, steps 1-3, with E_i computed afresh for α: yields (α*, α) after each epoch.

    As printed, one E_i serves both; `regression_literal` says what comes of it.
    """
    return _regression(K, t, C, epsilon, lam, gamma, afresh=True)


def regression_literal(K, t, *, C, epsilon, lam, gamma=None):
    """Section 6.1 as printed: one E_i moves both α* and α.

    A point that swaps sides then moves by γ (E - ε) in α* and by γ (-E - ε) in α: α* - α by 2γE, which is
    3.8 E / D_ii, where a step that raises J_D (eq. 49) is below 2 E / D_ii. It can cycle for ever.
    """
    return _regression(K, t, C, epsilon, lam, gamma, afresh=False)


def cost(K, t, alpha_star, alpha, *, epsilon, lam):
    """Eq. 49, J_D(α, α*), which learning is to raise."""
    c = alpha_star - alpha
    return -0.5 * c @ (K + lam**2) @ c - epsilon * (alpha + alpha_star).sum() + t @ c


def _regression(K, t, C, epsilon, lam, gamma, *, afresh):
    R = K + lam**2
    gamma = RATE / R.diagonal().max() if gamma is None else gamma
    alpha_star, alpha = np.zeros(len(t)), np.zeros(len(t))
    while True:
        for i in range(len(t)):
            E = t[i] - (alpha_star - alpha) @ R[i]
            alpha_star[i] += min(max(gamma * (E - epsilon), -alpha_star[i]), C - alpha_star[i])
            if afresh:
                E = t[i] - (alpha_star - alpha) @ R[i]
            alpha[i] += min(max(gamma * (-E - epsilon), -alpha[i]), C - alpha[i])
        yield alpha_star.copy(), alpha.copy()
