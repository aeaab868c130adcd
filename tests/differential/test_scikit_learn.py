"""Every estimator against its namesake in scikit-learn, attribute by attribute.

Both solve the same problem, to a tolerance of 1e-8, on rows in general position, so that even single coefficients
must agree. Where the two differ on purpose, and a test at the end of this file says so:

- ``gamma="scale"`` counts sample weights: a row of weight w is w rows, so the variance is a weighted one.
- ``class_weight="balanced"`` counts them too.
- Rows of weight zero are left out, as if they were not there; scikit-learn drops them in its solver only.
- ``dual_coef_`` and ``coef_`` are dense for sparse rows too; scikit-learn has sparse ones.
- NuSVC takes the largest possible ``nu`` with a warning where scikit-learn refuses an infeasible one.
- NuSVC honours ``class_weight``, which is lost on LIBSVM's ν problem.
- A function for a kernel may be given sparse rows, which scikit-learn refuses, and ``support_vectors_`` are there.
- The sigmoid kernel is not convex, and there may be several stationary points: compared where both find the same.
- There is no ``probability=``: CalibratedClassifierCV calibrates on rows that the machine has not seen.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import adatron

CLOSE = 1e-4  # of the largest value
COEFFICIENTS = 1e-3  # few features leave a system whose condition takes some digits of LIBSVM's
NOTHING = 1e-8  # a coefficient, relative to the largest, that may as well be zero
TOL = 1e-8


def laplacian(A, B):
    """A kernel that scikit-learn knows by no name here."""
    return np.exp(-0.2 * np.abs(A[:, None] - B[None]).sum(axis=2))


KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.2, "coef0": 1.0},
    "square": {"kernel": "poly", "degree": 2, "gamma": "auto", "coef0": 0.5},
    "rbf-scale": {"kernel": "rbf", "gamma": "scale"},
    "rbf-auto": {"kernel": "rbf", "gamma": "auto"},
    "rbf-number": {"kernel": "rbf", "gamma": 0.7},
    "precomputed": {"kernel": "precomputed"},
    "callable": {"kernel": laplacian},
}
STORES = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csr32": lambda X: sparse.csr_array(X.astype(np.float32)),
}
STORED = [(kernel, store) for kernel in KERNELS for store in STORES]
STORED = [(k, s) for k, s in STORED if not (k in ("precomputed", "callable") and "csr" in s)]
every_store = pytest.mark.parametrize(("kernel", "store"), STORED)
two_stores = pytest.mark.parametrize(
    ("kernel", "store"), [each for each in STORED if each[1] in ("float64", "csr_array")]
)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


class Data:
    """Rows in general position (a fifth of the entries are zero), classes, targets, weights, rows to ask about.

    With little ``noise`` a plane between two classes gets most rows right, as ν needs for its margin to be one.
    """

    def __init__(self, classes: int, noise: float, rows: int = 90, features: int = 5, seed: int = 0) -> None:
        random = np.random.default_rng(seed + classes)
        X = random.normal(size=(rows + 30, features)) * (random.random((rows + 30, features)) > 0.2)
        centres = random.normal(size=(classes, features))
        centres /= np.linalg.norm(centres, axis=1, keepdims=True)
        nearest = ((X[:, None] - centres) ** 2).sum(axis=2) + noise * random.normal(size=(len(X), classes))
        self.X, self.Z = X[:rows], X[rows:]
        self.labels = nearest.argmin(axis=1)[:rows]
        self.y = np.array(["tern", "auk", "owl", "jay", "emu", "kea"])[self.labels]
        self.t = np.sin(X[:rows, 0]) + 0.3 * X[:rows, 1] + 0.2 * random.normal(size=rows)
        self.weight = random.uniform(0.3, 3.0, size=rows)
        self.names, self.counts = np.unique(self.y, return_counts=True)
        if len(self.names) < classes or self.counts.min() < 5:
            self.__init__(classes, noise, rows, features, seed + 100)

    def stored(self, kernel: str, store: str) -> tuple:
        """Training rows and questions in the form that the setting wants."""
        X, Z = STORES[store](self.X), STORES[store](self.Z)
        if kernel == "precomputed":
            return polynomial_kernel(X, gamma=0.1), polynomial_kernel(Z, X, gamma=0.1)
        return X, Z

    def gamma(self) -> float:
        """What "scale" means for weighted rows."""
        mean = np.average(self.X, weights=self.weight, axis=0).mean()
        return 1 / (self.X.shape[1] * np.average(((self.X - mean) ** 2).mean(axis=1), weights=self.weight))


DATA = {classes: Data(classes, noise=1.5) for classes in (2, 3, 6)}
CLEAR = {classes: Data(classes, noise=0.2) for classes in (2, 3, 6)}
TWO, THREE = DATA[2], DATA[3]
FAR = Data(3, noise=1.5)  # from the origin, or no plane has most rows on its other side
FAR.X, FAR.Z = FAR.X + 3, FAR.Z + 3


def dense(values) -> np.ndarray:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def check_close(ours, theirs, size: float = 1e-12, close: float = CLOSE) -> None:
    ours, theirs = dense(ours), dense(theirs)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=close * np.abs(theirs).max(initial=size))


def check_support(ours, theirs) -> None:
    """The same rows in the same order with the same coefficients, but for those that are nothing."""
    coefs = [dense(machine.dual_coef_) for machine in (ours, theirs)]
    largest = np.abs(coefs[1]).max()
    counted = [np.abs(coef).max(axis=0) > NOTHING * largest for coef in coefs]
    supports = [machine.support_[some] for machine, some in zip((ours, theirs), counted, strict=True)]
    np.testing.assert_array_equal(supports[0], supports[1])
    assert ours.support_.dtype == theirs.support_.dtype
    assert ours.n_support_.dtype == theirs.n_support_.dtype
    assert ours.n_support_.shape == theirs.n_support_.shape
    assert ours.n_support_.sum() == len(ours.support_)
    if all(some.all() for some in counted):
        np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    check_close(coefs[0][:, counted[0]], coefs[1][:, counted[1]], close=COEFFICIENTS)
    if theirs.kernel == "precomputed":
        assert ours.support_vectors_.shape == theirs.support_vectors_.shape
    elif isinstance(theirs.kernel, str):
        check_close(ours.support_vectors_[counted[0]], theirs.support_vectors_[counted[1]])


def check_attributes(ours, theirs) -> None:
    check_support(ours, theirs)
    check_close(ours.intercept_, theirs.intercept_, size=1.0)  # margins and targets are of this size
    assert ours.intercept_.dtype == theirs.intercept_.dtype
    assert np.shape(ours.n_iter_) == np.shape(theirs.n_iter_)
    assert ours.shape_fit_ == theirs.shape_fit_
    assert type(ours.shape_fit_) is type(theirs.shape_fit_)
    assert ours.fit_status_ == theirs.fit_status_ == 0
    if isinstance(theirs.kernel, str):
        assert ours.n_features_in_ == getattr(theirs, "n_features_in_", 5)  # with a function theirs has none
    assert hasattr(ours, "coef_") == hasattr(theirs, "coef_")
    if hasattr(theirs, "coef_"):
        check_close(ours.coef_, theirs.coef_)


def check_classifiers(ours, theirs, X, y, Z) -> None:
    check_attributes(ours, theirs)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    for shape in ("ovo", "ovr"):
        machines = [machine.set_params(decision_function_shape=shape) for machine in (ours, theirs)]
        check_close(*(machine.decision_function(Z) for machine in machines))
    for ties in (False, True) if len(ours.classes_) > 2 else (False,):
        answers = [machine.set_params(break_ties=ties).predict(Z) for machine in machines]
        assert answers[0].dtype == answers[1].dtype
        np.testing.assert_array_equal(*answers)
    assert ours.score(X, y) == theirs.score(X, y)


def check_regressors(ours, theirs, X, t, Z) -> None:
    check_attributes(ours, theirs)
    for rows in (X, Z):
        check_close(ours.predict(rows), theirs.predict(rows))
    assert ours.score(X, t) == pytest.approx(theirs.score(X, t), abs=CLOSE)


def check_one_class(ours, theirs, X, Z) -> None:
    check_attributes(ours, theirs)
    check_close(ours.offset_, theirs.offset_)
    for rows in (X, Z):
        check_close(ours.score_samples(rows), theirs.score_samples(rows))
        values = theirs.decision_function(rows)
        span = np.abs(theirs.score_samples(rows)).max()
        np.testing.assert_allclose(ours.decision_function(rows), values, rtol=0, atol=CLOSE * span)
        clear = np.abs(values) > 1e-6 * span  # rows on the boundary are a matter of rounding
        np.testing.assert_array_equal(ours.predict(rows)[clear], theirs.predict(rows)[clear])
        assert ours.predict(rows).dtype == theirs.predict(rows).dtype


def pair(name: str, **parameters) -> tuple:
    """Our machine and theirs, with the same parameters."""
    parameters = {"tol": TOL, **parameters}
    return getattr(adatron, name)(**parameters), getattr(svm, name)(**parameters)


# ---------------------------------------------------------------- classification


@every_store
@pytest.mark.parametrize("classes", DATA)
def test_svc(kernel, store, classes):
    data = DATA[classes]
    X, Z = data.stored(kernel, store)
    ours, theirs = (machine.fit(X, data.y) for machine in pair("SVC", **KERNELS[kernel]))
    np.testing.assert_array_equal(ours.class_weight_, theirs.class_weight_)
    assert ours.class_weight_.dtype == theirs.class_weight_.dtype
    check_classifiers(ours, theirs, X, data.y, Z)


@every_kernel
@pytest.mark.parametrize("C", [0.02, 20.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_svc_of_other_prices(kernel, C, classes):
    data = DATA[classes]
    X, Z = data.stored(kernel, "float64")
    if kernel == "precomputed":  # of few dimensions: at a high price coefficients are not unique
        X, Z = rbf_kernel(data.X, gamma=0.2), rbf_kernel(data.Z, data.X, gamma=0.2)
    ours, theirs = (machine.fit(X, data.y) for machine in pair("SVC", C=C, **KERNELS[kernel]))
    check_classifiers(ours, theirs, X, data.y, Z)


@two_stores
@pytest.mark.parametrize("classes", DATA)
def test_svc_of_weighted_classes(kernel, store, classes):
    data = DATA[classes]
    X, Z = data.stored(kernel, store)
    for weight in ("balanced", dict(zip(data.names, np.linspace(0.5, 2.0, classes), strict=True))):
        machines = pair("SVC", class_weight=weight, **KERNELS[kernel])
        ours, theirs = (machine.fit(X, data.y) for machine in machines)
        np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_, rtol=1e-12)
        check_classifiers(ours, theirs, X, data.y, Z)


def weighted(data: Data, kernel: str) -> dict:
    """The kernel's parameters, where "scale" is the number that both shall take."""
    parameters = dict(KERNELS[kernel])
    return parameters | {"gamma": data.gamma()} if parameters.get("gamma") == "scale" else parameters


