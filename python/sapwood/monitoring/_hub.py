"""Files that are open, and the thread that tells exporters of them."""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors.log import SourceEvent
from ..report.cost import counted
from ..report.sources import sources_of
from ._exporter import Exporter
from ._log import logger
from ._record import FileRecord, numbers

if TYPE_CHECKING:
    from .. import _core
    from ..model.file import File

LOG = logger("sapwood.monitoring")

MOST_WAITING = 10_000
"""Closed files that wait to be told of; further ones are dropped."""
AT_EXIT = 2.0
"""Seconds that the end of the program waits for what is still to be told."""


class Watched:
    """An open file, told of by what outlives it: its counters."""

    def __init__(self, file: File, core: _core.File, began: float, exporters: list[Exporter]) -> None:
        self.core = core
        self.path = file.file_path
        self.number = next(numbers)
        self.began = time.time() - (time.monotonic() - began)
        self.ended: float | None = None
        self.contexts = {exporter: _quietly(exporter.opened) for exporter in exporters}
        self.told: dict[Exporter, FileRecord] = {}

    def record(self) -> FileRecord:
        """What was read so far."""
        log = tuple(SourceEvent(*event) for event in self.core.event_log()[0])
        return FileRecord(
            file=self.path,
            size=self.core.size,
            number=self.number,
            start=self.began,
            end=self.ended or time.time(),
            closed=self.ended is not None,
            figures=counted(self.core.counters()),
            sources=tuple(sources_of(self.core, log)),
            log=log,
        )


class Hub:
    """Takes what is opened and closed, and hands it to exporters in a thread of its own."""

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            # A child has none of the threads, and its parent tells of the files.
            os.register_at_fork(after_in_child=self._forked)

    def _forget(self, exporters: tuple[Exporter, ...] = ()) -> None:
        self.exporters: list[Exporter] = list(exporters)
        self._open: dict[int, Watched] = {}
        self._waiting: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._interval: float | None = None
        self._dropped = 0
        self._failed: set[Exporter] = set()

    def _forked(self) -> None:
        interval, exporters = self._interval, tuple(self.exporters)
        self._forget(exporters)
        self._interval = interval

    def add(self, exporter: Exporter) -> None:
        """Tells an exporter of the files that are opened from now on."""
        with self._lock:
            if exporter not in self.exporters:
                self.exporters.append(exporter)
        self._start()

    def watch(self, file: File, core: _core.File, began: float) -> Callable[[], None]:
        """Takes a file that was opened.

        What is returned is to be called when it is closed; else that happens when nothing refers to the file.
        """
        watched = Watched(file, core, began, self.exporters)
        self._open[watched.number] = watched
        self._start()
        ended = weakref.finalize(file, self._ended, watched, os.getpid())
        # The end of the program is seen to below, in the right order.
        ended.atexit = False
        return lambda: ended() and None

    def _ended(self, watched: Watched, pid: int) -> None:
        if pid != os.getpid() or self._open.pop(watched.number, None) is None:
            return
        watched.ended = time.time()
        if self._waiting.qsize() < MOST_WAITING:
            self._waiting.put(lambda: self._tell(watched, self.exporters))
        else:
            self._dropped += 1

    def every(self, seconds: float | None) -> None:
        """Tells of open files, too."""
        self._interval = None if seconds is None else max(0.01, seconds)
        self._waiting.put(lambda: None)

    def flush(self, timeout: float) -> bool:
        """Waits until all is told that waits now."""
        if self._thread is None:
            return True
        done = threading.Event()
        self._waiting.put(done.set)
        return done.wait(timeout)

    def tell_open(self, exporter: Exporter) -> None:
        """Tells one exporter of the files that are open, after what waits."""
        self._waiting.put(lambda: self._tell_open([exporter]))

    def stop(self, exporter: Exporter | None) -> None:
        """Tells one or all exporters of nothing more, after what waits."""
        self.flush(AT_EXIT)
        gone = self.exporters if exporter is None else [one for one in self.exporters if one is exporter]
        with self._lock:
            self.exporters = [one for one in self.exporters if one not in gone]
        for one in gone:
            _quietly(one.close)
            self._failed.discard(one)
        if exporter is None:
            self._interval = None

    def at_exit(self) -> None:
        """Tells of what was never closed, and waits for it a little."""
        for watched in list(self._open.values()):
            self._ended(watched, os.getpid())
        self.flush(AT_EXIT)
        self._waiting.put(None)
        self._thread = None

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sapwood-monitoring", daemon=True)
                self._thread.start()
                atexit.register(self.at_exit)
                # Processes that multiprocessing forked end without what atexit knows.
                if "multiprocessing.util" in sys.modules:
                    sys.modules["multiprocessing.util"].Finalize(None, self.at_exit, exitpriority=10)

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            interval = self._interval
            timeout = None if interval is None else max(0.0, due - time.monotonic())
            try:
                work = self._waiting.get(timeout=timeout)
                if work is None:
                    return
                work()
            except queue.Empty:
                self._tell_open(self.exporters)
                due = time.monotonic() + (interval or 0.0)
            if self._waiting.empty():
                for exporter in self.exporters:
                    self._try(exporter, exporter.rest)

    def _tell_open(self, exporters: list[Exporter]) -> None:
        for watched in list(self._open.values()):
            self._tell(watched, exporters)

    def _tell(self, watched: Watched, exporters: list[Exporter]) -> None:
        concerned = [one for one in exporters if one in watched.contexts]
        if not concerned:
            return
        record = watched.record()
        for exporter in concerned:
            context, before = watched.contexts[exporter], watched.told.get(exporter)
            self._try(exporter, exporter.tell, replace(record, context=context, before=before))
            watched.told[exporter] = record

    def _try(self, exporter: Exporter, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as error:
            # Once is enough: a collector that is away is away for long.
            if exporter not in self._failed:
                self._failed.add(exporter)
                LOG.warning("%s: %s; what it misses is not told again", exporter, error)


def _quietly(work: Callable[[], Any]) -> Any:
    with contextlib.suppress(Exception):
        return work()
    return None


HUB = Hub()
