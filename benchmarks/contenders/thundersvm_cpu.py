"""ThunderSVM built for the CPU."""

from time import perf_counter

from thundersvm import SVC

from . import Fit, spread


class Timed(SVC):
    """The clock covers the native training; the wrapper then copies the model value by value."""

    def _dense_fit(self, *arguments):
        begin = perf_counter()
        super()._dense_fit(*arguments)
        self.seconds = perf_counter() - begin


def fit(X, y, C, gamma, tol, threads, cache_mb) -> Fit:
    """Native training alone is timed."""
    model = Timed(C=C, gamma=gamma, tol=tol, n_jobs=threads, max_mem_size=cache_mb)
    model.fit(X, y)
    # The positive class is the one met first.
    coefficients = y[0] * model.dual_coef_[0]
    return model.support_, spread(model.support_, coefficients, len(y)), model.seconds
