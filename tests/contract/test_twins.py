"""The twins themselves: right by hand on two points, at clarabel's optimum in the limit, feasible and monotone."""

from __future__ import annotations

from itertools import islice, pairwise
from math import inf, isnan

import numpy as np
import oracle
import pytest
from twins import adatron, svmseq
from twins.nearest import nearest_points
from twins.smo import State, simplified, smo, snap
from twins.sor import sor

from adatron import certificates, problems
from adatron.kernels import Gaussian, Linear

NEAR = 1e-6
ROWS = 30


def data(seed: int = 0, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=rows) > 0.3, 1.0, -1.0)
    return X, y, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=rows)


X, Y, T = data()
K = Gaussian(0.8)(X)
PAIR = np.array([[1.0, 0.5], [0.5, 1.0]])
SIGNS = np.array([1.0, -1.0])
every_bound = pytest.mark.parametrize("C", [0.5, 5.0, inf])


def nth(states, n: int):
    return next(islice(states, n - 1, None))


def check_limit(problem, kernel, beta) -> None:
    _, best = oracle.solve(problem, kernel)
    assert oracle.objective(problem, kernel, beta) == pytest.approx(best, abs=NEAR * (1 + abs(best)))


def check_path(problem, kernel, betas) -> None:
    """In the box, with the sums met, and downhill but for rounding."""
    values = []
    for beta in betas:
        assert (beta >= problem.lower).all()
        assert (beta <= problem.upper).all()
        for members, total in problem.sums:
            assert beta[members].sum() == pytest.approx(total, abs=1e-12 * (1 + np.abs(beta).sum()))
        values.append(oracle.objective(problem, kernel, beta))
    assert len(values) > 1
    assert all(after <= before + 1e-12 * (1 + abs(before)) for before, after in pairwise(values))


def signed(path):
    """(α*, α) as the problem has them: β⁺, then β⁻."""
    return (np.concatenate((star, -alpha)) for star, alpha in path)


def test_states_are_copies():
    paths = (
        adatron.without_bias(K, Y, eta=1.0),
        adatron.with_bias(K, Y, eta=1.0),
        adatron.regression(K, T, eta=1.0, epsilon_tube=0.1),
        svmseq.classification(K, Y, C=5.0, lam=1.0),
        svmseq.regression(K, T, C=5.0, epsilon=0.1, lam=1.0),
        ((alpha,) for alpha in sor(K, Y, C=5.0, omega=1.0)),
        (step[2:] for step in smo(K, Y, C=5.0, tol=1e-3, seed=0)),
        (step[2:] for step in simplified(K, Y, C=5.0, tol=1e-3, max_passes=1, seed=0)),
        (step[2:] for step in nearest_points(K, Y, tol=1e-6)),
    )
    for path in paths:
        first, second = next(path), next(path)
        assert not np.array_equal(first[0], second[0])


# Kernel-Adatron


def test_adatron_by_hand():
    alpha, margin = next(adatron.without_bias(PAIR, SIGNS, eta=1.0))
    assert alpha == pytest.approx([1.0, 1.5])  # z_2 = 0.5, so δα_2 = 1 + 0.5
    assert margin == pytest.approx(0.625)  # z = (0.25, -1)
    alpha, margin = next(adatron.without_bias(PAIR, SIGNS, eta=1.0, C=1.2))
    assert alpha == pytest.approx([1.0, 1.2])
    assert isnan(margin)  # the second class has no α < C
    alpha, _ = next(adatron.without_bias(PAIR, SIGNS, eta=0.5, start=1.0))
    assert alpha == pytest.approx([1.25, 1.3125])
    alpha, _ = next(adatron.without_bias(4 * PAIR, SIGNS, eta="optimal", order=lambda epoch: [1, 0]))
    assert alpha == pytest.approx([0.375, 0.25])


@every_bound
@pytest.mark.parametrize("eta", [0.5, 1.9, "optimal"])
def test_adatron_without_bias(C, eta):
    problem = problems.hinge(Y, C, bias="none")
    path = [alpha * Y for alpha, _ in islice(adatron.without_bias(K, Y, eta=eta, C=C), 2000)]
    check_path(problem, K, path[:200])
    check_limit(problem, K, path[-1])


def test_adatron_ends_at_margin_one_from_any_start_in_any_order():
    rng = np.random.default_rng(0)
    seen = []

    def shuffled(epoch):
        seen.append(epoch)
        return rng.permutation(ROWS)

    for options in ({}, {"start": 1.0}, {"order": shuffled}):
        alpha, margin = nth(adatron.without_bias(K, Y, eta=1.0, **options), 2000)
        check_limit(problems.hinge(Y, inf, bias="none"), K, alpha * Y)
        assert margin == pytest.approx(1.0, abs=NEAR)
    assert seen == list(range(2000))


