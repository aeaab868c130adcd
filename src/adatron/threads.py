"""How many threads a fit may use."""

from __future__ import annotations

from joblib import effective_n_jobs
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads


def effective_threads(n_jobs: int | None = None) -> int:
    """`n_jobs` as scikit-learn reads it; None: as many as OpenMP and threadpoolctl allow at this moment."""
    return int(_openmp_effective_n_threads() if n_jobs is None else effective_n_jobs(n_jobs))
