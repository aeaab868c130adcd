"""What is certified is what predicts: models against their own coefficients, certificates against the truth."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from adatron import SVC, SVR, Gram, NuSVC, NuSVR, OneClassSVM, certificate, datasets, problems, solve
from adatron.kernels import Callable, Exponential, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from adatron.packing import pack
from adatron.precision import row_errors
from adatron.selection import cross_validate, kernel_path
from adatron.solution import Status
from adatron.solvers.protocol import Stop
from adatron.solvers.qp import QP
from adatron.trace import Watch


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)


def formula(model, X) -> np.ndarray:
    """Decision values from the coefficients in float64, distances by differences."""
    kernel = model._model.kernel
    return kernel(dense(model.support_vectors_), dense(X)).T @ model.dual_coef_[0] + model.intercept_[0]


def check_predicts_its_formula(model, X, tol=1e-3) -> None:
    truth = formula(model, X)
    np.testing.assert_allclose(model.decision_function(X), truth, rtol=0, atol=tol)
    clear = np.abs(truth) > tol
    np.testing.assert_array_equal(model.predict(X)[clear], model.classes_[(truth[clear] > 0).astype(int)])


def true_violation(model, X, y) -> float:
    """KKT violation of a hinge classifier with exact bias, all kernel values in float64."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    beta = model.solutions_[0].beta
    g = model._model.kernel(dense(X)) @ beta - signs
    up, down = np.where(signs > 0, beta < model.C, beta < 0), np.where(signs > 0, beta > 0, beta > -model.C)
    return float(np.max(-g[up]) - np.min(-g[down]))


def two_classes(m, d, seed=0, noise=0.5):
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, d))
    return X, np.sign(X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5 + noise * random.normal(size=m))


# ---------------------------------------------------------------- predictions above 1,000 rows


def test_hard_margin_predicts_what_it_learnt():
    X, y = datasets.checkerboard(2000)
    model = SVC(C=np.inf, kernel=Gaussian(sigma=2)).fit(X, y)
    assert model.converged_
    assert model.score(X, y) == 1.0
    check_predicts_its_formula(model, X)


@pytest.mark.parametrize("kernel", [Polynomial(2, 1.0, 1.0), Polynomial(2, 1.0, 1.0) + Gaussian(2.0)], ids=repr)
def test_polynomials_of_offset_features(kernel):
    X, y = two_classes(1200, 4)
    check_predicts_its_formula(SVC(kernel=kernel).fit(X + 100, y), X + 100, tol=5e-3)


def test_polynomials_of_huge_features_do_not_overflow():
    X, y = two_classes(1200, 3)
    model = SVC(kernel=Polynomial(3, 1.0, 1.0), C=1e-30, max_iter=20_000).fit(X * 3e6, y)
    assert np.isfinite(model.decision_function(X * 3e6)).all()
    check_predicts_its_formula(model, X * 3e6)


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.2), Laplacian(0.3), Exponential(0.5)], ids=repr)
def test_sparse_rows_with_a_year(kernel):
    X, y = two_classes(1200, 6, noise=0.1)
    X *= np.random.default_rng(1).random(X.shape) < 0.6
    X[:, 0] += 2000
    S = sparse.csr_array(X)
    model = SVC(kernel=kernel).fit(S, y)
    assert model.converged_
    check_predicts_its_formula(model, S)
    assert true_violation(model, X, y) <= 1.3e-3
    np.testing.assert_allclose(model.decision_function(S), model.decision_function(X), atol=1e-4)  # dense rows too


