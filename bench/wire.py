"""A relay in front of a server that counts requests by kind, and their byte ranges."""

from __future__ import annotations

import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

STOP_SECONDS = 5.0
HANDSHAKE = 20
HEADER = 24
# XProtocol.hh
KINDS = {3000: "auth", 3001: "query", 3003: "close", 3006: "protocol", 3007: "login", 3010: "open"}
KINDS |= {3013: "read", 3017: "stat", 3025: "readv", 3030: "pgread"}
ELEMENT = 16
# The range that sapwood requests to open a connection.
SPARE = b"0-0"
RANGE = re.compile(rb"\r\nrange: *bytes=([^\r]*)", re.IGNORECASE)


class Relay:
    """The relay of one server, with the counts of all connections."""

    port: int

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds: Counter[str] = Counter()
        self._ranges = 0

    def counts(self) -> dict[str, int]:
        """Requests by kind ("GET" and the like over HTTP, "spare" if only for a connection), and "ranges"."""
        with self._lock:
            return {**self._kinds, "ranges": self._ranges}

    def connect(self, client: socket.socket, server: socket.socket) -> None:
        """Forwards a connection until both sides have ended it."""
        answers = threading.Thread(target=self._pass, args=(server, client, False), daemon=True)
        answers.start()
        self._pass(client, server, True)
        answers.join()

    def _pass(self, source: socket.socket, target: socket.socket, counted: bool) -> None:
        seen = b""
        with suppress(OSError):
            while chunk := source.recv(1 << 16):
                target.sendall(chunk)
                if counted:
                    seen += chunk
                    seen = seen[self._count(seen, 0) :]
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _count(self, seen: bytes, at: int) -> int:
        """Counts the complete requests in the bytes; returns the position after them."""
        while True:
            if seen.startswith(bytes(12), at):
                length, kind, ranges = HANDSHAKE, "", 0
            elif seen[at : at + 1].isalpha() and b" " in seen[at : at + 10]:
                end = seen.find(b"\r\n\r\n", at)
                if end < 0:
                    return at
                asked = RANGE.search(seen, at, end + 2)
                ranges = asked[1].count(b",") + 1 if asked else 0
                length, kind = end + 4 - at, seen[at : seen.index(b" ", at)].decode()
                if asked and asked[1] == SPARE:
                    ranges, kind = 0, "spare"
            elif len(seen) - at >= HEADER:
                number = int.from_bytes(seen[at + 2 : at + 4], "big")
                body = int.from_bytes(seen[at + 20 : at + 24], "big")
                length, kind = HEADER + body, KINDS.get(number, str(number))
                ranges = body // ELEMENT if kind == "readv" else int(kind in ("read", "pgread"))
            else:
                return at
            if len(seen) - at < length:
                return at
            at += length
            with self._lock:
                self._kinds.update([kind] if kind else [])
                self._ranges += ranges


@contextmanager
def relay(server: int) -> Iterator[Relay]:
    """A relay in front of the server on a local port."""
    counting = Relay()
    with forwarded(server, counting.connect) as counting.port:
        yield counting


@contextmanager
def forwarded(server: int, connect: Callable[[socket.socket, socket.socket], None]) -> Iterator[int]:
    """A local port; `connect` gets each of its connections, and one to the server, in a thread."""

    def reach(client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", server)) as other:
            for end in (client, other):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connect(client, other)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=reach, args=(client,), daemon=True).start()

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join(STOP_SECONDS)
