"""Climbs on a matrix in memory: over stretches of zeros, from problem to problem, on parts of it."""

import numpy as np
import pytest

from adatron import _core, problems
from adatron.certificates import gradient, kkt_violation
from adatron.kernels import Gaussian
from adatron.selection.widths import STRETCH, Matrix, Widths

LARGE = 40.0  # a gamma at which far rows have nothing in common


def engine_of(problem, matrix, beta=None, size=64):
    make = _core.Engine64 if matrix.values.dtype == np.float64 else _core.Engine32
    beta = problem.start() if beta is None else beta
    product = matrix.product(problem.fold(beta))
    return make(matrix.core, **problem.spans, beta=beta, product=product, working_size=size)


def climbed(engine, problem, goal=1e-6):
    end = _core.RunState.running
    while end == _core.RunState.running:
        end = engine.run(_core.RunOptions(goal=goal, seconds=1.0))
    beta = np.zeros(len(problem))
    engine.write(beta)
    return end, beta


def objective(problem, K, beta):
    c = problem.fold(beta)
    return 0.5 * c @ K @ c + 0.5 * (problem.ridge * beta) @ beta + problem.linear @ beta


def scattered(m, rng, dtype=np.float64, gamma=LARGE):
    """A matrix that is mostly nothing, and what is known of where."""
    X = rng.random((m, 3)) * 3
    widths = Widths(Gaussian(1.0), X, dtype=dtype, largest=gamma)
    return widths.fill(widths.blank(), gamma)


def problem_of(use, rng, m):
    y = np.where(rng.random(m) > 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=m)
    weight[:2] = 1.0
    match use:
        case "hinge":
            return problems.hinge(y, 5.0)
        case "weights and masks":
            return problems.hinge(y, 5.0, weight=weight)
        case "squared hinge":
            return problems.squared_hinge(y, 5.0, weight=weight)
        case "hard margin":
            return problems.hinge(y, np.inf)
        case "no bias":
            return problems.hinge(y, 5.0, bias="none")
        case "regression":
            return problems.epsilon_regression(rng.normal(size=m), 5.0, 0.1)
    return problems.nu_classification(y, 0.3)


USES = ["hinge", "weights and masks", "squared hinge", "hard margin", "no bias", "regression", "nu"]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("m", [2, 63, 64, 65, 300, 700])
def test_passing_over_zeros_changes_nothing(use, m):
    """The same optimum with and without word of where there is nothing; for every form, also those that go by sets."""
    rng = np.random.default_rng(m)
    matrix = scattered(m, rng)
    problem = problem_of(use, rng, m)
    plain = Matrix(matrix.values, matrix.diagonal)
    found = []
    for each in (matrix, plain):
        engine = engine_of(problem, each)
        end, beta = climbed(engine, problem)
        assert end == _core.RunState.converged
        product = problem.fold(beta) @ matrix.values
        np.testing.assert_allclose(engine.product, product, rtol=0, atol=1e-9 * max(1.0, np.abs(product).max()))
        assert kkt_violation(problem, gradient(problem, product, beta), beta) <= 1.01e-6
        assert ((beta >= problem.lower) & (beta <= problem.upper)).all()
        for members, total in problem.sums:
            assert beta[members].sum() == pytest.approx(total, abs=1e-9)
        found.append(objective(problem, matrix.values, beta))
    assert found[0] == pytest.approx(found[1], rel=1e-8, abs=1e-8)


def test_zeros_are_passed_over():
    """One working set of everything, and not by sets of 64."""
    rng = np.random.default_rng(0)
    matrix = scattered(1000, rng)
    assert matrix.lit.mean() < 0.3
    problem = problem_of("hinge", rng, 1000)
    engine, plain = (engine_of(problem, each) for each in (matrix, Matrix(matrix.values, matrix.diagonal)))
    climbed(engine, problem)
    climbed(plain, problem)
    assert engine.rounds <= 4 < plain.rounds


def test_in_float32_the_certificate_decides():
    rng = np.random.default_rng(1)
    matrix = scattered(1000, rng, np.float32)
    problem = problem_of("hinge", rng, 1000)
    end, beta = climbed(engine_of(problem, matrix), problem, goal=1e-4)
    assert end == _core.RunState.converged
    exact = matrix.values.astype(np.float64) @ problem.fold(beta)
    assert kkt_violation(problem, gradient(problem, exact, beta), beta) <= 1.01e-4


