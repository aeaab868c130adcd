"""The solver for linear kernels: the contract of every solver, and the peers that it is compared with."""

from __future__ import annotations

import os
import signal
from itertools import pairwise

import cases
import numpy as np
import oracle
import pytest
import test_endings as endings
import test_solvers as contract
from cases import FEW, GUARD, PROBLEMS, ROWS, K, check_feasible, check_optimal, data
from scipy import sparse
from test_endings import careful_ctrl_c  # noqa: F401

from adatron import Gram, _core, certificate, problems, solve, weight_space
from adatron.kernels import Constant, Gaussian, Linear, Precomputed
from adatron.solution import Status
from adatron.solvers import LinearSolver

# With rows F and F Fᵀ = K the linear kernel has the Gram matrix that the other solvers' cases have.
FACTOR = np.linalg.cholesky(K + 1e-14 * np.eye(ROWS))
METHODS = {
    "linear": LinearSolver,
    "linear, coordinate": lambda: LinearSolver("coordinate"),
    "linear, all rows": lambda: LinearSolver("coordinate", shrinking=False),
    "linear, newton": lambda: LinearSolver("newton"),
}
CASES = [
    (method, name)
    for method in METHODS
    for name, problem in PROBLEMS.items()
    if LinearSolver.accepts.refusal(problem) is None and (method != "linear, all rows" or name in FEW)
]
every_case = pytest.mark.parametrize(("variant", "name"), CASES, ids=[f"{v}-{p}" for v, p in CASES])
every_method = pytest.mark.parametrize("variant", METHODS)


def gram(dtype: type = np.float64, **options) -> Gram:
    return Gram(Linear(), FACTOR, **({"dtype": dtype, "threads": 1} | options))


@pytest.fixture(autouse=True)
def on_a_linear_kernel(monkeypatch):
    """The contract's tests with these methods and this matrix."""
    for name, make in METHODS.items():
        monkeypatch.setitem(cases.VARIANTS, name, make)
        monkeypatch.setitem(cases.ONE_EACH, name, "hinge")
    for module in (contract, endings):
        monkeypatch.setattr(module, "gram", gram)


# ---------------------------------------------------------------- the contract


@every_case
@pytest.mark.parametrize(("dtype", "tol"), [(np.float32, 1e-3), (np.float64, 1e-6)], ids=["float32", "float64"])
def test_reaches_the_optimum(variant, name, dtype, tol):
    contract.test_reaches_the_optimum(variant, name, dtype, tol)


@every_case
@pytest.mark.parametrize(
    "clause",
    [
        contract.test_feasible_wherever_it_ends,
        contract.test_feasible_at_every_report,
        contract.test_a_start_at_the_optimum_is_the_end,
        contract.test_the_same_seed_gives_the_same_bits,
        contract.test_watching_changes_nothing,
        endings.test_no_time_at_all,
    ],
    ids=lambda clause: clause.__name__,
)
def test_contract(clause, variant, name):
    clause(variant, name)


@every_method
@pytest.mark.parametrize(
    "clause",
    [
        contract.test_one_trace_for_both_precisions,
        endings.test_any_answer_but_true_goes_on,
        endings.test_an_interrupt_in_progress_ends_it,
        endings.test_errors_in_progress_are_the_callers,
    ],
    ids=lambda clause: clause.__name__,
)
def test_contract_of_each_method(clause, variant):
    clause(variant)


@pytest.mark.parametrize(
    "clause",
    [
        contract.test_tight_tolerance_from_float32,
        contract.test_threads_change_nothing_that_matters,
        contract.test_held_out_error_is_recorded,
        contract.test_trace_as_frame_and_json,
        contract.test_names_are_those_of_the_table,
    ],
    ids=lambda clause: clause.__name__,
)
def test_contract_by_name(clause):
    clause("linear")


@every_method
@pytest.mark.parametrize("factor", [0.25, 4.0])
def test_from_the_solution_of_another_C(variant, factor):
    contract.test_from_the_solution_of_another_C(variant, factor)


@every_method
@pytest.mark.parametrize("calls", [1, 3])
def test_progress_may_stop_it(variant, calls):
    endings.test_progress_may_stop_it(variant, calls)


