"""The thread that receives packets and stores them."""

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
"""Most packets stored in one transaction."""
PAUSE = 0.25
"""Most seconds that a packet waits for others of its transaction."""


class Receiver:
    """Receives packets at a UDP address until it is closed.

    Attributes:
        counts: the number of packets "received", and of those the number "malformed" and, because the
            database failed, "lost".
        address: the host and port.
    """

    def __init__(
        self, host: str, port: int, path: str | os.PathLike[str], *, days: float = 7.0, rows: int = 1_000_000
    ) -> None:
        self.counts: Counter[str] = Counter()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._arguments = path, days, rows
        # An unusable database fails here, not in the thread.
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
                    LOG.warning("lost %d packets, because the database failed: %s", len(packets), error)
        store.close()

    def _take(self) -> list[tuple[float, Packet]]:
        packets: list[tuple[float, Packet]] = []
        end = time.monotonic() + PAUSE
        while len(packets) < BATCH and time.monotonic() < end:
            try:
                datagram = self._socket.recv(1 << 16)
            except OSError:  # A timeout, or an ICMP error for an earlier datagram.
                continue
            self.counts["received"] += 1
            try:
                packets.append((time.time(), parse(datagram)))
            except MalformedPacket as error:
                self.counts["malformed"] += 1
                LOG.debug("ignored a malformed packet: %s", error)
        return packets

    def close(self) -> None:
        """Stops receiving, after storing the packets received so far."""
        self._closing = True
        self._thread.join(5)
        self._socket.close()
