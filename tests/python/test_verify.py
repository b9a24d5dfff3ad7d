"""`sapwood.verify` finds damage of every kind, with position and cost, and none in sound files."""

from __future__ import annotations

import random
import re
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import http_fake as web
import nano_like
import numpy as np
import pytest

import sapwood
from sapwood import errors
from sapwood.report.layout import Basket, layout_of
from sapwood.report.verifying import FileReport, VerifyProgress

EVENTS, CLUSTERS = 3000, 3
CODECS = ["zlib:1", "lzma:1", "lz4:1", "zstd:1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("verify")


def written(path: Path, compression: str) -> Path:
    """A file with a flat, a jagged and a counter branch in three clusters, and an object in a directory."""
    if not path.exists():
        numbers = np.random.default_rng(1)
        with sapwood.recreate(path, compression=compression) as file:
            columns = {"x": numbers.integers(0, 50, EVENTS) / 4, "event": np.arange(EVENTS)}
            jagged = pytest.importorskip("awkward").unflatten(
                numbers.integers(0, 9, 2 * EVENTS).astype("i4"), np.full(EVENTS, 2)
            )
            types = {"x": "f8", "event": "i8", "hits": "var * int32"}
            tree = file.mktree("dir/t", types, cluster_entries=EVENTS // CLUSTERS)
            tree.extend(columns | {"hits": jagged})
    return path


def baskets(path: Path, tree: str = "dir/t") -> list[tuple[str, int, Basket]]:
    """Branch, number, and place of all baskets of a file."""
    with sapwood.open({path: tree}) as found:
        branches = layout_of(found).branches
    return [(one.name, place, basket) for one in branches for place, basket in enumerate(one.baskets)]


def damaged(source: Path, name: str, offset: int, new: bytes) -> Path:
    """A copy of a file with other bytes at a place."""
    copy = source.with_name(name)
    shutil.copy(source, copy)
    with copy.open("r+b") as file:
        file.seek(offset)
        file.write(new)
    return copy


def checked(path: Path, **options: Any) -> FileReport:
    (report,) = sapwood.verify(path, **options).files
    return report


def key(content: bytes, offset: int) -> tuple[int, int]:
    """Bytes of the record at an offset, and of its key."""
    nbytes, _, _, _, key_len = struct.unpack_from(">ihiih", content, offset)
    return nbytes, key_len


@pytest.mark.parametrize("compression", [*CODECS, "none"])
def test_a_sound_file_is_sound_and_read_once(folder: Path, compression: str) -> None:
    path = written(folder / f"{compression.replace(':', '')}.root", compression)
    report = checked(path)
    assert report.ok and not report.findings and report.error is None
    assert report.checked_bytes == report.size == path.stat().st_size
    assert report.fetched_bytes <= 1.02 * report.size + 300_000
    (tree,) = report.trees
    assert (tree.path, tree.entries, tree.lost) == ("dir/t", EVENTS, {})
    assert tree.baskets == len(baskets(path))
    if compression == "none":
        assert report.checksummed_bytes < report.size / 4
    elif compression != "zstd:1":
        assert report.checksummed_bytes > report.size / 2


@pytest.mark.parametrize("compression", CODECS)
def test_a_damaged_payload_costs_the_entries_of_its_basket(folder: Path, compression: str) -> None:
    path = written(folder / f"{compression.replace(':', '')}.root", compression)
    for branch, number, basket in baskets(path)[::2]:
        middle = basket.offset + basket.nbytes * 3 // 4
        content = path.read_bytes()
        copy = damaged(
            path, "payload.root", middle, bytes(255 - byte for byte in content[middle : middle + 8])
        )
        (finding,) = checked(copy).damage
        assert (finding.path, finding.branch, finding.basket) == ("dir/t;1", branch, number)
        assert (finding.offset, finding.length) == (basket.offset, basket.nbytes)
        stop = basket.first_entry + basket.num_entries
        assert finding.entries == (basket.first_entry, stop)
        (tree,) = checked(copy).trees
        assert tree.lost == {branch: ((basket.first_entry, stop),)}
        assert tree.lost_in_any == ((basket.first_entry, stop),)


def test_a_damaged_key_of_a_basket_does_not_hide_what_follows(folder: Path) -> None:
    path = written(folder / "zstd1.root", "zstd:1")
    first, second, *_ = sorted(baskets(path), key=lambda one: one[2].offset)
    copy = damaged(path, "key.root", first[2].offset, bytes(20))
    copy = damaged(copy, "keys.root", second[2].offset + second[2].nbytes - 5, b"\xff\0\xff\0\xff")
    found = [(finding.branch, finding.basket) for finding in checked(copy).damage]
    assert found == [(first[0], first[1]), (second[0], second[1])]


def test_two_baskets_in_each_others_places_are_found(folder: Path) -> None:
    path = written(folder / "none.root", "none")
    content = path.read_bytes()
    by_name = {(branch, number): basket for branch, number, basket in baskets(path)}
    one, other = by_name["x", 0], by_name["x", 1]
    assert one.nbytes == other.nbytes
    copy = damaged(path, "once.root", one.offset, content[other.offset :][: other.nbytes])
    copy = damaged(copy, "swapped.root", other.offset, content[one.offset :][: one.nbytes])
    assert {(f.branch, f.basket) for f in checked(copy).damage} == {("x", 0), ("x", 1)}


def test_a_flipped_bit_in_uncompressed_values_cannot_be_found(folder: Path) -> None:
    path = written(folder / "none.root", "none")
    (_, _, basket) = next(one for one in baskets(path) if one[0] == "x")
    copy = damaged(path, "flipped.root", basket.offset + basket.nbytes // 2, b"\x55")
    report = checked(copy)
    assert report.ok and report.checksummed_bytes < report.size / 4


def test_offsets_of_entries_that_go_backwards_are_found(folder: Path) -> None:
    path = written(folder / "none.root", "none")
    (_, number, basket) = next(one for one in baskets(path) if one[0] == "hits")
    copy = damaged(path, "offsets.root", basket.offset + basket.nbytes - 40, b"\x7f\xff\xff\xff")
    (finding,) = checked(copy).damage
    assert (finding.branch, finding.basket) == ("hits", number)


def test_a_count_that_differs_from_the_lists_that_it_counts_is_found(folder: Path) -> None:
    """Nothing else would show it: the lists carry offsets of their own, and nothing is compressed."""
    path = written(folder / "none.root", "none")
    (_, number, basket) = next(one for one in baskets(path) if one[0] == "nhits")
    content = path.read_bytes()
    nbytes, key_len = key(content, basket.offset)
    assert nbytes == basket.nbytes
    copy = damaged(path, "count.root", basket.offset + key_len + 4 * 17, struct.pack(">i", 3))
    (finding,) = checked(copy).damage
    assert (finding.branch, finding.basket) == ("hits", number)
    assert f"items of entry {basket.first_entry + 17} differs from 'nhits'" in finding.message


def test_damage_of_the_structure_is_found(folder: Path) -> None:
    path = written(folder / "none.root", "none")
    content = path.read_bytes()
    seek_info, nbytes_info = struct.unpack_from(">ii", content, 37)
    copy = damaged(path, "info.root", seek_info + nbytes_info // 2, b"\xff" * 64)
    assert any("StreamerInfo" in f.path or "streamer" in f.path for f in checked(copy).damage)
    with sapwood.open(path) as file:
        directory = file.key("dir").offset if hasattr(file, "key") else content.index(b"TDirectory") - 27
    nbytes, key_len = key(content, directory)
    copy = damaged(path, "directory.root", directory + key_len + 10, b"\xff" * (nbytes - key_len - 10))
    report = checked(copy)
    assert any(f.path.startswith("dir") for f in report.damage)


def test_a_damaged_list_of_keys_costs_the_file(folder: Path) -> None:
    path = written(folder / "zstd1.root", "zstd:1")
    content = path.read_bytes()
    begin, nbytes_name = struct.unpack_from(">i", content, 8)[0], struct.unpack_from(">i", content, 28)[0]
    seek_keys = struct.unpack_from(">i", content, begin + nbytes_name + 26)[0]
    copy = damaged(path, "keylist.root", seek_keys, bytes(200))
    report = checked(copy)
    assert "cannot be opened" in report.damage[0].message
    assert report.damage[0].offset == seek_keys
    assert report.checked_bytes == report.size


def test_a_wrong_number_of_entries_of_a_tree_is_found(folder: Path) -> None:
    path = written(folder / "none.root", "none")
    content = path.read_bytes()
    at = [i for i in range(len(content) - 8) if content[i : i + 8] == struct.pack(">q", EVENTS)]
    for place in at:
        copy = damaged(path, "entries.root", place, struct.pack(">q", EVENTS + 7))
        report = checked(copy)
        if any("says 3007 entries" in f.message for f in report.damage):
            break
    else:
        pytest.fail("no change of a number of entries was found")
    assert report.damage[0].path == "dir/t;1"


@pytest.mark.parametrize("part", [0.2, 0.6, 0.95])
def test_a_file_that_was_cut_off_is_found(folder: Path, part: float) -> None:
    path = written(folder / "zlib1.root", "zlib:1")
    copy = folder / "cut.root"
    copy.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])
    report = checked(copy)
    assert not report.ok and report.damage[0].code in ("truncated", "corrupt")


def test_zeros_anywhere_cost_exactly_the_baskets_that_they_overlap(folder: Path) -> None:
    """As a disk or a copy that lost a block leaves them."""
    nano = pytest.importorskip("uproot") and _nano(folder)
    choice = random.Random(11)
    listed = baskets(nano, "Events")
    content = nano.read_bytes()
    last = max(basket.offset + basket.nbytes for _, _, basket in listed)
    for _ in range(8):
        at = choice.randrange(min(basket.offset for _, _, basket in listed), last - 4096)
        copy = damaged(nano, "zeros.root", at, bytes(4096))
        (report,) = sapwood.verify(copy).files
        found = {(f.branch, f.basket) for f in report.damage if f.branch}
        changed = {
            (branch, number)
            for branch, number, basket in listed
            if at < basket.offset + basket.nbytes
            and basket.offset < at + 4096
            and any(content[max(at, basket.offset) : min(at + 4096, basket.offset + basket.nbytes)])
        }
        assert found <= changed, "nothing that is sound is called damaged"
        # Zstandard frames without a checksum may lose some bytes unnoticed, but hardly ever a whole one.
        assert len(found) >= 0.8 * len(changed)
        (tree,) = report.trees
        assert set(tree.lost) == {branch for branch, _ in found}


def _nano(folder: Path) -> Path:
    path = folder / "nano.root"
    if not path.exists():
        nano_like.write(path, 2000)
    return path


def test_only_a_chosen_tree_is_read(folder: Path) -> None:
    path = folder / "two.root"
    with sapwood.recreate(path) as file:
        file["small"] = {"a": np.arange(10)}
        file["large"] = {"b": np.random.default_rng(1).normal(size=100_000)}
    report = checked(path, trees="small")
    assert report.ok and [tree.path for tree in report.trees] == ["small"]
    assert report.checked_bytes < 10_000
    assert sapwood.verify(f"{path}:small").ok
    with pytest.raises(errors.UsageError):
        sapwood.verify(b"root")
    missing = checked(path, trees="none")
    assert isinstance(missing.error, errors.KeyInFileError)


def test_a_file_that_is_not_there_or_no_root_file_does_not_end_the_others(folder: Path) -> None:
    path, text = written(folder / "zlib1.root", "zlib:1"), folder / "notes.root"
    text.write_text("these are notes")
    report = sapwood.verify([str(folder / "nothing.root"), str(text), str(path)])
    assert [file.ok for file in report.files] == [False, False, True]
    assert isinstance(report.files[0].error, errors.FileNotFoundError)
    assert report.files[1].damage[0].code == "not-root"
    assert not report and not report.ok and "cannot be opened" in str(report)


def test_progress_ends_at_all_bytes_and_its_errors_are_raised(folder: Path) -> None:
    path = written(folder / "zlib1.root", "zlib:1")
    seen: list[VerifyProgress] = []
    checked(path, progress=seen.append)
    assert (seen[-1].done, seen[-1].total, seen[-1].files) == (path.stat().st_size, path.stat().st_size, 1)

    def fail(_: VerifyProgress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        sapwood.verify(path, progress=fail)


def test_a_distant_file_is_checked_like_a_near_one(folder: Path) -> None:
    path = written(folder / "zstd1.root", "zstd:1")
    basket = baskets(path)[0][2]
    copy = damaged(path, "far.root", basket.offset + basket.nbytes // 2, bytes(16))
    for file in (path, copy):
        with web.FakeServer(file.read_bytes()) as server:
            (far,) = sapwood.verify(server.url).files
        near = checked(file)
        assert [(f.offset, f.message) for f in far.findings] == [(f.offset, f.message) for f in near.findings]
        assert far.checked_bytes == near.checked_bytes
        assert far.fetched_bytes <= 1.02 * far.size + 600_000


def test_a_server_that_falls_silent_ends_at_the_deadline(folder: Path) -> None:
    path = folder / "silent.root"
    with sapwood.recreate(path, compression="none") as file:
        file["t"] = {"x": np.random.default_rng(1).normal(size=2_000_000)}
    with web.FakeServer(path.read_bytes()) as server:

        def behave(request: web.Request) -> web.Misdeed | None:
            middle = re.match(r"bytes=(\d{7,})-", request.headers.get("range", ""))
            return web.silence if middle and int(middle[1]) < 12_000_000 else None

        server.behave = behave
        began = time.monotonic()
        (report,) = sapwood.verify(server.url, deadline=1).files
    assert time.monotonic() - began < 10
    assert isinstance(report.error, errors.DeadlineError) and not report.ok


def test_memory_does_not_grow_with_the_file(folder: Path) -> None:
    path = folder / "large.root"
    numbers = np.random.default_rng(3)
    with sapwood.recreate(path, compression="none") as file:
        tree = file.mktree("t", {"x": "f8"})
        for _ in range(40):
            tree.extend({"x": numbers.normal(size=1_000_000)})
    assert path.stat().st_size > 300_000_000
    program = (
        "import sys, sapwood; from sapwood.studies.tune.measure import peak_bytes;"
        "sapwood.verify(sys.argv[2]);"
        "before = peak_bytes();"
        "assert sapwood.verify(sys.argv[1]).ok;"
        "print(peak_bytes() - before)"
    )
    small = written(folder / "zlib1.root", "zlib:1")
    command = [sys.executable, "-c", program, str(path), str(small)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    path.unlink()
    assert int(answer.stdout) < 128_000_000


def test_baskets_in_another_file_are_checked_there(tmp_path: Path) -> None:
    """`far` has its baskets in `baskets/far.root`; ROOT wrote the files (tests/data/trees)."""
    shutil.copytree(Path(__file__).parents[1] / "data" / "trees", tmp_path / "trees")
    near, far = tmp_path / "trees" / "away.root", tmp_path / "trees" / "baskets" / "far.root"
    assert checked(near).ok
    content = far.read_bytes()
    basket = content.index(b"\x07TBasket") - 34  # a key with wide offsets
    nbytes, _ = key(content, basket)
    far.write_bytes(content[:basket] + bytes(nbytes) + content[basket + nbytes :])
    report = checked(near)
    (finding,) = report.damage
    assert (finding.branch, finding.basket, finding.offset) == ("far", 0, basket)
    assert report.trees[0].lost == {"far": (finding.entries,)}
    far.unlink()
    (finding,) = checked(near).damage
    assert finding.code == "not-found" and "far.root" in finding.message
    assert checked(near).trees[0].lost == {"far": ((0, 100),)}
