"""The frame of servers that misbehave: a local port, and a thread for each connection."""

from __future__ import annotations

import contextlib
import socket
import threading
from abc import ABC, abstractmethod

from typing_extensions import Self


class FakeServer(ABC):
    """Listens on a free local port while it is used as a context."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.connections: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self.listener, *self.connections):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    @abstractmethod
    def _serve(self, connection: socket.socket) -> None:
        """Answers the requests of a connection."""
