"""ν that leaves no margin, and margins on the scale of their kernel."""

import warnings

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_diabetes, load_iris, make_classification

from adatron import NuSVC, OneClassSVM
from adatron.estimators._training import Training

DIABETES = load_diabetes()
HIGH = DIABETES.target > np.median(DIABETES.target)


def quiet(machine, *data, **more):
    """Fit without any warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return machine.fit(*data, **more)


def warned(machine, *data, **more):
    """Fit; the one warning that came."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(*data, **more)
    assert len(caught) == 1
    return str(caught[0].message)


def smallest(message):
    """The ν that a message advises."""
    return float(message.split("pass nu of at least ")[1].split(",")[0])


def noisy(seed, **more):
    return make_classification(n_samples=200, n_features=10, flip_y=0.2, random_state=seed, **more)


def test_nu_without_a_margin_says_which_has_one():
    machine = NuSVC(kernel="linear", nu=0.4)
    message = warned(machine, DIABETES.data, HIGH)
    assert message.startswith("nu=0.4 leaves no margin between the classes: pass nu of at least 0.5")
    assert machine.converged_
    assert machine.score(DIABETES.data, HIGH) > 0.74
    again = quiet(NuSVC(kernel="linear", nu=smallest(message)), DIABETES.data, HIGH)
    np.testing.assert_allclose(again.coef_, machine.coef_, rtol=1e-3)
    np.testing.assert_allclose(again.objective_, machine.objective_, rtol=1e-3)


def test_the_smallest_nu_depends_on_no_scale():
    X, y = noisy(3)
    messages = [warned(NuSVC(kernel="linear", nu=0.1), scale * X, y) for scale in (1e-4, 1, 30)]
    assert messages[0] == messages[1] == messages[2]
    nu = smallest(messages[0])
    warned(NuSVC(kernel="linear", nu=0.97 * nu), X, y)
    quiet(NuSVC(kernel="linear", nu=nu), X, y)


@pytest.mark.parametrize("seed", range(20))
def test_never_much_worse_than_scikit_learn(seed):
    X, y = noisy(seed)
    ours = NuSVC(kernel="linear", nu=0.2)
    warned(ours, X, y)
    theirs = sklearn.svm.NuSVC(kernel="linear", nu=0.2).fit(X, y)
    assert ours.score(X, y) > max(0.7, theirs.score(X, y) - 0.03)


def test_what_is_reported_is_what_was_solved():
    X, y = noisy(0)
    machine = NuSVC(kernel="linear", nu=0.2)
    nu = smallest(warned(machine, X, y))
    solution = machine.solutions_[0]
    beta, rho = solution.beta, solution.certificate.rho
    assert np.isclose(np.abs(beta).sum(), nu * len(y))
    assert np.abs(beta).max() <= 1 + 1e-12
    np.testing.assert_allclose(machine.objective_, 0.5 * np.sum((beta @ X) ** 2), rtol=1e-6)
    np.testing.assert_allclose(machine.dual_coef_[0], beta[machine.support_] / rho, rtol=1e-12)
    free = (np.abs(beta) > 1e-9) & (np.abs(beta) < 1 - 1e-9)
    np.testing.assert_allclose(np.abs(machine.decision_function(X[free])), 1, atol=1e-2)


@pytest.mark.parametrize("scheme", ["ovo", "ovr", "tree"])
def test_many_classes_warn_once(scheme):
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) % 5 == 0, (y + 1) % 3, y)
    machine = NuSVC(kernel="linear", nu=0.05, multiclass=scheme)
    message = warned(machine, X, y)
    assert "of 2 binary classifiers" in message or "of 3 binary classifiers" in message
    assert machine.score(X, y) > (0.7 if scheme != "ovr" else 0.5)


