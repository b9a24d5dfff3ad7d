"""Repacking when something fails, and from one server to another."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import s3_server
import xrootd_server
from http_fake import FakeServer, answer, silence

import sapwood
from sapwood import _core
from sapwood.errors import FileNotFoundError, SapwoodError

pytest.importorskip("awkward")

LARGE = 200_000
no_s3 = pytest.mark.skipif(s3_server.missing() is not None, reason=f"no S3: {s3_server.missing()}")
no_xrootd = pytest.mark.skipif(
    xrootd_server.missing() is not None or not list(Path(_core.__file__ or "").parent.glob("_xrdcl*.so")),
    reason="root:// is not tested: no server or no client",
)


@pytest.fixture(scope="module")
def large() -> Iterator[Path]:
    """A tree of 3.2 MB in a file of its own folder, where the servers' users can read it."""
    random = np.random.default_rng(5)
    with tempfile.TemporaryDirectory(prefix="sapwood-") as name:
        Path(name).chmod(0o755)
        path = Path(name) / "large.root"
        with sapwood.recreate(path, compression="none") as file:
            tree = file.mktree("Events", {"x": "int64", "y": "int64"})
            for _ in range(10):
                tree.extend({column: random.integers(0, 2**63, LARGE // 10) for column in ("x", "y")})
        yield path


def columns(place: Any) -> dict[str, np.ndarray]:
    with sapwood.open(f"{place}:Events") as tree:
        return tree.arrays(library="np")


def same(one: Any, other: Any, times: int = 1) -> None:
    expected, found = columns(one), columns(other)
    assert all((np.tile(expected[name], times) == found[name]).all() for name in expected)


def run(
    code: str, *arguments: object, limit: tuple[int, int] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs Python with a limit of its own: which, and how much."""

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(limit[0], (limit[1], limit[1]))

    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, preexec_fn=limited, timeout=120
    )


def test_a_disk_that_is_full(large: Path, tmp_path: Path) -> None:
    """No room, here for a file of that length: the error says so, and what was there stays."""
    target = tmp_path / "out.root"
    target.write_bytes(b"old")
    code = "import sys, sapwood; sapwood.repack(sys.argv[1], sys.argv[2], overwrite=True)"
    done = run(code, large, target, limit=(resource.RLIMIT_FSIZE, 1_000_000))
    assert done.returncode == 1
    assert "longer than the file system or a limit" in done.stderr
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_leftovers_of_a_killed_process_are_removed_by_the_next(large: Path, tmp_path: Path) -> None:
    """A run that is killed leaves its temporary file; the same command starts clean, and takes it away."""
    target = tmp_path / "out.root"
    code = "import sys, sapwood; sapwood.merge([sys.argv[1]] * 40, sys.argv[2], compression='lzma:9')"
    child = subprocess.Popen([sys.executable, "-c", code, str(large), str(target)])
    deadline = time.monotonic() + 60
    while not (left := list(tmp_path.glob("*.part"))):
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.01)
    # It is being written: nobody else removes it, however old it seems.
    os.utime(left[0], (0, 0))
    sapwood.repack(large, target)
    assert left[0].exists()
    child.send_signal(signal.SIGKILL)
    child.wait()
    os.utime(left[0], (0, 0))
    sapwood.merge([large, large], target, overwrite=True)
    assert list(tmp_path.iterdir()) == [target]
    same(large, target, 2)


KEEPING = """
import functools, sys
from sapwood import _core
_core.repack = functools.partial(_core.repack, keep_every=0.0)
import sapwood
print(*sapwood.merge([sys.argv[1]] * 6, sys.argv[2], compression="none", overwrite=True).notes)
"""
"""Merges, and keeps at once what it did, where others do so every 10 seconds."""


def has_record(journal: Path) -> bool:
    """Whether all of the first record is there: behind 16 bytes, 24 with its length, and these."""
    content = journal.read_bytes()
    return len(content) >= 40 + int.from_bytes(content[16:24], "little") > 40


def killed_and_gone_on_with(large: Path, target: object, journals: Path) -> None:
    """Kills a merge once there is a journal, when the server has fallen silent, and merges again."""
    with FakeServer(large.read_bytes()) as server:
        server.behave = lambda _: silence if list(journals.glob("*.journal")) else None
        source = f"{server.url}/large.root"
        child = subprocess.Popen([sys.executable, "-c", KEEPING, source, str(target)])
        deadline = time.monotonic() + 60
        while not any(map(has_record, journals.glob("*.journal"))):
            assert time.monotonic() < deadline and child.poll() is None
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        child.wait()
        server.behave = lambda _: None
        done = run(KEEPING, source, target)
    assert "resumed an earlier run after" in done.stdout, done.stderr
    assert list(journals.glob("*.journal")) == []
    same(large, target, 6)


def test_a_killed_process_is_resumed(large: Path, tmp_path: Path) -> None:
    killed_and_gone_on_with(large, tmp_path / "out.root", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["out.root"]


def test_a_run_on_a_full_disk_is_resumed(large: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    target.write_bytes(b"old")
    done = run(KEEPING, large, target, limit=(resource.RLIMIT_FSIZE, 10_000_000))
    assert done.returncode == 1
    assert "longer than the file system or a limit" in done.stderr
    assert "to resume" in done.stderr
    assert target.read_bytes() == b"old"
    done = run(KEEPING, large, target)
    assert "resumed an earlier run after" in done.stdout, done.stderr
    assert list(tmp_path.iterdir()) == [target]
    same(large, target, 6)


def test_a_server_that_fails_in_the_middle(large: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    target.write_bytes(b"old")
    with FakeServer(large.read_bytes()) as server:
        source = sapwood.open({f"{server.url}/large.root": None})
        server.behave = lambda _: answer("403 Forbidden")
        with pytest.raises(SapwoodError) as caught:
            sapwood.repack(source, target, overwrite=True)
        source.close()
    assert "127.0.0.1" in str(caught.value)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_thousand_inputs_are_not_open_at_once(events_file: Path, tmp_path: Path) -> None:
    parts = [tmp_path / f"{number:04}.root" for number in range(1000)]
    for part in parts:
        os.link(events_file, part)
    code = "import sys, sapwood; print(sapwood.merge(sys.argv[1] + '/0*.root', sys.argv[2]).trees)"
    done = run(code, tmp_path, tmp_path / "out.root", limit=(resource.RLIMIT_NOFILE, 256))
    assert done.returncode == 0, done.stderr
    assert "1000000" in done.stdout


@no_s3
def test_from_http_to_s3(s3: s3_server.Server, large: Path) -> None:
    with FakeServer(large.read_bytes()) as server:
        report = sapwood.repack(f"{server.url}/large.root", "s3://data/repacked.root", compression="zstd:1")
    assert report.recompressed_baskets > 0
    same(large, "s3://data/repacked.root")


@no_s3
@no_xrootd
def test_from_root_to_s3(s3: s3_server.Server, large: Path) -> None:
    with xrootd_server.data_server(large.parent) as server:
        source = f"{server.url}//{large.name}"
        sapwood.repack(source, "s3://data/copied.root")
        sapwood.merge([source] * 20, "s3://data/merged.root")
    same(large, "s3://data/copied.root")
    same(large, "s3://data/merged.root", 20)


@no_s3
def test_a_source_that_fails_leaves_the_old_object(s3: s3_server.Server, large: Path) -> None:
    sapwood.repack(large, "s3://data/out.root", entry_stop=10)
    with FakeServer(large.read_bytes()) as server:
        source = sapwood.open({f"{server.url}/large.root": None})
        server.behave = lambda _: answer("403 Forbidden")
        with pytest.raises(SapwoodError):
            sapwood.repack(source, "s3://data/out.root", overwrite=True)
        source.close()
    assert len(columns("s3://data/out.root")["x"]) == 10


@no_s3
def test_an_upload_of_a_killed_process_is_resumed(
    s3: s3_server.Server, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    killed_and_gone_on_with(large, "s3://data/killed.root", tmp_path / "sapwood" / "uploads")


def test_inputs_of_a_server_are_opened_ahead(large: Path, tmp_path: Path) -> None:
    with FakeServer(large.read_bytes()) as server:
        sources = [f"{server.url}/{number}.root" for number in range(12)]
        sapwood.merge(sources, tmp_path / "out.root")
        same(large, tmp_path / "out.root", 12)
        server.behave = lambda request: answer("404 Not Found") if "/7.root" in request.path else None
        with pytest.raises(FileNotFoundError, match=r"/7\.root"):
            sapwood.merge(sources, tmp_path / "none.root")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.root"]
