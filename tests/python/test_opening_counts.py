"""The documented requests and round trips of opening a file are those that are measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "bench"))
import opening_counts  # noqa: E402

DOCUMENTED = REPOSITORY / "docs" / "benchmarks" / "results" / "opening.md"
ATTEMPTS = 3


def test_the_documented_round_trips_are_those_measured() -> None:
    pytest.importorskip("uproot")
    if (lack := opening_counts.missing()) is not None:
        pytest.skip(f"openings are not counted: {lack}")
    documented = [line for line in DOCUMENTED.read_text().splitlines() if line.startswith("| ")]
    missing = {(row, place) for row, line in enumerate(documented) for place in range(line.count("|"))}
    # On a machine with much load, an answer may arrive so late that a wait counts twice.
    for _ in range(ATTEMPTS):
        lines = opening_counts.table(opening_counts.measure()).splitlines()
        assert len(lines) == len(documented)
        for row, (line, expected) in enumerate(zip(lines, documented, strict=True)):
            cells = zip(line.split("|"), expected.split("|"), strict=True)
            missing -= {(row, place) for place, (cell, one) in enumerate(cells) if cell == one}
        if not missing:
            break
    assert not missing, lines
