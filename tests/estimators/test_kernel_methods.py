"""Fisher's discriminant and nearest neighbours in feature space; other people's kernel methods with our kernels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from adatron import SVC, KernelFisherDiscriminant, KernelNeighborsClassifier
from adatron.kernels import Gaussian, Linear, Polynomial

IRIS, SPECIES = load_iris(return_X_y=True)


@parametrize_with_checks(
    [
        KernelFisherDiscriminant(),
        KernelFisherDiscriminant(kernel="linear"),
        KernelNeighborsClassifier(),
        KernelNeighborsClassifier(n_neighbors=3, kernel="poly", prototypes="random", random_state=0),
        KernelNeighborsClassifier(prototypes=SVC()),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_linear_discriminant_is_fishers():
    X, y = IRIS[50:], SPECIES[50:]
    ours = KernelFisherDiscriminant(kernel=Linear(), regularization=1e-9).fit(X, y)
    direction = X.T @ ours.alphas_[:, 0]
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, 0]
    cosine = direction @ theirs / np.linalg.norm(direction) / np.linalg.norm(theirs)
    assert abs(cosine) > 0.9999


def test_discriminant_of_three_classes():
    machine = KernelFisherDiscriminant(gamma=0.5).fit(IRIS, SPECIES)
    projected = machine.transform(IRIS)
    assert projected.shape == (150, 2)
    assert machine.eigenvalues_[0] >= machine.eigenvalues_[1] > 0
    assert machine.score(IRIS, SPECIES) > 0.97
    assert machine.decision_function(IRIS).shape == (150, 3)
    np.testing.assert_array_equal(
        machine.classes_[machine.decision_function(IRIS).argmax(axis=1)], machine.predict(IRIS)
    )
    for k in range(3):
        np.testing.assert_allclose(projected[k == SPECIES].mean(axis=0), machine.means_[k], atol=1e-8)
    assert KernelFisherDiscriminant(n_components=1).fit_transform(IRIS, SPECIES).shape == (150, 1)
    assert list(machine.get_feature_names_out()) == ["kernelfisherdiscriminant0", "kernelfisherdiscriminant1"]


def test_discriminant_bends():
    X, y = make_moons(300, noise=0.15, random_state=0)
    assert KernelFisherDiscriminant(gamma=2.0).fit(X, y).score(X, y) > 0.98
    assert KernelFisherDiscriminant(kernel="linear").fit(X, y).score(X, y) < 0.95


def test_discriminant_of_a_matrix():
    kernel = Gaussian(sigma=1.5)
    plain = KernelFisherDiscriminant(kernel).fit(IRIS, SPECIES)
    given = KernelFisherDiscriminant("precomputed").fit(kernel(IRIS), SPECIES)
    np.testing.assert_allclose(given.transform(kernel(IRIS[:9], IRIS)), plain.transform(IRIS[:9]), atol=1e-6)


def test_neighbours_of_the_linear_kernel_are_euclidean():
    X, y = load_digits(return_X_y=True)
    ours = KernelNeighborsClassifier(3, kernel="linear").fit(X[:600], y[:600])
    theirs = KNeighborsClassifier(3).fit(X[:600], y[:600])
    np.testing.assert_allclose(ours.kneighbors(X[600:700])[0], theirs.kneighbors(X[600:700])[0], atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X[600:]), theirs.predict(X[600:]))
    np.testing.assert_allclose(ours.predict_proba(X[600:]), theirs.predict_proba(X[600:]))


def test_the_nearest_is_the_same_for_a_gaussian():
    X, y = load_digits(return_X_y=True)
    ours = KernelNeighborsClassifier(kernel=Gaussian(sigma=20.0)).fit(X[:600], y[:600])
    np.testing.assert_array_equal(ours.predict(X[600:]), KNeighborsClassifier(1).fit(X[:600], y[:600]).predict(X[600:]))
    other = KernelNeighborsClassifier(kernel=Polynomial(degree=6, gamma=0.1)).fit(X[:600], y[:600])
    assert (ours.kneighbors(X[600:])[1] != other.kneighbors(X[600:])[1]).any()


def test_support_vectors_are_good_prototypes():
    """The tutorial's tables: as good as all rows, better than as many taken at random."""
    X, y = load_digits(return_X_y=True)
    X, y, X_test, y_test = X[:1200], y[:1200], X[1200:], y[1200:]
    everything = KernelNeighborsClassifier().fit(X, y)
    few = KernelNeighborsClassifier(prototypes=SVC(C=10)).fit(X, y)
    count = len(few.prototypes_)
    at_random = KernelNeighborsClassifier(prototypes="random", n_prototypes=count // 4, random_state=0).fit(X, y)
    assert count < 0.6 * len(X)
    assert few.score(X_test, y_test) > everything.score(X_test, y_test) - 0.02
    assert few.score(X_test, y_test) > at_random.score(X_test, y_test)
    fitted = SVC(C=10).fit(X, y)
    np.testing.assert_array_equal(KernelNeighborsClassifier(prototypes=fitted).fit(X, y).prototypes_, few.prototypes_)


def test_other_methods_take_our_kernels():
    kernel = Gaussian(sigma=2.0)
    by_matrix = KernelPCA(2, kernel="precomputed").fit_transform(kernel(IRIS))
    by_name = KernelPCA(2, kernel="rbf", gamma=kernel.gamma).fit_transform(IRIS)
    np.testing.assert_allclose(np.abs(by_matrix), np.abs(by_name), atol=1e-6)
    pairwise = KernelPCA(2, kernel=lambda a, b: kernel(a[None], b[None])[0, 0]).fit_transform(IRIS)
    np.testing.assert_allclose(np.abs(pairwise), np.abs(by_name), atol=1e-6)
    ridge = KernelRidge(kernel="precomputed").fit(kernel(IRIS), SPECIES)
    expected = KernelRidge(kernel="rbf", gamma=kernel.gamma).fit(IRIS, SPECIES)
    np.testing.assert_allclose(ridge.predict(kernel(IRIS)), expected.predict(IRIS), atol=1e-8)


@pytest.mark.parametrize(
    ("machine", "error", "words"),
    [
        (KernelFisherDiscriminant(regularization=0.0), ValueError, "regularization=0.0 is out of range"),
        (KernelFisherDiscriminant(n_components=0), ValueError, "n_components=0 is out of range"),
        (KernelNeighborsClassifier(n_neighbors=0), ValueError, "n_neighbors=0 is out of range"),
        (KernelNeighborsClassifier(n_neighbors=500), ValueError, "n_neighbors=500 of 150 prototypes"),
        (KernelNeighborsClassifier(prototypes="some"), ValueError, "prototypes='some' is unknown"),
        (KernelNeighborsClassifier(prototypes=3), TypeError, "prototypes=3 is unknown"),
        (KernelNeighborsClassifier(kernel="precomputed"), ValueError, "kernel='precomputed' has no"),
        (
            KernelNeighborsClassifier(prototypes=SVC().fit(IRIS[40:], SPECIES[40:])),
            ValueError,
            "fitted on data of shape",
        ),
    ],
)
def test_bad_input_is_answered(machine, error, words):
    with pytest.raises(error, match=words):
        machine.fit(IRIS, SPECIES)
