"""Fisher's discriminant and nearest neighbours in feature space; scikit-learn's kernel methods with our kernels."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn.svm
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits, load_iris, load_wine, make_moons
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from adatron import SVC, SVR, KernelFisherDiscriminant, KernelNeighborsClassifier
from adatron.estimators import fisher as fisher_module
from adatron.estimators import neighbors as neighbors_module
from adatron.kernels import Callable, Constant, Exponential, Gaussian, Laplacian, Linear, Polynomial, Sigmoid

NAMES = ["linear", "poly", "rbf", "sigmoid", "exponential", "laplacian"]
KERNELS = [
    Linear(),
    Polynomial(degree=2),
    Gaussian(sigma=1.5),
    Exponential(0.7),
    Laplacian(0.3),
    Sigmoid(0.05),
    Gaussian(2.0) + 0.5 * Linear(),
    Callable(lambda X, Y: np.asarray((X @ Y.T + 1.0) ** 2)),
]
IRIS, SPECIES = load_iris(return_X_y=True)
WINE, VINEYARD = load_wine(return_X_y=True)
WINE = StandardScaler().fit_transform(WINE)
MOONS, SIDE = make_moons(300, noise=0.12, random_state=0)
TRAIN, TEST = np.arange(0, 178, 2), np.arange(1, 178, 2)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:1000], y[:1000], X[1000:], y[1000:]


def unit(columns: np.ndarray) -> np.ndarray:
    return columns / np.linalg.norm(columns, axis=0)


@parametrize_with_checks(
    [
        KernelFisherDiscriminant(),
        KernelFisherDiscriminant("linear", priors="empirical", n_components=1),
        KernelFisherDiscriminant("precomputed"),
        KernelNeighborsClassifier(),
        KernelNeighborsClassifier(3, kernel="poly", weights="distance"),
        KernelNeighborsClassifier(kernel="precomputed"),
        KernelNeighborsClassifier(prototypes="random", random_state=0),
        KernelNeighborsClassifier(prototypes=SVC()),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- Fisher's discriminant


@pytest.mark.parametrize(("X", "y"), [(IRIS, SPECIES), (WINE, VINEYARD), (WINE, VINEYARD == 1)])
def test_linear_fisher_has_the_directions_of_lda(X, y):
    ours = KernelFisherDiscriminant("linear", regularization=1e-10).fit(X, y)
    theirs = LinearDiscriminantAnalysis().fit(X, y)
    directions = unit(X.T @ ours.alphas_)
    others = unit(theirs.scalings_[:, : directions.shape[1]])
    np.testing.assert_allclose(np.abs((directions * others).sum(axis=0)), 1.0, atol=1e-6)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-4)
    equal = LinearDiscriminantAnalysis(priors=np.full(len(ours.classes_), 1 / len(ours.classes_))).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), equal.predict(X))
    # variances within classes, which are 1 up to the ridge
    z = ours.transform(X) - ours.means_[np.searchsorted(ours.classes_, y)]
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(z.shape[1]), atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_fisher_solves_the_eigenproblem_of_the_book(kernel, weighted):
    """M a = λ (N + ridge) a with all eigenvalues of m × m matrices, as Mika et al. write it."""
    X, y = WINE[TRAIN], VINEYARD[TRAIN]
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(X)) if weighted else np.ones(len(X))
    ours = KernelFisherDiscriminant(kernel, regularization=1e-2).fit(X, y, weight if weighted else None)
    K = kernel(X)
    mean = weight @ K / weight.sum()
    M, N = np.zeros_like(K), np.zeros_like(K)
    for c in range(3):
        w, rows = weight[y == c], K[y == c]
        m = w @ rows / w.sum()
        M += w.sum() * np.outer(m - mean, m - mean)
        N += (rows - m).T @ (w[:, None] * (rows - m))
    ridge = 1e-2 * (weight @ N.diagonal()) / weight.sum()
    values, vectors = linalg.eigh(M, N + ridge * np.diag(1 / weight))
    np.testing.assert_allclose(ours.eigenvalues_, values[:-3:-1], rtol=1e-6)
    book = vectors[:, :-3:-1]
    np.testing.assert_allclose(np.abs((unit(K @ ours.alphas_) * unit(K @ book)).sum(axis=0)), 1.0, atol=1e-6)
    z = ours.transform(X)
    np.testing.assert_allclose(weight @ z / weight.sum(), 0.0, atol=1e-8 * np.abs(z).max())
    for c in range(3):
        np.testing.assert_allclose(np.average(z[y == c], axis=0, weights=weight[y == c]), ours.means_[c], atol=1e-8)
    np.testing.assert_allclose(z, kernel(X) @ ours.alphas_ - mean @ ours.alphas_, atol=1e-7 * np.abs(z).max())


def test_fisher_separates_the_moons():
    machine = KernelFisherDiscriminant(gamma=2.0).fit(MOONS[:200], SIDE[:200])
    assert machine.score(MOONS[200:], SIDE[200:]) > 0.97
    assert KernelFisherDiscriminant("linear").fit(MOONS[:200], SIDE[:200]).score(MOONS[200:], SIDE[200:]) < 0.94
    values = machine.decision_function(MOONS)
    assert values.shape == (300,)
    np.testing.assert_array_equal(machine.predict(MOONS), (values > 0).astype(int))
    assert machine.means_[1, 0] > 0 > machine.means_[0, 0]


def test_fisher_of_three_classes():
    machine = KernelFisherDiscriminant(regularization=1e-2).fit(WINE[TRAIN], VINEYARD[TRAIN])
    assert machine.score(WINE[TEST], VINEYARD[TEST]) > 0.95
    z, scores = machine.transform(WINE[TEST]), machine.decision_function(WINE[TEST])
    assert z.shape == (89, 2)
    assert scores.shape == (89, 3)
    nearest = ((z[:, None] - machine.means_) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(machine.predict(WINE[TEST]), nearest)
    assert machine.get_feature_names_out().tolist() == ["kernelfisherdiscriminant0", "kernelfisherdiscriminant1"]
    assert (np.diff(machine.eigenvalues_) < 0).all()
    one = KernelFisherDiscriminant(regularization=1e-2, n_components=1).fit(WINE[TRAIN], VINEYARD[TRAIN])
    np.testing.assert_array_equal(one.transform(WINE[TEST]), z[:, :1])
    np.testing.assert_array_equal(one.predict(WINE[TEST]), nearest)
    assert len(one.explained_variance_ratio_) == 1
    assert one.set_output(transform="pandas").transform(WINE).columns.tolist() == ["kernelfisherdiscriminant0"]


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_weight_is_repetition(kernel):
    weight = np.random.default_rng(1).integers(0, 4, len(IRIS))
    again = np.repeat(np.arange(len(IRIS)), weight)
    K = Gaussian(1.0)(IRIS)
    given, repeated, asked = (
        (K, K[np.ix_(again, again)], K[:, again]) if kernel == "precomputed" else (IRIS, IRIS[again], IRIS)
    )
    for regularization in (1e-3, 0.5):
        machine = KernelFisherDiscriminant(kernel, regularization=regularization, priors="empirical")
        ours = clone(machine).fit(given, SPECIES, weight)
        theirs = clone(machine).fit(repeated, SPECIES[again])
        np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-7)
        np.testing.assert_allclose(ours.transform(given), theirs.transform(asked), atol=1e-6)
        np.testing.assert_allclose(ours.decision_function(given), theirs.decision_function(asked), atol=1e-5)
        assert (ours.alphas_[weight == 0] == 0).all()
        summed = np.zeros_like(ours.alphas_)
        np.add.at(summed, again, theirs.alphas_)
        np.testing.assert_allclose(ours.alphas_, summed, atol=1e-6 * np.abs(summed).max())


def test_priors_shift_the_border():
    y = (SPECIES == 2).astype(int)
    machines = {
        str(p): KernelFisherDiscriminant(priors=p).fit(IRIS, y) for p in (None, "empirical", [0.5, 0.5], [0.01, 0.99])
    }
    plain = machines["None"].decision_function(IRIS)
    np.testing.assert_allclose(machines["[0.5, 0.5]"].decision_function(IRIS), plain)
    np.testing.assert_allclose(machines["empirical"].decision_function(IRIS) - plain, np.log(0.5))
    np.testing.assert_allclose(machines["[0.01, 0.99]"].decision_function(IRIS) - plain, np.log(99))
    np.testing.assert_allclose(machines["empirical"].priors_, [2 / 3, 1 / 3])


@pytest.mark.parametrize("kernel", NAMES)
def test_fisher_takes_sparse_float32_and_precomputed_data(kernel):
    machine = KernelFisherDiscriminant(kernel, gamma=0.1).fit(IRIS, SPECIES)
    z = machine.transform(IRIS[::7])
    close = {"rtol": 1e-3, "atol": 1e-3 * np.abs(z).max()}
    thin = clone(machine).fit(sparse.csr_array(IRIS), SPECIES)
    np.testing.assert_allclose(thin.transform(sparse.csr_array(IRIS[::7])), z, **close)
    np.testing.assert_allclose(thin.transform(IRIS[::7]), z, **close)
    small = clone(machine).fit(IRIS.astype(np.float32), SPECIES)
    np.testing.assert_allclose(small.transform(IRIS[::7].astype(np.float32)), z, **close)
    K = machine._model.kernel(IRIS)
    matrix = KernelFisherDiscriminant("precomputed").fit(K, SPECIES)
    np.testing.assert_allclose(matrix.transform(K[::7]), z, **close)


def test_signs_and_order_of_rows():
    order = np.random.default_rng(0).permutation(len(WINE))
    for y in (VINEYARD, VINEYARD == 0):
        z = KernelFisherDiscriminant().fit(WINE, y).transform(WINE)
        shuffled = KernelFisherDiscriminant().fit(WINE[order], y[order]).transform(WINE)
        np.testing.assert_allclose(z, shuffled, atol=1e-7)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((6, 2)), [0, 1, 2, 0, 1, 2]),  # nothing to tell apart
        (np.zeros((6, 2)), [0, 1, 2, 0, 1, 2]),
        (np.array([[0.0], [1.0], [2.0]]), [0, 1, 2]),  # no scatter within
        (np.array([[0.0, 0], [1, 1], [2, 2], [0, 0.1], [1, 1.1], [2, 2.1]]), [0, 1, 2, 0, 1, 2]),  # means on a line
        (1e6 + np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]),
    ],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf", Constant(1.0)])
@pytest.mark.parametrize("regularization", [1e-300, 1e-3, 1e10])
def test_degenerate_data_gives_finite_answers(X, y, kernel, regularization):
    machine = KernelFisherDiscriminant(kernel, regularization=regularization).fit(X, y)
    assert np.isfinite(machine.decision_function(X)).all()
    assert np.isfinite(machine.transform(X)).all()
    if isinstance(kernel, Constant) or not np.ptp(X):
        assert not machine.eigenvalues_.any()
        assert not machine.alphas_.any()


def test_fisher_in_a_search_and_a_pickle():
    search = GridSearchCV(KernelFisherDiscriminant(), {"regularization": [1e-4, 1e-2], "gamma": [0.01, 0.1]}, cv=3)
    search.fit(WINE, VINEYARD)
    assert search.best_score_ > 0.95
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.transform(WINE), search.best_estimator_.transform(WINE))
    K = Gaussian(3.0)(WINE)
    assert cross_val_score(KernelFisherDiscriminant("precomputed"), K, VINEYARD, cv=3).min() > 0.9


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"regularization": 0.0}, ValueError, "regularization=0.0 is out of range"),
        ({"regularization": "much"}, TypeError, "regularization='much' is a str"),
        ({"n_components": 3}, ValueError, "n_components=3 is out of range: pass 2 at most"),
        ({"n_components": 0}, ValueError, "n_components=0 is out of range"),
        ({"priors": "even"}, ValueError, "priors='even' is unknown"),
        ({"priors": [0.5, 0.5]}, ValueError, r"priors=\[0.5, 0.5\] is out of range: pass 3 positive"),
        ({"priors": [0.5, 0.5, 0.5]}, ValueError, "priors=.*add up to 1"),
        ({"priors": [1.0, 0.0, 0.0]}, ValueError, "priors=.*positive"),
        ({"kernel": "gauss"}, ValueError, "kernel='gauss' is unknown"),
        ({"gamma": "adapt"}, ValueError, "gamma='adapt' is unknown"),
        ({"kernel": "precomputed"}, ValueError, r"X has shape \(150, 4\) with kernel='precomputed'"),
        ({"kernel": lambda X, Y: np.full((len(X), len(Y)), np.nan)}, ValueError, "gives NaN or infinity"),
    ],
)
def test_fisher_refuses_in_one_sentence(options, error, words):
    with pytest.raises(error, match=words) as caught:
        KernelFisherDiscriminant(**options).fit(IRIS, SPECIES)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_fisher_refuses_what_it_cannot_learn_from(monkeypatch):
    with pytest.raises(ValueError, match=r"y holds one class, \[1\]"):
        KernelFisherDiscriminant().fit(IRIS, np.ones(150, dtype=int))
    with pytest.raises(ValueError, match="sample_weight runs from -1 to"):
        KernelFisherDiscriminant().fit(IRIS, SPECIES, np.linspace(-1, 1, 150))
    with pytest.raises(NotFittedError):
        KernelFisherDiscriminant().transform(IRIS)
    rows = fisher_module.LARGEST + 1
    with pytest.raises(ValueError, match=f"X has {rows} rows: pass 20000 at most"):
        KernelFisherDiscriminant().fit(np.zeros((rows, 1)), np.arange(rows) % 2)


# ---------------------------------------------------------------- nearest neighbours


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("features", [4, 50])
def test_linear_neighbours_are_euclidean(features, count, weights):
    random = np.random.default_rng(0)
    X, Z = random.normal(size=(300, features)) + 1e3, random.normal(size=(80, features)) + 1e3
    y = (X[:, 0] + X[:, 1] > 2e3).astype(int) + (X[:, 2] > 1e3)
    ours = KernelNeighborsClassifier(count, kernel="linear", weights=weights).fit(X, y)
    theirs = KNeighborsClassifier(count, weights=weights, algorithm="brute").fit(X - 1e3, y)
    far, which = ours.kneighbors(Z)
    their_far, their_which = theirs.kneighbors(Z - 1e3)
    np.testing.assert_array_equal(which, their_which)
    np.testing.assert_allclose(far, their_far, rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(Z), theirs.predict(Z - 1e3))
    np.testing.assert_allclose(ours.predict_proba(Z), theirs.predict_proba(Z - 1e3), rtol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X - 1e3), atol=1e-6)


@pytest.mark.parametrize("gamma", [1e-9, "scale", 1e4])
@pytest.mark.parametrize("kernel", ["rbf", "exponential"])
def test_kernels_of_the_distance_have_its_neighbours(digits, kernel, gamma):
    X, y, Z, _ = digits
    ours = KernelNeighborsClassifier(kernel=kernel, gamma=gamma).fit(X, y)
    theirs = KNeighborsClassifier(1).fit(X, y)
    np.testing.assert_array_equal(ours.predict(Z), theirs.predict(Z))
    far, _ = ours.kneighbors(Z, 3)
    assert (np.diff(far, axis=1) >= 0).all()
    assert (far <= np.sqrt(2)).all()


@pytest.mark.parametrize("features", [4, 40])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_distances_are_those_of_the_formula(kernel, features):
    random = np.random.default_rng(1)
    X, Z = random.normal(size=(90, features)), random.normal(size=(30, features))
    y = random.integers(0, 3, 90)
    squared = kernel.diag(Z)[:, None] - 2 * kernel(Z, X) + kernel.diag(X)
    order = np.argsort(squared, axis=1)[:, :6]
    for data, asked in [(X, Z), (sparse.csr_array(X), sparse.csr_array(Z))]:
        if isinstance(kernel, Callable) and data is not X:
            continue
        machine = KernelNeighborsClassifier(6, kernel=kernel).fit(data, y)
        far, which = machine.kneighbors(asked)
        np.testing.assert_array_equal(which, order)
        np.testing.assert_allclose(far**2, np.take_along_axis(squared, order, axis=1).clip(0), atol=1e-10, rtol=1e-9)
        np.testing.assert_array_equal(machine.kneighbors(asked, 2, return_distance=False), order[:, :2])


def test_polynomial_neighbours_differ(digits):
    X, y, Z, _ = digits
    euclidean = KernelNeighborsClassifier(kernel="linear").fit(X, y)
    other = KernelNeighborsClassifier(kernel=Polynomial(degree=5, gamma=1e-3)).fit(X, y)
    assert (euclidean.kneighbors(Z)[1] != other.kneighbors(Z)[1]).mean() > 0.1
    assert (euclidean.predict(Z) != other.predict(Z)).any()


def test_support_vectors_are_good_prototypes(digits):
    """The survey's tables 2 to 4: support vectors serve as well as all rows, as many random ones do not."""
    X, y, Z, truth = digits
    every = KernelNeighborsClassifier().fit(X, y)
    some = KernelNeighborsClassifier(prototypes=SVC(kernel="poly", C=1.0)).fit(X, y)
    count = len(some.prototypes_)
    assert every.prototypes_.tolist() == list(range(1000))
    assert count < 500
    assert some.prototypes_.tolist() == sorted(some.machine_.support_.tolist())
    random = [
        KernelNeighborsClassifier(prototypes="random", n_prototypes=count, random_state=seed).fit(X, y)
        for seed in range(5)
    ]
    assert all(len(machine.prototypes_) == count for machine in random)
    best, ours = every.score(Z, truth), some.score(Z, truth)
    scores = [machine.score(Z, truth) for machine in random]
    assert ours > best - 0.015
    assert ours > np.mean(scores) + 0.005


