"""Small problems end, however badly they are scaled: in every solver, without being told when."""

import signal
import time
from contextlib import contextmanager

import numpy as np
import oracle
import pytest

from adatron import problems
from adatron.certificates import certificate
from adatron.gram import Gram
from adatron.kernels import Gaussian, Linear, Polynomial
from adatron.solution import Status
from adatron.solvers import SOLVERS, make_solver, solve
from adatron.solvers._active_set import ActiveSet

CPU_SECONDS = 2.0


@contextmanager
def cpu_limit(seconds=CPU_SECONDS):
    """Fail instead of hanging."""

    def out_of_time(number, frame):
        pytest.fail(f"took more than {seconds} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, out_of_time)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def data(m, d, scale, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, d)) * scale
    y = np.where(random.random(m) < 0.5, 1.0, -1.0)
    y[:2] = 1, -1
    return X, y, X @ random.normal(size=d) / scale + random.normal(size=m)


USES = {
    "hinge": lambda y, t: problems.hinge(y, 1.0),
    "hinge, no bias": lambda y, t: problems.hinge(y, 1.0, bias="none"),
    "squared hinge": lambda y, t: problems.squared_hinge(y, 1.0),
    "regression": lambda y, t: problems.epsilon_regression(t, 1.0, 0.1),
    "nu-regression": lambda y, t: problems.nu_regression(t, 1.0, 0.5),
    "one class": lambda y, t: problems.one_class(len(y), 0.3),
}
SCALES = {  # kernel, rows, features, scale
    "linear, 1e4": (Linear(), 150, 5, 1e4),
    "linear, 1e6": (Linear(), 60, 3, 1e6),
    "linear, five rows of 1e9": (Linear(), 5, 3, 1e9),
    "cubic, 1e3": (Polynomial(degree=3, gamma=1.0, coef0=1.0), 40, 2, 1e3),
}
CASES = [
    (name, use, scale)
    for name in SOLVERS
    for use, make in USES.items()
    for scale in SCALES
    if not (takes := make_solver("solver", name).accepts).refusal(make(np.array([1.0, -1.0]), np.zeros(2)))
    and (scale.startswith("linear") or not takes.linear_kernel)
]


@pytest.mark.parametrize(("name", "use", "scale"), CASES)
def test_small_problems_end(name, use, scale):
    kernel, m, d, size = SCALES[scale]
    X, y, t = data(m, d, size)
    problem = USES[use](y, t)
    with cpu_limit():
        found = solve(problem, Gram(kernel, X, dtype=np.float64, threads=1), name)
    assert found.status in (Status.CONVERGED, Status.IMPRECISE, Status.STALLED)
    assert found.certificate.infeasibility <= 1e-9 * (1 + np.abs(found.beta).max())
    assert (found.certificate.kkt_violation <= 1.001e-3) == (found.status is not Status.STALLED)


@pytest.mark.parametrize("name", ["decomposition", "adatron", "chunking"])
def test_float32_values_end_too(name):
    X, y, t = data(100, 3, 1e5)
    with cpu_limit():
        solve(USES["regression"](y, t), Gram(Linear(), X, threads=1), name)


@pytest.mark.parametrize("name", ["svmseq", "sor", "adatron", "decomposition"])
def test_what_float64_can_certify_converges(name):
    """Slow for the papers' algorithms, but nothing that rounding forbids."""
    X, _, t = data(100, 2, 30.0)
    problem = problems.epsilon_regression(t, 1e3, 0.1, bias="none")
    with cpu_limit():
        found = solve(problem, Gram(Linear(), X, dtype=np.float64, threads=1), name)
    assert found.converged, found
    best = oracle.solve(problem, X @ X.T)[1]
    assert found.certificate.objective == pytest.approx(best, rel=1e-4)


# ---------------------------------------------------------------- the active-set method alone


def active_set(problem, K, start=None):
    method = ActiveSet(problem, K, problem.start() if start is None else start, 1e-6)
    with cpu_limit():
        method.run(time.thread_time() + 1.5, lambda: None)
    return method.best


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rank", [1, 3, 40])
@pytest.mark.parametrize("use", USES)
def test_active_set_finds_the_optimum(use, rank, seed):
    """Singular matrices, duplicate rows of both labels, any number of sums."""
    X, y, t = data(40, rank, 1.0, seed)
    X[10:15] = X[15:20]
    problem = USES[use](y, t)
    K = X @ X.T
    found = active_set(problem, K)
    verdict = certificate(problem, oracle.DenseGram(K), found)
    assert verdict.infeasibility <= 1e-10 * (1 + np.abs(found).max())
    assert verdict.kkt_violation <= 1e-6


def test_active_set_takes_boxes_without_end():
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = np.sign(X[:, 0])
    X[:, 0] += 0.2 * y
    problem, K = problems.hinge(y, np.inf), Gaussian(gamma=0.5)(X)
    assert certificate(problem, oracle.DenseGram(K), active_set(problem, K)).kkt_violation <= 1e-6


def test_active_set_starts_from_anywhere():
    X, y, _ = data(50, 3, 1.0)
    problem, K = problems.hinge(y, 1.0, bias="none"), X @ X.T
    inside = (problem.lower + problem.upper) / 3  # every coefficient between its bounds, of a matrix of rank 3
    assert certificate(problem, oracle.DenseGram(K), active_set(problem, K, inside)).kkt_violation <= 1e-6


def test_active_set_lets_go_where_rounding_has_made_sums_alike():
    """Of a matrix that is singular along the sums, and whose factorisation rounding lets pass, not all can be free."""
    K = np.array([[1.0, 1, -1, 1], [1, 1, 1, -1], [-1, 1, 1, 1], [1, -1, 1, 1]])
    problem = problems.nu_classification(np.array([-1.0, 1, -1, 1]), 0.15)
    method = ActiveSet(problem, K, np.array([-0.2, 0.2, -0.1, 0.1]), 1e-6)
    assert not method.factor(np.arange(4))
    assert len(method.free) < 4


@pytest.mark.parametrize("seed", range(3))
def test_what_chunking_claims_is_what_it_returns(seed):
    """Where kernel values are huge, a last correction of the sums by one rounding undoes the optimum."""
    random = np.random.default_rng(seed)
    X = 1e3 * random.normal(size=(120, 31))
    problem = problems.nu_regression(np.sin(X[:, 0] / 500), 0.1, 0.01)
    found = solve(problem, Gram(Polynomial(3, 1 / 31, 1.0), X, dtype=np.float64, threads=1), "chunking")
    assert found.converged
    assert found.certificate.kkt_violation <= 1.001e-3
