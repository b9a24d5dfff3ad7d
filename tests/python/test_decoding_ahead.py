"""Loops decode as many windows ahead as measured times ask for, within the budget, or as the caller says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood import Caching, errors
from sapwood.lazy import reader
from sapwood.lazy.depth import Depth

MB = 1_000_000


def small() -> float:
    return MB


@pytest.mark.parametrize(
    ("decoding", "using", "threads", "window_bytes", "windows"),
    [
        (0.0, 0.0, 8, small, 1),
        (1.0, 0.0, 8, small, 1),
        (1.0, 2.0, 8, small, 1),
        (3.0, 2.0, 8, small, 2),
        (9.0, 2.0, 8, small, 5),
        (9.0, 0.01, 8, small, 8),
        (9.0, 0.01, 8, lambda: 20.0 * MB, 3),
        (9.0, 0.01, 8, lambda: 100.0 * MB, 1),
        (9.0, 0.01, 2, small, 2),
    ],
)
def test_one_window_is_ready_whenever_one_is_used_up(
    decoding: float, using: float, threads: int, window_bytes: Callable[[], float], windows: int
) -> None:
    depth = Depth(threads, 64 * MB)
    for _ in range(3):
        depth.note_decoding(decoding)
        depth.note_use(using)
    assert depth.windows(window_bytes) == windows


def test_late_times_count_more_than_old_ones() -> None:
    depth = Depth(8, 64 * MB)
    depth.note_use(1.0)
    depth.note_decoding(8.0)
    assert depth.windows(small) == 8
    for _ in range(12):
        depth.note_decoding(0.5)
    assert depth.windows(small) == 1


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The windows that are decoded ahead, in order."""
    found: list[int] = []
    at_once = threading.Lock()
    touch = reader.LazyReader.touch

    def noted(self: Any, names: Any, window: int) -> None:
        with at_once:
            found.append(window)
            touch(self, names, window)

    monkeypatch.setattr(reader.LazyReader, "touch", noted)
    monkeypatch.setattr(reader, "in_background", lambda work: work())
    return found


@pytest.mark.parametrize(("ahead", "first"), [(0, []), (1, [1]), (2, [1, 2]), (99, None)])
def test_so_many_windows_are_decoded_ahead(
    events_file: Path, touched: list[int], ahead: int, first: list[int] | None
) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        expected = tree.arrays(["met"], how=dict)["met"].to_list()
        events = tree.events(caching=Caching(memory="64 kB", ahead=ahead))
        after = list(range(1, len(events.windows)))
        assert len(after) > 2
        assert [met for chunk in events.chunks() for met in chunk.met] == expected
        # Which columns are in use is known once the first window was used.
        assert touched == ([] if ahead == 0 else after)
        touched.clear()
        next(events.chunks())
        assert touched == ([] if ahead == 0 else [0, *(after if first is None else first)])


def test_the_first_window_is_read_together_with_a_profile(
    events_file: Path, touched: list[int], tmp_path: Path
) -> None:
    profile = tmp_path / "profile.json"
    for expected in ([], [0]):
        with sapwood.open(f"{events_file}:Events") as tree:
            for chunk in tree.events(profile=profile).chunks():
                assert touched[:1] == expected
                assert len(chunk.met) == len(chunk.nMuon)
        touched.clear()


def test_the_number_of_windows_is_checked(events_file: Path) -> None:
    with (
        sapwood.open(f"{events_file}:Events") as tree,
        pytest.raises(errors.UsageError, match="'ahead' must be at least 0"),
    ):
        tree.events(caching=Caching(ahead=-1))
