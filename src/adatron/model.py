"""What prediction needs of a fit: support rows, coefficients, biases, and the arithmetic that was certified."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from adatron._check import Array
from adatron.kernels import Kernel, Linear, Precomputed
from adatron.packing import Block, Expansion
from adatron.precision import EXACT, Arithmetic
from adatron.threads import effective_threads


@dataclass(frozen=True)
class Model:
    """f(x) = Σ coef_i k(x_i, x) + bias, one row of ``coef`` and one entry of ``bias`` per output.

    ``blocks`` names, for runs of support rows, the outputs that they have coefficients in: one against one with many
    classes, most are zero and need not be multiplied by.
    """

    kernel: Kernel
    support: Any  # rows of X; with a precomputed kernel, their numbers
    coef: Array
    bias: Array
    arithmetic: Arithmetic = EXACT
    blocks: tuple[Block, ...] = field(default=())

    def decision(self, X: Any, n_jobs: int | None = None) -> Array:
        """One row of values for each row of X."""
        if isinstance(self.kernel, Precomputed):
            values = np.asarray(X[:, self.support], dtype=np.float64) @ self.coef.T + self.bias
        elif isinstance(self.kernel, Linear):
            values = X @ self.weights.T + self.bias
        else:  # one output after the other: the transpose costs nothing, further copies would
            expansion = Expansion(self.kernel, self.support, self.arithmetic, threads=effective_threads(n_jobs))
            values = (expansion(self.coef, X, blocks=self.blocks) + self.bias[:, None]).T
        return np.asarray(values, dtype=np.float64)

    @cached_property
    def weights(self) -> Array:
        """The weight vector of a linear kernel, one row per output."""
        weights = self.coef @ self.support
        return np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights, dtype=np.float64)