@two_stores
@pytest.mark.parametrize("classes", DATA)
def test_svc_of_weighted_rows(kernel, store, classes):
    data = DATA[classes]
    X, Z = data.stored(kernel, store)
    for weight in (None, dict(zip(data.names, np.linspace(0.5, 2.0, classes), strict=True))):
        machines = pair("SVC", class_weight=weight, **weighted(data, kernel))
        ours, theirs = (machine.fit(X, data.y, sample_weight=data.weight) for machine in machines)
        if kernel == "linear" and classes == 6:  # few rows a class: theirs leave coefficients undecided at 1e-8
            check_close(ours.decision_function(Z), theirs.decision_function(Z))
        else:
            check_classifiers(ours, theirs, X, data.y, Z)


@pytest.mark.parametrize("classes", DATA)
@pytest.mark.parametrize("labels", [np.int64, np.int8, np.float64, np.str_, object])
def test_svc_of_other_labels(classes, labels):
    data = DATA[classes]
    y = data.y.astype(object) if labels is object else (data.labels - 2).astype(labels)
    ours, theirs = (machine.fit(data.X, y) for machine in pair("SVC"))
    check_classifiers(ours, theirs, data.X, y, data.Z)


@two_stores
@pytest.mark.parametrize("classes", DATA)
def test_nu_svc(kernel, store, classes):
    data = CLEAR[classes]
    X, Z = data.stored(kernel, store)
    smallest = np.sort(data.counts)[[0, -1]]
    nu = 0.6 * 2 * smallest[0] / smallest.sum()
    ours, theirs = (machine.fit(X, data.y) for machine in pair("NuSVC", nu=nu, **KERNELS[kernel]))
    check_classifiers(ours, theirs, X, data.y, Z)


@every_kernel
@pytest.mark.parametrize("classes", [2, 3])
def test_nu_svc_of_weighted_rows(kernel, classes):
    data = CLEAR[classes]
    X, Z = data.stored(kernel, "float64")
    machines = pair("NuSVC", nu=0.25, **weighted(data, kernel))
    ours, theirs = (machine.fit(X, data.y, sample_weight=data.weight) for machine in machines)
    check_classifiers(ours, theirs, X, data.y, Z)


# ---------------------------------------------------------------- regression, one class


@every_store
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("SVR", {"epsilon": 0.1}), ("SVR", {"C": 0.2, "epsilon": 0.02}), ("NuSVR", {"nu": 0.4}), ("NuSVR", {"C": 0.3})],
    ids=str,
)
def test_regressors(kernel, store, name, parameters):
    X, Z = TWO.stored(kernel, store)
    ours, theirs = (machine.fit(X, TWO.t) for machine in pair(name, **parameters, **KERNELS[kernel]))
    check_regressors(ours, theirs, X, TWO.t, Z)
    machines = pair(name, **parameters, **weighted(TWO, kernel))
    ours, theirs = (machine.fit(X, TWO.t, sample_weight=TWO.weight) for machine in machines)
    check_regressors(ours, theirs, X, TWO.t, Z)


