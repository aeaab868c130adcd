"""Kernels as values: frozen, hashable, comparable, printable, and without any data inside.

A kernel of the dot product or of a distance writes only its formula (`profile`); evaluation,
diagonal, "scale" and "auto", sums and products are inherited. What is computed here, in float64 by
NumPy and SciPy, is the reference: the native panels evaluate the same normal form, `terms()`, and
are tested against it.
"""

from __future__ import annotations

from collections.abc import Callable as Function
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from itertools import product
from math import inf, prod, sqrt
from numbers import Real
from operator import add, mul
from sys import float_info
from typing import Any, ClassVar, Literal

import numpy as np

from adatron._check import Array, choice, integer, real
from adatron._rows import Matrix, Metric, dense, distances, matrix, squared_norms, variance

Width = float | Literal["scale", "auto"]
Terms = tuple[tuple[float, tuple["Kernel", ...]], ...]

NAMES = ("linear", "poly", "rbf", "sigmoid", "exponential", "laplacian", "precomputed")


class Kernel:
    """A similarity k(x, y): call it on data, add it to another, multiply it by one or a number."""

    def __call__(self, X: Matrix, Y: Matrix | None = None) -> Array:
        """The matrix of k(x, y) for the rows x of X and y of Y (Y = X unless given), in float64.

        Two single rows give a single number: so scikit-learn calls a kernel that is a function.
        """
        if np.ndim(X) == 1 and Y is not None and np.ndim(Y) == 1:
            return self(np.asarray(X)[None], np.asarray(Y)[None])[0, 0]  # type: ignore[no-any-return]
        X = matrix("X", X)
        Y = X if Y is None else matrix("Y", Y)
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"Y has {Y.shape[1]} features: pass {X.shape[1]}, as many as X has.")
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # what is not finite is refused by its users
            values = self._values(X, Y)
        return values if values.size != 1 else np.full((X.shape[0], Y.shape[0]), values.item())

    def diag(self, X: Matrix) -> Array:
        """The vector of k(x, x) for the rows x of X."""
        X = matrix("X", X)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return np.array(np.broadcast_to(self._diagonal(X), X.shape[0]))

    def resolve(self, X: Matrix, weight: Array | None = None) -> Kernel:
        """The same kernel with numbers for "scale", 1 / (d var X), and "auto", 1 / d.

        A row of weight 2 counts for the variance as two rows would.
        """
        names = fields(self)  # type: ignore[arg-type]
        rules = {f.name: rule for f in names if isinstance(rule := getattr(self, f.name), str)}
        if not rules:
            return self
        X = matrix("X", X)
        numbers = {name: _resolved(rule, X, weight) for name, rule in rules.items()}
        return replace(self, **numbers)  # type: ignore[type-var]

    def terms(self) -> Terms | None:
        """The normal form, Σ coefficient × product of primitives; None if a part is callable."""
        return ((1.0, (self,)),)

    @property
    def positive_semidefinite(self) -> bool | None:
        """Whether every matrix of its values is; None if that depends on the data."""
        return None

    def __add__(self, other: Kernel | float) -> Kernel:
        return _combine(Sum, self, other)

    def __radd__(self, other: float) -> Kernel:
        return _combine(Sum, other, self)

    def __mul__(self, other: Kernel | float) -> Kernel:
        return _combine(Product, self, other)

    def __rmul__(self, other: float) -> Kernel:
        return _combine(Product, other, self)

    def _values(self, X: Matrix, Y: Matrix) -> Array:
        """k(X, Y), or a single value if it is the same everywhere."""
        raise NotImplementedError

    def _diagonal(self, X: Matrix) -> Array:
        raise NotImplementedError

    def _freeze(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


class DotKernel(Kernel):
    """A function of the dot product x·y."""

    def profile(self, dot: Array) -> Array:
        """The kernel as a function of x·y."""
        raise NotImplementedError

    def _values(self, X: Matrix, Y: Matrix) -> Array:
        return self.profile(dense(X @ Y.T))

    def _diagonal(self, X: Matrix) -> Array:
        return self.profile(squared_norms(X))


class DistanceKernel(Kernel):
    """A function of a distance between x and y; `metric` names it as SciPy does."""

    metric: ClassVar[Metric]
    positive_semidefinite: ClassVar[bool] = True

    def diag(self, X: Matrix) -> Array:
        """The vector of k(x, x) for the rows x of X: one value, whatever they hold."""
        return np.full(np.shape(X)[0], float(self.profile(np.zeros(1))[0]))

    def profile(self, distance: Array) -> Array:
        """The kernel as a function of the distance."""
        raise NotImplementedError

    def _values(self, X: Matrix, Y: Matrix) -> Array:
        return self.profile(distances(X, Y, self.metric))

    def _diagonal(self, X: Matrix) -> Array:
        return self.profile(np.zeros(X.shape[0]))


@dataclass(frozen=True)
class Linear(DotKernel):
    """k(x, y) = x·y."""

    positive_semidefinite: ClassVar[bool] = True

    def profile(self, dot: Array) -> Array:
        """x·y itself."""
        return dot


@dataclass(frozen=True)
class Polynomial(DotKernel):
    """k(x, y) = (gamma x·y + coef0)^degree."""

    degree: int = 3
    gamma: Width = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        degree, coef0 = integer("degree", self.degree, at_least=0), real("coef0", self.coef0)
        self._freeze(degree=degree, gamma=_width("gamma", self.gamma), coef0=coef0)

    @property
    def positive_semidefinite(self) -> bool | None:
        """A product of sums of kernels, if coef0 adds one."""
        return True if self.coef0 >= 0 or self.degree == 0 else None

    def profile(self, dot: Array) -> Array:
        """(gamma x·y + coef0)^degree."""
        return np.asarray((_known(self, self.gamma) * dot + self.coef0) ** self.degree)


@dataclass(frozen=True)
class Sigmoid(DotKernel):
    """k(x, y) = tanh(gamma x·y + coef0), which is not positive semidefinite in general."""

    gamma: Width = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        self._freeze(gamma=_width("gamma", self.gamma), coef0=real("coef0", self.coef0))

    def profile(self, dot: Array) -> Array:
        """tanh(gamma x·y + coef0)."""
        return np.asarray(np.tanh(_known(self, self.gamma) * dot + self.coef0))


@dataclass(frozen=True, init=False)
class Gaussian(DistanceKernel):
    """k(x, y) = exp(-gamma ‖x - y‖²), gamma = 1 / (2 sigma²); given neither, gamma is "scale"."""

    metric: ClassVar[Metric] = "sqeuclidean"
    sigma: float | None = field(compare=False, repr=False)
    gamma: Width

    def __init__(self, sigma: float | None = None, *, gamma: Width | None = None) -> None:
        if sigma is not None and gamma is not None:
            raise ValueError(f"sigma={sigma!r} and gamma={gamma!r} say the same thing twice: pass one of them.")
        if sigma is not None:
            sigma = real("sigma", sigma, above=0)
            self._freeze(sigma=sigma, gamma=0.5 / max(sigma * sigma, float_info.min))
            return
        gamma = _width("gamma", "scale" if gamma is None else gamma)
        if not isinstance(gamma, str):
            sigma = sqrt(0.5 / gamma) if gamma > 0 else inf
        self._freeze(sigma=sigma, gamma=gamma)

    def profile(self, distance: Array) -> Array:
        """exp(-gamma ‖x - y‖²)."""
        return np.asarray(np.exp(-_known(self, self.gamma) * distance))


@dataclass(frozen=True)
class Exponential(DistanceKernel):
    """k(x, y) = exp(-a ‖x - y‖), the norm unsquared."""

    metric: ClassVar[Metric] = "euclidean"
    a: Width = 1.0

    def __post_init__(self) -> None:
        self._freeze(a=_width("a", self.a))

    def profile(self, distance: Array) -> Array:
        """exp(-a ‖x - y‖)."""
        return np.asarray(np.exp(-_known(self, self.a) * distance))


@dataclass(frozen=True)
class Laplacian(DistanceKernel):
    """k(x, y) = exp(-gamma ‖x - y‖₁)."""

    metric: ClassVar[Metric] = "cityblock"
    gamma: Width = 1.0

    def __post_init__(self) -> None:
        self._freeze(gamma=_width("gamma", self.gamma))

    def profile(self, distance: Array) -> Array:
        """exp(-gamma ‖x - y‖₁)."""
        return np.asarray(np.exp(-_known(self, self.gamma) * distance))


@dataclass(frozen=True)
class Constant(Kernel):
    """k(x, y) = value."""

    value: float = 1.0
    positive_semidefinite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._freeze(value=real("value", self.value, at_least=0))

    def terms(self) -> Terms:
        """The value, times no primitive."""
        return ((self.value, ()),)

    def _values(self, X: Matrix, Y: Matrix) -> Array:
        return np.full((1, 1), self.value)

    def _diagonal(self, X: Matrix) -> Array:
        return np.full(X.shape[0], self.value)


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Marks X as the Gram matrix itself: a row for each sample, a column for each trained on."""

    def __call__(self, X: Matrix, Y: Matrix | None = None) -> Array:
        """X as it is."""
        if Y is not None:
            raise ValueError("Y has no meaning for a precomputed kernel: pass the matrix as X.")
        return super().__call__(X)

    def _values(self, X: Matrix, Y: Matrix) -> Array:
        return dense(X)

    def _diagonal(self, X: Matrix) -> Array:
        return np.asarray(X.diagonal())


@dataclass(frozen=True)
class Callable(Kernel):
    """A function(X, Y) that returns the matrix of k(x, y)."""

    function: Function[[Matrix, Matrix], Any]
    block: ClassVar[int] = 256

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function={self.function!r} cannot be called: pass a function of two matrices.")

    def terms(self) -> None:
        """None: only Python can evaluate it."""
        return None

    def _values(self, X: Matrix, Y: Matrix) -> Array:
        values, shape = np.asarray(self.function(X, Y), dtype=np.float64), (X.shape[0], Y.shape[0])
        if values.shape != shape:
            raise ValueError(
                f"kernel={self.function!r} returned shape {values.shape}: return {shape}, "
                "a row for each row of X and a column for each row of Y."
            )
        return values

    def _diagonal(self, X: Matrix) -> Array:
        blocks = (X[i : i + self.block] for i in range(0, X.shape[0], self.block))
        return np.concatenate([np.diagonal(self._values(rows, rows)) for rows in blocks])


@dataclass(frozen=True, repr=False)
class Composite(Kernel):
    """Several kernels combined value by value."""

    parts: tuple[Kernel, ...]
    combine: ClassVar[Function[[Any, Any], Any]]

    @property
    def positive_semidefinite(self) -> bool | None:
        """Sums and products of positive semidefinite kernels are (Schur)."""
        return True if all(part.positive_semidefinite for part in self.parts) else None

    def resolve(self, X: Matrix, weight: Array | None = None) -> Kernel:
        """The same combination of the resolved parts."""
        return replace(self, parts=tuple(part.resolve(X, weight) for part in self.parts))

    def _values(self, X: Matrix, Y: Matrix) -> Array:
        values = (part._values(X, Y) for part in self.parts)
        return np.asarray(reduce(type(self).combine, values))

    def _diagonal(self, X: Matrix) -> Array:
        values = (part._diagonal(X) for part in self.parts)
        return np.asarray(reduce(type(self).combine, values))


@dataclass(frozen=True, repr=False)
class Sum(Composite):
    """k₁ + k₂ + …."""

    combine: ClassVar[Function[[Any, Any], Any]] = add

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))

    def terms(self) -> Terms | None:
        """The parts' terms, like ones added up."""
        parts = [part.terms() for part in self.parts]
        return None if None in parts else _collect(term for part in parts for term in part or ())


@dataclass(frozen=True, repr=False)
class Product(Composite):
    """k₁ k₂ …."""

    combine: ClassVar[Function[[Any, Any], Any]] = mul

    def __repr__(self) -> str:
        first, *rest = self.parts
        head = repr(first.value) if isinstance(first, Constant) else _bracketed(first)
        return " * ".join([head, *map(_bracketed, rest)])

    def terms(self) -> Terms | None:
        """Every choice of one term a part, multiplied out."""
        parts = [part.terms() for part in self.parts]
        if None in parts:
            return None
        choices = product(*(part or () for part in parts))
        return _collect((prod(c for c, _ in chosen), sum((factors for _, factors in chosen), ())) for chosen in choices)


def resolve_kernel(kernel: Any, *, degree: int = 3, gamma: Any = "scale", coef0: float = 0.0) -> Kernel:
    """The Kernel that an estimator's `kernel` means: a name, a kernel object or a callable."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"kernel={kernel.__name__} is a class: pass an object, {kernel.__name__}().")
    if callable(kernel):
        return Callable(kernel)
    match choice("kernel", kernel, NAMES):
        case "linear":
            return Linear()
        case "poly":
            return Polynomial(degree=degree, gamma=gamma, coef0=coef0)
        case "rbf":
            return Gaussian(gamma=gamma)
        case "sigmoid":
            return Sigmoid(gamma=gamma, coef0=coef0)
        case "exponential":
            return Exponential(a=_width("gamma", gamma))
        case "laplacian":
            return Laplacian(gamma=gamma)
        case _:
            return Precomputed()


def has_width(kernel: Kernel) -> bool:
    """Whether the kernel is exp(−γ d) for some distance d."""
    return isinstance(kernel, Gaussian | Exponential | Laplacian)


def of_width(kernel: Kernel, gamma: float) -> Kernel:
    """The same kernel with another γ."""
    if isinstance(kernel, Exponential):
        return Exponential(gamma)
    return Laplacian(gamma) if isinstance(kernel, Laplacian) else Gaussian(gamma=gamma)


def width_of(kernel: Kernel) -> float:
    """γ of a kernel that has been resolved."""
    return float(kernel.a if isinstance(kernel, Exponential) else kernel.gamma)  # type: ignore[attr-defined]


def sigma_of(kernel: Kernel, gamma: float) -> float:
    """σ of exp(−d²/2σ²), exp(−d/σ)."""
    if gamma <= 0:
        return inf
    return sqrt(0.5 / gamma) if isinstance(kernel, Gaussian) else 1.0 / gamma


def gamma_of(kernel: Kernel, sigma: float) -> float:
    """The inverse of `sigma_of`."""
    return 0.5 / sigma**2 if isinstance(kernel, Gaussian) else 1.0 / sigma


@dataclass(frozen=True)
class MercerReport:
    """Whether a Gram matrix is that of a dot product, and by how much it is or is not."""

    is_psd: bool
    smallest: float
    largest: float
    asymmetry: float

    def __str__(self) -> str:
        verdict = "is" if self.is_psd else "is NOT"
        return (
            f"The matrix {verdict} positive semidefinite: eigenvalues from {self.smallest:.3g} "
            f"to {self.largest:.3g}, asymmetry {self.asymmetry:.3g}."
        )


def mercer(K: Any, tol: float | None = None) -> MercerReport:
    """Check Mercer's condition: K is symmetric and has no eigenvalue below -tol times the largest.

    The default tol is what rounding explains: ten times the rows times the epsilon of K's type.
    """
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size:
        raise ValueError(f"K has shape {K.shape}: pass a square matrix.")
    epsilon = np.finfo(K.dtype if K.dtype == np.float32 else np.float64).eps
    tol = 10 * len(K) * float(epsilon) if tol is None else real("tol", tol, at_least=0)
    K = matrix("K", K)
    asymmetry = float(np.abs(K - K.T).max())
    eigenvalues = np.linalg.eigvalsh((K + K.T) / 2)
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    allowed = tol * max(abs(smallest), abs(largest))
    return MercerReport(smallest >= -allowed and asymmetry <= allowed, smallest, largest, asymmetry)


def _width(name: str, value: Any) -> Width:
    if isinstance(value, str):
        if value not in ("scale", "auto"):
            raise ValueError(f'{name}={value!r} is unknown: pass "scale", "auto" or a number of at least 0.')
        return value  # type: ignore[return-value]
    return real(name, value, at_least=0)


def _known(kernel: Kernel, width: Width) -> float:
    if isinstance(width, str):
        raise ValueError(f"{kernel} lacks numbers: call resolve(X) with the training data first.")
    return width


def _resolved(rule: str, X: Matrix, weight: Array | None) -> float:
    spread = float(X.shape[1] * (1.0 if rule == "auto" else variance(X, weight)))
    return 1.0 / spread if spread > 0 else 1.0


def _combine(how: type[Composite], *operands: Kernel | float) -> Kernel:
    """The composite of kernels and numbers, nested ones of the same sort laid flat."""
    if not all(isinstance(operand, Kernel | Real) for operand in operands):
        return NotImplemented  # type: ignore[no-any-return]
    kernels = (k if isinstance(k, Kernel) else Constant(k) for k in operands)
    return how(tuple(p for k in kernels for p in (k.parts if isinstance(k, how) else (k,))))


def _collect(terms: Any) -> Terms:
    """Like terms added up, their factors in a fixed order."""
    total: dict[tuple[Kernel, ...], float] = {}
    for coefficient, factors in terms:
        key = tuple(sorted(factors, key=repr))
        total[key] = total.get(key, 0.0) + coefficient
    return tuple((coefficient, factors) for factors, coefficient in total.items())


def _bracketed(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel)
