"""The file that tests of several places read: large enough to be read from several at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

ENTRIES = 1_500_000


def make(path: Path, offset: float = 0.0) -> bytes:
    """Writes the file, and returns its bytes; with an offset, another one of the same size."""
    uproot = pytest.importorskip("uproot")
    with uproot.recreate(path, compression=None) as file:
        tree = file.mktree("t", {"x": "f8", "y": "f8"})
        for start in range(0, ENTRIES, ENTRIES // 6):
            values = np.arange(start, start + ENTRIES // 6, dtype="f8") + offset
            tree.extend({"x": values, "y": -values})
    return path.read_bytes()


def check(tree: Any) -> None:
    arrays = tree.arrays(library="np", deadline=60)
    assert_array_equal(arrays["x"], np.arange(ENTRIES, dtype="f8"))
    assert_array_equal(arrays["y"], -np.arange(ENTRIES, dtype="f8"))
