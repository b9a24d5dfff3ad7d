"""Compares what is read of the events of `conftest.py` near and far."""

from __future__ import annotations

from numpy.testing import assert_array_equal

import sapwood


def assert_same_arrays(near: sapwood.Tree, far: sapwood.Tree) -> None:
    """That all columns are there, and those of numbers and of lists have the same values."""
    found, expected = (tree.arrays(library="np") for tree in (far, near))
    assert list(found) == list(expected)
    for name in ("run", "met", "vertex"):
        assert_array_equal(found[name], expected[name])
    assert [item.tolist() for item in found["Muon_pt"]] == [item.tolist() for item in expected["Muon_pt"]]
