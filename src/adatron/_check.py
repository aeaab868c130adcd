"""Checks that answer in one sentence: which parameter, what it was, what to pass instead."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, nan
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

Array = NDArray[np.float64]
LARGEST = 1e100  # of a regularisation parameter: squares and sums of coefficients have to stay finite
FLAGS = (bool, np.bool_, Integral)
LONGEST = 80  # characters of a value that a message repeats


def shown(value: Any) -> str:
    """The value for a message: one line, and not a long one."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python does not print integers of thousands of digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    infinite: bool = False,
) -> float:
    """The value as a float, if it is a number in range; `infinite` lets +inf pass."""
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, Real)):
        wish = _range(above, at_least, infinite)
        raise TypeError(f"{name}={shown(value)} is a {type(value).__name__}: pass {wish}.")
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        number = nan
    in_range = (above is None or number > above) and (at_least is None or number >= at_least)
    if not in_range or not (isfinite(number) or (infinite and number == inf)):
        raise ValueError(f"{name}={shown(value)} is out of range: pass {_range(above, at_least, infinite)}.")
    return number


def _range(above: float | None, at_least: float | None, infinite: bool) -> str:
    """Which numbers would do."""
    wish = "a number" if infinite else "a finite number"
    wish += f" greater than {above:g}" if above is not None else ""
    return wish + (f" of at least {at_least:g}" if at_least is not None else "")


def cost(name: str, value: Any, *, infinite: bool = True) -> float:
    """A regularisation parameter: a positive number with which one can still reckon, or infinity."""
    number = real(name, value, above=0, infinite=infinite)
    if number != inf and not 1 / LARGEST <= number <= LARGEST:
        otherwise = ", or np.inf" if infinite else ""
        wish = f"a number from {1 / LARGEST:g} to {LARGEST:g}{otherwise}"
        raise ValueError(f"{name}={shown(value)} is out of range: pass {wish}.")
    return number


def flag(name: str, value: Any) -> bool:
    """The value as a bool, if it is one, or 0 or 1."""
    if not isinstance(value, FLAGS):
        raise TypeError(f"{name}={shown(value)} is a {type(value).__name__}: pass True or False.")
    return bool(value)


def integer(name: str, value: Any, *, at_least: int = 0) -> int:
    """The value as an int, if it is an integer in range."""
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Integral)):
        raise TypeError(f"{name}={shown(value)} is a {type(value).__name__}: pass an integer of at least {at_least}.")
    number = int(value)
    if number < at_least:
        raise ValueError(f"{name}={shown(value)} is out of range: pass an integer of at least {at_least}.")
    if number >= 2**63:
        wish = f"an integer of at least {at_least} and less than 2**63"
        raise ValueError(f"{name}={shown(value)} is out of range: pass {wish}.")
    return number


def choice(name: str, value: Any, options: Sequence[str]) -> str:
    """The value, if it is one of the options."""
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(map(repr, options))
        error = ValueError if isinstance(value, str) else TypeError
        raise error(f"{name}={shown(value)} is unknown: pass one of {listed}.")
    return value


def vector(name: str, values: ArrayLike, *, length: int | None = None) -> Array:
    """The values as a new float64 vector without NaN, of the length asked for."""
    array = _vector(name, values, length)
    _refuse_nan(name, array)
    return array


def finite_vector(name: str, values: ArrayLike, *, length: int | None = None) -> Array:
    """The values as a new float64 vector of finite numbers."""
    array = _vector(name, values, length)
    if np.isfinite(array).all():
        return array
    _refuse_nan(name, array)
    first = int(np.isinf(array).argmax())
    raise ValueError(f"{name}[{first}]={array[first]} is infinite: pass finite numbers.")


def _vector(name: str, values: ArrayLike, length: int | None) -> Array:
    """The values as a new float64 vector of the length asked for."""
    try:
        if np.iscomplexobj(values):
            raise TypeError
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        message = f"{name} holds values that are not numbers: pass a vector of floats."
        raise (TypeError if isinstance(error, TypeError) else ValueError)(message) from None
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: pass a vector, e.g. {name}.ravel().")
    if array.size == 0:
        raise ValueError(f"{name} is empty: pass at least one value.")
    if length is not None and len(array) != length:
        raise ValueError(f"{name} has {len(array)} values: pass {length}, one for each row.")
    return array


def _refuse_nan(name: str, array: Array) -> None:
    unknown = np.isnan(array)
    if unknown.any():
        first = int(unknown.argmax())
        raise ValueError(f"{name}[{first}] is NaN: drop or impute that row first.")


def sound(name: str, X: Any) -> None:
    """Refuse a sparse matrix whose index arrays contradict each other or its shape: SciPy would read past their end."""
    sparse = bool(issparse(X))  # without telling the type checker more than that
    if not sparse:
        return
    fault = ""
    if X.format in ("csr", "csc"):
        many, inside = X.shape if X.format == "csr" else X.shape[::-1]
        start, index = X.indptr, X.indices
        if len(start) != many + 1 or start[0] != 0 or start[-1] > min(len(index), len(X.data)):
            fault = "indptr does not match indices and data"
        elif (start[1:] < start[:-1]).any():
            fault = "indptr decreases"
        elif start[-1] and not (index[: start[-1]].min() >= 0 and index[: start[-1]].max() < inside):
            fault = f"indices are not all within 0 to {inside - 1}"
    elif X.format == "coo":
        for at, size in zip(X.coords, X.shape, strict=True):
            if len(at) != len(X.data) or (len(at) and not 0 <= at.min() <= at.max() < size):
                fault = "coordinates lie outside of its shape"
    if fault:
        raise ValueError(f"{name} is not a valid sparse matrix, its {fault}: rebuild it, e.g. from its dense form.")
