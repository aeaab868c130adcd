"""LIBSVM's own Python package: sparse rows; its wheel shares each kernel row among OpenMP threads."""

from time import perf_counter

import numpy as np
from libsvm.svmutil import svm_parameter, svm_problem, svm_train
from scipy.sparse import csr_matrix

from . import Fit, spread


def fit(X, y, C, gamma, tol, threads, cache_mb) -> Fit:
    """Training alone is timed; the rows are built before."""
    problem = svm_problem(y.astype(np.float64), csr_matrix(X))
    options = svm_parameter(f"-q -t 2 -c {C!r} -g {gamma!r} -e {tol!r} -m {cache_mb}")
    begin = perf_counter()
    model = svm_train(problem, options)
    seconds = perf_counter() - begin
    support = np.array(model.get_sv_indices()) - 1
    # Of labels -1 and +1 LIBSVM makes +1 the positive class, whichever comes first.
    return support, spread(support, np.ravel(model.get_sv_coef()), len(y)), seconds
