"""Small problems in a batch of the core: the same answers as one by one, whatever the kernel, the data and the end."""

from __future__ import annotations

import pickle
from dataclasses import astuple
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning

from adatron import SVC, SVR, NuSVC, NuSVR, OneClassSVM, certificate, problems
from adatron.estimators import _batch
from adatron.gram import Gram
from adatron.kernels import Gaussian, Linear
from adatron.plan import OneVsOne, OneVsRest, Scheme, Tree, Two

IRIS, SPECIES = load_iris(return_X_y=True)
IRIS, first = np.unique(IRIS, axis=0, return_index=True)  # duplicates may share a coefficient in any way
IRIS, SPECIES = (IRIS - IRIS.mean(axis=0)) / IRIS.std(axis=0), SPECIES[first]
X, Y = make_classification(150, 6, flip_y=0.2, random_state=0)
T = X[:, 0] * X[:, 1] + 0.1 * X[:, 2]
WEIGHT = np.where(np.arange(150) % 7, np.linspace(0.5, 2.0, 150), 0.0)


def one_by_one(monkeypatch, estimator, *data, **more):
    """A fit that leaves the batch out."""
    with monkeypatch.context() as without:
        without.setattr(_batch, "LARGEST", 0)
        without.setattr(_batch, "SEVERAL", 0)
        return estimator.fit(*data, **more)


def check_alike(mine, theirs, data):
    decide = "decision_function" if hasattr(mine, "decision_function") else "predict"
    mine_values, their_values = getattr(mine, decide)(data), getattr(theirs, decide)(data)
    np.testing.assert_allclose(mine_values, their_values, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(mine.support_, theirs.support_)
    np.testing.assert_allclose(mine.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-8)
    assert mine.converged_
    assert mine.stop_reason_ == theirs.stop_reason_
    assert mine.objective_ == pytest.approx(theirs.objective_, rel=1e-9)
    assert mine.kkt_violation_ <= 1e-3


KERNELS = ["rbf", "linear", "poly", "laplacian", "exponential", Gaussian(1.0) + 0.5 * Linear()]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_classifiers(monkeypatch, kernel, loss):
    for bias, data in product(("exact", "augmented", "none"), ((X, Y), (IRIS, SPECIES))):
        options = {"kernel": kernel, "loss": loss, "bias": bias, "C": 2.0}
        check_alike(SVC(**options).fit(*data), one_by_one(monkeypatch, SVC(**options), *data), data[0])


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "tree"])
@pytest.mark.parametrize(
    "layout", [np.asarray, np.float32, np.asfortranarray, sparse.csr_array], ids=lambda f: f.__name__
)
def test_schemes_and_layouts(monkeypatch, multiclass, layout):
    rows = layout(IRIS)
    mine = SVC(multiclass=multiclass, class_weight="balanced").fit(rows, SPECIES)
    check_alike(mine, one_by_one(monkeypatch, SVC(multiclass=multiclass, class_weight="balanced"), rows, SPECIES), rows)


