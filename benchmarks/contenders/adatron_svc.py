"""adatron's SVC with its default solver."""

from time import perf_counter

from adatron import SVC

from . import Fit, spread


def fit(X, y, C, gamma, tol, threads, cache_mb) -> Fit:
    """Public API, default solver, all threads allowed."""
    model = SVC(C=C, gamma=gamma, tol=tol, cache_size=cache_mb, n_jobs=threads)
    begin = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - begin
    return model.support_, spread(model.support_, model.dual_coef_[0], len(y)), seconds
