"""What may harm a file while another one is to take its place, and whether it did."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

OLD = b"what was there before"


@contextlib.contextmanager
def unchanged(*paths: Path) -> Iterator[None]:
    """The bytes of these files are what they were."""
    before = [path.read_bytes() for path in paths]
    yield
    assert [path.read_bytes() for path in paths] == before


@contextlib.contextmanager
def no_room() -> Iterator[None]:
    """No file may be longer than a few bytes: to programs, that is a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