@every_store
@pytest.mark.parametrize("nu", [0.1, 0.57])
def test_one_class(kernel, store, nu):
    X, Z = FAR.stored(kernel, store)
    ours, theirs = (machine.fit(X) for machine in pair("OneClassSVM", nu=nu, **KERNELS[kernel]))
    check_one_class(ours, theirs, X, Z)
    machines = pair("OneClassSVM", nu=nu, **weighted(FAR, kernel))
    ours, theirs = (machine.fit(X, sample_weight=FAR.weight) for machine in machines)
    check_one_class(ours, theirs, X, Z)


# ---------------------------------------------------------------- where the two differ


@pytest.mark.parametrize("classes", [2, 3])
def test_sigmoid_where_it_is_convex_enough(classes):
    """At a low price all coefficients are at their bound, and there is but one stationary point."""
    data = DATA[classes]
    parameters = {"kernel": "sigmoid", "gamma": 0.05, "coef0": 0.1, "C": 0.05}
    ours, theirs = (machine.fit(data.X, data.y) for machine in pair("SVC", **parameters))
    check_classifiers(ours, theirs, data.X, data.y, data.Z)


TIMES = np.random.default_rng(5).integers(0, 4, size=90)


def repeated(data: Data) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(np.repeat(values, TIMES, axis=0) for values in (data.X, data.y, data.t))


