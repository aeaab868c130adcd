"""The kernel matrix of a fit: whole, of some rows, in the precision that is called for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array
from adatron.gram import Gram
from adatron.kernels import Constant, Kernel, Precomputed
from adatron.packing import pack
from adatron.plan import Settings
from adatron.precision import EXACT, Arithmetic, kernel_dtype
from adatron.threads import effective_threads

PASSING = 256  # rows of a shared matrix that are cached while it is made

Index = NDArray[np.int64]


class TrainingMatrix:
    """The kernel matrix of the training rows, or of some of them.

    ``augment`` is added to every kernel value: it stands for a bias.
    """

    def __init__(self, settings: Settings, X: Any, weight: Array | None = None, augment: float = 0.0) -> None:
        self.settings, self.X, self.augment = settings, X, augment
        self.kernel = settings.kernel.resolve(X, weight)
        self.whole: NDArray[Any] | None = None  # the matrix, where several problems share it
        self.everything: Gram | None = None  # that it was computed by

    def dtype(self, rows: int) -> np.dtype[Any]:
        """Of kernel values: small problems have float64, which costs nothing there, and are polished."""
        return kernel_dtype(rows, self.settings.tol)

    def gram(self, rows: Index | None, threads: int, dtype: Any = None, cache_bytes: float | None = None) -> Gram:
        """The matrix of these rows."""
        X, kernel = self.X, self.augmented_kernel
        options: dict[str, Any] = {"cache_bytes": cache_bytes or self.settings.cache_bytes, "threads": threads}
        if self.whole is not None and self.everything is not None and rows is not None:
            part = self.whole[np.ix_(rows, rows)]
            return Gram(Precomputed(), part, dtype=self.everything.dtype, part_of=(self.everything, rows), **options)
        if rows is not None:
            X = X[np.ix_(rows, rows)] if self.settings.precomputed else X[rows]
        if self.augment and self.settings.precomputed:
            X = X.astype(np.float64) + self.augment
        return Gram(kernel, X, dtype=dtype or self.dtype(X.shape[0]), **options)

    @cached_property
    def augmented_kernel(self) -> Kernel:
        """The kernel, with the constant that stands for a bias where there is one in it."""
        if self.augment and not self.settings.precomputed:
            return self.kernel + Constant(self.augment)
        return self.kernel

    def share(self, largest: int, threads: int, at_once: int) -> None:
        """The whole matrix of a kernel that is a function, once: one against one, every value serves many problems.

        Only where it fits into the cache, with what is copied from it for the problems solved at a time.
        """
        m, dtype = self.X.shape[0], self.dtype(largest)
        left = self.settings.cache_bytes - dtype.itemsize * (m * m + at_once * largest**2)
        passing = dtype.itemsize * m * min(m, PASSING)
        if left >= passing:
            everything = self.gram(None, threads, dtype, passing)
            if everything.overflows:
                return  # in float64 it would take twice the memory; each problem sees to itself
            self.everything = everything
            self.whole = self.everything.rows(np.arange(m))
            self.everything.forget()

    def arithmetic(self, known: Sequence[Arithmetic]) -> Arithmetic:
        """What the model of these solutions predicts in: that of the solutions, if they have one in common."""
        first = known[0]
        if all(each is first or (each == first and each.center is first.center) for each in known):
            return first
        if any(each.dtype == np.float64 for each in known) or not (terms := self.kernel.terms()):
            return EXACT
        # problems on parts of the rows have centres of their own; the model needs one for all
        together = pack(self.X, terms, np.float32, threads=effective_threads(self.settings.n_jobs)).arithmetic
        return replace(together, differences=together.differences or any(each.differences for each in known))

    def intercept(self, coef: Array, bias: float) -> float:
        """The bias, with what a bias in the kernel amounts to."""
        return float(bias + self.augment * coef.sum()) if self.augment else float(bias)
