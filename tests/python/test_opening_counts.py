"""The documented requests and round trips of opening a file are those that are measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "bench"))
import opening_counts  # noqa: E402

DOCUMENTED = REPOSITORY / "docs" / "benchmarks" / "results" / "opening.md"
ATTEMPTS = 6


def test_the_documented_round_trips_are_those_measured() -> None:
    pytest.importorskip("uproot")
    if (lack := opening_counts.missing()) is not None:
        pytest.skip(f"openings are not counted: {lack}")
    documented = [line for line in DOCUMENTED.read_text().splitlines() if line.startswith("| ")]
    # On a machine with much load, an answer may arrive so late that a wait counts twice, now in this row, now
    # in that one: each row has to be the documented one in one of the attempts.
    other: dict[str, str] = dict.fromkeys(documented, "")
    for _ in range(ATTEMPTS):
        lines = opening_counts.table(opening_counts.measure()).splitlines()
        rows = zip(documented, lines, strict=True)
        other = {line: found for line, found in rows if line in other and found != line}
        if not other:
            break
    assert not other, other
