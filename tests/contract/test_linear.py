"""The solver for linear kernels: the contract of every solver, and the peers that it is compared with."""

from __future__ import annotations

from itertools import pairwise

import cases
import numpy as np
import oracle
import pytest
import test_endings as endings
import test_solvers as contract
from cases import FEW, GUARD, PROBLEMS, ROWS, K, check_feasible, check_optimal, data
from scipy import sparse

from adatron import Gram, certificate, problems, solve
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
