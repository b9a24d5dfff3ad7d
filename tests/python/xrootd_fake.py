"""A server that speaks just enough of XRootD's protocol to misbehave in ways that real servers rarely do."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from types import TracebackType

# Requests and answers of the protocol (XProtocol.hh).
CLOSE, PROTOCOL, LOGIN, OPEN, STAT, END_SESSION, READV = 3003, 3006, 3007, 3010, 3017, 3023, 3025
OK, ERROR, REDIRECT, WAIT = 0, 4003, 4004, 4005
UNSUPPORTED = 3013

VERSION, IS_SERVER = 0x511, 1

Answer = tuple[int, bytes]
"""Status and body."""


def error(number: int, text: str) -> Answer:
    return ERROR, struct.pack(">i", number) + text.encode() + b"\0"


def wait(seconds: int) -> Answer:
    return WAIT, struct.pack(">i", seconds)


def redirect(port: int, host: str = "127.0.0.1") -> Answer:
    return REDIRECT, struct.pack(">i", port) + host.encode()


class FakeServer:
    """Serves ``content`` as every file; ``behave`` may answer a request in place of that.

    ``behave`` is called with the number of a request and how many of these came before. It may raise
    ConnectionError to close the connection.
    """

    def __init__(self, content: bytes, behave: Callable[[int, int], Answer | None]) -> None:
        self.content, self.behave = content, behave
        self.counts: dict[int, int] = {}
        self.size_on_stat = len(content)
        self.cut = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.url = f"root://127.0.0.1:{self.port}//f.root"

    def __enter__(self) -> FakeServer:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as requests:
            requests.read(20)
            connection.sendall(struct.pack(">2sHiii", b"\0\0", OK, 8, VERSION, IS_SERVER))
            while len(header := requests.read(24)) == 24:
                stream, number, length = header[:2], *struct.unpack(">H16xi", header[2:])
                body = requests.read(length)
                before = self.counts.get(number, 0)
                self.counts[number] = before + 1
                status, answer = self.behave(number, before) or self._answer(number, body)
                connection.sendall(struct.pack(">2sHi", stream, status, len(answer)) + answer)

    def _answer(self, number: int, body: bytes) -> Answer:
        stat = f"1 {self.size_on_stat} 16 1000\0".encode()
        answers = {
            PROTOCOL: struct.pack(">ii", VERSION, IS_SERVER),
            LOGIN: bytes(16),
            OPEN: bytes(12) + stat,
            STAT: stat,
            CLOSE: b"",
            END_SESSION: b"",
        }
        if number == READV:
            return OK, b"".join(self._chunk(body[at : at + 16]) for at in range(0, len(body), 16))
        return (OK, answers[number]) if number in answers else error(UNSUPPORTED, "not known here")

    def _chunk(self, wanted: bytes) -> bytes:
        handle, length, offset = struct.unpack(">4siq", wanted)
        data = self.content[offset : offset + max(0, length - self.cut)]
        return struct.pack(">4siq", handle, len(data), offset) + data
