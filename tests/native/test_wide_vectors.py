"""Runs wide_vectors.cpp: the loops written for AVX-512, on whatever processor this is."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).with_name("wide_vectors.cpp")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_wide_loops_agree_with_the_baseline(tmp_path):
    program = tmp_path / "wide_vectors"
    sources = [ROOT / "core" / name for name in ("loops_baseline.cpp", "loops_avx512.cpp")]
    subprocess.run(
        ["g++", "-std=c++20", "-O1", f"-I{ROOT / 'core'}", "-Wno-psabi", *sources, SOURCE, "-o", program],
        check=True,
    )
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("0 differences\n")
