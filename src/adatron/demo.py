"""Three machines in a second: ``python -m adatron.demo``.

The first learns to tell malignant tumours from benign ones, and finds its kernel's width and its C while it trains;
the path to them is drawn. A second is followed as its kernel widens, beside its error on rows it has not seen. The
third has only two features, so that it can be drawn itself.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from adatron import SVC, __version__
from adatron.kernels import Gaussian
from adatron.plots import at_bound, save_decision_boundary, save_paths
from adatron.selection import kernel_path

PICTURE = Path("out/demo.png")
PATHS = Path("out/path.png")


def breast_cancer(picture: Path) -> None:
    """One fit that tunes itself, on measurements of cell nuclei, tested on rows it has not seen; its path drawn."""
    data = load_breast_cancer()
    X, X_test, y, y_test = train_test_split(data.data, data.target, test_size=0.3, stratify=data.target, random_state=0)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)

    heading("Breast cancer: malignant or benign?")
    say("data", f"{len(X)} rows to learn from, {len(X_test)} to test on, {X.shape[1]} features")
    started = perf_counter()
    machine = SVC(gamma="adapt", C="adapt").fit(X, y)
    seconds = perf_counter() - started
    say(
        "chosen", f"sigma = {machine.sigma_:.3g}, C = {machine.C_:.3g}, from {len(machine.path_)} points, no other data"
    )
    describe(machine, Gaussian(sigma=machine.sigma_))
    wrong = int((machine.predict(X_test) != y_test).sum())
    say("test error", f"{wrong / len(y_test):.1%}, {wrong} of {len(y_test)} rows")
    say("time", f"{1000 * seconds:.0f} ms to choose, train and certify")

    signs, signs_test = 2.0 * y - 1, 2.0 * y_test - 1
    path = kernel_path(X, signs, held_out=(X_test, signs_test), factor=1.15, until_turned=False)
    least = min(path.points, key=lambda point: point.error)
    say("kernel path", f"as sigma grows, the margin's bound is least at {path.best.sigma:.3g},")
    say(
        "",
        f"the test error at {least.sigma:.3g} ({least.error:.1%}); at the bound's choice it is {path.best.error:.1%}",
    )
    panels = {"One fit: the points that it tried": machine.path_, "A path: σ grows, the margin is kept maximal": path}
    save_paths(panels, picture)
    say("picture", os.path.relpath(picture))


def moons(picture: Path) -> None:
    """Train a machine on two interleaved half-moons and draw it."""
    X, y = make_moons(200, noise=0.2, random_state=0)
    kernel = Gaussian(sigma=0.6)

    heading("Two noisy moons: a machine to look at")
    say("data", f"{len(X)} rows, {X.shape[1]} features")
    machine = SVC(C=10.0, kernel=kernel).fit(X, y)
    describe(machine, kernel)
    save_decision_boundary(machine, X, y, picture)
    say("picture", os.path.relpath(picture))


def describe(machine: SVC, kernel: Gaussian) -> None:
    """The machine, and the certificate that it is the one asked for."""
    beta, support = machine.dual_coef_[0], machine.support_vectors_
    norm = np.sqrt(beta @ kernel(support) @ beta)
    bound = int(at_bound(machine).sum())
    gap = machine.duality_gap_
    say("kernel", f"Gaussian, sigma = {kernel.sigma:.3g} (gamma = {kernel.gamma:.3g})")
    say("support vectors", f"{len(beta)} rows, {bound} of them at the bound C = {machine.C_:g}")
    say("margin", f"1/||w|| = {1 / norm:.4f}")
    say("certificate", f"objective {machine.objective_:.6f}")
    say("", f"relative duality gap {gap:.1e}: the best machine costs at most {gap:.3%} less")
    say("", f"KKT violation {machine.kkt_violation_:.1e}, tolerance {machine.tol:g}")


def heading(text: str) -> None:
    """A line that opens a section."""
    print(f"\n{text}\n{'-' * len(text)}")


def say(name: str, value: str) -> None:
    """A line of the account."""
    print(f"  {name:<16} {value}")


def main(words: list[str] | None = None) -> None:
    """Tell of all machines."""
    parser = argparse.ArgumentParser(prog="python -m adatron.demo", description=__doc__)
    parser.add_argument("--picture", type=Path, default=PICTURE, metavar="PATH", help="where the moons are drawn")
    parser.add_argument("--path", type=Path, default=PATHS, metavar="PATH", help="where the paths are drawn")
    options = parser.parse_args(words)
    print(f"adatron {__version__}: support vector machines, each with a certificate")
    try:
        breast_cancer(options.path)
        moons(options.picture)
    except ImportError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
