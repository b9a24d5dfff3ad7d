"""Keeps track of open files, and the thread that passes their records to exporters."""

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
from ..report.cost import counter_values
from ..report.sources import sources_of
from ._exporter import Exporter
from ._log import logger
from ._record import FileRecord, numbers

if TYPE_CHECKING:
    from .. import _core
    from ..model.file import File

LOG = logger("sapwood.monitoring")

MOST_WAITING = 10_000
"""Most closed files whose records may be pending; further ones are dropped."""
AT_EXIT = 2.0
"""Seconds that the program waits at exit for pending records."""


class OpenFile:
    """What monitoring keeps of a file: its counters, which outlive it, but not the file itself."""

    def __init__(self, file: File, core: _core.File, began: float, exporters: list[Exporter]) -> None:
        self.core = core
        self.path = file.file_path
        self.read_type = file.options.read_type
        self.number = next(numbers)
        self.began = time.time() - (time.monotonic() - began)
        self.ended: float | None = None
        self.contexts = {exporter: _quietly(exporter.opened) for exporter in exporters}
        self.exported: dict[Exporter, FileRecord] = {}

    def record(self) -> FileRecord:
        """A record of what was read so far."""
        log = tuple(SourceEvent(*event) for event in self.core.event_log()[0])
        counters = self.core.counters()
        figures = counter_values(counters)
        if self.ended is None:
            # What was fetched ahead may still be wanted, and totals of collectors must never decrease.
            figures["overread_bytes"] = counters["overread_bytes"]
        return FileRecord(
            file=self.path,
            size=self.core.size,
            number=self.number,
            start=self.began,
            end=self.ended or time.time(),
            closed=self.ended is not None,
            figures=figures,
            sources=tuple(sources_of(self.core, log)),
            log=log,
            read_type=self.read_type,
        )


class Hub:
    """Collects open and closed files, and passes their records to exporters in a background thread."""

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            # A forked child has no such thread, and its parent exports the records of open files.
            os.register_at_fork(after_in_child=self._forked)

    def _forget(self, exporters: tuple[Exporter, ...] = ()) -> None:
        self.exporters: list[Exporter] = list(exporters)
        self._open: dict[int, OpenFile] = {}
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
        """Adds an exporter for the files that are opened from now on."""
        with self._lock:
            if exporter not in self.exporters:
                self.exporters.append(exporter)
        self._start()

    def watch(self, file: File, core: _core.File, began: float) -> Callable[[], None]:
        """Registers a file that was opened.

        Returns:
            A function to call when the file is closed. It is called anyway once nothing refers to the file.
        """
        watched = OpenFile(file, core, began, self.exporters)
        self._open[watched.number] = watched
        self._start()
        ended = weakref.finalize(file, self._ended, watched, os.getpid())
        # `at_exit` handles the end of the program, in the right order.
        ended.atexit = False
        return lambda: ended() and None

    def _ended(self, watched: OpenFile, pid: int) -> None:
        if pid != os.getpid() or self._open.pop(watched.number, None) is None:
            return
        watched.ended = time.time()
        if self._waiting.qsize() < MOST_WAITING:
            self._waiting.put(lambda: self._export(watched, self.exporters))
        else:
            self._dropped += 1

    def every(self, seconds: float | None) -> None:
        """Exports records of open files at an interval in seconds, or not at all."""
        self._interval = None if seconds is None else max(0.01, seconds)
        self._waiting.put(lambda: None)

    def flush(self, timeout: float) -> bool:
        """Waits until all pending work is done; returns whether it was done in time."""
        if self._thread is None:
            return True
        done = threading.Event()
        self._waiting.put(done.set)
        return done.wait(timeout)

    def tell_open(self, exporter: Exporter) -> None:
        """Queues records of all open files for one exporter."""
        self._waiting.put(lambda: self._export_open([exporter]))

    def stop(self, exporter: Exporter | None) -> None:
        """Removes one or all exporters after pending work is done."""
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
        """Exports files that were never closed, and waits up to :data:`AT_EXIT` seconds."""
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
                # Processes forked by multiprocessing exit without running atexit handlers.
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
                self._export_open(self.exporters)
                due = time.monotonic() + (interval or 0.0)
            if self._waiting.empty():
                for exporter in self.exporters:
                    self._try(exporter, exporter.rest)

    def _export_open(self, exporters: list[Exporter]) -> None:
        for watched in list(self._open.values()):
            self._export(watched, exporters)

    def _export(self, watched: OpenFile, exporters: list[Exporter]) -> None:
        concerned = [one for one in exporters if one in watched.contexts]
        if not concerned:
            return
        record = watched.record()
        for exporter in concerned:
            context, before = watched.contexts[exporter], watched.exported.get(exporter)
            self._try(exporter, exporter.tell, replace(record, context=context, before=before))
            watched.exported[exporter] = record

    def _try(self, exporter: Exporter, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as error:
            # One warning per exporter: an unreachable collector would fail for every record.
            if exporter not in self._failed:
                self._failed.add(exporter)
                LOG.warning(
                    "%s: %s; dropping records it does not accept, without further warnings", exporter, error
                )


def _quietly(work: Callable[[], Any]) -> Any:
    with contextlib.suppress(Exception):
        return work()
    return None


HUB = Hub()
