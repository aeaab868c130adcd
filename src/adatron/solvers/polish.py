"""The last digits: from a solution within tol to the optimum itself.

Which coefficients are at a bound and which are free is what a solver finds; the free ones then solve a linear system in
float64 (core/polish.hpp). The answer depends on the data alone, not on the path, the order of rows or the threads, and
it is kept only if the certificate says that it is better.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from adatron import _core
from adatron.certificates import judgement
from adatron.gram import SLICE_SECONDS, Gram
from adatron.packing import Pulse, nothing
from adatron.problems import Problem
from adatron.solution import Solution


def polish(problem: Problem, gram: Gram, solution: Solution, pulse: Pulse = nothing) -> Solution:
    """The solution with its free coefficients made exact, if that can be done and is better."""
    before = solution.certificate
    gram.activate(None)
    if gram.by_python:  # the core cannot ask for rows that it finds to be missing
        if gram.core.capacity < gram.size:
            return solution
        gram.fetch(np.arange(gram.size), pulse)
    core = _core.Polish(gram.core, **problem.spans, beta=solution.beta, kkt_violation=before.kkt_violation)
    while not core.advance(seconds=SLICE_SECONDS):
        pulse()
    if not core.kkt_violation < before.kkt_violation:
        return solution
    beta = core.beta
    return replace(solution, beta=beta, certificate=replace(judgement(problem, gram, beta), rounding=before.rounding))
