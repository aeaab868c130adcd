"""How every solver ends: stopped, refused, without an answer; the smallest problems and the strangest."""

from __future__ import annotations

import os
import re
import signal
import threading
from math import inf
from time import process_time

import numpy as np
import oracle
import pytest
from cases import (
    ACCEPTED,
    CASES,
    COLUMNS,
    COORDINATE,
    GENERAL,
    GUARD,
    KERNEL,
    ONE_EACH,
    PROBLEMS,
    REFUSED,
    ROWS,
    VARIANTS,
    K,
    X,
    Y,
    accepts,
    check_feasible,
    check_optimal,
    data,
    every_case,
    every_dtype,
    gram,
    judge,
)

from adatron import Gram, problems, solve
from adatron.certificates import judgement
from adatron.kernels import Callable as Function
from adatron.kernels import Constant, Linear, Polynomial, Sigmoid
from adatron.problems import Problem
from adatron.solution import Status
from adatron.solvers import (
    SMO,
    SOR,
    Adatron,
    Capabilities,
    Chunking,
    Decomposition,
    SimplifiedSMO,
    SVMseq,
)

# ---------------------------------------------------------------- ending early


@every_case
def test_no_time_at_all(variant, name):
    problem = PROBLEMS[name]
    found = solve(problem, gram(), VARIANTS[variant](), tol=1e-6, max_time=1e-9)
    assert found.status is Status.MAX_TIME
    assert "used up its time" in str(found)
    check_feasible(problem, found.beta)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("calls", [1, 3])
def test_progress_may_stop_it(variant, calls):
    heard = []

    def progress(at: dict[str, float]) -> bool:
        heard.append(at)
        return len(heard) == calls

    problem = PROBLEMS[ONE_EACH[variant]]
    found = solve(problem, gram(), VARIANTS[variant](), tol=1e-10, progress=progress)
    assert len(heard) <= calls
    if found.status is not Status.STOPPED:
        assert found.converged  # there was nothing more to tell
        assert len(heard) < calls
    assert set(heard[0]) >= set(COLUMNS)
    check_feasible(problem, found.beta)
    assert found.certificate.objective == pytest.approx(judge(problem, found).objective, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_any_answer_but_true_goes_on(variant):
    problem = PROBLEMS[ONE_EACH[variant]]
    for answer in (None, 1, "yes", False):
        assert solve(
            problem, gram(), VARIANTS[variant](), tol=1e-4, progress=lambda at, answer=answer: answer
        ).converged


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_interrupt_in_progress_ends_it(variant):
    def progress(at: dict[str, float]) -> None:
        raise KeyboardInterrupt

    problem = PROBLEMS[ONE_EACH[variant]]
    found = solve(problem, gram(), VARIANTS[variant](), progress=progress)
    assert found.status is Status.INTERRUPTED
    check_feasible(problem, found.beta)


@pytest.mark.parametrize("variant", VARIANTS)
def test_errors_in_progress_are_the_callers(variant):
    def progress(at: dict[str, float]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve(PROBLEMS[ONE_EACH[variant]], gram(), VARIANTS[variant](), progress=progress)


@pytest.mark.parametrize("variant", VARIANTS)
def test_errors_in_the_kernel_are_the_callers(variant):
    calls = []

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        calls.append(len(a))
        if len(calls) > 4:
            raise ZeroDivisionError
        return KERNEL(a, b)

    with pytest.raises(ZeroDivisionError):
        solve(PROBLEMS[ONE_EACH[variant]], Gram(Function(kernel), X), VARIANTS[variant](), tol=1e-8)


CPU_LIMIT = 2.0  # seconds of CPU time, several times what an idle machine takes
LONG = 700
BIG, SIDES, _ = data(LONG, features=6, seed=5)


@pytest.fixture
def careful_ctrl_c():
    """A signal that comes too late shall not end the whole session."""
    test = threading.current_thread()
    default = signal.getsignal(signal.SIGINT)
    inside = [True]

    def answer(number: int, frame: object) -> None:
        if inside[0] and threading.current_thread() is test:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, answer)
    yield
    inside[0] = False
    signal.signal(signal.SIGINT, default)


@pytest.mark.parametrize("variant", [*GENERAL, "chunks by qp", "chunks by smo"])
@pytest.mark.usefixtures("careful_ctrl_c")
def test_ctrl_c_is_answered(variant):
    """A real signal, in the middle of a run that would take long; CPU time, since the machine may be busy."""
    bias = "exact" if accepts(variant, problems.squared_hinge(SIDES)) else "none"
    problem = problems.squared_hinge(SIDES, 1e7, bias=bias)
    kernel = Polynomial(2, 1.0)
    sent: list[float] = []
    over = threading.Event()

    def press() -> None:
        began = process_time()
        while not over.wait(0.01):
            if process_time() - began > 0.25:
                sent.append(process_time())
                os.kill(os.getpid(), signal.SIGINT)
                return

    key = threading.Thread(target=press)
    matrix = Gram(kernel, BIG, dtype=np.float64, threads=1)
    key.start()
    try:
        found = solve(problem, matrix, VARIANTS[variant](), tol=1e-12, max_time=GUARD)
        answered = process_time()
    except KeyboardInterrupt:
        pytest.fail("the signal passed the solver")
    finally:
        over.set()
        key.join()
    assert sent, f"too short a run for this test: {found}"
    assert found.status is Status.INTERRUPTED
    assert answered - sent[0] < CPU_LIMIT
    check_feasible(problem, found.beta)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(("variant", "name"), REFUSED, ids=[f"{v}-{p}" for v, p in REFUSED])
def test_what_it_does_not_take_it_names_a_solver_for(variant, name):
    solver = VARIANTS[variant]()
    with pytest.raises(ValueError, match=f"^solver='{solver.name}' does not take ") as caught:
        solve(PROBLEMS[name], gram(), solver)
    message = str(caught.value)
    assert "\n" not in message
    other = re.search(r"pass solver='([\w-]+)'\.$", message).group(1)
    assert other != solver.name
    assert solve(PROBLEMS[name], gram(), other).converged


def test_every_solver_takes_something():
    assert {variant for variant, _ in ACCEPTED} == set(VARIANTS)
    assert {name for _, name in ACCEPTED} == set(PROBLEMS)


class Picky(Decomposition):
    name = "picky"
    accepts = Capabilities(sums=(1,), infinite_box=False, ridge=False, doubled=False)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("hinge, no bias", r"without a sum \(bias='none' or 'augmented'\)"),
        ("nu classification", "two sums"),
        ("hard margin", "box without end"),
        ("regression", "two coefficients a row"),
    ],
)
def test_refusals_give_the_reason(name, reason):
    with pytest.raises(ValueError, match=f"solver='picky' does not take .*{reason}.*: pass solver='decomposition'"):
        solve(PROBLEMS[name], gram(), Picky())


