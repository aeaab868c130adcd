"""Linear kernels in the estimators: who solves them, and that the peers agree."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.datasets import make_classification, make_regression

from adatron import SVC, SVR, NuSVC, OneClassSVM


def data(rows=1500, features=8, classes=2, seed=0):
    X, y = make_classification(
        rows, features, n_informative=6, n_redundant=1, n_classes=classes, flip_y=0.05, random_state=seed
    )
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def wide(rows=1200, features=2500, seed=0):
    """Sparse rows of norm one."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((rows, features), density=0.01, format="csr", rng=rng)
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # LIBLINEAR takes no others
    value = X @ rng.normal(size=features)
    return X, np.where(value + 0.3 * value.std() * rng.normal(size=rows) > 0, 1, -1)


def evaluations(model):
    traces = model.trace_ if isinstance(model.trace_, list) else [model.trace_]
    return sum(trace["kernel_evaluations"][-1] for trace in traces)


# ---------------------------------------------------------------- the choice


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("bias", ["exact", "augmented", "none"])
@pytest.mark.parametrize("make", [data, wide], ids=["dense", "sparse"])
def test_many_rows_take_no_kernel_values(make, loss, bias):
    X, y = make()
    options = {"kernel": "linear", "loss": loss, "bias": bias, "tol": 1e-4}
    found, engine = SVC(**options).fit(X, y), SVC(solver="decomposition", **options).fit(X, y)
    assert found.converged_
    assert evaluations(found) == 0
    assert evaluations(engine) > 0
    assert found.kkt_violation_ <= 1.001e-4
    assert found.objective_ == pytest.approx(engine.objective_, rel=1e-4)
    np.testing.assert_allclose(found.decision_function(X), engine.decision_function(X), atol=5e-3)


@pytest.mark.parametrize(
    "change", [{"max_iter": 10**7}, {"solver": "decomposition"}, {"C": np.inf}, {"kernel": "poly"}]
)
def test_otherwise_the_general_engine_does(change):
    X, y = data(1200, features=30)
    X[:, 0] += 6.0 * (2 * y - 1)  # separable
    model = SVC(**{"kernel": "linear", **change}).fit(X, y)
    assert model.converged_
    assert evaluations(model) > 0


def test_few_rows_are_polished_as_ever():
    X, y = data(300)
    model = SVC(kernel="linear", C=2.0).fit(X, y)
    assert evaluations(model) > 0
    assert model.kkt_violation_ < 1e-9


def test_two_sums_and_one_class_are_as_before():
    X, y = data(1200)
    assert evaluations(NuSVC(kernel="linear", nu=0.6).fit(X, y)) > 0
    assert evaluations(OneClassSVM(kernel="linear", nu=0.3).fit(X + 5.0)) > 0


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "tree"])
def test_several_classes(multiclass):
    X, y = data(6000, classes=4)
    options = {"kernel": "linear", "multiclass": multiclass, "tol": 1e-4}
    found, engine = SVC(**options).fit(X, y), SVC(solver="decomposition", **options).fit(X, y)
    assert found.converged_
    assert evaluations(found) == 0
    np.testing.assert_allclose(found.coef_, engine.coef_, atol=2e-3)
    np.testing.assert_allclose(found.intercept_, engine.intercept_, atol=2e-3)


@pytest.mark.parametrize("bias", ["exact", "augmented", "none"])
def test_regression(bias):
    X, t = make_regression(1500, 6, noise=5.0, random_state=0)
    t = t / t.std()
    options = {"kernel": "linear", "bias": bias, "epsilon": 0.05, "tol": 1e-4}
    found, engine = SVR(**options).fit(X, t), SVR(solver="decomposition", **options).fit(X, t)
    assert found.converged_
    assert evaluations(found) == 0
    assert found.objective_ == pytest.approx(engine.objective_, rel=1e-4)
    np.testing.assert_allclose(found.predict(X), engine.predict(X), atol=2e-3)


def test_sample_and_class_weights():
    X, y = data(1500)
    weight = np.random.default_rng(0).integers(0, 4, size=1500).astype(float)
    weighted = SVC(kernel="linear", class_weight={1: 2.0}, tol=1e-5).fit(X, y, sample_weight=weight)
    repeated = np.repeat(np.arange(1500), weight.astype(int))
    again = SVC(kernel="linear", class_weight={1: 2.0}, tol=1e-5).fit(X[repeated], y[repeated])
    assert evaluations(weighted) == 0
    np.testing.assert_allclose(weighted.coef_, again.coef_, atol=1e-4)
    np.testing.assert_allclose(weighted.intercept_, again.intercept_, atol=1e-4)


def test_warm_start():
    X, y = wide()
    model = SVC(kernel="linear", warm_start=True).fit(X, y)
    first = model.n_iter_[0]
    assert first > 0
    assert model.fit(X, y).n_iter_[0] == 0
    assert model.set_params(C=1.5).fit(X, y).converged_


def test_random_state_and_threads():
    X, y = wide()
    models = [SVC(kernel="linear", random_state=seed, n_jobs=jobs).fit(X, y) for seed, jobs in ((0, 1), (0, 2), (1, 1))]
    np.testing.assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)
    assert not np.array_equal(models[0].coef_, models[2].coef_)
    np.testing.assert_allclose(models[0].decision_function(X), models[2].decision_function(X), atol=5e-3)


# ---------------------------------------------------------------- peers


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scaling", [1.0, 3.0])
@pytest.mark.parametrize("make", [data, wide], ids=["dense", "sparse"])
def test_agrees_with_liblinear(make, loss, scaling):
    X, y = make()
    ours = SVC(kernel="linear", C=0.1, loss=loss, bias="augmented", augment=scaling, tol=1e-5).fit(X, y)
    theirs = sklearn.svm.LinearSVC(
        C=0.1, loss=loss, intercept_scaling=scaling, dual=True, tol=1e-6, max_iter=100_000, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(np.ravel(ours.coef_), np.ravel(theirs.coef_), atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


@pytest.mark.parametrize("make", [data, wide], ids=["dense", "sparse"])
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_agrees_with_libsvm(make, C):
    X, y = make()
    ours = SVC(kernel="linear", C=C, tol=1e-5).fit(X, y)
    theirs = sklearn.svm.SVC(kernel="linear", C=C, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


# ---------------------------------------------------------------- memory

SCRIPT = """
import numpy as np
from pathlib import Path
from adatron import SVC

def peak():  # MB
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) / 1024

rng = np.random.default_rng(0)
X = rng.normal(size=(40_000, 30))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0, 1, -1)
SVC(kernel="linear").fit(X[:2000], y[:2000])
before = peak()
assert SVC(kernel="linear").fit(X, y).converged_
print(peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for its memory")
@pytest.mark.skipif("ADATRON_SANITIZE" in os.environ, reason="sanitizers have memory of their own")
def test_memory_is_that_of_some_vectors():
    """The rows take 10 MB, and a matrix of kernel values would take 12 GB."""
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 25
