"""What a fit leaves behind or takes on the way: BLAS's threads, warnings, memory."""

import multiprocessing
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from textwrap import dedent

import numpy as np
import pytest
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info

from adatron import SVC


def blas_threads():
    return [(pool["filepath"], pool["num_threads"]) for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_concurrent_fits_leave_blas_as_it_was():
    X, y = make_classification(300, 10, n_informative=6, n_classes=3, random_state=0)
    before = blas_threads()
    seen = []

    def fit(C):
        SVC(C=C, n_jobs=1).fit(X, y)
        seen.append(blas_threads())

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fit, np.geomspace(0.1, 100, 12)))
    assert all(threads == before for threads in seen)
    assert blas_threads() == before


def _fit_without_warnings(n_jobs):
    X, y = make_classification(60, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SVC(n_jobs=n_jobs).fit(X, y).predict(X)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_a_fit_in_a_multiprocessing_worker_does_not_warn(n_jobs):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_fit_without_warnings, (n_jobs,)) == []


@pytest.mark.parametrize(("classes", "rows"), [(4, 4000), (26, 4000)])
def test_cache_size_bounds_the_memory_of_many_problems(classes, rows):
    """Growth of the peak while fitting; the whole matrix alone would take 64 MB."""
    program = f"""
    import resource, warnings
    import numpy as np
    from adatron import SVC
    warnings.simplefilter("ignore")
    random = np.random.default_rng(0)
    y = np.arange({rows}) % {classes}
    X = random.normal(size=({rows}, 8)) + 6 * random.normal(size=({classes}, 8))[y]
    SVC(n_jobs=2).fit(X[:100], y[:100])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    SVC(cache_size=10, n_jobs=2).fit(X, y)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    run = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True, text=True, check=True)
    kilobytes = int(run.stdout) / (1024 if sys.platform == "darwin" else 1)
    assert kilobytes < 60_000
