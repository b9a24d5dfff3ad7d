"""`convert` keeps every value, works in bounded steps, and leaves no partial files."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import uproot

NAMES = ["run", "MET_pt", "matrix", "nMuon_pt", "Muon_pt"]


@pytest.mark.parametrize("step", ["100 MB", "300"])
@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrow"])
def test_tables(
    sapwood: Callable[..., Any], path: Path, events: dict[str, Any], tmp_path: Path, suffix: str, step: str
) -> None:
    out = tmp_path / f"out.{suffix}"
    done = sapwood("convert", f"{path}:Events", out, "--step-size", step)
    assert (done.code, done.out, done.err) == (0, "", "")
    table = pa.parquet.read_table(out) if suffix == "parquet" else pa.feather.read_table(out)
    assert table.num_rows == 1000
    for name, values in events.items():
        assert table[name].to_pylist() == values.tolist()
    if suffix == "parquet" and step == "300":
        assert pa.parquet.ParquetFile(out).num_row_groups == 4


def test_npz(sapwood: Callable[..., Any], path: Path, events: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    assert sapwood("convert", f"{path}:Events", out, "--step-size", "300").code == 0
    with np.load(out) as arrays:
        assert set(arrays) == {*events, "nMuon_pt", "Muon_pt.offsets"} or set(arrays) == {
            *events,
            "Muon_pt.offsets",
        }
        for name in ("run", "MET_pt", "matrix"):
            assert arrays[name].dtype == events[name].dtype
            assert np.array_equal(arrays[name], events[name])
        rebuilt = ak.unflatten(arrays["Muon_pt"], np.diff(arrays["Muon_pt.offsets"]))
        assert rebuilt.tolist() == events["Muon_pt"].tolist()


def test_npz_of_text_and_nested_lists(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    texts = ["a", "", "längst"] * 4
    with uproot.recreate(tmp_path / "text.root") as file:
        tree = file.mktree("t", {"text": "string"})
        for start in range(0, 12, 4):
            tree.extend({"text": texts[start : start + 4]})
    out = tmp_path / "text.npz"
    assert sapwood("convert", tmp_path / "text.root", out, "--step-size", "5").code == 0
    with np.load(out) as arrays:
        raw, offsets = arrays["text"].tobytes(), arrays["text.offsets"]
        assert [raw[a:b].decode() for a, b in itertools.pairwise(offsets)] == texts


def test_csv(sapwood: Callable[..., Any], path: Path, events: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert (
        sapwood("convert", f"{path}:Events", out, "run", "MET_pt", "Muon_pt", "--step-size", "300").code == 0
    )
    with open(out, newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["run", "MET_pt", "Muon_pt"]
    assert [int(row[0]) for row in rows[1:]] == events["run"].tolist()
    assert np.array_equal(np.array([row[1] for row in rows[1:]], dtype=np.float32), events["MET_pt"])
    assert [json.loads(row[2]) for row in rows[1:]] == events["Muon_pt"].tolist()


def test_columns_entries_and_cut(
    sapwood: Callable[..., Any], path: Path, events: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "out.parquet"
    arguments = ["run", "MET_pt * 2", "--entries", "100:-100", "--cut", "MET_pt > 30", "--json"]
    document = sapwood("convert", f"{path}:Events", out, *arguments).json
    table = pa.parquet.read_table(out)
    kept = [run for run in range(100, 900) if events["MET_pt"][run] > 30]
    assert table["run"].to_pylist() == kept
    assert document["entries"] == len(kept)
    assert document["columns"] == table.column_names == ["run", "MET_pt * 2"]
    assert document["bytes"] == out.stat().st_size
    assert document["read"]["unplanned_reads"] == 0


def test_no_entries(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    for suffix in ("parquet", "feather", "csv", "npz"):
        out = tmp_path / f"out.{suffix}"
        done = sapwood("convert", f"{path}:Events", out, "run", "--entries", "5:5", "--json")
        assert done.code == 0, done.err
        assert done.json["entries"] == 0 and out.exists()


def test_an_existing_file_is_kept(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    out.write_text("precious")
    assert sapwood("convert", f"{path}:Events", out).code == 2
    assert out.read_text() == "precious"
    assert sapwood("convert", f"{path}:Events", out, "--force").code == 0
    assert pa.parquet.read_table(out).num_rows == 1000


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv", "npz"])
def test_nothing_is_left_of_a_failure(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path, suffix: str
) -> None:
    damaged = tmp_path / "damaged.root"
    content = bytearray(path.read_bytes())
    with uproot.open(path) as file:
        branch = file["Events/MET_pt"]
        key = branch.basket_key(3)
        start = key.fSeekKey + key.fKeylen
    # The last basket: the steps before it are written by the time it is met.
    content[start : start + 40] = bytes(40)
    damaged.write_bytes(content)
    folder = tmp_path / "out"
    folder.mkdir()
    done = sapwood("convert", f"{damaged}:Events", folder / f"out.{suffix}", "--step-size", "250")
    assert done.code == 4, done.err
    assert "MET_pt" in done.err
    assert list(folder.iterdir()) == []


def test_a_filter_beside_columns_is_refused(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    done = sapwood("convert", f"{path}:Events", tmp_path / "out.csv", "run", "--filter", "Muon_*")
    assert done.code == 2 and "'run' and --filter cannot be combined" in done.err
    assert not (tmp_path / "out.csv").exists()
