"""scikit-learn-intelex: oneDAL's "thunder" decomposition, in the precision of the data."""

from time import perf_counter

import numpy as np
from sklearnex.svm import SVC

from . import Fit, spread


def fit_float32(X, y, C, gamma, tol, threads, cache_mb) -> Fit:
    """oneDAL on X as it is; raises when it was not oneDAL that ran."""
    model = SVC(C=C, gamma=gamma, tol=tol, cache_size=cache_mb, n_jobs=threads)
    begin = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - begin
    if not hasattr(model, "_onedal_estimator"):
        raise RuntimeError("scikit-learn-intelex fell back to scikit-learn")
    if model.dual_coef_.dtype != X.dtype:
        raise RuntimeError(f"oneDAL worked in {model.dual_coef_.dtype}, not in {X.dtype}")
    return model.support_, spread(model.support_, model.dual_coef_[0], len(y)), seconds


def fit_float64(X, y, C, gamma, tol, threads, cache_mb) -> Fit:
    """The same on X in float64, converted before the clock starts."""
    return fit_float32(X.astype(np.float64), y, C, gamma, tol, threads, cache_mb)