@pytest.mark.parametrize("kernel", ["rbf-scale", "square"])
def test_weights_are_repetitions_in_scale_and_in_balance(kernel):
    X, y, t = repeated(THREE)
    machines = pair("SVC", class_weight="balanced", **KERNELS[kernel])
    ours, theirs = machines[0].fit(THREE.X, THREE.y, sample_weight=TIMES), machines[1].fit(X, y)
    check_close(ours.class_weight_, theirs.class_weight_)
    check_close(ours.decision_function(THREE.Z), theirs.decision_function(THREE.Z))
    for name in ("SVR", "NuSVR"):
        machines = pair(name, **KERNELS[kernel])
        ours, theirs = machines[0].fit(THREE.X, THREE.t, sample_weight=TIMES), machines[1].fit(X, t)
        check_close(ours.predict(THREE.Z), theirs.predict(THREE.Z))
    machines = pair("OneClassSVM", nu=0.3, **KERNELS[kernel])
    ours, theirs = machines[0].fit(THREE.X, sample_weight=TIMES), machines[1].fit(X)
    check_close(ours.score_samples(THREE.Z), theirs.score_samples(THREE.Z))


def test_rows_of_no_weight_are_not_there():
    weight, rows = THREE.weight * (TIMES > 0), TIMES > 0
    ours, theirs = pair("SVC", gamma=0.3)
    ours.fit(THREE.X, THREE.y, sample_weight=weight)
    theirs.fit(THREE.X[rows], THREE.y[rows], sample_weight=weight[rows])
    check_close(ours.decision_function(THREE.Z), theirs.decision_function(THREE.Z))
    assert ours.shape_fit_ == THREE.X.shape
    np.testing.assert_array_equal(ours.support_, np.flatnonzero(rows)[theirs.support_])
    without = np.where(THREE.labels == 1, 0.0, 1.0)
    ours.fit(THREE.X, THREE.y, sample_weight=without)
    np.testing.assert_array_equal(ours.classes_, np.unique(THREE.y[THREE.labels != 1]))


def test_coefficients_are_dense():
    ours, theirs = (machine.fit(sparse.csr_array(THREE.X), THREE.y) for machine in pair("SVC", kernel="linear"))
    for attribute in ("dual_coef_", "coef_"):
        assert sparse.issparse(getattr(theirs, attribute))
        assert isinstance(getattr(ours, attribute), np.ndarray)
    assert sparse.issparse(ours.support_vectors_)


def test_nu_that_is_too_large():
    y = np.where(np.arange(90) < 9, "few", "many")
    ours, theirs = pair("NuSVC", nu=0.9)
    with pytest.raises(ValueError, match="infeasible"):
        theirs.fit(TWO.X, y)
    with pytest.warns(UserWarning, match=r"nu=0\.9 is more than the classes' weights allow: 0\.2, twice"):
        ours.fit(TWO.X, y)
    theirs.set_params(nu=0.2).fit(TWO.X, y)
    check_close(ours.decision_function(TWO.Z), theirs.decision_function(TWO.Z))


def test_nu_svc_honours_the_weights_of_classes():
    by_class = {"auk": 1.4, "tern": 0.7}
    ours, theirs = pair("NuSVC", nu=0.3, gamma=0.3)
    ours.set_params(class_weight=by_class).fit(TWO.X, TWO.y)
    theirs.fit(TWO.X, TWO.y, sample_weight=[by_class[name] for name in TWO.y])
    check_classifiers(ours, theirs, TWO.X, TWO.y, TWO.Z)


def test_there_is_no_probability():
    for name in ("SVC", "NuSVC"):
        with pytest.raises(TypeError, match=rf"{name} has no probability=: fit CalibratedClassifierCV\({name}"):
            getattr(adatron, name)(probability=True)
        with pytest.raises(AttributeError, match=f"{name} has no predict_proba: fit CalibratedClassifierCV"):
            _ = getattr(adatron, name)().fit(TWO.X, TWO.y).predict_proba
