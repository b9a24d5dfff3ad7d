"""Tells others what reading cost: what each server sent of each file, when it is closed or in between.

All of it is off unless asked for, by a call of one of these functions or by ``SAPWOOD_MONITORING``. It
concerns the files that are opened afterwards. Nothing of it waits or fails where files are read: figures are
told by a thread of their own, and are dropped where nobody takes them.
"""

from __future__ import annotations

import os
from typing import IO

from ._exporter import Exporter
from ._hub import HUB
from ._jsonl import JsonLines
from ._record import FileRecord
from ._spans import Spans
from ._udp import Packets

__all__ = [
    "Exporter",
    "FileRecord",
    "add",
    "every",
    "flush",
    "jsonl",
    "opentelemetry",
    "prometheus",
    "serve",
    "stop",
    "textfile",
    "udp",
]


def jsonl(path: str | os.PathLike[str] | IO[str]) -> Exporter:
    """Writes a line of JSON for each file that is closed, at the end of a file or to an open text file.

    Several processes may write to the same path.
    """
    return add(JsonLines(path))


def udp(
    destination: str, *, user: bool | str = False, site: str | None = None, extra: bool = True
) -> Exporter:
    """Sends the packets that CMSSW sends: JSON, one for each file and server, by UDP.

    Args:
        destination: ``host:port``.
        user: whose reads they are, as ``user_dn``: a name, or True for that of the account. By default it is
            "not reported".
        site: where the job runs, as ``site_name``; by default, ``SAPWOOD_SITE`` or ``GLIDEIN_CMSSite``.
        extra: whether to send what CMSSW does not tell: seconds, errors, the version of sapwood.
    """
    return add(Packets(destination, user=user, site=site, extra=extra))


def prometheus() -> str:
    """All figures of this process in Prometheus' text format. The first call begins the counting."""
    from ._prometheus import METRICS

    add(METRICS)
    return METRICS.text()


def textfile(path: str | os.PathLike[str]) -> Exporter:
    """Keeps the text of :func:`prometheus` in a file, for the textfile collector of its node exporter.

    It is replaced as a whole when files are closed, and at each :func:`every`. A process needs a file of its
    own: ``{pid}`` in the path becomes its number.
    """
    from ._prometheus import TextFile

    return add(TextFile(path))


def serve(port: int, host: str = "127.0.0.1") -> Exporter:
    """Serves the text of :func:`prometheus` over HTTP, under any path, until :func:`stop`."""
    from ._prometheus import Server

    return add(Server(port, host))


def opentelemetry() -> Exporter:
    """Makes a span of each file that is closed, and one below it for each of its servers.

    Where they go says the set-up of OpenTelemetry in the program; the span that is current when the file is
    opened is the parent. It needs the package ``opentelemetry-api``.
    """
    return add(Spans())


def add(exporter: Exporter) -> Exporter:
    """Tells an exporter of what is read from now on; your own may be a subclass of :class:`Exporter`."""
    HUB.add(exporter)
    return exporter


def every(seconds: float | None) -> None:
    """Also tells of the files that are open, every so many seconds; None: only when they are closed."""
    HUB.every(seconds)


def flush(timeout: float = 1.0) -> bool:
    """Waits until all that was closed is told, but not longer than ``timeout`` seconds; whether it was."""
    return HUB.flush(timeout)


def stop(exporter: Exporter | None = None) -> None:
    """Tells an exporter of nothing more; without one, all of them."""
    HUB.stop(exporter)
