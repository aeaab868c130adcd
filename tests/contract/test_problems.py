"""The contract of every problem: built right, judged right, and refused in one sentence if wrong.

The judge of the judge is clarabel (tests/oracle.py), the textbook's primal written out by hand, and
scikit-learn's solvers.
"""

import copy
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import DenseGram, objective, solve
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from adatron import problems
from adatron.certificates import bias, certificate, gradient
from adatron.kernels import Gaussian, Linear
from adatron.problem_set import ProblemSet, Tasks
from adatron.problems import Problem
from adatron.solution import Certificate, Solution, Status

INF = np.inf
RNG = np.random.default_rng(0)
ROWS = 48
X = RNG.normal(size=(ROWS, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=ROWS) > 0, 1.0, -1.0)
CLEAN = np.where(X[:, 0] > 0, 1.0, -1.0)
T = np.sin(2 * X[:, 0]) + 0.2 * RNG.normal(size=ROWS)
WEIGHT = RNG.uniform(0.2, 2.0, ROWS) * (RNG.random(ROWS) > 0.1)
K = Gaussian(1.0)(X)
GRAM = DenseGram(K)

CASES = {
    "hinge": problems.hinge(Y, 2.0),
    "hinge weighted": problems.hinge(Y, 2.0, weight=WEIGHT),
    "hinge through the origin": problems.hinge(Y, 2.0, bias="none"),
    "hinge augmented": problems.hinge(Y, 2.0, bias="augmented"),
    "hard margin": problems.hinge(CLEAN, INF),
    "hard margin weighted": problems.hinge(CLEAN, INF, weight=WEIGHT),
    "hard margin through the origin": problems.hinge(CLEAN, INF, bias="none"),
    "squared hinge": problems.squared_hinge(Y, 2.0),
    "squared hinge weighted": problems.squared_hinge(Y, 2.0, weight=WEIGHT),
    "squared hinge through the origin": problems.squared_hinge(Y, 2.0, bias="none"),
    "squared hinge, C infinite": problems.squared_hinge(CLEAN, INF),
    "epsilon regression": problems.epsilon_regression(T, 3.0, 0.1),
    "epsilon regression weighted": problems.epsilon_regression(T, 3.0, 0.1, weight=WEIGHT),
    "epsilon regression through the origin": problems.epsilon_regression(T, 3.0, bias="none"),
    "epsilon regression, C infinite": problems.epsilon_regression(T, INF, 0.4),
    "nu classification": problems.nu_classification(Y, 0.4),
    "nu classification weighted": problems.nu_classification(Y, 0.4, weight=WEIGHT),
    "nu regression": problems.nu_regression(T, 2.0, 0.3),
    "nu regression weighted": problems.nu_regression(T, 2.0, 0.3, weight=WEIGHT),
    "one class": problems.one_class(ROWS, 0.2),
    "one class weighted": problems.one_class(ROWS, 0.2, weight=WEIGHT),
    "enclosing ball": problems.enclosing_ball(K.diagonal()),
    "nearest points": problems.nearest_points(Y),
    "nearest points of reduced hulls": problems.nearest_points(Y, upper=0.1),
}
OPTIMA = {name: solve(problem, K) for name, problem in CASES.items()}
every_case = pytest.mark.parametrize("name", CASES)


def feasible(problem: Problem, point: np.ndarray) -> np.ndarray:
    """The point moved into the box, and each group shifted until its sum is right."""
    beta = np.clip(point, problem.lower, problem.upper)
    for g, total in enumerate(problem.totals):
        here = problem.group == g
        low, high = problem.lower[here], problem.upper[here]
        left, right = -1e3, 1e3
        for _ in range(100):
            shift = (left + right) / 2
            beta[here] = np.clip(point[here] + shift, low, high)
            left, right = (shift, right) if beta[here].sum() < total else (left, shift)
    return beta


def difference(judged: Certificate) -> float:
    """The gap in the units of the objective."""
    return judged.gap * max(abs(judged.primal), abs(judged.dual))


# ---------------------------------------------------------------- the data of each problem


