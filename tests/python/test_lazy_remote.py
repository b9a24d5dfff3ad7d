"""Lazy readers over a network: few fetches, with their reasons in the report and its picture."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import testkit

import sapwood
from sapwood import Caching, Profile, errors
from sapwood.report.lazy_use import LazyUse

CLUSTERS, CLUSTER, COLUMNS = 12, 1000, 12
SMALL: dict[str, Any] = {"memory": "24 MB"}  # and so are windows: of one cluster
SMALL_CACHING = Caching(**SMALL)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a file of 12 clusters of 12 jagged columns, 80 kB each."""
    uproot = pytest.importorskip("uproot")
    folder = tmp_path_factory.mktemp("far")
    random = np.random.default_rng(3)
    with uproot.recreate(folder / "far.root", compression=None) as file:
        tree = file.mktree("Events", {f"x{i}": "var * float64" for i in range(COLUMNS)})
        # uproot has no word for it: a cluster ends after this many entries.
        tree._cascading._metadata["fAutoFlush"] = CLUSTER
        for _ in range(CLUSTERS):
            values = ak.from_regular(random.random((CLUSTER, 10)))
            tree.extend({f"x{i}": values * i for i in range(COLUMNS)})
    with testkit.serving(folder, "--rtt-ms", "2") as server:
        yield f"{server.url}/far.root:Events"


def use_of(tree: Any) -> LazyUse:
    [use] = tree.file.report().lazy
    return use


def test_all_columns_of_the_first_events_cost_one_fetch(url: str) -> None:
    with sapwood.open(url) as tree:
        before = tree.file.report().round_trips
        for event in tree.events()[:20]:
            assert sum(float(event[name].sum()) for name in event.fields) > 0
        use = use_of(tree)
        assert tree.file.report().round_trips - before <= 2
    assert {name for name, one in use.kinds.items() if one.fetches} <= {"startup", "trained"}
    assert use.kinds["startup"].fetches == 1
    assert (use.hits + use.misses, use.misses, use.windows_seen) == (2 * COLUMNS, 1, 1)


def test_columns_used_in_some_events(url: str) -> None:
    with sapwood.open(url) as tree:
        total = 0.0
        events = tree.events(caching=Caching(startup_entries=100, **SMALL))
        for event in events:
            total += float(event.x1.sum())
            if event.entry % 200 == 150:
                total += float(event.x2.sum() + event.x3.sum())
        use = use_of(tree)
        expected = tree.arrays(["x1"])
        assert total > float(ak.sum(expected.x1))
        assert tree.file.report().unplanned_reads == 0
    late = [fetch for fetch in use.fetches if fetch.window >= 3]
    assert len(late) <= 2 * (len(events.windows) - 3)
    assert {"startup", "trained", "trigger"} >= {fetch.kind for fetch in use.fetches}
    assert use.columns["x1"].windows_touched == len(events.windows)
    assert use.columns["x2"].hits + use.columns["x2"].misses == use.columns["x2"].windows_touched
    assert use.fetched_bytes == sum(fetch.nbytes for fetch in use.fetches) > use.wasted_bytes > 0


def test_without_any_cache_each_touch_is_a_fetch(url: str) -> None:
    with sapwood.open(url) as tree:
        events = tree.events(caching=Caching(False, False, False, **SMALL))
        for event in events[:: len(events) // 4]:
            _ = event.x1, event.x2
        use = use_of(tree)
    assert use.total_fetches == use.misses == sum(one.windows_touched for one in use.columns.values())
    assert use.hits == 0 and use.wasted_bytes == 0


def test_declared_columns_are_fetched_together(url: str) -> None:
    with sapwood.open(url) as tree:
        chunks = tree.lazy(["x1", "x2", "x3"], caching=Caching(startup=False, learn=False, **SMALL))
        for chunk in chunks:
            assert all(len(ak.materialize(chunk[name])) == len(chunk) for name in ("x1", "x2", "x3"))
        use = use_of(tree)
    assert use.total_fetches <= len(chunks) and use.wasted_bytes == 0
    assert set(use.columns) == {"x1", "x2", "x3"}


def test_the_next_job_is_trained(url: str) -> None:
    profile = Profile()
    uses = []
    for _ in range(2):
        with sapwood.open(url) as tree:
            for chunk in tree.lazy(profile=profile, caching=Caching(**SMALL)):
                assert ak.sum(chunk.x1) > 0 and ak.sum(chunk.x2) > 0
            uses.append(use_of(tree))
    first, second = uses
    assert first.kinds["startup"].fetches == 1 and first.wasted_bytes > 0
    assert second.wasted_bytes == 0 and {fetch.kind for fetch in second.fetches} == {"trained"}
    assert second.misses <= 1


def test_random_access(url: str) -> None:
    entries = (np.arange(200) * 7919 + 5) % (CLUSTERS * CLUSTER)
    with sapwood.open(url) as tree:
        expected = tree.arrays(["x5"]).x5[entries]
        before = tree.file.report().requests
        found = [event.x5 for event in tree.events(caching=Caching(startup=False, **SMALL))[entries]]
        assert [one.tolist() for one in found] == expected.tolist()
        use = use_of(tree)
        assert tree.file.report().requests - before <= 2 * len(use.windows)


def test_random_access_of_few_guesses_little(url: str) -> None:
    with sapwood.open(url) as tree:
        events = tree.events(caching=SMALL_CACHING)[[11_111, 17, 5_005, 18]]
        found = [(event.entry, event.x1, event.x2) for event in events]
        use = use_of(tree)
        expected = tree.arrays(["x1", "x2"])
        visited = {
            index
            for index, (start, stop) in enumerate(events.windows)
            for entry, _, _ in found
            if start <= entry < stop
        }
    for entry, x1, x2 in found:
        assert (x1.tolist(), x2.tolist()) == (expected.x1[entry].tolist(), expected.x2[entry].tolist())
    # What is touched in the first of the windows that hold them is asked for in the others, ahead of need.
    assert use.windows_seen == 3 and {fetch.window for fetch in use.fetches} == visited
    assert use.misses <= 3 and use.wasted_bytes < 0.1 * use.fetched_bytes


def test_reports(url: str, tmp_path: Path) -> None:
    with sapwood.open(url) as tree:
        with tree.events() as events:
            _ = events[5].x1, events[-1].x2
        for _ in tree.lazy(filter_name="x3"):
            pass
    report = tree.file.report()
    text = str(report)
    assert "events of Events" in text and "startup:" in text and "lazy of Events: 0 of" in text
    document = json.loads(report.to_json())
    assert [one["kind"] for one in document["lazy"]] == ["events", "lazy"]
    assert document["lazy"][0]["columns"]["x1"]["windows_touched"] == 1
    assert len(document["lazy"][0]["fetches"]) == report.lazy[0].total_fetches
    assert json.loads(report.lazy[0].to_json()) == document["lazy"][0]
    assert "2 of" in repr(report.lazy[0])
    assert len((report + report).lazy) == 4
    path = tmp_path / "fetched.svg"
    for use in report.lazy:
        use.save(path, overwrite=True)
        root = ElementTree.fromstring(path.read_text())
        assert root.tag.endswith("svg")
    report.lazy[0].save(path, overwrite=True)
    tips = [one.text or "" for one in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}title")]
    assert any(tip.startswith("x1, entries") and "unused" not in tip for tip in tips)
    assert any("columns, " in tip and "unused" in tip for tip in tips)
    with pytest.raises(errors.UsageError, match="svg"):
        report.lazy[0].save(tmp_path / "fetched.png")
