"""Choosing the kernel and the trade-off: bounds, the kernel path, exact cross-validation made fast."""

from adatron.selection.folds import CrossValidation, cross_validate

__all__ = ["CrossValidation", "cross_validate"]
