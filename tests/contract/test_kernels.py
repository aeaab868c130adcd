"""The contract of every kernel: one suite, each kernel a parameter."""

import copy
import pickle
from functools import reduce

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from adatron.kernels import (
    Callable,
    Constant,
    Exponential,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    mercer,
    resolve_kernel,
)

PRIMITIVES = [
    Linear(),
    Polynomial(),
    Polynomial(degree=2, gamma=0.3, coef0=0.0),
    Polynomial(degree=0),
    Gaussian(1.5),
    Gaussian(gamma=0.2),
    Gaussian(gamma=0.0),
    Exponential(0.7),
    Laplacian(0.4),
    Sigmoid(gamma=0.1, coef0=-0.2),
    Constant(2.5),
]
COMPOSITES = [
    Gaussian(0.5) + Linear(),
    2.0 * Gaussian(1.0) * Polynomial(2) + 0.5,
    (Linear() + 1.0) * (Linear() + Exponential(1.0)) * 3.0,
    0.5 + Gaussian(1.0) + Constant(0.25) * Constant(2.0),
]
UNRESOLVED = [
    Gaussian(),
    Gaussian(gamma="auto"),
    Polynomial(gamma="scale"),
    Sigmoid(gamma="auto"),
    Laplacian(gamma="scale"),
    Exponential(a="scale"),
    Gaussian() + 2.0 * Polynomial(gamma="auto"),
]
NUMERIC = PRIMITIVES + COMPOSITES
EVERY = [*NUMERIC, *UNRESOLVED, Precomputed()]


@pytest.fixture
def X():
    rows = np.random.default_rng(0).normal(size=(25, 4))
    rows[np.abs(rows) < 0.6] = 0.0
    rows[7] = rows[3]
    return rows


@pytest.fixture
def Y():
    return np.random.default_rng(1).normal(size=(9, 4))


@pytest.mark.parametrize("kernel", NUMERIC, ids=repr)
def test_matrix_is_symmetric_float64_with_the_diagonal_it_says(kernel, X):
    K = kernel(X)
    assert K.dtype == np.float64
    assert K.shape == (25, 25)
    np.testing.assert_allclose(K, K.T, rtol=1e-14, atol=0)
    np.testing.assert_allclose(kernel.diag(X), K.diagonal(), rtol=1e-13)
    assert kernel.diag(X).shape == (25,)


@pytest.mark.parametrize("kernel", [k for k in NUMERIC if not isinstance(k, Sigmoid)], ids=repr)
def test_mercer_holds_where_promised(kernel, X):
    report = mercer(kernel(X))
    assert report.is_psd, str(report)
    assert "is positive semidefinite" in str(report)


def test_mercer_tells_what_fails():
    report = mercer([[1.0, 2.0], [2.0, 1.0]])
    assert not report.is_psd
    assert (report.smallest, report.largest) == pytest.approx((-1.0, 3.0))
    assert "is NOT" in str(report)
    assert mercer([[1.0, 2.0], [2.0, 1.0]], tol=0.5).is_psd
    skewed = mercer([[1.0, 0.5], [0.0, 1.0]])
    assert not skewed.is_psd
    assert skewed.asymmetry == 0.5
    assert not mercer(Sigmoid(gamma=1.0, coef0=-1.0)(np.eye(3))).is_psd


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (Linear(), pairwise.linear_kernel),
        (
            Polynomial(3, 0.5, 2.0),
            lambda X, Y: pairwise.polynomial_kernel(X, Y, degree=3, gamma=0.5, coef0=2.0),
        ),
        (Gaussian(gamma=0.3), lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.3)),
        (Gaussian(sigma=1.7), lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=1 / (2 * 1.7**2))),
        (Exponential(0.6), lambda X, Y: np.exp(-0.6 * pairwise.euclidean_distances(X, Y))),
        (Laplacian(0.6), lambda X, Y: pairwise.laplacian_kernel(X, Y, gamma=0.6)),
        (Sigmoid(0.2, 0.1), lambda X, Y: pairwise.sigmoid_kernel(X, Y, gamma=0.2, coef0=0.1)),
        (Constant(3.0), lambda X, Y: np.full((len(X), len(Y)), 3.0)),
        (2.0 * Linear() + 1.0, lambda X, Y: 2 * X @ Y.T + 1),
        (Linear() * Linear(), lambda X, Y: (X @ Y.T) ** 2),
    ],
    ids=lambda value: repr(value) if isinstance(value, Kernel) else "",
)
def test_values_are_those_of_scikit_learn(kernel, reference, X, Y):
    np.testing.assert_allclose(kernel(X, Y), reference(X, Y), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(Callable(reference)(X, Y), reference(X, Y))
    np.testing.assert_allclose(Callable(reference).diag(X), kernel.diag(X), rtol=1e-12, atol=1e-7)


@pytest.mark.parametrize("kernel", NUMERIC, ids=repr)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_is_dense(kernel, kind, X, Y):
    # A duplicate row's distance is only zero to rounding here, and Exponential takes its root.
    close = {"rtol": 1e-12, "atol": 1e-6 if "Exponential" in repr(kernel) else 1e-12}
    np.testing.assert_allclose(kernel(kind(X)), kernel(X), **close)
    np.testing.assert_allclose(kernel(kind(X), kind(Y)), kernel(X, Y), **close)
    np.testing.assert_allclose(kernel(kind(X), Y), kernel(X, Y), **close)
    np.testing.assert_allclose(kernel(X, kind(Y)), kernel(X, Y), **close)
    np.testing.assert_allclose(kernel.diag(kind(X)), kernel.diag(X), rtol=1e-13)
    np.testing.assert_allclose(kernel(kind(X)).diagonal(), kernel.diag(X), rtol=1e-13)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Exponential(1.0), Laplacian(1.0)], ids=repr)