def test_adatron_with_bias_by_hand():
    first, second, third = islice(adatron.with_bias(PAIR, SIGNS, eta=1.0, mu=0.1), 3)
    assert first[0] == pytest.approx([0.9, 1.55])  # 1 - 0.1, then 1 + 0.45 + 0.1
    assert first[1:3] == pytest.approx((0.1, -0.65))
    assert second[0] == pytest.approx([1.875, 1.8375])
    assert second[1:3] == pytest.approx((-0.1, 0.0375))
    assert third[1] == pytest.approx(-0.1 - 0.0375 * (-0.2 / 0.6875))


@every_bound
def test_adatron_with_bias(C):
    alpha, lam, omega, margin = nth(adatron.with_bias(K, Y, eta=1.0, C=C), 2000)
    problem = problems.hinge(Y, C)
    assert abs(omega) < NEAR
    check_limit(problem, K, alpha * Y)
    assert margin == pytest.approx(1.0, abs=NEAR)
    gradient = certificates.gradient(problem, K @ (alpha * Y), alpha * Y)
    assert lam == pytest.approx(certificates.bias(problem, gradient, alpha * Y)[0], abs=NEAR)


def test_adatron_with_bias_stays_in_its_trap():
    """All α at C twice: ω does not change, λ is kept, and each later secant is zero, with Σ α y far from it."""
    states = list(islice(adatron.with_bias(K, Y, eta=1.0, C=0.01), 50))
    assert {lam for _, lam, _, _ in states[1:]} == {-0.1}
    assert states[-1][2] == pytest.approx(0.01 * Y.sum())
    assert Y.sum() != 0


@pytest.mark.parametrize("eta", [0.5, 1.9, "optimal"])
def test_adatron_regression(eta):
    problem = problems.epsilon_regression(T, 5.0, 0.05, bias="none")
    path = list(islice(signed(adatron.regression(K, T, eta=eta, epsilon_tube=0.05, C=5.0)), 3000))
    check_path(problem, K, path[:200])
    check_limit(problem, K, path[-1])


# SVMseq


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_svmseq_classification(lam):
    problem = problems.hinge(Y, 5.0, bias="augmented")
    states = list(islice(svmseq.classification(K, Y, C=5.0, lam=lam), 4000))
    path = [h * Y for h, _ in states]
    check_path(problem, K + lam**2, path[:200])
    check_limit(problem, K + lam**2, path[-1])
    total = sum(gain for _, gain in states)
    assert -total == pytest.approx(oracle.objective(problem, K + lam**2, path[-1]))


def test_svmseq_by_hand():
    h, gain = next(svmseq.classification(PAIR, SIGNS, C=10.0, lam=1.0))  # D = ((2, -1.5), (-1.5, 2)), γ = 0.95
    assert h == pytest.approx([0.95, 0.95 * (1 + 1.425)])
    assert gain == pytest.approx(h.sum() - h @ h + 1.5 * h[0] * h[1])
    h, _ = next(svmseq.classification(PAIR, SIGNS, C=2.0, lam=1.0, gamma=0.5))
    assert h == pytest.approx([0.5, 0.875])


def test_svmseq_regression():
    problem = problems.epsilon_regression(T, 5.0, 0.05, bias="augmented")
    path = list(islice(signed(svmseq.regression(K, T, C=5.0, epsilon=0.05, lam=0.5)), 4000))
    check_path(problem, K + 0.25, path[:200])
    check_limit(problem, K + 0.25, path[-1])


def test_svmseq_regression_as_printed_cycles_between_the_corners():
    """One point of target 1: with one E for both multipliers, J_D falls and the pair ends in a cycle."""
    one, target = np.ones((1, 1)), np.ones(1)
    options = {"C": 10.0, "epsilon": 0.1, "lam": 0.0}
    path = list(islice(svmseq.regression_literal(one, target, **options), 40))
    costs = [svmseq.cost(one, target, *state, epsilon=0.1, lam=0.0) for state in path]
    assert costs[1] < costs[0] - 1
    assert {(star[0], alpha[0]) for star, alpha in path[-10:]} == {(10.0, 0.0), (0.0, 10.0)}
    check_path(
        problems.epsilon_regression(target, 10.0, 0.1, bias="none"),
        one,
        signed(islice(svmseq.regression(one, target, **options), 40)),
    )


