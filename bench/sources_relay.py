"""A relay in front of a server that edits its answers: it can shorten them, and replaces port numbers.

HTTP: the length and the body of a long answer with status 206 are ten bytes shorter than its range. XRootD: a
long answer is ten bytes shorter, and the ports in redirections and locations are replaced.
"""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from wire import forwarded

FEWER = 10
LONG = 4096
# XProtocol.hh: answers.
OK, PART, REDIRECT, STATUS = 0, 4000, 4004, 4007
FRAME = struct.Struct(">2sHi")
# The length of the bytes after an answer of kXR_status is in its body, not in its header.
MORE_AT = 12
LENGTH = re.compile(rb"(content-length: *)(\d+)", re.IGNORECASE)
METHOD = re.compile(rb"[A-Z]+ /")
PORT = re.compile(rb":(\d{2,5})\b")


class Relay:
    """The relay of one server; `named` maps the ports in answers to those that clients see."""

    port: int

    def __init__(self, protocol: str, named: dict[int, int]) -> None:
        self.cuts = False
        self._answers = self._frames if protocol == "root" else self._responses
        self._named = named

    def connect(self, client: socket.socket, server: socket.socket) -> None:
        """Forwards a connection until both sides have ended it."""
        heads: list[bool] = []
        asking = threading.Thread(target=_ask, args=(client, server, heads), daemon=True)
        asking.start()
        with suppress(OSError), server.makefile("rb") as answers:
            for piece in self._answers(answers, heads):
                client.sendall(piece)
        for end in (client, server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        asking.join()

    def _frames(self, answers: BinaryIO, _: list[bool]) -> Iterator[bytes]:
        while len(header := answers.read(FRAME.size)) == FRAME.size:
            stream, status, length = FRAME.unpack(header)
            body = answers.read(length)
            if status == REDIRECT:
                port = int.from_bytes(body[:4], "big")
                body = self._named.get(port, port).to_bytes(4, "big") + body[4:]
            elif status == STATUS:
                body += answers.read(int.from_bytes(body[MORE_AT : MORE_AT + 4], "big"))
            elif status in (OK, PART) and length > LONG and self.cuts:
                body = body[:-FEWER]
            elif status == OK and length < LONG and self._named:
                body = PORT.sub(self._other_port, body)
            yield FRAME.pack(stream, status, length if status == STATUS else len(body)) + body

    def _other_port(self, match: re.Match[bytes]) -> bytes:
        port = int(match[1])
        return b":%d" % self._named.get(port, port)

    def _responses(self, answers: BinaryIO, heads: list[bool]) -> Iterator[bytes]:
        while head := b"".join(iter(answers.readline, b"\r\n")):
            found = LENGTH.search(head)
            if found is None:
                # Without a length, the body lasts until the connection is closed.
                yield head + b"\r\n"
                yield from answers
                return
            body = b"" if heads.pop(0) else answers.read(int(found[2]))
            if self.cuts and len(body) > LONG and b" 206 " in head[:16]:
                body = body[:-FEWER]
                head = LENGTH.sub(b"\\g<1>%d" % len(body), head)
            yield head + b"\r\n"
            yield body


def _ask(client: socket.socket, server: socket.socket, heads: list[bool]) -> None:
    """Forwards requests; records for each HTTP request whether its answer has no body."""
    with suppress(OSError):
        while chunk := client.recv(1 << 16):
            if METHOD.match(chunk):
                heads.append(chunk.startswith(b"HEAD "))
            server.sendall(chunk)
    with suppress(OSError):
        server.shutdown(socket.SHUT_WR)


@contextmanager
def relay(server: int, protocol: str, named: dict[int, int] | None = None) -> Iterator[Relay]:
    """A relay in front of the server on a local port."""
    editing = Relay(protocol, named or {})
    with forwarded(server, editing.connect) as editing.port:
        yield editing
