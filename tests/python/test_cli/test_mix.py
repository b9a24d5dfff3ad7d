"""`sapwood mix`: signal with pile-up, shared by jobs, classic and premixed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import sapwood as library

SIGNAL = 230


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files of signal, a pool of three files, and a histogram of the mean."""
    monkeypatch.chdir(tmp_path)
    for place, (start, stop) in enumerate([(0, 100), (100, SIGNAL)]):
        with library.recreate(f"signal{place}.root") as file:
            file["Events"] = {"met": np.arange(start, stop, dtype="f4")}
    for place in range(3):
        with library.recreate(f"minbias{place}.root") as file:
            hits = ak.Array([[n, n] for n in range(200 * place, 200 * (place + 1))])
            tree = file.mktree("Events", cluster_entries=50)
            tree.extend({"number": np.arange(200 * place, 200 * (place + 1)), "hits": hits})
    with library.recreate("pileup.root") as file:
        file["pileup"] = (np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0]))
    return tmp_path


def read(path: str) -> Any:
    with library.open(f"{path}:Events") as tree:
        return tree.arrays()


def test_jobs_that_share_a_sample_write_what_one_job_writes(
    folder: Path, sapwood: Callable[..., Any]
) -> None:
    line = ["--signal", "signal*.root", "--seed", "5", "--mean", "pileup.root:pileup", "--bunches", "-1:2"]
    done = sapwood("mix", "minbias*.root", "all.root", *line, "--json")
    whole = read("all.root")
    assert done.json["entries"] == len(whole) == SIGNAL
    assert done.json["background_events"] == ak.sum(whole.npileup)
    assert whole.met.tolist() == list(range(SIGNAL))
    assert 9 < ak.mean(whole.npileup) < 15
    parts = []
    for start, stop in [(0, 37), (37, 150), (150, SIGNAL)]:
        sapwood("mix", "minbias*.root", f"{start}.root", *line, "--entries", f"{start}:{stop}", "--step", "7")
        parts.append(read(f"{start}.root"))
    assert ak.array_equal(ak.concatenate(parts), whole)


def test_premixed_and_classic_mixing_write_the_same_branches(
    folder: Path, sapwood: Callable[..., Any]
) -> None:
    classic = ["--seed", "5", "--number", "0.2,0.3,0.5"]
    sapwood("mix", "minbias*.root:Events", "premixed.root", *classic, "--entries", "0:400")
    sapwood("mix", "minbias*.root:Events", "classic.root", *classic, "--signal", "signal0.root")
    sapwood("mix", "premixed.root", "out.root", "--seed", "6", "--signal", "signal0.root")
    premixed, mixed = read("premixed.root"), read("out.root")
    assert len(premixed) == 400
    assert mixed.fields == read("classic.root").fields == ["met", *premixed.fields]
    where = premixed.pileup_number.tolist().index(mixed.pileup_number[0].tolist())
    assert len(mixed) == 100
    assert mixed.pileup_hits.tolist()[0] == premixed.pileup_hits.tolist()[where]
    assert set(mixed.npileup.tolist()) == {0, 1, 2}


def test_no_entries_give_a_tree_with_all_branches(folder: Path, sapwood: Callable[..., Any]) -> None:
    for name, line in {
        "a": ["--signal", "signal*.root", "--entries", "5:5"],
        "b": ["--entries", "5:5"],
    }.items():
        sapwood("mix", "minbias*.root", f"{name}.root", "--seed", "1", "--number", "3", *line)
        found = read(f"{name}.root")
        assert len(found) == 0
        assert {"npileup", "pileup_hits", "pileup_number", "pileup_bunch"} <= set(found.fields)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["--number", "3"], "needed without --signal"),
        (["--number", "3", "--entries", "0:"], "needed without --signal"),
        (["--number", "-3", "--entries", "0:9"], "must be from 0"),
        (["--number", "three", "--entries", "0:9"], "--number: 'three' is no number"),
        (["--mean", "minbias0.root", "--entries", "0:9"], "no histogram FILE:NAME"),
        (["--number", "3", "--mean", "3", "--entries", "0:9"], "either 'number' or 'mean'"),
        (["--mean", "minbias0.root:Events", "--entries", "0:9"], "not a histogram"),
        (["--entries", "0:9"], "not premixed"),
        (["--number", "3", "--signal", "premixed.root"], "both sides"),
    ],
)
def test_wrong_options_leave_no_file(
    folder: Path, sapwood: Callable[..., Any], line: list[str], message: str
) -> None:
    with library.recreate("premixed.root") as file:
        file["Events"] = {"npileup": [1, 2]}
    done = sapwood("mix", "minbias*.root", "out.root", "--seed", "1", *line)
    assert done.code == 2
    assert message in done.err
    assert not Path("out.root").exists()


def test_collections_of_rntuples_are_written_once(folder: Path, sapwood: Callable[..., Any]) -> None:
    assert sapwood("example", "nano.root", "-n", "300").code == 0
    library.repack("nano.root", "nano.rnt.root", format="rntuple")
    for number, (pool, signal) in enumerate([("nano", "nano"), ("nano.rnt", "nano"), ("nano", "nano.rnt")]):
        words = ["mix", f"{pool}.root:Events", f"out{number}.root", "--signal", f"{signal}.root:Events"]
        done = sapwood(*words, "--seed", 1, "--number", 2, "--entries", "0:20")
        assert done.code == 0, done.err
    columns = [set(read(f"out{number}.root").fields) for number in range(3)]
    assert "pileup_Muon_pt" in columns[0] and columns[0] == columns[1] == columns[2]
