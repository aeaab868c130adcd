"""The classifier against LIBSVM, as scikit-learn ships it and as its authors do, and against LIBLINEAR.

They solve the same problem, so decision values must agree wherever the optimum is unique.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from libsvm.svmutil import svm_predict, svm_train
from scipy import sparse
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from adatron import SVC, _rows

CLOSE = 1e-4  # of the largest decision value
TOL = 1e-7

KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.2, "coef0": 1.0},
    "square": {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 0.0},
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "narrow": {"kernel": "rbf", "gamma": 20.0},
    "scale": {"kernel": "rbf", "gamma": "scale"},
    "auto": {"kernel": "rbf", "gamma": "auto"},
}
PRICES = (1e-3, 0.1, 1.0, 30.0)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
every_price = pytest.mark.parametrize("C", PRICES)


def data(seed: int, rows: int = 120, features: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, their classes, rows to ask about; a third of all entries are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows + 40, features)) * (rng.random((rows + 40, features)) > 0.3)
    y = np.where(X[:, 0] - X[:, 1] ** 2 + 0.5 + 0.6 * rng.normal(size=len(X)) > 0, 1, -1)
    return X[:rows], y[:rows], X[rows:]


def check_alike(ours: np.ndarray, theirs: np.ndarray) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=CLOSE * np.abs(theirs).max())


def check_same_support(ours: SVC, theirs: svm.SVC, X, y: np.ndarray) -> None:
    """Rows clearly beyond the margin support neither machine, rows clearly inside it both, with all they may."""
    margin = y * theirs.decision_function(X)
    clear = np.abs(margin - 1) > 1e-3
    held = [np.isin(np.arange(len(y)), machine.support_) for machine in (ours, theirs)]
    np.testing.assert_array_equal(held[0][clear], held[1][clear])
    np.testing.assert_array_equal(held[0][clear], margin[clear] < 1)
    # the rows are in general position: even on the margin the coefficients are unique
    coef = np.zeros((2, len(y)))
    for row, machine in zip(coef, (ours, theirs), strict=True):
        row[machine.support_] = _rows.dense(machine.dual_coef_)[0]
    np.testing.assert_allclose(coef[0], coef[1], rtol=0, atol=1e-3 * np.abs(coef[1]).max())


@every_kernel
@every_price
@pytest.mark.parametrize("seed", [0, 1])
def test_scikit_learn(kernel, C, seed):
    X, y, Z = data(seed)
    ours = SVC(C=C, tol=TOL, **KERNELS[kernel]).fit(X, y)
    theirs = svm.SVC(C=C, tol=TOL, **KERNELS[kernel]).fit(X, y)
    check_alike(ours.decision_function(Z), theirs.decision_function(Z))
    check_alike(ours.intercept_, theirs.intercept_)
    check_same_support(ours, theirs, X, y)
    np.testing.assert_array_equal(ours.predict(Z), theirs.predict(Z))


@every_kernel
@pytest.mark.parametrize("tol", [1e-6, 1e-8])
def test_scikit_learn_with_weights(kernel, tol):
    X, y, Z = data(2)
    weight = np.random.default_rng(2).uniform(0.1, 3.0, len(y)) * (np.arange(len(y)) % 7 > 0)
    weights = {"class_weight": {1: 2.0, -1: 0.5}}
    ours = SVC(tol=tol, **KERNELS[kernel], **weights).fit(X, y, weight)
    # scikit-learn leaves rows of weight zero out before "scale" is computed: so do we here
    known = {**KERNELS[kernel], "gamma": getattr(ours._model.kernel, "gamma", "auto")}
    theirs = svm.SVC(tol=tol, **known, **weights).fit(X, y, weight)
    check_alike(ours.decision_function(Z), theirs.decision_function(Z))
    assert not np.isin(np.flatnonzero(weight == 0), ours.support_).any()


@every_kernel
def test_scikit_learn_sparse(kernel):
    X, y, Z = data(3, features=30)
    X, Z = sparse.csr_array(X), sparse.csr_array(Z)
    ours = SVC(C=2.0, tol=TOL, **KERNELS[kernel]).fit(X, y)
    theirs = svm.SVC(C=2.0, tol=TOL, **KERNELS[kernel]).fit(X, y)
    check_alike(ours.decision_function(Z), theirs.decision_function(Z))
    check_same_support(ours, theirs, X, y)


def test_scikit_learn_balanced_and_precomputed():
    X, y, Z = data(4)
    y[:40] = 1
    arguments = {"kernel": "precomputed", "class_weight": "balanced", "tol": TOL}
    ours, theirs = SVC(**arguments).fit(X @ X.T, y), svm.SVC(**arguments).fit(X @ X.T, y)
    check_alike(ours.decision_function(Z @ X.T), theirs.decision_function(Z @ X.T))
    check_same_support(ours, theirs, X @ X.T, y)


def libsvm_values(X, y: np.ndarray, Z, *, C: float, kernel: dict, tol: float, weights: str = "") -> np.ndarray:
    """Decision values of the authors' library, positive for the class +1."""
    number = {"linear": 0, "poly": 1, "rbf": 2}[kernel["kernel"]]
    shape = f"-g {kernel.get('gamma', 1.0)} -d {kernel.get('degree', 3)} -r {kernel.get('coef0', 0.0)}"
    model = svm_train(y.astype(float), X, f"-s 0 -t {number} -c {C} -e {tol} {shape} {weights} -q")
    _, _, values = svm_predict(np.zeros(Z.shape[0]), Z, model, "-q")
    return np.ravel(values) * model.get_labels()[0]


@pytest.mark.parametrize("kernel", ["linear", "poly", "square", "rbf", "narrow"])
@every_price
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_libsvm(kernel, C, kind):
    X, y, Z = data(5)
    ours = SVC(C=C, tol=TOL, **KERNELS[kernel]).fit(kind(X), y)
    theirs = libsvm_values(kind(X), y, kind(Z), C=C, kernel=KERNELS[kernel], tol=TOL)
    check_alike(ours.decision_function(kind(Z)), theirs)


def test_libsvm_with_class_weights():
    X, y, Z = data(6)
    ours = SVC(C=0.5, tol=1e-8, class_weight={1: 4.0, -1: 0.25}, **KERNELS["rbf"]).fit(X, y)
    theirs = libsvm_values(X, y, Z, C=0.5, kernel=KERNELS["rbf"], tol=1e-8, weights="-w1 4.0 -w-1 0.25")
    check_alike(ours.decision_function(Z), theirs)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    ("bias", "theirs"), [("none", {"fit_intercept": False}), ("augmented", {"intercept_scaling": 2.0})]
)
def test_liblinear(loss, bias, theirs):
    """Two losses, and the two ways without a sum, from somebody else's hand."""
    X, y, Z = data(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer = svm.LinearSVC(C=0.7, loss=loss, dual=True, tol=1e-9, max_iter=200_000, random_state=0, **theirs).fit(
            X, y
        )
    ours = SVC(C=0.7, kernel="linear", loss=loss, bias=bias, augment=2.0, tol=1e-8).fit(X, y)
    check_alike(ours.decision_function(Z), peer.decision_function(Z))
    check_alike(ours.coef_, peer.coef_)