def test_a_ridge_may_be_refused():
    bounded = Problem("mine", -Y, np.minimum(Y, 0.0), np.maximum(Y, 0.0), np.array([0.5]), totals=np.zeros(1))
    with pytest.raises(ValueError, match="ridge"):
        solve(bounded, gram(), Picky())


BAD_OPTIONS = {
    "rate=0": (Adatron(rate=0.0), ValueError, r"rate=0.0 .*0 < rate < 2 / max K_ii = 2\b"),
    "rate=2": (Adatron(rate=2.0), ValueError, r"rate=2.0 .*0 < rate < 2 / max K_ii = 2\b"),
    "rate<0": (Adatron(rate=-0.5), ValueError, r"rate=-0.5 .*0 < rate < 2 / max K_ii = 2\b"),
    "rate=nan": (Adatron(rate=np.nan), ValueError, "rate=nan .*number"),
    "rate=fast": (Adatron(rate="fast"), ValueError, "rate='fast' .*'optimal'"),
    "rate=None": (Adatron(rate=None), TypeError, "rate=None .*number"),
    "initial": (Adatron(initial=-1.0), ValueError, "initial=-1.0 .*at least 0"),
    "mu=0": (Adatron(mu=0.0), ValueError, "mu=0.0 .*greater than 0"),
    "mu=word": (Adatron(mu="x"), TypeError, "mu='x' is a str"),
    "order": (Adatron(order="zigzag"), ValueError, "order='zigzag' .*'cyclic', 'random', 'greedy'"),
    "order=3": (Adatron(order=3), TypeError, "order=3 .*'cyclic', 'random', 'greedy'"),
    "seed": (Adatron(seed=-1), ValueError, "seed=-1 .*at least 0"),
    "seed=0.5": (Adatron(seed=0.5), TypeError, "seed=0.5 is a float"),
    "svmseq rate=0": (SVMseq(rate=0.0), ValueError, "rate=0.0 .*greater than 0"),
    "svmseq rate": (SVMseq(rate=2.0), ValueError, r"rate=2.0 .*2 / max D_ii = 2\b"),
    "svmseq rule": (SVMseq(rule="luck"), ValueError, "rule='luck' .*'cost', 'update'"),
    "svmseq order": (SVMseq(order="zigzag"), ValueError, "order='zigzag' .*'cyclic'"),
    "svmseq seed": (SVMseq(seed=-1), ValueError, "seed=-1 .*at least 0"),
    "omega=0": (SOR(omega=0.0), ValueError, "omega=0.0 .*greater than 0"),
    "omega=2": (SOR(omega=2.0), ValueError, "omega=2.0 .*0 < omega < 2"),
    "omega=nan": (SOR(omega=np.nan), ValueError, "omega=nan .*number"),
    "omega=word": (SOR(omega="x"), TypeError, "omega='x' is a str"),
    "sor order": (SOR(order="zigzag"), ValueError, "order='zigzag' .*'cyclic'"),
    "sor seed": (SOR(seed=-1), ValueError, "seed=-1 .*at least 0"),
    "smo seed": (SMO(seed=-1), ValueError, "seed=-1 .*at least 0"),
    "smo progress": (SMO(progress=np.nan), ValueError, "progress=nan .*at least 0"),
    "passes=0": (SimplifiedSMO(max_passes=0), ValueError, "max_passes=0 .*at least 1"),
    "passes=1.5": (SimplifiedSMO(max_passes=1.5), TypeError, "max_passes=1.5 is a float"),
    "progress": (SimplifiedSMO(progress=-1.0), ValueError, "progress=-1.0 .*at least 0"),
    "simplified seed": (SimplifiedSMO(seed=-1), ValueError, "seed=-1 .*at least 0"),
    "size=1": (Chunking(size=1), ValueError, "size=1 .*at least 2"),
    "size=2.5": (Chunking(size=2.5), TypeError, "size=2.5 is a float"),
    "inner": (Chunking("fastest"), ValueError, "inner='fastest' .*'decomposition'"),
    "inner=3": (Chunking(3), TypeError, "inner=3 .*'decomposition'"),
    "inner=chunking": (Chunking("chunking"), ValueError, "inner='chunking' would never end"),
    "inner option": (Chunking(Adatron(rate=-1.0)), ValueError, "rate=-1.0"),
    "working_size=1": (Decomposition(working_size=1), ValueError, "working_size=1 .*at least 2"),
    "working_size=0": (Decomposition(working_size=0), ValueError, "working_size=0 .*at least 2"),
    "working_size=-3": (Decomposition(working_size=-3), ValueError, "working_size=-3 .*at least 2"),
    "working_size=2.5": (Decomposition(working_size=2.5), TypeError, "working_size=2.5 is a float"),
    "sample seed": (Decomposition(seed=-1), ValueError, "seed=-1 .*at least 0"),
}