def test_sparse_rows_far_from_the_origin_are_at_no_distance_from_themselves(kernel, X):
    np.testing.assert_allclose(kernel(sparse.csr_array(X + 1e3)).diagonal(), 1.0, rtol=1e-11)


@pytest.mark.parametrize("kernel", UNRESOLVED, ids=repr)
def test_resolve_gives_numbers(kernel, X):
    with pytest.raises(ValueError, match=r"call resolve\(X\)"):
        kernel(X)
    resolved = kernel.resolve(X)
    assert resolved != kernel
    assert resolved.resolve(2 * X) is resolved or resolved.resolve(2 * X) == resolved
    assert np.isfinite(resolved(X)).all()
    dense, of_sparse = resolved(X), kernel.resolve(sparse.csr_array(X))(X)
    np.testing.assert_allclose(dense, of_sparse, rtol=1e-10)


@pytest.mark.parametrize("rule", ["scale", "auto"])
@pytest.mark.parametrize("factor", [1.0, 5.0, 0.0])
def test_resolve_is_scikit_learns(rule, factor, X):
    X = factor * X
    theirs = SVC(gamma=rule).fit(X, np.arange(25) % 2)._gamma
    for kernel in (Gaussian(gamma=rule), Polynomial(gamma=rule), Sigmoid(gamma=rule)):
        assert kernel.resolve(X).gamma == pytest.approx(theirs, rel=1e-13)
    assert Laplacian(gamma=rule).resolve(X).gamma == pytest.approx(theirs, rel=1e-13)
    assert Exponential(a=rule).resolve(X).a == pytest.approx(theirs, rel=1e-13)


def test_gaussian_has_both_its_numbers():
    assert Gaussian(sigma=1.5).sigma == 1.5
    assert Gaussian(sigma=1.5).gamma == 1 / (2 * 1.5**2)
    assert Gaussian(gamma=2.0).sigma == 0.5
    assert Gaussian(gamma=0.0).sigma == np.inf
    by_sigma = Gaussian(1.193)
    by_gamma = Gaussian(gamma=by_sigma.gamma)
    assert by_gamma.sigma != by_sigma.sigma  # by one rounding, which must not matter
    assert by_gamma == by_sigma
    assert hash(by_gamma) == hash(by_sigma)
    assert Gaussian() == Gaussian(gamma="scale")
    assert Gaussian().sigma is None
    np.testing.assert_array_equal(Gaussian(sigma=1e-200)([[0.0], [1.0]]), np.eye(2))


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_kernels_are_values(kernel):
    namespace = {type(k).__name__: type(k) for k in [*PRIMITIVES, Precomputed()]}
    assert eval(repr(kernel), namespace) == kernel
    for twin in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert twin == kernel
        assert hash(twin) == hash(kernel)
    assert kernel != Gaussian(sigma=123.0)
    with pytest.raises(AttributeError):
        kernel.gamma = 3.0
    assert len({kernel, copy.deepcopy(kernel), Gaussian(sigma=123.0)}) == 2


@pytest.mark.parametrize("kernel", NUMERIC, ids=repr)
def test_normal_form_has_the_same_values(kernel, X, Y):
    total = np.zeros((25, 9))
    for coefficient, factors in kernel.terms():
        assert not any(isinstance(factor, Constant) for factor in factors)
        total += reduce(np.multiply, (factor(X, Y) for factor in factors), coefficient)
    np.testing.assert_allclose(total, kernel(X, Y), rtol=1e-12, atol=1e-14)


def test_normal_form_is_normal():
    g, line = Gaussian(1.0), Linear()
    assert (Constant(2.0) * g).terms() == ((2.0, (g,)),)
    assert Constant(2.0).terms() == ((2.0, ()),)
    assert (g + g).terms() == ((2.0, (g,)),)
    assert dict((k, c) for c, k in ((1.0 + line) * (1.0 + line)).terms()) == {
        (): 1.0,
        (line,): 2.0,
        (line, line): 1.0,
    }
    assert (g * line).terms() == (line * g).terms()
    assert Precomputed().terms() == ((1.0, (Precomputed(),)),)
    of_python = Callable(pairwise.linear_kernel)
    for kernel in (of_python, 2.0 * of_python, g + of_python, g * (line + of_python)):
        assert kernel.terms() is None


