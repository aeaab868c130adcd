"""The bounds against numbers worked out by hand; ball and leave-one-out against doing it the long way."""

from math import e, inf, log, log2, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from adatron import Gram, solve
from adatron.kernels import Gaussian, Linear, Polynomial, Precomputed
from adatron.problems import hinge, one_class, squared_hinge
from adatron.selection.bounds import (
    coefficient_bound,
    generalisation_bound,
    margin_bound,
    radius,
    radius_margin,
    span,
    vc_bound,
    vc_dimension,
    xi_alpha,
)

ROWS = 40
MAKERS = {"hinge": hinge, "squared hinge": squared_hinge}
CLOSE = 1e-6  # of leave-one-out values that are exact in theory
SEEDS = range(3)

few = settings(max_examples=25, deadline=None)
positive = st.floats(1e-3, 1e3)


def gram_of(X, kernel=None, **options):
    return Gram(kernel or Gaussian(1.2), X, **{"dtype": np.float64, "threads": 1} | options)


def noisy(seed, rows=ROWS):
    """Two classes that overlap."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 3))
    return X, np.where(X[:, 0] + 0.6 * random.normal(size=rows) > 0, 1.0, -1.0)


def clean(seed, rows=ROWS):
    """Two classes with room between them."""
    X, _ = noisy(seed, rows)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += 0.3 * y
    return X, y


def optimum(problem, gram):
    solution = solve(problem, gram, tol=1e-10)
    assert solution.converged
    return solution


# ---- the bounds from the margin


def test_margin_bound_by_hand():
    assert margin_bound(100, 0.5) == pytest.approx(0.04)
    assert margin_bound(100, 0.5, radius=3.0) == pytest.approx(0.36)
    assert margin_bound(10, 1e-100, 1e100) == margin_bound(10, 1e-200, 1e200) == inf


def test_coefficient_bound_counts_rows_without_a_coefficient_and_no_signs():
    assert coefficient_bound([2.0, -1.0, 0.0, 0.0]) == 0.75


@pytest.mark.parametrize("bias", ["exact", "none"])
@pytest.mark.parametrize("seed", SEEDS)
def test_coefficients_of_a_hard_margin_tell_the_margin(seed, bias):
    X, y = clean(seed)
    gram = gram_of(X, Polynomial(2))
    solution = optimum(hinge(y, inf, bias=bias), gram)
    f = gram.product(solution.beta) + solution.certificate.bias
    width = (y * f).min() / sqrt(solution.beta @ gram.product(solution.beta))
    assert np.abs(solution.beta).sum() == pytest.approx(1 / width**2, rel=1e-6)
    assert coefficient_bound(solution.beta) == pytest.approx(margin_bound(ROWS, width), rel=1e-6)


def test_generalisation_bound_by_hand():
    # R/γ = 2: k = 2308
    by_hand = (2308 * log2(8 * e * 10**7 / 2308) * log2(32 * 10**7) + log2(8 * 10**7 / 0.05)) / 10**7
    assert generalisation_bound(10**7, 0.5) == pytest.approx(by_hand, rel=1e-12)
    assert by_hand == pytest.approx(0.1077, abs=1e-4)
    assert generalisation_bound(10**7, 1.5, radius=3.0) == pytest.approx(by_hand, rel=1e-12)


def test_generalisation_bound_when_the_dimension_rounds_to_nothing():
    assert generalisation_bound(1024, 1.0, 0.01, confidence=0.5) == pytest.approx(14 / 1024)
    assert generalisation_bound(1024, 1.0, 0.0, confidence=0.5) == pytest.approx(14 / 1024)


@few
@given(st.integers(1, 10**6), positive, positive, positive)
def test_a_wider_margin_never_bounds_worse(rows, a, b, R):
    narrow, wide = min(a, b), max(a, b)
    for bound in (margin_bound, generalisation_bound):
        assert bound(rows, wide, R) <= bound(rows, narrow, R) * (1 + 1e-12)
        assert bound(rows, wide, R) > 0
    assert vc_dimension(R, wide) <= vc_dimension(R, narrow)


def test_generalisation_bound_of_hardly_any_margin_says_nothing():
    assert generalisation_bound(50, 1e-9) == generalisation_bound(50, 1e-200, 1e200) > 1


def test_vc_dimension_by_hand():
    assert vc_dimension(1.0, 0.25) == 17
    assert vc_dimension(1.0, 0.3) == 13  # ⌈11.1⌉ + 1
    assert vc_dimension(1.0, 0.25, features=5) == 6
    assert vc_dimension(0.0, 1.0) == 1
    assert vc_dimension(1e200, 1e-200) == inf


def test_vc_bound_by_hand():
    E = 4 * (10 * (log(200) + 1) - log(0.05)) / 1000
    assert vc_bound(1000, 10) == pytest.approx(E, rel=1e-12)
    assert pytest.approx(0.26392, abs=1e-5) == E
    with_errors = 0.1 + E / 2 * (1 + sqrt(1 + 0.4 / E))
    assert vc_bound(1000, 10, empirical_risk=0.1) == pytest.approx(with_errors, rel=1e-12)


@few
@given(st.integers(1, 10**6), st.floats(1, 1e7), st.floats(0, 1), st.floats(0.01, 0.99))
def test_vc_bound_is_the_root_that_the_theorem_speaks_of(rows, dimension, risk, confidence):
    bound = vc_bound(rows, dimension, empirical_risk=risk, confidence=confidence)
    E = vc_bound(rows, dimension, confidence=confidence)
    assert bound - risk == pytest.approx(sqrt(E * bound), rel=1e-9)


@few
@given(st.integers(1, 10**5), st.floats(1, 1e6), st.floats(1, 1e6), st.floats(0, 1), st.floats(0, 1))
def test_vc_bound_grows_with_dimension_risk_and_confidence_and_falls_with_rows(rows, h1, h2, r1, r2):
    grows = 1 + 1e-12
    h, risk = sorted((h1, h2)), sorted((r1, r2))
    assert vc_bound(rows, h[0]) <= vc_bound(rows, h[1]) * grows
    assert vc_bound(rows, h1, empirical_risk=risk[0]) <= vc_bound(rows, h1, empirical_risk=risk[1]) * grows
    assert vc_bound(rows, h1, confidence=0.9) < vc_bound(rows, h1, confidence=0.99)
    assert vc_bound(2 * rows, h1) <= vc_bound(rows, h1) * grows


def test_vc_bound_of_a_dimension_without_end_says_nothing():
    assert vc_bound(50, inf) == vc_bound(50, 101) > 1


# ---- the ball


def smallest_ball(K):
    """R² by SLSQP from a random start."""
    m, scale = len(K), K.diagonal().max()
    K = K / scale
    result = minimize(
        lambda v: v @ K @ v - v @ K.diagonal(),
        np.random.default_rng(0).dirichlet(np.ones(m)),
        jac=lambda v: 2 * K @ v - K.diagonal(),
        bounds=[(0, None)] * m,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1, "jac": lambda v: np.ones(m)},
        method="SLSQP",
        options={"ftol": 1e-11, "maxiter": 1000},
    )
    assert result.success
    return -result.fun * scale


def test_radius_of_two_points_is_half_their_distance():
    ball = radius(gram_of(np.array([[1.0, 5.0], [4.0, 9.0]]), Linear()), tol=1e-9)
    assert ball.radius == pytest.approx(2.5)
    assert ball.center == pytest.approx([0.5, 0.5])


def test_radius_of_one_point_is_zero():
    assert radius(gram_of(np.array([[3.0, 4.0]]), Linear())).radius == 0


@pytest.mark.parametrize("rows", [2, 3, 10])
def test_radius_of_a_simplex(rows):
    """Corners at distance √2 from each other, as a Gaussian with σ → 0 maps any rows: R² = 1 - 1/m."""
    corners = radius(gram_of(np.eye(rows), Linear()), tol=1e-9)
    assert corners.radius**2 == pytest.approx(1 - 1 / rows)
    spread = radius(gram_of(np.random.default_rng(0).normal(size=(rows, 2)), Gaussian(1e-4)), tol=1e-9)
    assert spread.radius**2 == pytest.approx(1 - 1 / rows)


def test_radius_of_a_circle_is_that_of_the_circle():
    angle = np.linspace(0, 2 * np.pi, 30)
    circle = np.column_stack((3 * np.cos(angle) + 7, 3 * np.sin(angle) - 2))
    assert radius(gram_of(circle, Linear()), tol=1e-9).radius == pytest.approx(3, rel=1e-6)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0), Polynomial(2)], ids=repr)
@pytest.mark.parametrize("ridge", [0.0, 0.7, np.linspace(0, 2, 20)], ids=["none", "one", "each"])
def test_radius_as_slsqp_finds_it(kernel, ridge):
    X, _ = noisy(5, 20)
    gram = gram_of(X, kernel)
    ball = radius(gram, ridge=ridge, tol=1e-8)
    by_hand = smallest_ball(kernel(X) + np.diag(np.broadcast_to(ridge, 20)))
    assert ball.radius**2 == pytest.approx(by_hand, rel=1e-6)


@few
@given(st.integers(0, 2**31), st.integers(1, 25), st.floats(1e-4, 1e4), st.sampled_from([1e-1, 1e-3, 1e-6]))
def test_the_ball_holds_every_row_and_scales_with_the_kernel(seed, rows, factor, tol):
    X = np.random.default_rng(seed).normal(size=(rows, 3))
    K = Polynomial(2)(X)
    ball, larger = (radius(gram_of(k * K, Precomputed()), tol=tol) for k in (1.0, factor))
    assert larger.radius**2 == pytest.approx(factor * ball.radius**2, abs=2.1 * tol * factor * K.max())
    v = ball.center
    assert v.sum() == pytest.approx(1)
    assert (v >= 0).all()
    farthest = (K.diagonal() - 2 * K @ v + v @ K @ v).max()
    assert ball.radius**2 - 1e-9 <= farthest + 1e-9 <= ball.radius**2 + 2.001 * tol * K.diagonal().max() + 1e-8


def test_radius_goes_on_from_the_last_centre():
    X, _ = noisy(1, 300)
    last = radius(gram_of(X, Gaussian(1.0)), tol=1e-6)
    gram = gram_of(X, Gaussian(1.01))
    fresh, warm = radius(gram, tol=1e-6), radius(gram, start=last.center, tol=1e-6)
    assert warm.radius == pytest.approx(fresh.radius, rel=1e-5)
    assert warm.solution.n_iter < fresh.solution.n_iter


def test_radius_in_float32_and_at_any_scale():
    X, _ = noisy(2, 30)
    exact = radius(gram_of(X, Linear()), tol=1e-8).radius
    assert radius(gram_of(X, Linear(), dtype=np.float32)).radius == pytest.approx(exact, rel=1e-2)
    for scale in (1e4, 1e-4):
        assert radius(gram_of(scale * X, Linear(), dtype=np.float32)).radius == pytest.approx(scale * exact, rel=1e-2)


# ---- radius and margin of the squared hinge


@pytest.mark.parametrize("bias", ["exact", "none"])
def test_radius_margin_is_the_bound_of_the_hard_margin_in_the_widened_kernel(bias):
    X, y = noisy(3)
    C = 2.0
    soft = squared_hinge(y, C, bias=bias)
    gram = gram_of(X)
    widened = gram_of(gram.kernel(X) + np.eye(ROWS) / (2 * C), Precomputed())
    hard = optimum(hinge(y, inf, bias=bias), widened)
    width = 1 / sqrt(np.abs(hard.beta).sum())
    by_hand = margin_bound(ROWS, width, radius(widened, tol=1e-8).radius)
    ball = radius(gram, ridge=soft.ridge, tol=1e-8)
    bound = radius_margin(soft, gram, optimum(soft, gram).beta, ball=ball)
    assert bound == pytest.approx(by_hand, rel=1e-6)
    assert radius_margin(soft, gram, optimum(soft, gram).beta) == pytest.approx(by_hand, rel=1e-2)


def test_radius_margin_of_a_hard_margin_with_radius_one_is_the_coefficients():
    X, y = clean(0)
    gram = gram_of(X, Gaussian(0.05))
    problem = hinge(y, inf)
    beta = optimum(problem, gram).beta
    squared = radius(gram, tol=1e-8).radius ** 2
    assert radius_margin(problem, gram, beta) == pytest.approx(squared * coefficient_bound(beta), rel=1e-2)
    assert squared == pytest.approx(1, abs=1.1 / ROWS)


# ---- leave-one-out


def position(problem, beta):
    """-1, 1 or 0: at the lower bound, at the upper, free."""
    return (beta >= problem.upper - 1e-9).astype(int) - (beta <= problem.lower + 1e-9)


def left_out(make, X, y, gram, weight=None, **options):
    """y f of each row as the machine trained without it has it, and where the others' coefficients then are."""
    weight = np.ones(len(y)) if weight is None else weight
    margins, positions = np.empty(len(y)), []
    for p in range(len(y)):
        others = np.delete(np.arange(len(y)), p)
        problem = make(y[others], weight=weight[others], **options)
        solution = optimum(problem, gram.subset(others))
        f = gram.kernel(X[[p]], X[others])[0] @ solution.beta + solution.certificate.bias
        margins[p] = y[p] * f
        positions.append(position(problem, solution.beta))
    return margins, positions


