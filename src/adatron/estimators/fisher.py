"""Fisher's discriminant in feature space.

With K the kernel matrix, a function f = Σ a_i k(x_i, ·) has the values K a on the training rows. Its scatter between
the classes' means and within the classes are quadratic forms of a, with the matrices

    M = Σ_k W_k (μ_k − μ)(μ_k − μ)ᵀ      N = Σ_i w_i (K_i − μ_c(i))(K_i − μ_c(i))ᵀ

where μ_k is the mean of class k's kernel rows, W_k its weight, and a row of weight w_i stands for w_i equal rows. Those
equal rows would share a coefficient evenly, which makes the penalty ‖a‖² of the repeated problem Σ a_i²/w_i here. So
a = √w c and K → √w K √w bring back the plain penalty ‖c‖², and one set of formulas serves weighted and other rows.

M has rank K − 1 at most, hence no eigenvalues of m × m matrices are asked for: with N + ridge = L Lᵀ and M = B Bᵀ, the
directions are the left singular vectors of L⁻¹ B, a matrix of as many columns as classes.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular, svd
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from adatron._check import Array, finite_vector, integer, real, shown, sound
from adatron._rows import matrix
from adatron.kernels import Kernel, Precomputed, resolve_kernel
from adatron.model import Model
from adatron.plan import TrainingData, sample_weights
from adatron.precision import EXACT

LARGEST = 20_000  # rows, whose two matrices take 6.4 GB
BLOCK = 512  # rows of the kernel matrix at a time, where temporaries are made
EPSILON = float(np.finfo(np.float64).eps)
NOTHING = 1e-6  # of the largest mean: less does not tell a direction's sign


class KernelMethod(BaseEstimator):  # type: ignore[misc]
    """What the kernel methods share as scikit-learn estimators: their kernel and their data."""

    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _kernel_asked_for(self) -> Kernel:
        return resolve_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)

    def _accepted(self) -> dict[str, Any]:
        return {
            "accept_sparse": False if self._precomputed() else "csr",
            "accept_large_sparse": True,
            "dtype": [np.float64, np.float32],
            "order": "C",
        }

    def _validated(self, X: Any, y: Any, sample_weight: Any = None) -> TrainingData:
        """Rows, classes and weights in one form."""
        sound("X", X)
        X, y = validate_data(self, X, y, **self._accepted())
        check_classification_targets(y)
        if self._precomputed() and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X has shape {X.shape} with kernel='precomputed': pass the square matrix of kernel values."
            )
        if sample_weight is None:
            return TrainingData(X, y, None, None, X.shape, self._precomputed())
        weight = sample_weights(sample_weight, X.shape[0])
        whole = TrainingData(X, y, weight, None, X.shape, self._precomputed())
        return whole.part(np.flatnonzero(weight).astype(np.int64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._precomputed()
        tags.input_tags.pairwise = self._precomputed()
        return tags


class KernelFisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClassifierMixin,  # type: ignore[misc]
    KernelMethod,
):
    """Fisher's linear discriminant in feature space: a classifier, and a projection that separates the classes.

    Directions f = Σ a_i k(x_i, ·) that maximise the scatter between the classes over that within them:

        M a = λ (N + regularization · trace(N)/m · I) a

    with M and N the scatters of the kernel matrix's rows between and within classes; of K classes there are K − 1
    directions. A row goes to the class whose projected mean is nearest.

    m rows take two m × m matrices of float64 and about m³ multiply-adds (4,000 rows: 0.3 GB, 3 s on two cores), so more
    than 20,000 rows are refused. A prediction costs a kernel value with every training row.

    Parameters
    ----------
    kernel : "linear", "poly", "rbf", "sigmoid", "exponential", "laplacian", "precomputed", a kernel object of
        `adatron.kernels`, or a function of two matrices.
    degree, gamma, coef0 : of the kernels given by name, as in scikit-learn.
    regularization : the ridge, in units of N's mean diagonal; it is never less than rounding calls for.
    n_components : how many directions `transform` shows, at most K − 1 (None: all); prediction uses all.
    priors : None, to go by the nearest mean alone; "empirical", the classes' shares of the training rows; or a
        probability for each class. They shift the borders by log(prior), where the regularised variance within
        classes is 1.

    Attributes
    ----------
    alphas_ : the coefficients a, a row for each training row and a column a direction; zero where the weight is zero.
        The sign is such that the last class (of those not in the middle) lies on the positive side.
    eigenvalues_ : λ, falling: between over regularised within, a value a direction.
    explained_variance_ratio_ : shares of the scatter between classes, of the directions that `transform` shows.
    means_ : projected class means, a row a class; the mean of all training rows is at 0.
    priors_ : the probabilities that `predict` goes by.
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from adatron import KernelFisherDiscriminant
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> fisher = KernelFisherDiscriminant(gamma=2.0).fit(X, y)
    >>> fisher.score(X, y) > 0.99
    True
    >>> fisher.transform(X).shape
    (200, 1)
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
        priors: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.regularization = regularization
        self.n_components = n_components
        self.priors = priors

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X and their classes y; a row of weight w counts as w equal rows."""
        kernel = self._kernel_asked_for()
        regularization = real("regularization", self.regularization, above=0)
        rows = self._validated(X, y, sample_weight)
        classes, labels = np.unique(rows.y, return_inverse=True)
        if len(classes) < 2:
            where = "" if len(labels) == rows.shape[0] else ", in the rows of positive weight"
            raise ValueError(f"y holds one class, {classes.tolist()}{where}: pass rows of two classes or more.")
        if len(labels) > LARGEST:
            raise ValueError(
                f"X has {len(labels)} rows: pass {LARGEST} at most, for instance a sample, as matrices of rows × rows "
                "are made."
            )
        shown = self._components(len(classes))
        weight = np.ones(len(labels)) if rows.weight is None else rows.weight
        totals: Array = np.bincount(labels, weights=weight).astype(np.float64)
        self.priors_ = _priors(self.priors, totals)
        kernel = kernel.resolve(rows.X, rows.weight)
        alphas, means, eigenvalues = _directions(_gram(kernel, rows.X), labels, weight, regularization)
        middle = totals @ means / totals.sum()
        kept = np.arange(len(labels)) if rows.index is None else rows.index
        points = kept if self._precomputed() else rows.X
        self._model = Model(kernel, points, alphas.T.copy(), -middle, EXACT)
        self._n_features_out = shown
        self.classes_ = classes
        self.means_ = means - middle
        self.alphas_ = np.zeros((rows.shape[0], len(classes) - 1))
        self.alphas_[kept] = alphas
        self.eigenvalues_ = eigenvalues
        self.explained_variance_ratio_ = (eigenvalues / (eigenvalues.sum() or 1.0))[:shown]
        return self

    def transform(self, X: Any) -> Array:
        """The rows' values on the directions, a column each, in units of the deviation within classes."""
        return self._projected(X)[:, : self._n_features_out]

    def decision_function(self, X: Any) -> Array:
        """How much speaks for each class: ⟨z, mean⟩ − ½‖mean‖² + log(prior), z the projected row.

        With two classes the difference, positive for ``classes_[1]``; with more a column a class.
        """
        scores: Array = self._projected(X) @ self.means_.T
        scores += np.log(self.priors_) - 0.5 * (self.means_**2).sum(axis=1)
        return scores if len(self.classes_) > 2 else scores[:, 1] - scores[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row: that of the nearest projected mean, priors considered."""
        scores = self.decision_function(X)
        best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return np.asarray(self.classes_[best])

    def _projected(self, X: Any) -> Array:
        check_is_fitted(self, "_model")
        sound("X", X)
        X = validate_data(self, X, reset=False, **self._accepted())
        model: Model = self._model
        return model.decision(X)

    def _components(self, classes: int) -> int:
        if self.n_components is None:
            return classes - 1
        wanted = integer("n_components", self.n_components, at_least=1)
        if wanted > classes - 1:
            raise ValueError(
                f"n_components={wanted} is out of range: pass {classes - 1} at most, one less than there are classes."
            )
        return wanted


def _gram(kernel: Kernel, X: Any) -> Array:
    """The kernel matrix, made in blocks of rows to have no second one beside it."""
    X = matrix("X", X)
    if isinstance(kernel, Precomputed):
        return np.array(X)
    K = np.empty((X.shape[0], X.shape[0]))
    for begin in range(0, len(K), BLOCK):
        K[begin : begin + BLOCK] = kernel(X[begin : begin + BLOCK], X)
    if not np.isfinite(K.sum()) and not np.isfinite(K).all():
        raise ValueError(
            f"kernel={kernel!r} gives NaN or infinity on this X: scale the features, or choose another kernel."
        )
    return K


def _directions(K: Array, labels: NDArray[Any], weight: Array, regularization: float) -> tuple[Array, Array, Array]:
    """Coefficients, a column a direction; the class means on them, a row a class; eigenvalues. K is used up."""
    total, totals = weight.sum(), np.bincount(labels, weights=weight)
    root = np.sqrt(weight)
    K *= root[:, None]
    K *= root
    member = np.zeros((len(labels), len(totals)))  # orthonormal columns, a class each
    member[np.arange(len(labels)), labels] = root / np.sqrt(totals)[labels]
    means = member.T @ K
    share = np.sqrt(totals / total)
    between = means - np.outer(share, share @ means)
    for begin in range(0, len(K), BLOCK):
        K[begin : begin + BLOCK] -= member[begin : begin + BLOCK] @ means
    within = K.T @ K
    scatter, size = float(np.trace(within)), float((means**2).sum())
    rounding = EPSILON * len(K) * (scatter + size)  # of the squared kernel matrix, whose trace the bracket is
    ridge = max(regularization * scatter / total, rounding) or 1.0
    within.flat[:: len(K) + 1] += ridge
    L = cholesky(within.T, lower=True, overwrite_a=True, check_finite=False)
    left, singular, _ = svd(solve_triangular(L, between.T, lower=True, check_finite=False), full_matrices=False)
    left, singular = left[:, : len(totals) - 1], singular[: len(totals) - 1]
    # where the classes' means do not differ but by rounding, there is no direction
    noise = 10 * EPSILON * max(len(K) * singular[0], np.sqrt(size / ridge))
    left, singular = np.where(singular > noise, left, 0.0), np.where(singular > noise, singular, 0.0)
    c = np.sqrt(total) * solve_triangular(L, left, lower=True, trans="T", check_finite=False)
    projected = means @ c / np.sqrt(totals)[:, None]
    signs = _signs(projected - totals @ projected / total)
    return root[:, None] * c * signs, projected * signs, singular**2


def _signs(means: Array) -> Array:
    """For each column, that of the last entry which is not next to nothing."""
    counts = np.abs(means) > NOTHING * np.abs(means).max(axis=0)
    last = len(means) - 1 - counts[::-1].argmax(axis=0)
    return np.asarray(np.where(means[last, np.arange(means.shape[1])] < 0, -1.0, 1.0))


def _priors(priors: Any, totals: Array) -> Array:
    if priors is None:
        return np.full(len(totals), 1 / len(totals))
    if isinstance(priors, str):
        if priors != "empirical":
            raise ValueError(f'priors={priors!r} is unknown: pass None, "empirical" or a probability for each class.')
        return np.asarray(totals / totals.sum())
    given = finite_vector("priors", priors)
    if len(given) != len(totals) or (given <= 0).any() or abs(given.sum() - 1) > 1e-6:
        raise ValueError(
            f"priors={shown(given.tolist())} is out of range: pass {len(totals)} positive numbers that add up to 1, "
            "one for each class."
        )
    return np.asarray(given / given.sum())
