"""One small file a contender; each offers

    fit(X, y, C, gamma, tol, threads, cache_mb) -> (support, beta, seconds)

with ``support`` the indices of the support vectors, ``beta`` the signed dual coefficients of all
rows (positive where y = +1) and ``seconds`` the time of the training itself. Converting data to
the contender's own layout, and copying its model to Python, is left off the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

Fit = tuple[np.ndarray, np.ndarray, float]

CONTENDERS = {
    "adatron": "adatron_svc:fit",
    "sklearn": "sklearn_svc:fit",
    "intelex-f32": "intelex:fit_float32",
    "intelex-f64": "intelex:fit_float64",
    "libsvm": "libsvm_official:fit",
    "thundersvm": "thundersvm_cpu:fit",
}


def load(name: str) -> Callable[..., Fit]:
    """Import a contender's fit function; ImportError when its library is not installed."""
    module, function = CONTENDERS[name].split(":")
    return getattr(import_module(f"{__name__}.{module}"), function)


def spread(support: np.ndarray, coefficients: np.ndarray, rows: int) -> np.ndarray:
    """Coefficients of the support vectors, spread over all rows in float64."""
    beta = np.zeros(rows)
    beta[support] = coefficients
    return beta
