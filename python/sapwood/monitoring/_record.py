"""The record of one file that exporters receive."""

from __future__ import annotations

import itertools
import os
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..errors.log import SourceEvent
from ..report.sources import SourceUse, as_json


@dataclass(frozen=True)
class FileRecord:
    """What was read from a file since it was opened.

    Attributes:
        file: the path or URL, without passwords, tokens and query values.
        size: size of the file in bytes.
        number: the number of the file in this process, from 0.
        start: when opening began, in seconds of Unix time.
        end: the end of the period covered, in seconds of Unix time.
        closed: whether the file is closed, which makes the record final.
        figures: the numbers of :class:`~sapwood.ReadReport` by name.
        sources: what each server sent since the file was opened.
        log: the events at the servers.
        before: the previous record of the same file, or None.
        context: the result of the exporter's ``opened``.
        read_type: "primary", "secondary" (a file that another one refers to) or "embedded" (of a pool of
            background events).
    """

    file: str
    size: int
    number: int
    start: float
    end: float
    closed: bool
    figures: dict[str, Any]
    sources: Sequence[SourceUse]
    log: Sequence[SourceEvent] = ()
    before: FileRecord | None = None
    context: Any = field(default=None, compare=False)
    read_type: str = "primary"

    @property
    def story(self) -> Sequence[SourceEvent]:
        """The same as ``log``, under its former name."""
        return self.log

    @property
    def unique_id(self) -> str:
        """A globally unique ID of this opening of the file."""
        return f"{process_id(os.getpid())}-{self.number}"

    def added(self) -> list[SourceUse]:
        """What each source sent and did since the previous record; idle sources are omitted."""
        before = {use.server: use for use in self.before.sources} if self.before else {}
        since = [use.since(before.get(use.server)) for use in self.sources]
        return [use for use in since if use.requests or use.events]

    def to_dict(self) -> dict[str, Any]:
        """The record as a dict for JSON."""
        return {
            "event": "closed" if self.closed else "open",
            "file": self.file,
            "size": self.size,
            "unique_id": self.unique_id,
            "start": self.start,
            "end": self.end,
            "client": client(),
            "pid": os.getpid(),
            **self.figures,
            "sources": [{"server": use.server, **as_json(use)} for use in self.sources],
            "log": [event.to_dict() for event in self.log],
        }


numbers = itertools.count()


@lru_cache(maxsize=4)
def process_id(pid: int) -> str:
    """A globally unique ID of the process."""
    return str(uuid.uuid4()).upper()


@lru_cache(maxsize=1)
def client() -> str:
    """The name of this machine."""
    return socket.gethostname()