@pytest.mark.parametrize("features", [3, 40])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("as_stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_offset_columns(features, offset, as_stored):
    X, y = two_classes(1100, features)
    X = X + offset
    model = SVC(gamma=1 / features, C=3.0).fit(as_stored(X), y)
    assert model.converged_
    check_predicts_its_formula(model, as_stored(X))
    assert true_violation(model, X, y) <= 1.3e-3


def test_regressors_and_one_class_predict_their_formula():
    X, y = two_classes(1200, 5)
    X += 500
    for model in (SVR(gamma=0.2, C=100.0).fit(X, X[:, 0] - 500 + y), OneClassSVM(gamma=0.2, nu=0.1).fit(X)):
        values = model.predict(X) if isinstance(model, SVR) else model.decision_function(X)
        np.testing.assert_allclose(
            values, formula(model, X), rtol=0, atol=1e-3 * max(1.0, np.abs(model.intercept_).max())
        )


def test_many_classes_predict_their_formula():
    random = np.random.default_rng(0)
    y = random.integers(0, 4, 1500)
    X = random.normal(size=(1500, 40)) + 3 * np.eye(4, 40)[y] + 1000
    for multiclass in ("ovo", "ovr"):
        model = SVC(gamma=0.02, C=10.0, multiclass=multiclass, decision_function_shape="ovo").fit(X, y)
        K = model._model.kernel(model.support_vectors_, X)
        coef = model.dual_coef_
        if multiclass == "ovo":  # class i's line against class j > i is j - 1, class j's against i is i
            own, dual = np.repeat(np.arange(4), model.n_support_), model.dual_coef_
            pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
            coef = np.array([np.where(own == i, dual[j - 1], 0.0) + np.where(own == j, dual[i], 0.0) for i, j in pairs])
        truth = (coef @ K).T + model.intercept_
        np.testing.assert_allclose(model.decision_function(X), truth, rtol=0, atol=1e-3)


# ---------------------------------------------------------------- one row at a time


@pytest.mark.parametrize("m", [300, 1200])
@pytest.mark.parametrize("features", [4, 40])
def test_a_row_is_predicted_alike_in_every_batch(m, features):
    X, y = two_classes(m, features)
    model = SVC(gamma=1 / features).fit(X, y)
    fresh = np.random.default_rng(7).normal(size=(200, features))
    alone = np.concatenate([model.decision_function(row[None]) for row in fresh])
    for wild in (1e9, 1e15, -1e30):
        batch = np.vstack((fresh, np.full((1, features), wild)))
        np.testing.assert_allclose(model.decision_function(batch)[:-1], alone, rtol=0, atol=1e-6)
    np.testing.assert_allclose(alone, formula(model, fresh), rtol=0, atol=1e-4)


@pytest.mark.parametrize("m", [300, 1200])
@pytest.mark.parametrize("wild", [1e9, 1e12, 1e18])
def test_a_wild_training_row_harms_no_other(m, wild):
    X, y = two_classes(m, 4)
    X[5] = wild
    model = SVC(gamma=0.25).fit(X, y)
    assert model.converged_
    assert model.score(X, y) > 0.8
    assert true_violation(model, X, y) <= 1.3e-3
    check_predicts_its_formula(model, X)


def test_rows_beyond_the_training_data_are_predicted_exactly():
    """Close to each other and far from the rest, where float32 cannot tell them apart."""
    X, y = two_classes(1200, 40)
    model = SVC(gamma=0.03).fit(X, y)
    assert model._model.arithmetic.dtype == np.float32
    far = X[:50] * 30 + 1e4
    np.testing.assert_allclose(model.decision_function(far), formula(model, far), rtol=0, atol=1e-9)


def test_values_that_overflow_are_told():
    X, y = two_classes(60, 2)
    model = SVC(kernel=Polynomial(9, 1.0, 1.0), max_iter=100).fit(X, y)
    with pytest.warns(UserWarning, match="X has 1 rows on which .* overflows, row 0 first"):
        model.predict(np.array([[1e200, 1e200], [0.0, 0.0]]))


# ---------------------------------------------------------------- certificates


def test_certificates_know_of_fifty_outliers():
    X, y = two_classes(1500, 40)
    X[1000:1050] = X[1000:1050] * 0.1 + 1e4  # close to each other, far from the rest
    model = SVC(gamma=0.025).fit(X, y)
    assert model.converged_
    assert true_violation(model, X, y) <= 1.3e-3
    check_predicts_its_formula(model, X)


def test_certificates_of_sparse_rows_far_from_the_origin():
    X, y = two_classes(400, 4)
    S = sparse.csr_array(X + 1e7)
    model = SVC(gamma=0.5).fit(S, y)
    assert model.converged_
    assert true_violation(model, X + 1e7, y) <= 1e-6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("as_stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(gamma=0.1),
        Gaussian(gamma=30.0),
        Exponential(0.3),
        Laplacian(0.05),
        Linear(),
        Polynomial(3, 0.1, 1.0),
        Sigmoid(0.05, 0.1),
        2.0 * Gaussian(gamma=0.1) * Linear() + 0.5,
    ],
    ids=repr,
)
def test_error_bounds_hold_for_every_value(kernel, as_stored, dtype):
    """Bounds by norms, with outliers, offsets and duplicates, against differences in extended precision."""
    random = np.random.default_rng(3)
    X = random.normal(size=(80, 40)) * random.choice([1e-3, 1.0, 30.0], size=(80, 1))
    X[:, :3] += 50
    X[70:] = X[60:70] * (1 + 1e-7)
    packed = pack(as_stored(X), kernel.terms(), dtype, threads=1)
    gram = Gram(kernel, as_stored(X), dtype=dtype, threads=1)
    found = gram.rows(np.arange(80)).astype(np.longdouble)
    wide = X.astype(np.longdouble)
    difference = wide[:, None] - wide[None]
    known = {
        Gaussian: lambda k: np.exp(-np.longdouble(k.gamma) * (difference**2).sum(-1)),
        Exponential: lambda k: np.exp(-np.longdouble(k.a) * np.sqrt((difference**2).sum(-1))),
        Laplacian: lambda k: np.exp(-np.longdouble(k.gamma) * np.abs(difference).sum(-1)),
    }
    truth = 0
    for coefficient, factors in kernel.terms():
        value = np.longdouble(coefficient) * np.ones((80, 80))
        for f in factors:
            value = value * (known[type(f)](f) if type(f) in known else f.profile((wide[:, None] * wide[None]).sum(-1)))
        truth = truth + value
    bound = packed.error_bound()
    norms = packed.norms
    allowed = bound(norms[:, None], norms[None], np.abs(norms[:, None] - norms[None]))
    error = np.abs(found - truth).astype(np.float64)
    assert (error <= allowed).all()
    coef = random.normal(size=80)
    sums = row_errors(bound, norms, np.abs(coef), norms)
    assert (np.abs(coef @ (found - truth)) <= sums).all()
    assert (np.abs(gram.product(coef) - np.asarray(coef @ truth, dtype=np.float64)) <= sums + 1e-12).all()


