"""What prediction needs of a fit: support rows, coefficients, biases."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array
from adatron.gram import Expansion
from adatron.kernels import Kernel, Linear, Precomputed
from adatron.threads import effective_threads

Block = tuple[slice, NDArray[np.intp]]


@dataclass(frozen=True)
class Model:
    """f(x) = Σ coef_i k(x_i, x) + bias; ``coef`` has a row an output, ``bias`` an entry.

    ``blocks`` names, for runs of support rows, the outputs that they have coefficients in: with many classes one
    against one, most are zero, and need not be multiplied by.
    """

    kernel: Kernel
    support: Any  # rows of X; with a precomputed kernel, their numbers
    coef: Array
    bias: Array
    dtype: np.dtype[Any]
    blocks: tuple[Block, ...] = field(default=())

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "dtype": self.dtype.name}  # a string: readers such as skops trust no dtype object

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, dtype=np.dtype(state["dtype"]))

    def decision(self, X: Any, n_jobs: int | None = None) -> Array:
        """A row of values for each row of X."""
        if isinstance(self.kernel, Precomputed):
            values = np.asarray(X[:, self.support], dtype=np.float64) @ self.coef.T + self.bias
        elif isinstance(self.kernel, Linear):
            values = X @ self.weights.T + self.bias
        else:
            values = self._expanded(X, effective_threads(n_jobs))
        return np.asarray(values, dtype=np.float64)

    def _expanded(self, X: Any, threads: int) -> Array:
        """Made an output at a time, a point a column: the transpose costs nothing, further copies would."""
        expansion = Expansion(self.kernel, X, dtype=self.dtype, threads=threads)
        if not self.blocks:
            out = expansion.values(self.support, self.coef)
        else:
            out = np.zeros((len(self.bias), X.shape[0]))
            for rows, outputs in self.blocks:
                out[outputs] += expansion.values(self.support[rows], self.coef[outputs, rows])
        out += self.bias[:, None]
        return out.T

    @cached_property
    def weights(self) -> Array:
        """The weight vector of a linear machine, a row an output."""
        weights = self.coef @ self.support
        return np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights, dtype=np.float64)