@every_case
def test_problem_is_read_only_float64_and_of_one_length(name):
    problem = CASES[name]
    for array in (problem.linear, problem.lower, problem.upper, problem.ridge):
        assert array.dtype == np.float64
        assert array.shape == (len(problem),)
        assert array.flags.c_contiguous
        assert not array.flags.writeable
    assert problem.group.dtype == np.int8
    assert problem.group.shape == (len(problem),)
    assert not problem.group.flags.writeable
    assert not problem.totals.flags.writeable
    assert problem.rows == ROWS
    assert len(problem) == ROWS * (2 if problem.doubled else 1)
    assert problem.use in repr(problem)
    with pytest.raises(AttributeError):
        problem.use = "other"


@every_case
def test_start_is_feasible_and_zero_where_zero_is(name):
    problem = CASES[name]
    judged = certificate(problem, GRAM, problem.start())
    assert judged.infeasibility <= 1e-12
    if not problem.totals.any():
        assert not problem.start().any()


def test_start_fills_rows_in_order_as_libsvm_does():
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    assert problems.nu_classification(y, 0.6).start().tolist() == [1.0, -1.0, 0.5, 0.0, -0.5]
    assert problems.one_class(5, 0.5).start().tolist() == [1.0, 1.0, 0.5, 0.0, 0.0]
    assert problems.enclosing_ball(np.ones(3)).start().tolist() == [1.0, 0.0, 0.0]
    assert problems.nearest_points(y).start().tolist() == [1.0, -1.0, 0.0, 0.0, 0.0]
    start = problems.nu_regression([1.0, 2.0], 2.0, 0.75).start()
    assert start.tolist() == [1.5, 0.0, -1.5, 0.0]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.floats(0, 1), st.sampled_from([1e-8, 1.0, 1e8]))
def test_start_of_any_box_stays_inside_and_leaves_one_row_between_its_ends(seed, rows, share, scale):
    random = np.random.default_rng(seed)
    lower, upper = np.sort(scale * random.normal(size=(2, rows)), axis=0)
    total = lower.sum() + share * (upper.sum() - lower.sum())
    start = Problem("any", np.zeros(rows), lower, upper, totals=[total]).start()
    nearest = np.clip(0.0, lower, upper)
    end = upper if total > nearest.sum() else lower
    assert (lower <= start).all()
    assert (start <= upper).all()
    assert start.sum() == pytest.approx(total, rel=1e-12, abs=1e-12 * scale * rows)
    moved = np.flatnonzero(start != nearest)
    if len(moved):
        assert (start == end)[: moved[-1]].all()  # in order: all before the last one that moved are full
        assert (start == nearest)[moved[-1] + 1 :].all()


def test_start_of_several_problems_is_that_of_each():
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    weight = np.array([1e-9, 1.0, 3.0, 1e9, 0.1])
    several = [problems.nu_classification(y, 0.05), problems.nu_classification(y, 1e-12, weight=weight)]
    tasks = Tasks(np.array([0, 5, 10]), np.tile(np.arange(5), 2), np.tile(y, 2))
    together = ProblemSet.of(several, tasks).start()
    assert together.tolist() == np.concatenate([problem.start() for problem in several]).tolist()


def test_fold_adds_the_coefficients_of_a_row():
    beta = np.arange(4.0)
    assert problems.epsilon_regression([1.0, 2.0]).fold(beta).tolist() == [2.0, 4.0]
    assert problems.one_class(4).fold(beta).tolist() == beta.tolist()


def test_the_table():
    y, t, w = np.array([1.0, -1.0, 1.0]), np.array([0.5, 2.0]), np.array([1.0, 2.0, 0.0])
    hinge = problems.hinge(y, 3.0, weight=w)
    assert hinge.linear.tolist() == [-1, 1, -1]
    assert hinge.lower.tolist() == [0, -6, 0]
    assert hinge.upper.tolist() == [3, 0, 0]
    assert hinge.totals.tolist() == [0]
    assert not hinge.ridge.any()
    squared = problems.squared_hinge(y, 3.0, weight=w, bias="none")
    assert squared.upper.tolist() == [INF, 0, 0]
    assert squared.lower.tolist() == [0, -INF, 0]
    assert squared.ridge.tolist() == [1 / 6, 1 / 12, 0]
    assert squared.totals.tolist() == []
    assert problems.hinge(y, INF, weight=w).upper.tolist() == [INF, 0, 0]
    tube = problems.epsilon_regression(t, 3.0, 0.25)
    assert tube.linear.tolist() == [-0.25, -1.75, -0.75, -2.25]
    assert tube.lower.tolist() == [0, 0, -3, -3]
    assert tube.upper.tolist() == [3, 3, 0, 0]
    assert tube.totals.tolist() == [0]
    nu = problems.nu_classification(y, 0.5)
    assert nu.group.tolist() == [0, 1, 0]
    assert nu.totals.tolist() == [0.75, -0.75]
    nu = problems.nu_regression(t, 2.0, 0.5)
    assert nu.linear.tolist() == [-0.5, -2.0, -0.5, -2.0]
    assert nu.group.tolist() == [0, 0, 1, 1]
    assert nu.totals.tolist() == [1.0, -1.0]
    assert problems.one_class(4, 0.25, weight=[2, 2, 0, 4]).totals.tolist() == [2.0]
    assert problems.enclosing_ball([2.0, 4.0]).linear.tolist() == [-1, -2]
    assert problems.nearest_points(y, upper=0.5 + 0.5).totals.tolist() == [1, -1]