@pytest.mark.parametrize("option", BAD_OPTIONS)
def test_bad_options_are_answered_in_one_sentence(option):
    solver, error, message = BAD_OPTIONS[option]
    problem = next(p for p in PROBLEMS.values() if option.startswith("inner") or not solver.accepts.refusal(p))
    with pytest.raises(error, match=message) as caught:
        solve(problem, gram(), solver)
    assert "\n" not in str(caught.value)


def test_the_bound_of_the_rate_is_that_of_the_kernel():
    matrix = Gram(Linear(), X, dtype=np.float64, threads=1)
    bound = float(2 / (X**2).sum(axis=1).max())
    problem = problems.hinge(Y, 1.0, bias="none")
    with pytest.raises(ValueError, match=f"rate={1.01 * bound}.*max K_ii = {bound:.6g}"):
        solve(problem, matrix, Adatron(rate=1.01 * bound))
    with pytest.raises(ValueError, match=f"max D_ii = {bound:g}"):
        solve(problem, matrix, SVMseq(rate=1.01 * bound))
    for solver in (Adatron(rate=0.99 * bound), SVMseq(rate=0.99 * bound)):
        assert solve(problem, matrix, solver, tol=1e-3).converged


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p: solve(p, Gram(KERNEL, X[:7])), ValueError, f"gram has 7 rows: pass one with {ROWS}"),
        (lambda p: solve(p, gram(), start=np.zeros(7)), ValueError, f"start has 7 values: pass {ROWS}"),
        (lambda p: solve(p, gram(), start=np.ones(ROWS)), ValueError, "start breaks .* feasible point"),
        (lambda p: solve(p, gram(), start=0.01 * (Y > 0)), ValueError, "start breaks .* box or sums"),
        (lambda p: solve(p, gram(), start=np.full(ROWS, np.nan)), ValueError, r"start\[0\] is NaN"),
        (lambda p: solve(p, gram(), "fastest"), ValueError, "solver='fastest' .* 'decomposition'"),
        (lambda p: solve(p, gram(), 7), TypeError, "solver=7 .* 'decomposition'"),
        (lambda p: solve(p, gram(), Adatron), TypeError, r"solver=Adatron is a class: .* Adatron\(\)"),
        (lambda p: solve(p, gram(), tol=0.0), ValueError, "tol=0.0 .* greater than 0"),
        (lambda p: solve(p, gram(), tol=np.nan), ValueError, "tol=nan .* greater than 0"),
        (lambda p: solve(p, gram(), tol="tight"), TypeError, "tol='tight' is a str"),
        (lambda p: solve(p, gram(), max_iter=-2), ValueError, "max_iter=-2 .* at least -1"),
        (lambda p: solve(p, gram(), max_iter=1.5), TypeError, "max_iter=1.5 is a float"),
        (lambda p: solve(p, gram(), max_time=0.0), ValueError, "max_time=0.0 .* greater than 0"),
        (lambda p: solve(p, gram(), max_time="soon"), TypeError, "max_time='soon' is a str"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call(PROBLEMS["hinge"])
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- problems without an answer


OVERLAP = np.random.default_rng(8).normal(size=(40, 3))
MIXED = np.where(np.random.default_rng(9).random(40) > 0.5, 1.0, -1.0)
INSEPARABLE = {
    "a duplicate of the other class": (np.vstack((X, X[:1])), np.append(Y, -Y[0]), KERNEL),
    "a duplicate, linear": (np.vstack((X, X[:1])), np.append(Y, -Y[0]), Linear()),
    "overlapping, linear": (OVERLAP, MIXED, Linear()),
    "overlapping, polynomial": (OVERLAP, MIXED, Polynomial(2, 0.5)),
    "all rows equal": (np.ones((6, 2)), np.array([1.0, -1.0] * 3), KERNEL),
}
HARD = [
    (variant, bias)
    for variant in (
        *GENERAL,
        *(v for v in COORDINATE if "random" in v or "greedy" in v or "a rate" in v),
        "chunks by smo",
    )
    for bias in ("exact", "none")
    if accepts(variant, problems.hinge(Y, inf, bias=bias))
]


@pytest.mark.parametrize(("variant", "bias"), HARD)
@pytest.mark.parametrize("case", INSEPARABLE)
def test_hard_margin_of_inseparable_classes(variant, bias, case):
    rows, labels, kernel = INSEPARABLE[case]
    problem = problems.hinge(labels, inf, bias=bias)
    solver = VARIANTS[variant]()
    if isinstance(solver, Adatron) and not isinstance(solver.rate, str):
        solver = Adatron(rate=solver.rate / max(kernel(rows).diagonal()))
    found = solve(problem, Gram(kernel, rows, dtype=np.float64, threads=1), solver, max_time=GUARD)
    assert found.status is Status.UNBOUNDED, found
    assert "cannot all be met" in str(found)
    check_feasible(problem, found.beta)


@pytest.mark.parametrize(("variant", "bias"), HARD)
@pytest.mark.parametrize("gap", [1e-2, 1e-3])
def test_a_small_margin_is_a_margin(variant, bias, gap):
    """It may take longer than there is, or more digits, but it is not told to be impossible."""
    rows = np.random.default_rng(4).uniform(-1, 1, size=(30, 2))
    labels = np.where(rows[:, 0] > 0, 1.0, -1.0)
    rows[:, 0] = labels * (np.abs(rows[:, 0]) + 0.5 * gap)
    rows[:2] = (0.5 * gap, 0.1), (-0.5 * gap, 0.1)
    labels[:2] = 1.0, -1.0
    problem = problems.hinge(labels, inf, bias=bias)
    solver = VARIANTS[variant]()
    found = solve(problem, Gram(Linear(), rows, dtype=np.float64, threads=1), solver, tol=1e-3, max_time=0.1)
    assert found.status is not Status.UNBOUNDED
    check_feasible(problem, found.beta)
    if found.converged:
        w = rows.T @ found.coef
        assert (labels * (rows @ w + found.certificate.bias) >= 1 - 2e-3).all()


# ---------------------------------------------------------------- the smallest and the strangest


@pytest.mark.parametrize("variant", VARIANTS)
@every_dtype
def test_two_rows(variant, dtype):
    rows, y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, -1.0])
    few = [problems.hinge(y, 2.0, bias=bias) for bias in ("exact", "none")]
    few += [problems.hinge(y, inf, bias=bias) for bias in ("exact", "none")]
    few += [problems.squared_hinge(y, 2.0), problems.epsilon_regression(y, 1.0, 0.1), problems.one_class(2, 0.5)]
    few += [problems.nearest_points(y), problems.nu_classification(y, 1.0), problems.nu_regression(y, 1.0, 0.5)]
    tried = 0
    for problem in few:
        if not accepts(variant, problem):
            continue
        tried += 1
        found = solve(
            problem, Gram(KERNEL, rows, dtype=dtype, threads=1), VARIANTS[variant](), tol=1e-6, max_time=GUARD
        )
        _, best = oracle.solve(problem, KERNEL(rows))
        check_optimal(problem, found, 1.1e-6, KERNEL(rows), best)
    assert tried


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_row(variant):
    row, t = np.array([[0.5, 2.0]]), np.array([1.5])
    few = [problems.epsilon_regression(t, 2.0, 0.1, bias=bias) for bias in ("exact", "none")]
    few += [problems.one_class(1, 0.5), problems.one_class(1, 1.0), problems.nu_regression(t, 1.0, 0.5)]
    few += [problems.enclosing_ball([1.0])]
    for problem in few:
        if accepts(variant, problem):
            found = solve(problem, Gram(KERNEL, row, dtype=np.float64, threads=1), VARIANTS[variant](), max_time=GUARD)
            check_optimal(problem, found, 1.001e-3, KERNEL(row), oracle.solve(problem, KERNEL(row))[1])


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_row_of_each_class_counts(variant):
    weight = np.zeros(ROWS)
    weight[[int(np.argmax(Y > 0)), int(np.argmax(Y < 0))]] = 1.0
    name = ONE_EACH[variant]
    make = problems.squared_hinge if "squared" in name else problems.hinge
    problem = make(Y, 3.0, bias="none" if "no bias" in name else "exact", weight=weight)
    found = solve(problem, gram(), VARIANTS[variant](), tol=1e-6, max_time=GUARD)
    check_optimal(problem, found, 1.001e-6, K, oracle.solve(problem, K)[1])
    assert not found.beta[weight == 0].any()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kernel", [KERNEL, Linear() + Constant(1.0)], ids=["Gaussian", "linear"])
