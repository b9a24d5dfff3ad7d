"""Files of the corpus whose entries hold references: ROOT reads the same objects from them in every layout."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from corpus import CORPUS

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from references import Original
from root_peer import needs_root

pytestmark = pytest.mark.skipif(
    not (CORPUS / "files").is_dir(), reason=f"no corpus in {CORPUS} (set SAPWOOD_CORPUS)"
)

FILES = {
    "skhep__uproot-issue-1229.root": ["tree"],
    "skhep__uproot-issue213.root": ["T"],
    "skhep__uproot-issue404.root": ["Run", "Event"],
    "skhep__uproot-issue475.root": ["Meta/navigator"],
    "skhep__uproot-issue485.root": ["MCTrack", "MCParticle"],
    "uproot5-hist__dev__custom-interpretation__tiny_reader__gen-data__example__5e4d06be.root": ["my_tree"],
}
"""All kinds that there are, with the trees that hold them; `make references` takes the rest of each kind, too."""

MORE = {
    "skhep__uproot-issue371.root": ["Run", "Event"],
    "skhep__uproot-issue399.root": ["Run", "Event"],
    "skhep__uproot-issue403.root": ["Run", "Event"],
    "skhep__uproot-issue468.root": ["Run", "Event"],
    "skhep__uproot-issue494.root": ["Run", "Event"],
}


@pytest.mark.parametrize("name", FILES)
def test_root_reads_the_same_objects_in_every_layout(name: str, tmp_path: Path) -> None:
    original = Original(needs_root(), CORPUS / "files" / name, FILES[name], tmp_path)
    assert original.objects is not None
    assert list(original.differences()) == []
