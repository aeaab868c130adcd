"""The native loops take the very steps of the papers: each beside its NumPy twin, update by update."""

from __future__ import annotations

from itertools import islice, pairwise
from math import inf

import numpy as np
import pytest
from twins import adatron as adatron_twin
from twins import nearest, smo, sor, svmseq

from adatron import Gram, _core, problems, solve
from adatron.kernels import Constant, Gaussian, Linear, Polynomial, Precomputed
from adatron.problems import Problem
from adatron.solvers import SOR, Adatron, NearestPoint, Stop, SVMseq
from adatron.solvers import adatron as adatron_solver
from adatron.solvers import sor as sor_solver
from adatron.solvers import svmseq as svmseq_solver

EXACT = 1e-9
EPOCHS = 25
NEVER = 1e-14  # a tolerance that no climb here reaches within EPOCHS
ROWS = 40


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 3))
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=ROWS) > 0.3, 1.0, -1.0)
    return X, y, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=ROWS)


X, Y, T = data()
MATRICES = {
    "Gaussian": Gaussian(0.8)(X),
    "polynomial": Polynomial(2, 0.3)(X),  # a diagonal that varies
    "linear": Linear()(X),
}
every_matrix = pytest.mark.parametrize("matrix", MATRICES)
every_bound = pytest.mark.parametrize("C", [0.3, 5.0, inf])


def gram(K: np.ndarray) -> Gram:
    return Gram(Precomputed(), K, dtype=np.float64, threads=1)


def path(
    module, solver, problem: Problem, K: np.ndarray, epochs: int = EPOCHS
) -> list[tuple[np.ndarray, float, float]]:
    """β, the bias on trial and the gain after each epoch, as the core has them: no sum is put right."""
    seen = []

    class Run(module._Run):
        def look(self):
            seen.append((self.core.beta.copy(), self.shift, self.core.gain))
            return super().look()

    Run(solver, problem, gram(K), None, Stop(tol=NEVER, max_iter=epochs), None).solve()
    assert len(seen) == epochs + 1  # the start comes first
    return seen[1:]


def rate_for(K: np.ndarray, share: float | str) -> float | str:
    """A rate as a share of 1 / max K_ii, below 2."""
    return share if isinstance(share, str) else share / K.diagonal().max()


def check_path(found, expected) -> None:
    for n, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(ours, theirs, rtol=EXACT, atol=EXACT, err_msg=f"update {n}")


# ---------------------------------------------------------------- Kernel-Adatron


@every_matrix
@every_bound
@pytest.mark.parametrize("share", [0.3, 1.0, 1.9, "optimal"])
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_adatron_without_bias(matrix, C, share, start):
    K = MATRICES[matrix]
    eta = rate_for(K, share)
    solver = Adatron(rate=eta, initial=start)
    found = path(adatron_solver, solver, problems.hinge(Y, C, bias="none"), K)
    expected = islice(adatron_twin.without_bias(K, Y, eta=eta, C=C, start=start), EPOCHS)
    check_path([beta for beta, _, _ in found], [alpha * Y for alpha, _ in expected])


@every_bound
@pytest.mark.parametrize("seed", [0, 7])
def test_adatron_in_random_order(C, seed):
    K = MATRICES["Gaussian"]
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(ROWS) for _ in range(EPOCHS)]
    found = path(adatron_solver, Adatron(order="random", seed=seed), problems.hinge(Y, C, bias="none"), K)
    expected = islice(adatron_twin.without_bias(K, Y, eta="optimal", C=C, order=lambda n: orders[n]), EPOCHS)
    check_path([beta for beta, _, _ in found], [alpha * Y for alpha, _ in expected])


def test_adatron_greedy_takes_the_steepest():
    """As many visits as coefficients, each where the objective falls most."""
    K = MATRICES["polynomial"]
    beta, expected = np.zeros(ROWS), []
    for _ in range(5):
        for _ in range(ROWS):
            to = Y * np.clip(Y * (beta - (K @ beta - Y) / K.diagonal()), 0.0, 5.0)
            delta = to - beta
            v = int(np.argmax(-delta * (K @ beta - Y + 0.5 * delta * K.diagonal())))
            beta[v] = to[v]
        expected.append(beta.copy())
    found = path(adatron_solver, Adatron(order="greedy"), problems.hinge(Y, 5.0, bias="none"), K, epochs=5)
    check_path([beta for beta, _, _ in found], expected)