# ---------------------------------------------------------------- the certificate


@every_case
def test_the_optimum_is_certified(name):
    problem, (beta, optimum) = CASES[name], OPTIMA[name]
    as_it_is, snapped = (certificate(problem, GRAM, beta, snap=snap) for snap in (0.0, 1e-6))
    if name == "epsilon regression, C infinite":  # no scale repairs a tube overstepped by rounding
        assert as_it_is.gap < 1e-6 or as_it_is.gap == INF
    else:
        assert as_it_is.gap < 1e-6
        assert snapped.gap < 1e-5
    assert snapped.kkt_violation < 1e-5
    assert snapped.infeasibility < 1e-8
    for judged in (as_it_is, snapped):
        assert judged.objective == pytest.approx(optimum, rel=1e-5)
        assert judged.dual == -judged.objective


@every_case
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1e-6, 1e-3, 0.1, 3.0]))
def test_gap_bounds_the_suboptimality(name, seed, size):
    problem, (optimal, optimum) = CASES[name], OPTIMA[name]
    rng = np.random.default_rng(seed)
    noise = size * rng.normal(size=len(problem)) * (rng.random(len(problem)) < 0.3)
    beta = feasible(problem, optimal + noise)
    judged = certificate(problem, GRAM, beta)
    assert judged.infeasibility < 1e-9
    value = objective(problem, K, beta)
    assert judged.objective == pytest.approx(value, rel=1e-9, abs=1e-12)
    suboptimality = value - optimum
    assert difference(judged) >= suboptimality - 1e-9 * max(1.0, abs(optimum))
    if suboptimality > 1e-6 * max(1.0, abs(optimum)):
        assert judged.gap > certificate(problem, GRAM, optimal).gap
        assert judged.kkt_violation > 0


def textbook_primal(name: str, beta: np.ndarray) -> float:
    """The primal's least value over the bias (and rho, epsilon), tried at every kink."""
    problem = CASES[name]
    coef = beta.reshape(-1, ROWS).sum(axis=0)
    f, norm = K @ coef, coef @ K @ coef
    loss = lambda slack: np.maximum(slack, 0).sum(axis=-1)  # noqa: E731
    if name == "hinge":
        b = (Y - f)[:, None]
        return 0.5 * norm + (2.0 * loss(1 - Y * (f + b))).min()
    if name == "hinge through the origin":
        return 0.5 * norm + 2.0 * loss(1 - Y * f)
    if name == "squared hinge":
        square = lambda b: 2.0 * (np.maximum(1 - Y * (f + b), 0) ** 2).sum()  # noqa: E731
        return 0.5 * norm + minimize_scalar(square, bracket=(-2, 2), tol=1e-12).fun
    if name == "epsilon regression":
        b = np.concatenate((T - f - 0.1, T - f + 0.1))[:, None]
        return 0.5 * norm + (3.0 * loss(np.abs(T - f - b) - 0.1)).min()
    if name == "one class":
        rho = f[:, None]
        return 0.5 * norm + (loss(rho - f) - 0.2 * ROWS * rho[:, 0]).min()
    # Two unknowns: u belongs to the positive coefficients, v to the negative ones.
    if name == "nu classification":
        u, v = (-f[Y > 0])[:, None, None], (-f[Y < 0])[None, :, None]
        b, rho = (u + v) / 2, (v - u) / 2
        cost = loss(rho - Y * (f + b)) - 0.4 * ROWS * rho[..., 0]
    else:
        assert name == "nu regression"
        u, v = (T - f)[:, None, None], (T - f)[None, :, None]
        b, epsilon = (u + v) / 2, (u - v) / 2
        cost = 2.0 * (loss(T - f - b - epsilon) + loss(f + b - epsilon - T))
        cost += 2.0 * 0.3 * ROWS * epsilon[..., 0]
    assert len(problem.totals) == 2
    return 0.5 * norm + cost.min()


