"""What prediction needs of a fit: support rows, coefficients, biases, and the arithmetic that was certified."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from adatron._check import Array
from adatron.kernels import Kernel, Linear, Precomputed
from adatron.packing import Block, Expansion
from adatron.precision import EXACT, Arithmetic
from adatron.problem_set import class_pairs
from adatron.threads import effective_threads

FEW = 16  # rows that are answered without threads, and without laying out anything but them
EXTENDED = 200_000  # multiplications in extended precision: a millisecond


@dataclass(frozen=True)
class Model:
    """f(x) = Σ coef_i k(x_i, x) + bias, one line of ``coef`` and one entry of ``bias`` per output.

    One against one, ``edges`` says where the support rows of each of the k classes begin, and where the last ones end:
    then there is an output for each pair of classes, and ``coef`` has k - 1 lines, scikit-learn's ``dual_coef_``. Line
    t holds the coefficients of a class's rows against class t, or t + 1 from that class on.
    """

    kernel: Kernel
    support: Any  # rows of X; with a precomputed kernel, their numbers
    coef: Array
    bias: Array
    arithmetic: Arithmetic = EXACT
    edges: tuple[int, ...] = ()

    def decision(self, X: Any, n_jobs: int | None = None) -> Array:
        """One row of values for each row of X."""
        if isinstance(self.kernel, Precomputed):
            return self._by_blocks(np.asarray(X[:, self.support], dtype=np.float64))
        if isinstance(self.kernel, Linear):
            return np.asarray(X @ self.weights.T + self.bias, dtype=np.float64)
        if X.shape[0] <= FEW and self._expansion.terms is not None and X.shape[0] > 0 and self.coef.shape[1] > 0:
            few = self._expansion.decide(self.coef, self.bias, X, self.edges)
            if few is not None:
                return few.T
        # one output after the other: the transpose costs nothing, further copies would
        self._expansion.threads = effective_threads(n_jobs)
        values = self._expansion(self.coef, X, blocks=self._blocks, outputs=len(self.bias))
        return np.asarray((values + self.bias[:, None]).T)

    @cached_property
    def _expansion(self) -> Expansion:
        """With the support rows laid out for the core at the first prediction."""
        return Expansion(self.kernel, self.support, self.arithmetic)

    @cached_property
    def _blocks(self) -> tuple[Block, ...]:
        """For the support rows of each class, the outputs that their lines of coefficients belong to."""
        classes = max(len(self.edges) - 1, 0)
        number = np.zeros((classes, classes), dtype=np.intp)
        first, second = class_pairs(classes)
        number[first, second] = number[second, first] = np.arange(len(first))
        return tuple(
            (slice(self.edges[c], self.edges[c + 1]), np.delete(number[c], c))
            for c in range(classes)
            if self.edges[c] < self.edges[c + 1]
        )

    def _by_blocks(self, values: Array) -> Array:
        """Outputs from kernel values with the support rows, or from these rows themselves."""
        if not self.edges:
            return np.asarray(values @ self.coef.T + self.bias)
        out = np.tile(self.bias, (len(values), 1))
        for run, outputs in self._blocks:
            out[:, outputs] += values[:, run] @ self.coef[:, run].T
        return out

    @cached_property
    def weights(self) -> Array:
        """The weight vector of a linear kernel, one row per output."""
        if not self.edges:
            return _exact_product(self.coef, self.support)
        out = np.zeros((len(self.bias), self.support.shape[1]))
        for run, outputs in self._blocks:
            out[outputs] += _exact_product(self.coef[:, run], self.support[run])
        return out

    def __getstate__(self) -> dict[str, Any]:
        """Without what is laid out for the core."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def _exact_product(coef: Array, support: Any) -> Array:
    """coef @ support, in extended precision where that is quick: large coefficients may cancel."""
    if not hasattr(support, "toarray") and coef.shape[0] * support.size <= EXTENDED:
        return np.asarray(coef.astype(np.longdouble) @ support, dtype=np.float64)
    product = coef @ support
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product, dtype=np.float64)
