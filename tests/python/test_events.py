"""Events have the values of the arrays, in whatever order columns are used."""

from __future__ import annotations

import gc
import pickle
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sapwood
from sapwood import Caching, errors

OBJECTS = Path(__file__).parents[1] / "conformance" / "objects" / "edm.root"
TWO_WINDOWS = Caching(startup_entries=300)


@pytest.fixture
def tree(events_file: Path) -> Iterator[Any]:
    with sapwood.open(f"{events_file}:Events") as tree:
        yield tree


@pytest.fixture
def arrays(tree: Any) -> Any:
    return tree.arrays()


def test_fields_are_not_looked_for_in_all_events(tree: Any) -> None:
    for view, place in (tree.events(), "each event"), (tree.lazy(), "over the chunks"):
        for name in ("met", "Muon", "Muon_pt"):
            with pytest.raises(AttributeError, match=f"no attribute {name!r}: .*{place}"):
                getattr(view, name)
            assert not hasattr(view, name)
        with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
            getattr(view, "nothing")  # noqa: B009
        with pytest.raises(errors.ArgumentTypeError, match=r"tree\.arrays"):
            view["met"]


def test_every_kind_of_field(tree: Any, arrays: Any) -> None:
    events = tree.events(caching=TWO_WINDOWS)
    assert len(events) == 1000 and len(events.windows) > 1
    assert events.windows[0][0] == 0 and events.windows[-1][1] == 1000
    for number, event in enumerate(events):
        assert event.entry == number
        assert event.run == arrays.run[number] and event.met == arrays.met[number]
        assert_array_equal(event.Muon_pt, arrays.Muon_pt[number])
        assert_array_equal(event["vertex"], arrays.vertex[number])
        assert event.name == arrays.name[number]
    assert isinstance(event.run, np.uint32) and isinstance(event.isGood, np.bool_)
    assert event.Muon_pt.dtype == np.float32 and event.vertex.shape == (3,)


