"""Parses and validates datagrams, which may contain anything."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

LARGEST = 16 << 10
"""Bytes of the largest accepted packet."""
LONGEST = 300
"""Most characters stored of a text; the rest is cut off."""
MOST = 2**53
"""The largest accepted number."""


class MalformedPacket(ValueError):
    """The datagram is not a valid packet about a file."""


@dataclass(frozen=True)
class Packet:
    """What one server sent of one file to one client.

    Attributes:
        site: the site of the client; "" if unknown.
        server: the host, with domain and port if they are known.
        client: the host, with its domain if that is known.
        file: the name of the file.
        nbytes: bytes that the server sent.
        reads: requests that the server answered.
        seconds: time with a request in flight; if the sender does not report it, time that the file was open.
        errors: number of failures.
        fallback: whether the server was not the first choice.
        app: name and version of the sender; "" if unknown.
    """

    site: str
    server: str
    client: str
    file: str
    nbytes: int
    reads: int
    seconds: float
    errors: int
    fallback: bool
    app: str


def parse(datagram: bytes) -> Packet:
    """Parses a datagram.

    Raises:
        MalformedPacket: the datagram is not a valid packet.
    """
    if len(datagram) > LARGEST:
        raise MalformedPacket("too large")
    try:
        fields = json.loads(datagram)
    except (ValueError, RecursionError):
        raise MalformedPacket("not JSON") from None
    if not isinstance(fields, dict) or "read_bytes" not in fields or "server_host" not in fields:
        raise MalformedPacket("not a packet about a file: read_bytes or server_host is missing")
    port = int(_number(fields, "server_port"))
    server = _place(fields, "server")
    seconds = _number(fields, "end_time") - _number(fields, "start_time")
    return Packet(
        site=_text(fields, "site_name"),
        server=f"{server}:{port}" if 0 < port < 65536 else server,
        client=_place(fields, "client"),
        file=_text(fields, "file_lfn"),
        nbytes=int(_number(fields, "read_bytes")),
        reads=int(_number(fields, "read_single_operations") + _number(fields, "read_vector_operations")),
        seconds=_number(fields, "read_seconds") if "read_seconds" in fields else max(0.0, seconds),
        errors=int(_number(fields, "read_errors")),
        fallback=fields.get("fallback") is True,
        app=_text(fields, "app") or _text(fields, "cmssw_version"),
    )


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise MalformedPacket(f"{name} is not text")
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in value[:LONGEST])


def _number(fields: dict[str, Any], name: str) -> float:
    value = fields.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MalformedPacket(f"{name} is not a number")
    if not (0 <= value <= MOST and math.isfinite(value)):
        raise MalformedPacket(f"{name} is out of range")
    return value


def _place(fields: dict[str, Any], what: str) -> str:
    host, domain = _text(fields, f"{what}_host"), _text(fields, f"{what}_domain")
    return f"{host}.{domain}" if domain not in ("", "unknown") else host