@every_bound
@pytest.mark.parametrize("share", [0.5, 1.0, "optimal"])
@pytest.mark.parametrize(("mu", "start"), [(0.1, 0.0), (0.5, 0.0), (0.1, 1.0)])
def test_adatron_with_bias(C, share, mu, start):
    """λ by secants: the first epochs, before the search may be found lost."""
    K = MATRICES["Gaussian"]
    eta = rate_for(K, share)
    solver = Adatron(rate=eta, mu=mu, initial=start)
    found = path(adatron_solver, solver, problems.hinge(Y, C), K)
    expected = list(islice(adatron_twin.with_bias(K, Y, eta=eta, mu=mu, C=C, start=start), EPOCHS))
    check_path([beta for beta, _, _ in found], [alpha * Y for alpha, _, _, _ in expected])
    check_path([shift for _, shift, _ in found], [lam for _, lam, _, _ in expected])


@every_bound
def test_adatron_traces_what_the_paper_looks_at(C):
    """λ, ω and the margin of the paper, in the columns "bias", "sum" and "margin"."""
    K = MATRICES["Gaussian"]
    trace = solve(problems.hinge(Y, C), gram(K), "adatron", tol=NEVER, max_iter=EPOCHS, trace=True).trace
    expected = list(islice(adatron_twin.with_bias(K, Y, eta="optimal", C=C), EPOCHS))
    for column, place in {"bias": 1, "sum": 2, "margin": 3}.items():
        check_path(trace[column][1:], [state[place] for state in expected])


@every_matrix
@pytest.mark.parametrize("share", [0.3, 1.9, "optimal"])
@pytest.mark.parametrize("C", [0.3, 5.0])
def test_adatron_regression(matrix, share, C):
    K = MATRICES[matrix]
    eta = rate_for(K, share)
    problem = problems.epsilon_regression(T, C, 0.05, bias="none")
    found = path(adatron_solver, Adatron(rate=eta), problem, K)
    expected = islice(adatron_twin.regression(K, T, eta=eta, epsilon_tube=0.05, C=C), EPOCHS)
    check_path([beta for beta, _, _ in found], [np.concatenate((star, -alpha)) for star, alpha in expected])


def test_adatron_regression_in_random_order_moves_both_of_a_point():
    K = MATRICES["Gaussian"]
    rng = np.random.default_rng(3)
    orders = [rng.permutation(ROWS) for _ in range(EPOCHS)]
    problem = problems.epsilon_regression(T, 5.0, 0.05, bias="none")
    found = path(adatron_solver, Adatron(order="random", seed=3), problem, K)
    twin = adatron_twin.regression(K, T, eta="optimal", epsilon_tube=0.05, C=5.0, order=lambda n: orders[n])
    expected = islice(twin, EPOCHS)
    check_path([beta for beta, _, _ in found], [np.concatenate((star, -alpha)) for star, alpha in expected])


# ---------------------------------------------------------------- SVMseq


@every_matrix
@every_bound
@pytest.mark.parametrize("lam", [0.0, 0.5])
@pytest.mark.parametrize("share", [None, 0.8])
def test_svmseq_classification(matrix, C, lam, share):
    """With the gain of eq. 40, summed over an epoch."""
    K = MATRICES[matrix]
    gamma = None if share is None else rate_for(K + lam**2, share)
    found = path(svmseq_solver, SVMseq(rate=gamma), problems.hinge(Y, C, bias="augmented"), K + lam**2)
    expected = list(islice(svmseq.classification(K, Y, C=C, lam=lam, gamma=gamma), EPOCHS))
    check_path([beta for beta, _, _ in found], [h * Y for h, _ in expected])
    check_path([gain for _, _, gain in found], [gain for _, gain in expected])


@every_matrix
@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_svmseq_regression(matrix, lam):
    K = MATRICES[matrix]
    problem = problems.epsilon_regression(T, 5.0, 0.05, bias="augmented")
    found = path(svmseq_solver, SVMseq(), problem, K + lam**2)
    expected = islice(svmseq.regression(K, T, C=5.0, epsilon=0.05, lam=lam), EPOCHS)
    check_path([beta for beta, _, _ in found], [np.concatenate((star, -alpha)) for star, alpha in expected])


# ---------------------------------------------------------------- successive over-relaxation


@every_matrix
@every_bound
@pytest.mark.parametrize("omega", [0.7, 1.3, 1.9])
def test_sor(matrix, C, omega):
    K = MATRICES[matrix]
    found = path(sor_solver, SOR(omega=omega), problems.hinge(Y, C, bias="augmented"), K + 1)
    check_path([beta for beta, _, _ in found], [alpha * Y for alpha in islice(sor.sor(K, Y, C=C, omega=omega), EPOCHS)])