def test_binned_bounds_cover_the_ones_made_pair_by_pair(monkeypatch):
    X = np.random.default_rng(4).normal(size=(300, 40)) * np.geomspace(1e-3, 1e4, 300)[:, None]
    bound = pack(X, Gaussian(gamma=0.1).terms(), np.float32, threads=1)
    norms, weight = bound.norms, np.random.default_rng(5).random(300)
    binned = row_errors(bound.error_bound(), norms, weight, norms)
    monkeypatch.setattr("adatron.precision.FEW_PAIRS", 10**9)
    exactly = row_errors(bound.error_bound(), norms, weight, norms)
    assert (binned >= exactly * (1 - 1e-12)).all()


def test_what_float64_cannot_certify_is_not_called_converged():
    """Linear kernel on features of 1e9 with classes that overlap: f is known to within 100, not to within tol."""
    X, y = two_classes(60, 2, noise=2.0)
    with pytest.warns(ConvergenceWarning):
        model = SVC(kernel="linear", max_time=5.0).fit(X * 1e9, y)
    assert not model.converged_
    claimed = model.solutions_[0].certificate
    assert claimed.rounding > 1e-3 or claimed.kkt_violation > 1e-3


def test_huge_data_have_a_certified_gap():
    X, y = two_classes(200, 4, noise=0.0)
    y = np.sign(X[:, 0] + 0.1)
    model = SVC(kernel="linear").fit(X * 1e100, y)
    assert model.score(X * 1e100, y) == 1.0
    assert model.converged_
    assert model.duality_gap_ < 1e-3


