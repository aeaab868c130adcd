"""One protocol, one file an algorithm; `solve` picks one and sees to the arithmetic's precision."""

from __future__ import annotations

from adatron._check import choice
from adatron.solvers._registry import SOLVERS, make_solver
from adatron.solvers._run import FEASIBLE, Run, account_of, unsolved
from adatron.solvers._solve import assured, is_certain, solve
from adatron.solvers.adatron import Adatron
from adatron.solvers.chunking import Chunking
from adatron.solvers.decomposition import Decomposition
from adatron.solvers.linear import FEWEST_ROWS, LinearSolver
from adatron.solvers.nearest_point import NearestPoint
from adatron.solvers.polish import polish
from adatron.solvers.protocol import About, Capabilities, Solver, Stop
from adatron.solvers.qp import QP
from adatron.solvers.smo import SMO, SimplifiedSMO
from adatron.solvers.sor import SOR
from adatron.solvers.svmseq import SVMseq, balance

__all__ = [
    "FEASIBLE",
    "FEWEST_ROWS",
    "QP",
    "SMO",
    "SOLVERS",
    "SOR",
    "About",
    "Adatron",
    "Capabilities",
    "Chunking",
    "Decomposition",
    "LinearSolver",
    "NearestPoint",
    "Run",
    "SVMseq",
    "SimplifiedSMO",
    "Solver",
    "Stop",
    "account_of",
    "assured",
    "balance",
    "describe",
    "is_certain",
    "make_solver",
    "polish",
    "solve",
    "unsolved",
]

SOLVERS.update(
    {
        "decomposition": Decomposition,
        "adatron": Adatron,
        "svmseq": SVMseq,
        "sor": SOR,
        "smo": SMO,
        "simplified-smo": SimplifiedSMO,
        "nearest-point": NearestPoint,
        "chunking": Chunking,
        "qp": QP,
        "linear": LinearSolver,
    }
)


def describe(name: str | None = None) -> str:
    """What each solver does, after whom, what it takes and what it is good for; or one of them."""
    names = list(SOLVERS) if name is None else [choice("name", name, list(SOLVERS))]
    return "\n\n".join(_card(SOLVERS[each]()) for each in names)


def _card(solver: Solver) -> str:
    about = solver.about
    lines = {
        "update": about.update,
        "after": about.source,
        "takes": str(solver.accepts),
        "counts": f"max_iter in {about.iteration}s",
        "good for": about.good_for,
    }
    return "\n".join([solver.name, *(f"  {key:9} {value}" for key, value in lines.items())])
