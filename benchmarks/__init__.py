"""Fit times of adatron and its peers, at equal certified accuracy: ``python -m benchmarks``."""
