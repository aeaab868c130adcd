"""Puts this folder on the path, so that tests can import `oracle`; and what tests of Ctrl-C need."""

import signal

import pytest


@pytest.fixture
def ctrl_c():
    """SIGINT raises KeyboardInterrupt, here and in processes started from here.

    A shell starts what runs in the background with SIGINT ignored, which Python and its children inherit.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
