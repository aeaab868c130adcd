"""The estimators inside scikit-learn's machinery, and what they promise across fits, threads, rows and classes."""

from __future__ import annotations

import inspect
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from itertools import pairwise

import joblib
import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adatron import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from adatron.multiclass import OneVsOne, OneVsRest, Tree
from adatron.solvers import SOLVERS

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM]
SCHEMES = ["ovo", "ovr", "tree"]
WANTS = {"svmseq": {"bias": "none"}, "sor": {"bias": "augmented"}, "nearest-point": {"loss": "squared_hinge"}}
SAME = {"rtol": 0, "atol": 1e-9}

every_machine = pytest.mark.parametrize("Machine", MACHINES, ids=lambda machine: machine.__name__)
every_scheme = pytest.mark.parametrize("multiclass", SCHEMES)


def data(classes: int = 3, rows: int = 90, noise: float = 0.7, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows around as many centres as there are classes."""
    random = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    centres = 2.0 * random.normal(size=(classes, 4))
    return centres[y] + noise * 2 * random.normal(size=(rows, 4)), y


X, Y = data()
Z, _ = data(seed=1)
T = np.sin(X[:, 0]) + 0.3 * X[:, 1]
BINARY = (Y > 0).astype(int)


def values(machine, rows=Z) -> np.ndarray:
    return machine.predict(rows) if isinstance(machine, SVR | NuSVR) else machine.decision_function(rows)


def fitted(machine, rows=X, classes=Y, targets=T, **options):
    """A fit, with whatever the machine learns from."""
    if isinstance(machine, OneClassSVM):
        return machine.fit(rows, **options)
    return machine.fit(rows, targets if isinstance(machine, SVR | NuSVR) else classes, **options)


def gentle(Machine, **options):
    """A machine whose ν, if it has one, suits the data."""
    return Machine(nu=0.3, **options) if "nu" in inspect.signature(Machine).parameters else Machine(**options)


def iterations(machine) -> int:
    return int(np.sum(machine.n_iter_))


# ---------------------------------------------------------------- inside others


def test_grid_search_over_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(pipeline, {"svc__C": [1e-3, 1.0], "svc__kernel": ["rbf", "linear"]}, cv=3).fit(X, Y)
    assert search.best_params_["svc__C"] == 1.0
    assert search.best_score_ > 0.7
    np.testing.assert_array_equal(search.predict(Z), search.best_estimator_.predict(Z))


@every_machine
def test_cross_validation(Machine):
    machine = gentle(Machine)
    if Machine is OneClassSVM:
        assert cross_val_predict(machine, X, cv=3).shape == (90,)
    else:
        assert cross_val_score(machine, X, T if Machine in (SVR, NuSVR) else Y, cv=3, error_score="raise").min() > 0.2


def test_precomputed_kernels_are_cut_both_ways():
    K = X @ X.T
    scores = [
        cross_val_score(SVC(kernel=kernel), rows, Y, cv=3) for kernel, rows in (("precomputed", K), ("linear", X))
    ]
    np.testing.assert_array_equal(*scores)


def test_stacking():
    parts = [("ovo", SVC()), ("tree", SVC(multiclass="tree", kernel="linear")), ("nu", NuSVC(nu=0.3))]
    stack = StackingClassifier(parts, LogisticRegression(), cv=3).fit(X, Y)
    assert stack.score(X, Y) > 0.8
    assert stack.transform(Z).shape == (90, 9)


def test_bagging_in_other_processes():
    bags = [BaggingClassifier(SVC(), n_estimators=4, n_jobs=jobs, random_state=0).fit(X, Y) for jobs in (1, 2)]
    np.testing.assert_allclose(*(bag.decision_function(Z) for bag in bags), **SAME)
    assert bags[1].score(X, Y) > 0.8


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("labels", [BINARY, Y], ids=["two", "three"])
def test_calibrated_probabilities(method, ensemble, labels):
    machine = CalibratedClassifierCV(SVC(), method=method, ensemble=ensemble, cv=3).fit(X, labels)
    probabilities = machine.predict_proba(Z)
    assert probabilities.shape == (90, len(np.unique(labels)))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert probabilities.min() >= 0
    assert machine.score(X, labels) > 0.7


def test_permutation_importance():
    rows = np.hstack((X, np.zeros((90, 1))))
    result = permutation_importance(SVC().fit(rows, Y), rows, Y, n_repeats=3, random_state=0, n_jobs=2)
    assert result.importances_mean[4] == 0.0
    assert result.importances_mean[:4].max() > 0.05


@pytest.mark.parametrize("Machine", [SVC, NuSVC, SVR, NuSVR])
def test_weights_are_routed(Machine):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 90)
    y = T if Machine in (SVR, NuSVR) else Y
    with config_context(enable_metadata_routing=True):
        machine = gentle(Machine, tol=1e-7).set_fit_request(sample_weight=True)
        search = GridSearchCV(machine, {"gamma": [0.1]}, cv=2).fit(X, y, sample_weight=weight)
        again = gentle(Machine, tol=1e-7, gamma=0.1)
        np.testing.assert_allclose(values(search.best_estimator_), values(again.fit(X, y, weight)), **SAME)
        assert np.abs(values(again.fit(X, y)) - values(search.best_estimator_)).max() > 1e-3
        with pytest.raises(Exception, match="sample_weight"):
            GridSearchCV(gentle(Machine), {"gamma": [0.1]}).fit(X, y, sample_weight=weight)


# ---------------------------------------------------------------- parameters, persistence, kinds of data


@every_machine
def test_parameters_survive_clone_and_set(Machine):
    names = list(inspect.signature(Machine).parameters)
    machine = Machine()
    assert sorted(machine.get_params()) == sorted(names)
    marks = {name: object() for name in names}
    with pytest.raises(ValueError, match="Invalid parameter 'sigma'"):
        machine.set_params(sigma=1.0)
    machine.set_params(**marks)
    assert machine.get_params() == marks
    options = {"tol": 1e-2, "kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1, "n_jobs": 1, "cache_size": 10}
    first = gentle(Machine, **options)
    second = clone(first)
    assert second.get_params() == first.get_params()
    assert second is not first
    np.testing.assert_array_equal(values(fitted(first)), values(fitted(second)))
    assert not hasattr(clone(first), "support_")


@every_machine
def test_html(Machine):
    html = gentle(Machine, tol=0.5)._repr_html_()
    assert Machine.__name__ in html
    assert "0.5" in html
    assert Machine.__name__ in fitted(gentle(Machine))._repr_html_()


@every_machine
def test_iterations_are_counted_in_scikit_learns_types(Machine):
    machine = fitted(gentle(Machine))
    if Machine in (SVC, NuSVC):
        assert machine.n_iter_.shape == (3,)
        assert machine.n_iter_.dtype.kind == "i"
        assert machine.n_iter_.min() >= 1
    else:
        assert isinstance(machine.n_iter_, int)
        assert machine.n_iter_ >= 1


SHOW = """
import sys, joblib, numpy as np
machine, rows = joblib.load(sys.argv[1])
np.save(sys.argv[2], machine.decision_function(rows) if hasattr(machine, "decision_function") else machine.predict(rows))
"""


def test_machines_live_in_other_processes(tmp_path):
    machines = [fitted(gentle(Machine)) for Machine in MACHINES]
    machines.append(fitted(SVC(multiclass="tree", warm_start=True), rows=sparse.csr_array(X)))
    code = f"""
import sys, joblib
for k in range({len(machines)}):
    machine, rows = joblib.load(f"{tmp_path}/{{k}}")
    joblib.dump(machine.predict(rows) if hasattr(machine, "epsilon_") else machine, f"{tmp_path}/{{k}}.out")
    outputs = machine.decision_function(rows) if hasattr(machine, "decision_function") else machine.predict(rows)
    joblib.dump(outputs, f"{tmp_path}/{{k}}.out")
"""
    for k, machine in enumerate(machines):
        joblib.dump((machine, Z), tmp_path / str(k))
        again = pickle.loads(pickle.dumps(machine))
        np.testing.assert_array_equal(values(again), values(machine))
        assert repr(again) == repr(machine)
        assert again.kkt_violation_ == machine.kkt_violation_
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    for k, machine in enumerate(machines):
        np.testing.assert_allclose(joblib.load(tmp_path / f"{k}.out"), values(machine), **SAME)


@every_machine
def test_names_of_features(Machine):
    frame = pandas.DataFrame(X, columns=["height", "weight", "age", "shoe"])
    machine = fitted(gentle(Machine), rows=frame)
    assert machine.feature_names_in_.tolist() == list(frame)
    assert machine.n_features_in_ == 4
    asked = pandas.DataFrame(Z, columns=list(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = machine.predict(asked)
    np.testing.assert_array_equal(answer, fitted(gentle(Machine)).predict(Z))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but"):
        machine.predict(Z)
    with pytest.raises(ValueError, match="feature names should match"):
        machine.predict(asked.rename(columns={"shoe": "hat"}))
    assert not hasattr(fitted(machine), "feature_names_in_")


@every_machine
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, lambda rows: np.repeat(rows, 2, axis=1)[:, ::2]])
def test_rows_that_cannot_be_written(Machine, kind, tmp_path):
    expected = values(fitted(gentle(Machine)))
    joblib.dump(kind(X), tmp_path / "X")
    joblib.dump((Y, T), tmp_path / "y")
    mapped = joblib.load(tmp_path / "X", mmap_mode="r")
    fixed = kind(X).copy(order="K")
    targets = [Y.copy(), T.copy()]
    weight = np.ones(90)
    for array in (fixed, weight, *targets):
        array.setflags(write=False)
    for rows in (mapped, fixed):
        machine = fitted(gentle(Machine), rows, *targets)
        np.testing.assert_allclose(values(machine), expected, **SAME)
        np.testing.assert_allclose(values(fitted(machine, rows, *targets, sample_weight=weight)), expected, **SAME)
        np.testing.assert_allclose(values(machine, rows), values(machine, X), **SAME)
    thin = sparse.csr_array(X)
    for array in (thin.data, thin.indices, thin.indptr):
        array.setflags(write=False)
    np.testing.assert_allclose(values(fitted(gentle(Machine), thin, *targets)), expected, **SAME)


@every_machine
def test_single_precision_is_kept(Machine):
    for store in (np.asarray, sparse.csr_array):
        machine = fitted(gentle(Machine), store(X.astype(np.float32)))
        assert machine.support_vectors_.dtype == np.float32
        assert values(machine, store(Z.astype(np.float32))).dtype == np.float64
        np.testing.assert_allclose(values(machine), values(fitted(gentle(Machine))), atol=1e-4)
    assert fitted(gentle(Machine), X.astype(np.float16)).support_vectors_.dtype.kind == "f"
    assert fitted(gentle(Machine), (10 * X).astype(np.int32)).support_vectors_.dtype == np.float64


# ---------------------------------------------------------------- warm starts


@every_machine
def test_a_second_fit_needs_hardly_a_step(Machine):
    machine = fitted(gentle(Machine, warm_start=True, kernel="rbf", gamma=0.1))
    first, expected = iterations(machine), values(machine)
    fitted(machine)
    assert iterations(machine) <= max(3, first // 10)
    np.testing.assert_allclose(values(machine), expected, **SAME)


CHANGES = [{"gamma": 0.3}, {"C": 0.1}, {"C": 30.0}, {"kernel": "linear"}, {"nu": 0.15}, {"nu": 0.4}, {"epsilon": 0.3}]


@every_machine
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_warm_start_changes_the_way_only(Machine, change):
    if change.keys() - inspect.signature(Machine).parameters.keys():
        pytest.skip("no such parameter")
    options = {"kernel": "rbf", "gamma": 0.1, "tol": 1e-6}
    warm = fitted(gentle(Machine, warm_start=True, **options)).set_params(**change)
    cold = fitted(gentle(Machine, **options).set_params(**change))
    np.testing.assert_allclose(values(fitted(warm)), values(cold), rtol=0, atol=1e-6)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-9)


@every_machine
def test_other_rows_start_anew(Machine):
    for rows, classes, targets in ((X[:60], Y[:60], T[:60]), (X[::-1], Y[::-1], T[::-1]), (X + 1e-9, Y, T)):
        warm = fitted(fitted(gentle(Machine, warm_start=True)), rows, classes, targets)
        cold = fitted(gentle(Machine), rows, classes, targets)
        assert iterations(warm) == iterations(cold)
        np.testing.assert_array_equal(values(warm), values(cold))
    again = fitted(fitted(gentle(Machine, warm_start=True), X[:60], Y[:60], T[:60]))
    np.testing.assert_array_equal(values(again), values(fitted(gentle(Machine))))


@every_scheme
def test_warm_starts_of_many_machines(multiclass):
    machine = SVC(multiclass=multiclass, warm_start=True, gamma=0.1).fit(X, Y)
    first = iterations(machine)
    assert iterations(machine.fit(X, Y)) <= first // 10
    for other in SCHEMES:  # other machines altogether: nothing to start from, or something else
        warm = machine.set_params(multiclass=other, tol=1e-6).fit(X, Y)
        np.testing.assert_allclose(
            values(warm), values(SVC(multiclass=other, gamma=0.1, tol=1e-6).fit(X, Y)), rtol=0, atol=1e-6
        )


def test_warm_starts_where_weights_forbid_coefficients():
    machine = SVC(warm_start=True, gamma=0.1, tol=1e-7).fit(X, Y)
    weight = np.where(np.arange(90) % 5 == 0, 1e-3, 1.0)
    cold = SVC(gamma=0.1, tol=1e-7).fit(X, Y, weight)
    np.testing.assert_allclose(values(machine.fit(X, Y, weight)), values(cold), **SAME)
    none = np.where(np.arange(90) % 5 == 0, 0.0, 1.0)
    cold = SVC(gamma=0.1, tol=1e-7).fit(X, Y, none)
    np.testing.assert_allclose(values(machine.fit(X, Y, none)), values(cold), **SAME)


# ---------------------------------------------------------------- fits that end early


def hard(classes: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with nothing to be learnt from, at any price."""
    random = np.random.default_rng(0)
    return random.standard_normal((rows, 20)), random.integers(0, classes, rows)


def check_usable(machine, rows, reason: str) -> None:
    assert machine.stop_reason_ == reason
    assert not machine.converged_
    assert machine.fit_status_ == 1
    assert np.isfinite(values(machine, rows[:20])).all()
    assert machine.predict(rows[:20]).shape == (20,)
    assert machine.dual_coef_.shape[1] == len(machine.support_)
    assert reason in repr(machine)
    pickle.dumps(machine)


@every_machine
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("jobs", [1, 2])
def test_no_time_leaves_a_machine(Machine, classes, jobs):
    rows, labels = hard(classes, 2000)
    machine = gentle(Machine, max_time=1e-3, tol=1e-6, n_jobs=jobs)
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="used up its time"):
        fitted(machine, rows, labels, rows[:, 0] ** 2 + labels)
    assert time.perf_counter() - began < 2
    check_usable(machine, rows, "max_time")


