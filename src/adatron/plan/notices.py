"""What fits inside a search or a cross-validation leave unsaid: it is said once, for all of them."""

from __future__ import annotations

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
