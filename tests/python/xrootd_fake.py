"""A server that speaks just enough of XRootD's protocol to misbehave in ways that real servers rarely do."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable

import fake_server

# Requests and answers of the protocol (XProtocol.hh).
CLOSE, PROTOCOL, LOGIN, OPEN, STAT, END_SESSION, READV = 3003, 3006, 3007, 3010, 3017, 3023, 3025
LOCATE = 3027
OK, ATTENTION, ERROR, REDIRECT, WAIT, WAIT_FOR_RESPONSE = 0, 4001, 4003, 4004, 4005, 4006
LATE_RESPONSE = 5008
FIRST_CONTACT = (PROTOCOL, LOGIN)
UNSUPPORTED = 3013

VERSION, IS_SERVER, IS_PROXY = 0x511, 1, 0x200

Answer = tuple[int, bytes]
"""Status and body."""

Misdeed = Callable[[socket.socket, bytes, Answer], None]
"""Does something else with the right answer to a stream; an OSError closes the connection."""


def error(number: int, text: str) -> Answer:
    return ERROR, struct.pack(">i", number) + text.encode() + b"\0"


def wait(seconds: int) -> Answer:
    return WAIT, struct.pack(">i", seconds)


def redirect(port: int, host: str = "127.0.0.1") -> Answer:
    return REDIRECT, struct.pack(">i", port) + host.encode()


def frame(stream: bytes, answer: Answer) -> bytes:
    """An answer as it is sent."""
    status, body = answer
    return struct.pack(">2sHi", stream, status, len(body)) + body


def silence(connection: socket.socket, stream: bytes, answer: Answer) -> None:
    """Says nothing."""


def reset(connection: socket.socket, stream: bytes, answer: Answer) -> None:
    """Breaks the connection without a word."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise ConnectionError


def stall(connection: socket.socket, stream: bytes, answer: Answer) -> None:
    """Falls silent in the middle of the answer."""
    message = frame(stream, answer)
    connection.sendall(message[: len(message) // 2])
    connection.recv(1)


def slow(connection: socket.socket, stream: bytes, answer: Answer) -> None:
    """Sends 1 kB/s."""
    message = frame(stream, answer)
    for at in range(0, len(message), 100):
        connection.sendall(message[at : at + 100])
        time.sleep(0.1)


def cut(connection: socket.socket, stream: bytes, answer: Answer) -> None:
    """Closes the connection in the middle of the answer."""
    message = frame(stream, answer)
    connection.sendall(message[: len(message) // 2])
    raise ConnectionError


def short(connection: socket.socket, stream: bytes, answer: Answer) -> None:
    """Sends the first chunk of a vector read only, with ten bytes fewer than were asked for."""
    _, body = answer
    handle, length, offset = struct.unpack(">4siq", body[:16])
    chunk = struct.pack(">4siq", handle, length - 10, offset) + body[16 : 16 + length - 10]
    connection.sendall(frame(stream, (OK, chunk)))


def respond_later(seconds: float) -> Misdeed:
    """Says that the answer will come by itself, and sends it later."""

    def misdeed(connection: socket.socket, stream: bytes, answer: Answer) -> None:
        connection.sendall(frame(stream, (WAIT_FOR_RESPONSE, struct.pack(">i", 60))))
        time.sleep(seconds)
        late = struct.pack(">i4x", LATE_RESPONSE) + frame(stream, answer)
        connection.sendall(frame(b"\0\0", (ATTENTION, late)))

    return misdeed


class FakeServer(fake_server.FakeServer):
    """Serves ``content`` as every file; ``behave`` may answer a request in place of that, or name a misdeed.

    ``behave`` is called with the number of a request and how many of these came before. It may raise
    ConnectionError to close the connection.
    """

    def __init__(
        self, content: bytes, behave: Callable[[int, int], Answer | Misdeed | None] = lambda *_: None
    ) -> None:
        super().__init__()
        self.content, self.behave = content, behave
        self.counts: dict[int, int] = {}
        self.opened: list[str] = []
        """The paths that were opened, with what follows the question mark."""
        self.role = IS_SERVER
        self.asked_for_role = 0
        """How often clients asked after login what this server is; before it, each connection asks once."""
        self.located = b""
        """What is answered to the question where a file is."""
        self.size_on_stat = len(content)
        self.cut = 0
        self.url = f"root://127.0.0.1:{self.port}//f.root"

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as requests:
            requests.read(20)
            connection.sendall(struct.pack(">2sHiii", b"\0\0", OK, 8, VERSION, IS_SERVER))
            has_logged_in = False
            while len(header := requests.read(24)) == 24:
                stream, number, length = header[:2], *struct.unpack(">H16xi", header[2:])
                body = requests.read(length)
                before = self.counts.get(number, 0)
                self.counts[number] = before + 1
                self.asked_for_role += number == PROTOCOL and has_logged_in
                has_logged_in |= number == LOGIN
                if number == OPEN:
                    self.opened.append(body.decode())
                behaviour = self.behave(number, before)
                if callable(behaviour):
                    behaviour(connection, stream, self._answer(number, body))
                else:
                    connection.sendall(frame(stream, behaviour or self._answer(number, body)))

    def _answer(self, number: int, body: bytes) -> Answer:
        stat = f"1 {self.size_on_stat} 16 1000\0".encode()
        answers = {
            PROTOCOL: struct.pack(">ii", VERSION, self.role),
            LOGIN: bytes(16),
            OPEN: bytes(12) + stat,
            STAT: stat,
            CLOSE: b"",
            END_SESSION: b"",
            **({LOCATE: self.located} if self.located else {}),
        }
        if number == READV:
            return OK, b"".join(self._chunk(body[at : at + 16]) for at in range(0, len(body), 16))
        return (OK, answers[number]) if number in answers else error(UNSUPPORTED, "not known here")

    def _chunk(self, wanted: bytes) -> bytes:
        handle, length, offset = struct.unpack(">4siq", wanted)
        data = self.content[offset : offset + max(0, length - self.cut)]
        return struct.pack(">4siq", handle, len(data), offset) + data
