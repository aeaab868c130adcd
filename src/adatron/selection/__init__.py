"""Choosing the kernel's width and C: bounds, the papers' kernel path, exact cross-validation made fast.

`SVC(gamma="adapt", C="adapt")` does it while it trains; these are its parts.
"""

from adatron.selection.bounds import (
    Ball,
    Span,
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
from adatron.selection.folds import CrossValidation, cross_validate
from adatron.selection.kernel_path import kernel_path
from adatron.selection.path import Path, Point

__all__ = [
    "Ball",
    "CrossValidation",
    "Path",
    "Point",
    "Span",
    "coefficient_bound",
    "cross_validate",
    "generalisation_bound",
    "kernel_path",
    "margin_bound",
    "radius",
    "radius_margin",
    "span",
    "vc_bound",
    "vc_dimension",
    "xi_alpha",
]
