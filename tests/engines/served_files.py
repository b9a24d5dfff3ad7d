"""Inputs of the tests with engines: twenty files over HTTP, and the same events as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from testkit import Running, serving

import sapwood

FILES, ENTRIES, CLUSTER = 20, 4000, 1000


@dataclass(frozen=True)
class Served:
    """The files of a server."""

    server: Running
    urls: list[str]
    folder: Path
    parquet: str


@contextmanager
def serving_events(folder: Path) -> Iterator[Served]:
    """20 files of 4 clusters; ``run`` rises, so that most clusters can be excluded by it."""
    import awkward as ak
    import pyarrow.parquet as pq
    import uproot

    random = np.random.default_rng(11)
    (folder / "parquet").mkdir()
    for number in range(FILES):
        path = folder / f"{number:02d}.root"
        # Unlike sapwood, uproot writes a cluster whenever entries are added.
        with uproot.recreate(path, compression=uproot.ZSTD(1)) as file:
            types = {"run": "int32", "met": "float64", "ok": "bool", "Jet_pt": "var * float32"}
            tree = file.mktree("Events", {**types, **{f"unused_{at}": "float64" for at in range(8)}})
            for start in range(0, ENTRIES, CLUSTER):
                counts = random.integers(0, 4, CLUSTER).astype("i4")
                pts = random.exponential(50, int(counts.sum())).astype("f4")
                tree.extend(
                    {
                        "run": np.arange(start, start + CLUSTER, dtype="i4") + number * ENTRIES,
                        "met": random.exponential(30, CLUSTER).round(2),
                        "ok": random.random(CLUSTER) < 0.5,
                        "Jet_pt": ak.unflatten(pts, counts),
                        **{f"unused_{at}": random.random(CLUSTER) for at in range(8)},
                    }
                )
        with sapwood.open(path) as file:
            table = file["Events"].arrays(["run", "met", "ok", "nJet_pt", "Jet_pt"], library="arrow")
        pq.write_table(table, folder / "parquet" / f"{number:02d}.parquet")
    with serving(folder) as server:
        urls = [f"{server.url}/{number:02d}.root" for number in range(FILES)]
        yield Served(server, urls, folder, str(folder / "parquet" / "*.parquet"))
