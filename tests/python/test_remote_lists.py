"""Lists of remote files: the next files are fetched while one is read, and errors come in order."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import testkit
from testkit import Running

import sapwood
from sapwood import errors

FILES = 16
ENTRIES = 40_000
COLUMNS = ["run", "met", "weight"]

Serve = Callable[..., tuple[list[str], Running]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file by several names, so large that opening does not bring all of it."""
    uproot = pytest.importorskip("uproot")
    folder = tmp_path_factory.mktemp("list")
    random = np.random.default_rng(3)
    types = {"run": "u4", "met": "f4", "weight": "f8"} | {f"other{i}": "f8" for i in range(8)}
    with uproot.recreate(folder / "00.root", compression=None) as file:
        tree = file.mktree("Events", types)
        for cluster in range(4):
            runs = np.arange(ENTRIES // 4, dtype="u4") + cluster * ENTRIES // 4
            tree.extend({name: runs if name == "run" else random.random(len(runs)) for name in types})
    for number in range(1, FILES):
        os.link(folder / "00.root", folder / f"{number:02}.root")
    return folder


@pytest.fixture
def serve(folder: Path) -> Iterator[Serve]:
    """Serves them with the options of `sapwood-testkit serve`: the URLs, and where the counts are."""
    with contextlib.ExitStack() as stack:

        def start(*options: str) -> tuple[list[str], Running]:
            server = stack.enter_context(testkit.serving(folder, *options))
            return [f"{server.url}/{n:02}.root:Events" for n in range(FILES)], server

        yield start


def iterated(files: list[str]) -> tuple[int, sapwood.ReadReport]:
    entries, reports = 0, []
    for arrays, report in sapwood.iterate(files, COLUMNS, library="np", report=True):
        entries += len(arrays["run"])
        reports.append(report.tree.file.report())
    return entries, sum(reports)


def concatenated(files: list[str]) -> tuple[int, sapwood.ReadReport]:
    arrays, report = sapwood.concatenate(files, COLUMNS, library="np", cost=True)
    return len(arrays["run"]), report


@pytest.mark.parametrize("behaviour", ["multi", "single"])
@pytest.mark.parametrize("read", [iterated, concatenated])
def test_a_file_of_a_list_costs_less_than_a_round_trip(serve: Serve, read: Any, behaviour: str) -> None:
    files, server = serve("--behaviour", behaviour, "--rtt-ms", "40")
    entries, report = read(files)
    assert entries == FILES * ENTRIES
    assert report.unplanned_reads == 0
    # One file alone takes two or three, one after the other. A busy machine is late with some of them.
    assert server.counts()["round_trips"] < 1.5 * FILES
    assert report.round_trips >= 2 * FILES


def test_an_error_comes_when_it_is_the_turn_of_its_file(serve: Serve) -> None:
    files, _ = serve()
    files[2] = files[2].replace("02.root", "none.root")
    steps = sapwood.iterate(files, COLUMNS, library="np")
    assert [len(next(steps)["run"]) for _ in range(2)] == [ENTRIES, ENTRIES]
    with pytest.raises(FileNotFoundError):
        next(steps)
    with pytest.raises(FileNotFoundError):
        sapwood.concatenate(files, COLUMNS)


def test_files_without_a_branch_are_passed_over_if_allowed(
    serve: Serve, folder: Path, tmp_path: Path
) -> None:
    uproot = pytest.importorskip("uproot")
    files, _ = serve()
    path = tmp_path / "other.root"
    with uproot.recreate(path) as file:
        file.mktree("Events", {"run": "u4"}).extend({"run": np.arange(7, dtype="u4")})
    mixed = [*files[:2], f"{path}:Events", *files[2:4]]
    with pytest.raises(errors.KeyInFileError):
        list(sapwood.iterate(mixed, COLUMNS))
    steps = sapwood.iterate(mixed, COLUMNS, library="pd", allow_missing=True)
    starts = [step.index[0] for step in steps]
    # The entries that are passed over are counted all the same.
    assert starts == [0, ENTRIES, 2 * ENTRIES + 7, 3 * ENTRIES + 7]
    assert len(sapwood.concatenate(mixed, COLUMNS, library="pd", allow_missing=True)) == 4 * ENTRIES


def test_entries_are_counted_through_all_files(serve: Serve) -> None:
    files, _ = serve()
    runs = sapwood.concatenate(
        files[:5], "run", library="np", entry_start=ENTRIES - 10, entry_stop=10 - 3 * ENTRIES
    )["run"]
    assert runs.tolist() == [*range(ENTRIES - 10, ENTRIES), *range(ENTRIES), *range(10)]


def in_a_process(code: str, budget: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SAPWOOD_READ_AHEAD": budget}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


def test_everything_is_read_without_memory_to_read_ahead(serve: Serve, folder: Path) -> None:
    files, _ = serve()
    code = f"import sapwood; print(sapwood.concatenate({files[:4]}, 'met', library='np')['met'].sum())"
    near = sapwood.concatenate([f"{folder / f'{n:02}.root'}:Events" for n in range(4)], "met", library="np")
    assert in_a_process(code, "0").stdout.split() == [str(near["met"].sum())]


def test_a_budget_that_is_no_number_is_refused(folder: Path) -> None:
    done = in_a_process(f"import sapwood; sapwood.open({str(folder / '00.root')!r})", "much")
    assert "SAPWOOD_READ_AHEAD is 'much'" in done.stderr and "UsageError" in done.stderr
