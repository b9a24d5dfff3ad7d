"""What exporters are told of one file."""

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
    """What was read of a file since it was opened.

    Attributes:
        file: path or URL, without passwords, tokens and query values.
        size: bytes of the file.
        number: of the file, among those of the process.
        start: when opening began, in seconds of Unix time.
        end: until when this is told.
        closed: whether the file is closed, so that no more will come.
        figures: the numbers of :class:`~sapwood.ReadReport`.
        sources: what each server sent, since the file was opened.
        log: what happened at them.
        before: what was told of the file before, if anything was.
        context: what the exporter's ``opened`` returned.
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

    @property
    def story(self) -> Sequence[SourceEvent]:
        """The same as ``log``, by the name that it had before."""
        return self.log

    @property
    def unique_id(self) -> str:
        """A name of this opening of the file that no other has."""
        return f"{process_id(os.getpid())}-{self.number}"

    def added(self) -> list[SourceUse]:
        """What each source sent and did since this was told before; only those that did."""
        before = {use.server: use for use in self.before.sources} if self.before else {}
        since = [use.since(before.get(use.server)) for use in self.sources]
        return [use for use in since if use.requests or use.events]

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON."""
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
    """A name of the process that no other has, on no machine."""
    return str(uuid.uuid4()).upper()


@lru_cache(maxsize=1)
def client() -> str:
    """The name of this machine."""
    return socket.gethostname()