@pytest.mark.parametrize("make", [SVC, sklearn.svm.SVC])
def test_a_fitted_machine_is_taken_at_its_word(make):
    machine = make(kernel="rbf", C=5.0).fit(WINE, VINEYARD)
    ours = KernelNeighborsClassifier(prototypes=machine).fit(WINE, VINEYARD)
    assert ours.machine_ is machine
    np.testing.assert_array_equal(ours.prototypes_, np.sort(machine.support_))
    again = clone(ours).fit(WINE, VINEYARD)  # a clone has an unfitted machine, and fits it
    assert again.machine_ is not machine
    assert not hasattr(again.prototypes, "support_")
    np.testing.assert_array_equal(again.prototypes_, ours.prototypes_)
    np.testing.assert_array_equal(
        KernelNeighborsClassifier(prototypes=machine).fit(WINE.astype(np.float32), VINEYARD).prototypes_,
        ours.prototypes_,
    )
    thin = sparse.csr_array(WINE)
    KernelNeighborsClassifier(prototypes=machine).fit(thin, VINEYARD)
    for other in (WINE[:90], WINE[::-1], WINE[:, :5], np.vstack([WINE, WINE])):
        with pytest.raises(ValueError, match=r"prototypes=SVC\(...\) was fitted to other rows"):
            KernelNeighborsClassifier(prototypes=machine).fit(other, np.resize(VINEYARD, len(other)))


