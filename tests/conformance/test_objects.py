"""Every product of MiniAOD-like and xAOD-like files has the values that ROOT holds in memory.

The files hold what experiments store: bases, nested vectors, maps, strings, null pointers, pointers to
derived classes, variable arrays, Double32_t; split and unsplit, member-wise and object-wise.
objects/README.md says how they were made.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "bench"))

import objects_values  # noqa: E402

TREES = {"edm": "Events", "xaod": "CollectionTree"}
pytest.importorskip("awkward")


@pytest.mark.parametrize("name", TREES)
def test_every_product_has_the_values_of_root(name: str) -> None:
    expected = json.loads(gzip.decompress((HERE / "objects" / f"{name}.json.gz").read_bytes()))
    compared = objects_values.compare(HERE / "objects" / f"{name}.root", TREES[name], expected)
    assert len(compared) > 100
    wrong = [f"{product}: {what}" for product, what in compared.items() if what]
    assert not wrong, "\n".join(wrong)
