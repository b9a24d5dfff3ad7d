"""The thread that takes packets and puts them into the store."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
from collections import Counter

from .._log import logger
from .packets import MalformedPacket, Packet, parse
from .store import Store

LOG = logger("sapwood.monitor")

BATCH = 500
"""Packets that are kept together."""
PAUSE = 0.25
"""Seconds that a packet waits for others, at most."""


class Receiver:
    """Takes packets at an address until it is closed.

    Attributes:
        counts: "received" packets; those of them that are "malformed", or "lost" because the database failed.
        address: where it listens.
    """

    def __init__(
        self, host: str, port: int, path: str | os.PathLike[str], *, days: float = 7.0, rows: int = 1_000_000
    ) -> None:
        self.counts: Counter[str] = Counter()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._arguments = path, days, rows
        # It fails here if it cannot be made.
        self._open_store().close()
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.bind((host, port))
        self._socket.settimeout(PAUSE)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="sapwood-monitor", daemon=True)
        self._thread.start()

    def _open_store(self) -> Store:
        path, days, rows = self._arguments
        return Store(path, days=days, rows=rows)

    def _run(self) -> None:
        store = self._open_store()
        store.prune()
        while not self._closing:
            packets = self._take()
            if packets:
                try:
                    store.add(packets)
                except sqlite3.Error as error:
                    self.counts["lost"] += len(packets)
                    LOG.warning("%d packets are lost: %s", len(packets), error)
        store.close()

    def _take(self) -> list[tuple[float, Packet]]:
        packets: list[tuple[float, Packet]] = []
        end = time.monotonic() + PAUSE
        while len(packets) < BATCH and time.monotonic() < end:
            try:
                datagram = self._socket.recv(1 << 16)
            except OSError:  # Nothing came in time, or an earlier answer met a closed port.
                continue
            self.counts["received"] += 1
            try:
                packets.append((time.time(), parse(datagram)))
            except MalformedPacket as error:
                self.counts["malformed"] += 1
                LOG.debug("a packet is malformed: %s", error)
        return packets

    def close(self) -> None:
        """Takes nothing more; what came is kept."""
        self._closing = True
        self._thread.join(5)
        self._socket.close()
