"""One protocol for kernel matrices: rows on demand, a matrix in memory, the tests' own."""

from __future__ import annotations

import numpy as np
import pytest
from tests import oracle

from adatron.gram import Gram, KernelMatrix
from adatron.kernels import Gaussian, Linear, Precomputed
from adatron.selection.widths import Matrix, Widths

X = np.random.default_rng(0).normal(size=(40, 3))
K = Gaussian(1.5)(X)


def of_distances() -> Matrix:
    family = Widths(Gaussian(1.5), X, dtype=np.float64, ordered=False)
    return family.fill(family.blank(), 1 / 4.5)


MATRICES = {
    "Gram": lambda: (Gram(Gaussian(1.5), X, dtype=np.float64), K),
    "Gram in float32": lambda: (Gram(Gaussian(1.5), X, dtype=np.float32), K),
    "Gram of a linear kernel": lambda: (Gram(Linear(), X, dtype=np.float64), X @ X.T),
    "Gram of a matrix": lambda: (Gram(Precomputed(), K, dtype=np.float64), K),
    "Matrix": lambda: (Matrix(K.copy(), K.diagonal().copy()), K),
    "Matrix of distances": lambda: (of_distances(), K),
    "DenseGram": lambda: (oracle.DenseGram(K), K),
}


def check(matrix: KernelMatrix, values: np.ndarray) -> None:
    near = 1e-5 if matrix.dtype == np.float32 else 1e-7  # a matrix of distances leaves out values below 1e-8
    assert matrix.size == len(values)
    assert matrix.dtype in (np.dtype(np.float32), np.dtype(np.float64))
    np.testing.assert_allclose(matrix.diagonal, values.diagonal(), atol=near)
    index = np.array([7, 0, 11])
    rows = matrix.rows(index)
    assert rows.dtype == matrix.dtype
    np.testing.assert_allclose(rows, values[index], atol=near)
    coef = np.linspace(-1.0, 1.0, len(values))
    coef[::3] = 0.0
    product = matrix.product(coef)
    assert product.dtype == np.float64
    np.testing.assert_allclose(product, values @ coef, atol=10 * near)


@pytest.mark.parametrize("name", MATRICES)
def test_every_kernel_matrix_keeps_the_protocol(name):
    matrix, values = MATRICES[name]()
    check(matrix, values)
    index = np.array([3, 30, 4, 20, 12, 9, 0, 31, 8, 7, 22, 1])
    check(matrix.subset(index), values[np.ix_(index, index)])
