"""Files of the corpus, repacked and merged: `repacked.py` finds every branch unchanged."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from corpus import CORPUS
from root_peer import python_with_root

if not (CORPUS / "files").is_dir():
    pytest.skip(f"no corpus in {CORPUS} (set SAPWOOD_CORPUS)", allow_module_level=True)

from repacked import LAYOUTS, check_all  # imports a module of the corpus

SMALL = 100_000


def layouts(path: Path) -> list[str]:
    """All for small files, where what is peculiar is; two for each of the others, which take longer."""
    if path.stat().st_size < SMALL:
        return list(LAYOUTS)
    cut, *others = LAYOUTS
    return [cut, others[zlib.crc32(path.name.encode()) % len(others)]]


def test_every_branch_of_the_corpus_is_as_it_was() -> None:
    outcome = check_all((CORPUS / "files").iterdir(), layouts)
    assert not outcome.wrong, "\n".join(outcome.wrong[:50])
    assert outcome.counted["files"] > 150
    assert outcome.counted["branches as columns"] > 80_000
    assert outcome.counted["branches as bytes"] > 1_000
    if python_with_root():
        assert outcome.counted["branches by ROOT"] > 40_000
        assert outcome.counted["trees that ROOT does not survive"] == 0
