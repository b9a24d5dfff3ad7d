"""A server that speaks just enough HTTP to misbehave in all the ways that servers and networks have."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

import fake_server


@dataclass(frozen=True)
class Request:
    """A request, and what it should be answered."""

    method: str
    path: str
    headers: dict[str, str]
    """By name in lower case."""
    head: str
    """Status line and headers of the right answer."""
    body: bytes


Misdeed = Callable[[socket.socket, Request], None]
"""Answers a request in another way than it should; an OSError closes the connection."""


def answer(status: str, body: str = "", **headers: str) -> Misdeed:
    """Another answer than the right one."""
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()]
    text = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{''.join(lines)}\r\n{body}"
    return lambda connection, request: connection.sendall(text.encode())


def refusal(status: str, word: str) -> Misdeed:
    """A refusal in the words of S3."""
    return answer(status, f"<Error><Code>{word}</Code></Error>", Content_Type="application/xml")


def silence(connection: socket.socket, request: Request) -> None:
    """Says nothing until the client goes away."""
    connection.recv(1)


def reset(connection: socket.socket, request: Request) -> None:
    """Breaks the connection without a word."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise ConnectionError


def stall(connection: socket.socket, request: Request) -> None:
    """Falls silent in the middle of the body."""
    connection.sendall(request.head.encode() + request.body[: len(request.body) // 2])
    silence(connection, request)


def slow(connection: socket.socket, request: Request) -> None:
    """Sends 1 kB/s."""
    connection.sendall(request.head.encode())
    for at in range(0, len(request.body), 100):
        connection.sendall(request.body[at : at + 100])
        time.sleep(0.1)


def cut(connection: socket.socket, request: Request) -> None:
    """Closes the connection in the middle of the body."""
    connection.sendall(request.head.encode() + request.body[: len(request.body) // 2])
    raise ConnectionError


def short(connection: socket.socket, request: Request) -> None:
    """Announces and sends ten bytes fewer than the range that it claims to send."""
    length = f"Content-Length: {len(request.body)}"
    head = request.head.replace(length, f"Content-Length: {len(request.body) - 10}")
    connection.sendall(head.encode() + request.body[:-10])


class FakeServer(fake_server.FakeServer):
    """Serves ``content`` at every path, one range to a request; ``behave`` may name a misdeed instead."""

    def __init__(self, content: bytes, tls: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self.content, self.tls = content, tls
        self.behave: Callable[[Request], Misdeed | None] = lambda request: None
        self.requests = 0
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            if self.tls is not None:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as lines:
                while first := lines.readline().decode():
                    headers = dict(_header(line) for line in iter(lines.readline, b"\r\n"))
                    request = self._request(*first.split()[:2], headers)
                    self.requests += 1
                    misdeed = self.behave(request) or _serve_rightly
                    misdeed(connection, request)

    def _request(self, method: str, path: str, headers: dict[str, str]) -> Request:
        size = len(self.content)
        start, stop = 0, size
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", headers.get("range", ""))
        if found:
            first, last = found.groups()
            start = int(first) if first else max(0, size - int(last))
            stop = min(size, int(last) + 1) if first and last else size
        status = (
            f"206 Partial Content\r\nContent-Range: bytes {start}-{stop - 1}/{size}" if found else "200 OK"
        )
        head = f'HTTP/1.1 {status}\r\nETag: "1"\r\nContent-Length: {stop - start}\r\n\r\n'
        return Request(method, path, headers, head, self.content[start:stop])


def _serve_rightly(connection: socket.socket, request: Request) -> None:
    body = b"" if request.method == "HEAD" else request.body
    connection.sendall(request.head.encode() + body)


def _header(line: bytes) -> tuple[str, str]:
    name, _, value = line.decode().partition(":")
    return name.strip().lower(), value.strip()
