"""The engine against an interior-point method, over random problems of every use.

A case is a number: it seeds everything, and walks through uses and kernels so that each meets each. The name of a
test says what its case is made of.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from unittest import mock

import numpy as np
import oracle
import pytest
from scipy import sparse

from adatron import Gram, _rows, problems, solve
from adatron.certificates import certificate
from adatron.kernels import (
    Constant,
    Exponential,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)
from adatron.problems import Problem
from adatron.solution import Status

ROUNDS = 3  # of every use with every kernel
SIZES = (2, 3, 4, 7, 12, 17, 24, 33, 48, 65, 100, 200)
SHARES = np.array([2, 2, 2, 3, 3, 3, 3, 3, 2, 2, 1, 0.5])
PRICES = (1e-6, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e6)
WIDTHS = (1e-3, 0.3, 1.0, 3.0, 1e3)  # in units of the data's spread

USES = {
    "hinge": lambda d: problems.hinge(d.y, d.C, weight=d.weight),
    "hinge_origin": lambda d: problems.hinge(d.y, d.C, bias="none", weight=d.weight),
    "hinge_augmented": lambda d: problems.hinge(d.y, d.C, bias="augmented", weight=d.weight),
    "squared_hinge": lambda d: problems.squared_hinge(d.y, d.C, weight=d.weight),
    "squared_hinge_origin": lambda d: problems.squared_hinge(d.y, d.C, bias="none", weight=d.weight),
    "epsilon_regression": lambda d: problems.epsilon_regression(d.t, d.C, d.epsilon, weight=d.weight),
    "epsilon_origin": lambda d: problems.epsilon_regression(d.t, d.C, d.epsilon, bias="none", weight=d.weight),
    "nu_classification": lambda d: problems.nu_classification(d.y, d.nu, weight=d.weight),
    "nu_regression": lambda d: problems.nu_regression(d.t, d.C, d.nu, weight=d.weight),
    "one_class": lambda d: problems.one_class(len(d.y), d.nu, weight=d.weight),
    "enclosing_ball": lambda d: problems.enclosing_ball(d.kernel.diag(d.X)),
    "nearest_points": lambda d: problems.nearest_points(d.y),
    "reduced_hulls": lambda d: problems.nearest_points(d.y, upper=max(0.3, 1 / d.fewest)),
}
KERNELS = {
    "linear": lambda width, d: Linear(),
    "poly": lambda width, d: Polynomial(degree=3, gamma=1 / d, coef0=1.0),
    "even": lambda width, d: Polynomial(degree=2, gamma=1 / d, coef0=0.0),
    "gaussian": lambda width, d: Gaussian(width * np.sqrt(d)),
    "exponential": lambda width, d: Exponential(1 / (width * np.sqrt(d))),
    "laplacian": lambda width, d: Laplacian(1 / (width * d)),
    "sum": lambda width, d: Gaussian(width * np.sqrt(d)) + 0.5 * Linear() + Constant(2.0),
    "product": lambda width, d: 0.5 * Exponential(1 / (width * d)) * Polynomial(2, 1 / d, 1.0) + Constant(0.1),
}
MAX_STEPS = 20_000_000
DISTANCES = ("gaussian", "exponential", "laplacian")  # kernels that do not mind large or small units
SEEDS = range(len(USES) * len(KERNELS) * ROUNDS)


@dataclass
class Case:
    """One random problem: data with all the warts that data have."""

    seed: int

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        uses, kernels = list(USES), list(KERNELS)
        self.use = uses[self.seed % len(uses)]
        form = kernels[self.seed // len(uses) % len(kernels)]
        self.m = m = int(rng.choice(SIZES, p=SHARES / SHARES.sum()))
        d = int(rng.choice((1, 2, 3, 8, 20)))
        spread = float(rng.choice((0.01, 1.0, 1.0, 100.0))) if form in DISTANCES else 1.0
        width = float(rng.choice(WIDTHS))
        X = rng.normal(size=(m, d)) * (rng.random((m, d)) < rng.choice((0.3, 1.0)))
        warts = []
        self.y = np.where(X[:, 0] + rng.choice((0.0, 1.0)) * rng.normal(size=m) > 0, 1.0, -1.0)
        if m > 3 and rng.random() < 0.4:
            warts.append("duplicates")
            copies = rng.integers(0, m, (2, max(2, m // 4)))
            X[copies[0]] = X[copies[1]]
        if rng.random() < 0.2:
            warts.append("constant")
            X[:, rng.integers(d)] = 1.0
        self.y[rng.permutation(m)[:2]] = 1.0, -1.0
        self.t = np.sin(X.sum(axis=1)) + 0.2 * rng.normal(size=m)
        self.weight = None
        if m > 3 and rng.random() < 0.4:
            warts.append("weights")
            self.weight = rng.uniform(0.1, 3.0, m) * (rng.random(m) < 0.8)
            self.weight[[self.y.argmax(), self.y.argmin()]] = 1.0
        self.C = float(rng.choice(PRICES if form in DISTANCES else PRICES[:-1]))
        self.epsilon = float(rng.choice((0.0, 0.1, 0.5)))
        self.kernel: Kernel = KERNELS[form](width * spread, d)
        if self.use == "hinge_augmented":
            self.kernel = self.kernel + Constant(1.0)
        self.X = sparse.csr_array(X * spread) if rng.random() < 0.3 else X * spread
        self.dtype = np.dtype(rng.choice(("float32", "float64")))
        weight = np.ones(m) if self.weight is None else self.weight
        self.fewest = min((self.y > 0).sum(), (self.y < 0).sum())
        smaller = min(weight[self.y > 0].sum(), weight[self.y < 0].sum())
        self.nu = float(rng.choice((0.1, 0.5, 1.0)) * min(1.0, 2 * smaller / weight.sum()))
        kind = "sparse" if sparse.issparse(self.X) else "dense"
        parts = [f"{self.seed:03}", self.use, form, f"m{m}", f"d{d}", f"C{self.C:g}", f"w{width:g}"]
        self.name = "-".join([*parts, kind, self.dtype.name, *warts])

    @property
    def problem(self) -> Problem:
        return USES[self.use](self)

    @property
    def K(self) -> np.ndarray:
        """From dense rows: the reference for sparse ones takes distances from norms, and so rounds them."""
        return self.kernel(_rows.dense(self.X))


def optimum(problem: Problem, K: np.ndarray) -> tuple[np.ndarray, float]:
    """The oracle's answer, found in units in which kernel, gradient and box are near one: β = u·b, gradient = v·(…)."""
    largest = np.abs(K).max() or 1.0
    ends = np.abs(np.concatenate((problem.lower, problem.upper, problem.totals)))
    box = ends[np.isfinite(ends)].max() or 1.0
    v = np.abs(problem.linear).max() or box * largest
    least = min(v / (largest + problem.ridge.max()), box)
    for u, tolerance in product((least, np.sqrt(least * box)), (1e-11, 1e-9)):
        scaled = replace(
            problem,
            linear=problem.linear / v,
            lower=problem.lower / u,
            upper=problem.upper / u,
            ridge=problem.ridge * (u / v),
            totals=problem.totals / u,
        )
        with mock.patch.object(oracle, "TOLERANCE", tolerance), suppress(RuntimeError):
            b, _ = oracle.solve(scaled, K * (u / v))
            return u * b, oracle.objective(problem, K, u * b)
    pytest.fail("the oracle gave up")


