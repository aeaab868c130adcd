"""Random problems: the number of a case decides everything about it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from adatron import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from adatron.kernels import Constant, Exponential, Gaussian, Laplacian, Linear, Polynomial, Sigmoid

from . import exact
from .base import SMALL, Case, dense, pick
from .mistakes import mistaken

TEST_ROWS = 40
LARGE = (1001, 1800)
CLASSIFIERS = (SVC, NuSVC)
SLOW = ("adatron", "svmseq", "sor", "smo", "simplified-smo", "nearest-point", "chunking", "qp")


class Function:
    """A kernel that is a Python function; `formula` is the kernel object of the same values."""

    def __init__(self, name: str, formula: Any) -> None:
        self.__name__, self.formula = name, formula

    def __call__(self, A: Any, B: Any) -> Any:
        """The matrix of values, with BLAS where the formula has dot products."""
        A, B = dense(A), dense(B)
        if isinstance(self.formula, Linear):
            return (-1.0 if self.__name__ == "negative" else 1.0) * (A @ B.T)
        return exact.evaluate(self.formula, A, B)[0]

    def exact(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """Values and bounds as `exact.evaluate` has them."""
        K, A = exact.evaluate(self.formula, X, Y, X.dtype)
        return (-K if self.__name__ == "negative" else K), A

    def __repr__(self) -> str:
        return f"{self.__name__}({self.formula!r})"


def case(number: int) -> Case:
    """The case of this number."""
    random = np.random.default_rng(number)
    task = pick(random, fit=90, invalid=4, cross_validate=2, kernel_path=1.5, adapt=2.5)
    return mistaken(random, number) if task == "invalid" else _Maker(random, number, task).valid()


class _Maker:
    """Draws one case, part by part."""

    def __init__(self, random: Any, number: int, task: str) -> None:
        self.random, self.number, self.task = random, number, task
        self.about: dict[str, Any] = {}
        self.files: list[Any] = []

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def pick(self, *values: Any, **weighted: float) -> Any:
        return pick(self.random, *values, **weighted)

    # ------------------------------------------------------------ a valid problem

    def valid(self) -> Case:
        search = self.task != "fit"
        self.large = self.chance(0.06 if search else 0.24)  # a fifth of all cases at least
        self.kind = self.pick(SVC=50, NuSVC=13, SVR=17, NuSVR=8, OneClassSVM=12)
        if self.task == "kernel_path":
            self.kind = "SVC"
        elif self.task == "adapt" or self.task == "cross_validate":
            self.kind = self.pick(SVC=70, SVR=30)
        rows, features = self._shape(search)
        X, y = self._data(rows, features)
        X, test = X[:rows], X[rows:]
        y = None if y is None else y[:rows]
        self._soil(X)
        X, test = self._scaled(X, test)
        weight = self._weight(rows) if self.chance(0.3) and self.task != "kernel_path" else None
        if weight is not None and isinstance(weight, np.ndarray) and y is not None and self.kind in ("SVC", "NuSVC"):
            weight[[np.flatnonzero(y == c)[0] for c in np.unique(y)]] += 0.5  # no class without weight
        options: dict[str, Any] = {}
        if self.task == "cross_validate":
            options = {"cv": 3, "C": [0.1, 10.0], "gamma": None}
        estimator = self._estimator(X, y)
        X, test = self._kernel_matrix(estimator, X, test)
        X, test = self._layout(estimator, X, test)
        self.about = {"rows": rows, "features": features, **self.about}
        if self.task == "adapt":
            self._scoring(estimator)
        task = "fit" if self.task == "adapt" else self.task
        return Case(self.number, task, estimator, X, y, weight, test, self.about, options, self.files)

    def _shape(self, search: bool) -> tuple[int, int]:
        random = self.random
        if self.large:
            return int(random.integers(*LARGE)), int(
                random.integers(20, 60) if self.chance(0.1) else random.integers(1, 9)
            )
        rows = int(
            self.pick(*(random.integers(low, high) for low, high in ((2, 6), (6, 41), (41, 150), (100, SMALL + 1))))
        )
        if search:
            rows = int(random.integers(30, 121))
        low, high = {"few": (1, 9), "some": (9, 41), "many": (200, 1000)}[self.pick(few=82, some=16, many=2)]
        features = int(random.integers(low, high))
        return rows, features

    def _data(self, rows: int, features: int) -> tuple[Any, Any]:
        """Rows of some kind, test rows after them, with labels or targets."""
        random, n = self.random, rows + TEST_ROWS
        X = random.normal(size=(n, features))
        if self.kind in ("SVR", "NuSVR"):
            t = X @ random.normal(size=features) / np.sqrt(features)
            t = {"line": t, "wave": np.sin(2 * t), "noise": random.normal(size=n), "flat": np.zeros(n)}[
                self.pick(line=40, wave=40, noise=17, flat=3)
            ] + self.pick(0.0, 0.05, 0.5) * random.normal(size=n)
            if self.chance(0.15):
                t = t * 10.0 ** self.pick(-6, -3, 3, 6) + self.pick(0.0, 1e3, 1e5)
                self.about["targets of"] = f"{np.abs(t).max():.0e}"
            return X, t
        if self.kind == "OneClassSVM":
            return X + self.pick(0.0, 0.0, 3.0), None
        classes = 2
        if self.task != "kernel_path" and rows >= 6 and self.chance(0.3):
            classes = int(min(self.pick(3, 3, 4, 5, 12 if rows > 60 else 3), rows // 2))
        how = self.pick(blobs=55, board=20, noise=10, ring=15)
        if how == "blobs":
            label = random.integers(0, classes, n)
            X += random.normal(size=(classes, features))[label] * self.pick(0.3, 1.0, 2.0, 6.0)
        elif how == "board":
            label = np.floor(X[:, : min(features, 2)] * 1.5).sum(axis=1).astype(int) % classes
        elif how == "ring":
            norm = np.linalg.norm(X, axis=1)
            label = np.searchsorted(np.quantile(norm, np.arange(1, classes) / classes), norm)
        else:
            label = random.integers(0, classes, n)
        if self.chance(0.12):
            few = (label == 0) & (random.random(n) < 0.9)
            label[few] = 1 + label[few] % (classes - 1) if classes > 2 else 1
            self.about["imbalance"] = "class 0 is rare"
        if self.chance(0.3):
            noise = random.random(n) < 0.1
            label[noise] = random.integers(0, classes, int(noise.sum()))
        label[:classes] = np.arange(classes)
        names = {
            "numbers": np.arange(classes) + self.pick(0, 1, 10),
            "words": np.array([f"class {k}" for k in range(classes)]),
            "signs": np.array([-1, 1]) if classes == 2 else np.arange(classes),
            "floats": np.arange(classes) * 1.0,
        }[self.pick(numbers=50, words=15, signs=25, floats=10) if self.task != "kernel_path" else "signs"]
        self.about["classes"] = classes
        return X, names[label]

    def _soil(self, X: Any) -> None:
        """Duplicates and constant features, of the training rows."""
        rows, features = X.shape
        if self.chance(0.12) and rows > 3:
            X[self.random.integers(0, rows, max(1, rows // self.pick(2, 5)))] = X[self.random.integers(0, rows)]
            self.about["duplicates"] = "many"
        if self.chance(0.1):
            X[:, self.random.integers(features)] = self.pick(0.0, 1.0, -5.0)
            self.about["a constant feature"] = "yes"

    def _scaled(self, X: Any, test: Any) -> tuple[Any, Any]:
        """Scale, offset and outliers."""
        random, (rows, features) = self.random, X.shape
        both = np.vstack((X, test))
        if self.chance(0.35):
            factor = 10.0 ** self.pick(*(-9, -6, -3, 3, 4, 6, 9) * 4, 18, 100, -100)
            both *= factor
            self.about["scale"] = f"{factor:.0e}"
        if self.chance(0.12):
            both *= 10.0 ** random.uniform(-4, 4, features)
            self.about["features scaled"] = "each otherwise"
        if self.chance(0.22):
            offset = self.pick(100.0, 2000.0, 2000.0, 1e5, 1e7)
            columns = slice(None) if self.chance(0.3) else int(random.integers(features))
            both[:, columns] = np.round(both[:, columns] * 3) / 3 + offset * self.pick(1.0, 1.0, np.abs(both).max())
            self.about["offset"] = f"{offset:g} in {'all features' if columns == slice(None) else 'one feature'}"
        X, test = both[:rows], both[rows:]
        if self.chance(0.12):
            count = min(int(self.pick(1, 1, 50)), rows // 4 + 1)
            size = 10.0 ** self.pick(6, 9, 12, 18) * max(1.0, float(np.abs(X).max()))
            where = random.choice(rows, count, replace=False)
            X[where] = size * random.normal(size=(count, features))
            self.about["outliers"] = f"{count} of {size:.0e}"
        size = np.abs(test).max() or 1.0
        test[-3:] = random.normal(size=(3, features)) * size * np.array([[1e6], [1e9], [1e12]])
        if size > 1e90:
            test[-3:] = test[:3]
        return X, test

    def _weight(self, rows: int) -> Any:
        random = self.random
        how = self.pick(uniform=30, counts=30, tiny=12, huge=12, wide=16)
        self.about["weights"] = how
        match how:
            case "uniform":
                return random.uniform(0.1, 2.0, rows)
            case "counts":
                weight = random.integers(0, 4, rows).astype(float)
            case "tiny":
                weight = np.where(random.random(rows) < 0.5, 1e-9, 1.0)
            case "huge":
                weight = np.where(random.random(rows) < 0.05, 1e6, 1.0)
            case _:
                weight = 10.0 ** random.uniform(-4, 4, rows)
        weight[0] = 1.0
        return weight

    # ------------------------------------------------------------ the estimator

    def _estimator(self, X: Any, y: Any) -> Any:
        random, kind = self.random, self.kind
        options: dict[str, Any] = {"tol": float(self.pick(*[1e-3] * 14, 1e-2, 1e-4, 1e-4, 1e-6, 1e-6, 1e-8))}
        options |= self._kernel(X)
        C = 10.0 ** (random.uniform(-3, 3) if self.chance(0.75) else random.uniform(-6, 6))
        if self.chance(0.1) and kind != "NuSVR":
            C = np.inf
        if kind in ("SVC", "SVR", "NuSVR"):
            options["C"] = float(f"{C:.3g}")
        if kind in ("NuSVC", "NuSVR", "OneClassSVM"):
            options["nu"] = float(f"{self.pick(0.01, 0.1, 0.5, 0.5, 0.9, 1.0, random.uniform(0.02, 0.98)):.3g}")
        if kind == "SVR":
            options["epsilon"] = float(self.pick(0.1, 0.1, 0.0, 0.01, 1.0))
        if kind in ("SVC", "SVR"):
            options["bias"] = self.pick(exact=64, none=18, augmented=18)
            if options["bias"] == "augmented":
                options["augment"] = float(self.pick(1.0, 1.0, 0.1, 10.0, 1000.0))
        if kind == "SVC":
            options["loss"] = self.pick(hinge=70, squared_hinge=30)
        if kind in ("SVC", "NuSVC"):
            options["multiclass"] = self.pick(ovo=60, ovr=25, tree=15)
            options["class_weight"] = self._class_weight(y)
        if self.task == "kernel_path":
            options |= {"bias": self.pick("exact", "none"), "class_weight": None, "C": self.pick(np.inf, 10.0)}
        options |= self._ways(options)
        if self.task == "adapt":
            options["gamma"] = "adapt"
            options["C"] = self.pick("adapt", options["C"] if np.isfinite(options["C"]) else 1.0)
            options["criterion"] = self.pick("span", "bound", "xi-alpha", "cv") if kind == "SVC" else "cv"
        return {"SVC": SVC, "NuSVC": NuSVC, "SVR": SVR, "NuSVR": NuSVR, "OneClassSVM": OneClassSVM}[kind](**options)

    def _scoring(self, estimator: Any) -> None:
        """What the search maximises; drawn last, so that all else of a case is as it was before there was a choice."""
        if self.kind == "SVC" and self.chance(0.3):
            estimator.set_params(criterion="auto")
        if estimator.criterion in ("auto", "cv") and self.chance(0.4):
            names = ("accuracy", "balanced_accuracy") if self.kind == "SVC" else ("neg_mean_absolute_error",)
            estimator.set_params(scoring=self.pick(*names))

    def _class_weight(self, y: Any) -> Any:
        if self.chance(0.75):
            return None
        if self.chance(0.6):
            return "balanced"
        return {c: float(f"{10.0 ** self.random.uniform(-3, 3):.2g}") for c in np.unique(y).tolist()}

    def _gamma(self, X: Any) -> float:
        """A number about what the data want, or far from it."""
        if self.chance(0.08):
            return float(self.pick(0.0, 1e-8, 1e8))
        spread = float(X.shape[1] * np.median(X.std(axis=0)) ** 2) or 1.0
        return float(f"{10.0 ** self.random.uniform(-2, 2) / max(spread, 1e-200):.3g}")

    def _kernel(self, X: Any) -> dict[str, Any]:
        gamma = self._gamma(X)
        if self.task != "fit":
            return {"kernel": self.pick("rbf", "rbf", "laplacian", "exponential")}
        names = dict(rbf=27, linear=16, poly=12, sigmoid=5, exponential=4, laplacian=5)
        name = self.pick(**names, object=17, function=6, precomputed=8)
        if name in names:
            return {
                "kernel": name,
                "gamma": self.pick("scale", "scale", "auto", gamma),
                "degree": int(self.pick(2, 3, 3, 4, 5, 1, 9)),
                "coef0": float(self.pick(0.0, 1.0, 1.0, 100.0, -1.0 if self.chance(0.2) else 0.0)),
            }
        width = Gaussian(gamma=gamma)
        objects: list[Callable[[], Any]] = [
            lambda: width,
            lambda: Gaussian(sigma=float(f"{10.0 ** self.random.uniform(-1, 1):.2g}")),
            lambda: Polynomial(degree=int(self.pick(2, 3)), gamma="scale", coef0=1.0),
            lambda: Exponential(gamma**0.5),
            lambda: Laplacian(gamma**0.5),
            lambda: Sigmoid(gamma, self.pick(0.0, -1.0)),
            lambda: width + 0.1 * Linear(),
            lambda: 0.5 * Gaussian(gamma="scale") + Polynomial(2, gamma="scale") + 1.0,
            lambda: Polynomial(2, gamma="scale") * width,
            lambda: Laplacian("scale") * Gaussian() + Constant(2.0),
        ]
        if name == "object":
            return {"kernel": self.pick(*objects)()}
        formula = self.pick(Linear(), width, Linear(), Polynomial(2, gamma=gamma), Sigmoid(gamma, -1.0))
        function = Function("negative" if isinstance(formula, Linear) and self.chance(0.4) else "function", formula)
        if name == "function":
            return {"kernel": function}
        self.base = function
        self.about["matrix of"] = function
        return {"kernel": "precomputed"}

    def _ways(self, options: dict[str, Any]) -> dict[str, Any]:
        """Solver, limits, cache and threads."""
        ways: dict[str, Any] = {}
        if self.chance(0.15 if self.large else 0.5):
            ways["solver"] = self._solver(options)
        slow = ways.get("solver", "auto") in SLOW
        if self.task == "fit" and self.chance(0.06):
            ways["max_iter"] = int(self.pick(1, 5, 30, 200))
        if (self.task == "fit" and self.chance(0.04)) or (self.large and slow):
            ways["max_time"] = float(self.pick(0.05, 0.2, 1.0))
        elif self.large and self.chance(0.5):  # what converges slowly shall not use up the campaign's time
            ways["max_time"] = 2.0
        if self.chance(0.25):
            ways["cache_size"] = float(self.pick(0.01, 1.0, 20.0, 200.0))
        ways["n_jobs"] = self.pick(1, 1, 2, None)
        if self.chance(0.1):
            ways["shrinking"] = False
        if self.chance(0.1):
            ways["random_state"] = int(self.random.integers(100))
        return ways

    def _solver(self, options: dict[str, Any]) -> str:
        """Mostly one that takes the problem: sums, an infinite box and regression decide."""
        if self.chance(0.08) or self.task != "fit":
            return "decomposition" if self.task != "fit" else str(self.pick(*SLOW))
        if self.kind == "OneClassSVM" or options.get("bias") == "exact":
            fitting = ["adatron", "smo", "simplified-smo", "chunking", "qp", "decomposition"]
            if self.kind == "SVC" and (options["loss"] == "squared_hinge" or options["C"] == np.inf):
                fitting.append("nearest-point")
        elif self.kind in ("NuSVC", "NuSVR"):
            fitting = ["chunking", "qp", "decomposition"]
        else:
            fitting = ["adatron", "svmseq", "sor", "chunking", "qp", "decomposition"]
        return str(self.pick(*fitting))

    # ------------------------------------------------------------ how X is handed over

    def _kernel_matrix(self, estimator: Any, X: Any, test: Any) -> tuple[Any, Any]:
        if estimator.kernel != "precomputed":
            return X, test
        K, values = self.base(X, X), self.base(test, X)
        return (K + K.T) / 2, values

    def _layout(self, estimator: Any, X: Any, test: Any) -> tuple[Any, Any]:
        layouts = dict(plain=45, float32=10, fortran=6, readonly=6, memmap=4, strided=5, integer=4, lists=2)
        if estimator.kernel != "precomputed":
            layouts |= dict(csr=12, csc=3, csr32=3)
        layout = self.pick(**layouts)
        if layout == "csr" and self.chance(0.03) and not isinstance(estimator.kernel, Function):
            self.about["layout"] = "csr, wide"
            return self._wide(X), self._wide(test)
        fits32 = np.abs(X).max() < 1e30 and np.abs(test).max() < 1e30
        if "32" in layout and (not fits32 or isinstance(estimator.kernel, Function)):
            layout = "plain"
        if layout == "integer" and (np.abs(X).max() > 1e12 or estimator.kernel == "precomputed"):
            layout = "plain"
        if layout.startswith("cs") and self.chance(0.7) and X.shape[1] > 1:  # most entries zero, as sparse data are
            keep = self.random.random((len(X) + len(test), X.shape[1])) < 0.4
            X, test = X * keep[: len(X)], test * keep[len(X) :]
        self.about["layout"] = layout
        match layout:
            case "float32":
                return X.astype(np.float32), test.astype(np.float32)
            case "fortran":
                return np.asfortranarray(X), np.asfortranarray(test)
            case "readonly":
                X.setflags(write=False)
                test.setflags(write=False)
            case "memmap":
                self.files.append(file := tempfile.TemporaryDirectory())
                path = Path(file.name) / "X.npy"
                np.save(path, X)
                return np.load(path, mmap_mode="r"), test
            case "strided":
                return np.repeat(X, 2, axis=0)[::2], test[:, ::-1].copy()[:, ::-1]
            case "integer":
                size = 1.0 if np.abs(X).max() > 100 else 10.0 / max(np.abs(X).max(), 1e-300)
                with np.errstate(all="ignore"):
                    test = np.clip(np.round(test * size), -1e18, 1e18)
                return np.round(X * size).astype(np.int64), test.astype(np.int64)
            case "lists":
                return (X.tolist(), test.tolist()) if len(X) <= SMALL else (X, test)
            case "csr" | "csr32":
                dtype = np.float32 if layout == "csr32" else np.float64
                make = self.pick(sparse.csr_array, sparse.csr_matrix)
                return make(X.astype(dtype)), make(test.astype(dtype))
            case "csc":
                return sparse.csc_array(X), sparse.csc_array(test)
        return X, test

    def _wide(self, X: Any) -> Any:
        """The same rows among very many features, the others zero."""
        features = 2**18
        columns = np.sort(np.random.default_rng(X.shape[1]).choice(features, X.shape[1], replace=False))
        rows, at = np.indices(X.shape)
        return sparse.csr_array((X.ravel(), (rows.ravel(), columns[at.ravel()])), shape=(len(X), features))