@pytest.mark.parametrize(
    "name",
    [
        "hinge",
        "hinge through the origin",
        "squared hinge",
        "epsilon regression",
        "nu classification",
        "nu regression",
        "one class",
    ],
)
@pytest.mark.parametrize("size", [0.0, 0.01, 1.0])
def test_primal_is_the_textbooks(name, size):
    problem, (beta, _) = CASES[name], OPTIMA[name]
    beta = feasible(problem, beta + size * np.random.default_rng(5).normal(size=len(problem)))
    judged = certificate(problem, GRAM, beta)
    assert judged.primal == pytest.approx(textbook_primal(name, beta), rel=1e-10)
    assert judged.gap == pytest.approx(
        (judged.primal - judged.dual) / max(abs(judged.primal), abs(judged.dual)), abs=1e-15
    )


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_multiplier_is_the_best_for_any_mixture_of_terms(seed):
    """Ridged and plain terms, finite and infinite boxes: no other b gives a smaller primal."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    ridge = rng.choice([0.0, 0.5, 2.0], n)
    upper = np.where((ridge > 0) & (rng.random(n) < 0.3), INF, rng.integers(0, 4, n))
    lower = np.where((ridge > 0) & (rng.random(n) < 0.3), -INF, -rng.integers(0, 4, n))
    lower = np.maximum(lower, np.where(np.isinf(upper), -1.0, lower))
    problem = Problem("mixture", rng.integers(-3, 4, n), lower, upper, ridge, totals=np.zeros(1))
    beta = feasible(problem, rng.normal(size=n))
    G = rng.normal(size=(n, n)) @ np.diag(rng.random(n) < 0.5)
    A = G @ G.T
    judged = certificate(problem, DenseGram(A), beta)

    implied_upper, implied_lower = upper.copy(), lower.copy()
    for i in range(n):
        others = np.arange(n) != i
        implied_upper[i] = -lower[others].sum() if upper[i] == INF else upper[i]
        implied_lower[i] = -upper[others].sum() if lower[i] == -INF else lower[i]
    slope = problem.linear + A @ beta

    def primal(b):
        ends = np.array([implied_lower, implied_upper])
        stationary = -(slope + b) / np.where(ridge > 0, ridge, 1.0)
        inside = np.where(ridge > 0, np.clip(stationary, implied_lower, implied_upper), ends[0])
        tried = np.array([*np.where(np.isinf(ends), inside, ends), inside])
        least = (0.5 * ridge * tried**2 + (slope + b) * tried).min(axis=0)
        return 0.5 * beta @ A @ beta - least.sum()

    kinks = np.concatenate((-slope - ridge * implied_lower, -slope - ridge * implied_upper))
    kinks = np.unique(kinks[np.isfinite(kinks)])
    reach = np.concatenate(([kinks[0] - 50], kinks, [kinks[-1] + 50]))
    smooth = (
        minimize_scalar(primal, bounds=pair, method="bounded", options={"xatol": 1e-10}).fun for pair in pairwise(reach)
    )
    best = min(*(primal(b) for b in kinks), *smooth)
    assert judged.primal == pytest.approx(best, rel=1e-8, abs=1e-8)


def test_hard_margin_is_infinitely_far_until_the_classes_are_apart():
    problem, (beta, optimum) = CASES["hard margin"], OPTIMA["hard margin"]
    nothing = certificate(problem, GRAM, problem.start())
    assert nothing.primal == INF
    assert nothing.gap == INF
    assert "gap inf" in str(nothing)
    half = certificate(problem, GRAM, beta / 2)
    assert half.primal == pytest.approx(-optimum, rel=1e-6)
    assert half.gap == pytest.approx(0.25, abs=1e-6)
    one = problems.hinge([1.0, -1.0], INF)
    same = DenseGram(np.ones((2, 2)))
    assert certificate(one, same, [1.0, -1.0]).gap == INF
    # Through the origin each constraint must hold by itself: s f = (2s, -s/2) needs s = 2.
    alone = problems.hinge([1.0, -1.0], INF, bias="none")
    assert certificate(alone, DenseGram(np.eye(2)), [2.0, -0.5]).primal == 0.5 * 4 * 4.25


def test_boxes_without_end_are_closed_by_their_sums():
    for name, ends in [("enclosing ball", (0, 1)), ("nearest points", ((Y < 0) * -1.0, Y > 0))]:
        problem = CASES[name]
        closed = Problem(
            "closed",
            problem.linear,
            *(np.ones(ROWS) * end for end in ends),
            group=problem.group,
            totals=problem.totals,
        )
        for beta in (problem.start(), OPTIMA[name][0]):
            open_end, closed_end = (certificate(p, GRAM, beta) for p in (problem, closed))
            assert open_end.primal == pytest.approx(closed_end.primal, rel=1e-12)
    # Around the first row, a ball that reaches the farthest row holds them all.
    ball = certificate(CASES["enclosing ball"], GRAM, CASES["enclosing ball"].start())
    assert 2 * ball.primal == pytest.approx(2 - 2 * K[0].min(), rel=1e-12)


def test_zero_against_zero_is_no_gap():
    problem = problems.one_class(3, 0.5)
    judged = certificate(problem, DenseGram(np.zeros((3, 3))), problem.start())
    assert (judged.primal, judged.dual, judged.gap) == (0.0, 0.0, 0.0)


def test_infeasibility_is_seen():
    gram, boxed = DenseGram(np.eye(2)), problems.hinge([1, -1], 2.0, bias="none")
    assert certificate(boxed, gram, [2.5, -1.0]).infeasibility == 0.5
    assert certificate(boxed, gram, [-0.25, -1.0]).infeasibility == 0.25
    assert certificate(boxed, gram, [1.0, -0.5]).infeasibility == 0.0
    assert certificate(problems.hinge([1, -1], 2.0), gram, [1.0, -0.5]).infeasibility == 0.5


def test_kkt_violation_by_hand():
    gram, box = DenseGram(np.zeros((2, 2))), (np.full(2, -5.0), np.full(2, 5.0))
    # Without a sum g must vanish; with one it must be the same everywhere.
    assert certificate(Problem("x", [1.0, 1.0], *box), gram, [0, 0]).kkt_violation == 1.0
    summed = Problem("x", [1.0, 1.0], *box, totals=np.zeros(1))
    assert certificate(summed, gram, [0, 0]).kkt_violation == 0.0
    # At the upper bound a coefficient may wish to grow, at the lower to shrink.
    assert certificate(Problem("x", [-3.0, 2.0], *box), gram, [5, -5]).kkt_violation == 0.0
    assert certificate(Problem("x", [3.0, 2.0], *box), gram, [5, -5]).kkt_violation == 3.0
    # The worse of two groups counts.
    gram, box = DenseGram(np.zeros((4, 4))), (np.zeros(4), np.ones(4))
    groups = {"group": np.array([0, 0, 1, 1]), "totals": np.ones(2)}
    pairs = Problem("x", [1.0, 1.5, 4.0, 2.0], *box, **groups)
    assert certificate(pairs, gram, [0.5, 0.5, 0.5, 0.5]).kkt_violation == 2.0


def test_snap_puts_coefficients_on_their_bounds():
    problem = CASES["hinge"]
    exact, _ = solve(problem, K)
    free = (np.abs(exact) > 1e-3) & (np.abs(exact) < 2 - 1e-3)
    smeared = np.where(free, exact, exact + 1e-7 * np.where(np.abs(exact) > 1, -1, 1) * Y)
    assert certificate(problem, GRAM, smeared).kkt_violation > 1e-2
    assert certificate(problem, GRAM, smeared, snap=1e-6).kkt_violation < 1e-6
    assert certificate(problem, GRAM, smeared, snap=1e-6).infeasibility < 1e-12
    assert certificate(problem, GRAM, smeared, snap=1e-9).kkt_violation > 1e-2


# ---------------------------------------------------------------- the bias


def test_bias_at_free_coefficients_is_minus_their_mean_gradient():
    problem = problems.hinge([1, -1, 1, -1], 1.0)
    beta = np.array([0.5, -0.5, 0.25, -1.0])
    assert bias(problem, np.array([-0.2, -0.4, -0.9, 9.0]), beta) == (pytest.approx(0.5), 0.0)


def test_bias_without_free_coefficients_is_the_middle_of_what_is_allowed():
    problem = problems.hinge([1, -1, 1, -1], 1.0)
    at_bounds = np.array([1.0, -1.0, 0.0, 0.0])
    # b <= 2 and b <= 5 from what may fall, b >= 1 and b >= -3 from what may rise.
    g = np.array([-2.0, -1.0, 3.0, -5.0])
    assert bias(problem, g, at_bounds) == (1.5, 0.0)
    one_sided = problems.one_class(2, 1.0)
    assert bias(one_sided, np.array([3.0, 4.0]), np.ones(2)) == (-4.0, 0.0)
    assert bias(problems.hinge([1, -1], bias="none"), np.ones(2), np.zeros(2)) == (0.0, 0.0)


def test_bias_and_rho_with_two_sums():
    problem = problems.nu_classification([1, 1, -1, -1], 0.5)
    beta = np.array([0.5, 0.5, -0.5, -0.5])
    assert bias(problem, np.array([3.0, 3.0, -1.0, -1.0]), beta) == (-1.0, 2.0)


def test_gradient_is_that_of_the_objective():
    rng = np.random.default_rng(3)
    for problem in CASES.values():
        beta = rng.normal(size=len(problem))
        g = gradient(problem, K @ problem.fold(beta), beta)
        step = rng.normal(size=len(problem))
        rise = objective(problem, K, beta + 1e-4 * step) - objective(problem, K, beta - 1e-4 * step)
        assert g @ step == pytest.approx(rise / 2e-4, rel=1e-6)


# ---------------------------------------------------------------- scikit-learn, judged

TIGHT = {"kernel": "precomputed", "tol": 1e-8}


def theirs(model, weight=None):
    """scikit-learn's coefficients, one a row; its `support_` does not count rows of weight zero."""
    coef = np.zeros(ROWS)
    counted = np.arange(ROWS) if weight is None else np.flatnonzero(weight)
    coef[counted[model.support_]] = model.dual_coef_.ravel()
    return coef