@cache
def case(seed: int) -> Case:
    return Case(seed)


def tolerance(problem: Problem, K: np.ndarray) -> float:
    """1e-8, or what float64 can tell of a gradient whose terms are as large as the box and the kernel allow."""
    width = problem.upper - problem.lower
    rounding = np.finfo(float).eps * np.abs(K).sum(axis=1).max() * width[np.isfinite(width)].max(initial=1.0)
    return max(1e-8, 4 * float(rounding))


def check_feasible(problem: Problem, beta: np.ndarray) -> None:
    assert (beta >= problem.lower).all()
    assert (beta <= problem.upper).all()
    for members, total in problem.sums:
        assert abs(beta[members].sum() - total) <= 1e-11 * (1 + np.abs(beta).sum())


@pytest.mark.parametrize("seed", [pytest.param(seed, id=case(seed).name) for seed in SEEDS])
def test_optimum_is_the_oracles(seed):
    here = case(seed)
    problem, K = here.problem, here.K
    tol = tolerance(problem, K)
    gram = Gram(here.kernel, here.X, dtype=here.dtype, threads=1)
    found = solve(problem, gram, tol=tol, max_iter=MAX_STEPS)
    assert found.status is Status.CONVERGED, str(found)
    check_feasible(problem, found.beta)

    best, least = optimum(problem, K)
    # a KKT violation of tol leaves room for half of this, and the rest is the oracle's
    allowed = 1e-6 * abs(least) + tol * (np.abs(best).sum() + np.abs(found.beta).sum()) + 1e-15
    told = found.certificate
    assert told.objective == pytest.approx(least, rel=0, abs=allowed)

    again = certificate(problem, oracle.DenseGram(K), found.beta)
    assert told.objective == pytest.approx(again.objective, rel=1e-9, abs=0.01 * allowed)
    assert told.kkt_violation <= 1.001 * tol
    assert again.kkt_violation <= 1.5 * tol
    assert told.dual == -told.objective
    assert told.primal >= -least - allowed
    assert told.gap == pytest.approx(
        (told.primal - told.dual) / max(abs(told.primal), abs(told.dual), 1e-300), abs=1e-12
    )


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("coef0", [-1.0, 0.0, 1.0])
def test_indefinite_kernel_ends_in_a_defined_way(use, coef0):
    here = Case(list(USES).index(use))
    here.kernel = Sigmoid(gamma=1.0, coef0=coef0)
    problem = here.problem
    found = solve(problem, Gram(here.kernel, here.X, threads=1), tol=1e-6, max_time=600)
    assert found.status in (Status.CONVERGED, Status.STATIONARY, Status.STALLED, Status.UNBOUNDED)
    check_feasible(problem, found.beta)
    if found.status in (Status.CONVERGED, Status.STATIONARY):
        assert certificate(problem, oracle.DenseGram(here.K), found.beta).kkt_violation <= 1.5e-6


def test_every_wart_is_there():
    """The cases are random: see that none of what they shall cover has been lost."""
    names = " ".join(case(seed).name for seed in SEEDS)
    for wart in ("duplicates", "constant", "weights", "sparse", "dense", "float32", "float64", "m2-", "m200-"):
        assert names.count(wart) >= 3, wart
    for price in PRICES:
        assert names.count(f"C{price:g}-") >= 3, price
    opposite = 0
    for here in filter(lambda c: "duplicates" in c.name, map(case, SEEDS)):
        X = _rows.dense(here.X)
        same = (X[:, None] == X).all(axis=2)
        opposite += bool((same & (here.y[:, None] != here.y)).any())
    assert opposite >= 30
