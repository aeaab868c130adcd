"""The contract of the default solver: ways to the optimum, ways to end early, and what it says at each."""

from __future__ import annotations

from functools import cache

import numpy as np
import oracle
import pytest

from adatron import Gram, _core, problems, solve
from adatron.certificates import certificate
from adatron.kernels import Constant, Gaussian, Linear, Polynomial, Sigmoid
from adatron.problems import Problem
from adatron.solution import Solution, Status
from adatron.solvers import SOLVERS, Decomposition, Stop
from adatron.trace import Round, Watch

GUARD = 600.0  # seconds after which a run counts as endless: far more than any takes, however busy the machine


def data(rows: int, features: int = 5, noise: float = 0.3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    return X, np.where(X[:, 0] * X[:, 1] + noise * rng.normal(size=rows) > 0, 1.0, -1.0)


X, Y = data(300)
T = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=300)
K = Gaussian(2.0)(X)
PROBLEMS = {
    "hinge": problems.hinge(Y, 2.0),
    "hinge through the origin": problems.hinge(Y, 2.0, bias="none"),
    "squared hinge": problems.squared_hinge(Y, 2.0),
    "epsilon regression": problems.epsilon_regression(T, 3.0, 0.05),
    "nu classification": problems.nu_classification(Y, 0.4),
    "nu regression": problems.nu_regression(T, 2.0, 0.3),
    "one class": problems.one_class(300, 0.2),
    "enclosing ball": problems.enclosing_ball(np.ones(300)),
    "nearest points": problems.nearest_points(Y, upper=0.05),
}
every_problem = pytest.mark.parametrize("name", PROBLEMS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


def gram(dtype: type = np.float32, **options) -> Gram:
    return Gram(Gaussian(2.0), X, dtype=dtype, threads=1, **options)


def check_feasible(problem: Problem, beta: np.ndarray) -> None:
    assert (beta >= problem.lower).all()
    assert (beta <= problem.upper).all()
    for members, total in problem.sums:
        assert beta[members].sum() == pytest.approx(total, abs=1e-9 * (1 + np.abs(beta).sum()))


def check_alike(found: Solution, best: Solution, tol: float) -> None:
    """Both within tol of the optimum: what a KKT violation may cost grows with the coefficients."""
    room = tol * (np.abs(found.beta).sum() + np.abs(best.beta).sum())
    least = best.certificate.objective
    assert found.certificate.objective == pytest.approx(least, rel=1e-6, abs=room)


# ---------------------------------------------------------------- the same optimum, whatever the way


MANY = np.random.default_rng(2).normal(size=(4000, 3))
SIDES = np.where(MANY[:, 0] + 0.02 * np.random.default_rng(3).normal(size=4000) > 0, 1.0, -1.0)
LARGE = {  # few rows support these
    "hinge": problems.hinge(SIDES, 3.0),
    "hinge through the origin": problems.hinge(SIDES, 3.0, bias="none"),
    "squared hinge": problems.squared_hinge(SIDES, 3.0),
    "epsilon regression": problems.epsilon_regression(MANY[:, 0], 1.0, 0.1),
    "one class": problems.one_class(4000, 0.02),
    "nu classification": problems.nu_classification(SIDES, 0.05),
}


@cache
def full(name: str) -> Solution:
    return solve(LARGE[name], Gram(Gaussian(1.5), MANY, threads=1), Decomposition(lean=False), tol=1e-4)


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("seed", [0, 7])
def test_lean_and_full_meet(name, seed):
    problem = LARGE[name]
    matrix = Gram(Gaussian(1.5), MANY, threads=1)
    lean = solve(problem, matrix, Decomposition(lean=True, seed=seed), tol=1e-4, trace=True)
    assert lean.converged
    assert full(name).converged
    check_feasible(problem, lean.beta)
    check_alike(lean, full(name), 1e-4)
    if not problem.totals.any():  # a start from zero is sampled, and what follows needs few rows
        assert min(lean.trace["active"]) < 1000
        assert lean.trace["active"][-1] < 2000


def test_lean_is_left_when_most_rows_support():
    X, y = data(2000, 5, noise=5.0, seed=3)
    problem = problems.hinge(y, 0.1)
    lean = solve(problem, Gram(Gaussian(1.0), X, threads=1), Decomposition(lean=True), tol=1e-4, trace=True)
    full = solve(problem, Gram(Gaussian(1.0), X, threads=1), Decomposition(lean=False), tol=1e-4)
    assert lean.converged
    check_alike(lean, full, 1e-4)


@every_problem
@every_dtype
@pytest.mark.parametrize("working_size", [2, 3, 4, 16, 50, 1000])
def test_any_working_set_reaches_the_optimum(name, dtype, working_size):
    problem = PROBLEMS[name]
    found = solve(problem, gram(dtype), Decomposition(working_size=working_size), tol=1e-3)
    assert found.converged
    check_feasible(problem, found.beta)
    check_alike(found, best(name), 1e-3)


@cache
def best(name: str) -> Solution:
    found = solve(PROBLEMS[name], gram(np.float64), tol=1e-6)
    assert found.converged
    return found


@pytest.mark.parametrize("seed", range(60))
@every_dtype
def test_few_rows(seed, dtype):
    """One row to six: working sets as large as the problem, and larger than the cache."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(1, 7)), int(rng.integers(1, 3))
    rows, t = rng.normal(size=(m, d)), rng.normal(size=m)
    kernel = (Gaussian(1.0), Linear(), Polynomial(2))[seed % 3]
    few = [problems.epsilon_regression(t, 2.0, 0.1, bias=bias) for bias in ("exact", "none")]
    few += [problems.nu_regression(t, 1.0, nu) for nu in (0.2, 0.5, 0.9)] + [problems.one_class(m, 0.5)]
    if m > 1:
        y = np.where(np.arange(m) % 2, 1.0, -1.0)
        few += [
            problems.hinge(y, 2.0),
            problems.nearest_points(y),
            problems.nu_classification(y, 0.5 if m > 2 else 1.0),
        ]
    for problem in few:
        found = solve(problem, Gram(kernel, rows, dtype=dtype, threads=1), tol=1e-7, max_time=GUARD)
        assert found.converged, problem
        check_feasible(problem, found.beta)
        _, least = oracle.solve(problem, kernel(rows))
        assert found.certificate.objective == pytest.approx(least, rel=1e-5, abs=1e-6)


@every_problem
@every_dtype
def test_a_tiny_cache_reaches_the_optimum(name, dtype):
    problem = PROBLEMS[name]
    small = solve(problem, gram(dtype, cache_bytes=1), tol=1e-3)
    assert small.converged
    check_feasible(problem, small.beta)
    check_alike(small, best(name), 1e-3)


@every_problem
@every_dtype
def test_warm_start_needs_far_fewer_steps(name, dtype):
    problem = PROBLEMS[name]
    cold = solve(problem, gram(dtype), tol=1e-6)
    assert cold.converged
    start = cold.beta.copy()
    warm = solve(problem, gram(dtype), start=start, tol=1e-6)
    assert warm.converged
    assert warm.n_iter <= 0.05 * cold.n_iter
    np.testing.assert_array_equal(start, cold.beta)  # what was handed in is left alone
    check_alike(warm, cold, 1e-6)
    rough = solve(problem, gram(dtype), tol=1e-2)
    onwards = solve(problem, gram(dtype), start=rough.beta, tol=1e-6)
    assert onwards.converged
    check_alike(onwards, cold, 1e-6)


@every_problem
def test_tight_tolerance_from_float32(name):
    problem = PROBLEMS[name]
    single, double = (solve(problem, gram(dtype), tol=1e-8) for dtype in (np.float32, np.float64))
    _, least = oracle.solve(problem, K)
    for found in (single, double):
        assert found.converged
        check_feasible(problem, found.beta)
        assert certificate(problem, oracle.DenseGram(K), found.beta).kkt_violation <= 1.1e-8
        assert found.certificate.objective == pytest.approx(least, rel=1e-6, abs=1e-8 * np.abs(found.beta).sum())


def test_rounding_of_float32_is_told():
    loose = solve(PROBLEMS["hinge"], gram(), tol=1e-3)
    assert 0 < loose.certificate.rounding < 0.5e-3
    exact = certificate(PROBLEMS["hinge"], oracle.DenseGram(K), loose.beta)
    assert abs(exact.kkt_violation - loose.certificate.kkt_violation) <= 2.5 * loose.certificate.rounding
    assert solve(PROBLEMS["hinge"], gram(np.float64), tol=1e-3).certificate.rounding < 1e-10


def test_values_too_rough_for_the_tolerance_become_float64():
    """Offsets that no centring removes: float32 kernel values alone would miss the optimum."""
    far = X + 300.0
    kernel = Gaussian(2.0) + 1e-9 * Linear()
    problem = problems.hinge(Y, 100.0)
    found = solve(problem, Gram(kernel, far, threads=1), tol=1e-3)
    assert found.converged
    assert certificate(problem, oracle.DenseGram(kernel(far)), found.beta).kkt_violation <= 1.3e-3


# ---------------------------------------------------------------- ending early


@every_problem
@every_dtype
@pytest.mark.parametrize("max_iter", [0, 1, 7, 100])
def test_max_iter(name, dtype, max_iter):
    problem = PROBLEMS[name]
    found = solve(problem, gram(dtype), tol=1e-8, max_iter=max_iter)
    assert found.status is Status.MAX_ITER
    assert not found.converged
    assert found.n_iter == max_iter
    assert str(found).startswith("The solver used up its iterations")
    check_feasible(problem, found.beta)
    told, truth = found.certificate, certificate(problem, oracle.DenseGram(K), found.beta)
    assert told.objective == pytest.approx(truth.objective, rel=1e-4, abs=1e-6)
    assert told.kkt_violation == pytest.approx(truth.kkt_violation, rel=1e-3, abs=1e-4)
    assert told.kkt_violation > 1e-8


@every_problem
def test_more_steps_never_cost(name):
    problem = PROBLEMS[name]
    objectives = [solve(problem, gram(np.float64), tol=1e-6, max_iter=n).certificate.objective for n in range(0, 60, 6)]
    assert (np.diff(objectives) <= 1e-12 * np.abs(objectives[1:])).all()


def test_max_time():
    X, y = data(6000, 30, noise=3.0, seed=4)
    problem = problems.hinge(y, 1e3)
    matrix = Gram(Gaussian(3.0), X, threads=1)
    found = solve(problem, matrix, tol=1e-8, max_time=0.2)
    assert found.status is Status.MAX_TIME
    assert "used up its time" in str(found)
    check_feasible(problem, found.beta)
    assert found.beta.any()
    again = certificate(problem, matrix, found.beta)
    if np.isfinite(found.certificate.kkt_violation):
        assert found.certificate.objective == pytest.approx(again.objective, rel=1e-6)
    else:  # no time for a certificate: told, not guessed
        assert np.isnan(found.certificate.objective)
        assert found.certificate.gap == np.inf


# ---------------------------------------------------------------- problems without an answer


def inseparable(name: str) -> tuple[np.ndarray, np.ndarray, object]:
    labels = np.where(np.random.default_rng(5).random(300) > 0.5, 1.0, -1.0)
    twice, opposite = np.vstack((X, X[:1])), np.append(Y, -Y[0])
    return {
        "duplicate of the other class": (twice, opposite, Gaussian(1.0)),
        "duplicate, linear": (twice, opposite, Linear()),
        "linear, random labels": (X, labels, Linear()),
        "quadratic, random labels": (X, labels, Polynomial(2)),
        "constant kernel": (X, Y, Constant(1.0)),
        "constant features": (np.ones((300, 3)), Y, Gaussian(1.0)),
        "wide Gaussian": (X[:, :1], labels, Gaussian(300.0)),
    }[name]


@pytest.mark.parametrize(
    "name",
    [
        "duplicate of the other class",
        "duplicate, linear",
        "linear, random labels",
        "quadratic, random labels",
        "constant kernel",
        "constant features",
        "wide Gaussian",
    ],
)
@every_dtype
@pytest.mark.parametrize("bias", ["exact", "none"])
def test_hard_margin_of_inseparable_classes_ends(name, dtype, bias):
    rows, labels, kernel = inseparable(name)
    problem = problems.hinge(labels, np.inf, bias=bias)
    found = solve(problem, Gram(kernel, rows, dtype=dtype, threads=1), max_time=GUARD)
    assert found.status in (Status.UNBOUNDED, Status.STALLED)
    check_feasible(problem, found.beta)
    assert found.certificate.gap == np.inf or name == "wide Gaussian"
    assert not found.converged


@every_dtype
@pytest.mark.parametrize("scale", [1e-7, 1e-3, 1.0, 1e3, 1e7])
def test_hard_margin_of_separable_classes_in_any_unit(dtype, scale):
    apart = np.where(X[:, 0] > 0, 1.0, -1.0)
    rows = X.copy()
    rows[:, 0] += 0.2 * apart
    problem = problems.hinge(apart, np.inf)
    found = solve(problem, Gram(Linear(), scale * rows, dtype=dtype, threads=1), tol=1e-6, max_time=GUARD)
    assert found.converged
    assert found.certificate.gap < 1e-4
    _, least = oracle.solve(problem, Linear()(rows))
    assert found.certificate.objective * scale**2 == pytest.approx(least, rel=1e-4)


@pytest.mark.parametrize("C", [1.0, 1e3, np.inf])
@every_dtype
@pytest.mark.parametrize("coef0", [-1.0, 0.0, 1.0])
def test_indefinite_kernels_end_with_a_status(C, dtype, coef0):
    problem = problems.hinge(Y, C)
    kernel = Sigmoid(1.0, coef0)
    found = solve(problem, Gram(kernel, X, dtype=dtype, threads=1), max_time=GUARD)
    assert found.status in (Status.STATIONARY, Status.STALLED, Status.UNBOUNDED)
    assert np.isnan(found.certificate.gap)
    check_feasible(problem, found.beta)
    if found.status is Status.STATIONARY:  # a point without a descent direction, if not the best one
        assert certificate(problem, oracle.DenseGram(kernel(X)), found.beta).kkt_violation <= 2e-3


@pytest.mark.parametrize(("use", "seed"), [("one class", 1), ("one class", 5), ("nu classification", 3), ("hinge", 0)])
def test_a_tolerance_beyond_the_arithmetic_ends_as_stalled(seed, use):
    rows = 300.0 * np.random.default_rng(seed).normal(size=(17, 4))
    y = np.where(rows[:, 0] > 0, 1.0, -1.0)
    problem = {
        "one class": problems.one_class(17, 0.5),
        "nu classification": problems.nu_classification(y, 0.2),
        "hinge": problems.hinge(y, 1e6),
    }[use]
    kernel = Polynomial(2, 0.1)
    found = solve(problem, Gram(kernel, rows, dtype=np.float64, threads=1), tol=1e-13, max_time=GUARD)
    assert found.status in (Status.STALLED, Status.IMPRECISE, Status.CONVERGED)
    check_feasible(problem, found.beta)
    # and yet it is as good as it can be: rounding of sums as large as these
    gradient = np.abs(kernel(rows)) @ np.abs(found.coef)
    assert found.certificate.kkt_violation <= 1e-11 * gradient.max()


# ---------------------------------------------------------------- what is told on the way


@pytest.mark.parametrize("lean", [True, False])
def test_trace_has_a_row_a_round(lean):
    found = solve(PROBLEMS["hinge"], gram(), Decomposition(working_size=16, lean=lean), tol=1e-4, trace=True)
    trace = found.trace
    assert {len(trace[name]) for name in trace} == {len(trace)}
    for name in ("seconds", "epoch", "updates", "kernel_evaluations"):
        assert (np.diff(trace[name]) >= 0).all(), name
    assert (np.diff(trace["epoch"]) > 0).all()
    assert trace["updates"][0] == 0
    assert trace["updates"][-1] == found.n_iter
    assert max(trace["active"]) <= 300
    assert (min(trace["active"]) < 300) == lean
    whole = np.array(trace["active"]) == 300
    for name in ("objective", "gap", "margin", "sum"):  # part of the rows knows nothing of the whole
        assert (np.isfinite(trace[name]) == whole).all(), name
    assert (np.diff(np.array(trace["objective"])[whole]) <= 1e-9).all()
    assert trace["kkt_violation"][0] == pytest.approx(2.0)
    assert trace["kkt_violation"][-1] <= 1.001e-4


def test_the_solver_alone():
    """Behind `solve` stands a protocol: problem and matrix in, a solution out."""
    solver = Decomposition()
    assert SOLVERS["decomposition"]().name == solver.name == "decomposition"
    found = solver.solve(PROBLEMS["hinge"], gram(np.float64), stop=Stop(tol=1e-6), watch=Watch())
    assert found.converged
    assert found.certificate.kkt_violation <= 1.001e-6
    assert found.coef.shape == (300,)
    assert len(found.beta) == 300
    regression = solver.solve(PROBLEMS["epsilon regression"], gram(np.float64))
    assert regression.coef.shape == (300,)
    assert len(regression.beta) == 600
    np.testing.assert_array_equal(regression.coef, regression.beta[:300] + regression.beta[300:])


def test_the_trace_of_a_long_run_is_bounded():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), np.where(rng.random(400) > 0.5, 1.0, -1.0)
    problem, gram = problems.hinge(y, 1e3), Gram(Gaussian(1.0), X, dtype=np.float64)
    beta = problem.start()
    engine = _core.Engine64(gram.core, **problem.spans, beta=beta, product=np.zeros(400), working_size=2)
    engine.run(_core.RunOptions(goal=1e-9, max_steps=20_000, patience=10**6, record=True))
    rounds = engine.trace[:, Round._fields.index("rounds")]
    assert engine.rounds > 5000
    assert len(rounds) <= 4097
    assert rounds[-1] == engine.rounds
    assert len(set(np.diff(rounds[:-1]))) == 1  # evenly