@every_case
def test_trace(variant, name):
    tol = 1e-5
    found = solve(PROBLEMS[name], gram(), METHODS[variant](), tol=tol, trace=True)
    trace, verdict = found.trace, found.certificate
    assert set(trace) == set(cases.COLUMNS)
    for column in ("epoch", "seconds", "updates"):
        assert all(after >= before for before, after in pairwise(trace[column])), column
    assert trace["epoch"][0] == 0
    assert trace["epoch"][-1] == found.n_iter
    if variant in ("linear, coordinate", "linear, all rows"):
        assert sorted(set(trace["epoch"])) == list(range(found.n_iter + 1))
    assert trace["kernel_evaluations"][-1] == 0
    room = 10 * tol * (1 + np.abs(found.beta).sum())
    assert trace["objective"][-1] == pytest.approx(verdict.objective, abs=room)
    assert trace["kkt_violation"][-1] <= 2 * tol
    assert trace["bias"][-1] == pytest.approx(verdict.bias, abs=10 * tol)
    assert trace["support"][-1] == pytest.approx(np.count_nonzero(found.beta), abs=1)


@pytest.mark.parametrize("name", [p for p in PROBLEMS if "no bias" in p and "hard" not in p])
def test_objective_never_rises(name):
    """Without a sum every step of coordinate descent is downhill."""
    found = solve(PROBLEMS[name], gram(), LinearSolver("coordinate"), tol=1e-6, trace=True)
    objective = np.array(found.trace["objective"])
    assert (np.diff(objective) <= 1e-12 * (1 + np.abs(objective[1:]))).all()


def test_another_seed_goes_another_way():
    problem = PROBLEMS["hinge, no bias"]
    some = [solve(problem, gram(), LinearSolver("coordinate", seed=s), tol=1e-9, max_iter=3).beta for s in (0, 0, 1)]
    np.testing.assert_array_equal(some[0], some[1])
    assert not np.array_equal(some[0], some[2])


# ---------------------------------------------------------------- what it takes


@pytest.mark.parametrize("name", [n for n, p in PROBLEMS.items() if LinearSolver.accepts.refusal(p) is not None])
def test_refuses_problems_and_names_a_solver(name):
    with pytest.raises(ValueError, match=r"^solver='linear' does not take .*: pass solver='decomposition'\.$"):
        solve(PROBLEMS[name], gram(), "linear")


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear() * Linear(), Linear() + Gaussian(1.0)], ids=repr)
def test_refuses_kernels_that_are_not_linear(kernel):
    other = Gram(kernel, FACTOR, dtype=np.float64)
    with pytest.raises(ValueError, match=r"does not take kernel=.*: pass solver='decomposition'\.$"):
        solve(PROBLEMS["hinge"], other, "linear")
    with pytest.raises(ValueError, match="does not take kernel="):
        LinearSolver().solve(PROBLEMS["hinge"], other)


def test_refuses_a_matrix_computed_beforehand():
    with pytest.raises(ValueError, match=r"does not take kernel=Precomputed\(\)"):
        solve(PROBLEMS["hinge"], Gram(Precomputed(), K), "linear")


