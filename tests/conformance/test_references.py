"""Entries of the corpus that hold references: ROOT reads the same objects from them in every layout."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from corpus import CORPUS

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from references import differences
from root_peer import build_folder, needs_root

pytestmark = pytest.mark.skipif(
    not (CORPUS / "files").is_dir(), reason=f"no corpus in {CORPUS} (set SAPWOOD_CORPUS)"
)

BDSIM = ["Run", "Event"]
FILES = {
    "skhep__uproot-issue371.root": BDSIM,
    "skhep__uproot-issue399.root": BDSIM,
    "skhep__uproot-issue403.root": BDSIM,
    "skhep__uproot-issue404.root": BDSIM,
    "skhep__uproot-issue468.root": BDSIM,
    "skhep__uproot-issue494.root": BDSIM,
    "skhep__uproot-issue-1229.root": ["tree"],
    "skhep__uproot-issue213.root": ["T"],
    "skhep__uproot-issue475.root": ["Meta/navigator"],
    "skhep__uproot-issue485.root": ["MCTrack", "MCParticle"],
    "uproot5-hist__dev__custom-interpretation__tiny_reader__gen-data__example__5e4d06be.root": ["my_tree"],
}
"""All files in whose entries a class is named, but one that ROOT does not survive, and the trees."""


def test_root_reads_the_same_objects_in_every_layout(tmp_path: Path) -> None:
    python, method = needs_root(), multiprocessing.get_context("spawn")
    build = build_folder(python)
    with ProcessPoolExecutor(os.cpu_count(), method) as pool:
        found = {
            name: pool.submit(differences, python, CORPUS / "files" / name, trees, tmp_path / name, build)
            for name, trees in FILES.items()
        }
        assert {name: future.result() for name, future in found.items()} == {name: [] for name in FILES}
