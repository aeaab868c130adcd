"""The points of `benchmarks.small`: small data sets, and what is timed on each.

Sets with real data come with scikit-learn or are looked for by `adatron.datasets.find`; one that is not found raises
`FileNotFoundError`, and its points are skipped. Features are standardised unless the name says "raw". Parameters that
are not given are the estimators' defaults, since this is what a changed import meets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, random_array
from sklearn import datasets
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from adatron.datasets import find

Data = tuple[Any, np.ndarray]
GRID = {"C": np.geomspace(0.1, 1000, 5), "gamma": np.geomspace(1e-4, 1, 5)}
FOLDS = 5
ALL = 0  # rows to predict


@dataclass(frozen=True)
class Point:
    """What is timed: a fit, a prediction or a grid search with one estimator on one data set."""

    kind: str
    data: str
    estimator: str = "SVC"
    options: dict[str, Any] = field(default_factory=dict)
    n_predicted: int = ALL

    @property
    def name(self) -> str:
        """Unique, and what ``--only`` is matched with."""
        count = f" {self.n_predicted or 'all'} of" if self.kind == "predict" else ""
        words = [str(value) if key == "kernel" else f"{key}={value:g}" for key, value in self.options.items()]
        return " ".join([self.kind + count, self.data, self.estimator, *words])

    def prepare(self, estimator: Callable[..., Any], X: Any, y: np.ndarray) -> Callable[[], Any]:
        """The call to be timed, which returns a fitted model or predictions."""
        if self.kind == "fit":
            return lambda: estimator(**self.options).fit(X, y)
        if self.kind == "search":
            return lambda: GridSearchCV(estimator(**self.options), GRID, cv=FOLDS).fit(X, y)
        model, rows = estimator(**self.options).fit(X, y), X[: self.n_predicted or X.shape[0]]
        return lambda: model.predict(rows)


def classes(count: int, rows: int, features: int, clusters: int = 2, separation: float = 1.0) -> Callable[[], Data]:
    """Clusters of scikit-learn's make_classification, three quarters of the features informative."""

    def load() -> Data:
        return datasets.make_classification(
            rows,
            features,
            n_informative=3 * features // 4,
            n_redundant=0,
            n_classes=count,
            n_clusters_per_class=clusters,
            class_sep=separation,
            random_state=0,
        )

    return load


def bundled(name: str) -> Callable[[], Data]:
    """A set that comes with scikit-learn."""
    return lambda: getattr(datasets, f"load_{name}")(return_X_y=True)


def stored(name: str, rows: int | None = None) -> Callable[[], Data]:
    """The first training rows of a stored set."""

    def load() -> Data:
        data = find(name)
        suffix = "_train" if "X_train" in data.files else ""
        return data[f"X{suffix}"][:rows].astype(np.float64), data[f"y{suffix}"][:rows]

    return load


def sparse(count: int, rows: int = 2000, features: int = 1000, density: float = 0.02) -> Callable[[], Data]:
    """Rows like those of texts: few features are not zero, and those of its class are more frequent."""

    def load() -> Data:
        generator = np.random.default_rng(0)
        y = generator.integers(count, size=rows)
        noise = random_array((rows, features), density=density / 2, rng=generator, format="csr")
        topics = random_array((count, features), density=0.2, rng=generator, format="csr")[y]
        X = csr_matrix(noise + topics.multiply(generator.random((rows, features)) < 2.5 * density))
        X.sort_indices()
        return X, y

    return load


