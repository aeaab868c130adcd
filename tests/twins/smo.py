"""Platt's SMO (tutorial chapter, section 3.1, eqs. 32-45) and the simplified SMO (Sheehy, section 5.3; CS229).

In signed coefficients β = y μ, so that both cases of L and H (eqs. 35, 36) are one, and with
f = Σ β K + b: the chapter's b has the other sign, hence b - E - ... where eqs. 44, 45 add.
"""

from __future__ import annotations

import numpy as np

ROUNDING = 1e-12  # relative: what counts as no curvature, and as being on a bound


class State:
    """The coefficients, the bias, and the errors E = f - y of all points, kept up to date."""

    def __init__(self, K, y, C, tol, seed):
        self.K, self.tol, self.m = K, tol, len(y)
        self.lower, self.upper = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
        self.beta, self.b, self.E = np.zeros(len(y)), 0.0, -np.asarray(y, dtype=float)
        self.rng = np.random.RandomState(seed)

    def next(self):
        """The next output of C++'s std::mt19937(seed)."""
        return int(self.rng.randint(0, 2**32, dtype=np.uint64))

    def violated(self, i):
        """Eq. 29 within tol."""
        error, beta = self.E[i], self.beta[i]
        return bool((error < -self.tol and beta < self.upper[i]) or (error > self.tol and beta > self.lower[i]))

    def nonbound(self, i):
        return bool(self.lower[i] < self.beta[i] < self.upper[i])

    def step(self, i1, i2, *, least, flat=None):
        """Solve for the pair (eqs. 32-45); False if it cannot move.

        `least(new2, old2)` is the smallest change that counts; `flat`, the least difference of the
        objective between the ends of a segment without curvature (None: such a pair fails).
        """
        K, lower, upper = self.K, self.lower, self.upper
        beta1, beta2, E1, E2 = self.beta[i1], self.beta[i2], self.E[i1], self.E[i2]
        s = beta1 + beta2
        L, H = max(lower[i2], s - upper[i1]), min(upper[i2], s - lower[i1])
        if not H > L:
            return False
        eta = K[i1, i1] + K[i2, i2] - 2 * K[i1, i2]
        if eta > ROUNDING * (K[i1, i1] + K[i2, i2]):
            new2 = min(max(beta2 + (E1 - E2) / eta, L), H)
        elif flat is None or not np.isfinite(H - L):
            # An infinite end comes only with opposite labels, and then it is the end that descends.
            return False
        else:
            at_L, at_H = (d * (E2 - E1) + eta * d**2 / 2 for d in (L - beta2, H - beta2))
            if abs(at_L - at_H) <= flat:
                return False
            new2 = L if at_L < at_H else H
        new2 = snap(snap(new2, L, H), lower[i2], upper[i2])
        if abs(new2 - beta2) < least(new2, beta2):
            return False
        new1 = snap(min(max(s - new2, lower[i1]), upper[i1]), lower[i1], upper[i1])

        d1, d2 = new1 - beta1, new2 - beta2
        b1 = self.b - E1 - d1 * K[i1, i1] - d2 * K[i1, i2]
        b2 = self.b - E2 - d1 * K[i1, i2] - d2 * K[i2, i2]
        self.beta[i1], self.beta[i2] = new1, new2
        b = b1 if self.nonbound(i1) else b2 if self.nonbound(i2) else (b1 + b2) / 2
        self.E += d1 * K[i1] + d2 * K[i2] + (b - self.b)
        self.b = b
        return True


def snap(value, low, high):
    """Put a value that is on a bound but for rounding exactly there; an infinite width has no scale."""
    near = ROUNDING * (high - low) if np.isfinite(high - low) else -1.0
    return low if value - low <= near else high if high - value <= near else value


def smo(K, y, *, C, tol, seed, eps=1e-10):
    """SMO in full: yields (i1, i2, β, b) after each successful step."""
    state = State(K, y, C, tol, seed)
    examine_all = True
    while True:
        changed = False
        for i1 in range(state.m):
            if (examine_all or state.nonbound(i1)) and state.violated(i1):
                for i2 in second_choices(state, i1):
                    if state.step(i1, i2, least=lambda new, old: eps * (abs(new) + abs(old) + eps), flat=eps):
                        changed = True
                        yield i1, i2, state.beta.copy(), state.b
                        break
        if examine_all and not changed:
            return
        examine_all = not examine_all and not changed


def second_choices(state, i1):
    """The hierarchy of second multipliers, each drawn only when those before it have failed."""
    free = [i2 for i2 in range(state.m) if i2 != i1 and state.nonbound(i2)]
    if free:
        yield max(free, key=lambda i2: abs(state.E[i1] - state.E[i2]))
    r = state.next() % state.m
    yield from (i2 for k in range(state.m) if (i2 := (r + k) % state.m) in free)
    r = state.next() % state.m
    yield from (i2 for k in range(state.m) if (i2 := (r + k) % state.m) != i1)


def simplified(K, y, *, C, tol, max_passes, seed, eps=1e-5):
    """The second multiplier drawn at random, once a visit; over after max_passes quiet passes in a row."""
    state = State(K, y, C, tol, seed)
    passes = 0
    while passes < max_passes:
        changed = False
        for i in range(state.m):
            if state.violated(i):
                j = state.next() % (state.m - 1)
                j += j >= i
                if state.step(i, j, least=lambda new, old: eps):
                    changed = True
                    yield i, j, state.beta.copy(), state.b
        passes = 0 if changed else passes + 1
