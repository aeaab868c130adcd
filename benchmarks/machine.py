"""Facts that a figure needs beside it: the machine, the versions, and who else was at work."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

DISTURBED = 0.1
PACKAGES = (
    "adatron",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
    "daal",
    "libsvm-official",
    "thundersvm-cpu",
)
INSTRUCTION_SETS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512vl", "avx512_bf16", "asimd")


def machine() -> dict[str, object]:
    """Processor, cores, memory and the instruction sets that matter here."""
    cpu = processor()
    flags = cpu.get("flags", cpu.get("Features", "")).split()
    return {
        "cpu": cpu.get("model name", platform.processor() or platform.machine()),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "instruction_sets": [name for name in INSTRUCTION_SETS if name in flags],
        "system": platform.platform(),
    }


def processor() -> dict[str, str]:
    """The first processor's entry in /proc/cpuinfo; empty where there is none."""
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    entry = path.read_text().split("\n\n")[0]
    pairs = (line.partition(":") for line in entry.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def versions() -> dict[str, str | None]:
    """Versions of Python and of every contender; None for what is not installed."""
    found: dict[str, str | None] = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


class OtherLoad:
    """How many cores other processes have kept busy since it was made; 0 where unknown."""

    def __init__(self) -> None:
        """Start counting."""
        self.begin, self.before = perf_counter(), others_seconds()

    def cores(self) -> float:
        """The mean by now; above `DISTURBED` a time proves nothing."""
        return max(others_seconds() - self.before, 0.0) / (perf_counter() - self.begin)


def others_seconds() -> float:
    """Processor time that all but this process and its finished children ever took."""
    try:
        ticks = Path("/proc/stat").read_text().split()[1:9]
    except OSError:
        return 0.0
    user, nice, system, _, _, interrupt, soft, stolen = map(int, ticks)
    total = (user + nice + system + interrupt + soft + stolen) / os.sysconf("SC_CLK_TCK")
    return total - sum(os.times()[:4])
