"""The classifier as its user meets it: answers, refusals, warnings, interrupts, time and memory."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score

from adatron import SVC
from adatron.kernels import Callable, Exponential, Gaussian, Laplacian, Linear, Polynomial, Precomputed

PATIENCE = 600  # seconds before a process counts as hanging, on a busy machine too
NAMES = ["linear", "poly", "rbf", "sigmoid", "exponential", "laplacian"]


def data(rows: int = 150, features: int = 4, noise: float = 0.4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) > 0.2)
    return X, np.where(X[:, 0] - X[:, 1] ** 2 + 0.5 + noise * rng.normal(size=rows) > 0, 1, -1)


X, Y = data()
Z, _ = data(60, seed=1)
APART = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
FAR = X + 0.3 * APART[:, None] * np.array([1.0, 1.0, 0.0, 0.0])


def child(code: str, **options) -> subprocess.Popen[str]:
    """Another Python that runs this."""
    opened = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([sys.executable, "-u", "-c", code], **opened)


def told(code: str) -> str:
    """What another Python has to say."""
    process = child(code)
    out, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, error
    return out


# ---------------------------------------------------------------- what is learnt


def test_attributes_tell_one_story():
    machine = SVC(C=2.0, tol=1e-6).fit(X, Y)
    n = len(machine.support_)
    assert machine.support_.dtype == np.int32
    assert machine.dual_coef_.shape == (1, n)
    assert machine.n_support_.sum() == n
    assert machine.classes_.tolist() == [-1, 1]
    assert machine.shape_fit_ == X.shape
    assert machine.n_features_in_ == 4
    assert machine.fit_status_ == 0
    assert machine.converged_
    assert machine.stop_reason_ == "converged"
    assert machine.n_iter_.shape == (1,)
    assert 0 <= machine.duality_gap_ < 1e-5
    assert 0 <= machine.kkt_violation_ <= 1.001e-6
    assert np.abs(machine.dual_coef_).max() <= 2.0
    assert abs(machine.dual_coef_.sum()) < 1e-10
    np.testing.assert_array_equal(machine.support_vectors_, X[machine.support_])
    assert (np.sign(machine.dual_coef_[0]) == Y[machine.support_]).all()
    first = machine.n_support_[0]  # classes in turn, as scikit-learn orders them
    assert (Y[machine.support_[:first]] == -1).all()
    gamma = 1 / (4 * X.var())
    by_hand = machine.dual_coef_ @ Gaussian(gamma=gamma)(machine.support_vectors_, Z) + machine.intercept_
    np.testing.assert_allclose(machine.decision_function(Z), by_hand[0], rtol=1e-9, atol=1e-9)
    assert machine.solutions_[0].certificate.objective == machine.objective_
    assert len(machine.trace_) > 0
    np.testing.assert_array_equal(machine.predict(Z), np.where(machine.decision_function(Z) > 0, 1, -1))


def test_linear_machine_has_weights():
    machine = SVC(kernel="linear", tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(Z @ machine.coef_[0] + machine.intercept_, machine.decision_function(Z), rtol=1e-10)
    with pytest.raises(AttributeError, match=r"coef_ exists for kernel='linear' only; this kernel is 'rbf'"):
        _ = SVC().fit(X, Y).coef_


def test_fit_leaves_the_parameters_and_the_data_alone():
    weight = np.ones(150)
    given, labels, rows = {"C": 3, "gamma": 0.5, "tol": 1e-2}, Y.copy(), X.copy()
    machine = SVC(**given).fit(rows, labels, weight)
    for name, value in given.items():
        assert getattr(machine, name) is value
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(labels, Y)
    np.testing.assert_array_equal(weight, 1.0)


@pytest.mark.parametrize("kernel", NAMES)
def test_sparse_is_dense(kernel):
    dense = SVC(kernel=kernel, gamma=0.3, tol=1e-7).fit(X, Y)
    thin = SVC(kernel=kernel, gamma=0.3, tol=1e-7).fit(sparse.csr_matrix(X), Y)
    assert sparse.issparse(thin.support_vectors_)
    expected = dense.decision_function(Z)
    close = {"rtol": 0, "atol": 1e-5 * np.abs(expected).max()}
    if kernel == "sigmoid":  # more than one stationary point: the machines may differ, their values not
        expected = thin.decision_function(sparse.csr_array(Z))
    for rows in (sparse.csr_array(Z), sparse.csc_matrix(Z), sparse.coo_array(Z)):
        np.testing.assert_allclose(thin.decision_function(rows), expected, **close)


@pytest.mark.parametrize("kernel", NAMES)
def test_sparse_and_dense_meet(kernel):
    """Trained on one, asked about the other; in a process of its own, for it may not live through it."""
    out = told(f"""
