"""What fits inside a search or a cross-validation leave unsaid: it is said once, for all of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Topic = Literal["parameters", "convergence"]

_UNSAID: ContextVar[tuple[Topic, ...]] = ContextVar("unsaid", default=())


@contextmanager
def leaving_unsaid(*topics: Topic) -> Iterator[None]:
    """Fits inside do not warn of these."""
    token = _UNSAID.set((*_UNSAID.get(), *topics))
    try:
        yield
    finally:
        _UNSAID.reset(token)


def is_unsaid(topic: Topic) -> bool:
    """Whether a fit should not warn of this."""
    return topic in _UNSAID.get()


@contextmanager
def said_once(stacklevel: int = 3) -> Iterator[None]:
    """Warnings inside, also those of scorers and of functions that users pass, are given at the end, each once."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    for text, category in dict.fromkeys((str(warning.message), warning.category) for warning in heard):
        warnings.warn(text, category, stacklevel=stacklevel)
