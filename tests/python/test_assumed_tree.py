"""A tree at the end of a remote file is read while the list of keys is fetched from elsewhere in the file."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sapwood
from sapwood import errors

uproot = pytest.importorskip("uproot")

JUNK = bytes(600_000)


class Server(http.server.BaseHTTPRequestHandler):
    """Answers one range."""

    content = b""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        first, last = self.headers["Range"].split("=")[1].split(",")[0].split("-")
        size = len(self.content)
        start = int(first) if first else max(0, size - int(last))
        stop = min(int(last) + 1, size) if first else size
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        self.wfile.write(self.content[start:stop])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/f.root"
        server.shutdown()


def written(folder: Path, entries: int) -> tuple[bytes, int, int]:
    """A file with a tree of this many entries, where the tree's record lies, and how long that is."""
    path = folder / f"{entries}.root"
    with uproot.recreate(path, compression=None) as file:
        tree = file.mktree("t", {"x": "i4", "y": "f8"})
        tree.extend({"x": np.arange(entries, dtype="i4"), "y": np.arange(entries, dtype="f8")})
    with uproot.open(path) as file:
        key = file.key("t")
        return path.read_bytes(), key.fSeekKey, key.fNbytes


def move(keys: bytearray, at: int, offset: int) -> None:
    """Lets a key say that its record lies elsewhere."""
    width = 8 if int.from_bytes(keys[at + 4 : at + 6], "big") > 1000 else 4
    keys[at + 18 : at + 18 + width] = offset.to_bytes(width, "big")


def far_keys(folder: Path, named: int, tail: int) -> bytes:
    """A file whose list of keys lies between two others, and names a tree of ``named`` entries.

    At its end is the record of a tree of ``tail`` entries: that tree, or one that was deleted. Both trees
    have their baskets where they had them in files of their own.
    """
    file, _, _ = written(folder, named)
    other, other_seek, other_length = written(folder, tail)
    record = bytearray(other[other_seek : other_seek + other_length])
    with uproot.open(folder / f"{named}.root") as opened:
        keys_at, keys_length = opened._fSeekKeys, opened._fNbytesKeys
        directory_at = opened.file.fBEGIN + opened._fNbytesName
    keys = bytearray(file[keys_at : keys_at + keys_length])
    body = bytearray(file + JUNK)
    new_keys, new_tree = len(body), len(body) + keys_length + len(JUNK)
    move(record, 0, new_tree)
    if tail == named:
        name = keys.index(b"\x05TTree\x01t")
        # Before the name: offsets of 4 bytes, or of 8.
        wide = int.from_bytes(keys[name - 30 : name - 28], "big") > 1000
        move(keys, name - (34 if wide else 26), new_tree)
    move(keys, 0, new_keys)
    # fSeekKeys: behind version, two dates, two lengths and two offsets. fEND: behind magic, version, fBEGIN.
    wide = int.from_bytes(body[directory_at : directory_at + 2], "big") > 1000
    at = directory_at + 18 + (16 if wide else 8)
    width = 8 if wide else 4
    body[at : at + width] = new_keys.to_bytes(width, "big")
    body += keys + JUNK + record
    body[12:16] = len(body).to_bytes(4, "big")
    return bytes(body)


def test_a_tree_at_the_end_is_read_with_one_turnaround_fewer(tmp_path: Path, url: str) -> None:
    Server.content = far_keys(tmp_path, named=50_000, tail=50_000)
    with sapwood.open(url) as file:
        assert file.likely_tree("t") is not None and file.likely_tree("u") is None

    def round_trips() -> int:
        with sapwood.open(f"{url}:t") as tree:
            arrays = tree.arrays(["x", "y"], library="np")
            assert_array_equal(arrays["x"], np.arange(50_000))
            # Its keys were not there when it was opened.
            assert tree.file.likely_tree("t") is None
            report = tree.file.report()
            assert report.unplanned_reads == 0
            assert tree.num_entries == 50_000 and tree.file.keys(cycle=False) == ["t"]
            assert tree.object_path == "/t;1"
            return report.round_trips

    # On a busy machine, the answers to requests that were sent together may come one after the other.
    assert any(round_trips() <= 3 for _ in range(5))


def test_the_list_of_keys_has_the_last_word(tmp_path: Path, url: str) -> None:
    Server.content = far_keys(tmp_path, named=60_000, tail=40_000)
    with sapwood.open(f"{url}:t") as tree:
        assert_array_equal(tree.arrays("x", library="np")["x"], np.arange(60_000))
        assert_array_equal(tree["y"].array(library="np"), np.arange(60_000))
    for look in (lambda tree: tree.num_entries, lambda tree: len(tree["x"].array(library="np"))):
        with sapwood.open(f"{url}:t") as tree:
            assert look(tree) == 60_000


def test_failures_after_assumptions_are_retried(tmp_path: Path, url: str) -> None:
    Server.content = far_keys(tmp_path, named=60_000, tail=40_000)
    with sapwood.open(f"{url}:t") as tree:
        # Beyond the end of the one, but not of the other.
        assert len(tree.arrays("x", entry_start=50_000, library="np")["x"]) == 10_000
        with pytest.raises(errors.KeyInFileError):
            tree.arrays("z")


def test_a_tree_without_a_key_does_not_exist(tmp_path: Path, url: str) -> None:
    content = bytearray(far_keys(tmp_path, named=60_000, tail=40_000))
    keys = content.index(b"\x05TTree\x01t", 1_000_000)
    content[keys + 7 : keys + 8] = b"u"
    Server.content = bytes(content)
    with sapwood.open(f"{url}:t") as tree, pytest.raises(errors.KeyInFileError):
        tree.arrays("x")
    with sapwood.open(url) as file:
        assert file.keys(cycle=False) == ["u"]
        assert os.fspath(file.file_path) == url
