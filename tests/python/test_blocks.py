"""Lazy download and the cache: right arrays, each block fetched once, under every fault."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pickle
import socket
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import testkit
from http_fake import FakeServer, Misdeed, Request, silence
from numpy.testing import assert_array_equal
from testkit import Running

import sapwood
from sapwood import cache, errors

BLOCK = 65536
ENTRIES = 200_000
COLUMNS = [f"x{i}" for i in range(5)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 4 MB in ten clusters."""
    uproot = pytest.importorskip("uproot")
    folder = tmp_path_factory.mktemp("far")
    random = np.random.default_rng(7)
    with uproot.recreate(folder / "far.root", compression=None) as file:
        tree = file.mktree("Events", dict.fromkeys(COLUMNS, "f4"))
        for _ in range(10):
            tree.extend({name: random.random(ENTRIES // 10, "f4") for name in COLUMNS})
    return folder


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Running]:
    """A server of a folder, in which the file is."""
    with testkit.serving(folder) as server:
        yield Running(f"{server.url}/far.root:Events", server.control)


@pytest.fixture
def server(folder: Path) -> Iterator[Running]:
    with serving(folder) as server:
        yield server


@pytest.fixture
def right(folder: Path) -> dict[str, Any]:
    """The values of all columns."""
    arrays: dict[str, Any] = sapwood.open(folder / "far.root")["Events"].arrays(library="np")
    return arrays


def read(url: str, columns: list[str] | None = None, **options: Any) -> tuple[dict[str, Any], Any]:
    """The arrays, and the report."""
    with sapwood.open(url, **options) as tree:
        return tree.arrays(columns, library="np"), tree.file.report()


def assert_same(found: dict[str, Any], right: dict[str, Any]) -> None:
    for name, values in found.items():
        assert_array_equal(values, right[name])


def test_each_block_is_fetched_once(server: Running, right: dict[str, Any], folder: Path) -> None:
    size = (folder / "far.root").stat().st_size
    with sapwood.open(server.url, lazy_download=BLOCK) as tree:
        opening = tree.file.report().fetched_bytes
        for entries in (0, 120_000, 40_000):
            found = tree.arrays("x1", entry_start=entries, entry_stop=entries + 5000, library="np")
            assert_array_equal(found["x1"], right["x1"][entries : entries + 5000])
        scattered = tree.file.report()
        assert_same(tree.arrays(library="np"), right)
        whole = tree.file.report()
        assert_same(tree.arrays(library="np"), right)
        again = tree.file.report()
    assert scattered.fetched_bytes - opening < size / 4
    assert whole.fetched_bytes - opening <= size
    assert (again.requests, again.fetched_bytes) == (whole.requests, whole.fetched_bytes)
    assert again.block_bytes - whole.block_bytes > 0.9 * size
    assert again.unplanned_reads == 0
    assert again.fetched_bytes <= server.counts_since()["bytes_sent"] < 1.2 * size + 500_000


def test_blocks_of_replicas(server: Running, folder: Path, right: dict[str, Any], tmp_path: Path) -> None:
    with serving(folder) as other:
        options = {
            "replicas": [other.url.removesuffix(":Events")],
            "lazy_download": BLOCK,
            "cache": tmp_path,
        }
        assert_same(read(server.url, **options)[0], right)
        sent = server.counts_since()["bytes_sent"] + other.counts_since()["bytes_sent"]
        assert sent < 2 * (folder / "far.root").stat().st_size
        found, report = read(server.url, **options, cache_max_age=60)
    assert_same(found, right)
    assert report.requests == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_after_a_fork_each_process_has_its_own_blocks(server: Running, right: dict[str, Any]) -> None:
    program = textwrap.dedent(
        f"""
        import os, sys, zlib, sapwood
        tree = sapwood.open({server.url!r}, lazy_download={BLOCK}, scratch_size={8 * BLOCK})
        tree.arrays(["x0"], entry_stop=50_000, library="np")
        child = os.fork()
        for _ in range(3):
            found = tree.arrays(library="np")
            for name in {COLUMNS!r}:
                check = zlib.crc32(found[name].tobytes())
                assert check == {{name: value for name, value in {checks(right)!r}}}[name], name
        if child == 0:
            os._exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def checks(arrays: dict[str, Any]) -> list[tuple[str, int]]:
    """A checksum of each column."""
    return [(name, zlib.crc32(values.tobytes())) for name, values in arrays.items()]


def test_the_disk_that_it_takes_is_bounded(server: Running, right: dict[str, Any]) -> None:
    with sapwood.open(server.url, lazy_download=BLOCK, scratch_size=4 * BLOCK) as tree:
        for _ in range(2):
            for step in tree.iterate(["x0", "x3"], step_size=30_000, library="np", report=True):
                arrays, where = step
                assert_array_equal(arrays["x3"], right["x3"][where.tree_entry_start : where.tree_entry_stop])


@pytest.mark.parametrize("way", ["iterate", "concatenate", "lazy", "pickled"])
def test_every_way_of_reading(server: Running, right: dict[str, Any], way: str) -> None:
    options: dict[str, Any] = {"lazy_download": "100 kB"}
    if way == "iterate":
        steps = sapwood.iterate([server.url] * 2, ["x1"], step_size=70_000, library="np", **options)
        found = np.concatenate([step["x1"] for step in steps])
        assert_array_equal(found, np.tile(right["x1"], 2))
    elif way == "concatenate":
        found = sapwood.concatenate([server.url] * 2, ["x1"], library="np", **options)["x1"]
        assert_array_equal(found, np.tile(right["x1"], 2))
    elif way == "lazy":
        ak = pytest.importorskip("awkward")
        with sapwood.open(server.url, **options) as tree:
            found = np.concatenate([ak.to_numpy(chunk.x1) for chunk in tree.lazy()])
        assert_array_equal(found, right["x1"])
    else:
        with sapwood.open(server.url, **options) as tree:
            copy = pickle.loads(pickle.dumps(tree))
        with copy:
            assert copy.file.options.lazy_download == tree.file.options.lazy_download
            assert_same(copy.arrays(library="np"), right)
            assert copy.file.report().block_bytes >= 0


def test_the_second_time_comes_from_the_cache(
    server: Running, right: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"lazy_download": BLOCK, "cache": tmp_path / "cache"}
    assert_same(read(server.url, **options)[0], right)
    assert server.counts_since()["bytes_sent"] > 4_000_000
    found, report = read(server.url, **options)
    assert_same(found, right)
    # Which version it is was asked: with a request for a few bytes. (To a server that looks far, connections
    # are made ahead, with a byte each.)
    assert report.fetched_bytes <= 8192
    assert server.counts_since()["bytes_sent"] < 100_000
    for age in (3600, timedelta(hours=1), float("inf")):
        found, report = read(server.url, **options, cache_max_age=age)
        assert_same(found, right)
        assert (server.counts_since()["requests"], report.requests, report.fetched_bytes) == (0, 0, 0)
    monkeypatch.setenv("SAPWOOD_CACHE", str(tmp_path / "cache"))
    read(server.url, lazy_download=BLOCK, cache_max_age=3600)
    assert server.counts_since()["requests"] == 0
    read(server.url, ["x1"], cache=False)
    assert server.counts_since()["bytes_sent"] > ENTRIES * 4


def test_eight_processes_share_one_cache(server: Running, right: dict[str, Any], tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import sys, zlib, sapwood
        with sapwood.open({server.url!r}, lazy_download={BLOCK}, cache={str(tmp_path)!r}) as tree:
            check = 0
            for step in tree.iterate(step_size=50_000, library="np"):
                for name in {COLUMNS!r}:
                    check = zlib.crc32(step[name].tobytes(), check)
        print(check)
        """
    )

    def run(_: int) -> str:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with ThreadPoolExecutor(8) as pool:
        checks = set(pool.map(run, range(8)))
    assert len(checks) == 1
    sent = server.counts_since()["bytes_sent"]
    size = right["x0"].nbytes * len(COLUMNS)
    # Each opens for itself, with the tail; the blocks come once.
    assert sent < 1.2 * size + 8 * 400_000
    assert_same(read(server.url, lazy_download=BLOCK, cache=tmp_path)[0], right)


def test_a_writer_that_is_killed_does_no_harm(server: Running, right: dict[str, Any], tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import sapwood, sapwood.cache
        with sapwood.open({server.url!r}, lazy_download={BLOCK}, cache={str(tmp_path)!r}) as tree:
            print("open", flush=True)
            while True:
                tree.arrays(library="np")
                sapwood.cache.clear({str(tmp_path)!r})
        """
    )
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline() == "open\n"
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
            process.kill()
        assert_same(read(server.url, lazy_download=BLOCK, cache=tmp_path)[0], right)
    assert cache.verify(tmp_path).damaged == ()


def test_damage_is_seen_and_mended(
    server: Running, right: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"lazy_download": BLOCK, "cache": tmp_path}
    read(server.url, **options)
    blocks = sorted(tmp_path.rglob("*.block"))
    assert len(blocks) > 40
    whole = blocks[3].read_bytes()
    blocks[3].write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    # Far apart: from a server that answers late, neighbors are fetched in one piece.
    blocks[35].write_bytes(whole[: len(whole) // 2])
    server.counts_since()
    with caplog.at_level(logging.WARNING, logger="sapwood"):
        found, report = read(server.url, **options)
    assert_same(found, right)
    assert 2 * BLOCK <= report.fetched_bytes <= 2 * BLOCK + 8192
    assert "damaged" in caplog.text
    assert cache.verify(tmp_path).damaged == ()


def test_the_cache_keeps_to_its_size(server: Running, right: dict[str, Any], tmp_path: Path) -> None:
    options = {"lazy_download": BLOCK, "cache": tmp_path, "cache_size": 20 * BLOCK}
    with sapwood.open(server.url, **options) as one, sapwood.open(server.url, **options) as other:
        for tree in (one, other, one):
            assert_same(tree.arrays(library="np"), right)
    kept = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert BLOCK < kept <= 20 * BLOCK + 4096


def test_a_full_disk_is_done_without(server: Running, folder: Path, tmp_path: Path) -> None:
    # Files cannot be larger than this: it fails as a full disk does, in the middle of a block.
    program = textwrap.dedent(
        f"""
        import logging, resource, sys
        import numpy as np
        import sapwood
        logging.basicConfig(stream=sys.stdout, format="%(name)s %(levelname)s %(message)s")
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        right = sapwood.open({str(folder / "far.root")!r})["Events"].arrays(library="np")
        for options in ({{}}, {{"cache": {str(tmp_path / "cache")!r}}}):
            with sapwood.open({server.url!r}, lazy_download={BLOCK}, **options) as tree:
                for _ in range(2):
                    found = tree.arrays(library="np")
                    assert all(np.array_equal(found[name], right[name]) for name in right)
        print("done")
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "done"
    assert [line.split()[:2] for line in lines[:-1]] == [["sapwood.source", "WARNING"]] * 2
    assert not list(tmp_path.rglob("*.part"))


def test_a_file_that_was_replaced_is_another_one(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    served = tmp_path / "served"
    served.mkdir()

    def write(values: Any) -> None:
        with uproot.recreate(served / "far.root", compression=None) as file:
            file.mktree("Events", {"x": "f8"}).extend({"x": values})

    options: dict[str, Any] = {"cache": tmp_path / "cache", "lazy_download": BLOCK}
    with serving(served) as server:
        for number in (100_000, 150_000):
            write(np.arange(number))
            assert_array_equal(read(server.url, **options)[0]["x"], np.arange(number))
        # Who says that nothing is to be asked is taken at his word.
        write(np.zeros(10))
        assert len(read(server.url, **options, cache_max_age=3600)[0]["x"]) == 150_000
        assert len(read(server.url, **options)[0]["x"]) == 10


def _always(answered: Misdeed, request: Request) -> Misdeed:
    return answered


def test_a_file_that_comes_whole_is_kept(events_file: Path, tmp_path: Path) -> None:
    content = events_file.read_bytes()
    with FakeServer(content) as server:

        def whole(connection: socket.socket, request: Request) -> None:
            head = f'HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: {len(content)}\r\n\r\n'
            connection.sendall(head.encode() + content)

        expected = sapwood.open(f"{events_file}:Events").arrays().to_list()
        for answered in (whole, silence):
            server.behave = partial(_always, answered)
            with sapwood.open(f"{server.url}/f.root:Events", cache=tmp_path, cache_max_age=60) as tree:
                assert tree.arrays().to_list() == expected
    assert [one.nbytes >= len(content) for one in cache.contents(tmp_path)] == [True]


def test_local_files_are_read_as_before(events_file: Path, tmp_path: Path) -> None:
    found, report = read(f"{events_file}:Events", ["run"], lazy_download=True, cache=tmp_path)
    assert_array_equal(found["run"], np.arange(1000))
    assert report.block_bytes == 0
    assert not list(tmp_path.rglob("*.block"))


def test_options_that_make_no_sense(events_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in (
        {"lazy_download": 17},
        {"lazy_download": "many"},
        {"lazy_download": False, "cache": "c"},
        {"cache": "c", "cache_max_age": -1},
        {"cache": True},
    ):
        with pytest.raises(errors.UsageError):
            sapwood.open(events_file, **options)
    with pytest.raises(TypeError):
        sapwood.open(events_file, cache=17)
    with pytest.raises(TypeError, match="did you mean 'lazy_download'"):
        sapwood.open(events_file, lazy_downlod=True)
    with pytest.raises(errors.UsageError, match="SAPWOOD_CACHE"):
        cache.contents()
    with pytest.raises(FileNotFoundError):
        cache.verify("/nowhere/at/all")


def test_the_options_are_shown(events_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SAPWOOD_CACHE", str(tmp_path))
    monkeypatch.setenv("SAPWOOD_CACHE_SIZE", "5 GB")
    with sapwood.open(events_file) as file:
        blocks = file.options.lazy_download
    assert (blocks.cache, blocks.cache_size, blocks.block_size) == (str(tmp_path), 5_000_000_000, None)
    with sapwood.open(events_file, lazy_download=False) as file:
        assert file.options.lazy_download is None


def test_looking_after_a_cache(server: Running, tmp_path: Path) -> None:
    read(server.url, ["x1"], lazy_download=BLOCK, cache=tmp_path)
    [kept] = cache.contents(tmp_path)
    assert kept.url == server.url.removesuffix(":Events")
    assert kept.blocks == len(list(tmp_path.rglob("*.block"))) > 0
    assert kept.used is not None
    path = next(tmp_path.rglob("*.block"))
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.verify(tmp_path).damaged == (path,)
    assert not path.exists()
    assert cache.clear(tmp_path, url="http://elsewhere/f.root") == 0
    assert cache.clear(tmp_path, url=kept.url) > 0
    assert cache.contents(tmp_path) == []


def test_looking_after_a_cache_on_the_command_line(server: Running, tmp_path: Path) -> None:
    testing = pytest.importorskip("typer.testing")
    from sapwood.cli._app import app

    def run(*arguments: str) -> Any:
        return testing.CliRunner().invoke(app, ["cache", *arguments, "--directory", str(tmp_path)])

    read(server.url, ["x1"], lazy_download=BLOCK, cache=tmp_path)
    url = server.url.removesuffix(":Events")
    assert url in run("ls").stdout
    listed = json.loads(run("ls", "--json").stdout)
    assert listed["files"][0]["url"] == url and listed["nbytes"] > 0
    assert run("verify").exit_code == 0
    path = next(tmp_path.rglob("*.block"))
    path.write_bytes(b"")
    failed = run("verify", "--json")
    assert failed.exit_code == 1 and json.loads(failed.stdout)["damaged"] == [str(path)]
    assert run("clear", url).exit_code == 0
    assert json.loads(run("ls", "--json").stdout)["files"] == []
