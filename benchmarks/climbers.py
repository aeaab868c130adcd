"""The solvers side by side on one USPS digit and on sonar: ``python -m benchmarks.climbers``.

Each climbs until its relative duality gap is 1e-3, in a process of its own, and is judged by a certificate made afresh.
Four questions: how long each takes, and how many epochs or steps; what it costs when memory holds a few kernel rows
only; how much a native loop that keeps its gradient gains over the paper's literal m² epoch, written in NumPy; and what
a trace costs. ``--figure`` draws gap against time.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from adatron import Gram, datasets, problems, solve
from adatron.kernels import Constant, Gaussian
from adatron.solvers import SOLVERS
from adatron.trace import Trace

GAP = 1e-3
PUBLISHED = {0: 1.8, 1: 1.6, 2: 2.4, 3: 2.0, 4: 4.0, 5: 1.8, 6: 2.4, 7: 2.8, 8: 3.2, 9: 1.6}  # Campbell & Cristianini
COORDINATE = (("adatron", "none"), ("svmseq", "none"), ("sor", "none"), ("adatron", "exact"))
PAIRS = (("smo", "exact"), ("simplified-smo", "exact"), ("nearest-point", "exact"))
ENGINE = (("decomposition", "none"), ("decomposition", "exact"))
LARGE = (("chunking", "exact"),)
SMALL = (("svmseq", "augmented"), ("sor", "augmented"), *LARGE, ("qp", "exact"))
FEW = 1  # byte: the cache then holds its least, 16 rows


@dataclass(frozen=True)
class Data:
    """One two-class problem: hard margin, Gaussian kernel."""

    name: str
    sigma: float
    digit: int = -1
    rows: int | None = None

    def load(self) -> tuple[np.ndarray, np.ndarray]:
        """Training rows and labels."""
        if self.digit < 0:
            sonar = datasets.load("sonar")
            return sonar.X_train, sonar.y_train.astype(float)
        usps = datasets.load("usps")
        rows = slice(None, self.rows)
        return usps.X_train[rows], np.where(usps.y_train[rows] == self.digit, 1.0, -1.0)


@dataclass(frozen=True)
class Result:
    """What one climb took."""

    solver: str
    bias: str
    status: str
    iterations: int
    unit: str
    seconds: float
    gap: float
    kkt_violation: float
    support: int
    evaluations: float  # of the kernel, in parts of m²
    megabytes: float  # that the process grew by
    trace: dict[str, list[float]] | None = None


def climb(data: Data, solver: str, bias: str, *, gap: float = GAP, cache: float = 4e9, limit: float = 300.0) -> Result:
    """One solver, one problem, from nothing to the gap."""
    X, y = data.load()
    kernel = Gaussian(sigma=data.sigma) + Constant(1.0) if bias == "augmented" else Gaussian(sigma=data.sigma)
    problem = problems.hinge(y, np.inf, bias=bias)
    chosen = SOLVERS[solver]()
    before = peak_memory(begin=True)
    began = perf_counter()
    gram = Gram(kernel, X, cache_bytes=cache)
    found = solve(problem, gram, chosen, tol=1e-9, max_time=limit, trace=True, progress=lambda at: at["gap"] <= gap)
    seconds = perf_counter() - began
    grown = peak_memory() - before
    trace: Trace = found.trace
    return Result(
        solver=solver,
        bias=bias,
        status="reached" if found.certificate.gap <= gap * 1.01 else found.status.value,
        iterations=found.n_iter,
        unit=chosen.about.iteration,
        seconds=seconds,
        gap=found.certificate.gap,
        kkt_violation=found.certificate.kkt_violation,
        support=int(np.count_nonzero(found.coef)),
        evaluations=trace["kernel_evaluations"][-1] / len(y) ** 2,
        megabytes=grown,
        trace=dict(trace),
    )


def twin(data: Data, epochs: int) -> dict[str, float]:
    """The same epochs by the paper's letter, in NumPy: the whole matrix first, then m² a pass."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from twins.adatron import without_bias

    X, y = data.load()
    began = perf_counter()
    X = X.astype(np.float64)
    norms = (X**2).sum(axis=1)
    K = X @ X.T
    K *= 2
    K -= norms
    K -= norms[:, None]
    K /= 2 * data.sigma**2
    np.exp(K, out=K)
    built = perf_counter()
    for _ in islice(without_bias(K, y, eta="optimal"), epochs):
        pass
    return {"matrix": built - began, "epochs": perf_counter() - built}