def test_all_rows_equal(variant, kernel):
    """Nothing to learn but the share of the classes; the simplified rule makes nothing of equal rows, and says so."""
    rows, y = np.full((9, 2), 0.5), np.array([1.0] * 6 + [-1.0] * 3)
    name = ONE_EACH[variant]
    make = problems.squared_hinge if "squared" in name else problems.hinge
    problem = make(y, 2.0, bias="none" if "no bias" in name else "exact")
    solver = VARIANTS[variant]()
    if isinstance(solver, Adatron) and not isinstance(solver.rate, str):
        solver = Adatron(rate=solver.rate / max(kernel(rows).diagonal()))
    found = solve(problem, Gram(kernel, rows, dtype=np.float64, threads=1), solver, tol=1e-6, max_time=GUARD)
    if variant.startswith("simplified"):
        assert found.status in (Status.STALLED, Status.CONVERGED)
        check_feasible(problem, found.beta)
    else:
        check_optimal(problem, found, 1.001e-6, kernel(rows), oracle.solve(problem, kernel(rows))[1])


@pytest.mark.parametrize("variant", VARIANTS)
@every_dtype
def test_rows_without_length(variant, dtype):
    """K_ii = 0: nothing bends the objective there, and the box alone decides."""
    rows = X.copy()
    rows[[0, 5, 11]] = 0.0
    rows /= np.sqrt((rows**2).sum(axis=1).max())
    name = ONE_EACH[variant]
    make = problems.squared_hinge if "squared" in name else problems.hinge
    problem = make(Y, 2.0, bias="none" if "no bias" in name else "exact")
    matrix = Linear()(rows)
    found = solve(problem, Gram(Linear(), rows, dtype=dtype, threads=1), VARIANTS[variant](), tol=1e-4, max_time=GUARD)
    check_optimal(problem, found, 1.3e-4, matrix, oracle.solve(problem, matrix)[1])


