"""Files of the corpus, written anew: every branch stays as it was.

`repacked.py`, run by itself, compares all files in all layouts.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus import CORPUS
from repacked import LAYOUTS, check, files

pytestmark = [
    pytest.mark.skipif(not (CORPUS / "files").is_dir(), reason=f"no corpus in {CORPUS} (set SAPWOOD_CORPUS)"),
    pytest.mark.filterwarnings("ignore"),
]

# Large ones take long to compare; what is peculiar is in small ones.
SMALL = [path for path in files() if path.stat().st_size < 100_000] if (CORPUS / "files").is_dir() else []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_branch_is_as_it_was(layout: str, tmp_path: Path) -> None:
    assert len(SMALL) > 50
    # Each layout meets a part of the files, all layouts together meet all of them.
    some = SMALL[list(LAYOUTS).index(layout) % 2 :: 2]
    wrong = {path.name: found for path in some if (found := check(path, layout, tmp_path))}
    assert not wrong
