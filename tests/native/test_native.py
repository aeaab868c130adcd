"""Runs the C++ checks: loops for AVX-512 on whatever processor this is, memory that is used again, the pool."""

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "core"


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize(
    ("check", "sources", "success"),
    [
        ("wide_vectors", ("loops_baseline.cpp", "loops_avx512.cpp"), "0 differences\n"),
        ("memory", ("memory.cpp",), "0 failures\n"),
        ("pool", ("pool.cpp",), "0 failures\n"),
    ],
)
def test_native(check, sources, success, tmp_path):
    program = tmp_path / check
    files = [*(CORE / name for name in sources), HERE / f"{check}.cpp"]
    subprocess.run(
        ["g++", "-std=c++20", "-O1", f"-I{CORE}", "-pthread", "-Wno-psabi", *files, "-o", program], check=True
    )
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith(success)