class Impatient:
    """A callback that presses Ctrl-C."""

    def setup(self, estimator, context):
        """Nothing."""

    def teardown(self, estimator, context):
        """Nothing."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing."""

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "epoch" and context.task_id >= 1:
            raise KeyboardInterrupt


@every_machine
def test_an_interrupt_from_a_callback_leaves_a_machine(Machine):
    rows, labels = hard(3, 1500)
    machine = gentle(Machine, tol=1e-8).set_callbacks(Impatient())
    with pytest.raises(KeyboardInterrupt, match=f"{Machine.__name__} keeps the best machine"):
        fitted(machine, rows, labels, rows[:, 0] ** 2 + labels)
    check_usable(machine.set_callbacks(), rows, "interrupted")


@pytest.mark.parametrize("multiclass", SCHEMES)
@pytest.mark.parametrize("classes", [2, 4])
def test_an_interrupt_leaves_a_machine(multiclass, classes):
    """With four classes, one against one, the machines are made side by side in threads of their own."""
    if classes == 2 and multiclass != "ovo":
        pytest.skip("the same with two classes")
    rows, labels = hard(classes, 6000)
    machine = SVC(C=1e4, tol=1e-6, gamma=0.02, multiclass=multiclass, max_time=20)
    pressed = threading.Timer(0.4, signal.raise_signal, (signal.SIGINT,))
    pressed.start()
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt, match="SVC keeps the best machine"):
        machine.fit(rows, labels)
    assert time.perf_counter() - began < 5
    pressed.join()
    check_usable(machine, rows, "interrupted")
    assert machine.classes_.tolist() == list(range(classes))