def test_a_list_is_a_view_that_cannot_be_written_to(tree: Any) -> None:
    event = next(event for event in tree.events() if event.Muon_pt.size)
    assert event.Muon_pt.base is not None and np.shares_memory(event.Muon_pt, event.Muon_pt)
    with pytest.raises(ValueError, match="read-only"):
        event.Muon_pt[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        event.vertex[0] = 1


def test_lists_of_text_are_awkward(corpus: Path) -> None:
    with sapwood.open(corpus / "skhep__uproot-vectorVectorDouble.root") as file:
        tree = file["t"]
        expected = tree.arrays(["x"]).x
        found = [event.x for event in tree.events()]
    assert isinstance(found[0], ak.Array)
    assert [one.tolist() for one in found] == expected.tolist()


@pytest.mark.parametrize(
    "label",
    ["patPackedCandidates_lostTracks__PAT.obj", "EcalRecHitsSorted_reducedEgamma_reducedEBRecHits_PAT.obj"],
)
def test_lists_of_objects_are_those_of_the_array(label: str) -> None:
    with sapwood.open({str(OBJECTS): "Events"}) as tree:
        array = tree[label].array()
        for event in tree.events():
            found, expected = event[label], array[event.entry]
            assert found.type == expected.type and ak.array_equal(found, expected)
            assert all(ak.array_equal(found[name], expected[name]) for name in expected.fields)


def test_events_outlive_the_loop_and_the_file(events_file: Path, arrays: Any) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        kept = []
        for event in tree.events(caching=TWO_WINDOWS):
            if event.met > 50:
                kept.append(event)
    gc.collect()
    assert len(kept) > 5
    for event in kept:
        assert event.met == arrays.met[event.entry]
    with pytest.raises(errors.ClosedFileError):
        _ = kept[0].weight


@pytest.mark.parametrize("where", [slice(10, 20), slice(None, None, -7), [5, 17, 999, 5, -1], slice(3, 3)])
def test_some_of_them(tree: Any, where: Any) -> None:
    events = tree.events(caching=TWO_WINDOWS)
    entries = np.arange(1000)[where]
    some = events[where]
    assert len(some) == len(entries)
    assert [event.run for event in some] == entries.tolist()
    assert [event.entry for event in some] == entries.tolist()
    assert [event.run for event in some[1:]] == entries[1:].tolist()


def test_one_of_them(tree: Any) -> None:
    events = tree.events(entry_start=100, entry_stop=-100)
    assert len(events) == 800
    assert (events[0].entry, events[-1].entry, events[np.int64(5)].run) == (100, 899, 105)
    assert [event.run for event in events[np.arange(800) % 400 == 7]] == [107, 507]
    with pytest.raises(IndexError):
        events[800]
    with pytest.raises(IndexError):
        events[[5, 800]]
    with pytest.raises(TypeError, match="the index of events"):
        events[[0.5]]


def test_names(tree: Any) -> None:
    event = tree.events(filter_name=["run", "Muon*", "nMuon"])[0]
    assert set(event.fields) == {"run", "nMuon", "Muon_pt", "Muon_eta", "Muon_charge"}
    assert {"Muon_pt", "entry", "fields"} <= set(dir(event))
    assert "Muon_pt" in event and "met" not in event and 5 not in event
    assert event._ipython_key_completions_() == event.fields
    assert not hasattr(event, "met")
    with pytest.raises(AttributeError, match="Muon_pt"):
        _ = event.Muon_pT
    with pytest.raises(errors.KeyInFileError, match="Muon_pt"):
        _ = event["Muon_pT"]
    with pytest.raises(AttributeError):
        event.run = 5


def test_names_that_are_no_attributes(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    with uproot.recreate(tmp_path / "odd.root") as file:
        names = ["entry", "fields", "class", "a.b", "Muon-pt"]
        values = {name: np.arange(3) + 10 * number for number, name in enumerate(names)}
        file.mktree("t", dict.fromkeys(names, "int64")).extend(values)
    with sapwood.open(f"{tmp_path}/odd.root:t") as tree:
        event = tree.events()[2]
        assert event.entry == 2 and event.fields == names
        assert [event[name] for name in names] == [2, 12, 22, 32, 42]
        assert "class" not in dir(event) and getattr(event, "a.b") == 32


def test_columns_that_were_declared(tree: Any, arrays: Any) -> None:
    events = tree.events("met")
    assert [event.met for event in events] == arrays.met.tolist()
    with pytest.raises(errors.KeyInFileError, match="met"):
        tree.events(["mett"])


def test_a_member_of_objects_can_be_declared(corpus: Path) -> None:
    with sapwood.open(corpus / "skhep__uproot-HZZ-objects.root") as file:
        tree = file["events"]
        name = "muonp4.fE"
        expected = tree.arrays([name], entry_stop=20)[name]
        with pytest.raises(errors.KeyInFileError):
            tree.events(entry_stop=20, filter_name="muonp4")[0]["muonp4.nothing"]
        found = [event[name] for event in tree.events([name], entry_stop=20, filter_name="NJet")]
    assert [one.tolist() for one in found] == expected.tolist()


def test_several_threads(tree: Any, arrays: Any) -> None:
    events = tree.events(caching=TWO_WINDOWS)
    sums: list[float] = []

    def add_up() -> None:
        sums.append(sum(float(event.Muon_pt.sum()) + float(event.met) for event in events))

    threads = [threading.Thread(target=add_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(sums) == 4 and len(set(sums)) == 1
    assert sums[0] == pytest.approx(float(ak.sum(arrays.Muon_pt)) + float(ak.sum(arrays.met)), rel=1e-5)


def test_nothing_is_read_before_it_is_touched(tree: Any) -> None:
    events = tree.events()
    for _ in events:
        pass
    assert tree.file.report().baskets == 0
    _ = events[0].met
    assert tree.file.report().baskets > 0
    assert tree.file.report().unplanned_reads == 0


def test_no_entries_at_all(tree: Any) -> None:
    events = tree.events(entry_start=5, entry_stop=5)
    assert len(events) == 0 and list(events) == [] and len(events[[]]) == 0


def test_a_closed_file(events_file: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        pass
    with pytest.raises(errors.ClosedFileError):
        tree.events()


def test_options(tree: Any) -> None:
    with pytest.raises(errors.UsageError):
        tree.events(caching=Caching(memory=0))
    with pytest.raises(errors.UsageError):
        tree.events(caching=Caching(startup_size="much"))
    with pytest.raises(errors.UsageError):
        tree.events(deadline=-1)
    assert Caching(memory="1 MB").for_core()["memory_bytes"] == 1_000_000
    assert pickle.loads(pickle.dumps(TWO_WINDOWS)) == TWO_WINDOWS


def test_no_warnings_at_the_end(events_file: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        events = sapwood.open(f"{events_file}:Events").events()
        assert events[3].run == 3
        del events
        gc.collect()
