"""The contract of every solver: what it accepts it solves, it may be watched and stopped, and it says how it ended."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise

import numpy as np
import oracle
import pytest
from cases import (
    CASES,
    COLUMNS,
    COORDINATE,
    GENERAL,
    GUARD,
    KERNEL,
    KERNELS,
    LAYOUTS,
    ONE_EACH,
    PROBLEMS,
    ROWS,
    VARIANTS,
    K,
    T,
    X,
    Y,
    accepts,
    check_feasible,
    check_optimal,
    data,
    every_case,
    every_dtype,
    every_solver,
    gram,
    judge,
    laid_out,
    optimum,
)

from adatron import Gram, problems, solve
from adatron.kernels import Constant, Gaussian, Kernel, Linear, Polynomial, Precomputed
from adatron.problems import Problem
from adatron.solution import Status
from adatron.solvers import (
    SOLVERS,
    SOR,
    Adatron,
    SVMseq,
    describe,
)

# ---------------------------------------------------------------- the optimum


@every_case
@pytest.mark.parametrize(("dtype", "tol"), [(np.float32, 1e-3), (np.float64, 1e-6)], ids=["float32", "float64"])
def test_reaches_the_optimum(variant, name, dtype, tol):
    problem = PROBLEMS[name]
    found = solve(problem, gram(dtype), VARIANTS[variant](), tol=tol, max_time=GUARD)
    rounding = 1.3 if dtype is np.float32 else 1.001  # a quarter of tol is what float32 may take
    check_optimal(problem, found, rounding * tol, K, optimum(name)[1])
    told, truth = found.certificate, judge(problem, found)
    assert told.objective == pytest.approx(truth.objective, rel=1e-4 if dtype is np.float32 else 1e-9)
    assert told.infeasibility == truth.infeasibility
    assert told.bias == pytest.approx(truth.bias, abs=tol)


@every_solver
def test_tight_tolerance_from_float32(variant):
    """Below what float32 can tell, a solve goes on in float64."""
    name = ONE_EACH[variant]
    found = solve(PROBLEMS[name], gram(np.float32), variant, tol=1e-8, max_time=GUARD)
    check_optimal(PROBLEMS[name], found, 1.001e-8, K, optimum(name)[1])
    assert found.certificate.objective == pytest.approx(optimum(name)[1], rel=1e-7)


@every_solver
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_kernel_in_any_layout(variant, kernel, layout):
    matrix = KERNELS[kernel](X)
    exact = problems.squared_hinge(Y, 1.0)
    problem = exact if accepts(variant, exact) else problems.squared_hinge(Y, 1.0, bias="augmented")
    _, best = oracle.solve(problem, matrix)
    for dtype, tol in ((np.float32, 1e-3), (np.float64, 1e-6)):
        found = solve(problem, laid_out(layout, KERNELS[kernel], dtype), variant, tol=tol, max_time=GUARD)
        check_optimal(problem, found, 1.3 * tol, matrix, best)


@cache
def at_random(seed: int) -> tuple[Problem, Kernel, np.ndarray]:
    """Two rows to sixty; some twice, with constant features or few values; C from 1e-4 to 1e3 where ranks are high."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(2, 61)), int(rng.integers(2, 5))
    rows = rng.normal(size=(m, d))
    kind = seed % 4
    if kind == 1:
        rows = rows[rng.integers(0, max(2, m // 2), size=m)]
    elif kind == 2:
        rows[:, 0] = 3.0
    elif kind == 3:
        rows = np.round(rows)
    y = np.where(rows @ rng.normal(size=d) + 0.5 * rng.normal(size=m) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    t = np.sin(rows[:, 1]) + 0.1 * rng.normal(size=m)
    kernel = (Gaussian(1.0), Gaussian(0.5) + Constant(0.5), Linear(), Polynomial(2, 0.2), Linear() + Constant(1.0))
    chosen = kernel[seed % 5]
    C = 10.0 ** rng.uniform(-4, 2 if seed % 5 < 2 else 0)
    smaller = min((y > 0).sum(), (y < 0).sum())
    weight = np.where(rng.random(m) < 0.3, 0.0, rng.uniform(0.1, 2.0, size=m))
    weight[:2] = 1.0
    make = (
        lambda: problems.hinge(y, C),
        lambda: problems.hinge(y, C, bias="augmented"),
        lambda: problems.squared_hinge(y, C),
        lambda: problems.squared_hinge(y, C, bias="augmented"),
        lambda: problems.epsilon_regression(t, C, 0.1),
        lambda: problems.epsilon_regression(t, C, 0.1, bias="augmented"),
        lambda: problems.hinge(y, C, weight=weight),
        lambda: problems.hinge(y, C, weight=weight, bias="augmented"),
        lambda: problems.nu_classification(y, rng.uniform(0.1, 1.0) * 2 * smaller / m),
        lambda: problems.nu_regression(t, C, rng.uniform(0.1, 1.0)),
        lambda: problems.one_class(m, rng.uniform(0.05, 1.0)),
        lambda: problems.enclosing_ball(chosen(rows).diagonal()),
        lambda: problems.nearest_points(y),
        lambda: problems.nearest_points(y, upper=rng.uniform(1.0, 2.0) / smaller),
    )
    return make[seed % len(make)](), chosen, rows


RANDOM = [(v, seed) for seed in range(42) for v in GENERAL if accepts(v, at_random(seed)[0])]


@cache
def random_optimum(seed: int) -> float:
    problem, kernel, rows = at_random(seed)
    return oracle.solve(problem, kernel(rows))[1]


@pytest.mark.parametrize(("variant", "seed"), RANDOM)
def test_random_problems(variant, seed):
    problem, kernel, rows = at_random(seed)
    found = solve(problem, Gram(kernel, rows, dtype=np.float64, threads=1), variant, tol=1e-7, max_time=GUARD)
    if found.status is Status.STALLED and len(np.unique(rows, axis=0)) < len(rows) and variant == "simplified-smo":
        pytest.skip("a pair of equal rows has no curvature: this rule makes nothing of it, and says so")
    best = random_optimum(seed)
    check_optimal(problem, found, 1.001e-7, kernel(rows), best)
    assert judge(problem, found, kernel(rows)).objective == pytest.approx(best, rel=1e-6, abs=1e-8)


def in_thirds(seed: int) -> tuple[Problem, np.ndarray]:
    """Bounds that no binary number is: sums of coefficients at them miss them by a rounding."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(int(rng.integers(5, 60)), 2))
    y = np.where(rng.random(len(rows)) > 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    C = float(rng.choice([0.1, 0.3, 0.7, 1 / 3]))
    weight = rng.choice([1 / 3, 0.1, 0.7, 1.0], size=len(rows))
    return problems.hinge(y, C, weight=weight if seed % 2 else None), rows


@pytest.mark.parametrize("seed", [150, 158, 167, 173, 180, 242, 260, 274, 308, 334, 374, 385])
@pytest.mark.parametrize("variant", ["smo", "simplified-smo", "chunks by smo"])
def test_coefficients_land_on_their_bounds(variant, seed):
    """One that stays a rounding beside its bound looks free, cannot move, and holds up all others."""
    problem, rows = in_thirds(seed)
    kernel = Gaussian(3.0)
    found = solve(problem, Gram(kernel, rows, dtype=np.float64, threads=1), VARIANTS[variant](), tol=1e-6)
    check_optimal(problem, found, 1.001e-6, kernel(rows), oracle.solve(problem, kernel(rows))[1])
    for bound in (problem.lower, problem.upper):
        near = np.abs(found.beta - bound) < 1e-13
        assert (found.beta[near] == bound[near]).all()


@pytest.mark.parametrize(
    ("variant", "seed"),
    [(v, seed) for v in ("adatron, random", "svmseq, random", "sor, under") for seed in (5, 6)] + [("smo", 0)],
)
def test_slow_is_not_stalled(variant, seed):
    """The violation hovers for thousands of epochs, but the objective falls."""
    rows, _, t = data(36, features=2, seed=seed)
    if variant == "smo":
        rows, problem, tol = X, problems.epsilon_regression(T, 1e3, 0.02), 1e-4
    else:
        rows, problem, tol = np.round(rows), problems.epsilon_regression(t, 20.0, 0.1, bias="none"), 1e-5
    matrix = Gram(Linear(), rows, dtype=np.float64, threads=1)
    found = solve(problem, matrix, VARIANTS[variant](), tol=tol, max_time=GUARD)
    check_optimal(problem, found, 1.001 * tol, Linear()(rows), oracle.solve(problem, Linear()(rows))[1])


# ---------------------------------------------------------------- on the way: feasible, and downhill


@every_case
def test_feasible_wherever_it_ends(variant, name):
    problem = PROBLEMS[name]
    for max_iter in (0, 1, 2, 7):
        found = solve(problem, gram(), VARIANTS[variant](), tol=1e-9, max_iter=max_iter)
        check_feasible(problem, found.beta)
        verdict = judge(problem, found)
        assert found.n_iter <= max_iter
        if found.converged and max_iter:  # a chunk or two may be all that it takes
            assert verdict.kkt_violation <= 1.001e-9
        else:
            assert found.status is Status.MAX_ITER
            assert found.n_iter == max_iter
            assert str(found).startswith("The solver used up its iterations")
        assert found.certificate.objective == pytest.approx(verdict.objective, rel=1e-9, abs=1e-12)
        assert found.certificate.kkt_violation == pytest.approx(verdict.kkt_violation, rel=1e-6, abs=1e-9)
        assert found.coef.shape == (ROWS,)


@every_case
def test_feasible_at_every_report(variant, name):
    """Seen through `held_out`: one coefficient a row, inside the box and with its sums."""
    problem = PROBLEMS[name]
    low, high = problem.lower.reshape(-1, ROWS).sum(axis=0), problem.upper.reshape(-1, ROWS).sum(axis=0)
    seen = []

    def held_out(coef: np.ndarray, bias: float) -> float:
        seen.append(coef.copy())
        return bias

    solve(problem, gram(), VARIANTS[variant](), tol=1e-3, trace=True, held_out=held_out)
    assert seen
    for coef in seen:
        assert (coef >= low).all()
        assert (coef <= high).all()
        room = 1e-10 * (1 + np.abs(coef).sum())
        if len(problem.totals) == 1 or (len(problem.totals) and problem.doubled):
            assert coef.sum() == pytest.approx(problem.totals.sum(), abs=room)
        elif len(problem.totals) == 2:
            for members, total in problem.sums:
                assert coef[members].sum() == pytest.approx(total, abs=room)


DOWNHILL = [
    (v, p)
    for v, p in CASES
    if not (v.startswith("adatron") and len(PROBLEMS[p].totals)) and v not in ("qp", "chunks by adatron")
]


@pytest.mark.parametrize(("variant", "name"), DOWNHILL, ids=[f"{v}-{p}" for v, p in DOWNHILL])
def test_objective_never_rises(variant, name):
    """Proven for one or two coefficients at a time, and for chunks solved one after the other."""
    found = solve(PROBLEMS[name], gram(), VARIANTS[variant](), tol=1e-6, trace=True)
    objective = np.array(found.trace["objective"])
    assert (np.diff(objective) <= 1e-12 * (1 + np.abs(objective[1:]))).all()
    assert objective[-1] <= optimum(name)[1] + 1e-6 * (1 + 2 * np.abs(found.beta).sum())


# ---------------------------------------------------------------- warm starts

WARM = [(v, p) for v, p in CASES if v != "qp"]  # an interior-point method makes nothing of a start


@pytest.mark.parametrize(("variant", "name"), WARM, ids=[f"{v}-{p}" for v, p in WARM])
def test_a_start_at_the_optimum_is_the_end(variant, name):
    problem = PROBLEMS[name]
    cold = solve(problem, gram(), VARIANTS[variant](), tol=1e-6, max_time=GUARD)
    start = cold.beta.copy()
    warm = solve(problem, gram(), VARIANTS[variant](), start=start, tol=1e-6, max_time=GUARD)
    assert warm.converged
    assert warm.n_iter == 0
    np.testing.assert_array_equal(start, cold.beta)  # what was handed in is left alone
    np.testing.assert_allclose(warm.beta, cold.beta, rtol=1e-12)


def test_describes_who_takes_warm_starts():
    assert [name for name in SOLVERS if not SOLVERS[name]().accepts.warm_start] == ["qp"]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("factor", [0.25, 4.0])
def test_from_the_solution_of_another_C(variant, factor):
    name = ONE_EACH[variant]
    bias = "none" if "no bias" in name else "exact"
    make = problems.squared_hinge if "squared" in name else problems.hinge
    other = make(Y, 2.0 * factor, bias=bias)
    before = solve(other, gram(), VARIANTS[variant](), tol=1e-6).beta
    start = before / max(1.0, factor)  # shrunk into the box, the sum kept
    found = solve(PROBLEMS[name], gram(), VARIANTS[variant](), start=start, tol=1e-6, max_time=GUARD)
    check_optimal(PROBLEMS[name], found, 1.001e-6, K, optimum(name)[1])


# ---------------------------------------------------------------- the same again


@every_case
def test_the_same_seed_gives_the_same_bits(variant, name):
    first, second = (solve(PROBLEMS[name], gram(), VARIANTS[variant](), tol=1e-2) for _ in range(2))
    np.testing.assert_array_equal(first.beta, second.beta)
    assert first.n_iter == second.n_iter


@pytest.mark.parametrize("make", [Adatron, SVMseq, SOR])
def test_another_seed_goes_another_way(make):
    problem = PROBLEMS["hinge, no bias"]
    some = [solve(problem, gram(), make(order="random", seed=seed), tol=1e-9, max_iter=3).beta for seed in (0, 0, 1)]
    np.testing.assert_array_equal(some[0], some[1])
    assert not np.array_equal(some[0], some[2])


@every_solver
def test_threads_change_nothing_that_matters(variant):
    name = ONE_EACH[variant]
    one, two = (solve(PROBLEMS[name], gram(threads=n), variant, tol=1e-6) for n in (1, 2))
    assert two.converged
    assert two.certificate.objective == pytest.approx(one.certificate.objective, rel=1e-9)
    np.testing.assert_allclose(two.beta, one.beta, atol=1e-4)


WATCHED = [(v, p) for v, p in CASES if p in ("hinge", "hinge, no bias", "squared hinge", "regression", "ball")]


@pytest.mark.parametrize(("variant", "name"), WATCHED, ids=[f"{v}-{p}" for v, p in WATCHED])
def test_watching_changes_nothing(variant, name):
    """Trace, progress and held-out error look on: the coefficients are the same to the bit."""
    problem = PROBLEMS[name]
    alone = solve(problem, gram(), VARIANTS[variant](), tol=1e-5)
    options = {"trace": True, "progress": lambda at: None, "held_out": lambda coef, bias: 0.0}
    watched = solve(problem, gram(), VARIANTS[variant](), tol=1e-5, **options)
    np.testing.assert_array_equal(watched.beta, alone.beta)
    assert watched.n_iter == alone.n_iter


def test_watching_changes_nothing_where_the_secants_are_lost():
    matrix = Linear()(X)
    problem = problems.hinge(Y, 50.0)
    held = [Gram(Precomputed(), matrix, dtype=np.float64, threads=1) for _ in range(2)]
    alone = solve(problem, held[0], "adatron", tol=1e-3, max_iter=400)
    watched = solve(problem, held[1], "adatron", tol=1e-3, max_iter=400, trace=True, held_out=lambda coef, bias: 0.0)
    assert alone.n_iter > 60  # the search for λ has been given up
    np.testing.assert_array_equal(watched.beta, alone.beta)


# ---------------------------------------------------------------- the trace


@every_case
def test_trace(variant, name):
    problem = PROBLEMS[name]
    tol = 1e-5
    found = solve(problem, gram(), VARIANTS[variant](), tol=tol, trace=True)
    trace, verdict = found.trace, found.certificate
    more = {"active"} if variant == "decomposition" else set()
    assert set(trace) == set(COLUMNS) | more
    assert {len(trace[column]) for column in trace} == {len(trace)}
    for column in ("epoch", "seconds", "updates", "kernel_evaluations"):
        assert all(after >= before for before, after in pairwise(trace[column])), column
    if variant in COORDINATE:
        assert trace["epoch"] == list(range(found.n_iter + 1))
    assert trace["seconds"][-1] <= found.seconds
    assert trace["kernel_evaluations"][-1] > 0 or variant.startswith("chunk")
    assert min(trace["kkt_violation"]) >= 0
    assert trace["updates"][-1] > 0

    room = 10 * tol * (1 + np.abs(found.beta).sum())
    assert trace["objective"][-1] == pytest.approx(verdict.objective, abs=room)
    assert trace["kkt_violation"][-1] <= 2 * tol
    assert trace["bias"][-1] == pytest.approx(verdict.bias, abs=10 * tol)
    assert trace["sum"][-1] == pytest.approx(found.beta.sum(), abs=room)
    assert trace["support"][-1] == pytest.approx(np.count_nonzero(found.beta), abs=1)
    bounds = (found.beta != 0) & ((found.beta == problem.lower) | (found.beta == problem.upper))
    bounds &= problem.lower < problem.upper
    assert trace["at_bound"][-1] == pytest.approx(bounds.sum(), abs=1)


def test_no_trace_unless_asked_for():
    assert solve(PROBLEMS["hinge"], gram()).trace is None


CLASSIFIERS = [(v, p) for v, p in CASES if p.startswith("hinge")]


@pytest.mark.parametrize(("variant", "name"), CLASSIFIERS, ids=[f"{v}-{p}" for v, p in CLASSIFIERS])
def test_gap_in_the_trace_bounds_what_is_missing(variant, name):
    found = solve(PROBLEMS[name], gram(), VARIANTS[variant](), tol=1e-6, trace=True)
    gap, objective = np.array(found.trace["gap"]), np.array(found.trace["objective"])
    assert np.isfinite(gap).all()
    assert (gap >= 0).all()
    assert gap[-1] < 1e-4
    best = optimum(name)[1]
    if variant.startswith("adatron") and len(PROBLEMS[name].totals):
        return  # off its sum an objective may lie below the best; what the gap bounds is the Lagrangian
    below = objective <= 0  # a relative gap of a dual value below zero is one or more
    assert ((objective - best)[below] <= gap[below] * abs(best) + 1e-9).all()
    assert (gap[~below] >= 1).all()


@every_solver
def test_held_out_error_is_recorded(variant):
    name = ONE_EACH[variant]
    others = KERNEL(X, X + 0.1)
    seen = []

    def held_out(coef: np.ndarray, bias: float) -> float:
        seen.append(float((np.sign(coef @ others + bias) != Y).mean()))
        return seen[-1]

    found = solve(PROBLEMS[name], gram(), variant, tol=1e-5, trace=True, held_out=held_out)
    assert found.trace["error"] == seen
    truth = (np.sign(found.coef @ others + found.certificate.bias) != Y).mean()
    assert seen[-1] == pytest.approx(truth, abs=1 / ROWS)


@every_solver
def test_trace_as_frame_and_json(variant):
    found = solve(PROBLEMS[ONE_EACH[variant]], gram(), variant, trace=True)
    frame = found.trace.frame()
    assert list(frame.columns) == list(found.trace)
    assert len(frame) == len(found.trace)
    np.testing.assert_array_equal(frame["objective"], found.trace["objective"])
    read = json.loads(found.trace.to_json())
    assert read.keys() == dict(found.trace).keys()
    assert read["objective"] == found.trace["objective"]


def test_json_has_no_numbers_that_are_none():
    found = solve(problems.one_class(ROWS, 0.2), gram(), trace=True)
    assert np.isnan(found.trace["margin"]).all()  # one class has no margin
    assert set(json.loads(found.trace.to_json())["margin"]) == {None}


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != "decomposition"])
def test_one_trace_for_both_precisions(variant):
    """A solve that goes on in float64 counts on, too."""
    found = solve(PROBLEMS[ONE_EACH[variant]], gram(np.float32), VARIANTS[variant](), tol=1e-7, trace=True)
    trace = found.trace
    for column in ("epoch", "seconds", "updates", "kernel_evaluations"):
        assert all(after >= before for before, after in pairwise(trace[column])), column
    if variant in COORDINATE:
        assert trace["epoch"][-1] == found.n_iter


# ---------------------------------------------------------------- a cache that holds next to nothing

WIDE, WIDE_Y, _ = data(200, seed=6)


@pytest.mark.parametrize("variant", [*COORDINATE, "smo", "simplified-smo", "nearest-point", "decomposition"])
@every_dtype
def test_a_tiny_cache_reaches_the_optimum(variant, dtype):
    name = ONE_EACH[variant]
    make = problems.squared_hinge if "squared" in name else problems.hinge
    problem = make(WIDE_Y, 2.0, bias="none" if "no bias" in name else "exact")
    matrix = KERNEL(WIDE)
    evaluations = []
    for cache_bytes in (2e9, 1):
        held = Gram(KERNEL, WIDE, dtype=dtype, threads=1, cache_bytes=cache_bytes)
        found = solve(problem, held, VARIANTS[variant](), tol=1e-3, max_time=GUARD, trace=True)
        assert found.converged
        check_feasible(problem, found.beta)
        assert judge(problem, found, matrix).kkt_violation <= 1.3e-3
        evaluations.append((found.trace["kernel_evaluations"][-1], found.certificate.objective))
    (whole, objective), (part, again) = evaluations
    assert whole <= 200 * 200
    assert part > 2 * whole or variant == "decomposition"
    assert again == pytest.approx(objective, rel=1e-3)


# ---------------------------------------------------------------- what they say of themselves


def test_describe_names_every_solver():
    text = describe()
    cards = text.split("\n\n")
    assert [card.splitlines()[0] for card in cards] == list(SOLVERS)
    for name, card in zip(SOLVERS, cards, strict=True):
        about = SOLVERS[name]().about
        assert card == describe(name)
        for said in (about.update, about.source, about.good_for, f"{about.iteration}s"):
            assert said in card
    assert describe("smo").startswith("smo\n")
    assert "takes     one sum; warm starts" in describe("smo")
    with pytest.raises(ValueError, match=r"name='libsvm' .*'decomposition'"):
        describe("libsvm")


@pytest.mark.parametrize("name", GENERAL)
def test_names_are_those_of_the_table(name):
    assert SOLVERS[name]().name == name
    assert str(solve(PROBLEMS[ONE_EACH[name]], gram(), name)).startswith("The solver reached the tolerance")