def test_pipelines_and_searches_can_give_prototypes():
    raw, y = load_wine(return_X_y=True)
    inner = make_pipeline(StandardScaler(), SVC(C=5.0))
    fresh = KernelNeighborsClassifier(prototypes=inner).fit(raw, y)
    np.testing.assert_array_equal(fresh.prototypes_, np.sort(clone(inner).fit(raw, y)[-1].support_))
    fitted = KernelNeighborsClassifier(prototypes=clone(inner).fit(raw, y)).fit(raw, y)
    np.testing.assert_array_equal(fitted.prototypes_, fresh.prototypes_)
    search = GridSearchCV(KernelNeighborsClassifier(prototypes=SVC()), {"prototypes__C": [0.1, 10.0]}, cv=3)
    assert search.fit(WINE, VINEYARD).best_score_ > 0.9


def test_precomputed_neighbours():
    kernel = Polynomial(degree=2)
    K = kernel(WINE[TRAIN])
    asked = kernel(WINE[TEST], WINE[TRAIN])
    matrix = KernelNeighborsClassifier(3, kernel="precomputed").fit(K, VINEYARD[TRAIN])
    points = KernelNeighborsClassifier(3, kernel=kernel).fit(WINE[TRAIN], VINEYARD[TRAIN])
    np.testing.assert_array_equal(matrix.predict(asked), points.predict(WINE[TEST]))
    np.testing.assert_array_equal(
        matrix.kneighbors(asked, return_distance=False), points.kneighbors(WINE[TEST], return_distance=False)
    )
    some = KernelNeighborsClassifier(kernel="precomputed", prototypes=SVC(kernel="precomputed"))
    some.fit(K, VINEYARD[TRAIN])
    assert 0 < len(some.prototypes_) < len(K)
    assert some.score(asked, VINEYARD[TEST]) > 0.85
    assert cross_val_score(clone(matrix), kernel(WINE), VINEYARD, cv=3).min() > 0.8
    with pytest.raises(ValueError, match="return_distance=True needs k"):
        matrix.kneighbors(asked)