def twice(coef):
    return np.concatenate((np.maximum(coef, 0), np.minimum(coef, 0)))


def assert_certified(judged, model, scale=1.0):
    assert judged.gap < 1e-6
    assert judged.kkt_violation < 1e-6
    assert judged.infeasibility < 1e-9
    assert judged.bias / scale == pytest.approx(model.intercept_.item(), abs=1e-6)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_svc(weight):
    model = SVC(C=2.0, **TIGHT).fit(K, Y, weight)
    problem = problems.hinge(Y, 2.0, weight=weight)
    assert_certified(certificate(problem, GRAM, theirs(model, weight), snap=1e-9), model)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_svr(weight):
    model = SVR(C=3.0, epsilon=0.1, **TIGHT).fit(K, T, weight)
    problem = problems.epsilon_regression(T, 3.0, 0.1, weight=weight)
    assert_certified(certificate(problem, GRAM, twice(theirs(model, weight)), snap=1e-9), model)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_nu_svc(weight):
    model = NuSVC(nu=0.4, **TIGHT).fit(K, Y, weight)
    problem = problems.nu_classification(Y, 0.4, weight=weight)
    scaled = theirs(model, weight)
    rho = problem.totals[0] / scaled[Y > 0].sum()
    judged = certificate(problem, GRAM, rho * scaled, snap=1e-9)
    assert judged.rho == pytest.approx(rho, rel=1e-6)
    assert_certified(judged, model, scale=judged.rho)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_nu_svr(weight):
    model = NuSVR(nu=0.3, C=2.0, **TIGHT).fit(K, T, weight)
    problem = problems.nu_regression(T, 2.0, 0.3, weight=weight)
    judged = certificate(problem, GRAM, twice(theirs(model, weight)), snap=1e-9)
    assert_certified(judged, model)
    # A tube of the width found is the one that epsilon regression needs for the same answer.
    tube = problems.epsilon_regression(T, 2.0, -judged.rho, weight=weight)
    assert certificate(tube, GRAM, twice(theirs(model, weight)), snap=1e-9).gap < 1e-6


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_one_class_svm(weight):
    model = OneClassSVM(nu=0.2, **TIGHT).fit(K, sample_weight=weight)
    problem = problems.one_class(ROWS, 0.2, weight=weight)
    assert_certified(certificate(problem, GRAM, theirs(model, weight), snap=1e-9), model)


