"""Nearest neighbours in feature space."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from adatron._check import Array, choice, integer
from adatron.estimators._machine import Machine
from adatron.kernels import Precomputed, resolve_kernel

BLOCK = 4_000_000  # distances held at a time


class KernelNeighborsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The class of the nearest prototypes, by their distance in feature space.

    ‖φ(x) − φ(p)‖² = k(x, x) − 2 k(x, p) + k(p, p). Prototypes are all rows, a random sample of them, or the support
    vectors of a machine, which are few and lie where it matters.

    Parameters
    ----------
    n_neighbors : how many of the nearest vote; of equals, the first class.
    kernel, degree, gamma, coef0 : as of `SVC`.
    prototypes : "all", "random", or an SVM; one that is not fitted yet is fitted (a clone of it) on the same rows.
    n_prototypes : of "random".
    random_state : seeds the sample.

    Attributes
    ----------
    classes_, n_features_in_ : as in scikit-learn. prototypes_ : the prototypes' row numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from adatron import SVC, KernelNeighborsClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> machine = KernelNeighborsClassifier(prototypes=SVC(C=10)).fit(X[:1000], y[:1000])
    >>> len(machine.prototypes_) < 800, machine.score(X[1000:], y[1000:]) > 0.9
    (True, True)
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
    ) -> None:
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.prototypes = prototypes
        self.n_prototypes = n_prototypes
        self.random_state = random_state

    _precomputed = Machine._precomputed
    _accepted = Machine._accepted

    def fit(self, X: Any, y: Any) -> Self:
        """Take prototypes from rows X with classes y."""
        neighbors = integer("n_neighbors", self.n_neighbors, at_least=1)
        kernel = resolve_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        if isinstance(kernel, Precomputed):
            raise ValueError("kernel='precomputed' has no k(x, x) for new rows: pass a kernel that can be evaluated.")
        X, y = validate_data(self, X, y, **self._accepted())
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.prototypes_ = self._chosen(X, y)
        if len(self.prototypes_) < neighbors:
            have = f"{len(self.prototypes_)} prototypes from n_samples={X.shape[0]}"
            raise ValueError(f"n_neighbors={neighbors} of {have}: pass at most as many as there are.")
        self._kernel = kernel.resolve(X)
        self._points = X[self.prototypes_]
        self._norms = self._kernel.diag(self._points)
        self._labels = labels[self.prototypes_]
        return self

    def _chosen(self, X: Any, y: NDArray[Any]) -> NDArray[np.intp]:
        count = X.shape[0]
        if not isinstance(self.prototypes, str):
            if not hasattr(self.prototypes, "fit"):
                raise TypeError(f"prototypes={self.prototypes!r} is unknown: pass 'all', 'random' or an SVM.")
            try:
                check_is_fitted(self.prototypes, "support_")
                machine = self.prototypes
            except NotFittedError:
                machine = clone(self.prototypes).fit(X, y)
            if tuple(machine.shape_fit_) != tuple(X.shape):
                raise ValueError(
                    f"prototypes={machine!r} was fitted on data of shape {machine.shape_fit_}: pass one for {X.shape}."
                )
            return np.sort(machine.support_).astype(np.intp)
        if choice("prototypes", self.prototypes, ("all", "random")) == "all":
            return np.arange(count)
        wanted = min(count, integer("n_prototypes", self.n_prototypes, at_least=1))
        return np.sort(check_random_state(self.random_state).permutation(count)[:wanted])

    def kneighbors(self, X: Any) -> tuple[Array, NDArray[np.intp]]:
        """Distances of each row's nearest prototypes, nearest first, and their row numbers in the training data."""
        distances, nearest = self._nearest(X)
        return distances, self.prototypes_[nearest]

    def _nearest(self, X: Any) -> tuple[Array, NDArray[np.intp]]:
        check_is_fitted(self, "prototypes_")
        X = validate_data(self, X, reset=False, **self._accepted())
        k, step = self.n_neighbors, max(1, BLOCK // len(self._norms))
        distances, nearest = np.empty((X.shape[0], k)), np.empty((X.shape[0], k), dtype=np.intp)
        for begin in range(0, X.shape[0], step):
            part = X[begin : begin + step]
            squared = self._kernel.diag(part)[:, None] - 2 * self._kernel(part, self._points) + self._norms
            few = np.sort(np.argpartition(squared, k - 1, axis=1)[:, :k], axis=1)
            order = np.argsort(np.take_along_axis(squared, few, axis=1), axis=1, kind="stable")
            chosen = np.take_along_axis(few, order, axis=1)
            nearest[begin : begin + step] = chosen
            found = np.take_along_axis(squared, chosen, axis=1)
            distances[begin : begin + step] = np.sqrt(np.maximum(found, 0.0))
        return distances, nearest

    def predict_proba(self, X: Any) -> Array:
        """Each class's share of the neighbours."""
        nearest = self._nearest(X)[1]
        votes = self._labels[nearest]
        shares = [(votes == number).mean(axis=1) for number in range(len(self.classes_))]
        return np.stack(shares, axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with most neighbours."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
