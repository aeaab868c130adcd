"""The Kernel-Adatron of Campbell & Cristianini, "Simple Learning Algorithms for Training Support Vector Machines".

Gradient ascent on L = Σ α - ½ ΣΣ α α y y K - λ Σ α y, one pattern at a time (eq. 2), with α clipped
to [0, C] (section 3.2). Every z is a dot product over all patterns, so an epoch costs m² (section 4.4).
"""

from __future__ import annotations

from math import inf, nan

import numpy as np


def without_bias(K, y, *, eta, C=inf, start=0.0, order=None):
    """Section 3.1, "KA algorithm without bias", steps 1-5: yields (α, margin) after each epoch."""
    m = len(y)
    rate = _rates(K, eta)
    alpha = np.full(m, min(start, C), dtype=float)
    epoch = 0
    while True:
        for i in range(m) if order is None else order(epoch):
            z = K[i] @ (alpha * y)
            alpha[i] = min(max(alpha[i] + rate[i] * (1 - z * y[i]), 0.0), C)
        yield alpha.copy(), margin(K, y, alpha, C)
        epoch += 1


def with_bias(K, y, *, eta, mu=0.1, C=inf, start=0.0, epsilon=1e-12):
    """Section 3.1, "KA algorithm with bias", steps 1-8: yields (α, λ, ω, margin) after each epoch.

    The paper counts epochs from 1 but sets λ⁰ = μ and λ¹ = -μ: here these are the first and the second.
    """
    m = len(y)
    rate = _rates(K, eta)
    alpha = np.full(m, min(start, C), dtype=float)
    lambdas, omegas = [], []
    while True:
        t = len(lambdas)
        if t < 2:
            lam = mu if t == 0 else -mu
        elif abs(change := omegas[-1] - omegas[-2]) < epsilon:
            # The paper's error trap. With λ kept, the next secant has slope zero: λ never moves again.
            lam = lambdas[-1]
        else:
            lam = lambdas[-1] - omegas[-1] * (lambdas[-1] - lambdas[-2]) / change
        for i in range(m):
            z = K[i] @ (alpha * y)
            alpha[i] = min(max(alpha[i] + rate[i] * (1 - z * y[i] - lam * y[i]), 0.0), C)
        omega = alpha @ y
        lambdas.append(lam)
        omegas.append(omega)
        yield alpha.copy(), lam, omega, margin(K, y, alpha, C)


def regression(K, t, *, eta, epsilon_tube, C=inf, order=None):
    """Section 5's two multipliers a point, f = Σ (α* - α) K: yields (α*, α) after each epoch."""
    m = len(t)
    rate = _rates(K, eta)
    alpha_star, alpha = np.zeros(m), np.zeros(m)
    epoch = 0
    while True:
        for i in range(m) if order is None else order(epoch):
            residual = t[i] - K[i] @ (alpha_star - alpha)
            alpha_star[i] = min(max(alpha_star[i] + rate[i] * (residual - epsilon_tube), 0.0), C)
            # Afresh: with one residual for both, a point that swaps sides takes two steps at once, and
            # the objective can rise when η K_ii > 1 (twins.svmseq.regression_literal shows it).
            residual = t[i] - K[i] @ (alpha_star - alpha)
            alpha[i] = min(max(alpha[i] + rate[i] * (-residual - epsilon_tube), 0.0), C)
        yield alpha_star.copy(), alpha.copy()
        epoch += 1


def margin(K, y, alpha, C):
    """Section 3.2: γ = ½ (min z over y = +1 - max z over y = -1), both where α < C; nan if one is empty."""
    z = K @ (alpha * y)
    positive, negative = z[(y > 0) & (alpha < C)], z[(y < 0) & (alpha < C)]
    return 0.5 * (positive.min() - negative.max()) if len(positive) and len(negative) else nan


def _rates(K, eta):
    """One rate a pattern; the best is 1 / K_ii (section 3)."""
    return 1 / K.diagonal() if isinstance(eta, str) and eta == "optimal" else np.full(len(K), float(eta))