@pytest.mark.parametrize("seed", range(4))
def test_svmseq_regression_as_printed_lowers_the_cost(seed):
    X, _, t = data(seed, rows=8)
    kernel = Gaussian(1.0)(X)
    options = {"epsilon": 0.05, "lam": 0.5}
    path = list(islice(svmseq.regression_literal(kernel, t, C=10.0, **options), 100))
    costs = [svmseq.cost(kernel, t, *state, **options) for state in path]
    assert min(np.diff(costs)) < -1
    fresh = list(islice(svmseq.regression(kernel, t, C=10.0, **options), 100))
    assert svmseq.cost(kernel, t, *fresh[-1], **options) > 0 > costs[-1]


# Successive over-relaxation


@pytest.mark.parametrize("omega", [0.7, 1.3, 1.8])
@every_bound
def test_sor(C, omega):
    problem = problems.hinge(Y, C, bias="augmented")
    path = [alpha * Y for alpha in islice(sor(K, Y, C=C, omega=omega), 3000)]
    check_path(problem, K + 1, path[:200])
    check_limit(problem, K + 1, path[-1])


# SMO


def test_generator_is_that_of_cpp():
    """The standard fixes the first and the 10,000th output of a std::mt19937 of the default seed 5489."""
    state = State(PAIR, SIGNS, 1.0, 1e-3, seed=5489)
    outputs = [state.next() for _ in range(10_000)]
    assert outputs[0] == 3499211612
    assert outputs[-1] == 4123659995


def test_smo_by_hand():
    steps = list(smo(np.eye(2), SIGNS, C=10.0, tol=1e-3, seed=0))
    assert len(steps) == 1
    assert steps[0][:2] == (0, 1)
    assert steps[0][2] == pytest.approx([1.0, -1.0])
    assert steps[0][3] == 0.0
    ((_, _, beta, b),) = smo(np.diag([1.0, 3.0]), SIGNS, C=0.25, tol=1e-3, seed=0)
    assert beta.tolist() == [0.25, -0.25]
    assert b == pytest.approx((0.75 - 0.25) / 2)  # b_1 = 1 - 0.25, b_2 = -1 + 0.75


def test_smo_puts_a_step_that_all_but_reaches_its_bound_there():
    C = 1 + 5e-13
    ((_, _, beta, _),) = smo(np.eye(2), SIGNS, C=C, tol=1e-3, seed=0)
    assert beta.tolist() == [C, -C]
    assert snap(1 - 1e-13, 0.0, 1.0) == 1.0
    assert snap(1e-13, 0.0, 1.0) == 0.0
    assert snap(1e-13, 0.0, inf) == 1e-13


def test_smo_goes_to_the_better_end_where_there_is_no_curvature():
    same = np.ones((2, 2))
    ((_, _, beta, b),) = smo(same, SIGNS, C=2.0, tol=1e-3, seed=0)
    assert beta.tolist() == [2.0, -2.0]
    assert b == 0.0
    assert list(smo(same, SIGNS, C=inf, tol=1e-3, seed=0)) == []
    assert list(simplified(same, SIGNS, C=2.0, tol=1e-3, max_passes=2, seed=0)) == []


SMO_CASES = {
    "soft": (K, Y, 0.5),
    "softer": (K, Y, 5.0),
    "hard": (K, Y, inf),
    "linear": (Linear()(X), Y, 1.0),
    "each row twice, labels at odds": (np.tile(K[:15, :15], (2, 2)), np.concatenate((Y[:15], Y[10:15], -Y[5:15])), 2.0),
}


@pytest.mark.parametrize("case", SMO_CASES)
def test_smo(case):
    kernel, y, C = SMO_CASES[case]
    problem = problems.hinge(y, C)
    steps = list(smo(kernel, y, C=C, tol=1e-8, seed=3))
    check_path(problem, kernel, [beta for _, _, beta, _ in steps])
    _, _, beta, b = steps[-1]
    check_limit(problem, kernel, beta)
    E = kernel @ beta - y + b
    assert E[beta < problem.upper].min() > -1e-7
    assert E[beta > problem.lower].max() < 1e-7


def test_smo_draws_twice_before_its_first_step():
    """From zero no point is free: one draw for stage (b) in vain, one for (c), where only the other class can move."""
    for seed in range(10):
        rng = np.random.RandomState(seed)
        r = [int(rng.randint(0, 2**32, dtype=np.uint32)) % ROWS for _ in range(2)][1]
        i2 = next(i for k in range(ROWS) if Y[i := (r + k) % ROWS] != Y[0])
        assert next(smo(K, Y, C=5.0, tol=1e-3, seed=seed))[:2] == (0, i2)


