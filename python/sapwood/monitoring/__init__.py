"""Exports the cost of reading to collectors: what each server sent for each file.

Monitoring is off by default. Turn it on with one of these functions, or with the environment variable
``SAPWOOD_MONITORING``; it applies to files that are opened afterwards. A record is exported when a file is
closed and, with :func:`every`, periodically before that. Monitoring never delays or fails a read: a
background thread exports the records, and drops those that a collector does not accept.
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
    """Writes one line of JSON for each file that is closed.

    Args:
        path: a path, to which lines are appended, or an open text file. Several processes may append to the
            same path.

    Returns:
        The exporter, which you can pass to :func:`stop`.
    """
    return add(JsonLines(path))


def udp(
    destination: str, *, user: bool | str = False, site: str | None = None, extra: bool = True
) -> Exporter:
    """Sends UDP packets in the JSON format of CMSSW, one for each file and server.

    Args:
        destination: ``host:port``. The default port is 3334.
        user: the user to report as ``user_dn``: a name, or True for the name of the account. Default: "not
            reported".
        site: the site to report as ``site_name``. Default: the environment variable ``SAPWOOD_SITE``, else
            ``GLIDEIN_CMSSite``.
        extra: True to add fields that CMSSW does not send: seconds, errors, the version of sapwood.

    Returns:
        The exporter, which you can pass to :func:`stop`.

    Raises:
        UsageError: the destination is not of the form ``host:port``.
    """
    return add(Packets(destination, user=user, site=site, extra=extra))


def prometheus() -> str:
    """All metrics of this process in the text format of Prometheus. The first call starts the counting."""
    from ._prometheus import METRICS

    add(METRICS)
    return METRICS.text()


def textfile(path: str | os.PathLike[str]) -> Exporter:
    """Writes the text of :func:`prometheus` to a file, for the textfile collector of the node exporter.

    The file is replaced atomically when files are closed, and at the interval of :func:`every`.

    Args:
        path: a path. Each process needs its own file: ``{pid}`` in the path is replaced by the process ID.
    """
    from ._prometheus import TextFile

    return add(TextFile(path))


def serve(port: int, host: str = "127.0.0.1") -> Exporter:
    """Serves the text of :func:`prometheus` over HTTP at any path, until :func:`stop`.

    Args:
        port: the port; 0 selects a free one.
        host: the address to listen on. Default: this machine only.

    Returns:
        The exporter, whose ``port`` is the port in use.

    Raises:
        OSError: the port is in use.
    """
    from ._prometheus import Server

    return add(Server(port, host))


def opentelemetry() -> Exporter:
    """Creates an OpenTelemetry span for each file that is closed, with a child span for each of its servers.

    The OpenTelemetry configuration of your program decides where spans go. The parent is the span that is
    current when the file is opened.

    Raises:
        ImportError: the package ``opentelemetry-api`` is not installed.
    """
    return add(Spans())


def add(exporter: Exporter) -> Exporter:
    """Adds an exporter, such as your own subclass of :class:`Exporter`, for files opened from now on."""
    HUB.add(exporter)
    return exporter


def every(seconds: float | None) -> None:
    """Exports records of open files periodically.

    Args:
        seconds: the interval, or None (the default behavior) to export only files that are closed.
    """
    HUB.every(seconds)


def flush(timeout: float = 1.0) -> bool:
    """Waits until the records of all closed files are exported.

    Args:
        timeout: seconds to wait at most.

    Returns:
        Whether all records were exported in time.
    """
    return HUB.flush(timeout)


def stop(exporter: Exporter | None = None) -> None:
    """Removes an exporter, or all of them, after waiting up to 2 s for pending records."""
    HUB.stop(exporter)