@pytest.mark.parametrize("variant", [v for v in VARIANTS if accepts(v, PROBLEMS["hard margin, no bias"])])
def test_rows_without_length_have_no_margin(variant):
    rows = X.copy()
    rows[3] = 0.0
    problem = problems.hinge(np.where(X[:, 0] > 0, 1.0, -1.0), inf, bias="none")
    solver = VARIANTS[variant]()
    if isinstance(solver, Adatron) and not isinstance(solver.rate, str):
        solver = Adatron(rate=solver.rate / (rows**2).sum(axis=1).max())
    found = solve(problem, Gram(Linear(), rows, dtype=np.float64, threads=1), solver, max_time=GUARD)
    assert found.status is Status.UNBOUNDED
    check_feasible(problem, found.beta)


INDEFINITE = [
    (v, p) for v, p in CASES if p in ("hinge", "hinge, no bias", "hard margin", "squared hinge", "regression")
]


@pytest.mark.parametrize(("variant", "name"), INDEFINITE, ids=[f"{v}-{p}" for v, p in INDEFINITE])
@pytest.mark.parametrize("coef0", [-1.0, 0.5])
def test_indefinite_kernels_end(variant, name, coef0):
    """No optimum is promised; an end, a status and numbers are."""
    kernel = Sigmoid(1.0, coef0)
    problem = PROBLEMS[name]
    began = process_time()
    found = solve(problem, Gram(kernel, X, dtype=np.float64, threads=1), VARIANTS[variant](), max_time=0.2)
    assert process_time() - began < CPU_LIMIT
    assert found.status in set(Status)
    check_feasible(problem, found.beta, room=1e-7 if "qp" in variant else 1e-10)
    if found.converged:  # a point without a way down along any one or two coefficients
        assert judge(problem, found, kernel(X)).kkt_violation <= 1.001e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_negative_curvature_without_bounds_is_an_end(dtype):
    """Nothing bounds the coefficients of the squared hinge: along negative curvature they would grow till overflow."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    problem = problems.squared_hinge(np.where(rng.random(1200) > 0.5, 1.0, -1.0), 1.0)
    gram = Gram(Sigmoid(gamma=1.0, coef0=1.0), X, dtype=dtype)
    solution = Decomposition().solve(problem, gram)
    assert solution.status is Status.UNBOUNDED
    assert np.isfinite(solution.beta).all()
    assert solution.n_iter < 1000


def test_coefficients_that_overflow_are_told_from_kernel_values_that_do():
    problem = problems.hinge(np.array([1.0, -1.0, 1.0]), np.inf)
    beta = np.array([1e200, -2e200, 1e200])
    for value, told in [(1e150, "beta goes up to 2e\\+200"), (np.inf, "gram has values that are not finite")]:
        K = np.diag([value, 1.0, 1.0])
        with pytest.raises(ValueError, match=told):
            judgement(problem, Matrix(K), beta)


class Matrix:
    def __init__(self, K):
        self.K = K

    def product(self, coef):
        return self.K @ coef
