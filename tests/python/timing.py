"""Bounds on how long a block of a test takes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fails if the block takes longer."""
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds
