"""Work in the background, in threads that cannot keep the program from ending."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def in_background(work: Callable[[], T], name: str) -> Future[T]:
    """Begins some work; ``name`` is that of the thread. Its result, or what it raises, is in the future."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    Thread(target=run, name=name, daemon=True).start()
    return future