# ---------------------------------------------------------------- kernels that are not positive semidefinite


@pytest.mark.parametrize(
    ("kernel", "known"),
    [
        (Linear(), True),
        (Gaussian(), True),
        (Polynomial(3, 1.0, 0.0), True),
        (Polynomial(3, 1.0, -1.0), None),
        (Sigmoid(), None),
        (Precomputed(), None),
        (Callable(cdist), None),
        (Gaussian() + 2.0 * Linear(), True),
        (Gaussian() * Laplacian(), True),
        (Gaussian() + Sigmoid(), None),
    ],
    ids=repr,
)
def test_kernels_know_whether_they_are_positive_semidefinite(kernel, known):
    assert kernel.positive_semidefinite is known


@pytest.mark.parametrize(
    "kernel", ["sigmoid", lambda A, B: -(A @ B.T), Polynomial(3, 1.0, -2.0)], ids=["sigmoid", "negative", "polynomial"]
)
def test_no_gap_is_claimed_where_the_problem_is_not_convex(kernel):
    X, y = two_classes(150, 4)
    with pytest.warns(ConvergenceWarning, match="positive semidefinite|did not converge"):
        model = SVC(kernel=kernel, gamma=1.0, max_iter=100_000).fit(X, y)
    assert np.isnan(model.duality_gap_)
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gram = Gram(model._model.kernel, X, dtype=np.float64)
    problem = problems.hinge(y, 1.0)
    assert np.isnan(certificate(problem, gram, model.solutions_[0].beta).gap)


def test_one_warning_says_what_a_stationary_point_is():
    X, y = two_classes(150, 4)
    with pytest.warns(ConvergenceWarning) as told:
        model = SVC(kernel="sigmoid", gamma=1.0).fit(X, y)
    assert len(told) == 1
    assert "not positive semidefinite" in str(told[0].message)
    assert model.stop_reason_ == "stationary point"


def test_convex_all_the_same():
    """A matrix that is positive semidefinite where it matters: computed beforehand; on sums; by its ridge."""
    X, y = two_classes(150, 3)
    K = Gaussian(gamma=0.5)(X)
    squares = -cdist(X, X, "sqeuclidean")  # negative along the sum only, which is held at zero
    indefinite = K - 0.01 * np.eye(150)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for matrix, loss in ((K, "hinge"), (squares, "hinge"), (indefinite, "squared_hinge")):
            model = SVC(kernel="precomputed", loss=loss).fit(matrix, y)
            assert model.converged_
            assert model.duality_gap_ < 1e-3
    with pytest.warns(ConvergenceWarning):
        assert np.isnan(SVC(kernel="precomputed", bias="none").fit(squares, y).duality_gap_)


def test_asymmetric_matrices_are_refused():
    X, y = two_classes(60, 3)
    K = Gaussian(gamma=0.5)(X)
    K[3, 7] += 0.1
    with pytest.raises(ValueError, match="X is no symmetric matrix"):
        SVC(kernel="precomputed").fit(K, y)
    K = Gaussian(gamma=0.5)(X)
    SVC(kernel="precomputed").fit(K * (1 + 1e-15 * np.random.default_rng(0).normal(size=K.shape)), y)


def test_curvature_is_seen_beside_a_large_common_part():
    """-x·y of rows far from the origin: all that counts is what the sum does not take away."""
    X, y = two_classes(60, 3)
    X[:, 0] += 1e5
    with pytest.warns(ConvergenceWarning):
        model = SVC(kernel="precomputed").fit(-(X @ X.T), y)
    assert not model.converged_
    assert np.isnan(model.duality_gap_)


