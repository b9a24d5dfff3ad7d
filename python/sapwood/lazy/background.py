"""Work in the background, in threads that cannot keep the program from ending."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TypeVar

T = TypeVar("T")

_IDLE = 2.0
"""Seconds after which a thread without work ends."""


class _Workers:
    """Threads that wait for work. A new one begins only if all are busy.

    To begin a thread for each piece of work would take longer: beginning one waits until it runs, and so
    until the interpreter changes threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = 0

    def begin(self, run: Callable[[], None]) -> None:
        """Begins some work, which raises nothing."""
        with self._lock:
            is_idle = self._idle > 0
            self._idle -= is_idle
        if is_idle:
            self._waiting.put(run)
        else:
            Thread(target=self._serve, args=(run,), name="sapwood-background", daemon=True).start()

    def _serve(self, first: Callable[[], None]) -> None:
        run: Callable[[], None] | None = first
        del first
        while run is not None:
            run()
            # Not kept while waiting: it may hold files.
            run = None
            with self._lock:
                self._idle += 1
            run = self._next()

    def _next(self) -> Callable[[], None] | None:
        while True:
            try:
                return self._waiting.get(timeout=_IDLE)
            except Empty:
                with self._lock:
                    # Otherwise, this thread was counted on, and its work is about to arrive.
                    if self._idle > 0:
                        self._idle -= 1
                        return None


_workers = _Workers()


def in_background(work: Callable[[], T]) -> Future[T]:
    """Begins some work. Its result, or what it raises, is in the future."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    _workers.begin(run)
    return future


def _start_again() -> None:
    """A forked child has none of these threads."""
    global _workers
    _workers = _Workers()


os.register_at_fork(after_in_child=_start_again)
