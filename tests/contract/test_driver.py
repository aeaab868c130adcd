"""The core's loop around the engine: what ends it, which rows are active, what it keeps."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_classification

from adatron import _core, problems
from adatron.certificates import certified
from adatron.gram import Gram
from adatron.kernels import Gaussian

TOL = 1e-3
STATE = _core.RunState


def task(rows=600, C=1.0, seed=0, gamma=0.1):
    X, y = make_classification(rows, 8, n_informative=5, random_state=seed)
    return problems.hinge(np.where(y, 1.0, -1.0), C), Gram(Gaussian(gamma=gamma), X, dtype=np.float64, threads=1)


def options(active=None, goal=TOL, run=(), **more):
    return _core.DriverOptions(run=_core.RunOptions(goal=goal, **dict(run)), active=active, **more)


def loaded(problem, gram, beta=None):
    driver = _core.Driver64(gram.core)
    beta = problem.start() if beta is None else beta
    driver.load(**problem.spans, beta=beta, product=np.array(gram.product(problem.fold(beta))))
    return driver


def coefficients(driver, problem):
    beta = np.empty(len(problem))
    driver.write(beta)
    return beta


def finished(driver, problem, gram, how):
    """The end, and how many rows were active in each run."""
    active = []
    while (state := driver.advance(how)) in (STATE.running, STATE.needs_product):
        if state == STATE.needs_product:
            active.append(driver.active_rows)
            driver.judge(np.array(gram.product(problem.fold(coefficients(driver, problem)))))
    return state, active


def violation(driver, problem, gram):
    beta = coefficients(driver, problem)
    return certified(problem, beta, np.array(gram.product(problem.fold(beta)))).kkt_violation


@pytest.mark.parametrize("active", [None, _core.ActiveRows(spare=64), _core.ActiveRows(spare=64, keep=True)])
def test_it_ends_within_the_tolerance_over_all_rows(active):
    problem, gram = task(1500)
    driver = loaded(problem, gram)
    state, _ = finished(driver, problem, gram, options(active))
    assert state == STATE.converged
    assert driver.violation == pytest.approx(violation(driver, problem, gram), abs=1e-12)
    assert driver.violation <= TOL * _core.CERTAIN


def test_a_run_converges_by_the_product_it_is_given_and_not_by_the_engines_sums():
    problem, gram = task()
    driver = loaded(problem, gram)
    how = options()
    assert driver.advance(how) == STATE.needs_product
    true = np.array(gram.product(problem.fold(coefficients(driver, problem))))
    assert certified(problem, coefficients(driver, problem), true).kkt_violation <= TOL * _core.CERTAIN
    wrong = true + np.random.default_rng(0).normal(size=len(true))
    driver.judge(wrong)
    assert driver.violation > 1
    steps = driver.steps
    assert driver.advance(how) == STATE.needs_product  # and not converged
    assert driver.steps > steps
    state, _ = finished(driver, problem, gram, how)
    assert state == STATE.converged
    assert violation(driver, problem, gram) <= TOL * _core.CERTAIN


def test_few_rows_are_active_where_few_support():
    problem, gram = task(4000, C=10.0)
    full = loaded(problem, gram)
    finished(full, problem, gram, options())
    start = coefficients(full, problem)
    harder = problems.hinge(np.where(problem.linear < 0, 1.0, -1.0), 12.0)
    driver = loaded(harder, gram, start)
    state, active = finished(driver, harder, gram, options(_core.ActiveRows(neighbours=1.1, spare=100)))
    assert state == STATE.converged
    assert max(active) <= 0.5 * 4000


def test_active_rows_that_are_kept_only_grow():
    problem, gram = task(4000, C=1.0)
    first = loaded(problem, gram)
    finished(first, problem, gram, options())
    harder = problems.hinge(np.where(problem.linear < 0, 1.0, -1.0), 100.0)
    driver = loaded(harder, gram, coefficients(first, problem))
    how, active = options(_core.ActiveRows(neighbours=1.0, spare=16, keep=True), goal=1e-4), []
    while (state := driver.advance(how)) in (STATE.running, STATE.needs_product):
        if state == STATE.needs_product:
            active.append(set(gram.core.active.tolist()))
            driver.judge(np.array(gram.product(harder.fold(coefficients(driver, harder)))))
    assert state == STATE.converged
    assert len(active) > 2
    assert all(before <= after for before, after in pairwise(active))


@pytest.mark.parametrize("always", [True, False])
def test_samples_come_first(always):
    problem, gram = task(3000, gamma=1.0)  # most rows support it
    driver = loaded(problem, gram)
    driver.begin_with_samples(np.random.default_rng(0).permutation(3000), always=always)
    state, active = finished(driver, problem, gram, options(_core.ActiveRows()))
    assert state == STATE.converged
    assert active[:2] == ([300, 990] if always else [300, 3000])


def test_kernel_values_and_counts_go_from_problem_to_problem():
    problem, gram = task(800, C=1.0)
    driver = loaded(problem, gram)
    finished(driver, problem, gram, options())
    beta = coefficients(driver, problem)
    nearby = problems.hinge(np.where(problem.linear < 0, 1.0, -1.0), 1.1)
    driver.load(**nearby.spans, beta=beta, product=np.array(gram.product(nearby.fold(beta))))
    assert driver.steps == driver.rounds == 0
    assert finished(driver, nearby, gram, options())[0] == STATE.converged
    warm = driver.steps
    cold = loaded(nearby, gram)
    finished(cold, nearby, gram, options())
    assert 0 < warm < cold.steps


def test_limits_count_from_the_start_of_a_problem():
    problem, gram = task()
    driver = loaded(problem, gram)
    for _ in range(2):
        beta = problem.start()
        driver.load(**problem.spans, beta=beta, product=np.zeros(problem.rows))
        assert driver.advance(options(run={"max_steps": 10}.items())) == STATE.out_of_steps
        assert driver.steps == 10


def test_a_trace_counts_over_all_runs():
    problem, gram = task(1500)
    driver = loaded(problem, gram)
    driver.begin_with_samples(np.random.default_rng(0).permutation(1500), always=True)
    finished(driver, problem, gram, options(_core.ActiveRows(spare=64), run={"record": True}.items()))
    rounds, steps = driver.trace[:, 1], driver.trace[:, 10]
    assert (np.diff(rounds) > 0).all()
    assert (np.diff(steps) >= 0).all()
    assert rounds[-1] == driver.rounds
    assert steps[-1] <= driver.steps


def test_what_is_solved_already_needs_no_run():
    problem, gram = task()
    driver = loaded(problem, gram)
    finished(driver, problem, gram, options())
    again = loaded(problem, gram, coefficients(driver, problem))
    assert again.advance(options()) == STATE.converged
    assert again.steps == 0


def test_sizes_are_checked():
    problem, gram = task(50)
    driver = loaded(problem, gram)
    beta = problem.start()
    with pytest.raises(ValueError, match="product"):
        driver.load(**problem.spans, beta=beta, product=np.zeros(49))
    with pytest.raises(ValueError, match="product"):
        driver.judge(np.zeros(51))
    with pytest.raises(ValueError, match="beta"):
        driver.write(np.zeros(49))
    with pytest.raises(ValueError, match="order"):
        driver.begin_with_samples(np.arange(49), always=True)
    with pytest.raises(ValueError, match="order"):
        driver.begin_with_samples(np.arange(1, 51), always=True)
    with pytest.raises(ValueError, match="advance"):
        driver.account()
