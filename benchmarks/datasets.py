"""The nine problems of the comparison, each a named value.

Generated sets need nothing. The others are looked for by `adatron.datasets.find`; a set that is not found raises
`FileNotFoundError`, and its problem is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adatron.datasets import find as stored

Data = tuple[np.ndarray, np.ndarray]
QUICK_ROWS = 1500


@dataclass(frozen=True)
class Problem:
    """A Gaussian-kernel hinge problem: data, C and gamma."""

    name: str
    C: float
    gamma: float
    source: Callable[[], Data]

    def load(self, quick: bool = False) -> Data:
        """X as C-contiguous float32 and y as ±1; a tenth of the rows at most when quick."""
        X, y = self.source()
        if quick:
            rows = min(len(y) // 10, QUICK_ROWS)
            kept = np.random.default_rng(0).choice(len(y), rows, replace=False)
            X, y = X[kept], y[kept]
        return np.ascontiguousarray(X, dtype=np.float32), signs(y)


def signs(y: np.ndarray) -> np.ndarray:
    """+1 where y is positive, -1 elsewhere."""
    return np.where(y > 0, 1, -1).astype(np.int8)


def checkerboard() -> Data:
    """Points uniform on a 4 x 4 board, coloured like the board."""
    X = np.random.default_rng(0).uniform(0.0, 4.0, (8000, 2))
    return X, 2 * (np.floor(X).sum(axis=1).astype(int) % 2) - 1


def synthetic(rows: int, features: int, informative: int, redundant: int) -> Callable[[], Data]:
    """scikit-learn's make_classification, seeded; the counts set how many support vectors arise."""

    def source() -> Data:
        from sklearn.datasets import make_classification

        return make_classification(rows, features, n_informative=informative, n_redundant=redundant, random_state=0)

    return source


def usps() -> Data:
    """USPS digits, 8 against the rest."""
    data = stored("usps")
    return data["X_train"], np.where(data["y_train"] == 8, 1, -1)


def covtype() -> Data:
    """Forest cover, 2 against the rest: 20,000 rows of subset100k, columns scaled to [0, 1]."""
    data = stored("covtype")
    rows = data["subset100k"][:20_000]
    areas, soils = np.eye(4)[data["wilderness"][rows]], np.eye(40)[data["soil"][rows]]
    X = np.hstack([data["X_num"][rows], areas, soils])
    span = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(span > 0, span, 1), np.where(data["y"][rows] == 2, 1, -1)


def ijcnn1() -> Data:
    """ijcnn1, all training rows."""
    data = stored("ijcnn1")
    return data["X_train"], data["y_train"]


def a9a() -> Data:
    """a9a, dense."""
    from scipy.sparse import csr_array

    data = stored("a9a")
    parts = data["train_data"].astype(np.float32), data["train_indices"], data["train_indptr"]
    return csr_array(parts, shape=tuple(data["train_shape"])).toarray(), data["y_train"]


def mnist() -> Data:
    """MNIST digits divided by 255, 8 against the rest."""
    data = stored("mnist")
    X = data["X_train"].reshape(60_000, -1).astype(np.float32) / np.float32(255)
    return X, np.where(data["y_train"] == 8, 1, -1)


MEDIUM = synthetic(10_000, 50, informative=10, redundant=8)

PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("checkerboard", 5, 2, checkerboard),
        Problem("synthetic-C1", 1, 1 / 50, MEDIUM),
        Problem("synthetic-C100", 100, 1 / 50, MEDIUM),
        Problem("synthetic-wide", 10, 1 / 200, synthetic(20_000, 200, 20, 10)),
        Problem("usps", 50, 1 / (2 * 3.5**2), usps),
        Problem("covtype", 10, 3, covtype),
        Problem("ijcnn1", 32, 2, ijcnn1),
        Problem("a9a", 1, 0.05, a9a),
        Problem("mnist", 10, 0.02, mnist),
    )
}
