"""Fisher's discriminant in feature space."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from adatron._check import Array, integer, real
from adatron.estimators._machine import Machine
from adatron.kernels import Precomputed, resolve_kernel

MOST_ROWS = 20_000  # a matrix of 3 GB, and hours


class KernelFisherDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Directions in feature space along which classes lie far apart and each class close together.

    A direction is Σ a_i φ(x_i); along it the scatter between the classes' means, aᵀMa, is the largest possible for a
    given scatter within the classes, aᵀ(N + μI)a. A row goes to the class whose mean is nearest after projection. With
    K classes there are K - 1 directions. The matrix of m rows takes 8m² bytes, its eigenvectors some m³ operations.

    Parameters
    ----------
    kernel, degree, gamma, coef0 : as of `SVC`.
    regularization : μ, in units of the mean of N's diagonal; keeps directions that only noise tells apart short.
    n_components : how many directions to keep; None: all.

    Attributes
    ----------
    classes_, n_features_in_ : as in scikit-learn.
    alphas_ : the coefficients, a column a direction. eigenvalues_ : how far each parts the classes.
    means_ : the projected means, a row a class.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from adatron import KernelFisherDiscriminant
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> KernelFisherDiscriminant(gamma=2.0).fit(X, y).score(X, y) > 0.98
    True
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        regularization: float = 1e-3,
        n_components: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.regularization = regularization
        self.n_components = n_components

    _precomputed = Machine._precomputed
    _accepted = Machine._accepted
    _validated = Machine._validated

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X and their classes y; a row of weight w counts as w equal rows."""
        mu = real("regularization", self.regularization, above=0)
        kernel = resolve_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        rows = self._validated(X, y, sample_weight)
        check_classification_targets(rows.y)
        classes, labels = np.unique(rows.y, return_inverse=True)
        m = len(labels)
        if len(classes) < 2:
            raise ValueError(f"y holds one class, {classes.tolist()}: pass rows of two classes or more.")
        if m > MOST_ROWS:
            raise ValueError(f"X has {m} rows, and this takes the square of it: pass {MOST_ROWS} at most, or use SVC.")
        wanted = len(classes) - 1
        if self.n_components is not None:
            wanted = min(wanted, integer("n_components", self.n_components, at_least=1))
        weight = np.ones(m) if rows.weight is None else rows.weight
        self._kernel = kernel.resolve(rows.X, rows.weight)
        K = rows.X.astype(np.float64) if self._precomputed() else self._kernel(rows.X)

        # in feature space weighted by w: u = √w a, so that a row of weight 2 and two equal rows are the same
        root = np.sqrt(weight)
        share = np.eye(len(classes))[labels] * weight[:, None]
        share /= share.sum(axis=0)
        means = K @ share
        overall = K @ (weight / weight.sum())
        mass = np.bincount(labels, weights=weight)
        between = (root[:, None] * (means - overall[:, None])) * np.sqrt(mass / weight.sum())
        centred = root[:, None] * (K - means[:, labels]) * root[None, :]
        within = centred @ centred.T / weight.sum()
        scale = float(np.trace(within)) / float(weight.sum()) or 1.0
        within[np.diag_indices_from(within)] += mu * scale
        values, vectors = eigh(between @ between.T, within, subset_by_index=(m - min(wanted, m), m - 1))
        vectors = vectors[:, ::-1] * root[:, None]
        ends = vectors.T @ (means[:, -1] - means[:, 0])  # the last class lies higher than the first
        vectors *= np.where(ends < 0, -1.0, 1.0)
        self.classes_ = classes
        self.eigenvalues_ = np.maximum(values[::-1], 0.0)
        self.alphas_ = vectors
        self._rows = rows.kept if self._precomputed() and rows.kept is not None else np.arange(m)
        self._points = None if self._precomputed() else rows.X
        self.means_ = (vectors.T @ means).T
        self._spread = self._within_spread(vectors.T @ K, labels, weight)
        self._n_features_out = vectors.shape[1]
        return self

    def _within_spread(self, projected: Array, labels: NDArray[Any], weight: Array) -> Array:
        """The classes' common standard deviation along each direction, the unit of distances there."""
        away = projected - self.means_[labels].T
        spread = np.sqrt((away**2 @ weight) / weight.sum())
        return np.asarray(np.where(spread > 0, spread, 1.0))

    def transform(self, X: Any) -> Array:
        """The rows along the directions, a column each."""
        check_is_fitted(self, "alphas_")
        X = validate_data(self, X, reset=False, **self._accepted())
        if isinstance(self._kernel, Precomputed):
            return np.asarray(np.asarray(X[:, self._rows], dtype=np.float64) @ self.alphas_)
        return np.asarray(self._kernel(X, self._points) @ self.alphas_)

    def _distances(self, X: Any) -> Array:
        """Squared distances from the projected means, a column a class."""
        projected = self.transform(X) / self._spread
        return np.asarray(((projected[:, None] - self.means_ / self._spread) ** 2).sum(axis=2))

    def decision_function(self, X: Any) -> Array:
        """With two classes, positive for ``classes_[1]``; with more, a column a class: minus half the distance²."""
        distances = self._distances(X)
        two = len(self.classes_) == 2
        return np.asarray(distances[:, 0] - distances[:, 1] if two else -distances) / 2

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the nearest mean."""
        nearest = self._distances(X).argmin(axis=1)
        return np.asarray(self.classes_[nearest])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._precomputed()
        tags.input_tags.pairwise = self._precomputed()
        return tags
