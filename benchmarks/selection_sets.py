"""The data of the comparisons of ways to choose σ and C.

`SETS`, and of the regressions abalone, concrete and diabetes, took part in decisions about the search: how far it
smooths, how many rows it looks at. `HELD_OUT` and the other regressions did not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

from adatron.datasets import find
from benchmarks.datasets import covtype

Data = tuple[np.ndarray, np.ndarray]
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
Source = Callable[[], Data]
TEST_ROWS = 3000


def pair(name: str, positive: Any = None) -> Source:
    """A stored set of two classes, or one class against the rest."""

    def loaded() -> Data:
        data = find(name)
        if "X_train" in data.files:
            X, y = data["X_train"], data["y_train"]
        else:
            X, y = data["X"], data["y"]
        known = ~np.isnan(np.asarray(X, dtype=np.float64)).reshape(len(y), -1).any(axis=1)
        X, y = np.asarray(X, dtype=np.float64).reshape(len(y), -1)[known], y[known]
        return X, np.where(y == positive, 1, -1) if positive is not None else np.where(y > 0, 1, -1)

    return loaded


def a9a() -> Data:
    """Census, made dense."""
    from scipy.sparse import csr_array

    data = find("a9a")
    parts = (data["train_data"], data["train_indices"], data["train_indptr"])
    X = csr_array(parts, shape=tuple(data["train_shape"]))[:15_000]
    return X.toarray().astype(np.float64), np.where(data["y_train"][:15_000] > 0, 1, -1)


def cancer() -> Data:
    """Wisconsin diagnostic, with scikit-learn."""
    X, y = load_breast_cancer(return_X_y=True)
    return X, np.where(y == 1, 1, -1)


def digits() -> Data:
    """Even against odd digits, 8 x 8."""
    X, y = load_digits(return_X_y=True)
    return X, np.where(y % 2 == 0, 1, -1)


SETS: dict[str, Source] = {
    "pima": pair("pima"),
    "ionosphere": pair("ionosphere"),
    "sonar": pair("sonar"),
    "wbc": pair("wbc"),
    "splice": pair("splice"),
    "svmguide1": pair("svmguide1"),
    "usps 8": pair("usps", 8),
    "covtype": covtype,
    "a9a": a9a,
    "ijcnn1": pair("ijcnn1"),
    "cancer": cancer,
    "digits": digits,
}


def digits_of_mail() -> Data:
    """USPS, ten classes."""
    data = find("usps")
    return np.asarray(data["X_train"], dtype=np.float64).reshape(len(data["y_train"]), -1), data["y_train"]


def trees() -> Data:
    """Forest cover, seven classes: 20,000 rows of subset100k."""
    data = find("covtype")
    return covtype()[0], data["y"][data["subset100k"][:20_000]]


def handwriting(labels: Callable[[np.ndarray], np.ndarray], among: tuple[int, ...] = tuple(range(10))) -> Source:
    """MNIST, the digits named, with what their labels become."""

    def loaded() -> Data:
        data = find("mnist")
        kept = np.flatnonzero(np.isin(data["y_train"], among))[:30_000]
        X = data["X_train"][kept].reshape(len(kept), -1).astype(np.float64) / 255
        return X, labels(data["y_train"][kept].astype(np.int64))

    return loaded


def halved(name: str) -> Source:
    """A stored set with real targets as two classes: above its median, or not."""

    def loaded() -> Data:
        X, y = stored_regression(name)()
        return X, np.where(y > np.median(y), 1, -1)

    return loaded


MANY_CLASSES: dict[str, Source] = {
    "wine": lambda: load_wine(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "usps": digits_of_mail,
    "covtype": trees,
}


def stored_regression(name: str) -> Source:
    """A stored set with real targets, standardised; categories are left out."""

    def loaded() -> Data:
        data = find(name)
        y = np.asarray(data["y"], dtype=np.float64)
        return np.asarray(data["X"], dtype=np.float64), (y - y.mean()) / y.std()

    return loaded


def diabetes() -> Data:
    """Of scikit-learn, targets standardised."""
    X, y = load_diabetes(return_X_y=True)
    return X, (y - y.mean()) / y.std()


REGRESSIONS: dict[str, Source] = {
    "concrete": stored_regression("concrete"),
    "abalone": stored_regression("abalone"),
    "cpusmall": stored_regression("cpusmall"),
    "california": stored_regression("california"),
    "diabetes": diabetes,
}


# Held out at first: what went wrong on it, and only on it, changed which points are judged on more rows.
SETS["concrete, halved"] = halved("concrete")

HELD_OUT: dict[str, Source] = {
    "mnist 3, 5": handwriting(lambda y: np.where(y == 3, 1, -1), (3, 5)),
    "mnist even, odd": handwriting(lambda y: np.where(y % 2 == 0, 1, -1)),
    "mnist": handwriting(lambda y: y),
    "usps": digits_of_mail,
    "abalone, halved": halved("abalone"),
    "california, halved": halved("california"),
    "cpusmall, halved": halved("cpusmall"),
    "wine": lambda: load_wine(return_X_y=True),
    "covtype, 7 classes": trees,
}

# Training rows of the study; 60 % of a set at most. Sets that are not named here: those that they have, up to 1,000.
SIZES: dict[str, tuple[int, ...]] = {
    "cancer": (100, 1000),
    "svmguide1": (300, 4000),
    "usps 8": (1000, 4000),
    "covtype": (1000, 10_000),
    "a9a": (1000, 4000),
    "ijcnn1": (1000, 20_000),
    "mnist 3, 5": (200, 4000),
    "mnist even, odd": (1000, 18_000),
    "usps": (300, 4000),
    "california, halved": (1000, 10_000),
    "cpusmall, halved": (300, 4000),
    "covtype, 7 classes": (1000, 4000),
}


def split(data: Data, rows: int, seed: int) -> Split:
    """Training rows, at most so many and 60 % of all, and others to test on."""
    X, y = data
    order = np.random.default_rng(seed).permutation(len(y))
    count = min(rows, int(0.6 * len(y)))
    train, test = order[:count], order[count : count + TEST_ROWS]
    mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
    scaled = [(X[part] - mean) / np.where(deviation > 0, deviation, 1) for part in (train, test)]
    return scaled[0], y[train], scaled[1], y[test]
