"""From a datagram, which may hold anything, to what is kept of it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

LARGEST = 16 << 10
"""Bytes of the largest packet that is looked at."""
LONGEST = 300
"""Characters that are kept of a text."""
MOST = 2**53
"""The largest number that is believed."""


class MalformedPacket(ValueError):
    """The datagram is no packet of the kind that is collected."""


@dataclass(frozen=True)
class Packet:
    """What one server sent of one file, to one client.

    Attributes:
        site: where the client runs; "" if it does not say.
        server: host, with domain and port as far as they are known.
        client: host, with domain as far as it is known.
        file: its name.
        nbytes: bytes that the server sent.
        reads: requests that it answered.
        seconds: time in which it was asked; of a sender that does not say, time in which the file was open.
        errors: times that something failed there.
        fallback: whether it was not the first choice.
        app: what sent the packet; "" if it does not say.
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
    """The packet in a datagram.

    Raises:
        MalformedPacket: if it is none.
    """
    if len(datagram) > LARGEST:
        raise MalformedPacket("too large")
    try:
        fields = json.loads(datagram)
    except (ValueError, RecursionError):
        raise MalformedPacket("no JSON") from None
    if not isinstance(fields, dict) or "read_bytes" not in fields or "server_host" not in fields:
        raise MalformedPacket("no packet about a file")
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
        raise MalformedPacket(f"{name} is no text")
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in value[:LONGEST])


def _number(fields: dict[str, Any], name: str) -> float:
    value = fields.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MalformedPacket(f"{name} is no number")
    if not (0 <= value <= MOST and math.isfinite(value)):
        raise MalformedPacket(f"{name} is not possible")
    return value


def _place(fields: dict[str, Any], what: str) -> str:
    host, domain = _text(fields, f"{what}_host"), _text(fields, f"{what}_domain")
    return f"{host}.{domain}" if domain not in ("", "unknown") else host
