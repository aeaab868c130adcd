"""How many threads a fit may use."""

from __future__ import annotations

from sklearn.utils._openmp_helpers import _openmp_effective_n_threads


def effective_threads(n_jobs: int | None = None) -> int:
    """`n_jobs` as scikit-learn's own threads read it; None: as many as OpenMP and threadpoolctl allow at this moment.

    Threads are no joblib workers: joblib's `effective_n_jobs` would warn in every process that multiprocessing started.
    """
    return int(_openmp_effective_n_threads(n_jobs))