def test_votes():
    X, y = np.array([[0.0], [1.0], [2.0], [10.0]]), np.array(["a", "b", "b", "c"])
    machine = KernelNeighborsClassifier(3, kernel="linear").fit(X, y)
    np.testing.assert_allclose(machine.predict_proba([[0.0]]), [[1 / 3, 2 / 3, 0]])
    assert machine.predict([[0.0]]) == "b"
    near = KernelNeighborsClassifier(3, kernel="linear", weights="distance").fit(X, y)
    np.testing.assert_allclose(near.predict_proba([[0.0], [0.5]]), [[1, 0, 0], [3 / 7, 4 / 7, 0]])
    even = KernelNeighborsClassifier(2, kernel="linear").fit(X, y)
    assert even.predict([[0.5]]) == "a"  # equal votes: the first class


def test_of_equal_distances_the_first_rows_count():
    random = np.random.default_rng(0)
    X = random.integers(0, 3, (400, 2)).astype(float)
    machine = KernelNeighborsClassifier(7, kernel="linear").fit(X, random.integers(0, 2, 400))
    squared = ((X[:50, None] - X) ** 2).sum(axis=2)
    np.testing.assert_array_equal(machine.kneighbors(X[:50])[1], np.argsort(squared, axis=1, kind="stable")[:, :7])


