"""Fits that end early: the model is the one that the trace judged, and deadlines hold for many problems at once."""

import signal
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from adatron import SVC, problems
from adatron.estimators import _batch
from adatron.gram import Gram
from adatron.kernels import Gaussian
from adatron.solution import Status
from adatron.solvers import solve
from adatron.trace import Watch

BIASED = ("adatron", "smo", "simplified-smo", "decomposition", "chunking")
UNBIASED = ("adatron", "svmseq", "sor", "decomposition", "chunking")
CASES = [(name, "exact") for name in BIASED] + [(name, bias) for name in UNBIASED for bias in ("augmented", "none")]


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(240, 8, n_informative=5, flip_y=0.2, random_state=0)
    return (X[:120], y[:120]), (X[120:], y[120:])


def early(machine, *data, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return machine.fit(*data, **more)


def check_judged(model, held_out):
    assert model.trace_["error"][-1] == pytest.approx(1 - model.score(*held_out), abs=1e-12)
    assert model.trace_["bias"][-1] == pytest.approx(model.solutions_[0].model_bias)


@pytest.mark.parametrize("max_iter", [1, 2, 3, 5, 9, 20])
@pytest.mark.parametrize(("name", "bias"), CASES)
def test_max_iter_returns_what_the_trace_judged(rows, name, bias, max_iter):
    train, test = rows
    for C in (1.0, 100.0):
        model = early(SVC(C=C, solver=name, bias=bias, max_iter=max_iter, tol=1e-9), *train, held_out=test)
        if not model.converged_:
            check_judged(model, test)


@pytest.mark.parametrize("max_iter", [1, 7, 40])
def test_nearest_point_returns_what_the_trace_judged(rows, max_iter):
    train, test = rows
    model = SVC(loss="squared_hinge", solver="nearest-point", max_iter=max_iter, tol=1e-9)
    check_judged(early(model, *train, held_out=test), test)


@pytest.mark.parametrize(("name", "bias"), CASES)
def test_a_deadline_returns_what_the_trace_judged(rows, name, bias):
    train, test = rows
    model = SVC(C=1e6, solver=name, bias=bias, tol=1e-12, max_time=0.05)
    check_judged(early(model, *train, held_out=test), test)


def test_a_run_can_go_on_from_there(rows):
    train, _ = rows
    model = early(SVC(solver="adatron", max_iter=5, warm_start=True), *train)
    model.set_params(max_iter=-1)
    assert model.fit(*train).converged_


# ---------------------------------------------------------------- deadlines


@pytest.fixture(scope="module")
def many_classes():
    X = np.random.default_rng(0).normal(size=(312, 5)) * 1e6
    return X, np.repeat(np.arange(26), 12)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_deadline_holds_for_all_problems_together(many_classes, n_jobs):
    began = time.process_time()
    model = early(SVC(kernel="linear", max_time=0.1, n_jobs=n_jobs), *many_classes)
    assert time.process_time() - began < 2.0
    assert {solution.status for solution in model.solutions_} <= {Status.MAX_TIME, Status.CONVERGED, Status.STALLED}
    assert model.predict(many_classes[0]).shape == (312,)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_ends_all_problems_together(many_classes, n_jobs):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    began = time.process_time()
    try:
        with pytest.raises(KeyboardInterrupt):
            SVC(kernel="linear", n_jobs=n_jobs).fit(*many_classes)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - began < 3.0


def test_solve_takes_the_sooner_of_two_deadlines():
    X = np.random.default_rng(0).normal(size=(400, 3))
    problem = problems.hinge(np.where(np.random.default_rng(1).random(400) < 0.5, 1.0, -1.0), 1e6)
    gram = Gram(Gaussian(gamma=1.0), X, dtype=np.float64, threads=1)
    for limits in ({"max_time": 0.1, "watch": Watch()}, {"max_time": 60.0, "watch": Watch(max_time=0.1)}):
        assert solve(problem, gram, "adatron", tol=1e-12, **limits).status is Status.MAX_TIME


def test_qp_keeps_its_deadline():
    pytest.importorskip("clarabel")
    random = np.random.default_rng(0)
    X, y = random.normal(size=(2500, 5)), random.integers(0, 2, size=2500)
    began = time.process_time()
    model = early(SVC(solver="qp", max_time=0.3, n_jobs=1), X, y)
    assert time.process_time() - began < 1.5
    assert model.stop_reason_ == "max_time"


def test_problems_that_never_began_claim_no_gap_unless_they_are_convex():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1200, 3)), rng.integers(0, 6, 1200)
    for kernel, known in [("rbf", True), (lambda A, B: np.tanh(A @ B.T - 1), False)]:
        with pytest.warns(ConvergenceWarning):
            model = SVC(kernel=kernel, max_time=1e-4, solver="smo").fit(X, y)
        waiting = [each for each in model.solutions_ if each.n_iter == 0]
        assert waiting
        assert all(np.isnan(each.certificate.gap) != known for each in waiting)


def test_an_interrupt_is_not_lost_that_comes_as_the_last_problem_is_solved(monkeypatch):
    class Late:
        """A batch that is done when the signal is seen."""

        def __init__(self, core):
            self.core = core

        def advance(self, *, seconds):
            while not self.core.advance(seconds=seconds):
                pass
            raise KeyboardInterrupt

        def __getattr__(self, name):
            return getattr(self.core, name)

    def late(*given):
        core, *rest = made(*given)
        return Late(core), *rest

    made = _batch._core_batch
    monkeypatch.setattr(_batch, "_core_batch", late)
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    machine = SVC()
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert machine.converged_
    assert machine.predict(X).shape == (60,)
