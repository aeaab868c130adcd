"""Solvers by their names. The package fills the table; solvers that use others look them up here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from adatron._check import choice
from adatron.solvers.protocol import Solver

SOLVERS: dict[str, Callable[[], Solver]] = {}


def make_solver(name: str, solver: Any) -> Solver:
    """The solver of this name, or the object itself if it is one; ``name`` is the parameter's, for the complaint."""
    if isinstance(solver, type):
        raise TypeError(f"{name}={solver.__name__} is a class: pass an object, {solver.__name__}().")
    if not isinstance(solver, str) and all(hasattr(solver, part) for part in ("solve", "accepts", "name")):
        return cast(Solver, solver)
    return SOLVERS[choice(name, solver, list(SOLVERS))]()