def compared(make, X, y, weight=None, **options):
    """The estimate, the truth, and which rows free and bounded, left out, change no other coefficient's place."""
    gram = gram_of(X)
    problem = make(y, weight=weight, **options)
    beta = optimum(problem, gram).beta
    truth, positions = left_out(make, X, y, gram, weight, **options)
    here = position(problem, beta)
    same = np.array([np.array_equal(np.delete(here, p), after) for p, after in enumerate(positions)])
    return span(problem, gram, beta), truth, same & (here == 0), same & (here != 0) & (beta != 0)


@pytest.mark.parametrize("bias", ["exact", "none"])
@pytest.mark.parametrize("C", [0.3, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("use", MAKERS)
def test_span_is_leave_one_out_where_no_coefficient_changes_place(use, C, bias):
    counted, estimated, true = 0, [], []
    for seed in SEEDS:
        estimate, truth, free, bounded = compared(MAKERS[use], *noisy(seed), C=C, bias=bias)
        exact = free | bounded
        assert estimate.margins[exact] == pytest.approx(truth[exact], abs=CLOSE)
        counted += np.count_nonzero(free)
        estimated.append(estimate.error)
        true.append((truth <= 0).mean())
    assert counted >= 1
    distance = np.abs(np.subtract(estimated, true))
    assert distance.max() <= 0.15  # six rows of forty
    assert distance.mean() <= 0.075
    if use == "squared hinge" and C <= 1:  # coefficients without an end stay free
        assert counted >= 20 * len(SEEDS)
        assert estimated == true


def test_span_is_leave_one_out_for_bounded_rows_too():
    counted = 0
    for seed in SEEDS:
        estimate, truth, _, bounded = compared(hinge, *noisy(seed), C=0.3, bias="none")
        assert estimate.margins[bounded] == pytest.approx(truth[bounded], abs=CLOSE)
        counted += np.count_nonzero(bounded)
    assert counted >= 10
    with_bias, truth, _, bounded = compared(hinge, *noisy(1), C=1.0)
    assert bounded.any()
    assert with_bias.margins[bounded] == pytest.approx(truth[bounded], abs=CLOSE)


@pytest.mark.parametrize("use", MAKERS)
def test_span_with_weights_in_the_problem(use):
    X, y = noisy(0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, ROWS)
    weight[3] = 0.0
    estimate, truth, free, _ = compared(MAKERS[use], X, y, weight=weight, C=1.0)
    assert free.any()
    assert estimate.margins[free] == pytest.approx(truth[free], abs=CLOSE)
    assert estimate.margins[3] == pytest.approx(truth[3], abs=CLOSE)


def test_span_without_a_free_coefficient_or_a_sum_is_exact():
    X, y = noisy(0)
    estimate, truth, free, bounded = compared(hinge, X, y, C=0.01, bias="none")
    assert not free.any()
    assert bounded.all()
    assert estimate.margins == pytest.approx(truth, abs=CLOSE)


def test_span_without_a_free_coefficient_moves_the_bias_to_the_next():
    """Weights 1 and 3 against 2, all at their bounds: who makes up for a row of weight 1 is free afterwards."""
    X, _ = noisy(0)
    y = np.repeat([1.0, -1.0], ROWS // 2)
    weight = np.where(y < 0, 2.0, np.where(np.arange(ROWS) % 2, 1.0, 3.0))
    gram = gram_of(X)
    problem = hinge(y, 1e-3, weight=weight)
    beta = optimum(problem, gram).beta
    assert (position(problem, beta) != 0).all()
    truth, positions = left_out(hinge, X, y, gram, weight, C=1e-3)
    here = position(problem, beta)
    one_moves = np.array([(np.delete(here, p) != after).sum() == 1 for p, after in enumerate(positions)])
    one_moves &= weight == 1
    assert one_moves.sum() >= 5
    assert span(problem, gram, beta).margins[one_moves] == pytest.approx(truth[one_moves], abs=CLOSE)
    flipped = span(hinge(-y, 1e-3, weight=weight), gram, -beta)
    assert flipped.margins == pytest.approx(span(problem, gram, beta).margins, abs=1e-12)


def test_span_when_the_only_free_coefficient_leaves():
    """Without it another is free, and no third moves."""
    counted = 0
    for seed in range(40):
        X, y = noisy(seed, 12)
        weight = np.random.default_rng(seed).uniform(0.5, 2.0, 12)
        gram, problem = gram_of(X), hinge(y, 1e-2, weight=weight)
        beta = optimum(problem, gram).beta
        here = position(problem, beta)
        if np.count_nonzero(here == 0) == 1:
            p = int((here == 0).argmax())
            truth, positions = left_out(hinge, X, y, gram, weight, C=1e-2)
            if (np.delete(here, p) != positions[p]).sum() == 1:
                assert span(problem, gram, beta).margins[p] == pytest.approx(truth[p], abs=CLOSE)
                counted += 1
    assert counted >= 3


def test_span_of_two_points_leaves_nothing_of_the_other_class():
    gram = gram_of(np.array([[0.0], [2.0]]), Linear())
    problem = hinge([-1, 1], inf)
    estimate = span(problem, gram, optimum(problem, gram).beta)
    assert estimate.margins == pytest.approx([-1, -1])  # f is then what the other row wants
    assert (estimate.error, estimate.slack) == (1.0, pytest.approx(2.0))
    assert estimate.smooth == pytest.approx(1 / (1 + np.exp(-5.0)))


def test_span_of_a_row_with_a_twin_changes_nothing():
    """A singular matrix: two rows share their coefficient, and either can take over the whole."""
    X, y = clean(0)
    gram, problem = gram_of(X), hinge(y, inf)
    beta = optimum(problem, gram).beta
    p = int(np.abs(beta).argmax())
    twice = np.append(np.arange(ROWS), p)
    shared = beta[twice]
    shared[[p, -1]] /= 2
    estimate = span(hinge(y[twice], inf), gram_of(X[twice]), shared)
    assert estimate.margins[[p, -1]] == pytest.approx(1, abs=1e-6)
    assert np.isfinite(estimate.margins).all()


def test_span_survives_float32_and_kernels_of_low_rank():
    X, y = noisy(4, 200)
    problem = hinge(y, 10.0)
    for kernel in (Linear(), Gaussian(20.0), Gaussian(1.2)):
        single = gram_of(X, kernel, dtype=np.float32)
        double = gram_of(X, kernel)
        estimates = [span(problem, gram, solve(problem, double, tol=1e-6).beta) for gram in (single, double)]
        assert all(np.isfinite(estimate.margins).all() for estimate in estimates)
        assert estimates[0].error == pytest.approx(estimates[1].error, abs=0.02)


@few
@given(st.integers(0, 2**31), st.sampled_from(list(MAKERS)), st.sampled_from([0.1, 1.0, 30.0]), st.booleans())
def test_span_only_takes_away_and_knows_no_side(seed, use, C, biased):
    X, y = noisy(seed, 20)
    gram, bias = gram_of(X), "exact" if biased else "none"
    y[:2] = (1, -1)
    problem = MAKERS[use](y, C, bias=bias)
    solution = solve(problem, gram, tol=1e-6)
    beta = solution.beta
    estimate = span(problem, gram, beta)
    f = gram.product(beta) + solution.certificate.bias
    own = y * f + problem.ridge * np.abs(beta)  # what the row has of its own ridge is no prediction
    moved = np.isclose(estimate.margins, own) | (estimate.margins < own)
    assert moved.all() or (biased and np.count_nonzero(position(problem, beta) == 0) < 2)
    assert estimate.margins[beta == 0] == pytest.approx((y * f)[beta == 0])
    other = span(MAKERS[use](-y, C, bias=bias), gram, -beta)
    assert other.margins == pytest.approx(estimate.margins, rel=1e-6, abs=1e-6)
    assert 0 <= estimate.error <= 1
    assert estimate.error == estimate.errors.mean() <= estimate.slack + 1e-12


def test_span_weighs_its_means():
    X, y = noisy(0)
    gram, problem = gram_of(X), hinge(y, 1.0)
    beta = optimum(problem, gram).beta
    weight = np.arange(ROWS, dtype=float)
    estimate, plain = span(problem, gram, beta, weight=weight), span(problem, gram, beta)
    assert estimate.margins == pytest.approx(plain.margins)
    loss = np.maximum(0, 1 - plain.margins)
    assert estimate.error == pytest.approx(weight @ (plain.margins <= 0) / weight.sum())
    assert estimate.slack == pytest.approx(weight @ loss / weight.sum())
    assert plain.slack == pytest.approx(loss.mean())
    assert plain.smooth == pytest.approx((1 / (1 + np.exp(5 * plain.margins))).mean())


@pytest.mark.parametrize("bias", ["exact", "none"])
@pytest.mark.parametrize("C", [0.3, 1.0, 10.0])
def test_xi_alpha_is_no_less_than_leave_one_out(C, bias):
    for seed in SEEDS:
        X, y = noisy(seed)
        gram, problem = gram_of(X), hinge(y, C, bias=bias)
        solution = optimum(problem, gram)
        truth, _ = left_out(hinge, X, y, gram, C=C, bias=bias)
        product, b = gram.product(solution.beta), solution.certificate.bias
        estimate = xi_alpha(problem, solution.beta, product, b, gram.diagonal)
        by_hand = [2 * abs(a) + max(0, 1 - t * (v + b)) >= 1 for a, t, v in zip(solution.beta, y, product, strict=True)]
        assert estimate == np.mean(by_hand)
        assert estimate >= (truth <= 0).mean()
        assert xi_alpha(problem, solution.beta, product, b, gram.diagonal, rho=1.0) <= estimate
        assert xi_alpha(problem, solution.beta, product, b, gram.diagonal, least=-1.0) >= estimate


def test_xi_alpha_counts_a_slack_of_one():
    problem = hinge([1, -1, 1, -1], 5.0)
    alone = [0.0, 0.0, 0.2, -0.2]
    values = [2.0, 0.0, 1.0, -1.0]  # ξ = 0, 1, 0, 0
    assert xi_alpha(problem, alone, values, 0.0, np.ones(4)) == 0.25
    assert xi_alpha(problem, alone, values, 0.0, np.full(4, 2.5)) == 0.75  # 2 · 0.2 · 2.5 = 1
    assert xi_alpha(problem, alone, values, 0.0, np.full(4, 2.5), least=0.5) == 0.25
    assert xi_alpha(problem, alone, values, 0.5, np.ones(4)) == 0.25


# ---- bad input, in one sentence


BALL = gram_of(np.eye(3), Linear())
PAIR = hinge([1, -1, 1], 1.0)
REFUSED = {
    "margin=0": (lambda: margin_bound(10, 0), "margin=0 is out of range: pass a finite number greater than 0"),
    "margin NaN": (lambda: vc_dimension(1.0, np.nan), "margin=nan is out of range: pass"),
    "rows=0": (lambda: margin_bound(0, 1.0), "rows=0 is out of range: pass an integer of at least 1"),
    "rows=0 in vc_bound": (lambda: vc_bound(0, 3), "rows=0 is out of range: pass an integer of at least 1"),
    "rows=0 in theorem": (lambda: generalisation_bound(0, 1.0), "rows=0 is out of range: pass an integer"),
    "radius<0": (lambda: margin_bound(10, 1.0, -1.0), "radius=-1.0 is out of range: pass a finite number of at least"),
    "confidence=1": (lambda: vc_bound(10, 3, confidence=1), "confidence=1 is out of range: pass a number between 0"),
    "confidence=0": (lambda: generalisation_bound(9, 1.0, confidence=0), "confidence=0 is out of range: pass"),
    "dimension=0": (lambda: vc_bound(10, 0), "dimension=0 is out of range: pass a number of at least 1"),
    "risk=2": (lambda: vc_bound(10, 3, empirical_risk=2), "empirical_risk=2 is out of range: pass a share"),
    "features=0": (lambda: vc_dimension(1.0, 1.0, 0), "features=0 is out of range: pass a number of at least 1"),
    "no coefficients": (lambda: coefficient_bound([]), "coef is empty: pass at least one value"),
    "ridge<0": (lambda: radius(BALL, ridge=-1.0), "ridge=-1.0 is negative: pass values of at least 0"),
    "start too short": (lambda: radius(BALL, start=[1.0]), "start has 1 values: pass 3, one for each row"),
    "start off": (lambda: radius(BALL, start=np.ones(3)), "start breaks the problem's box or sums: pass a feasible"),
    "tol=0": (lambda: radius(BALL, tol=0), "tol=0 is out of range: pass a finite number greater than 0"),
    "soft margin": (lambda: radius_margin(PAIR, BALL, np.zeros(3)), "has a finite C: pass squared_hinge"),
    "no classifier": (lambda: span(one_class(3), BALL, np.zeros(3)), "of another kind: pass one made by hinge or"),
    "squared": (lambda: xi_alpha(squared_hinge([1, -1]), [0, 0], [0, 0], 0, [1, 1]), "pass one made by hinge"),
    "least": (lambda: xi_alpha(PAIR, [0] * 3, [0] * 3, 0, [1] * 3, least=2.0), "least=2.0 exceeds .*: pass what"),
    "other gram": (lambda: span(hinge([1, -1]), BALL, [0.0, 0.0]), "gram has 3 rows: pass one with 2"),
    "short beta": (lambda: span(PAIR, BALL, [0.0]), "beta has 1 values: pass 3, one for each row"),
    "weights": (lambda: span(PAIR, BALL, np.zeros(3), weight=[0, 0, 0]), "weight=0 for every row .*: pass"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_sentence(name):
    call, sentence = REFUSED[name]
    with pytest.raises(ValueError, match=sentence):
        call()
