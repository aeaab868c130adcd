"""The same answers from every instruction set and every number of threads.

Each runs in a process of its own (this file, called as a program): the choice is made once, at import.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from scipy import sparse

KERNELS = {
    "linear": lambda k: k.Linear(),
    "poly": lambda k: k.Polynomial(3, 0.2, 1.0),
    "gaussian": lambda k: k.Gaussian(2.0),
    "exponential": lambda k: k.Exponential(0.5),
    "laplacian": lambda k: k.Laplacian(0.2),
    "sigmoid": lambda k: k.Sigmoid(0.1, -0.2),
    "mixture": lambda k: 0.5 * k.Gaussian(2.0) * k.Linear() + k.Laplacian(0.1) + 0.25,
}
FEATURES = (1, 7, 40, 300)  # differences below 33 features, dot products above; of the last most values are zero
LOOSE_TOL = 1e-3


def points() -> dict[int, np.ndarray]:
    """Rows to fill kernels with, by the number of features; many entries are zero."""
    rng = np.random.default_rng(0)
    filled = {1: 1.0, 300: 0.2}
    return {d: rng.normal(size=(77, d)) * (rng.random((77, d)) < filled.get(d, 0.6)) for d in FEATURES}


def answers(threads: int) -> dict[str, np.ndarray]:
    """Kernel rows and decision values of fixed problems, by name."""
    from adatron import SVC, SVR, Gram, kernels

    rng = np.random.default_rng(0)
    result = {}
    for d, X in points().items():
        for name, make in KERNELS.items():
            for kind, given in (("dense", X), ("sparse", sparse.csr_array(X))):
                for dtype in (np.float32, np.float64):
                    gram = Gram(make(kernels), given, dtype=dtype, threads=threads)
                    label = f"rows {name} {kind} {d} {dtype.__name__}"
                    result[label] = gram.rows(np.arange(77))
                    result[label.replace("rows", "product")] = gram.product(np.linspace(-1, 1, 77))
    X, Z = rng.normal(size=(200, 6)), rng.normal(size=(50, 6))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=200) > 0, 1, -1)
    for name, make in KERNELS.items():
        if name not in ("sigmoid", "mixture"):  # they have more than one answer, or might
            machine = SVC(kernel=make(kernels), C=2.0, tol=1e-8, n_jobs=threads).fit(X, y)
            result[f"tight {name}"] = machine.decision_function(Z)
    for n in (3, 9, 12, 13, 30):  # a matrix of their own, padded otherwise by each instruction set
        X, t = np.repeat(rng.random((n, 30)), 2, axis=0), np.repeat(np.arange(n) % 3, 2)
        result[f"tight small {n}"] = SVR(n_jobs=threads).fit(X, t).predict(X)
    X, Z = rng.normal(size=(2500, 6)), rng.normal(size=(50, 6))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=2500) > 0, 1, -1)
    for shrinking in (True, False):
        machine = SVC(C=5.0, tol=LOOSE_TOL, n_jobs=threads, shrinking=shrinking).fit(X, y)
        result[f"loose {shrinking}"] = machine.decision_function(Z)
        result[f"objective {shrinking}"] = np.array([machine.objective_, machine.duality_gap_])
    return result


def run(isa: str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    """This file as a program, under that instruction set."""
    environment = {key: value for key, value in os.environ.items() if key != "ADATRON_ISA"}
    if isa is not None:
        environment["ADATRON_ISA"] = isa
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


@cache
def told(isa: str | None, threads: int = 1) -> dict[str, np.ndarray]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "answers.npz"
        done = run(isa, str(threads), str(file))
        assert done.returncode == 0, done.stderr
        with np.load(file) as stored:
            return dict(stored)


def supported(isa: str) -> bool:
    from adatron import _core

    return bool(_core.isa_supported(_core.Isa[isa]))


def closeness(name: str) -> float:
    """How far kernel values may be apart, relative to the largest."""
    kind = "float32" if name.endswith("float32") else "float64"
    return {"float32": 1e-5, "float64": 1e-13}[kind]


def check_alike(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> None:
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        kind = name.split()[0]
        if kind in ("rows", "product"):
            close = closeness(name)
        elif kind == "objective":
            gap = value[1] + theirs[name][1]
            assert abs(value[0] - theirs[name][0]) <= gap * abs(value[0]), name
            continue
        else:
            close = 1e-6 if kind == "tight" else 10 * LOOSE_TOL
        scale = np.abs(theirs[name]).max()
        np.testing.assert_allclose(value, theirs[name], rtol=0, atol=close * scale, err_msg=name)


def reference(name: str) -> np.ndarray:
    """The rows that a label means, from the kernel's own formula."""
    from adatron import kernels

    _, kernel, _, d, _ = name.split()
    return KERNELS[kernel](kernels)(points()[int(d)])


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_instruction_sets_agree(isa):
    if not supported(isa):
        pytest.skip(f"this processor has no {isa}")
    check_alike(told(isa), told("baseline"))
    for name, rows in told(isa).items():
        if name.startswith("rows"):
            truth = reference(name)
            close = closeness(name) * np.abs(truth).max()
            np.testing.assert_allclose(rows, truth, rtol=0, atol=close, err_msg=name)


def test_left_alone_the_best_one_is_taken():
    check_alike(told(None), told("baseline"))
    best = [isa for isa in ("baseline", "avx2", "avx512") if supported(isa)][-1]
    assert run(None).stdout.strip() == best
    assert run("baseline").stdout.strip() == "baseline"


@pytest.mark.parametrize("isa", ["avx2", "avx512"])
def test_unsupported_name_is_refused(isa):
    if supported(isa):
        pytest.skip(f"this processor has {isa}")
    refused = run(isa)
    assert refused.returncode != 0
    sentence = refused.stderr.strip().splitlines()[-1]
    assert sentence == (f"ImportError: ADATRON_ISA='{isa}' is not in this processor: unset it or set 'baseline'.")


@pytest.mark.parametrize("isa", ["AVX2", "sse9", ""])
def test_unknown_name_is_refused(isa):
    refused = run(isa)
    assert refused.returncode != 0
    sentence = refused.stderr.strip().splitlines()[-1]
    names = "set one of baseline, avx2, avx512."
    assert sentence == f"ImportError: ADATRON_ISA='{isa}' is unknown: {names}"


def test_thread_counts_agree():
    check_alike(told(None, 2), told(None, 1))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        np.savez(sys.argv[2], **answers(int(sys.argv[1])))
    else:
        from adatron import _core

        print(_core.current_isa().name)
