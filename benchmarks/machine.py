"""Facts that a figure needs beside it: the machine and the versions."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

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
