"""What is left of a fit when it comes to predicting: support rows, coefficients, bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adatron._check import Array
from adatron.gram import expansion
from adatron.kernels import Kernel, Linear, Precomputed
from adatron.threads import effective_threads


@dataclass(frozen=True)
class Model:
    """f(x) = Σ coef_i k(x_i, x) + bias; ``coef`` has a row an output, ``bias`` an entry."""

    kernel: Kernel
    support: Any  # rows of X; with a precomputed kernel, their numbers
    coef: Array
    bias: Array
    dtype: np.dtype[Any]

    def decision(self, X: Any, n_jobs: int | None = None) -> Array:
        """A row of values for each row of X."""
        if isinstance(self.kernel, Precomputed):
            values = np.asarray(X[:, self.support], dtype=np.float64) @ self.coef.T
        elif isinstance(self.kernel, Linear):
            values = X @ self.weights.T
        else:
            threads = effective_threads(n_jobs)
            values = expansion(self.kernel, self.support, self.coef, X, dtype=self.dtype, threads=threads).T
        return np.asarray(values, dtype=np.float64) + self.bias

    @property
    def weights(self) -> Array:
        """The weight vector of a linear machine, a row an output."""
        weights = self.coef @ self.support
        return np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights, dtype=np.float64)
