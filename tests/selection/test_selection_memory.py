"""`cache_size` bounds what a cross-validation and a search hold."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from adatron import SVC
from adatron.selection import cross_validate

resource = pytest.importorskip("resource")

MEASURED = """
import resource
import numpy as np
from sklearn.datasets import make_blobs
from adatron import SVC, SVR
from adatron.selection import cross_validate

X, y = make_blobs({rows}, 5, centers={centers}, random_state=0)
cross_validate(SVC(), X[:200], y[:200], gamma=[0.01, 0.1], C=[1.0], cv=2)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{call}
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")
@pytest.mark.parametrize(
    ("rows", "centers", "call"),
    [
        (6000, 2, "cross_validate(SVC(cache_size=10), X, y, gamma=[0.01, 0.1], C=[1.0], cv=2)"),
        (6000, 2, "cross_validate(SVC(cache_size=10, kernel='linear'), X, y, C=[1.0], cv=2)"),
        (6000, 2, "SVC(cache_size=10, gamma='adapt', C='adapt').fit(X, y)"),
        (6000, 2, "SVC(cache_size=10, gamma='adapt', C='adapt', criterion='cv').fit(X, y)"),
    ],
)
def test_ten_megabytes_are_about_ten(rows, centers, call):
    program = MEASURED.format(rows=rows, centers=centers, call=call)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 80  # a matrix of 6,000 rows has 144


@pytest.mark.parametrize(
    ("estimator", "classes"),
    [(SVC(), 2), (SVC(kernel="linear"), 2), (SVC(), 3), (SVC(multiclass="ovr"), 3)],
    ids=str,
)
def test_less_memory_changes_no_score(estimator, classes):
    X, y = make_blobs(300, 3, centers=classes, cluster_std=3.0, random_state=0)
    options = {"C": [0.1, 10.0], "cv": 3}
    if estimator.kernel == "rbf":
        options["gamma"] = [0.01, 0.03, 0.1]
    scores = []
    for cache_size in (2000, 3, 0.1):  # 300 rows squared in float64 are 0.72 MB
        estimator.set_params(cache_size=cache_size, tol=1e-4)
        scores.append(cross_validate(estimator, X, y, **options).scores)
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-12)
    np.testing.assert_allclose(scores[2], scores[0], atol=0.011)  # a row in a hundred, at most, on the boundary


def test_leaving_one_out_does_not_hold_all_its_folds():
    X, y = make_blobs(1500, 2, centers=[[-4.0, 0.0], [4.0, 0.0]], random_state=0)
    tracemalloc.start()
    try:
        found = cross_validate(SVC(), X, y, gamma=[0.1], cv="loo")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.scores.shape == (1, 1, 1500)
    assert peak < 2.2 * 1500 * 1500 * 4 + 5e6  # the matrix and its part; the folds would take 36 MB
