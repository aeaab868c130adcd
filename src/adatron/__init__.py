"""adatron: support vector machines, every one of them one convex problem.

A kernel and data make its matrix, a solver climbs it, a certificate judges the answer, an estimator dresses it
for scikit-learn.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from adatron import _core, datasets, kernels, problems, solvers
from adatron.certificates import certificate
from adatron.estimators import (
    SVC,
    SVR,
    KernelFisherDiscriminant,
    KernelNeighborsClassifier,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from adatron.gram import Gram
from adatron.solvers import solve

if TYPE_CHECKING:
    from adatron import selection

__all__ = [
    "SVC",
    "SVR",
    "Gram",
    "KernelFisherDiscriminant",
    "KernelNeighborsClassifier",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "certificate",
    "datasets",
    "kernels",
    "problems",
    "selection",
    "solve",
    "solvers",
]
__version__ = "0.1.0"


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """`adatron.selection`, which is loaded on first use: most fits choose nothing."""
        if name == "selection":
            return import_module("adatron.selection")
        raise AttributeError(f"module 'adatron' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "selection"})


if (_wanted := os.environ.get("ADATRON_ISA")) is not None:
    if _wanted not in (_names := [isa.name for isa in _core.Isa]):
        raise ImportError(f"ADATRON_ISA={_wanted!r} is unknown: set one of {', '.join(_names)}.")
    if not _core.isa_supported(_core.Isa[_wanted]):
        raise ImportError(f"ADATRON_ISA={_wanted!r} is not in this processor: unset it or set 'baseline'.")
    _core.force_isa(_core.Isa[_wanted])