# ---------------------------------------------------------------- many classes


@every_scheme
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_tells_many_classes_apart(multiclass, solver):
    rows, labels = data(4, 60)
    options = {"multiclass": multiclass, "tol": 1e-5, "gamma": 0.2, **WANTS.get(solver, {})}
    machine, engine = (SVC(solver=name, **options).fit(rows, labels) for name in (solver, "auto"))
    assert machine.converged_
    assert len(machine.solutions_) == len(machine.trace_) == {"ovo": 6, "ovr": 4, "tree": 3}[multiclass]
    np.testing.assert_allclose(machine.decision_function(rows), engine.decision_function(rows), atol=1e-3)
    clear = np.diff(np.sort(engine.decision_function(rows), axis=1)[:, -2:])[:, 0] > 1e-2
    np.testing.assert_array_equal(machine.predict(rows)[clear], engine.predict(rows)[clear])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("Machine", [NuSVC, SVR, NuSVR, OneClassSVM])
def test_solvers_of_the_other_machines(Machine, solver):
    """Either it solves the problem, or one sentence says why not and what to pass."""
    options = {"tol": 1e-5, "gamma": 0.2}
    expected = values(fitted(gentle(Machine, **options)))
    try:
        machine = fitted(gentle(Machine, solver=solver, max_time=5, **options))
    except ValueError as refusal:
        assert f"solver={solver!r} does not take" in str(refusal)  # noqa: PT017
        assert "pass solver=" in str(refusal)  # noqa: PT017
    else:
        assert machine.converged_
        np.testing.assert_allclose(values(machine), expected, rtol=0, atol=1e-3 * np.abs(expected).max())


