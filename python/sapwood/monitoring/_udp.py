"""Exports records as UDP packets of CMSSW's StatisticsSenderService, one per file and server."""

from __future__ import annotations

import getpass
import itertools
import json
import os
import re
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from .. import _core
from ..errors import UsageError
from ..report.sources import LOCAL, SourceUse
from ._exporter import Exporter
from ._record import FileRecord, client, process_id

DEFAULT_PORT = 3334
"""The default port of CMSSW."""
LONGEST_TEXT = 1024
UNKNOWN = "unknown"
APPLICATION = f"sapwood/{_core.__version__}"


class Packets(Exporter):
    """Sends a packet for each server of a file, with what it sent since the previous packet."""

    def __init__(self, destination: str, *, user: bool | str, site: str | None, extra: bool) -> None:
        self._host, self._port = host_and_port(destination, DEFAULT_PORT)
        self._user = user
        self._site = site
        self._extra = extra
        self._socket: socket.socket | None = None
        self._numbers = itertools.count()

    def tell(self, record: FileRecord) -> None:
        for packet in self.packets(record):
            self._send(json.dumps(packet, allow_nan=False).encode())

    def packets(self, record: FileRecord) -> Iterator[dict[str, Any]]:
        """The packets for a record."""
        first = record.sources[0].server if record.sources else None
        for use in record.added():
            if not (use.reads or use.events):
                continue  # such as a redirector, which sent nothing
            start = record.before.end if record.before else record.start
            yield {
                **self._place(),
                "cmssw_version": os.environ.get("CMSSW_VERSION") or APPLICATION,
                "read_type": record.read_type,
                **({"fallback": True} if use.server != first else {}),
                "user_dn": self._user_name(),
                **_names("client", client()),
                **_names("server", UNKNOWN if use.server == LOCAL else use.server),
                "unique_id": f"{process_id(os.getpid())}-{next(self._numbers)}",
                "file_lfn": logical_name(record.file),
                **_job(),
                "file_size": record.size,
                **figures(use),
                "start_time": int(start),
                "end_time": int(record.end),
                **(extra_figures(use, record) if self._extra else {}),
            }

    def _send(self, packet: bytes) -> None:
        if self._socket is None:
            # If the host is not found, only this packet is lost: the next one tries again.
            family, kind, protocol, _, address = socket.getaddrinfo(
                self._host, self._port, type=socket.SOCK_DGRAM
            )[0]
            self._socket = socket.socket(family, kind, protocol)
            self._socket.setblocking(False)
            self._socket.connect(address)
        try:
            self._socket.send(packet)
        except OSError:
            # The receiver is gone or the buffer is full: resolve the host again for the next packet.
            self.close()
            raise

    def _place(self) -> dict[str, str]:
        site = self._site or _first_of("SAPWOOD_SITE", "GLIDEIN_CMSSite")
        return {"site_name": site[:LONGEST_TEXT]} if site else {}

    def _user_name(self) -> str:
        if self._user is True:
            return getpass.getuser()
        return self._user or "not reported"

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __str__(self) -> str:
        return f"udp://{self._host}:{self._port}"


def figures(use: SourceUse) -> dict[str, int | float]:
    """What a server sent, in CMSSW's fields."""
    spreads: dict[str, int | float] = {}
    if use.single_reads:
        average, sigma = _spread(use.single_reads, use.single_bytes, use.single_squares)
        spreads |= {"read_single_sigma": sigma, "read_single_average": average}
    if use.vector_reads:
        average, sigma = _spread(use.vector_reads, use.vector_bytes, use.vector_squares)
        spreads |= {"read_vector_average": average, "read_vector_sigma": sigma}
        average, sigma = _spread(use.vector_reads, use.vector_ranges, use.vector_range_squares)
        spreads |= {"read_vector_count_average": average, "read_vector_count_sigma": sigma}
    return spreads | {
        "read_bytes": use.fetched_bytes,
        "read_bytes_at_close": use.fetched_bytes,
        "read_single_operations": use.single_reads,
        "read_single_bytes": use.single_bytes,
        "read_vector_operations": use.vector_reads,
        "read_vector_bytes": use.vector_bytes,
    }


def extra_figures(use: SourceUse, record: FileRecord) -> dict[str, Any]:
    """Fields that CMSSW does not send."""
    return {
        "read_seconds": round(use.busy_seconds, 6),
        "read_errors": use.failures,
        "server_port": _split(use.server)[1],
        "closed": record.closed,
        "file_id": record.unique_id,
        "app": APPLICATION,
    }


def host_and_port(place: str, default: int) -> tuple[str, int]:
    """Splits ``host:port``, ``[::1]:port`` or ``host``.

    Raises:
        UsageError: the text has another form.
    """
    parts = urlsplit(f"//{place.removeprefix('udp://')}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.path.strip("/") or parts.query:
        raise UsageError(f"{place!r} is not a destination of the form HOST:PORT")
    return host, default if port is None else port


def logical_name(file: str) -> str:
    """The logical name of a CMS file, ``/store/…``; for other files, the path or URL."""
    found = re.search(r"/(/?store/.*)", file.partition("?")[0])
    name = "/" + found[1].lstrip("/") if found else file
    return name[:LONGEST_TEXT]


def _spread(count: int, total: int, squares: int) -> tuple[float, float]:
    """Mean and standard deviation. The sums are integers, so their difference is exact."""
    return total / count, (max(0, squares * count - total * total) ** 0.5) / count


def _names(what: str, server: str) -> dict[str, str]:
    host = _split(server)[0]
    name, _, domain = (host, "", "") if _is_address(host) else host.partition(".")
    return {f"{what}_host": name[:LONGEST_TEXT], f"{what}_domain": domain[:LONGEST_TEXT] or UNKNOWN}


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()


def _split(server: str) -> tuple[str, int]:
    """Host and port; the port is 0 if there is none."""
    host, _, port = server.rpartition(":")
    return (
        (host.strip("[]"), int(port))
        if host and port.isascii() and port.isdigit()
        else (server.strip("[]"), 0)
    )


def _job() -> dict[str, str]:
    job = _first_of("CRAB_UNIQUE_JOB_ID", "DashboardJobId")
    return {"app_info": job[:LONGEST_TEXT]} if job else {}


def _first_of(*names: str) -> str | None:
    """The value of the first of these environment variables that is set and not empty."""
    return next(filter(None, map(os.environ.get, names)), None)