def test_float32_matrices_with_a_bias_in_the_kernel():
    X, y = two_classes(120, 3)
    K = Gaussian(gamma=0.5)(X).astype(np.float32)
    model = SVC(kernel="precomputed", bias="augmented", tol=1e-9).fit(K, y)
    beta = model.solutions_[0].beta
    g = (K.astype(np.float64) + 1) @ beta - y
    up, down = np.where(y > 0, beta < 1, beta < 0), np.where(y > 0, beta > 0, beta > -1)
    assert max(np.max(-g[up]), np.max(g[down])) <= 2e-9


def test_a_small_ridge_beside_large_values_starts_in_float64():
    X, y = two_classes(1100, 3)
    model = SVC(kernel="linear", loss="squared_hinge", C=1.0, max_iter=3000).fit(X * 1e5, y)
    assert np.abs(model.solutions_[0].beta).max() < 1.0  # float32 went to 1e17


# ---------------------------------------------------------------- selection


def test_selection_on_sparse_rows_with_a_year():
    X, y = two_classes(1100, 6, noise=0.1)
    X[:, 0] += 2000
    S = sparse.csr_array(X)
    together = cross_validate(SVC(), S, y, gamma=[0.2], C=[1.0], cv=3).mean[0, 0]
    plain = cross_validate(SVC(), X - np.array([2000, 0, 0, 0, 0, 0]), y, gamma=[0.2], C=[1.0], cv=3).mean[0, 0]
    assert together == pytest.approx(plain, abs=0.01)
    model = SVC(gamma="adapt", C="adapt").fit(S, y)
    assert model.score(S, y) > 0.85


def test_paths_over_sparse_rows_with_a_year():
    X, y = two_classes(300, 4, noise=0.0)
    near = kernel_path(X, y, sigma=(0.5, 2.0), C=10.0, loss="squared_hinge")
    X[:, 0] += 2000
    far = kernel_path(sparse.csr_array(X), y, sigma=(0.5, 2.0), C=10.0, loss="squared_hinge")
    np.testing.assert_allclose(far["bound"], near["bound"], rtol=1e-3)


def test_nu_classifiers_predict_their_formula():
    X, y = two_classes(1200, 4)
    model = NuSVC(nu=0.4, gamma=0.25).fit(X + 300, y)
    check_predicts_its_formula(model, X + 300, tol=0.02)


def test_solutions_carry_their_arithmetic():
    X, y = two_classes(1200, 4)
    found = solve(problems.hinge(y, 1.0), Gram(Gaussian(gamma=0.25), X))
    assert found.arithmetic.dtype == np.float32
    assert 0 < found.certificate.rounding <= 0.5e-3
    hard = solve(problems.hinge(y, 1.0), Gram(Gaussian(gamma=0.25), X), tol=1e-7)
    assert hard.arithmetic.exact


def test_rounding_of_a_function_kernel_counts_outliers():
    """All values are alike, so that float32 errors cancel in the sums, but for those of one row."""
    X = np.random.default_rng(0).normal(size=(1200, 3))
    X[777] = 1e6

    def kernel(A, B):
        return np.tanh(1e-9 * (A @ B.T) - 1.0)

    coef = np.random.default_rng(1).permutation(np.repeat([-1.0, 1.0], 600))
    gram = Gram(Callable(kernel), X, dtype=np.float32, threads=1)
    error = np.abs(gram.product(coef) - kernel(X, X) @ coef).max()
    assert error > 1e-8
    assert gram.rounding(coef) >= error


def test_an_outlier_does_not_hide_negative_curvature():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    X[0] = 1e18
    y = np.where(random.normal(size=60) > 0, 1.0, -1.0)
    kernel = Polynomial(3, gamma=0.5, coef0=-1.0)
    gram = Gram(kernel, X, dtype=np.float64)
    problem = problems.hinge(y, 1.0)
    claimed = certificate(problem, gram, np.where(np.arange(60) > 0, 0.5 * y, 0.0))
    assert np.isnan(claimed.gap)