def test_blocks_change_nothing(monkeypatch, digits):
    X, y, Z, _ = digits
    machine = KernelNeighborsClassifier(4, kernel="poly", weights="distance").fit(X, y)
    whole = machine.predict_proba(Z)
    shapes = []
    compared = neighbors_module.Neighborhood._compared

    def watched(self, rows):
        values = compared(self, rows)
        shapes.append(values.shape)
        return values

    monkeypatch.setattr(neighbors_module.Neighborhood, "_compared", watched)
    monkeypatch.setattr(neighbors_module, "BLOCK_VALUES", 30_000)
    np.testing.assert_allclose(machine.predict_proba(Z), whole, rtol=1e-9)
    assert max(rows * columns for rows, columns in shapes) <= 30_000
    assert sum(rows for rows, _ in shapes) == len(Z)


def test_neighbours_random_prototypes_and_pickle():
    drawn = [
        KernelNeighborsClassifier(prototypes="random", n_prototypes=20, random_state=s).fit(WINE, VINEYARD)
        for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(drawn[0].prototypes_, drawn[1].prototypes_)
    assert drawn[0].prototypes_.tolist() != drawn[2].prototypes_.tolist()
    assert len(np.unique(drawn[0].prototypes_)) == 20
    again = pickle.loads(pickle.dumps(drawn[0]))
    np.testing.assert_array_equal(again.predict(WINE), drawn[0].predict(WINE))
    assert drawn[0]._near.points.shape == (20, 13)  # no other row is kept
    full = KernelNeighborsClassifier(prototypes="random", n_prototypes=1000).fit(WINE, VINEYARD)
    assert len(full.prototypes_) == len(WINE)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0 is out of range"),
        ({"n_neighbors": 2.5}, TypeError, "n_neighbors=2.5 is a float"),
        (
            {"n_neighbors": 151},
            ValueError,
            r"n_neighbors=151 is more than there are prototypes \(n_samples=150\): pass 150 at most",
        ),
        (
            {"n_neighbors": 9, "prototypes": "random", "n_prototypes": 5},
            ValueError,
            r"n_neighbors=9 is more than there are prototypes \(n_samples=5\): pass 5",
        ),
        ({"n_prototypes": 0}, ValueError, "n_prototypes=0 is out of range"),
        ({"weights": "even"}, ValueError, "weights='even' is unknown"),
        ({"weights": "distance", "kernel": "precomputed"}, ValueError, "weights='distance' needs k"),
        ({"prototypes": "some"}, ValueError, "prototypes='some' is unknown: pass 'all', 'random' or a support"),
        ({"prototypes": 7}, TypeError, "prototypes=7 is unknown"),
        ({"prototypes": SVC}, TypeError, "prototypes=SVC is a class: pass an object"),
        ({"prototypes": LinearSVC()}, TypeError, r"prototypes=LinearSVC\(...\) has no support_"),
        ({"prototypes": SVC(kernel="precomputed")}, ValueError, r"prototypes=SVC\(...\) reads X in another way"),
        ({"prototypes": SVR(epsilon=100.0)}, ValueError, r"prototypes=SVR\(...\) has no support vectors"),
        ({"kernel": "gauss"}, ValueError, "kernel='gauss' is unknown"),
        ({"kernel": "precomputed"}, ValueError, r"X has shape \(150, 4\) with kernel='precomputed'"),
    ],
)
def test_neighbours_refuse_in_one_sentence(options, error, words):
    with pytest.raises(error, match=words) as caught:
        KernelNeighborsClassifier(**options).fit(IRIS, SPECIES)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_neighbours_refuse_later_too():
    machine = KernelNeighborsClassifier()
    with pytest.raises(NotFittedError):
        machine.kneighbors(IRIS)
    machine.fit(IRIS, SPECIES)
    with pytest.raises(
        ValueError, match=r"n_neighbors=500 is more than there are prototypes \(n_samples=150\): pass 150"
    ):
        machine.kneighbors(IRIS, 500)
    machine.set_params(n_neighbors=500)
    with pytest.raises(
        ValueError, match=r"n_neighbors=500 is more than there are prototypes \(n_samples=150\): pass 150"
    ):
        machine.predict(IRIS)


