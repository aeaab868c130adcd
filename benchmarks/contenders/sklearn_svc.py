"""scikit-learn's SVC: LIBSVM on dense float64 rows, one thread."""

from time import perf_counter

from sklearn.svm import SVC

from . import Fit, spread


def fit(X, y, C, gamma, tol, threads, cache_mb) -> Fit:
    """dual_coef_ is positive for the larger label, +1."""
    model = SVC(C=C, gamma=gamma, tol=tol, cache_size=cache_mb)
    begin = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - begin
    return model.support_, spread(model.support_, model.dual_coef_[0], len(y)), seconds