@pytest.mark.parametrize("rows", [1085, 2500])
def test_negative_curvature_of_all_rows_outweighs_a_ridge_that_held_that_of_some(rows):
    X, y = two_classes(rows, 5)
    kernel = Sigmoid(gamma=0.0075, coef0=-1.0)
    gram = Gram(kernel, X, dtype=np.float64)
    least = np.linalg.eigvalsh(kernel(X[:500]))[0] * rows / 500  # of all rows: the eigenvalues grow with their number
    problem = problems.squared_hinge(y, -0.5 / (0.7 * least), bias="none")  # ridge: 0.7 of what it would take
    assert np.isnan(certificate(problem, gram, 0.1 * y).gap)
    held = problems.squared_hinge(y, -0.5 / (1.1 * least), bias="none")
    assert np.isfinite(certificate(held, gram, 0.1 * y).gap)


def test_negative_curvature_that_does_not_grow_is_no_reason_for_doubt():
    X, y = two_classes(2500, 3)
    gram = Gram(Precomputed(), Gaussian(gamma=0.3)(X) - 0.3 * np.eye(2500), dtype=np.float64)
    problem = problems.squared_hinge(y, 1.0, bias="none")  # a ridge of 0.5
    assert np.isfinite(certificate(problem, gram, 0.1 * y).gap)


@pytest.mark.parametrize("row", [77, 777, 1377])
def test_one_unusual_row_may_be_what_is_not_convex(row):
    """Where tanh is at its ends the matrix has rank one; a row for which it is not is one in many."""
    X = 1e3 * np.random.default_rng(0).normal(size=(1400, 1))
    X[row] = 1e-4
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    problem = problems.squared_hinge(y, 1e3)
    gram = Gram(Sigmoid(gamma=1.0), X, dtype=np.float64)
    assert np.isnan(certificate(problem, gram, 0.1 * y * (np.abs(y).cumsum() < 1000)).gap)


