"""Exports metrics in the text format of Prometheus: as text, to a file, or over HTTP."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ..display.printable import printable
from ..options.outputs import Format, check_name
from ..options.whole_file import write_whole
from ..report.sources import SourceUse
from ._exporter import Exporter
from ._hub import HUB
from ._record import FileRecord

MOST_SERVERS = 500
"""Most servers with their own metrics; all further ones are counted together as "other"."""

_PER_SERVER = {
    "requests": "Requests sent.",
    "ranges": "Byte ranges in these requests.",
    "fetched_bytes": "Bytes fetched.",
    "busy_seconds": "Time with a request in flight, summed over files.",
}
_IN_TOTAL = {
    "wanted_bytes": "Bytes needed.",
    "overread_bytes": "Bytes fetched but not needed.",
    "retries": "Requests repeated after a failure.",
    "decompressed_bytes": "Bytes after decompression.",
    "wait_seconds": "Time spent waiting for bytes.",
    "decompress_seconds": "Time spent decompressing, summed over threads.",
    "decode_seconds": "Time spent decoding decompressed bytes to values, summed over threads.",
}
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics(Exporter):
    """Sums over all files since the exporter was added."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened = 0
        self._closed = 0
        self._servers: dict[str, SourceUse] = {}
        self._totals: dict[str, float] = dict.fromkeys(_IN_TOTAL, 0)

    def opened(self) -> None:
        with self._lock:
            self._opened += 1

    def tell(self, record: FileRecord) -> None:
        before = record.before.figures if record.before else {}
        with self._lock:
            self._closed += record.closed
            for name in _IN_TOTAL:
                self._totals[name] += record.figures[name] - before.get(name, 0)
            for use in record.added():
                known = use.server in self._servers or len(self._servers) < MOST_SERVERS
                name = use.server if known else "other"
                self._servers[name] = self._servers.get(name, SourceUse(name)) + use

    def text(self) -> str:
        """The current metrics, including open files."""
        HUB.tell_open(self)
        HUB.flush(1.0)
        return self.now()

    def now(self) -> str:
        """The metrics from the records received so far."""
        with self._lock:
            return "".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from _metric("files_opened_total", "counter", "Files opened.", [("", self._opened)])
        yield from _metric(
            "files_open", "gauge", "Files currently open.", [("", self._opened - self._closed)]
        )
        for name, words in _IN_TOTAL.items():
            yield from _metric(f"{name}_total", "counter", words, [("", self._totals[name])])
        for name, words in _PER_SERVER.items():
            samples = [(_label(server=use.server), getattr(use, name)) for use in self._servers.values()]
            yield from _metric(f"source_{name}_total", "counter", words, samples)
        reads = [
            (_label(server=use.server, kind=kind), count)
            for use in self._servers.values()
            for kind, count in (("single", use.single_reads), ("vector", use.vector_reads))
        ]
        yield from _metric("source_reads_total", "counter", "Reads of one range or of several.", reads)
        events = [
            (_label(server=use.server, event=event), count)
            for use in self._servers.values()
            for event, count in sorted(use.events.items())
        ]
        yield from _metric("source_events_total", "counter", "Events at the servers, by kind.", events)


METRICS = Metrics()


class TextFile(Exporter):
    """Writes the metrics to a file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = check_name(path, Format("a text of metrics", (".prom",)))
        self._changed = False
        HUB.add(METRICS)

    def tell(self, record: FileRecord) -> None:
        self._changed = True

    def rest(self) -> None:
        if self._changed:
            self._changed = False
            path = self._path.replace("{pid}", str(os.getpid()))
            write_whole(path, METRICS.now())

    def __str__(self) -> str:
        return f"textfile:{self._path}"


class Server(Exporter):
    """Serves the metrics over HTTP."""

    def __init__(self, port: int, host: str) -> None:
        HUB.add(METRICS)
        self._server = ThreadingHTTPServer((host, port), _Handler)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="sapwood-prometheus", daemon=True).start()

    def tell(self, record: FileRecord) -> None:
        """Does nothing: :class:`Metrics` receives the records."""

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    timeout = 10

    def do_GET(self) -> None:
        body = METRICS.text().encode()
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Suppresses the log of requests."""


def _metric(name: str, kind: str, words: str, samples: Sequence[tuple[str, float]]) -> Iterator[str]:
    yield f"# HELP sapwood_{name} {words}\n# TYPE sapwood_{name} {kind}\n"
    yield from (f"sapwood_{name}{labels} {value:.17g}\n" for labels, value in samples)


def _label(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return printable(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
