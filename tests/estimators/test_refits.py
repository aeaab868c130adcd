"""Fitted state: nothing of an earlier fit survives, classes without weight are left out, models can be stored."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import adatron
from adatron import SVC, SVR, KernelFisherDiscriminant, KernelNeighborsClassifier, NuSVC, NuSVR, OneClassSVM
from adatron.kernels import Gaussian, Linear

X, Y = load_iris(return_X_y=True)


def attributes(machine):
    return {name for name in vars(machine) if not name.startswith("_")}


def test_no_attribute_survives_a_refit():
    machine = SVC(multiclass="tree", gamma="adapt").fit(X, Y)
    assert {"tree_", "path_"} <= attributes(machine)
    machine.set_params(multiclass="ovo", gamma=0.1, kernel="linear").fit(X, Y)
    assert attributes(machine) == attributes(SVC(kernel="linear").fit(X, Y))
    near = KernelNeighborsClassifier(prototypes=SVC()).fit(X, Y)
    near.set_params(prototypes="all").fit(X, Y)
    assert not hasattr(near, "machine_")


def test_a_refit_that_fails_leaves_no_half_of_a_model():
    machine = SVC().fit(X, Y)
    with pytest.raises(ValueError, match="NaN or infinity"):
        machine.set_params(kernel="poly", degree=9, gamma=1e300).fit(X, Y)
    with pytest.raises(NotFittedError):
        machine.predict(X)


@pytest.mark.parametrize("scheme", ["ovo", "ovr", "tree"])
@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_a_class_without_weight_is_left_out(kind, scheme):
    options = {"nu": 0.1} if kind is NuSVC else {}
    with_three = kind(multiclass=scheme, class_weight={0: 0.0, 1: 1.0, 2: 1.0}, gamma=0.3, **options).fit(X, Y)
    by_row = kind(multiclass=scheme, gamma=0.3, **options).fit(X, Y, sample_weight=np.where(Y == 0, 0.0, 1.0))
    without = kind(multiclass=scheme, gamma=0.3, **options).fit(X[50:], Y[50:])
    for machine in (with_three, by_row):
        assert machine.classes_.tolist() == [1, 2]
        assert (machine.support_ >= 50).all()
        np.testing.assert_allclose(machine.decision_function(X), without.decision_function(X), atol=1e-6)


def test_one_class_that_is_left_is_named_with_the_reason():
    sentence = r"y holds one class, \[1\], in the rows of positive weight: pass rows of two"
    with pytest.raises(ValueError, match=sentence):
        SVC(class_weight={0: 0, 1: 1}).fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match=sentence):
        SVC().fit(X[:100], Y[:100], sample_weight=Y[:100])
    with pytest.raises(ValueError, match=r"y holds one class, \[1\]: pass"):
        SVC().fit(X[50:100], Y[50:100])


def test_rejected_rows_are_none():
    machine = SVC(C=np.inf, kernel="linear").fit([[-1.0], [1.0]], [-1, 1])
    found = machine.predict_with_reject([[-2.0], [0.0], [2.0]], rule="margin")
    assert found.dtype == object
    assert found.tolist() == [-1, None, 1]


@pytest.mark.parametrize("label", [-1, 1.0, np.int64(1), True])
def test_a_reject_label_that_is_a_class(label):
    machine = SVC().fit([[-1.0], [1.0]], [-1, 1])
    with pytest.raises(ValueError, match=r"reject_label=.* is one of classes_: pass another label, such as None"):
        machine.predict_with_reject([[0.0]], reject_label=label)
    with pytest.raises(ValueError, match=r"reject_label=.* is an array"):
        machine.predict_with_reject([[0.0]], reject_label=[label])


@pytest.mark.parametrize(
    "machine",
    [
        SVC(),
        SVC(multiclass="ovr"),
        SVC(multiclass="tree"),
        SVC(kernel="linear"),
        SVC(kernel=Gaussian(sigma=1.0) + Linear()),
        SVC(gamma="adapt", C="adapt"),
        SVC(solver=adatron.solvers.SMO()),
        NuSVC(nu=0.1),
        SVR(),
        NuSVR(),
        OneClassSVM(),
        KernelFisherDiscriminant(),
        KernelNeighborsClassifier(),
    ],
    ids=str,
)
def test_skops(machine):
    io = pytest.importorskip("skops.io")
    stored = io.dumps(machine.fit(X, Y))
    unknown = io.get_untrusted_types(data=stored)
    assert all(name.startswith("adatron.") for name in unknown)
    np.testing.assert_array_equal(io.loads(stored, trusted=unknown).predict(X), machine.predict(X))


def test_a_model_holds_plain_numbers():
    assert {type(edge) for edge in SVC().fit(X, Y)._model.edges} == {int}


# ---------------------------------------------------------------- what is known of features


def test_an_array_after_a_frame_leaves_no_names_behind():
    """Arrays that need no conversion pass scikit-learn's validation by, and must leave what it leaves."""
    pandas = pytest.importorskip("pandas")
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    model = SVC().fit(pandas.DataFrame(X, columns=list("abc")), y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)
    model.fit(X[:, :2].copy(), y)
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(ValueError, match="3 features"):
        model.predict(X)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_not_finite_is_refused_wherever_it_is(value, dtype):
    X, y = np.random.default_rng(0).normal(size=(20, 3)).astype(dtype), np.arange(20) % 2
    model = SVC().fit(X, y)
    X[7, 1] = value
    X[8, 1] = -value
    targets = np.where(np.arange(20) == 3, value, 0.5)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        SVR().fit(X[:7], targets[:7])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        SVR().fit(X[:7], np.zeros(8))


@pytest.mark.filterwarnings("ignore")
def test_huge_values_whose_sum_overflows_are_finite():
    X = np.full((4, 2), 1e308)
    X[:2] *= -1
    SVC(kernel="rbf", gamma=1e-300).fit(X, [0, 0, 1, 1])


@pytest.mark.parametrize("machine", [SVC(), SVR(), NuSVR(), OneClassSVM()], ids=str)
def test_a_refit_that_is_refused_leaves_the_model_usable(machine):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(20, 3)), np.arange(20) % 2
    machine.fit(X, y)
    expected = machine.predict(X)
    with pytest.raises(ValueError, match=r"sample_weight|inconsistent|samples"):
        machine.fit(X[:, :2].copy(), y, sample_weight=np.ones(7))
    if not isinstance(machine, OneClassSVM):
        for targets in (np.arange(21) % 2, random.normal(size=21)):
            with pytest.raises(ValueError, match="inconsistent"):
                machine.fit(X[:, :2].copy(), targets)
    np.testing.assert_array_equal(machine.predict(X), expected)