import numpy as np
from scipy import sparse
from adatron import SVC
X, Z = np.random.default_rng(0).normal(size=(2, 60, 4))
y = np.where(X[:, 0] > 0, 1, -1)
for kind, other in ((np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)):
    machine = SVC(kernel={kernel!r}).fit(kind(X), y)
    print(np.abs(machine.decision_function(other(Z)) - machine.decision_function(kind(Z))).max())
""")
    assert max(map(float, out.split())) < 1e-6


def test_sparse_indices_of_any_width_and_order():
    rows = sparse.csr_array(X)
    wide = rows.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    shuffled = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=rows.shape)
    for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        shuffled.data[begin:end] = rows.data[begin:end][::-1]
        shuffled.indices[begin:end] = rows.indices[begin:end][::-1]
    shuffled.has_sorted_indices = False
    expected = SVC().fit(X, Y).decision_function(Z)
    for given in (wide, shuffled):
        try:
            values = SVC().fit(given, Y).decision_function(sparse.csr_array(Z))
        except ValueError as refusal:  # scikit-learn's answer to wide indices, in its own words
            assert given is wide, refusal  # noqa: PT017
        else:
            np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kernel", NAMES[:3])
def test_float32_in_and_out(kernel):
    single, double = (SVC(kernel=kernel, tol=1e-6).fit(X.astype(dtype), Y) for dtype in (np.float32, np.float64))
    assert single.support_vectors_.dtype == np.float32
    expected = double.decision_function(Z)
    close = {"rtol": 0, "atol": 1e-4 * np.abs(expected).max()}
    for machine in (single, double):
        for dtype in (np.float32, np.float64):
            values = machine.decision_function(Z.astype(dtype))
            assert values.dtype == np.float64
            np.testing.assert_allclose(values, expected, **close)


@pytest.mark.parametrize("rows", [150, 1500])  # values in float64, and in float32
def test_predict_of_one_row_and_of_many(rows):
    machine = SVC().fit(*data(rows))
    values = machine.decision_function(Z)
    np.testing.assert_allclose([machine.decision_function(z[None])[0] for z in Z], values, rtol=0, atol=1e-5)
    many = np.tile(Z, (40, 1))
    np.testing.assert_allclose(machine.decision_function(many), np.tile(values, 40), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "labels",
    [
        ("no", "yes"),
        (False, True),
        (-7, -3),
        (0, 1),
        (2.0, 5.0),
        (np.int8(-1), np.int8(1)),
    ],
    ids=str,
)
def test_labels_of_any_sort(labels):
    expected = SVC().fit(X, Y)
    y = np.array(labels)[(Y > 0).astype(int)]
    machine = SVC().fit(X, y)
    np.testing.assert_array_equal(machine.decision_function(Z), expected.decision_function(Z))
    assert machine.classes_.tolist() == list(labels)
    answer = machine.predict(Z)
    assert answer.dtype == y.dtype
    np.testing.assert_array_equal(answer, np.array(labels)[(expected.predict(Z) > 0).astype(int)])
    assert SVC().fit(X.tolist(), y.tolist()).score(X, y) == machine.score(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("bias", ["exact", "augmented", "none"])
def test_weights_mean_repetition(loss, bias):
    times = np.random.default_rng(2).integers(0, 4, len(Y))
    parameters = {"loss": loss, "bias": bias, "gamma": 0.5, "tol": 1e-8}
    weighted = SVC(**parameters).fit(X, Y, sample_weight=times)
    repeated = SVC(**parameters).fit(np.repeat(X, times, axis=0), np.repeat(Y, times))
    np.testing.assert_allclose(weighted.decision_function(Z), repeated.decision_function(Z), rtol=0, atol=1e-6)
    assert not np.isin(np.flatnonzero(times == 0), weighted.support_).any()
    by_class = SVC(class_weight={1: 3.0, -1: 0.5}, **parameters).fit(X, Y)
    by_row = SVC(**parameters).fit(X, Y, sample_weight=np.where(Y > 0, 3.0, 0.5))
    np.testing.assert_allclose(by_class.decision_function(Z), by_row.decision_function(Z), rtol=0, atol=1e-6)
    everywhere = SVC(C=2.0, **parameters).fit(X, Y)
    np.testing.assert_allclose(
        SVC(**parameters).fit(X, Y, sample_weight=2.0).decision_function(Z),
        everywhere.decision_function(Z),
        rtol=0,
        atol=1e-6,
    )


def test_kernels_by_name_object_and_function():
    for name, kernel in (("linear", Linear()), ("rbf", Gaussian(gamma=0.3)), ("laplacian", Laplacian(0.3))):
        expected = SVC(kernel=name, gamma=0.3, tol=1e-7).fit(X, Y).decision_function(Z)
        for same in (kernel, kernel.__call__, Callable(kernel)):
            machine = SVC(kernel=same, tol=1e-7).fit(X, Y)
            np.testing.assert_allclose(machine.decision_function(Z), expected, rtol=0, atol=1e-5)
    for given in ("precomputed", Precomputed()):
        machine = SVC(kernel=given, tol=1e-7).fit(Linear()(X), Y)
        expected = SVC(kernel="linear", tol=1e-7).fit(X, Y).decision_function(Z)
        np.testing.assert_allclose(machine.decision_function(Linear()(Z, X)), expected, rtol=0, atol=1e-5)
        assert machine.support_vectors_.shape == (0, 0)
    mixture = 0.5 * Gaussian(1.0) + Polynomial(2, 0.1) * Exponential(0.2) + 1.0
    expected = SVC(kernel=Callable(mixture), tol=1e-7).fit(X, Y).decision_function(Z)
    machine = SVC(kernel=mixture, tol=1e-7).fit(X, Y)
    np.testing.assert_allclose(machine.decision_function(Z), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", Callable(Gaussian(1.0))], ids=str)
def test_augmented_bias_is_a_constant_in_the_kernel(kernel):
    rows, asked = (Gaussian(1.0)(X), Gaussian(1.0)(Z, X)) if kernel == "precomputed" else (X, Z)
    machine = SVC(kernel=kernel, gamma=0.5, bias="augmented", augment=2.0, tol=1e-8).fit(rows, Y)
    by_hand = SVC(kernel=Gaussian(1.0) + 4.0, bias="none", tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(machine.decision_function(asked), by_hand.decision_function(Z), rtol=0, atol=1e-6)
    assert by_hand.intercept_ == 0.0
    assert machine.intercept_ == pytest.approx(4.0 * machine.dual_coef_.sum())


def test_hard_margin():
    machine = SVC(C=np.inf, kernel="linear", tol=1e-6).fit(FAR, APART)
    margins = APART * machine.decision_function(FAR)
    assert margins.min() == pytest.approx(1.0, abs=1e-4)
    assert machine.score(FAR, APART) == 1.0
    assert machine.converged_
    large = SVC(C=1e6, kernel="linear", tol=1e-6).fit(FAR, APART)
    np.testing.assert_allclose(machine.decision_function(Z), large.decision_function(Z), rtol=0, atol=1e-3)


@pytest.mark.parametrize("rows", [150, 1200])
def test_hard_margin_of_inseparable_classes_is_told(rows):
    X, y = data(rows, noise=2.0)
    with pytest.warns(ConvergenceWarning, match=r"did not converge .*the constraints cannot all be met"):
        machine = SVC(C=np.inf, kernel="linear").fit(X, y)
    assert machine.stop_reason_ in ("unbounded", "stalled")
    assert machine.fit_status_ == 1
    assert not machine.converged_
    assert machine.duality_gap_ == np.inf
    assert np.isfinite(machine.decision_function(Z)).all()
    assert repr(machine).endswith(f"# {machine.stop_reason_}")


# ---------------------------------------------------------------- as scikit-learn expects


def test_clone_and_pickle():
    machine = SVC(C=3.0, kernel=Gaussian(1.5) + 0.5, class_weight={1: 2.0, -1: 1.0}, max_time=5.0)
    twin = clone(machine)
    assert repr(twin.get_params()) == repr(machine.get_params())
    with pytest.raises(NotFittedError):
        twin.predict(Z)
    machine.fit(X, Y)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.decision_function(Z), machine.decision_function(Z))
    assert again.objective_ == machine.objective_
    assert not hasattr(clone(machine), "support_")
    assert cross_val_score(machine, X, Y, cv=3).min() > 0.6
    machine.set_params(C=0.1).fit(X[:100], Y[:100])
    assert machine.shape_fit_ == (100, 4)


def test_fit_is_repeatable():
    values = [SVC(random_state=seed).fit(X, Y).decision_function(Z) for seed in (None, None, 3)]
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_allclose(values[0], values[2], rtol=0, atol=5e-3)
    SVC(random_state=np.random.RandomState(0)).fit(X, Y)


def test_verbose_tells_a_line_a_second(capsys, monkeypatch):
    monkeypatch.setattr("adatron.estimators._report.VERBOSE_SECONDS", 0.0)
    SVC(verbose=True).fit(X, Y)
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith("[SVC] ")
    assert "steps, gap " in line


# ---------------------------------------------------------------- what is refused


def refused(parameters: dict | None = None, rows=X, labels=Y, weight=None) -> object:
    return lambda: SVC(**(parameters or {})).fit(rows, labels, sample_weight=weight)


def with_entry(value: float) -> np.ndarray:
    rows = X.copy()
    rows[3, 1] = value
    return rows


PARAMETERS = [
    ({"C": -1.0}, ValueError, "C=-1.0 .* greater than 0"),
    ({"C": 0}, ValueError, "C=0 .* greater than 0"),
    ({"C": np.nan}, ValueError, "C=nan .* greater than 0"),
    ({"C": "1"}, TypeError, "C='1' is a str: pass a number"),
    ({"C": True}, TypeError, "C=True is a bool: pass a number"),
    ({"kernel": "rfb"}, ValueError, "kernel='rfb' .* one of 'linear', 'poly', 'rbf'"),
    ({"kernel": None}, TypeError, "kernel=None .* one of 'linear'"),
    ({"kernel": Gaussian}, TypeError, r"kernel=Gaussian is a class: pass an object, Gaussian\(\)"),
    ({"degree": -1, "kernel": "poly"}, ValueError, "degree=-1 .* at least 0"),
    ({"degree": 2.5, "kernel": "poly"}, TypeError, "degree=2.5 is a float: pass an integer"),
    ({"gamma": -1.0}, ValueError, "gamma=-1.0 .* at least 0"),
    ({"gamma": "wide"}, ValueError, 'gamma=\'wide\' .* "scale", "auto" or a number'),
    ({"coef0": np.inf, "kernel": "poly"}, ValueError, "coef0=inf .* finite"),
    ({"loss": "hinge2"}, ValueError, "loss='hinge2' .* 'hinge', 'squared_hinge'"),
    ({"solver": "smo2"}, ValueError, "solver='smo2' .* 'decomposition'"),
    ({"bias": "exactly"}, ValueError, "bias='exactly' .* 'exact', 'augmented', 'none'"),
    ({"augment": 0.0}, ValueError, "augment=0.0 .* greater than 0"),
    ({"tol": 0.0}, ValueError, "tol=0.0 .* greater than 0"),
    ({"tol": -1e-3}, ValueError, "tol=-0.001 .* greater than 0"),
    ({"cache_size": 0}, ValueError, "cache_size=0 .* greater than 0"),
    ({"cache_size": -5}, ValueError, "cache_size=-5 .* greater than 0"),
    ({"max_iter": -2}, ValueError, "max_iter=-2 .* at least -1"),
    ({"max_iter": 10.0}, TypeError, "max_iter=10.0 is a float: pass an integer"),
    ({"max_time": 0}, ValueError, "max_time=0 .* greater than 0"),
    ({"max_time": "1 s"}, TypeError, "max_time='1 s' is a str: pass a number"),
    ({"n_jobs": 0}, ValueError, "n_jobs=0 .* -1 for all cores, or a number from 1"),
    ({"n_jobs": 1.5}, TypeError, "n_jobs=1.5 is a float: pass an integer"),
    ({"class_weight": {1: -1.0, -1: 1.0}}, ValueError, "class_weight=.* negative: pass weights of at least 0"),
    ({"class_weight": {1: 0.0, -1: 1.0}}, ValueError, r"one class, \[-1\], in the rows of positive weight: pass rows"),
    ({"kernel": lambda A, B: np.ones((3, 3))}, ValueError, r"returned shape \(3, 3\): return \(150, 150\)"),
    ({"kernel": lambda A, B: np.ones(len(A))}, ValueError, r"returned shape \(150,\): return \(150, 150\)"),
    ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, ValueError, "NaN or infinity"),
    ({"kernel": "precomputed"}, ValueError, r"X has shape \(150, 4\) .* square matrix"),
    ({"kernel": Precomputed()}, ValueError, r"X has shape \(150, 4\) .* square matrix"),
]
INPUT = [
    (refused(rows=with_entry(np.nan)), ValueError, "X contains NaN"),
    (refused(rows=with_entry(np.inf)), ValueError, "X contains infinity"),
    (refused(rows=sparse.csr_array(with_entry(np.nan))), ValueError, "X contains NaN"),
    (refused(rows=X[0]), ValueError, "Expected 2D array, got 1D array"),
    (refused(rows=X[:, :0]), ValueError, r"0 feature\(s\).* minimum of 1 is required"),
    (refused(rows=X[:10]), ValueError, "inconsistent numbers of samples: .*10, 150"),
    (refused(rows=[["a"] * 4] * 150), ValueError, "could not convert string to float"),
    (refused(labels=Y[:, None] * [1, 1]), ValueError, "y should be a 1d array"),
    (refused(labels=np.linspace(0, 1, 150)), ValueError, "Unknown label type: continuous"),
    (refused(labels=np.ones(150)), ValueError, r"y holds one class, \[1.0\]: pass rows of two classes"),
    (refused(labels=np.where(np.arange(150) == 5, np.nan, Y)), ValueError, "y contains NaN"),
    (refused(weight=-np.ones(150)), ValueError, "sample_weight .*-1.*: pass weights of at least 0"),
    (refused(weight=np.zeros(150)), ValueError, "sample_weight .*0.*: pass weights .*not only 0"),
    (refused(weight=np.ones(149)), ValueError, "sample_weight has 149 values: pass 150"),
    (refused(weight=np.ones((150, 2))), ValueError, r"sample_weight has shape \(150, 2\): pass a vector"),
    (refused(weight=np.full(150, np.nan)), ValueError, r"sample_weight\[0\] is NaN"),
    (refused(weight=np.full(150, np.inf)), ValueError, r"sample_weight\[0\]=inf is infinite"),
    (refused(weight=["a"] * 150), ValueError, "sample_weight holds values that are not numbers"),
    (refused(weight=(Y > 0) * 1.0), ValueError, r"y holds one class, \[1\], in the rows of positive weight: pass rows"),
    (refused({"kernel": "precomputed"}, rows=sparse.csr_array(X @ X.T)), TypeError, "[Ss]parse .*dense"),
    (lambda: Gaussian(sigma=0.0), ValueError, "sigma=0.0 .* greater than 0"),
    (lambda: Gaussian(sigma=-1.0), ValueError, "sigma=-1.0 .* greater than 0"),
    (lambda: SVC().fit(X, Y).predict(X[:, :3]), ValueError, "X has 3 features, but SVC is expecting 4"),
    (lambda: SVC().fit(X, Y).predict(with_entry(np.nan)), ValueError, "X contains NaN"),
    (lambda: SVC(kernel="precomputed").fit(X @ X.T, Y).predict(X), ValueError, "X has 4 features, .* expecting 150"),
    (lambda: SVC().predict(X), NotFittedError, "not fitted yet"),
]


@pytest.mark.parametrize(("parameters", "error", "message"), PARAMETERS)
def test_bad_parameters_are_answered_in_one_sentence(parameters, error, message):
    with pytest.raises(error, match=message) as caught:
        SVC(**parameters).fit(X, Y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("call", "error", "message"), INPUT)
def test_bad_input_is_answered(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_refusal_leaves_no_machine():
    machine = SVC(C=-1.0)
    with pytest.raises(ValueError, match=r"C=-1\.0"):
        machine.fit(X, Y)
    with pytest.raises(NotFittedError):
        machine.predict(Z)


# ---------------------------------------------------------------- warnings


def test_convergence_warning_names_the_gap():
    with pytest.warns(ConvergenceWarning) as caught:
        machine = SVC(max_iter=10).fit(X, Y)
    text = str(caught[0].message)
    assert text.startswith("SVC did not converge (relative duality gap ")
    assert f"relative duality gap {machine.duality_gap_:.2e}" in text
    assert f"KKT violation {machine.kkt_violation_:.2e}" in text
    assert "tol=0.001" in text
    assert "max_iter" in text
    assert caught[0].filename == __file__
    assert machine.stop_reason_ == "max_iter"
    assert machine.n_iter_ == [10]
    assert machine.fit_status_ == 1
    assert "# max_iter" in repr(machine)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "#" not in repr(machine.set_params(max_iter=-1).fit(X, Y))


def test_no_iterations_leave_a_machine_that_answers():
    with pytest.warns(ConvergenceWarning):
        machine = SVC(max_iter=0).fit(X, Y)
    assert len(machine.support_) == 0
    assert machine.dual_coef_.shape == (1, 0)
    assert machine.predict(Z).shape == (60,)
    for kernel in ("linear", Callable(Gaussian(1.0))):
        with pytest.warns(ConvergenceWarning):
            assert SVC(kernel=kernel, max_iter=0).fit(X, Y).predict(Z).shape == (60,)


# ---------------------------------------------------------------- time, interrupts, memory


def test_max_time_is_kept_on_large_data():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((60_000, 300), dtype=np.float32)
    labels = rng.integers(0, 2, 60_000)
    machine = SVC(max_time=1.0, cache_size=500, n_jobs=1)
    begin = time.process_time()  # a busy machine gives less of it than the clock has, never more
    with pytest.warns(ConvergenceWarning, match="used up its time"):
        machine.fit(rows, labels)
    assert time.process_time() - begin < 3
    assert machine.stop_reason_ == "max_time"
    assert set(machine.predict(rows[:100])) <= {0, 1}
    assert np.isfinite(machine.decision_function(rows[:100])).all()


# Ctrl-C comes when two seconds of CPU time have gone into the fit: at its middle, however busy the machine.
LONG_FIT = """
import numpy as np, os, signal, threading, time
from adatron import SVC
rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 60), dtype=np.float32)
y = rng.integers(0, 2, 20_000)
machine = SVC(C=1e3, gamma=0.05, cache_size=200, n_jobs=2)
def press():
    begin = time.process_time()
    while time.process_time() - begin < 2: time.sleep(0.01)
    print(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
"""


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_leaves_a_machine():
    code = (
        LONG_FIT
        + """
try:
    machine.fit(X, y)
except KeyboardInterrupt as interrupt:
    print(time.process_time())
    print(interrupt)
    assert machine.stop_reason_ == "interrupted" and not machine.converged_
    assert len(machine.support_) > 0
    assert np.isfinite(machine.decision_function(X[:50])).all()
    print(sorted(set(machine.predict(X[:500]).tolist())))
"""
    )
    sent, answered, said, classes = told(code).splitlines()
    assert float(answered) - float(sent) < 4  # two threads for two seconds
    assert "keeps the best machine" in said
    assert classes in ("[0, 1]", "[0]", "[1]")


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_ends_the_program():
    process = child(LONG_FIT + "machine.fit(X, y)")
    _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode in (-signal.SIGINT, 130)
    assert "KeyboardInterrupt" in error.splitlines()[-1]


MEMORY = """
import numpy as np
from adatron import SVC, kernels
def read(name): return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) / 1e3
def squared_norms(A): return (A**2).sum(axis=1)
def function(A, B): return np.exp(-0.01 * (squared_norms(A)[:, None] + squared_norms(B) - 2 * A @ B.T))
rng = np.random.default_rng(0)
X = rng.normal(size=({rows}, {features}))
y = np.where(X[:, 0] + rng.normal(size={rows}) > 0, 1, -1)
machine = SVC(kernel={kernel}, gamma=0.01, C=0.1, cache_size={cache})
machine.fit(X[:300], y[:300]).predict(X[:100])
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
before = read("VmRSS")
machine.fit(X, y)
print(read("VmHWM") - before, machine.converged_, len(machine.support_))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for its memory")
@pytest.mark.skipif("ADATRON_SANITIZE" in os.environ, reason="sanitizers have memory of their own")
@pytest.mark.parametrize(
    "kernel",
    [
        "'rbf'",
        "'linear'",
        "function",
    ],
)
def test_memory_stays_within_the_cache(kernel):
    rows, features, cache = 8000, 100, 40  # the whole matrix would take 256 MB
    out = told(MEMORY.format(kernel=kernel, rows=rows, features=features, cache=cache))
    grown, converged, support = out.split()
    data_size, packed = rows * features * 8 / 1e6, rows * features * 4 / 1e6
    model = int(support) * features * 8 / 1e6  # support_vectors_; passing copies of X are as large as the data
    print(f"{kernel}: {float(grown):.0f} MB more, {support} support vectors")
    assert converged == "True"
    assert int(support) * rows * 4 / 1e6 > 2 * cache  # there was more to keep than was allowed
    assert float(grown) < data_size + packed + model + 1.2 * cache


def test_a_small_cache_changes_nothing():
    rows, labels = data(1500, noise=1.0)
    large, small = (SVC(C=5.0, cache_size=size).fit(rows, labels) for size in (200, 0.01))
    np.testing.assert_allclose(small.decision_function(Z), large.decision_function(Z), rtol=0, atol=5e-3)
    assert small.converged_
    assert small.objective_ == pytest.approx(large.objective_, rel=1e-5)
