"""The least time a fit can need: each support vector's kernel row computed and stored once.

    limit = 2 n_sv m d / (sgemm rate) + 4 n_sv m / (memory write rate)

Both rates are measured in the run itself, with as many threads as the contenders may use.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

ROWS, COLUMNS, INNER = 512, 1024, 512
WRITE_BYTES = 128 << 20


@dataclass(frozen=True)
class Rates:
    """What the machine does in a second: floating-point operations and bytes written."""

    flops: float
    bytes: float

    def limit(self, n_sv: int, rows: int, features: int) -> float:
        """Seconds that no fit with so many support vectors can beat without skipping work."""
        values = n_sv * rows
        return 2 * values * features / self.flops + 4 * values / self.bytes


def measure(threads: int, tries: int = 8) -> Rates:
    """Best of several tries: each thread multiplies its own tile, then fills its own memory."""
    generator = np.random.default_rng(0)
    left = generator.random((threads, ROWS, INNER), dtype=np.float32)
    right = generator.random((threads, INNER, COLUMNS), dtype=np.float32)
    tile = np.empty((threads, ROWS, COLUMNS), dtype=np.float32)
    memory = np.zeros((threads, WRITE_BYTES // 4), dtype=np.float32)

    def multiply(thread: int) -> None:
        for _ in range(32):
            np.matmul(left[thread], right[thread], out=tile[thread])

    def write(thread: int) -> None:
        np.copyto(memory[thread], 1.0)

    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        flops = 32 * threads * 2 * ROWS * COLUMNS * INNER
        return Rates(
            flops=flops / fastest(pool, multiply, threads, tries),
            bytes=memory.nbytes / fastest(pool, write, threads, tries),
        )


def fastest(pool: ThreadPoolExecutor, task: Callable[[int], None], threads: int, tries: int) -> float:
    """Least seconds in which all threads finish the task."""
    best = np.inf
    for _ in range(tries):
        begin = perf_counter()
        list(pool.map(task, range(threads)))
        best = min(best, perf_counter() - begin)
    return best