def test_no_optimum_is_found_out():
    """Two equal rows of different classes, without a bound on their coefficients."""
    rng = np.random.default_rng(2)
    X = rng.random((400, 3)) * 2
    X[1] = X[0]
    widths = Widths(Gaussian(1.0), X, dtype=np.float64, largest=LARGE)
    matrix = widths.fill(widths.blank(), LARGE)
    y = np.where(rng.random(400) > 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    problem = problems.hinge(y[widths.order], np.inf)
    end, _ = climbed(engine_of(problem, matrix), problem)
    assert end == _core.RunState.unbounded


def test_a_matrix_filled_again_is_known_anew():
    """The rows without their zeros belong to one width."""
    rng = np.random.default_rng(3)
    X = rng.random((500, 3)) * 2
    widths = Widths(Gaussian(1.0), X, dtype=np.float64, largest=100.0)
    matrix, problem = widths.blank(), problem_of("hinge", rng, 500)
    for gamma in (LARGE, 100.0, LARGE):
        widths.fill(matrix, gamma)
        _, beta = climbed(engine_of(problem, matrix), problem)
        product = problem.fold(beta) @ matrix.values
        assert kkt_violation(problem, gradient(problem, product, beta), beta) <= 1.01e-6


@pytest.mark.parametrize("gamma", [1.0, LARGE])
def test_one_engine_for_many_problems(gamma):
    """From C to C on one engine: each as good as on an engine of its own, with fewer kernel values gathered."""
    rng = np.random.default_rng(4)
    m = 500
    matrix = scattered(m, rng, gamma=gamma)
    y = np.where(rng.random(m) > 0.5, 1.0, -1.0)
    engine = None
    for C in (0.5, 5.0, 2.0, 50.0):
        problem = problems.hinge(y, C)
        beta = problem.start()
        given = problem.spans | {"beta": beta, "product": matrix.product(beta)}
        if engine is None:
            engine = engine_of(problem, matrix, size=96)
        else:
            engine.load(**given)
        end, beta = climbed(engine, problem)
        assert end == _core.RunState.converged
        product = beta @ matrix.values
        assert kkt_violation(problem, gradient(problem, product, beta), beta) <= 1.01e-6
        np.testing.assert_allclose(engine.product, product, rtol=0, atol=1e-9 * np.abs(product).max())


def test_a_working_set_chosen_twice_is_gathered():
    """Who looks twice before moving must not move by kernel values that were never gathered."""
    rng = np.random.default_rng(5)
    m = 400
    matrix = scattered(m, rng, gamma=0.5)
    problem = problems.hinge(np.where(rng.random(m) > 0.5, 1.0, -1.0), 10.0)
    once, twice = engine_of(problem, matrix), engine_of(problem, matrix)
    for _ in range(6):
        once.select()
        once.advance(tolerance=1e-9, max_steps=10_000)
        twice.select()
        twice.select()
        outcome = twice.advance(tolerance=1e-9, max_steps=10_000)
        assert outcome.gap <= 1e-9
        beta = np.zeros(m)
        twice.write(beta)
        held = np.ascontiguousarray(twice.working_rows)
        level = gradient(problem, matrix.values @ beta, beta)
        # the small problem is solved: its own violation, by true kernel values, is nothing
        inside = problems.Problem(
            "hinge", problem.linear[held], problem.lower[held], problem.upper[held], totals=problem.totals
        )
        assert kkt_violation(inside, level[held], beta[held]) <= 1e-7


@pytest.mark.parametrize("m", [64, 300])
def test_by_working_sets_after_all_at_once(m):
    """A climb over everything leaves nothing behind that a working set could take for kernel values."""
    rng = np.random.default_rng(7)
    matrix = scattered(m, rng, gamma=200.0)
    assert matrix.lit.mean() < 0.4 or m == 64
    problem = problem_of("hinge", rng, m)
    engine = engine_of(problem, matrix, size=64)
    engine.run(_core.RunOptions(goal=0.5, seconds=1.0))
    for _ in range(200):
        if engine.select() <= 1e-6:
            break
        engine.advance(tolerance=1e-7, max_steps=10_000)
    beta = np.zeros(m)
    engine.write(beta)
    assert kkt_violation(problem, gradient(problem, beta @ matrix.values, beta), beta) <= 1.01e-6


def test_a_part_grows():
    rng = np.random.default_rng(6)
    for dtype in (np.float32, np.float64):
        matrix = scattered(300, rng, dtype, gamma=2.0)
        rows = rng.permutation(300)[:200].astype(np.int64)
        out = np.full((220, 250), np.nan, dtype=dtype)
        for done, count in ((0, 1), (1, 1), (1, 70), (70, 101), (101, 200)):
            matrix.core.compact(rows[:count], done=done, out=out)
            np.testing.assert_array_equal(out[:count, :count], matrix.values[np.ix_(rows[:count], rows[:count])])
        assert np.isnan(out[200:]).all()
        assert np.isnan(out[:, 200:]).all()


def test_stretches_are_what_the_core_says():
    assert Widths(Gaussian(1.0), np.zeros((130, 1))).blank().lit.shape == (130, -(-130 // STRETCH))