def test_smo_second_choice_is_the_largest_difference_of_errors():
    steps = list(smo(K, Y, C=5.0, tol=1e-3, seed=0))
    greedy = 0
    for (_, _, beta, b), (i1, i2, _, _) in pairwise(steps):
        free = np.flatnonzero((np.abs(beta) > 0) & (np.abs(beta) < 5.0))
        E = K @ beta - Y + b
        free = free[free != i1]
        greedy += len(free) > 0 and i2 == free[np.argmax(np.abs(E[i1] - E[free]))]
    assert greedy > 0.8 * len(steps)


def test_smo_follows_a_pass_over_all_with_one_over_the_free():
    steps = list(smo(K, Y, C=0.5, tol=1e-3, seed=0))
    starts = [n for n in range(1, len(steps)) if steps[n][0] <= steps[n - 1][0]]
    second = range(starts[0], starts[1])
    assert all(0 < abs(steps[n - 1][2][steps[n][0]]) < 0.5 for n in second)


@pytest.mark.parametrize("C", [0.5, 5.0])
def test_simplified_smo(C):
    problem = problems.hinge(Y, C)
    steps = list(simplified(K, Y, C=C, tol=1e-7, max_passes=40, seed=1, eps=1e-10))
    check_path(problem, K, [beta for _, _, beta, _ in steps])
    check_limit(problem, K, steps[-1][2])


def test_simplified_smo_draws_once_a_visit():
    for seed in range(10):
        rng = np.random.RandomState(seed)
        for i in range(ROWS):
            j = int(rng.randint(0, 2**32, dtype=np.uint32)) % (ROWS - 1)
            j += j >= i
            if Y[i] != Y[j]:
                break
        assert next(simplified(K, Y, C=5.0, tol=1e-3, max_passes=1, seed=seed))[:2] == (i, j)


def test_simplified_smo_gives_up_after_quiet_passes():
    assert list(simplified(K, np.ones(ROWS), C=5.0, tol=1e-3, max_passes=3, seed=0)) == []

    def steps(max_passes):
        runs = (simplified(K, Y, C=5.0, tol=1e-3, max_passes=max_passes, seed=seed, eps=0.1) for seed in range(8))
        return sum(len(list(run)) for run in runs)

    assert 0 < steps(1) < steps(10)
    visits = [i for i, _, _, _ in simplified(K, Y, C=5.0, tol=1e-3, max_passes=1, seed=0)]
    assert any(after <= before for before, after in pairwise(visits))  # a pass with a change does not count


def test_simplified_smo_takes_no_step_below_eps():
    steps = list(simplified(K, Y, C=5.0, tol=1e-3, max_passes=5, seed=0, eps=0.1))
    assert all(abs(new[j] - old[j]) >= 0.1 for (_, _, old, _), (_, j, new, _) in pairwise(steps))


# Nearest points of hulls


@pytest.mark.parametrize("upper", [inf, 0.3, 1 / min((Y > 0).sum(), (Y < 0).sum())])
def test_nearest_points(upper):
    problem = problems.nearest_points(Y, upper=upper)
    steps = list(nearest_points(K, Y, upper=upper, tol=1e-9))
    check_path(problem, K, [beta for _, _, beta in steps])
    check_limit(problem, K, steps[-1][2])
    assert all(Y[i] == Y[j] for i, j, _ in steps)


@pytest.mark.parametrize("upper", [0.13, 0.3])
def test_nearest_points_land_on_their_bounds(upper):
    problem = problems.nearest_points(Y, upper=upper)
    for _, _, beta in nearest_points(K, Y, upper=upper, tol=1e-9):
        for bound in (problem.lower, problem.upper):
            near = np.abs(beta - bound) < 1e-12
            assert (beta[near] == bound[near]).all()


def test_nearest_points_by_hand():
    """Two points against the origin: one step to (1, 0), the foot of the perpendicular on their segment."""
    points = np.array([[1.0, 3.0], [1.0, -1.0], [0.0, 0.0]])
    steps = list(nearest_points(Linear()(points), np.array([1.0, 1.0, -1.0]), tol=1e-12))
    assert [(i, j) for i, j, _ in steps] == [(1, 0)]
    assert steps[0][2] == pytest.approx([0.25, 0.75, -1.0])
