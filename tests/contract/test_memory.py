"""Memory: what happens when there is none left, and that it is given back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PATIENCE = 600  # seconds before a process counts as hanging, on a busy machine too

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for its memory"),
    pytest.mark.skipif("ADATRON_SANITIZE" in os.environ, reason="sanitizers have memory of their own"),
]

START = """
import resource
import numpy as np
from scipy.sparse import csr_array, random_array
from adatron import SVC, Gram
from adatron.kernels import Gaussian, Laplacian

def used(which):  # MB: 0 is the address space, 1 what is resident
    return int(open("/proc/self/statm").read().split()[which]) * resource.getpagesize() / 2**20

def wide(features, rows=200, stored=20):
    rng = np.random.default_rng(0)
    start = np.arange(0, rows * stored + 1, stored)
    where = np.sort(rng.integers(features, size=(rows, stored)), axis=1).ravel()
    X = csr_array((rng.normal(size=rows * stored), where, start), shape=(rows, features))
    X.sum_duplicates()
    return X

X = np.random.default_rng(1).normal(size=(1200, 6))
y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
expected = SVC(C=3.0, n_jobs=2).fit(X, y).decision_function(X)
"""

# 4 million features under limits from far too little to enough: each attempt ends in MemoryError or in the right
# answer, and everything works again when the limit is gone.
TIGHT = """
sparse, label, everything = wide(4_000_000), y[:200], np.arange(200)
SVC(n_jobs=2).fit(wide(1000), label)  # OpenBLAS takes its memory now: it hangs if there is none when it wants it
failed = 0

def limited(extra, act):  # with so many more MB
    global failed
    resource.setrlimit(resource.RLIMIT_AS, (int((used(0) + extra) * 2**20), resource.RLIM_INFINITY))
    try:
        act()
    except MemoryError:
        failed += 1
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

for kernel in (Gaussian(gamma=0.1), Laplacian(gamma=0.1)):
    grams = [Gram(kernel, sparse, dtype=np.float64, threads=2) for _ in range(9)]
    for k, gram in enumerate(grams):
        limited(8 * k, lambda: gram.rows(everything))
        limited(8 * k, lambda: SVC(n_jobs=2).fit(sparse, label))
    right = kernel(sparse, sparse)
    for k, gram in enumerate(grams):
        assert np.allclose(gram.rows(everything), right, rtol=0, atol=1e-12)
        limited(k, lambda: gram.activate(np.arange(100)))
        gram.activate()
        assert np.allclose(gram.rows(everything), right, rtol=0, atol=1e-12)
    assert np.allclose(SVC(C=3.0, n_jobs=2).fit(X, y).decision_function(X), expected, rtol=0, atol=1e-9)
assert failed, "no limit was tight enough to test anything"
print("fine")
"""

GIVEN_BACK = """
for _ in range(2):  # what a first fit leaves for the next is no leak
    SVC(n_jobs=2).fit(wide(2**14), y[:200])
before = used(1)
for features in (2**20, 2**22):
    SVC(n_jobs=2).fit(wide(features), y[:200]).predict(wide(features))
print(used(1) - before)
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", START + code],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_without_memory_there_is_an_error_and_then_everything_works_again():
    assert run(TIGHT) == "fine\n"


def test_many_sparse_features_leave_no_memory_behind():
    assert float(run(GIVEN_BACK)) < 60