def warm_epochs(data: Data, epochs: int) -> dict[str, float]:
    """Seconds for native epochs with every row at hand, what the loops alone take: untraced and traced, in turn."""
    X, y = data.load()
    gram = Gram(Gaussian(sigma=data.sigma), X, cache_bytes=4e9)
    gram.fetch(np.arange(len(y)))
    problem = problems.hinge(y, np.inf, bias="none")
    best = {"plain": np.inf, "traced": np.inf}
    for _ in range(7):
        for name in best:
            began = perf_counter()
            solve(problem, gram, "adatron", tol=1e-9, max_iter=epochs, trace=name == "traced")
            best[name] = min(best[name], perf_counter() - began)
    return best


def alone(function: Callable[..., Any], *words: Any, **options: Any) -> Any:
    """The call's result from a process of its own, whose memory is only its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *words, **options).result()


def peak_memory(begin: bool = False) -> float:
    """Megabytes of this process at their highest, as Linux tells; from now on, if ``begin``."""
    try:
        if begin:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def table(results: list[Result], few: dict[tuple[str, str], Result]) -> Iterator[str]:
    """Markdown."""
    yield (
        "| solver | bias | iterations | seconds | gap | KKT | kernel / m² | MB | few rows: seconds | kernel / m² | MB |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for r in results:
        line = f"| {r.solver} | {r.bias} | {r.iterations} {r.unit}s | {r.seconds:.2f} | {r.gap:.1e} "
        line += f"| {r.kkt_violation:.1e} | {r.evaluations:.2f} | {r.megabytes:.0f} "
        if s := few.get((r.solver, r.bias)):
            line += f"| {s.seconds:.1f} | {s.evaluations:.1f} | {s.megabytes:.0f} |"
        else:
            line += "| | | |"
        yield line + ("" if r.status == "reached" else f" ({r.status})")


def draw(panels: dict[str, list[Result]], path: Path) -> None:
    """Gap against time, a line a solver."""
    from adatron.plots import save_climbs

    save_climbs({name: {f"{r.solver} ({r.bias})": r.trace for r in results} for name, results in panels.items()}, path)


def main(words: list[str] | None = None) -> dict[str, Any]:
    """Measure, print, and draw if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.climbers", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--digit", type=int, default=0, choices=PUBLISHED)
    add("--quick", action="store_true", help="1,000 rows of USPS")
    add("--limit", type=float, default=300.0, help="seconds for a climb")
    add("--json", type=Path, metavar="PATH", help="write every figure there")
    add("--figure", type=Path, metavar="PATH", help="draw gap against time there")
    options = parser.parse_args(words)

    usps = Data("usps", PUBLISHED[options.digit], options.digit, rows=1000 if options.quick else None)
    m = len(usps.load()[1])
    print(f"USPS, digit {options.digit} against the rest: {m} rows, sigma {usps.sigma}, hard margin, gap {GAP:g}\n")
    go = partial(alone, climb, usps, limit=options.limit)
    results = [go(*who) for who in (*ENGINE, *COORDINATE, *PAIRS, *LARGE)]
    few = {who: go(*who, cache=FEW) for who in (*COORDINATE, *PAIRS)}
    for line in table(results, few):
        print(line)

    native = next(r for r in results if (r.solver, r.bias) == ("adatron", "none"))
    letter = alone(twin, usps, native.iterations)
    warm = alone(warm_epochs, usps, native.iterations)
    loops = warm["plain"]
    whole = letter["matrix"] + letter["epochs"]
    print(
        f"\nadatron without bias, {native.iterations} epochs: native {native.seconds:.2f} s, NumPy twin {whole:.2f} s "
        f"({letter['matrix']:.2f} of it for the matrix): {whole / native.seconds:.1f} times faster; the epochs alone "
        f"{loops:.3f} s against {letter['epochs']:.2f} s: {letter['epochs'] / loops:.1f} times; "
        f"a trace adds {100 * (warm['traced'] / loops - 1):.1f} %"
    )
    report = {
        "rows": m,
        "digit": options.digit,
        "climbs": [asdict(r) | {"trace": None} for r in results],
        "few_rows": [asdict(r) | {"trace": None} for r in few.values()],
        "twin": letter | {"native": native.seconds} | warm,
    }
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    if options.figure:
        fine = partial(alone, climb, gap=3e-5, limit=60.0)
        sonar = Data("sonar", 0.6)
        everyone = (*ENGINE[1:], *COORDINATE, *PAIRS)
        panels = {
            "sonar, 104 rows": [fine(sonar, *who) for who in (*everyone, *SMALL)],
            f"USPS digit {options.digit}, {m:,} rows": [fine(usps, *who) for who in (*everyone, *LARGE)],
        }
        draw(panels, options.figure)
    return report


if __name__ == "__main__":
    main()
