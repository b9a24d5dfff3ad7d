"""Random sequences of accesses, kept events and concurrent readers always give the values of the arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import sapwood
from sapwood import Caching, Profile

COLUMNS = ["run", "met", "Muon_pt", "Jet_pt", "vertex", "name"]
CACHINGS = st.builds(
    Caching,
    startup=st.booleans(),
    learn=st.booleans(),
    trigger=st.booleans(),
    startup_entries=st.sampled_from([1, 100, 999]),
    memory=st.sampled_from([1, 10_000, 1_000_000]),
)
TOUCHES = st.lists(
    st.tuples(st.integers(0, 999), st.sampled_from(COLUMNS), st.booleans(), st.integers(0, 1)), max_size=40
)


@pytest.fixture(scope="module")
def tree(events_file: Path) -> Any:
    with sapwood.open(f"{events_file}:Events") as tree:
        yield tree


@pytest.fixture(scope="module")
def arrays(tree: Any) -> Any:
    return tree.arrays(COLUMNS, library="np")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(caching=CACHINGS, touches=TOUCHES, declared=st.sets(st.sampled_from(COLUMNS)))
def test_any_sequence(tree: Any, arrays: Any, caching: Caching, touches: Any, declared: set[str]) -> None:
    profile = Profile()
    readers = [tree.events(sorted(declared), caching=caching, profile=profile) for _ in range(2)]
    kept = []
    for entry, column, keep, reader in touches:
        event = readers[reader][entry]
        assert_array_equal(event[column], arrays[column][entry])
        if keep:
            kept.append(event)
    for event in kept:
        for column in COLUMNS:
            assert_array_equal(event[column], arrays[column][event.entry])
    for events in readers:
        events.close()
    touched = {column for _, column, _, _ in touches} | (set(COLUMNS) if kept else set())
    [known] = [use.shares() for use in profile.trees] or [{}]
    assert set(known) == touched