# ---------------------------------------------------------------- scikit-learn's kernel methods, our kernels


def test_kernel_pca_takes_our_matrices():
    kernel = Gaussian(sigma=1.0)
    ours = KernelPCA(3, kernel="precomputed").fit(kernel(WINE[TRAIN]))
    theirs = KernelPCA(3, kernel="rbf", gamma=0.5).fit(WINE[TRAIN])
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    asked = ours.transform(kernel(WINE[TEST], WINE[TRAIN]))
    np.testing.assert_allclose(np.abs(asked), np.abs(theirs.transform(WINE[TEST])), atol=1e-9)


def test_kernel_pca_takes_our_kernels_a_pair_at_a_time():
    kernel = Gaussian(sigma=1.0) + 0.1 * Linear()

    def pair(x: np.ndarray, y: np.ndarray) -> float:
        return float(kernel(x[None], y[None])[0, 0])

    rows = WINE[TRAIN][:40]
    one = KernelPCA(3, kernel=pair).fit(rows).eigenvalues_
    np.testing.assert_allclose(one, KernelPCA(3, kernel="precomputed").fit(kernel(rows)).eigenvalues_, rtol=1e-9)


def test_other_kernel_methods_take_our_kernels():
    kernel = Gaussian(sigma=1.0)
    X, y = MOONS[:80], SIDE[:80]
    np.testing.assert_allclose(
        sklearn.svm.SVC(kernel=kernel).fit(X, y).decision_function(X),
        sklearn.svm.SVC(gamma=0.5).fit(X, y).decision_function(X),
    )
    ridge = KernelRidge(kernel="precomputed").fit(kernel(X), y).predict(kernel(X))
    np.testing.assert_allclose(ridge, KernelRidge(kernel="rbf", gamma=0.5).fit(X, y).predict(X), rtol=1e-7)
    clusters = [
        SpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(kernel(X)),
        SpectralClustering(2, affinity="rbf", gamma=0.5, random_state=0).fit_predict(X),
    ]
    np.testing.assert_array_equal(*clusters)


@pytest.mark.parametrize("kernel", [Gaussian(sigma=1.0), Polynomial(degree=2, gamma=0.1), 0.5 * Linear() + 1.0])
def test_our_kernels_are_functions_to_scikit_learn(kernel):
    X, y = WINE[:40], np.arange(40.0)
    np.testing.assert_allclose(
        KernelPCA(2, kernel=kernel).fit(X).eigenvalues_, KernelPCA(2, kernel="precomputed").fit(kernel(X)).eigenvalues_
    )
    by_function = KernelRidge(kernel=kernel).fit(X, y).predict(X)
    np.testing.assert_allclose(by_function, KernelRidge(kernel="precomputed").fit(kernel(X), y).predict(kernel(X)))
    assert np.ndim(kernel(X[0], X[1])) == 0
