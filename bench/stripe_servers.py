"""The object stores of the benchmarks of stripes, and their best possible rate."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remote_servers import Server

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "scripts"))
import radosgw_server  # noqa: E402
import s3_server  # noqa: E402

Objects = dict[str, tuple[int, str]]
"""Sizes and entity tags, by key."""


@dataclass(frozen=True)
class ObjectStore:
    """A running object store with the bucket ``data``."""

    name: str
    server: s3_server.Server

    @property
    def remote(self) -> Server:
        """The store as a server that can be put behind an emulated link."""
        return Server("s3", self.name, self.server.port, self.server.variables)

    def objects(self, dataset: str) -> Objects:
        """All objects of a dataset, by their keys within it."""
        prefix = f"{dataset}/"
        return {key.removeprefix(prefix): each for key, each in self.server.listed(prefix).items()}

    def best(self, paths: list[str], connections: int, build: Path) -> dict[str, Any]:
        """The best of three runs of a client that reads and discards all these objects."""
        program = _compiled(build)
        self.server.make_public()
        runs = []
        for _ in range(3):
            call = [str(program), "127.0.0.1", str(self.server.port), str(connections)]
            asked = "".join(f"/{self.server.bucket}/{path}\n" for path in paths)
            said = subprocess.run(
                call, input=asked, stdout=subprocess.PIPE, text=True, check=True, timeout=300
            )
            runs.append(json.loads(said.stdout))
        best: dict[str, Any] = min(runs, key=lambda run: float(run["seconds"]))
        return best


@contextmanager
def object_store(name: str) -> Iterator[ObjectStore]:
    """The store `radosgw` (Ceph) or `versitygw`."""
    if name == "radosgw":
        # The data is in memory, so that the gateway is measured, not the disk of this machine.
        with radosgw_server.cluster() as cluster:
            yield ObjectStore(name, cluster.gateways[0])
        return
    with s3_server.s3_server() as server:
        yield ObjectStore(name, server)


def missing(name: str) -> str | None:
    """The missing software of the store; None if nothing is missing."""
    return radosgw_server.missing() if name == "radosgw" else s3_server.missing()


def _compiled(build: Path) -> Path:
    source, program = HERE / "readers" / "raw_get.cpp", build / "raw_get"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        build.mkdir(parents=True, exist_ok=True)
        subprocess.run(["c++", "-O2", "-pthread", "-o", str(program), str(source)], check=True)
    return program
