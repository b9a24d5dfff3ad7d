"""The cache of decoded columns: equal values the second time, without opening a basket, under every fault."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import testkit
from testkit import Running

import sapwood
from sapwood import cache
from sapwood.errors import UsageError

ENTRIES = 50_000
CLUSTER = 5_000
FORMATS = ["zstd:1", "zlib:1", "lzma:1", "rntuple"]
AGO = time.time() - 3600


def content(seed: int = 3) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    counts = random.integers(0, 4, ENTRIES)
    pt = ak.unflatten(random.normal(size=counts.sum()).astype("f4"), counts)
    return {
        "run": np.arange(ENTRIES, dtype="u4"),
        "met": random.normal(size=ENTRIES),
        "flag": counts > 2,
        "nMuon": counts.astype("i4"),
        "Muon_pt": pt,
        "Muon_charge": ak.values_astype(pt > 0, "i1"),
        "name": [f"event {n}" for n in range(ENTRIES)],
        "p4": random.normal(size=(ENTRIES, 4)),
    }


def write(path: Path, kind: str, seed: int = 3, modified: float = AGO) -> None:
    """A file that nobody has written to for a while."""
    with sapwood.recreate(path, compression="zstd:1" if kind == "rntuple" else kind) as file:
        make = file.mkrntuple if kind == "rntuple" else file.mktree
        make("Events", None, cluster_entries=CLUSTER).extend(content(seed))
    os.utime(path, (modified, modified))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("columns")
    found = {kind: folder / f"{kind.replace(':', '')}.root" for kind in FORMATS}
    for kind, path in found.items():
        write(path, kind)
    return found


@pytest.fixture
def local(files: dict[str, Path]) -> Path:
    return files["zstd:1"]


@pytest.fixture
def server(files: dict[str, Path]) -> Iterator[Running]:
    with testkit.serving(files["zstd:1"].parent) as server:
        yield server


def read(where: Any, columns: list[str] | None = None, **options: Any) -> tuple[Any, Any]:
    """The arrays, and the report."""
    with sapwood.open(f"{where}:Events", cache_form="columns", **options) as tree:
        return tree.arrays(columns), tree.file.report()


def assert_right(found: Any, seed: int = 3, entries: slice = slice(None)) -> None:
    right = content(seed)
    for name in found.fields:
        assert ak.array_equal(found[name], ak.Array(right[name])[entries], dtype_exact=False), name


@pytest.mark.parametrize("kind", FORMATS)
def test_the_second_time_no_basket_is_opened(files: dict[str, Path], tmp_path: Path, kind: str) -> None:
    found, first = read(files[kind], cache=tmp_path)
    assert_right(found)
    assert first.cached_columns == 0 and first.baskets > 0 and first.decompressed_bytes > 0
    found, second = read(files[kind], cache=tmp_path)
    assert_right(found)
    assert (second.baskets, second.decompressed_bytes, second.unplanned_reads) == (0, 0, 0)
    assert second.cached_columns == len(found.fields)
    assert second.cached_column_bytes == first.decompressed_bytes


@pytest.mark.parametrize("kind", ["zstd1", "rntuple"])
def test_far_files(server: Running, tmp_path: Path, kind: str) -> None:
    url = f"{server.url}/{kind}.root"
    with sapwood.open(f"{url}:Events") as tree:
        opening = tree.file.report()
    assert_right(read(url, cache=tmp_path)[0])
    found, second = read(url, cache=tmp_path)
    assert_right(found)
    assert (second.baskets, second.cached_columns) == (0, len(found.fields))
    # The headers of answers differ in length.
    assert abs(second.fetched_bytes - opening.fetched_bytes) < 1000


def test_arrays_are_read_only_parts_of_the_file_in_the_cache(local: Path, tmp_path: Path) -> None:
    found, _ = read(local, ["met"], cache=tmp_path)
    assert not ak.to_numpy(found["met"]).flags.writeable
    with sapwood.open(f"{local}:Events", cache=tmp_path, cache_form="columns") as tree:
        met = tree["met"].array(library="np")
        again = tree["met"].array(library="np", entry_start=CLUSTER)
    assert not met.flags.writeable
    assert np.shares_memory(met, again)
    with Path("/proc/self/maps").open() as maps:
        assert any(str(tmp_path) in line for line in maps)
    cache.clear(tmp_path)
    np.testing.assert_array_equal(met, content()["met"])


@pytest.mark.parametrize("way", ["range", "iterate", "entries", "cut", "lazy", "events", "concatenate"])
def test_every_way_of_reading(local: Path, server: Running, tmp_path: Path, way: str) -> None:
    names = ["run", "met", "Muon_pt", "name"]
    for where in (local, f"{server.url}/zstd1.root"):
        for _ in range(3):
            options: dict[str, Any] = {"cache": tmp_path, "cache_form": "columns"}
            with sapwood.open(f"{where}:Events", **options) as tree:
                if way == "range":
                    # Parts of clusters, of which some are in the cache.
                    for start, stop in ((7, 9), (6_000, 21_000), (3, 40_001), (0, ENTRIES)):
                        assert_right(
                            tree.arrays(names, entry_start=start, entry_stop=stop), entries=slice(start, stop)
                        )
                elif way == "iterate":
                    for step, where_ in tree.iterate(names, step_size=7_000, report=True):
                        assert_right(step, entries=slice(where_.tree_entry_start, where_.tree_entry_stop))
                elif way == "entries":
                    tree.arrays(names, entry_start=10_000, entry_stop=30_000)
                    wanted = [40_000, 3, 4, 10_005, 29_999, 29_999, 49_999]
                    assert_right(tree.arrays(names, entries=wanted), entries=wanted)  # type: ignore[arg-type]
                elif way == "cut":
                    tree.arrays(names[:2], entry_start=10_000, entry_stop=30_000)
                    passing = np.flatnonzero(content()["met"] > 2)
                    assert_right(tree.arrays(names, cut="met > 2"), entries=passing)  # type: ignore[arg-type]
                elif way == "lazy":
                    chunks = [
                        ak.zip({name: chunk[name] for name in names}, depth_limit=1) for chunk in tree.lazy()
                    ]
                    assert_right(ak.concatenate(chunks))
                elif way == "events":
                    assert [event.run for event in tree.events()] == list(range(ENTRIES))
                else:
                    assert_right(sapwood.concatenate(f"{where}:Events", names, **options))
                assert tree.file.report().unplanned_reads == 0


def test_steps_become_one_piece_when_all_is_read(local: Path, tmp_path: Path) -> None:
    with sapwood.open(f"{local}:Events", cache=tmp_path, cache_form="columns") as tree:
        for _ in tree.iterate(["Muon_pt"], step_size=2 * CLUSTER):
            pass
    assert len(list(tmp_path.rglob("*.column"))) == ENTRIES // (2 * CLUSTER)
    for _ in range(2):
        found, report = read(local, ["Muon_pt"], cache=tmp_path)
        assert_right(found)
        assert report.baskets == 0
        assert len(list(tmp_path.rglob("*.column"))) == 1


def test_columns_of_one_counter_share_their_offsets(local: Path, tmp_path: Path) -> None:
    for _ in range(2):
        found, _ = read(local, ["Muon_pt", "Muon_charge"], cache=tmp_path)
        offsets = [ak.to_layout(found[name]).offsets.data for name in found.fields]
        assert np.shares_memory(*offsets)


def test_a_changed_file_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    for seed in (3, 4, 3):
        write(path, "zstd:1", seed, AGO + seed)
        for _ in range(2):
            assert_right(read(path, cache=tmp_path / "cache")[0], seed)


def test_a_file_that_was_just_written_is_not_kept(tmp_path: Path) -> None:
    write(tmp_path / "file.root", "zstd:1", modified=time.time())
    for _ in range(2):
        found, report = read(tmp_path / "file.root", cache=tmp_path / "cache")
        assert_right(found)
        assert report.cached_columns == 0


def test_damage_is_seen_and_mended(local: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read(local, cache=tmp_path)
    columns = sorted(tmp_path.rglob("*.column"))
    assert len(columns) == len(content())
    for number, path in enumerate(columns):
        whole = path.read_bytes()
        place = [-1, len(whole) // 2, 20, 3][number % 4]
        damaged = bytearray(whole)
        damaged[place] ^= 4
        path.write_bytes(damaged if number % 5 else whole[: len(whole) // 2])
    with caplog.at_level(logging.WARNING, logger="sapwood"):
        found, report = read(local, cache=tmp_path)
    assert_right(found)
    assert report.cached_columns == 0 and report.unplanned_reads == 0
    assert caplog.text.count("damaged") == len(columns)
    assert cache.verify(tmp_path).damaged == ()
    assert read(local, cache=tmp_path)[1].baskets == 0
    columns[0].write_bytes(b"")
    assert cache.verify(tmp_path).damaged == (columns[0],)


def test_columns_that_were_swapped_are_not_mistaken(local: Path, tmp_path: Path) -> None:
    read(local, ["met", "p4"], cache=tmp_path)
    one, other = tmp_path.rglob("*.column")
    names = one.name, other.name
    one.rename(tmp_path / "x")
    other.rename(other.with_name(names[0]))
    (tmp_path / "x").rename(other.with_name(names[1]))
    assert_right(read(local, ["met", "p4"], cache=tmp_path)[0])


def test_the_cache_keeps_to_its_size_and_to_what_was_dear(files: dict[str, Path], tmp_path: Path) -> None:
    read(files["lzma:1"], cache=tmp_path)
    kept = cache.contents(tmp_path)[0].nbytes
    for path in tmp_path.rglob("*.column"):
        os.utime(path, (AGO, AGO))
        # What it took to make it is in the name: let it be much.
        path.rename(path.with_name(path.name.rsplit("-", 1)[0] + "-3f.column"))
    read(files["zlib:1"], cache=tmp_path)
    for path in tmp_path.rglob("*.column"):
        os.utime(path, (AGO, AGO))
        if not path.name.endswith("-3f.column"):
            path.rename(path.with_name(path.name.rsplit("-", 1)[0] + "-0.column"))
    read(files["zstd:1"], cache=tmp_path, cache_size=int(2.2 * kept))
    assert sum(one.nbytes for one in cache.contents(tmp_path)) <= 2.2 * kept
    assert read(files["lzma:1"], cache=tmp_path)[1].baskets == 0
    assert read(files["zlib:1"], cache=tmp_path)[1].baskets > 0


def run(program: str, **options: Any) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, **options)


def test_eight_writers_at_once(local: Path, tmp_path: Path) -> None:
    program = f"""
        import zlib, sapwood
        with sapwood.open({f"{local}:Events"!r}, cache={str(tmp_path)!r}, cache_form="columns") as tree:
            for step in (7_000, 10_000, 50_000):
                check = 0
                for arrays in tree.iterate(["met", "run"], step_size=step, library="np"):
                    check = zlib.crc32(arrays["run"].tobytes(), check)
                print(check)
        """

    def checks(_: int) -> str:
        with run(program) as process:
            said, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        return said

    with ThreadPoolExecutor(8) as pool:
        said = set(pool.map(checks, range(8)))
    assert len(said) == 1
    assert_right(read(local, cache=tmp_path)[0])
    assert cache.verify(tmp_path).damaged == ()
    assert not list(tmp_path.rglob("*.part"))


def test_a_writer_that_is_killed_does_no_harm(local: Path, tmp_path: Path) -> None:
    program = f"""
        import sapwood, sapwood.cache
        with sapwood.open({f"{local}:Events"!r}, cache={str(tmp_path)!r}, cache_form="columns") as tree:
            print("open", flush=True)
            while True:
                tree.arrays()
                sapwood.cache.clear({str(tmp_path)!r})
        """
    for pause in (0.02, 0.05, 0.1):
        with run(program) as process:
            assert process.stdout is not None and process.stdout.readline() == "open\n"
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(pause)
            process.kill()
        assert_right(read(local, cache=tmp_path)[0])
    assert cache.verify(tmp_path).damaged == ()


def test_a_full_disk_is_done_without(local: Path, tmp_path: Path) -> None:
    # Files cannot be larger than this: it fails as a full disk does, in the middle of a column.
    program = f"""
        import logging, resource, sys
        import numpy as np
        import sapwood
        logging.basicConfig(stream=sys.stdout, format="%(name)s %(levelname)s %(message)s")
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
        right = sapwood.open({f"{local}:Events"!r}).arrays(["met", "flag", "run"], library="np")
        with sapwood.open({f"{local}:Events"!r}, cache={str(tmp_path)!r}, cache_form="columns") as tree:
            for _ in range(2):
                found = tree.arrays(["met", "flag", "run"], library="np")
                assert all(np.array_equal(found[name], right[name]) for name in right)
        print("done")
        """
    with run(program) as process:
        said, _ = process.communicate(timeout=120)
    lines = said.splitlines()
    assert (process.returncode, lines[-1]) == (0, "done")
    assert [line.split()[:2] for line in lines[:-1]] == [["sapwood.source", "WARNING"]]
    assert not list(tmp_path.rglob("*.part"))


def test_a_directory_that_cannot_be_used_is_done_without(
    local: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a directory")
    assert_right(read(local, cache=tmp_path / "file")[0])
    assert "cannot be used" in caplog.text


def test_listed_and_cleared(local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_CACHE", str(tmp_path))
    monkeypatch.setenv("SAPWOOD_CACHE_FORM", "columns")
    sapwood.open(f"{local}:Events").arrays(["met", "nMuon"])
    (one,) = cache.contents()
    assert (one.url, one.columns, one.blocks, one.size) == (str(local), 2, 0, local.stat().st_size)
    assert one.nbytes > ENTRIES * 12
    assert cache.clear(url=str(local)) == one.nbytes
    assert cache.contents() == []


@pytest.mark.parametrize("options", [{"cache_form": "rows"}, {"cache_form": "columns", "cache_max_age": 5}])
def test_wrong_options(local: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="cache_form"):
        sapwood.open(local, cache=tmp_path, **options)