def leaves(branch) -> list:
    return [leaf for part in branch for leaf in leaves(part)] if isinstance(branch, tuple) else [branch]


@pytest.mark.parametrize("Machine", [SVC, NuSVC])
@pytest.mark.parametrize("classes", [3, 7])
def test_a_tree_has_every_class_once(Machine, classes):
    rows, labels = data(classes, 20 * classes, noise=0.3)
    names = np.array([f"class {k}" for k in range(classes)])
    machine = gentle(Machine, multiclass="tree").fit(rows, names[labels])
    assert sorted(leaves(machine.tree_)) == names.tolist()
    assert all(isinstance(leaf, str) for leaf in leaves(machine.tree_))
    assert machine.dual_coef_.shape == (classes - 1, len(machine.support_))
    assert machine.intercept_.shape == (classes - 1,)
    assert machine.decision_function(rows).shape == (len(rows), classes)
    assert machine.set_params(decision_function_shape="ovo").decision_function(rows).shape == (len(rows), classes - 1)
    assert machine.score(rows, names[labels]) > 0.9


def test_a_tree_parts_the_nearest_last():
    rows = np.array([[0.0], [0.1], [5.0], [5.1], [20.0]]) + np.zeros((3, 1, 1)) + np.arange(3)[:, None, None] * 1e-3
    labels = np.tile(["a", "b", "c", "d", "e"], 3)
    assert SVC(kernel="linear", multiclass="tree").fit(rows.reshape(-1, 1), labels).tree_ == (
        (("a", "b"), ("c", "d")),
        "e",
    )