def test_the_bias_in_the_kernel_is_a_constant_added():
    """What the twins call K + λ² is a kernel of this package, evaluated by the core; a small cache changes no step."""
    expected = list(islice(sor.sor(Gaussian(0.8)(X), Y, C=5.0, omega=1.3), EPOCHS))
    problem = problems.hinge(Y, 5.0, bias="augmented")
    for n in (1, 2, 5, EPOCHS):
        for cache in (1, 2e9):
            matrix = Gram(Gaussian(0.8) + Constant(1.0), X, dtype=np.float64, cache_bytes=cache, threads=1)
            found = solve(problem, matrix, SOR(), tol=NEVER, max_iter=n)
            np.testing.assert_allclose(found.beta, expected[n - 1] * Y, rtol=EXACT, atol=EXACT)


# ---------------------------------------------------------------- two at a time


def pairs(problem: Problem, matrix: Gram, beta: np.ndarray, *, seed: int = 0):
    matrix.activate(None)
    product = np.array(matrix.product(problem.fold(beta)))
    return _core.Pairs64(matrix.core, **problem.spans, beta=beta, product=product, bias=0.0, seed=seed)


def steps(core, matrix: Gram, advance) -> list[tuple[int, int, np.ndarray, float]]:
    """(i, j, β, b) after each step, until the loop has finished; rows are handed over as it asks for them."""
    taken = []
    while True:
        end = advance(core)
        if end is _core.PairEnd.missing:
            matrix.fetch(core.wanted)
            continue
        if core.updates > len(taken):
            assert core.updates == len(taken) + 1
            taken.append((core.last_first, core.last_second, core.beta.copy(), core.bias))
        if end is not _core.PairEnd.paused:
            assert end is _core.PairEnd.finished
            return taken


def rules(tolerance: float, progress: float) -> _core.PairRules:
    return _core.PairRules(tolerance=tolerance, progress=progress, seconds=10.0, most=1)


def check_steps(found, expected) -> None:
    assert len(expected) > 5
    for n, (ours, theirs) in enumerate(zip(found, expected, strict=False)):
        assert ours[:2] == theirs[:2], f"step {n}"
        np.testing.assert_allclose(ours[2], theirs[2], rtol=EXACT, atol=EXACT, err_msg=f"step {n}")
        np.testing.assert_allclose(ours[3:], theirs[3:], rtol=EXACT, atol=EXACT, err_msg=f"bias of step {n}")
    assert len(found) == len(expected)


PAIR_CASES = {
    "soft": (MATRICES["Gaussian"], Y, 0.5),
    "softer": (MATRICES["Gaussian"], Y, 5.0),
    "hard": (MATRICES["Gaussian"], Y, inf),
    "linear": (MATRICES["linear"], Y, 0.3),
    "polynomial": (MATRICES["polynomial"], Y, 0.4),
    "each row twice, labels at odds": (
        np.tile(MATRICES["Gaussian"][:20, :20], (2, 2)),
        np.concatenate((Y[:20], Y[10:20], -Y[10:20])),
        2.0,
    ),
}
every_pair_case = pytest.mark.parametrize("case", PAIR_CASES)


def followed(found, K, y, **options) -> list[tuple[int, int, np.ndarray, float]]:
    """The twin's steps. A pair just solved has equal errors: where rounding has to choose among equals, it follows."""
    expected = []

    def second_choices(state, i1):
        choices = smo_choices(state, i1)
        free = [i2 for i2 in range(state.m) if i2 != i1 and state.nonbound(i2)]
        if free:
            first = next(choices)
            distance = np.abs(state.E[i1] - state.E)
            mine = found[len(expected)][1] if len(expected) < len(found) else first
            yield mine if mine in free and distance[mine] >= distance[first] - 1e-12 else first
        yield from choices

    smo_choices = smo.second_choices
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smo, "second_choices", second_choices)
        for step in smo.smo(K, y, **options):
            expected.append(step)
    return expected


@every_pair_case
@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("cache", [1, 2e9])
def test_smo(case, seed, cache):
    """Both multipliers, β and b of every step to the end; rows that have to be fetched again change none."""
    K, y, C = PAIR_CASES[case]
    problem = problems.hinge(y, C)
    matrix = Gram(Precomputed(), K, dtype=np.float64, cache_bytes=cache, threads=1)
    core = pairs(problem, matrix, np.zeros(ROWS), seed=seed)
    found = steps(core, matrix, lambda core: core.platt(rules(1e-4, 1e-10)))
    check_steps(found, followed(found, K, y, C=C, tol=1e-4, seed=seed, eps=1e-10))