def test_svc_with_every_support_vector_at_its_bound():
    y = np.repeat((1.0, -1.0), ROWS // 2)
    model = SVC(C=1e-3, **TIGHT).fit(K, y)
    beta = theirs(model)
    np.testing.assert_array_equal(np.abs(beta), 1e-3)
    assert_certified(certificate(problems.hinge(y, 1e-3), GRAM, beta), model)


def test_radius_and_distance():
    beta, ball = OPTIMA["enclosing ball"]
    distances = 1 - 2 * K @ beta + beta @ K @ beta
    assert distances.max() == pytest.approx(-2 * ball, rel=1e-6)
    line = Linear()([[0.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    problem = problems.nearest_points([-1, -1, 1])
    assert solve(problem, line)[1] == pytest.approx(9 / 2)
    judged = certificate(problem, DenseGram(line), [-0.5, -0.5, 1.0])
    assert judged.gap == 0.0
    assert judged.rho == pytest.approx(9 / 2)


# ---------------------------------------------------------------- solutions


def test_solution_prints_and_folds():
    judged = certificate(CASES["epsilon regression"], GRAM, OPTIMA["epsilon regression"][0])
    beta = np.arange(4.0)
    solution = Solution(beta, Status.CONVERGED, judged, n_iter=12, seconds=0.5, rows=2)
    assert solution.converged
    assert solution.coef.tolist() == [2.0, 4.0]
    assert Solution(beta, Status.MAX_ITER, judged, 1, 0.1).coef.tolist() == beta.tolist()
    assert not Solution(beta, Status.MAX_ITER, judged, 1, 0.1).converged
    assert "reached the tolerance" in str(solution)
    assert "12 iterations" in str(solution)
    assert "duality gap" in str(solution)
    assert "\n" not in str(solution)


def test_status_is_a_string_with_a_sentence():
    assert Status.MAX_ITER == "max_iter"
    assert Status("stalled") is Status.STALLED
    assert len({status.sentence for status in Status}) == len(Status) == 9
    assert copy.deepcopy(Status.UNBOUNDED) is Status.UNBOUNDED


# ---------------------------------------------------------------- bad input

GOOD = [1, -1, 1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: problems.hinge(GOOD, -1.0), ValueError, "C=-1.0 .* greater than 0"),
        (lambda: problems.hinge(GOOD, np.nan), ValueError, "C=nan"),
        (lambda: problems.squared_hinge(GOOD, 0), ValueError, "C=0 .* greater than 0"),
        (lambda: problems.hinge(GOOD, "1"), TypeError, "C='1' is a str: pass a number"),
        (lambda: problems.hinge(GOOD, bias="exakt"), ValueError, "bias='exakt' .* 'exact'"),
        (lambda: problems.hinge(GOOD, bias=None), TypeError, "bias=None .* 'exact'"),
        (lambda: problems.hinge([1, -1, 2]), ValueError, r"y\[2\]=2 .* pass -1 or \+1"),
        (lambda: problems.hinge([0, 1]), ValueError, r"y\[0\]=0 .* pass -1 or \+1"),
        (lambda: problems.hinge([1, np.nan]), ValueError, r"y\[1\] is NaN: drop or impute"),
        (lambda: problems.hinge([1, 1]), ValueError, r"y=\+1 in every row .* both classes"),
        (lambda: problems.hinge(GOOD, weight=[1, 0, 1]), ValueError, r"y=\+1 in every row"),
        (lambda: problems.hinge(["a", "b"]), ValueError, "y holds values that are not numbers"),
        (lambda: problems.hinge([[1, -1]]), ValueError, r"y has shape \(1, 2\): .* y.ravel"),
        (lambda: problems.hinge([]), ValueError, "y is empty"),
        (lambda: problems.hinge(GOOD, weight=[1, 1]), ValueError, "weight has 2 values: pass 3"),
        (lambda: problems.hinge(GOOD, weight=[1, -2, 1]), ValueError, r"weight\[1\]=-2.0 is neg"),
        (lambda: problems.hinge(GOOD, weight=[0, 0, 0]), ValueError, "weight=0 for every row"),
        (lambda: problems.hinge(GOOD, weight=[1, INF, 1]), ValueError, r"weight\[1\]=inf"),
        (lambda: problems.hinge(GOOD, weight=[1, np.nan, 1]), ValueError, r"weight\[1\] is NaN"),
        (lambda: problems.epsilon_regression([1, np.nan]), ValueError, r"t\[1\] is NaN"),
        (lambda: problems.epsilon_regression([1, INF]), ValueError, r"t\[1\]=inf is infinite"),
        (lambda: problems.epsilon_regression([1], 1, -0.1), ValueError, "epsilon=-0.1 .* at least"),
        (lambda: problems.nu_classification(GOOD, 0.0), ValueError, "nu=0.0 .* greater than 0"),
        (lambda: problems.nu_classification(GOOD, 1.5), ValueError, "nu=1.5 .* at most 1"),
        (lambda: problems.nu_classification(GOOD, 0.7), ValueError, "nu=0.7 .* at most 0.6666"),
        (lambda: problems.nu_regression([1.0], INF, 0.5), ValueError, "C=inf .* finite"),
        (lambda: problems.nu_regression([1.0], 1.0, -1), ValueError, "nu=-1 "),
        (lambda: problems.one_class(0), ValueError, "rows=0 .* at least 1"),
        (lambda: problems.one_class(2.0), TypeError, "rows=2.0 is a float: pass an integer"),
        (lambda: problems.one_class(5, "half"), TypeError, "nu='half' is a str"),
        (lambda: problems.enclosing_ball([1, np.nan]), ValueError, r"diagonal\[1\] is NaN"),
        (lambda: problems.nearest_points(GOOD, upper=0.5), ValueError, "upper=0.5 .* at least 1"),
        (lambda: Problem("x", [0.0], [1.0], [0.0]), ValueError, r"lower\[0\]=1.0 exceeds"),
        (lambda: Problem("x", [0.0], [0.0], [1.0, 2.0]), ValueError, "upper has 2 values: pass 1"),
        (lambda: Problem("x", [0.0], [0.0], [1.0], [-1.0]), ValueError, "ridge=-1.0 is negative"),
        (
            lambda: Problem("x", [0.0], [0.0], [1.0], totals=np.array([2.0])),
            ValueError,
            r"totals\[0\]=2.0 cannot be met: pass 0.0 to 1.0",
        ),
        (
            lambda: Problem("x", [0.0], [0.0], [1.0], totals=np.zeros(3)),
            ValueError,
            "0, 1 or 2 finite sums",
        ),
        (
            lambda: Problem("x", [0.0], [0.0], [1.0], group=np.array([1])),
            ValueError,
            r"group\[0\]=1 has no sum",
        ),
        (
            lambda: Problem("x", *np.zeros((3, 2)), ridge=np.zeros(3)),
            ValueError,
            "ridge has 3 values: pass 2",
        ),
        (
            lambda: Problem("x", *np.zeros((3, 2)), group=np.array([0.5, 0])),
            ValueError,
            r"group\[0\]=0.5 has no sum",
        ),
        (lambda: Problem("x", [0.0], [0.0], [1.0], doubled=True), ValueError, "doubled=True"),
        (
            lambda: certificate(CASES["hinge"], DenseGram(K * np.nan), np.ones(ROWS)),
            ValueError,
            "gram has values that are not finite: scale X",
        ),
        (
            lambda: certificate(CASES["hinge"], GRAM, [0.0]),
            ValueError,
            f"beta has 1 values: pass {ROWS}",
        ),
        (
            lambda: certificate(CASES["hinge"], GRAM, np.full(ROWS, np.nan)),
            ValueError,
            r"beta\[0\] is NaN",
        ),
        (
            lambda: certificate(CASES["hinge"], GRAM, np.zeros(ROWS), snap=-1.0),
            ValueError,
            "snap=-1.0 .* at least 0",
        ),
    ],
)
def test_bad_input_is_answered_in_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