RAW: dict[str, Callable[[], Data]] = {
    "20 rows": classes(2, 20, 4, clusters=1),
    "50 rows": classes(2, 50, 4, clusters=1),
    "200 rows": classes(2, 200, 20),
    "500 rows": classes(2, 500, 20),
    "2,000 rows": classes(2, 2000, 20),
    "6,000 rows": classes(2, 6000, 20),
    "iris": bundled("iris"),
    "wine": bundled("wine"),
    "breast cancer": bundled("breast_cancer"),
    "digits": bundled("digits"),
    "3 classes 1,000": classes(3, 1000, 12),
    "6 classes 4,435": classes(6, 4435, 36),
    "usps 2,000": stored("usps", 2000),
    "26 classes 500": classes(26, 500, 16, separation=2.0),
    "26 classes 2,000": classes(26, 2000, 16, separation=2.0),
    "26 classes 6,000": classes(26, 6000, 16, separation=2.0),
    "100 classes 2,000": classes(100, 2000, 16, clusters=1, separation=2.0),
    "pima": stored("pima"),
    "svmguide1": stored("svmguide1"),
    "diabetes": bundled("diabetes"),
    "concrete": stored("concrete"),
    "friedman 50": lambda: datasets.make_friedman1(50, random_state=0),
    "friedman 2,000": lambda: datasets.make_friedman1(2000, random_state=0),
    "sparse 2 classes": sparse(2),
    "sparse 10 classes": sparse(10),
}
REGRESSIONS = ("diabetes", "concrete", "friedman 50", "friedman 2,000")


@cache
def load(name: str) -> Data:
    """The data by name; a name that ends in "raw" is not scaled, and neither are sparse rows."""
    X, y = RAW[name.removesuffix(" raw")]()
    if name in REGRESSIONS:
        y = (y - y.mean()) / y.std()
    if name.endswith(" raw") or name.startswith("sparse"):
        return X, y
    return StandardScaler().fit_transform(X), y


def fits(names: list[str], estimator: str = "SVC", **options: Any) -> list[Point]:
    """A fit of the same estimator on each data set."""
    return [Point("fit", name, estimator, options) for name in names]


def predictions(name: str, estimator: str = "SVC", **options: Any) -> list[Point]:
    """Of one row, a hundred, and all."""
    return [Point("predict", name, estimator, options, count) for count in (1, 100, ALL)]


MANY_CLASSES = ["26 classes 500", "26 classes 2,000", "26 classes 6,000", "100 classes 2,000"]
TWO_CLASSES = ["20 rows", "50 rows", "200 rows", "500 rows", "2,000 rows", "6,000 rows"]
REAL = ["iris", "wine", "breast cancer", "digits"]

POINTS = [
    *fits(TWO_CLASSES + REAL + ["3 classes 1,000", "6 classes 4,435", "usps 2,000"], kernel="rbf"),
    *fits(MANY_CLASSES, kernel="rbf", C=10),
    *fits(["2,000 rows", "breast cancer"], kernel="rbf", C=100),
    *fits(["50 rows", "500 rows", "2,000 rows", *REAL, "26 classes 2,000"], kernel="linear"),
    *fits(["50 rows", "2,000 rows", *REAL, "26 classes 2,000"], kernel="poly"),
    *fits(["wine raw", "breast cancer raw", "pima raw", "svmguide1 raw", "digits raw"], kernel="rbf"),
    *fits(["iris raw", "wine raw"], kernel="linear"),
    *fits(["sparse 2 classes", "sparse 10 classes"], kernel="rbf"),
    *fits(["sparse 2 classes", "sparse 10 classes"], kernel="linear"),
    *fits(["sparse 2 classes"], kernel="poly", coef0=1.0),
    *fits(["friedman 50", "diabetes", "concrete", "friedman 2,000"], "SVR", kernel="rbf"),
    *fits(["diabetes", "friedman 2,000"], "SVR", kernel="linear"),
    *fits(["50 rows", "iris", "breast cancer", "2,000 rows", "digits"], "NuSVC", nu=0.1),
    *fits(["50 rows", "breast cancer", "2,000 rows"], "OneClassSVM", nu=0.1),
    *predictions("iris"),
    *predictions("breast cancer"),
    *predictions("digits"),
    *predictions("26 classes 2,000", C=10),
    *predictions("2,000 rows", kernel="linear"),
    *predictions("sparse 2 classes", kernel="linear"),
    *predictions("friedman 2,000", "SVR"),
    *predictions("breast cancer", "OneClassSVM", nu=0.1),
    Point("search", "iris"),
    Point("search", "digits"),
]
