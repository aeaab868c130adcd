"""The native certificate says what its reference implementation in NumPy says, wherever the coefficients are."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from cases import PROBLEMS, K

from adatron import solve
from adatron.certificates import certified, reference
from adatron.gram import Gram
from adatron.kernels import Precomputed


def points(name: str):
    """Coefficients on the way to the optimum, at it, and beside it: on bounds, inside, and off the sums."""
    problem, random = PROBLEMS[name], np.random.default_rng(len(name))
    gram = Gram(Precomputed(), K, dtype=np.float64, threads=1)
    yield problem.start()
    for tol in (1.0, 0.1, 1e-3, 1e-8):
        beta = solve(problem, gram, tol=tol).beta
        yield beta
        yield np.clip(beta * (1 + 0.1 * random.normal(size=len(beta))), problem.lower, problem.upper)
    wide = (
        np.where(np.isfinite(problem.upper), problem.upper, 3.0),
        np.where(np.isfinite(problem.lower), problem.lower, -3),
    )
    share = random.uniform(size=len(problem))
    yield np.where(share < 0.3, wide[1], np.where(share > 0.7, wide[0], share * wide[0] + (1 - share) * wide[1]))


@pytest.mark.parametrize("name", PROBLEMS)
def test_native_certificate_is_the_reference(name):
    problem = PROBLEMS[name]
    for beta in points(name):
        product = K @ problem.fold(beta)
        native, numpy = certified(problem, beta, product), reference(problem, beta, product)
        scale = 1 + abs(numpy.objective) + np.abs(beta).sum()
        for mine, theirs in zip(astuple(native), astuple(numpy), strict=True):
            assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-12 * scale)


def test_huge_C_tries_multiples_of_the_model():
    """A violation within the tolerance, times C, may cost more than all the rest of the primal objective."""
    from adatron import problems

    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    problem = problems.hinge(y, 1e8)
    gram = Gram(Precomputed(), K, dtype=np.float64, threads=1)
    beta = solve(problem, gram, tol=1e-3).beta
    product = K @ beta
    native, numpy = certified(problem, beta, product), reference(problem, beta, product)
    assert native.gap == pytest.approx(numpy.gap, rel=1e-6, abs=1e-12)