@pytest.mark.parametrize(
    ("options", "message"), [({"method": "simplex"}, "method='simplex'"), ({"shrinking": "no"}, "shrinking='no'")]
)
def test_options_are_checked(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        solve(PROBLEMS["hinge"], gram(), LinearSolver(**options))


# ---------------------------------------------------------------- data of every kind

X, Y3, T3 = data(200, features=5, seed=3)
KINDS = {
    "dense": X,
    "float32": X.astype(np.float32),
    "sparse": sparse.csr_array(np.where(np.abs(X) > 0.8, X, 0.0)),
    "sparse float32": sparse.csr_array(np.where(np.abs(X) > 0.8, X, 0.0).astype(np.float32)),
    "wide": np.hstack((X, np.random.default_rng(0).normal(size=(200, 300)))),
    "constant features": np.hstack((X, np.full((200, 2), 3.0))),
    "duplicate rows": X[np.arange(200) // 4],
    "zero rows": X * (np.arange(200) % 3 > 0)[:, None],
    "empty columns": sparse.csr_array(np.hstack((np.zeros((200, 3)), X, np.zeros((200, 3))))),
    "no values": sparse.csr_array((200, 4)),
    "one feature": X[:, :1],
    "large": 1e100 * X,
    "small": 1e-30 * X,
    "columns of any scale": X * 10.0 ** np.array([-4, -2, 0, 2, 3]),
}
MAKERS = {
    "hinge": lambda bias: problems.hinge(Y3, 1.0, bias=bias),
    "squared hinge": lambda bias: problems.squared_hinge(Y3, 1.0, bias=bias),
    "regression": lambda bias: problems.epsilon_regression(T3, 1.0, 0.1, bias=bias),
    "weights": lambda bias: problems.hinge(Y3, 1.0, bias=bias, weight=np.arange(200) % 4 * 0.5),
}


@every_method
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", MAKERS)
@pytest.mark.parametrize("bias", ["exact", "augmented", "none"])
def test_data_of_every_kind(variant, kind, use, bias):
    rows = KINDS[kind]
    kernel = Linear() + Constant(1.0) if bias == "augmented" else Linear()
    problem = MAKERS[use](bias)
    held = Gram(kernel, rows, dtype=np.float64, threads=1)
    found = solve(problem, held, METHODS[variant](), tol=1e-4, max_time=GUARD)
    check_feasible(problem, found.beta)
    if kind in ("large",):  # rounding is more than the tolerance
        assert found.status in (Status.CONVERGED, Status.IMPRECISE, Status.STALLED)
        return
    dense = rows.toarray() if sparse.issparse(rows) else rows
    matrix = kernel(np.asarray(dense, dtype=np.float64))
    assert found.converged, found
    truth = certificate(problem, oracle.DenseGram(matrix), found.beta)
    assert truth.kkt_violation <= 1.01e-4
    engine = solve(problem, Gram(kernel, rows, dtype=np.float64, threads=1), tol=1e-6)
    assert truth.objective == pytest.approx(engine.certificate.objective, rel=1e-3, abs=1e-6)


@every_method
@pytest.mark.parametrize("use", MAKERS)
@pytest.mark.parametrize("bias", ["exact", "none"])
def test_tight_tolerance(variant, use, bias):
    problem = MAKERS[use](bias)
    found = solve(problem, Gram(Linear(), X, dtype=np.float64, threads=1), METHODS[variant](), tol=1e-8, max_time=GUARD)
    check_optimal(problem, found, 1.001e-8, Linear()(X), oracle.solve(problem, Linear()(X))[1])


# ---------------------------------------------------------------- slow, long, interrupted


def test_what_is_slow_is_handed_over():
    """Coordinate descent on columns of very different scales crawls: the general engine goes on from there."""
    rows, y, _ = data(600, features=4, seed=1)
    rows *= np.array([1.0, 3.0, 10.0, 30.0])
    problem = problems.hinge(y, 10.0)
    held = Gram(Linear(), rows, dtype=np.float64, threads=1)
    found = solve(problem, held, LinearSolver("coordinate"), tol=1e-3, trace=True)
    assert found.converged
    assert found.trace["kernel_evaluations"][-1] > 0
    assert found.trace["epoch"] == sorted(found.trace["epoch"])
    newton = solve(problem, Gram(Linear(), rows, dtype=np.float64, threads=1), LinearSolver("newton"), tol=1e-3)
    assert newton.certificate.objective == pytest.approx(found.certificate.objective, rel=1e-4)


def test_limited_epochs_are_not_handed_over():
    rows, y, _ = data(600, features=4, seed=1)
    held = Gram(Linear(), rows * 10.0 ** np.arange(4), dtype=np.float64, threads=1)
    found = solve(problems.hinge(y, 10.0), held, LinearSolver("coordinate"), tol=1e-9, max_iter=400)
    assert found.status is Status.MAX_ITER
    assert found.n_iter == 400
    assert held.evaluations == 0


LONG = np.random.default_rng(0).normal(size=(4000, 300)) * 10.0 ** np.linspace(-3, 3, 300)
SIDES = np.where(np.random.default_rng(1).random(4000) > 0.5, 1.0, -1.0)


@pytest.mark.parametrize("method", ["coordinate", "newton"])
@pytest.mark.usefixtures("careful_ctrl_c")
def test_ctrl_c_is_answered(method):
    problem = problems.hinge(SIDES, 1e3)
    held = Gram(Linear(), LONG, dtype=np.float64, threads=1)
    heard = []

    def progress(at):
        heard.append(at)
        if len(heard) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    found = solve(problem, held, LinearSolver(method), tol=1e-12, progress=progress)
    assert found.status is Status.INTERRUPTED
    check_feasible(problem, found.beta)


@pytest.mark.parametrize("method", ["coordinate", "newton"])
@pytest.mark.parametrize("bias", ["exact", "none"])
def test_max_time(method, bias):
    problem = problems.hinge(SIDES, 1e3, bias=bias)
    held = Gram(Linear(), LONG, dtype=np.float64, threads=1)
    found = solve(problem, held, LinearSolver(method), tol=1e-12, max_time=0.05, max_iter=10**9)
    assert found.status is Status.MAX_TIME
    check_feasible(problem, found.beta)


# ---------------------------------------------------------------- random problems


@pytest.mark.parametrize("seed", range(60))
def test_random_problems(seed):
    """Rows from 2 to 60, features from 1 to 8, C from 1e-3 to 1e3: against an interior-point method."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(2, 61)), int(rng.integers(1, 9))
    rows = rng.normal(size=(m, d))
    if seed % 3 == 1:
        rows = np.round(rows)
    y = np.where(rows @ rng.normal(size=d) + 0.5 * rng.normal(size=m) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weight = np.where(rng.random(m) < 0.2, 0.0, rng.uniform(0.2, 2.0, size=m))
    weight[:2] = 1.0
    C, bias = 10.0 ** rng.uniform(-3, 3), ("exact", "none", "augmented")[seed % 3]
    problem = (
        lambda: problems.hinge(y, C, bias=bias, weight=weight),
        lambda: problems.squared_hinge(y, C, bias=bias, weight=weight),
        lambda: problems.epsilon_regression(rows[:, 0] + 0.3 * rng.normal(size=m), C, 0.1, bias=bias, weight=weight),
        lambda: problems.hinge(y, C, bias=bias),
    )[seed % 4]()
    kernel = Linear() + Constant(2.0) if bias == "augmented" else 3.0 * Linear()
    best = oracle.solve(problem, kernel(rows))[1]
    X = sparse.csr_array(rows) if seed % 2 else rows
    for make in METHODS.values():
        found = solve(problem, Gram(kernel, X, dtype=np.float64, threads=1), make(), tol=1e-5, max_time=GUARD)
        check_optimal(problem, found, 1.01e-5, kernel(rows), best)


# ---------------------------------------------------------------- products by way of the weights


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("large", "small")])
@pytest.mark.parametrize("kernel", [Linear(), 2.5 * Linear() + Constant(0.7)], ids=["linear", "with a constant"])
def test_products_are_exact_and_say_so(kind, kernel):
    rows = KINDS[kind]
    dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows).astype(np.longdouble)
    scale, constant = (1.0, 0.0) if isinstance(kernel, Linear) else (2.5, 0.7)
    coef = np.random.default_rng(0).normal(size=200) * (np.arange(200) % 3 > 0)
    truth = scale * (dense @ (coef @ dense)) + np.longdouble(constant) * coef.astype(np.longdouble).sum()
    for dtype in (np.float32, np.float64):
        held = Gram(kernel, rows, dtype=dtype, threads=2)
        off = float(np.abs(held.product(coef) - truth).max())
        assert off <= held.rounding(coef, np.inf)  # the bound alone
        assert off <= held.rounding(coef) + 1e-15 * float(np.abs(truth).max())  # measured, on values in float64
        assert held.rounding(coef) <= held.rounding(coef, np.inf)
        assert held.rounding(coef, np.inf) <= 1e-9 * (1 + float(np.abs(truth).max()))
        assert held.evaluations == 0
        np.testing.assert_allclose(held.rows([3, 5]), kernel(rows)[[3, 5]], rtol=1e-5, atol=1e-4)
        assert held.evaluations > 0


def test_duplicates_in_a_sparse_matrix_are_summed():
    rows = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    held, summed = Gram(Linear(), rows), Gram(Linear(), rows.toarray())
    np.testing.assert_array_equal(held.product(np.ones(2)), summed.product(np.ones(2)))
    problem = problems.hinge([1.0, -1.0], 5.0, bias="none")
    steps = [solve(problem, each, LinearSolver("coordinate"), max_iter=1).beta for each in (held, summed)]
    np.testing.assert_array_equal(*steps)
    assert rows.nnz == 3  # what was handed in is left alone


# ---------------------------------------------------------------- the core's own checks


def native(dtype=np.float64):
    make = _core.FeatureRows64 if dtype == np.float64 else _core.FeatureRows32
    return make.dense(np.ones((4, 3), dtype=dtype))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda r: r.add_weights(coef=np.ones(3), first=0, last=4, out=np.zeros(3)), "coef has 3 entries: pass 4"),
        (lambda r: r.add_weights(coef=np.ones(4), first=0, last=5, out=np.zeros(3)), "first=0, last=5 are no range"),
        (lambda r: r.add_weights(coef=np.ones(4), first=-1, last=4, out=np.zeros(3)), "first=-1"),
        (lambda r: r.add_weights(coef=np.ones(4), first=0, last=4, out=np.zeros(4)), "out has 4 entries: pass 3"),
        (lambda r: r.values(weights=np.ones(4), first=0, last=4, out=np.zeros(4), threads=1), "weights has 4 entries"),
        (lambda r: r.values(weights=np.ones(3), first=2, last=1, out=np.zeros(4), threads=1), "are no range"),
        (lambda r: r.values(weights=np.ones(3), first=0, last=4, out=np.zeros(3), threads=1), "out has 3 entries"),
        (
            lambda r: r.add_outer(index=np.array([4]), weight=np.ones(1), out=np.zeros((3, 3)), threads=1),
            r"index\[0\]=4 is out of range",
        ),
        (
            lambda r: r.add_outer(index=np.array([0]), weight=np.ones(2), out=np.zeros((3, 3)), threads=1),
            "weight has 2 entries: pass 1",
        ),
        (
            lambda r: r.add_outer(index=np.array([0]), weight=-np.ones(1), out=np.zeros((3, 3)), threads=1),
            "weight holds negative numbers",
        ),
        (
            lambda r: r.add_outer(index=np.array([0]), weight=np.ones(1), out=np.zeros((2, 3)), threads=1),
            r"out has shape \(2, 3\): pass \(3, 3\)",
        ),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_features_are_checked(act, message, dtype):
    with pytest.raises(ValueError, match=message):
        act(native(dtype))


def test_sparse_rows_of_features_are_checked():
    good = {"start": np.array([0, 1, 2]), "feature": np.array([0, 2], dtype=np.int32), "value": np.ones(2)}
    for wrong, message in (
        ({"start": np.array([0, 2, 1])}, "start decreases"),
        ({"feature": np.array([0, 3], dtype=np.int32)}, r"feature\[1\]=3 is out of range"),
        ({"value": np.ones(3)}, "value has 3 entries: pass 2"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.FeatureRows64.sparse(**{**good, **wrong}, features=3)


def test_coordinate_descent_in_the_core_is_checked():
    rows = native()
    good = {**problems.hinge(np.array([1.0, -1.0, 1.0, -1.0])).spans, "beta": np.zeros(4)}
    options = {"scale": 1.0, "constant": 0.0, "seed": 0, "shrinking": True}
    descent = _core.LinearCoordinate64(rows, **good, **options)
    with pytest.raises(ValueError, match="beta has 3 entries: pass 4"):
        descent.load(np.zeros(3))
    with pytest.raises(ValueError, match="beta has 5 entries: pass 4"):
        _core.LinearCoordinate64(rows, **{**good, "beta": np.zeros(5)}, **options)
    two = problems.nu_classification(np.array([1.0, -1.0, 1.0, -1.0])).spans
    with pytest.raises(ValueError, match="totals has 2 entries: pass at most 1"):
        _core.LinearCoordinate64(rows, **two, beta=np.zeros(4), **options)
    three = problems.hinge(np.array([1.0, -1.0, 1.0])).spans
    with pytest.raises(ValueError, match="rows=3 for X of 4 rows"):
        _core.LinearCoordinate64(rows, **three, beta=np.zeros(3), **options)


@pytest.mark.parametrize("features", [1, 3, 4, 15, 16, 17, 33])
@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_loops_of_every_instruction_set(isa, features, dtype):
    wanted = getattr(_core.Isa, isa)
    if not _core.isa_supported(wanted):
        pytest.skip(f"no {isa} here")
    rng = np.random.default_rng(features)
    values = rng.normal(size=(50, features)).astype(dtype)
    coef, w, index = rng.normal(size=50), rng.normal(size=features), np.arange(0, 50, 2)
    before = _core.current_isa()
    _core.force_isa(wanted)
    try:
        rows = (_core.FeatureRows64 if dtype == np.float64 else _core.FeatureRows32).dense(values)
        out, sums, outer = np.zeros(50), np.zeros(features), np.zeros((features, features))
        rows.values(weights=w, first=0, last=50, out=out, threads=2)
        rows.add_weights(coef=coef, first=0, last=50, out=sums)
        rows.add_outer(index=index, weight=coef[index] ** 2, out=outer, threads=2)
    finally:
        _core.force_isa(before)
    exact = values.astype(np.float64)
    np.testing.assert_allclose(out, exact @ w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sums, coef @ exact, rtol=1e-12, atol=1e-12)
    some = exact[index] * coef[index, None]
    np.testing.assert_allclose(np.triu(outer), np.triu(some.T @ some), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_extended_sums_of_sparse_rows(seed):
    rng = np.random.default_rng(seed)
    count, features = rng.integers(1, 12), rng.integers(1, 30)
    support, rows = (
        sparse.random_array((int(n), int(features)), density=rng.random(), rng=rng, format="csr") for n in (count, 5)
    )
    coef = rng.normal(size=count)
    expected = rows.toarray() @ (coef @ support.toarray())
    made = weight_space._sparse_dots(support, coef.astype(np.longdouble), rows)
    np.testing.assert_allclose(made.astype(float), expected, rtol=1e-12, atol=1e-14)
