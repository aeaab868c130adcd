"""Runs the C++ checks: loops for AVX-512 on whatever processor this is, memory that is used again, the pool."""

import os
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
        ("memory", ("memory.cpp", "pool.cpp"), "0 failures\n"),
        ("pool", ("memory.cpp", "pool.cpp"), "0 failures\n"),
    ],
)
def test_native(check, sources, success, tmp_path):
    program = tmp_path / check
    files = [*(CORE / name for name in sources), HERE / f"{check}.cpp"]
    flags = ["-std=c++20", "-O1", f"-I{CORE}", "-pthread", "-Wno-psabi"]
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    if sanitizers := environment.get("ADATRON_SANITIZE"):  # make sanitize
        flags += [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", "-g1"]
    subprocess.run(["g++", *flags, *files, "-o", program], check=True, env=environment)
    done = subprocess.run([program], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(success)
