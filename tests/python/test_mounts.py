"""Files on network mounts: read like URLs, in few round trips, and given up at the deadline."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from testkit import Running, mounting

import sapwood
from sapwood import errors

COLUMNS = [f"x{i}" for i in range(24)]
ENTRIES = 40_000
DELAY = 0.02


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    with sapwood.recreate(folder / "f.root") as file:
        file.mktree("t", dict.fromkeys(COLUMNS, "f8"))
        rng = np.random.default_rng(1)
        for _ in range(4):
            file["t"].extend({name: rng.normal(size=ENTRIES // 4) for name in COLUMNS})
    return folder


@pytest.fixture
def mount(files: Path, tmp_path: Path) -> Iterator[Running]:
    with mounting(files, tmp_path / "mnt", "--rtt-ms", str(1000 * DELAY)) as mount:
        yield mount


def test_columns_come_in_few_round_trips_with_the_same_values(mount: Running, files: Path) -> None:
    expected = sapwood.open(f"{files}/f.root:t").arrays(library="np")
    with sapwood.open(f"{mount.url}/f.root:t") as tree:
        found = tree.arrays(library="np")
        report = tree.file.report()
    assert all(np.array_equal(found[name], expected[name]) for name in COLUMNS)
    (source,) = report.sources
    assert source.server == f"fuse:{mount.url}"
    # 96 baskets, each of which the operating system would fetch alone.
    assert report.round_trips <= 4


def test_a_mount_that_hangs_ends_at_the_deadline_and_with_the_process(mount: Running) -> None:
    code = (
        "import sapwood, sys, urllib.request as web\n"
        f"with sapwood.open('{mount.url}/f.root:t', deadline=2) as tree:\n"
        f"    web.urlopen('{mount.control}/__fault__/hang').read()\n"
        "    try:\n"
        "        tree.arrays()\n"
        "    except sapwood.errors.DeadlineError as error:\n"
        "        print(error)\n"
    )
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert time.monotonic() - begin < 20
    assert "deadline" in done.stdout and f"{mount.url}/f.root" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("fault", ["eio", "estale"])
def test_an_error_of_the_mount_names_the_file(mount: Running, fault: str) -> None:
    with sapwood.open(f"{mount.url}/f.root:t", deadline=20) as tree:
        mount.set_fault(fault)
        with pytest.raises(errors.SapwoodError) as failure:
            tree.arrays()
        mount.set_fault("none")
        assert len(tree.arrays()) == ENTRIES
    assert f"{mount.url}/f.root" in str(failure.value)


def test_a_file_that_changes_there_is_noticed(mount: Running, files: Path) -> None:
    path = files / "f.root"
    before = path.read_bytes()
    with sapwood.open(f"{mount.url}/f.root:t", deadline=20) as tree:
        os.utime(path, ns=(1, 1))
        with pytest.raises(errors.FileChangedError):
            tree.arrays()
    assert path.read_bytes() == before


def test_a_missing_file_is_said_to_be_missing(mount: Running) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.root"):
        sapwood.open(f"{mount.url}/none.root:t", deadline=20)


def test_the_block_cache_serves_mounts(mount: Running, tmp_path: Path) -> None:
    url, cache = f"{mount.url}/f.root:t", tmp_path / "cache"
    with sapwood.open(url, cache=cache) as tree:
        expected = tree.arrays(COLUMNS[:3], library="np")
    with sapwood.open(url, cache=cache) as tree:
        mount.set_fault("hang")
        found = tree.arrays(COLUMNS[:3], library="np", deadline=20)
    assert all(np.array_equal(found[name], expected[name]) for name in COLUMNS[:3])