@every_pair_case
@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("cache", [1, 2e9])
def test_simplified_smo(case, seed, cache):
    K, y, C = PAIR_CASES[case]
    if case == "each row twice, labels at odds":
        C = 0.5  # with more room the twin ends early: it makes nothing of pairs without curvature
    problem = problems.hinge(y, C)
    matrix = Gram(Precomputed(), K, dtype=np.float64, cache_bytes=cache, threads=1)
    core = pairs(problem, matrix, np.zeros(ROWS), seed=seed)
    found = steps(core, matrix, lambda core: core.simplified(rules(1e-3, 1e-5), quiet_passes=5))
    check_steps(found, list(smo.simplified(K, y, C=C, tol=1e-3, max_passes=5, seed=seed, eps=1e-5)))


@pytest.mark.parametrize("most", [2, 7, 1000])
def test_pauses_change_no_step(most):
    K, y, C = PAIR_CASES["softer"]
    ends = []
    for count in (1, most):
        matrix = gram(K)
        core = pairs(problems.hinge(y, C), matrix, np.zeros(ROWS))
        limits = _core.PairRules(tolerance=1e-4, progress=1e-10, seconds=10.0, most=count)
        while (end := core.platt(limits)) is not _core.PairEnd.finished:
            if end is _core.PairEnd.missing:
                matrix.fetch(core.wanted)
        ends.append((core.beta.tolist(), core.bias, core.updates))
    assert ends[0] == ends[1]


# ---------------------------------------------------------------- nearest points


UPPERS = [inf, 0.3, 1.3 / min((Y > 0).sum(), (Y < 0).sum())]


@every_matrix
@pytest.mark.parametrize("upper", UPPERS)
def test_nearest_points(matrix, upper, monkeypatch):
    K = MATRICES[matrix]
    problem = problems.nearest_points(Y, upper=upper)
    held = gram(K)
    core = pairs(problem, held, problem.start())
    found = steps(core, held, lambda core: core.extreme(rules(1e-6, 0.0)))
    expected = []

    def worst_pair(g, members, beta, low, high):
        """The twin's, or the pair that the core took if it is as good: two points just balanced are equal."""
        difference, i, j = plain(g, members, beta, low, high)
        a, b, *_ = found[len(expected)] if len(expected) < len(found) else (i, j)
        fits = members[a] and members[b] and beta[a] < high[a] and beta[b] > low[b]
        return (g[b] - g[a], a, b) if fits and g[b] - g[a] >= difference - 1e-12 else (difference, i, j)

    plain = nearest.worst_pair
    monkeypatch.setattr(nearest, "worst_pair", worst_pair)
    for step in islice(nearest.nearest_points(K, Y, upper=upper, tol=1e-6), 500):
        expected.append(step)
    check_steps([step[:3] for step in found[:500]], expected)


@pytest.mark.parametrize("upper", UPPERS)
def test_nearest_points_by_the_solver(upper):
    K = MATRICES["Gaussian"]
    expected = list(islice(nearest.nearest_points(K, Y, upper=upper, tol=1e-12), 30))
    for n in (1, 2, 3, 10, 30):
        found = solve(problems.nearest_points(Y, upper=upper), gram(K), NearestPoint(), tol=NEVER, max_iter=n)
        assert found.n_iter == n
        np.testing.assert_allclose(found.beta, expected[n - 1][2], rtol=EXACT, atol=EXACT)


def test_a_margin_is_the_hulls_turned_into_a_machine():
    """β = 2u / ‖z₊ - z₋‖² at every step of a hard margin, and with the ridge on the diagonal of a squared hinge."""
    K = MATRICES["Gaussian"]
    for problem, matrix in (
        (problems.hinge(Y, inf), K),
        (problems.squared_hinge(Y, 2.0), K + np.eye(ROWS) / 4),
    ):
        expected = [u for _, _, u in islice(nearest.nearest_points(matrix, Y, tol=1e-12), 30)]
        for n in (1, 2, 10, 30):
            found = solve(problem, gram(K), NearestPoint(), tol=NEVER, max_iter=n)
            u = expected[n - 1]
            np.testing.assert_allclose(found.beta, 2 * u / (u @ matrix @ u), rtol=EXACT, atol=EXACT)
        distances = [u @ matrix @ u for u in expected]
        assert all(after <= before for before, after in pairwise(distances))
