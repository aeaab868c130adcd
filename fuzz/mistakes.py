"""Cases that have to be refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from adatron import SVC, SVR, NuSVC, OneClassSVM
from adatron.kernels import Gaussian

from .base import Case, pick


def mistaken(random: Any, number: int) -> Case:
    """A mistake of a user: the answer is a sentence."""
    X, y = random.normal(size=(20, 3)), np.arange(20) % 2
    weight: Any = None
    test: Any = X[:3]
    options: dict[str, Any] = {}
    kind = pick(random, SVC, SVC, SVR, NuSVC, OneClassSVM)
    mistake = pick(random,
        "NaN in X", "a vector", "no rows", "lengths", "weights", "corrupt indices", "corrupt indptr", "asymmetric",
        "features", "option", "option",
    )  # fmt: skip
    match mistake:
        case "NaN in X":
            X[3, 1] = pick(random, np.nan, np.inf)
        case "a vector":
            X = X[:, 0]
        case "no rows":
            X, y = X[:0], y[:0]
        case "lengths":
            kind, y = SVC, y[:-1]
        case "weights":
            weight = pick(random, np.ones(19), -np.ones(20), np.zeros(20), np.full(20, np.nan), np.full(20, np.inf))
        case "corrupt indices" | "corrupt indptr":
            X = sparse.csr_array(X)
            at = int(random.integers(3, 15))
            if mistake == "corrupt indices":
                X.indices[at] = pick(random, -5, 10**6, 2**31 - 1)
            else:
                X.indptr[at] = pick(random, -5, 10**6, 2**31 - 1)
        case "asymmetric":
            X, options = X @ random.normal(size=(3, 20)), {"kernel": "precomputed"}
            test = X[:3]
        case "features":
            test = pick(random, X[:, :2], X[0], np.full((2, 3), np.nan))
        case _:
            kind = SVC
            name = pick(
                random, "C", "tol", "cache_size", "augment", "gamma", "degree", "max_iter", "max_time", "kernel"
            )
            wrong = {
                "C": (-1.0, 0.0, "1", np.nan, None),
                "tol": (0.0, -1e-3, np.nan, "a"),
                "cache_size": (0, -1, np.nan, np.inf),
                "augment": (0.0, -1.0, 1e200, np.nan),
                "gamma": (-1.0, "wide", np.nan, np.inf),
                "degree": (-1, 2.5, "3"),
                "max_iter": (-5, 1.5),
                "max_time": (0, -1.0, "1"),
                "kernel": ("gauss", 3, Gaussian),
            }[name]
            options = {name: pick(random, *wrong)}
            if name == "degree":
                options["kernel"] = "poly"
            if name == "augment":
                options["bias"] = "augmented"
    about = {"rows": np.shape(X)[0], "mistake": mistake}
    if mistake == "weights":
        about["weights"] = f"{len(weight)} of {weight[0]}"
    return Case(number, "invalid", kind(**options), X, y, weight, test, about)
