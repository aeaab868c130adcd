"""How many threads a fit may use."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any, cast

from sklearn.utils._openmp_helpers import _openmp_effective_n_threads


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[None]:
    """While it lasts BLAS works alone: its threads wait by spinning, which costs more than small systems do."""
    return cast(AbstractContextManager[None], _libraries().limit(limits=1, user_api="blas"))


def effective_threads(n_jobs: int | None = None) -> int:
    """`n_jobs` as scikit-learn's own threads read it; None: as many as OpenMP and threadpoolctl allow at this moment.

    Threads are no joblib workers: joblib's `effective_n_jobs` would warn in every process that multiprocessing started.
    """
    return int(_openmp_effective_n_threads(n_jobs))
