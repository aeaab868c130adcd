"""Newton's step on the free coefficients: the core against its twin, and what it does for a climb."""

import numpy as np
import pytest
from twins.face import descend

from adatron import _core, problems, solve
from adatron.gram import Gram
from adatron.kernels import Callable as Function
from adatron.kernels import Gaussian, Precomputed

USES = ["hinge", "no bias", "squared hinge", "regression", "nu", "ball"]


def problem_of(use, rng, m):
    y = np.where(rng.random(m) > 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    match use:
        case "hinge":
            return problems.hinge(y, 2.0)
        case "no bias":
            return problems.hinge(y, 2.0, bias="none")
        case "squared hinge":
            return problems.squared_hinge(y, 2.0)
        case "regression":
            return problems.epsilon_regression(rng.normal(size=m), 2.0, 0.1)
        case "nu":
            return problems.nu_classification(y, 0.3)
    return problems.enclosing_ball(np.ones(m))


def inner_point(problem, rng):
    """A feasible point with free coefficients."""
    beta = problem.start()
    for members, _ in problem.sums or [(slice(None), 0.0)]:
        part = beta[members]
        room = np.minimum(problem.upper[members], 3.0) - part
        if problem.sums:
            i, j = rng.permutation(len(part))[:2]
            step = 0.3 * min(room[i], part[j] - max(problem.lower[members][j], -3.0))
            part[i] += step
            part[j] -= step
        else:
            part += 0.3 * room * rng.random(len(part))
        beta[members] = part
    return beta


def engine_of(problem, gram, beta, size=32):
    make = _core.Engine64 if gram.dtype == np.float64 else _core.Engine32
    product = gram.product(problem.fold(beta))
    return make(gram.core, **problem.spans, beta=beta, product=np.array(product), working_size=size)


def objective(problem, K, beta):
    c = problem.fold(beta)
    return 0.5 * c @ K @ c + 0.5 * (problem.ridge * beta) @ beta + problem.linear @ beta


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("seed", range(6))
def test_the_core_does_what_its_twin_does(use, seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(8, 60))
    X = rng.normal(size=(m, 3))
    K = Gaussian(sigma=0.7)(X)
    problem = problem_of(use, rng, m)
    gram = Gram(Precomputed(), K, dtype=np.float64, threads=1)
    engine = engine_of(problem, gram, inner_point(problem, rng))
    for _ in range(3):  # some pairs, so that many are free
        if engine.select() < 1e-9:
            break
        engine.advance(tolerance=1e-9, max_steps=m)
    before = np.zeros(len(problem))
    engine.write(before)
    free = (before > problem.lower) & (before < problem.upper)
    index = np.flatnonzero(free)
    moved = engine.newton(most=1000)
    after = before.copy()
    engine.write(after)
    if not len(index):
        assert moved == 0
        return
    assert moved == len(index)
    rows = index % m
    A = K[np.ix_(rows, rows)] + np.diag(problem.ridge[index])
    A = A + 1e-10 * np.trace(A) / len(A) * np.eye(len(A))
    g = (K @ problem.fold(before))[rows] + problem.linear[index] + problem.ridge[index] * before[index]
    groups = [
        (problem.group[index] == k) * 1.0 for k in range(len(problem.totals)) if (problem.group[index] == k).any()
    ]
    x = descend(
        A, g, (problem.upper - before)[index], (before - problem.lower)[index], np.reshape(groups, (-1, len(g)))
    )
    if np.linalg.cond(A) < 1e7:  # where both coefficients of a row are free, rounding may end the way early
        np.testing.assert_allclose(after[index], before[index] + x, atol=1e-6)
    assert (after[~free] == before[~free]).all()
    assert ((after >= problem.lower) & (after <= problem.upper)).all()
    for members, total in problem.sums:
        assert after[members].sum() == pytest.approx(total, abs=1e-9 * (1 + np.abs(after).sum()))
    assert objective(problem, K, after) <= objective(problem, K, before) + 1e-9
    np.testing.assert_allclose(engine.product, K @ problem.fold(after), atol=1e-8 * (1 + np.abs(after).sum()))


def test_too_many_free_coefficients_are_left_alone():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.repeat([1.0, -1.0], 20)
    gram = Gram(Gaussian(sigma=0.5), X, dtype=np.float64, threads=1)
    gram.rows(np.arange(40))
    problem = problems.hinge(y, 10.0)
    engine = engine_of(problem, gram, 0.5 * y)
    before = 0.5 * y
    assert engine.newton(most=39) == 0
    after = before.copy()
    engine.write(after)
    assert (after == before).all()
    assert engine.newton(most=40) == 40


def test_rows_that_are_not_at_hand_are_fetched_where_they_can_be():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.repeat([1.0, -1.0], 20)
    gram = Gram(Gaussian(sigma=0.5), X, dtype=np.float64, threads=1)
    assert engine_of(problems.hinge(y, 10.0), gram, 0.5 * y).newton(most=100) == 40
    by_python = Gram(Function(Gaussian(sigma=0.5)), X, dtype=np.float64, threads=1)
    assert engine_of(problems.hinge(y, 10.0), by_python, 0.5 * y).newton(most=100) == 0


def test_a_large_C_and_a_smooth_kernel_take_no_more_than_some_steps():
    """Pairs alone need hundreds of millions of steps for such a problem."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 5))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=700) > 0, 1.0, -1.0)
    found = solve(problems.hinge(y, 1e5), Gram(Gaussian(sigma=10.0), X, dtype=np.float64), tol=1e-3, max_iter=2_000_000)
    assert found.converged
    assert found.certificate.gap < 1e-3


def smooth_engine(m: int = 400):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(m, 3)), np.repeat([1.0, -1.0], m // 2)
    gram = Gram(Gaussian(sigma=0.5), X, dtype=np.float64, threads=1)
    gram.rows(np.arange(m))
    return engine_of(problems.hinge(y, 1.0), gram, 0.5 * y), y


def coefficients(engine, like):
    beta = like.copy()
    engine.write(beta)
    return beta


def test_a_newton_step_in_slices_is_the_same_step():
    whole, y = smooth_engine()
    assert whole.newton(most=1000) == len(y)
    sliced, _ = smooth_engine()
    calls = 0
    while (moved := sliced.newton(most=1000, seconds=0.0)) < 0:
        calls += 1
        np.testing.assert_array_equal(coefficients(sliced, y), 0.5 * y)  # nothing moves before the end
    assert calls >= len(y) // 32  # a panel of the factor at a time, then a bound at a time
    assert moved == len(y)
    np.testing.assert_array_equal(coefficients(sliced, y), coefficients(whole, y))


def test_a_newton_step_that_is_left_alone_does_no_harm():
    engine, y = smooth_engine()
    assert engine.newton(most=1000, seconds=0.0) == -1
    gap = engine.select()
    engine.advance(tolerance=0.5 * gap, max_steps=1000)  # another step comes in between: the first is forgotten
    assert engine.newton(most=1000) > 0
    fresh, _ = smooth_engine()
    fresh.select()
    fresh.advance(tolerance=0.5 * gap, max_steps=1000)
    fresh.newton(most=1000)
    np.testing.assert_array_equal(coefficients(engine, y), coefficients(fresh, y))


def test_newton_steps_count_towards_the_limit():
    """A run that factors and factors without getting anywhere must end as one that steps in vain does."""
    rng = np.random.default_rng(3)
    X = 1e9 * rng.normal(size=(200, 3))
    problem = problems.squared_hinge(np.where(rng.random(200) > 0.5, 1.0, -1.0), 1e-2)
    gram = Gram(Precomputed(), X @ X.T, dtype=np.float64, threads=1)
    engine = engine_of(problem, gram, problem.start(), size=64)
    state = engine.run(_core.RunOptions(goal=0.0, max_effort=20_000, patience=10**6))
    assert state == _core.RunState.out_of_steps
    assert engine.newtons > 0
    assert engine.steps < engine.effort < 20_000 + 200**3  # one more than allowed at most
