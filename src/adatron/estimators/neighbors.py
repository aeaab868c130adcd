"""Nearest neighbours in feature space.

Distances need dot products only, hence kernels only: ‖φ(x) − φ(p)‖² = k(x, x) − 2 k(x, p) + k(p, p). Kernels of a
distance fall as it grows, and the linear kernel's feature space is the data's own: there neighbours are found by that
distance itself, which neither cancellation nor an exp that underflows can blur.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from adatron._check import Array, choice, integer, shown, sound
from adatron._rows import distances, is_sparse, matrix, squared_norms
from adatron.estimators._machine import forget
from adatron.estimators.fisher import KernelMethod
from adatron.kernels import Exponential, Gaussian, Kernel, Laplacian, Linear, Precomputed

PROTOTYPES = ("all", "random")
WEIGHTS = ("uniform", "distance")
BLOCK_VALUES = 2_000_000  # distances at a time: 16 MB, and two or three times that on the way
BY_DISTANCE = Linear | Gaussian | Exponential | Laplacian  # where a distance of the data has the same neighbours
FEW_FEATURES = 32  # where differences cost hardly more than dot products, and keep all digits

Index = NDArray[np.intp]


class KernelNeighborsClassifier(ClassifierMixin, KernelMethod):  # type: ignore[misc]
    """Classification by the nearest prototypes, with distances in feature space.

        ‖φ(x) − φ(p)‖² = k(x, x) − 2 k(x, p) + k(p, p)

    Prototypes are all training rows, a random sample of them, or the support vectors of a support vector machine: few,
    and those that matter where classes hardly overlap. (Where they do, rows on the wrong side are support vectors too,
    and vote for their class; a random sample may then do better.) The linear kernel has the Euclidean distance. So
    have, for a single neighbour, the Gaussian and exponential ones, which fall as it grows; polynomials differ.

    Parameters
    ----------
    n_neighbors : how many prototypes vote; of equal votes the first class wins.
    kernel : "linear", "poly", "rbf", "sigmoid", "exponential", "laplacian", "precomputed", a kernel object of
        `adatron.kernels`, or a function of two matrices.
    degree, gamma, coef0 : of the kernels given by name, as in scikit-learn.
    prototypes : "all"; "random"; or a machine with ``support_``, such as `adatron.SVC`, or a pipeline that ends in one.
        If fitted, it is taken at its word, and must have been fitted to the same rows; if not, a clone of it is fitted.
        Its kernel may be another.
    n_prototypes : how many rows ``prototypes="random"`` draws, or all if there are fewer.
    random_state : seeds the draw.
    weights : "uniform", or "distance" for votes of 1/distance; a prototype at distance zero overrules others.

    Attributes
    ----------
    prototypes_ : numbers of the rows that serve as prototypes, rising.
    machine_ : the fitted machine whose support vectors they are, if asked for.
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    Distances are made in blocks of rows, some 50 MB at a time. With a precomputed kernel, X has a column for each
    training row, and k(x, x) of new rows is unknown: neighbours can be told, their distances cannot. Where the kernel
    is not positive semidefinite (sigmoid), squared distances below zero are reported as 0.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from adatron import SVC, KernelNeighborsClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y, rest, truth = X[:1000], y[:1000], X[1000:], y[1000:]
    >>> every = KernelNeighborsClassifier().fit(X, y)
    >>> some = KernelNeighborsClassifier(prototypes=SVC(kernel="poly")).fit(X, y)
    >>> len(some.prototypes_) < len(every.prototypes_) / 2
    True
    >>> some.score(rest, truth) > every.score(rest, truth) - 0.02
    True
    """

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        prototypes: Any = "all",
        n_prototypes: int = 100,
        random_state: Any = None,
        weights: str = "uniform",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.prototypes = prototypes
        self.n_prototypes = n_prototypes
        self.random_state = random_state
        self.weights = weights

    def fit(self, X: Any, y: Any) -> Self:
        """Learn rows X and their classes y by heart, or the prototypes among them."""
        kernel = self._kernel_asked_for()
        integer("n_neighbors", self.n_neighbors, at_least=1)
        integer("n_prototypes", self.n_prototypes, at_least=1)
        if choice("weights", self.weights, WEIGHTS) == "distance" and self._precomputed():
            raise ValueError(
                "weights='distance' needs k(x, x) of new rows, which kernel='precomputed' does not tell: pass "
                "weights='uniform'."
            )
        self._check_prototypes()
        rows = self._validated(X, y)
        forget(self)
        kernel = kernel.resolve(rows.X)
        chosen = self._chosen(rows.X, rows.y)
        _checked_count(self.n_neighbors, len(chosen))
        classes, labels = np.unique(rows.y, return_inverse=True)
        self._near = Neighborhood.of(kernel, rows.X, chosen)
        self._labels = labels[chosen]
        self.classes_ = classes
        self.prototypes_ = chosen
        return self

    def kneighbors(self, X: Any, n_neighbors: int | None = None, *, return_distance: bool = True) -> Any:
        """Distances in feature space to each row's nearest prototypes, and their row numbers, nearest first.

        ``return_distance=False`` leaves the distances out.
        """
        if return_distance and self._precomputed():
            raise ValueError(
                "return_distance=True needs k(x, x) of new rows, which kernel='precomputed' does not tell: pass "
                "return_distance=False."
            )
        near, which = self._nearest(X, self.n_neighbors if n_neighbors is None else n_neighbors)
        return (near, self.prototypes_[which]) if return_distance else self.prototypes_[which]

    def predict_proba(self, X: Any) -> Array:
        """The classes' shares of the neighbours' votes, a column a class."""
        near, which = self._nearest(X, self.n_neighbors)
        votes = _votes(near) if self.weights == "distance" else np.ones_like(near)
        shares = np.zeros((len(near), len(self.classes_)))
        np.add.at(shares, (np.arange(len(near))[:, None], self._labels[which]), votes)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class that most neighbours vote for."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    # ------------------------------------------------------------ parts

    def _nearest(self, X: Any, count: Any) -> tuple[Array, Index]:
        check_is_fitted(self, "_near")
        sound("X", X)
        X = validate_data(self, X, reset=False, **self._accepted())
        near: Neighborhood = self._near
        return near.nearest(X, _checked_count(count, len(self.prototypes_)))

    def _check_prototypes(self) -> None:
        given = self.prototypes
        if isinstance(given, type):
            raise TypeError(f"prototypes={given.__name__} is a class: pass an object, {given.__name__}().")
        if not hasattr(given, "fit") and not (isinstance(given, str) and given in PROTOTYPES):
            error = ValueError if isinstance(given, str) else TypeError
            raise error(f"prototypes={shown(given)} is unknown: pass 'all', 'random' or a support vector machine.")

    def _chosen(self, X: Any, y: NDArray[Any]) -> Index:
        """The numbers of the rows that serve as prototypes."""
        rows = X.shape[0]
        if not isinstance(self.prototypes, str):
            self.machine_ = self._supported(X, y)
            return np.sort(np.asarray(_last(self.machine_).support_, dtype=np.intp))
        if self.prototypes == "all":
            return np.arange(rows)
        drawn = check_random_state(self.random_state).permutation(rows)[: self.n_prototypes]
        return np.asarray(np.sort(drawn), dtype=np.intp)

    def _supported(self, X: Any, y: NDArray[Any]) -> Any:
        """A machine fitted to these rows: the one given if it is, else a clone."""
        given = self.prototypes
        name = type(_last(given)).__name__
        if get_tags(given).input_tags.pairwise != self._precomputed():
            kernel = "'precomputed'" if self._precomputed() else "another than 'precomputed'"
            raise ValueError(f"prototypes={name}(...) reads X in another way: give it kernel={kernel} too.")
        fitted = hasattr(_last(given), "support_")
        machine = given if fitted else clone(given).fit(X, y)
        support = getattr(_last(machine), "support_", None)
        if support is None:
            raise TypeError(
                f"prototypes={name}(...) has no support_ when fitted: pass a machine that has support vectors, such as "
                "SVC()."
            )
        if len(support) == 0:
            raise ValueError(f"prototypes={name}(...) has no support vectors: pass a machine with other parameters.")
        if fitted and not _same_rows(machine, X):
            raise ValueError(
                f"prototypes={name}(...) was fitted to other rows: fit it to this X, or pass clone({name.lower()})."
            )
        return machine


@dataclass(frozen=True)
class Neighborhood:
    """Prototypes, and the way to those next to a row."""

    kernel: Kernel
    points: Any  # the prototypes' rows; with a precomputed kernel, their numbers
    norms: Array  # k(p, p), or ‖p‖² where dot products give Euclidean distances; else none are needed
    center: Array | None  # a common shift, which spares such distances cancellation

    @classmethod
    def of(cls, kernel: Kernel, X: Any, chosen: Index) -> Neighborhood:
        """The rows of X that are chosen."""
        if isinstance(kernel, Precomputed):
            return cls(kernel, chosen, kernel.diag(X)[chosen], None)
        points = matrix("X", X[chosen])
        if not isinstance(kernel, BY_DISTANCE):
            diagonal = kernel.diag(points)
            if not np.isfinite(diagonal).all():
                raise ValueError(
                    f"kernel={kernel!r} gives NaN or infinity on this X: scale the features, or choose another kernel."
                )
            return cls(kernel, points, diagonal, None)
        if isinstance(kernel, Laplacian) or is_sparse(points) or points.shape[1] <= FEW_FEATURES:
            return cls(kernel, points, np.empty(0), None)
        center = points.mean(axis=0)
        points = points - center
        return cls(kernel, points, squared_norms(points), center)

    def nearest(self, X: Any, count: int) -> tuple[Array, Index]:
        """For each row of X, distances to the nearest prototypes and their places, nearest first."""
        X = X if isinstance(self.kernel, Precomputed) else matrix("X", X, keep_float32=True)
        rows = X.shape[0]
        near, which = np.empty((rows, count)), np.empty((rows, count), dtype=np.intp)
        step = max(1, BLOCK_VALUES // self.points.shape[0])
        for begin in range(0, rows, step):
            block = slice(begin, begin + step)
            values = self._compared(X[block])
            which[block] = _smallest(values, count)
            near[block] = self._distance(np.take_along_axis(values, which[block], axis=1))
        return near, which

    def _compared(self, X: Any) -> Array:
        """What grows with the distance in feature space: a row for each row of X, a column a prototype."""
        kernel = self.kernel
        if isinstance(kernel, Precomputed):
            return np.asarray(self.norms - 2.0 * np.asarray(X[:, self.points], dtype=np.float64))
        if self.center is not None:
            X = X - self.center
            values: Array = X @ self.points.T
            values *= -2.0
            values += self.norms
            values += squared_norms(X)[:, None]
            return np.maximum(values, 0.0)
        if isinstance(kernel, BY_DISTANCE):
            return distances(X, self.points, "cityblock" if isinstance(kernel, Laplacian) else "sqeuclidean")
        values = kernel(X, self.points)
        values *= -2.0
        values += self.norms
        values += kernel.diag(X)[:, None]
        if not np.isfinite(values).all():
            raise ValueError(
                f"kernel={kernel!r} gives NaN or infinity on this X: scale the features, or choose another kernel."
            )
        return values

    def _distance(self, compared: Array) -> Array:
        """The distance in feature space that belongs to what was compared."""
        match self.kernel:
            case Gaussian(gamma=rate) | Laplacian(gamma=rate):
                squared = -2.0 * np.expm1(-float(rate) * compared)
            case Exponential(a=rate):
                squared = -2.0 * np.expm1(-float(rate) * np.sqrt(compared))
            case _:
                squared = np.maximum(compared, 0.0)
        return np.asarray(np.sqrt(squared))


def _checked_count(wanted: Any, there: int) -> int:
    count = integer("n_neighbors", wanted, at_least=1)
    if count > there:
        raise ValueError(
            f"n_neighbors={count} is more than there are prototypes (n_samples={there}): pass {there} at most."
        )
    return count


def _smallest(values: Array, count: int) -> Index:
    """The columns of each row's smallest values, smallest first, of equal ones the first."""
    if count == 1:
        return np.asarray(values.argmin(axis=1)[:, None])
    some = np.sort(np.argpartition(values, count - 1, axis=1)[:, :count], axis=1)
    near = np.take_along_axis(values, some, axis=1)
    best = np.take_along_axis(some, np.argsort(near, axis=1, kind="stable"), axis=1)
    tied = np.flatnonzero((values <= near.max(axis=1, keepdims=True)).sum(axis=1) > count)
    best[tied] = np.argsort(values[tied], axis=1, kind="stable")[:, :count]  # a partition takes any of equal ones
    return np.asarray(best)


def _votes(near: Array) -> Array:
    """1/distance, in units that cannot overflow; where there are prototypes at distance zero, theirs alone."""
    nearest = near.min(axis=1, keepdims=True)
    votes = np.divide(nearest, near, out=np.ones_like(near), where=near > 0)
    return np.asarray(votes)


def _last(machine: Any) -> Any:
    return machine[-1] if isinstance(machine, Pipeline) else machine


def _same_rows(machine: Any, X: Any) -> bool:
    """Whether the support vectors are where they should be in X; those of a pipeline may have been transformed."""
    last = _last(machine)
    support = np.asarray(last.support_)
    if getattr(last, "shape_fit_", X.shape)[0] != X.shape[0] or support.max() >= X.shape[0]:
        return False
    vectors = getattr(last, "support_vectors_", None)
    if last is not machine or vectors is None or vectors.shape[0] != len(support):
        return True
    if vectors.shape[1] != X.shape[1]:
        return False
    there = X[support]
    tolerance = 1e-5 * float(abs(there).max())  # one may have been float32
    return bool(abs(vectors - there).max() <= tolerance)