def test_a_model_is_judged_on_the_way_to_a_single_outlier():
    """It is one of the rows farthest out, and far from the others of those."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1120, 1))
    X[7] = 4e9
    model = NuSVR(C=241_000.0, nu=0.1).fit(X, rng.normal(size=1120))
    others = np.geomspace(1e5, 1e9, 30)[:, None]
    values = np.exp(-model.gamma_ * cdist(others, model.support_vectors_, "sqeuclidean"))
    expected = values @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.predict(others), expected, atol=1e-3)


def test_a_model_is_not_trusted_for_rounding_by_luck():
    """Rows that hardly differ all round alike, perhaps to the right number; points beside them do not."""
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.normal(size=(1600, 2)), np.full(1600, 9_999_995.0)))
    model = OneClassSVM(kernel="poly", degree=4, coef0=1.0, nu=0.01, tol=1e-4).fit(X)
    others = np.column_stack((rng.normal(size=(40, 2)), 9_999_995.0 * (1 + 1e-7 * rng.normal(size=40))))
    gamma = 1 / (3 * X.var())
    values = (gamma * others.astype(np.longdouble) @ model.support_vectors_.T.astype(np.longdouble) + 1) ** 4
    expected = values @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(others), expected.astype(float), rtol=0, atol=1e-4)


def test_roots_of_distances_between_sparse_rows_that_nearly_meet():
    """From dot products the distance of two near points is noise, and large coefficients make much of it."""
    X = np.array([[1000.0], [1000.0 + 1e-6], [1003.0], [1001.0]])
    gram = Gram(Exponential(1.0), sparse.csr_array(X), dtype=np.float64)
    np.testing.assert_allclose(gram.rows(np.arange(4)), np.exp(-np.abs(X - X.T)), rtol=1e-14)


def test_matrices_of_tiny_values_are_not_rounded_to_zero():
    X = 1e-100 * np.random.default_rng(0).normal(size=(1100, 3))
    gram = Gram(Precomputed(), X @ X.T, dtype=np.float32)
    np.testing.assert_allclose(gram.rows(np.arange(5)), (X @ X.T)[:5])


def test_a_model_is_judged_on_the_way_to_outliers():
    """A kernel as wide as one outlier is far sees all others alike; a point in between has values of its own."""
    rng = np.random.default_rng(0)
    X = 1e6 * rng.normal(size=(1248, 5))
    X[7] = 4e15
    model = OneClassSVM(tol=1e-4).fit(X, sample_weight=np.exp(2 * rng.normal(size=1248)) * 100)
    others = np.outer(np.geomspace(1e12, 1e15, 9), np.ones(5) / np.sqrt(5))
    values = np.exp(-model.gamma_ * cdist(others, model.support_vectors_, "sqeuclidean"))
    expected = values @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(others), expected, rtol=1e-12, atol=1e-4)


def test_classes_too_far_apart_for_float64_are_arranged_too():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[3] = 1e200
    with pytest.raises(ValueError, match="kernel="):
        SVC(kernel="poly", degree=9, multiclass="tree").fit(X, np.arange(40) % 5)


def judged_violation(problem, product, beta):
    g = product + problem.ridge * beta + problem.linear
    return max(float((-g)[beta < problem.upper].max(initial=0.0)), float(g[beta > problem.lower].max(initial=0.0)))


def test_errors_of_kernel_values_are_part_of_what_is_certified():
    """The violation that there may be with them is what the tolerance is about."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        X, y = 1e-3 * random.normal(size=(1600, 4)), np.where(random.random(1600) < 0.5, -1.0, 1.0)
        gram = Gram(Callable(lambda A, B: 1 + A @ B.T), X, dtype=np.float32)
        problem = problems.squared_hinge(y, 43.0, bias="none")
        solution = solve(problem, gram, tol=1e-3)
        at, true = solution.certificate, judged_violation(problem, gram.kernel(X) @ solution.coef, solution.beta)
        assert solution.converged
        assert true <= at.kkt_violation + 2 * at.rounding <= 1.3e-3


def test_a_second_solve_does_not_lose_the_first():
    """A QP solver cannot start from what was reached, and has no more iterations left."""
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 2))
    y = np.where(X[:, 0] + 1.5 * random.normal(size=120) < 0, -1.0, 1.0)
    problem = problems.hinge(y, 1e5)
    for share in (0.16, 0.25, 0.31, 0.4, 0.46, 0.49):
        gram = Gram(Callable(Gaussian(gamma=0.3)), X, dtype=np.float64)
        tol = solve(problem, gram, "qp", tol=1e-4).certificate.rounding / share
        first = QP().solve(problem, gram, start=None, stop=Stop(tol=tol, max_iter=-1), watch=Watch())
        assert first.status is Status.CONVERGED
        for more in (0, 1, 5):
            solution = solve(problem, gram, "qp", tol=tol, max_iter=first.n_iter + more)
            assert solution.certificate.kkt_violation <= tol


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential"])
def test_norms_that_overflow_do_not_spoil_what_differences_know(kernel):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[:3] *= 1e154
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVC(kernel=kernel, gamma=0.5).fit(X, np.arange(60) % 2)
    assert model.solutions_[0].certificate.rounding < 1e-9


def test_a_few_rows_among_many_may_be_what_is_not_convex():
    """All values are 1 but for one row's with some others, which no diagonal tells."""
    for row in (3, 500, 1100):
        K = np.ones((1163, 1163))
        K[row, 40:1000:32] = K[40:1000:32, row] = -1.0
        y = np.where(np.arange(1163) % 2, 1.0, -1.0)
        gram = Gram(Precomputed(), K, dtype=np.float64)
        beta = np.where(np.arange(1163) < 2, y, 0.0)
        assert np.isnan(certificate(problems.hinge(y, 87.0), gram, beta).gap)