@every_scheme
def test_prediction_is_the_largest_score(multiclass):
    machine = SVC(multiclass=multiclass).fit(X, Y)
    scores = machine.decision_function(Z)
    assert scores.shape == (90, 3)
    if multiclass != "ovo":
        np.testing.assert_array_equal(machine.predict(Z), scores.argmax(axis=1))
    np.testing.assert_array_equal(machine.set_params(break_ties=True).predict(Z), scores.argmax(axis=1))
    with pytest.raises(ValueError, match="break_ties=True breaks no tie with decision_function_shape='ovo'"):
        machine.set_params(decision_function_shape="ovo").predict(Z)


def test_ties_are_broken():
    """In the middle of three classes each wins a duel: the first has it, or else the one that wins most clearly."""
    corners = np.array([[0.0, 1.0], [0.87, -0.5], [-0.87, -0.5]])
    grid = np.stack(np.meshgrid(np.linspace(-0.5, 0.5, 101), np.linspace(-0.5, 0.5, 101)), axis=-1).reshape(-1, 2)
    rows, labels = np.vstack([corners + shift for shift in ([0, 0], [0.2, 0.11], [-0.1, 0.23])]), np.tile(range(3), 3)
    machine = SVC(kernel="linear", C=0.3).fit(rows, labels)
    votes = OneVsOne(3).votes(machine.set_params(decision_function_shape="ovo").decision_function(grid))
    tied = votes.max(axis=1) == 1
    machine.set_params(decision_function_shape="ovr")
    assert tied.any()
    assert (machine.predict(grid)[tied] == 0).all()
    broken = machine.set_params(break_ties=True).predict(grid)
    assert len(set(broken[tied])) > 1
    np.testing.assert_array_equal(broken, machine.decision_function(grid).argmax(axis=1))


