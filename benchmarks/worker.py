"""One contender at work in a process of its own: ``python -m benchmarks.worker '<json>'``.

The order lists tasks, one of them in a full run. A task's result is stored when all its fits are
done. A fit that outlasts its limit ends the process by SIGALRM, which native code cannot delay.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .contenders import load

CANNOT_IMPORT = 3


class MemoryMeter:
    """Growth of the resident set's peak since the meter was made, in bytes."""

    def __init__(self) -> None:
        """Forget the peak so far where the system can; elsewhere the growth is a lower bound."""
        try:
            Path("/proc/self/clear_refs").write_text("5")
            self.held, self.peak = status("VmRSS"), lambda: status("VmHWM")
        except OSError:
            self.held, self.peak = lifetime_peak(), lifetime_peak

    def growth(self) -> int:
        """Bytes by now."""
        return max(self.peak() - self.held, 0)


def status(field: str) -> int:
    """A size in /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))


def lifetime_peak() -> int:
    """The largest resident set this process ever had, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def work(order: dict[str, Any]) -> None:
    """Fit every task as often as ordered; store its seconds, memory and fastest answer."""
    fit = load(order["contender"])
    common = {name: order[name] for name in ("tol", "threads", "cache_mb")}
    with threadpool_limits(order["threads"]):
        for task in order["tasks"]:
            X, y = np.load(task["X"]), np.load(task["y"])
            seconds, growth, answers = [], [], []
            while len(seconds) < order["fits"] and min(seconds, default=0) <= order["patience"]:
                meter = MemoryMeter()
                signal.setitimer(signal.ITIMER_REAL, order["limit"])
                _, beta, taken = fit(X, y, task["C"], task["gamma"], **common)
                signal.setitimer(signal.ITIMER_REAL, 0)
                growth.append(meter.growth())
                seconds.append(taken)
                answers.append(beta)
            beta = answers[int(np.argmin(seconds))]
            np.savez(task["result"], seconds=seconds, memory=max(growth), beta=beta)


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    try:
        work(json.loads(sys.argv[1]))
    except Exception as error:
        print(f"{type(error).__name__}: {error}".splitlines()[0], file=sys.stderr)
        sys.exit(CANNOT_IMPORT if isinstance(error, ImportError) else 1)
