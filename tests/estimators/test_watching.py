"""Watching a fit: trace, held-out error, scikit-learn's callbacks, and every solver behind SVC."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning

from adatron import SVC, datasets
from adatron.kernels import Gaussian
from adatron.solvers import SOLVERS, Adatron, SimplifiedSMO

WANTS = {
    "svmseq": {"bias": "none"},
    "sor": {"bias": "augmented"},
    "nearest-point": {"loss": "squared_hinge"},
    "linear": {"kernel": "linear"},
}


def data(rows=120, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 3))
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * random.normal(size=rows) > 0.3, "up", "down")


class Listener:
    """A callback that keeps what it hears, and may ask for an end."""

    def __init__(self, last=None):
        self.last, self.scores, self.calls = last, [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.calls.append(f"end {context.task_name}")
        if context.task_name == "epoch":
            self.scores.append(fitted_estimator.score(X, y))
            return context.task_id == self.last
        return False


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_makes_the_same_machine(solver):
    X, y = data()
    options = {"C": 2.0, "tol": 1e-6, "kernel": Gaussian(sigma=1.0), **WANTS.get(solver, {})}
    machine, engine = SVC(solver=solver, **options).fit(X, y), SVC(**options).fit(X, y)
    assert machine.converged_
    np.testing.assert_allclose(machine.decision_function(X), engine.decision_function(X), atol=1e-4)
    assert machine.trace_["kkt_violation"][-1] <= 1e-3


def test_a_solver_object_keeps_its_options_through_clone():
    machine = clone(SVC(solver=Adatron(rate=0.5, order="random")))
    assert machine.solver == Adatron(rate=0.5, order="random")
    assert machine.fit(*data()).converged_


def test_random_state_seeds_the_solver():
    X, y = data()
    fits = [SVC(solver=SimplifiedSMO(), random_state=seed, tol=1e-2).fit(X, y) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(fits[0].dual_coef_, fits[1].dual_coef_)
    assert fits[0].n_iter_ != fits[2].n_iter_
    assert fits[0].solver.seed == 0


def test_an_unfit_solver_names_the_parameter_and_a_way_out():
    with pytest.raises(
        ValueError, match=r"solver='svmseq' does not take .*bias='exact'.*: pass solver='decomposition'"
    ):
        SVC(solver="svmseq").fit(*data())
    with pytest.raises(ValueError, match=r"solver='sequential' is unknown: pass one of 'auto', 'decomposition'"):
        SVC(solver="sequential").fit(*data())
    with pytest.raises(TypeError, match=r"solver=3 is unknown"):
        SVC(solver=3).fit(*data())


@pytest.mark.parametrize("solver", ["auto", "adatron", "smo"])
def test_held_out_error_is_traced(solver):
    X, y = data(200)
    machine = SVC(solver=solver, kernel=Gaussian(sigma=1.0)).fit(X[:120], y[:120], held_out=(X[120:], y[120:]))
    assert machine.trace_["error"][-1] == pytest.approx(1 - machine.score(X[120:], y[120:]), abs=0.03)
    assert len(machine.trace_["error"]) == len(machine.trace_)


@pytest.mark.parametrize("bad", [3, ([[1.0, 2.0, 3.0]],), ([[1.0, 2.0]], ["up"])])
def test_held_out_must_be_rows_and_classes(bad):
    with pytest.raises(ValueError, match=r"held_out|features"):
        SVC().fit(*data(), held_out=bad)


def test_trace_as_frame_and_json():
    machine = SVC(solver="adatron", C=np.inf, kernel=Gaussian(sigma=0.3)).fit(*data())
    frame = machine.trace_.frame()
    assert list(frame.epoch) == list(range(int(machine.n_iter_[0]) + 1))
    assert frame.gap.iloc[-1] < 1e-2
    read = json.loads(machine.trace_.to_json())
    assert read.keys() == dict(machine.trace_).keys()
    assert read["objective"] == pytest.approx(list(frame.objective))
    assert None in read["gap"]  # infinite before the classes are apart


def test_callbacks_hear_every_epoch():
    X, y = data()
    listener = Listener()
    machine = SVC(solver="adatron").set_callbacks(listener).fit(X, y)
    assert listener.calls[:2] == ["setup", "begin fit"]
    assert listener.calls[-2:] == ["end fit", "teardown"]
    assert listener.calls.count("end epoch") == machine.n_iter_[0] + 1
    assert listener.scores[-1] == pytest.approx(machine.score(X, y), abs=0.02)
    assert listener.scores[0] < listener.scores[-1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_callback_may_stop_a_fit(solver):
    X, y = data(300)
    options = {"tol": 1e-8, "kernel": Gaussian(sigma=1.0), **WANTS.get(solver, {})}
    machine = SVC(solver=solver, **options).set_callbacks(Listener(last=0))
    with pytest.warns(ConvergenceWarning, match="callback asked for an end"):
        machine.fit(X, y)
    assert machine.stop_reason_ == "stopped"
    assert len(machine.predict(X)) == len(X)


def test_scikit_learns_progress_bar_and_monitor(capsys):
    X, y = data()
    monitor = ScoringMonitor(scoring="accuracy")
    machine = SVC(solver="adatron", max_iter=500).set_callbacks(ProgressBar(), monitor).fit(X, y)
    assert machine.converged_
    assert "SVC - fit" in capsys.readouterr().out


def test_no_callback_no_cost():
    X, y = data()
    assert not SVC(solver="adatron").fit(X, y).__dict__.keys() & {"_skl_callbacks", "_callback_fit_ctx"}


@pytest.mark.parametrize("solver", ["adatron", "smo", "simplified-smo", "nearest-point", "chunking", "qp"])
def test_an_inseparable_hard_margin_ends_and_says_so(solver):
    X, y = data(60)
    X, y = np.vstack((X, X)), np.concatenate((y, y[::-1]))
    with pytest.warns(ConvergenceWarning, match="falls without end"):
        machine = SVC(C=np.inf, kernel="linear", solver=solver, max_time=600).fit(X, y)
    assert machine.stop_reason_ == "unbounded"


def test_generated_sets():
    X, y = datasets.mirror_symmetry(500, 7, random_state=3)
    symmetrical = (X[:, :3] == X[:, :3:-1]).all(axis=1)
    np.testing.assert_array_equal(y > 0, symmetrical)
    assert X.shape == (500, 7)
    X, y = datasets.two_spirals()
    assert X.shape == (194, 2)
    np.testing.assert_array_equal(X[:97], -X[97:])
    X, y = datasets.xor()
    np.testing.assert_array_equal(y, X[:, 0] * X[:, 1])
    with pytest.raises(ValueError, match="name='nothing' is unknown"):
        datasets.load("nothing")
    assert datasets.load("parity").data.shape == (16, 4)


def test_a_set_that_is_nowhere(monkeypatch, tmp_path):
    monkeypatch.setenv("ADATRON_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "PROJECT", tmp_path / "project")
    with pytest.raises(FileNotFoundError, match=r"sonar.npz is not in \$ADATRON_DATA"):
        datasets.load("sonar")
    (tmp_path / "sonar").mkdir()
    np.savez(
        tmp_path / "sonar" / "sonar.npz", X=np.eye(4), y=np.arange(4), train_mask=np.array([1, 1, 0, 0], dtype=bool)
    )
    found = datasets.load("sonar")
    assert found.X_train.shape == (2, 4)
    np.testing.assert_array_equal(found.y_test, [2, 3])
