"""Absurd values of every parameter: they work, or are answered in one sentence that names the parameter."""

import inspect
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import adatron
from adatron import SVC

X, Y = load_iris(return_X_y=True)
X, Y = X[30:70:2], Y[30:70:2]
ESTIMATORS = (
    "SVC",
    "NuSVC",
    "SVR",
    "NuSVR",
    "OneClassSVM",
    "KernelFisherDiscriminant",
    "KernelNeighborsClassifier",
)
ABSURD = [
    *(np.nan, np.inf, -np.inf, -1, 0, 1e-320, 1e200, 1e300, 1e308, -1e308, 10**20, 10**400, 10**5000, -(10**20)),
    *(1j, True, None, "x", "", b"a", np.array([1.0, 2.0]), np.array(1.0), np.ones(500), [1], (1, 2), {}, {1: np.nan}),
    *({"x": 1j}, object(), np.float32(1), np.int8(3), np.str_("rbf")),
]
# Parameters that matter only beside another.
BESIDE = {
    "degree": [{"kernel": "poly"}],
    "coef0": [{"kernel": "poly"}, {"kernel": "sigmoid"}],
    "gamma": [{"kernel": name} for name in ("rbf", "poly", "sigmoid", "exponential", "laplacian")],
    "augment": [{"bias": "augmented"}],
    "C": [{}, {"kernel": "linear"}],
}


def cases():
    for name in ESTIMATORS:
        for parameter in inspect.signature(getattr(adatron, name)).parameters:
            yield name, parameter


@pytest.mark.parametrize(("name", "parameter"), list(cases()))
def test_absurd_parameters(name, parameter, capsys):
    kind = getattr(adatron, name)
    limits = {"max_time": 0.3} if "max_time" in inspect.signature(kind).parameters else {}
    for value in ABSURD:
        for beside in BESIDE.get(parameter, [{}]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    machine = kind(**{**limits, **beside, parameter: value}).fit(X, Y)
                    machine.predict(X)
                except (ValueError, TypeError) as error:
                    sentence = str(error)
                    assert parameter in sentence
                    assert sentence.endswith(".")
                    assert "\n" not in sentence
                    assert len(sentence) < 400


@pytest.mark.parametrize("name", ESTIMATORS[:6])
@pytest.mark.parametrize(
    "weight",
    [
        *(np.ones(19), np.ones((20, 2)), np.full(20, 1j), np.full(20, np.nan), np.full(20, 1e300), -np.ones(20)),
        *(np.zeros(20), "x", {}, [10**400] * 20, [None] * 20),
    ],
    ids=lambda weight: str(weight)[:12],
)
def test_absurd_weights(name, weight):
    with pytest.raises((ValueError, TypeError), match=r"sample_weight[^\n]*\.$"):
        getattr(adatron, name)().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize(
    "weight", [{0: np.nan}, {0: -1}, {0: 1e300}, {0: 1j}, {0: None}, {0: "a"}, {7: 1.0}, "even", [1, 1], 3]
)
def test_absurd_class_weights(weight):
    with pytest.raises((ValueError, TypeError), match="class_weight"):
        SVC(class_weight=weight).fit(X, Y)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_precomputed(name):
    K, kind = X @ X.T, getattr(adatron, name)
    machine = kind(kernel="precomputed").fit(K, Y)
    with pytest.raises(ValueError, match=r"X has 12 features, but .* is expecting 20"):
        machine.predict(K[:, :12])
    with pytest.raises(TypeError, match="Sparse data was passed"):
        kind(kernel="precomputed").fit(sparse.csr_array(K), Y)
    with pytest.raises(ValueError, match="pass the square matrix of kernel values"):
        kind(kernel="precomputed").fit(K[:, :12], Y)
    if name == "KernelNeighborsClassifier":
        return
    weight = np.arange(20) % 3 * 1.0
    by_matrix = kind(kernel="precomputed").fit(K, Y, sample_weight=weight).predict(K)
    by_rows = kind(kernel="linear").fit(X, Y, sample_weight=weight).predict(X)
    np.testing.assert_allclose(by_matrix, by_rows, atol=1e-3)
