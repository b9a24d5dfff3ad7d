"""`convert` holds a few steps in memory, not the whole tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import uproot

PEAK = """
import sys
sys.argv[0] = "sapwood"
from sapwood.cli.main import main
from sapwood.studies.tune.measure import peak_bytes
import pyarrow.parquet, pyarrow.csv, numpy
before = peak_bytes()
try:
    main()
finally:
    print(peak_bytes() - before)
"""
MEGABYTES, CLUSTERS = 320, 40


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of 320 MB in 40 clusters."""
    path = tmp_path_factory.mktemp("large") / "large.root"
    entries = MEGABYTES * 1_000_000 // 8 // 4 // CLUSTERS
    columns = {name: np.random.default_rng(1).normal(size=entries) for name in "abcd"}
    with uproot.recreate(path, compression=None) as file:
        tree = file.mktree("t", dict.fromkeys(columns, "float64"))
        for _ in range(CLUSTERS):
            tree.extend(columns)
    return path


@pytest.mark.parametrize("suffix", ["parquet", "feather", "npz"])
def test_memory_is_bounded(large: Path, tmp_path: Path, suffix: str) -> None:
    command = [
        sys.executable,
        "-c",
        PEAK,
        "convert",
        f"{large}:t",
        f"{tmp_path}/out.{suffix}",
        "--step-size",
        "10 MB",
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    grown = int(done.stdout.split()[-1]) / 1e6
    assert (tmp_path / f"out.{suffix}").stat().st_size > MEGABYTES * 800_000
    # Arrow keeps freed memory for some time.
    assert grown < 0.75 * MEGABYTES, f"{grown:.0f} MB for steps of 10 MB"