def test_a_nu_too_large_for_several_classes_warns_once():
    X, y = load_iris(return_X_y=True)
    message = warned(NuSVC(nu=0.9, multiclass="ovr"), X, y)
    assert "nu=0.9 is more than the classes' weights allow in 3 of 3 binary classifiers: 0.666667" in message


def test_weights_count():
    X, y = noisy(1)
    twice = NuSVC(kernel="linear", nu=0.2)
    weight = np.where(np.arange(200) < 50, 2.0, 1.0)
    message = warned(twice, X, y, sample_weight=weight)
    whole = NuSVC(kernel="linear", nu=0.2)
    assert message == warned(whole, np.vstack((X, X[:50])), np.append(y, y[:50]))
    np.testing.assert_allclose(twice.coef_, whole.coef_, rtol=1e-2, atol=1e-3)
    warned(NuSVC(kernel="linear", nu=0.2, class_weight={0: 1.0, 1: 2.0}), X, y)


def test_classes_that_a_kernel_cannot_tell_apart():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 5), np.array([0, 0, 1, 1] * 5)
    machine = NuSVC(kernel="linear", nu=0.3)
    assert "and any other, leaves no margin" in warned(machine, X, y)
    assert (machine.predict(X) == 0).all()
    quiet(NuSVC(kernel="rbf", nu=0.3), X, y)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1, 1e3])
def test_any_scale_gives_the_same_classifier(scale):
    X, y = noisy(2)
    machine = quiet(NuSVC(kernel="linear", nu=0.6), scale * X, y)
    like = NuSVC(kernel="linear", nu=0.6, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(machine.decision_function(scale * X), like.decision_function(X), atol=1e-2)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1, 1e3])
def test_any_scale_gives_the_same_boundary(scale):
    X = np.random.default_rng(0).normal(size=(200, 3)) + 3
    machine = quiet(OneClassSVM(kernel="linear", nu=0.2), scale * X)
    np.testing.assert_allclose((machine.predict(scale * X) < 0).mean(), 0.2, atol=0.02)
    like = OneClassSVM(kernel="linear", nu=0.2, tol=1e-9).fit(X)
    np.testing.assert_allclose(machine.offset_ / scale**2, like.offset_, rtol=1e-2)


def test_no_boundary_around_centred_data():
    X = np.random.default_rng(0).normal(size=(200, 3))
    machine = OneClassSVM(kernel="linear")
    message = warned(machine, X)
    assert message.startswith("nu=0.5 leaves no boundary")
    assert "pass kernel='rbf', or data that are not centred, or nu of at least 0.9" in message
    assert (machine.predict(X) == 1).all()
    assert not machine.decision_function(1e6 * X).any()
    np.testing.assert_allclose(machine.solutions_[0].beta.sum(), 100)
    assert not machine.dual_coef_.any()  # as it predicts: w = 0
    quiet(OneClassSVM(kernel="linear", nu=float(message.split("nu of at least ")[1].rstrip("."))), X)
    assert "nu of at least" not in warned(OneClassSVM(kernel="linear"), X - X.mean(axis=0))
    quiet(OneClassSVM(), X)


def test_ordinary_fits_are_solved_once(monkeypatch):
    solves = []
    solved = Training._solved
    monkeypatch.setattr(Training, "_solved", lambda *words: solves.append(1) or solved(*words))
    X, y = noisy(0)
    for machine in (NuSVC(), NuSVC(kernel="linear", nu=0.6), OneClassSVM(), OneClassSVM(kernel="poly", coef0=1.0)):
        machine.fit(X, y)
    assert not solves  # the batch has all of them
    NuSVC().fit(np.repeat(X, 8, axis=0), np.repeat(y, 8))
    assert len(solves) == 1


def test_limits_hold_on_the_way():
    with pytest.warns(UserWarning, match="did not converge"):
        machine = NuSVC(kernel="linear", nu=0.4, max_iter=300).fit(DIABETES.data, HIGH)
    assert machine.stop_reason_ == "max_iter"