@pytest.mark.parametrize(
    "estimator", [SVC(), SVR(), NuSVC(nu=0.4), NuSVR(), OneClassSVM(nu=0.3)], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_every_estimator(monkeypatch, estimator, weight):
    y = T if isinstance(estimator, SVR | NuSVR) else Y
    mine = type(estimator)(**estimator.get_params()).fit(X, y, sample_weight=weight)
    check_alike(mine, one_by_one(monkeypatch, estimator, X, y, sample_weight=weight), X)


@pytest.mark.parametrize("y", [Y, np.arange(150) % 3], ids=["two", "three"])
def test_precomputed(monkeypatch, y):
    K = Gaussian(2.0)(X)
    mine = SVC(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        mine.decision_function(K), SVC(kernel=Gaussian(2.0)).fit(X, y).decision_function(X), atol=1e-9
    )
    check_alike(mine, one_by_one(monkeypatch, SVC(kernel="precomputed"), K, y), K)


def test_certificates_of_a_batch_hold():
    """Each judged again from its coefficients, over a matrix of its own."""
    model = SVC(C=3.0).fit(IRIS, SPECIES)
    scheme = OneVsOne(3)
    for task, solution in zip(scheme.binary_tasks, model.solutions_, strict=True):
        rows = task.rows(SPECIES)
        gram = Gram(Gaussian(model.sigma_), IRIS[rows], dtype=np.float64)
        again = certificate(problems.hinge(task.signs(SPECIES[rows]), 3.0), gram, solution.beta)
        for claimed, true in zip(astuple(solution.certificate)[:-1], astuple(again)[:-1], strict=True):
            assert claimed == pytest.approx(true, rel=1e-7, abs=1e-9)
        assert solution.certificate.rounding >= again.rounding


def test_solutions_and_traces_are_made_when_asked_for():
    model = SVC().fit(IRIS, SPECIES)
    assert "solutions" not in vars(model._outcome)
    assert [solution.n_iter for solution in model.solutions_] == model.n_iter_.tolist()
    assert model.solutions_ is model.solutions_
    for trace in model.trace_:
        assert trace["kkt_violation"][-1] <= 1e-3
        assert trace["objective"] == sorted(trace["objective"], reverse=True)
    again = pickle.loads(pickle.dumps(model))
    assert [str(s.certificate) for s in again.solutions_] == [str(s.certificate) for s in model.solutions_]
    assert again.trace_[0].columns == model.trace_[0].columns


def test_what_does_not_converge_is_looked_at_again():
    """The core hands back what has no optimum; the solvers say so."""
    crossed = np.array([[0.0], [1.0], [0.0], [1.0]])
    with pytest.warns(ConvergenceWarning, match="falls without end"):
        model = SVC(C=np.inf, kernel="linear").fit(crossed, [0, 0, 1, 1])
    assert model.stop_reason_ == "unbounded"


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_no_time_at_all(multiclass):
    digits, numbers = load_digits(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        model = SVC(max_time=1e-9, multiclass=multiclass).fit(digits[:800], numbers[:800])
    assert model.stop_reason_ == "max_time"
    assert {s.status.value for s in model.solutions_} <= {"max_time", "converged"}
    assert all(np.isfinite(s.beta).all() for s in model.solutions_)


@pytest.mark.parametrize("cache_size", [0.001, 1, 1000])
def test_any_cache(cache_size):
    rows, labels = make_classification(1900, 8, n_classes=2, flip_y=0.1, random_state=1)
    labels = labels + 2 * (np.arange(1900) % 2)
    model = SVC(cache_size=cache_size).fit(rows, labels)
    assert model.converged_
    np.testing.assert_allclose(
        model.decision_function(rows), SVC().fit(rows, labels).decision_function(rows), atol=1e-9
    )


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_nothing(threads):
    labels = np.arange(150) % 5
    mine, alone = SVC(n_jobs=threads).fit(X, labels), SVC(n_jobs=1).fit(X, labels)
    np.testing.assert_array_equal(mine.dual_coef_, alone.dual_coef_)
    np.testing.assert_array_equal(mine.intercept_, alone.intercept_)


@pytest.mark.parametrize("count", [2, 3, 4, 9])
def test_tasks_are_those_of_their_classes(count):
    labels = np.random.default_rng(count).permutation(np.concatenate((np.arange(count), np.arange(80) % count)))
    schemes = [OneVsRest(count), Tree.arranged(np.random.default_rng(0).uniform(size=(count, count)))]
    for scheme in [Two()] if count == 2 else [OneVsOne(count), *schemes]:
        mine, plain = scheme.tasks(labels), Scheme.tasks(scheme, labels)
        np.testing.assert_array_equal(mine.start, plain.start)
        np.testing.assert_array_equal(mine.flat_rows, plain.flat_rows)
        np.testing.assert_array_equal(mine.signs, plain.signs)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "laplacian"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_few_rows_are_predicted_as_many(kernel, layout):
    labels = np.arange(150) % 4
    model = SVC(kernel=kernel, gamma=0.3).fit(layout(X), labels)
    together = model.decision_function(layout(X))
    for few in (1, 3, 16):
        some = model.decision_function(layout(X[:few]))
        np.testing.assert_allclose(some, together[:few], rtol=1e-12, atol=1e-12)
    far = layout(1e6 * X[:1])  # beyond what the arithmetic was judged for
    assert np.isfinite(model.decision_function(far)).all() or kernel == "poly"


def test_votes_are_those_of_the_pairs():
    values = np.random.default_rng(0).normal(size=(30, 10))
    values[0] = 0.0
    scheme = OneVsOne(5)
    votes, confidence = np.zeros((30, 5)), np.zeros((30, 5))
    for k, task in enumerate(scheme.binary_tasks):
        (i,), (j,) = task.positive, task.negative
        votes[:, i] += values[:, k] > 0
        votes[:, j] += values[:, k] <= 0
        confidence[:, i] += values[:, k]
        confidence[:, j] -= values[:, k]
    np.testing.assert_array_equal(scheme.votes(values), votes)
    np.testing.assert_allclose(scheme.scores(values), votes + confidence / (3 * (np.abs(confidence) + 1)))