def test_precomputed_is_the_matrix_itself(X, Y):
    K = Gaussian(1.0)(X)
    np.testing.assert_array_equal(Precomputed()(K), K)
    np.testing.assert_array_equal(Precomputed().diag(K), np.ones(25))
    across = Gaussian(1.0)(Y, X)
    np.testing.assert_allclose((Precomputed() + 2.0)(across), across + 2.0)
    with pytest.raises(ValueError, match="pass the matrix as X"):
        Precomputed()(K, K)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(degree=2, gamma=0.5, coef0=0.25)),
        ("rbf", Gaussian(gamma=0.5)),
        ("sigmoid", Sigmoid(gamma=0.5, coef0=0.25)),
        ("exponential", Exponential(a=0.5)),
        ("laplacian", Laplacian(gamma=0.5)),
        ("precomputed", Precomputed()),
        (Linear() + 1.0, Linear() + 1.0),
        (pairwise.linear_kernel, Callable(pairwise.linear_kernel)),
    ],
    ids=str,
)
def test_names_mean_kernels(name, kernel):
    assert resolve_kernel(name, degree=2, gamma=0.5, coef0=0.25) == kernel


ROWS = [[0.0, 1.0], [2.0, 3.0]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Gaussian(sigma=0.0), ValueError, r"sigma=0.0 .* greater than 0"),
        (lambda: Gaussian(sigma=-1), ValueError, r"sigma=-1 .* greater than 0"),
        (lambda: Gaussian(sigma=np.nan), ValueError, "sigma=nan .* finite number"),
        (lambda: Gaussian(sigma="wide"), TypeError, "sigma='wide' is a str: pass a finite"),
        (lambda: Gaussian(1.0, gamma=1.0), ValueError, "sigma=1.0 and gamma=1.0 .* one of them"),
        (lambda: Gaussian(gamma=-0.1), ValueError, "gamma=-0.1 .* at least 0"),
        (lambda: Gaussian(gamma="adapt"), ValueError, 'gamma=\'adapt\' .* "scale", "auto"'),
        (lambda: Gaussian(gamma=None).resolve([1.0]), ValueError, "X has shape .* matrix"),
        (lambda: Laplacian(gamma=np.inf), ValueError, "gamma=inf .* finite"),
        (lambda: Exponential(a=True), TypeError, "a=True is a bool"),
        (lambda: Polynomial(degree=2.5), TypeError, "degree=2.5 is a float: pass an integer"),
        (lambda: Polynomial(degree=-1), ValueError, "degree=-1 .* at least 0"),
        (lambda: Polynomial(coef0=np.nan), ValueError, "coef0=nan .* finite"),
        (lambda: Sigmoid(coef0="x"), TypeError, "coef0='x' is a str"),
        (lambda: Constant(-1.0), ValueError, "value=-1.0 .* at least 0"),
        (lambda: -1.0 * Linear(), ValueError, "value=-1.0 .* at least 0"),
        (lambda: Linear() + "1", TypeError, "unsupported operand"),
        (lambda: Callable(3), TypeError, "function=3 .* pass a function"),
        (
            lambda: Callable(lambda X, Y: X)(ROWS, ROWS[:1]),
            ValueError,
            r"\(2, 2\): return \(2, 1\)",
        ),
        (lambda: Callable(lambda X, Y: 1.0)(ROWS), ValueError, r"\(\): return \(2, 2\)"),
        (lambda: Linear()([[0.0, np.nan]]), ValueError, "X contains NaN .* impute"),
        (lambda: Linear()(sparse.csr_array([[np.inf]])), ValueError, "X contains NaN or inf"),
        (lambda: Linear()(ROWS, [[1.0]]), ValueError, "Y has 1 features: pass 2"),
        (lambda: Linear()([1.0, 2.0]), ValueError, r"X has shape \(2,\): pass a matrix"),
        (lambda: Linear()([["a"]]), ValueError, "X holds values that are not numbers"),
        (lambda: mercer([[1.0, 2.0]]), ValueError, r"K has shape \(1, 2\): pass a square"),
        (lambda: mercer(np.eye(2), tol=-1.0), ValueError, "tol=-1.0 .* at least 0"),
        (
            lambda: resolve_kernel("rfb"),
            ValueError,
            "kernel='rfb' is unknown: pass one of 'linear'",
        ),
        (lambda: resolve_kernel(None), TypeError, "kernel=None is unknown: pass one of 'linear'"),
        (lambda: resolve_kernel(Gaussian), TypeError, r"Gaussian is a class: .* Gaussian\(\)"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
