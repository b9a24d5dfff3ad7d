"""What becomes of the pages of a local file in the memory of the operating system."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import sapwood
from sapwood.errors import UsageError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pages are counted with mincore of Linux")


def resident(path: Path) -> float:
    """The share of the file's pages that are in memory."""
    size = path.stat().st_size
    pages = (ctypes.c_ubyte * (-(-size // mmap.PAGESIZE)))()
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ, flags=mmap.MAP_SHARED) as view,
    ):
        address = np.frombuffer(view, np.uint8).ctypes.data
        assert (
            ctypes.CDLL(None, use_errno=True).mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), pages)
            == 0
        )
    return sum(page & 1 for page in pages) / len(pages)


def drop(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path, numbers = tmp_path / "in.root", np.random.default_rng(1)
    with sapwood.recreate(path) as file:
        file["Events"] = {f"x{column}": numbers.random(200_000) for column in range(8)}
    drop(path)
    if resident(path) > 0.1:
        pytest.skip("this file system keeps all pages")
    return path


def test_pages_stay_unless_they_are_to_be_dropped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(**options: str) -> None:
        with sapwood.open(f"{path}:Events", **options) as tree:
            assert tree.arrays().x3[0] == tree["x3"].array()[0]
            for step in tree.iterate(["x1", "x2"], step_size=20_000):
                assert len(step) == 20_000

    def after_reading(**options: str) -> float:
        drop(path)
        read(**options)
        # The last 64 MB are dropped with the file and its trees.
        gc.collect()
        return resident(path)

    assert after_reading() > 0.9
    assert after_reading(page_cache="drop") < 0.1
    monkeypatch.setenv("SAPWOOD_PAGE_CACHE", "drop")
    assert after_reading() < 0.1
    assert after_reading(page_cache="keep") > 0.9


def test_other_words_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="'page_cache' must be 'keep' or 'drop', not 'some'"):
        sapwood.open(path, page_cache="some")
    monkeypatch.setenv("SAPWOOD_PAGE_CACHE", "some")
    with pytest.raises(UsageError, match="SAPWOOD_PAGE_CACHE must be"):
        sapwood.open(path)
