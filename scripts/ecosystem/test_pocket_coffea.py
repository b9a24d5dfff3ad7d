"""What PocketCoffea counts the events of private files with; the events themselves, coffea reads for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

dataset = pytest.importorskip("pocket_coffea.utils.dataset")


def sample() -> Any:
    """A sample that asks no server for its files."""
    return dataset.Sample.__new__(dataset.Sample)


def test_events_are_counted(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "events.root") as file:
        file.mktree("Events", {"event": "uint64"}).extend({"event": np.arange(1234, dtype="u8")})
    assert sample().get_entries_uproot(str(tmp_path / "events.root")) == 1234


def test_files_without_events_count_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with uproot.recreate(tmp_path / "runs.root") as file:
        file.mktree("Runs", {"run": "uint32"}).extend({"run": np.arange(3, dtype="u4")})
    assert sample().get_entries_uproot(str(tmp_path / "runs.root")) == 0
    assert "Error reading" in capsys.readouterr().out