# ---------------------------------------------------------------- knowing when not to know


def test_a_point_far_from_all_is_of_no_class():
    """One row a class, so far apart that K = 1: f(x₊) = a + b = 1 and f(x₋) = b - a/2 = -1 make b = -1/3."""
    rows, labels = np.array([[0.0], [100.0], [200.0]]), np.array(["left", "middle", "right"])
    machine = SVC(C=np.inf, gamma=1.0, multiclass="ovr", tol=1e-8).fit(rows, labels)
    np.testing.assert_allclose(machine.intercept_, -1 / 3, rtol=1e-9)
    np.testing.assert_allclose(machine.decision_function(rows), 2 * np.eye(3) - 1, **SAME)
    assert machine.predict_with_reject([[100.0], [-1e6], [1e6]]).tolist() == ["middle", -1, -1]
    assert machine.predict_with_reject([[0.0], [50.0]], reject_label="?").tolist() == ["left", "?"]
    assert set(machine.predict([[-1e6]])) <= set(labels)


def test_points_inside_the_margin_are_rejected():
    """Rows at -1 and 1 make f(x) = x."""
    machine = SVC(C=np.inf, kernel="linear", tol=1e-8).fit([[-1.0], [1.0]], [3, 7])
    asked = [[-2.0], [-0.9], [0.0], [0.9], [2.0]]
    assert machine.predict_with_reject(asked, rule="margin").tolist() == [3, -1, -1, -1, 7]
    assert machine.predict_with_reject(asked).tolist() == machine.predict(asked).tolist()
    with pytest.raises(ValueError, match="rule='none' is unknown: pass one of 'none-positive', 'margin'"):
        machine.predict_with_reject(asked, rule="none")


@every_scheme
@pytest.mark.parametrize("Machine", [SVC, NuSVC])
def test_what_is_not_rejected_is_as_predicted(Machine, multiclass):
    machine = gentle(Machine, multiclass=multiclass).fit(X, Y)
    for rule in ("none-positive", "margin"):
        answer = machine.predict_with_reject(Z, rule=rule)
        known = answer != -1
        np.testing.assert_array_equal(answer[known], machine.predict(Z)[known])
    assert 0 < known.sum() < 90


def test_rules_by_hand():
    # duels (0, 1), (0, 2), (1, 2): a cycle; 0 wins both; 2 wins both, hardly
    outputs = np.array([[1.5, -1.5, 1.5], [1.5, 1.5, 0.2], [3.0, -0.2, -3.0]])
    assert OneVsOne(3).accepted(outputs).tolist() == [False, True, True]
    assert OneVsOne(3).sure(outputs).tolist() == [True, True, False]
    assert OneVsRest(3).accepted(np.array([[-1.0, -0.1, -2.0], [-1.0, 0.1, -2.0]])).tolist() == [False, True]
    assert OneVsRest(3).sure(np.array([[1.2, -0.5, -0.5], [0.8, -2.0, -2.0]])).tolist() == [True, False]
    # ((0, 1), 2): the root, then 0 against 1
    tree = Tree(3, ((0, 1), 2))
    outputs = np.array([[2.0, 0.3], [2.0, -3.0], [-2.0, 0.1], [-0.5, 5.0], [0.0, 0.0]])
    assert tree.predict(outputs).tolist()[:4] == [0, 1, 2, 2]
    assert tree.sure(outputs).tolist() == [False, True, True, False, False]
    assert tree.accepted(outputs).tolist() == [True, True, True, True, False]


