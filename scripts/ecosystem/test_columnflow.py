"""What columnflow's tasks read events with, chunk by chunk, called as they call it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

os.environ.setdefault("CF_BASE", ".")
os.environ.setdefault("LAW_CONFIG_FILE", str(Path(__file__).with_name("law.cfg")))
columnar_util = pytest.importorskip("columnflow.columnar_util")

EVENTS = 250
MOMENTUM = ("pt", "eta", "phi", "mass")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two files of events in the style of NanoAOD."""
    folder = tmp_path_factory.mktemp("columnflow")
    paths = [str(folder / "0.root"), str(folder / "1.root")]
    jet = ", ".join(f"{name}: float32" for name in MOMENTUM)
    ids = {"run": "uint32", "luminosityBlock": "uint32", "event": "uint64"}
    for number, path in enumerate(paths):
        counts = np.arange(EVENTS) % 4
        with uproot.recreate(path) as file:
            tree = file.mktree("Events", {**ids, "Jet": f"var * {{{jet}}}"})
            pt = ak.unflatten(np.arange(counts.sum(), dtype="f4"), counts)
            event = np.arange(EVENTS, dtype="u8") + number * EVENTS
            ones = np.ones(EVENTS, "u4")
            jets = ak.zip(dict.fromkeys(MOMENTUM, pt))
            tree.extend({"run": ones, "luminosityBlock": ones, "event": event, "Jet": jets})
    return paths


def chunks(source: Any, kind: str, columns: set[str]) -> list[Any]:
    """All chunks of at most 100 events, in order."""
    handler = columnar_util.ChunkedIOHandler(
        source, source_type=kind, chunk_size=100, pool_size=1, read_columns=columns
    )
    with handler:
        found = [(position.index, events) for events, position in handler]
    return [events for _, events in sorted(found, key=lambda one: one[0])]


def test_chunks_of_trees_are_read(files: list[str]) -> None:
    read = chunks(files[0], "uproot_root", {"event", "Jet.pt"})
    assert [len(chunk) for chunk in read] == [100, 100, 50]
    assert np.concatenate([chunk.event for chunk in read]).tolist() == list(range(EVENTS))
    flat = np.concatenate([ak.flatten(chunk.Jet_pt) for chunk in read])
    assert flat.tolist() == list(range(sum(number % 4 for number in range(EVENTS))))


def test_chunks_get_the_schema_of_nanoaod(files: list[str]) -> None:
    read = chunks(files[0], "coffea_root", {"run", "luminosityBlock", "event", "Jet.*"})
    assert np.concatenate([ak.num(chunk.Jet.pt) for chunk in read]).tolist() == [
        number % 4 for number in range(EVENTS)
    ]


def test_several_files_are_one_source(files: list[str]) -> None:
    handler = columnar_util.ChunkedIOHandler
    trees, entries = handler.open_uproot_root(files)
    assert entries == 2 * EVENTS
    position = handler.create_chunk_position(entries, 200, 1)
    read = handler.read_uproot_root(trees, position, read_columns={"event"})
    handler.close_uproot_root(trees)
    assert read.event.tolist() == list(range(200, 400))


def test_an_open_file_is_a_source(files: list[str]) -> None:
    with uproot.open(files[1]) as file:
        [tree], entries = columnar_util.ChunkedIOHandler.open_uproot_root([(file, "Events")])
        assert entries == EVENTS and tree["event"].array()[0] == EVENTS
