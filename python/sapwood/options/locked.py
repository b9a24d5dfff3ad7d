"""Locks for small files that several processes write."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

LONGEST_WAIT = 5.0
"""Seconds that a process waits for others to finish writing."""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock of a file: an empty file beside it, whose name has ".lock" appended.

    Raises:
        TimeoutError: if others hold it for longer than :data:`LONGEST_WAIT`.
    """
    try:
        import fcntl
    except ImportError:  # Without locks, replacing the file still leaves a whole one.
        yield
        return
    end = time.monotonic() + LONGEST_WAIT
    with open(path.with_name(path.name + ".lock"), "a") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    message = f"another process has held the lock for {LONGEST_WAIT:g} s"
                    raise TimeoutError(message) from None
                time.sleep(0.01)
        yield
