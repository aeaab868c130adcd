"""Every solver, every problem for it, and how its answers are held to account."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf

import numpy as np
import oracle
import pytest
from scipy import sparse

from adatron import Gram, certificate, problems
from adatron.kernels import Callable as Function
from adatron.kernels import Constant, Gaussian, Kernel, Linear, Polynomial, Precomputed
from adatron.problems import Problem
from adatron.solution import Solution
from adatron.solvers import (
    SOLVERS,
    SOR,
    Adatron,
    Chunking,
    SimplifiedSMO,
    Solver,
    SVMseq,
)

GUARD = 600.0  # seconds after which a run counts as endless: far more than any takes, however busy the machine
COLUMNS = [
    "epoch",
    "seconds",
    "objective",
    "gap",
    "kkt_violation",
    "margin",
    "bias",
    "sum",
    "support",
    "at_bound",
    "updates",
    "kernel_evaluations",
]
ROWS = 40


def data(rows: int, features: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=rows) > 0.3, 1.0, -1.0)
    return X, y, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=rows)


X, Y, T = data(ROWS)
KERNEL = Gaussian(0.8)
K = KERNEL(X)
WEIGHT = np.where(np.arange(ROWS) % 7, np.linspace(0.5, 2.0, ROWS), 0.0)

# for any kernel; test_linear.py holds the one for linear kernels to the same contract
GENERAL = {name: make for name, make in SOLVERS.items() if not make().accepts.linear_kernel}
VARIANTS: dict[str, Callable[[], Solver]] = {
    **GENERAL,
    "adatron, a rate": lambda: Adatron(rate=0.7),
    "adatron from one": lambda: Adatron(initial=1.0),
    "adatron, random": lambda: Adatron(order="random"),
    "adatron, greedy": lambda: Adatron(order="greedy"),
    "svmseq by updates": lambda: SVMseq(rule="update"),
    "svmseq, random": lambda: SVMseq(order="random"),
    "svmseq, greedy": lambda: SVMseq(order="greedy"),
    "sor, under": lambda: SOR(omega=0.7),
    "sor, over": lambda: SOR(omega=1.7),
    "sor, random": lambda: SOR(order="random"),
    "sor, greedy": lambda: SOR(order="greedy"),
    "simplified-smo, patient": lambda: SimplifiedSMO(max_passes=200),
    "chunks": lambda: Chunking(size=8),
    "chunks of 16": lambda: Chunking(size=16, fixed=True),
    "chunks by adatron": lambda: Chunking("adatron", size=8),
    "chunks by smo": lambda: Chunking("smo", size=8),
    "chunks by qp": lambda: Chunking("qp", size=16),
}
PROBLEMS: dict[str, Problem] = {
    "hinge": problems.hinge(Y, 2.0),
    "hinge, no bias": problems.hinge(Y, 2.0, bias="none"),
    "hinge, weights": problems.hinge(Y, 2.0, weight=WEIGHT),
    "hinge, weights, no bias": problems.hinge(Y, 2.0, bias="none", weight=WEIGHT),
    "hard margin": problems.hinge(Y, inf),
    "hard margin, no bias": problems.hinge(Y, inf, bias="none"),
    "hard margin, weights": problems.hinge(Y, inf, weight=WEIGHT),
    "squared hinge": problems.squared_hinge(Y, 2.0),
    "squared hinge, no bias": problems.squared_hinge(Y, 2.0, bias="none"),
    "squared hinge, weights": problems.squared_hinge(Y, 2.0, weight=WEIGHT),
    "regression": problems.epsilon_regression(T, 3.0, 0.05),
    "regression, no bias": problems.epsilon_regression(T, 3.0, 0.05, bias="none"),
    "regression, weights": problems.epsilon_regression(T, 3.0, 0.05, weight=WEIGHT),
    "nu classification": problems.nu_classification(Y, 0.4),
    "nu regression": problems.nu_regression(T, 2.0, 0.3),
    "one class": problems.one_class(ROWS, 0.2),
    "one class, weights": problems.one_class(ROWS, 0.3, weight=WEIGHT),
    "ball": problems.enclosing_ball(K.diagonal()),
    "hulls": problems.nearest_points(Y),
    "reduced hulls": problems.nearest_points(Y, upper=0.2),
}


def accepts(variant: str, problem: Problem) -> bool:
    return VARIANTS[variant]().accepts.refusal(problem) is None


ACCEPTED = [(variant, name) for variant in VARIANTS for name, problem in PROBLEMS.items() if accepts(variant, problem)]
REFUSED = [
    (variant, name) for variant in (*GENERAL, "chunks by smo") for name in PROBLEMS if (variant, name) not in ACCEPTED
]
FEW = ("hinge", "hinge, no bias", "hard margin", "regression", "regression, no bias", "hulls")
CASES = [(v, p) for v, p in ACCEPTED if v in GENERAL or p in FEW]
every_case = pytest.mark.parametrize(("variant", "name"), CASES, ids=[f"{v}-{p}" for v, p in CASES])
every_solver = pytest.mark.parametrize("variant", GENERAL)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
ONE_EACH = {  # a problem for every solver, small in number, where the way there is of no interest
    variant: next(p for p in ("hinge", "hinge, no bias", "squared hinge") if accepts(variant, PROBLEMS[p]))
    for variant in VARIANTS
}
COORDINATE = [v for v in VARIANTS if v.startswith(("adatron", "svmseq", "sor"))]


def gram(dtype: type = np.float64, **options) -> Gram:
    return Gram(KERNEL, X, **({"dtype": dtype, "threads": 1} | options))


def judge(problem: Problem, found: Solution, matrix: np.ndarray = K):
    """A certificate that owes nothing to the solver's own matrix."""
    return certificate(problem, oracle.DenseGram(matrix), found.beta)


@cache
def optimum(name: str) -> tuple[np.ndarray, float]:
    return oracle.solve(PROBLEMS[name], K)


def check_feasible(problem: Problem, beta: np.ndarray, room: float = 1e-10) -> None:
    assert np.isfinite(beta).all()
    assert (beta >= problem.lower).all()
    assert (beta <= problem.upper).all()
    for members, total in problem.sums:
        assert beta[members].sum() == pytest.approx(total, abs=room * (1 + np.abs(beta).sum()))


def check_optimal(problem: Problem, found: Solution, tol: float, matrix: np.ndarray, best: float) -> None:
    """Converged, feasible, within tol, and no further from the best objective than that allows."""
    assert found.converged, found
    check_feasible(problem, found.beta)
    verdict = judge(problem, found, matrix)
    assert verdict.kkt_violation <= tol
    assert verdict.objective - best <= tol * (1 + 2 * np.abs(found.beta).sum())
    assert verdict.objective - best >= -1e-7 * (1 + abs(best))


KERNELS = {
    "Gaussian": Gaussian(1.0),
    "linear": Linear(),
    "polynomial": Polynomial(2, 0.3),
    "linear with its bias": Linear() + Constant(1.0),
    "Gaussian with its bias": Gaussian(1.0) + Constant(0.5),
}
LAYOUTS = ("dense", "sparse", "precomputed", "callable")


def laid_out(layout: str, kernel: Kernel, dtype: type, rows: np.ndarray = X) -> Gram:
    options = {"dtype": dtype, "threads": 1}
    if layout == "sparse":
        return Gram(kernel, sparse.csr_array(rows), **options)
    if layout == "precomputed":
        return Gram(Precomputed(), kernel(rows), **options)
    if layout == "callable":
        return Gram(Function(lambda a, b: kernel(a, b)), rows, **options)
    return Gram(kernel, rows, **options)