@pytest.mark.parametrize("reject", [-1, None, "unknown", np.nan, 0.5], ids=str)
@pytest.mark.parametrize(
    "names",
    [(3, 7), ("a", "b"), (False, True), (0.5, 2.0), (np.int8(3), np.int8(7))],
    ids=lambda names: type(names[0]).__name__,
)
def test_reject_labels_of_another_type(reject, names):
    machine = SVC(C=np.inf, kernel="linear", tol=1e-8).fit([[-1.0], [1.0]], np.array(names))
    answer = machine.predict_with_reject([[-2.0], [0.0], [2.0]], rule="margin", reject_label=reject)
    assert answer[0] == names[0]
    assert answer[2] == names[1]
    if isinstance(reject, float) and np.isnan(reject):
        assert np.isnan(answer[1])
    else:
        assert answer[1] == reject


# ---------------------------------------------------------------- the same answer, whatever the path

JOBS = [SVC(), SVC(multiclass="ovr"), SVC(multiclass="tree"), SVC(loss="squared_hinge"), SVC(bias="augmented")]
JOBS += [SVC(kernel="linear"), SVC(C=np.inf, gamma=2.0), NuSVC(nu=0.3), SVR(), NuSVR(nu=0.3), OneClassSVM(nu=0.3)]


@pytest.mark.parametrize("machine", JOBS, ids=repr)
def test_threads_and_order_do_not_matter(machine):
    machine = clone(machine)
    expected = values(fitted(machine.set_params(n_jobs=1)))
    np.testing.assert_allclose(values(fitted(machine.set_params(n_jobs=2))), expected, **SAME)
    for order in (np.arange(90)[::-1], np.random.default_rng(0).permutation(90)):
        np.testing.assert_allclose(values(fitted(machine, X[order], Y[order], T[order])), expected, **SAME)
    machine.set_params(random_state=7, cache_size=0.05, shrinking=False)
    np.testing.assert_allclose(values(fitted(machine)), expected, **SAME)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed", lambda A, B: (A @ B.T + 1) ** 2])
@pytest.mark.parametrize("Machine", [SVC, NuSVC])
def test_many_machines_side_by_side(Machine, kernel):
    rows, labels = data(12, 12 * 15, noise=0.5)
    names = np.array([f"{k:02}" for k in range(12)])[labels]
    asked = rows = rows @ rows.T if kernel == "precomputed" else rows
    options = {"nu": 0.4} if Machine is NuSVC else {"C": 3.0}
    for store in (
        (np.asarray, sparse.csr_array) if isinstance(kernel, str) and kernel != "precomputed" else (np.asarray,)
    ):
        alone, many = (Machine(kernel=kernel, n_jobs=jobs, **options).fit(store(rows), names) for jobs in (1, 2))
        assert alone.dual_coef_.shape[0] == 11
        np.testing.assert_array_equal(alone.support_, many.support_)
        np.testing.assert_allclose(
            alone.dual_coef_, many.dual_coef_, rtol=0, atol=1e-9 * np.abs(alone.dual_coef_).max()
        )
        span = np.abs(alone.intercept_).max() + 1
        alone, many = (machine.set_params(decision_function_shape="ovo") for machine in (alone, many))
        np.testing.assert_allclose(
            *(machine.decision_function(store(asked)) for machine in (alone, many)), rtol=0, atol=1e-9 * span
        )
        np.testing.assert_array_equal(alone.predict(store(asked)), many.predict(store(asked)))


def test_support_rows_come_by_class():
    machine = SVC().fit(X, Y)
    edges = np.concatenate(([0], np.cumsum(machine.n_support_)))
    for k, (begin, end) in enumerate(pairwise(edges)):
        part = machine.support_[begin:end]
        assert (Y[part] == k).all()
        assert (np.diff(part) > 0).all()
