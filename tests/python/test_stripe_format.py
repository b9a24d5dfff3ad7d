"""Datasets follow docs/specs/stripe.md: a reader written from that text alone reads them."""

import io
from pathlib import Path

import numpy as np
import pytest
import stripe_faults_work as work
import stripe_reader

import sapwood
from sapwood import _core

GOLDEN = Path(__file__).parents[1] / "data" / "stripe-v1"


def record(product: str, branch: int, stripe: int) -> bytes:
    return (
        f"{product}, branch {branch}, stripe {stripe}; ".encode() * (branch + stripe + 1) if branch else b""
    )


def test_stripes_are_as_specified() -> None:
    for stripe in range(2):
        members = stripe_reader.directory((GOLDEN / f"stripe-{stripe}").read_bytes())
        assert members == [
            (product, 1000 * stripe, 1000, [record(product, branch, stripe) for branch in range(branches)])
            for product, branches in (("Muon", 3), ("Jet", 2))
        ]


def test_snapshots_and_lists_are_as_specified() -> None:
    description, schemas = stripe_reader.snapshot((GOLDEN / "snapshot").read_bytes())
    assert schemas == [b"root, in the place of a file " * 20]
    assert [product["name"] for product in description["products"]] == ["Muon", "Jet"]
    [segment] = description["segments"]
    place = segment["lists"]["1"]
    listed = (GOLDEN / "list").read_bytes()
    stripe_reader.content(listed, 3)
    section = listed[place["offset"] : place["offset"] + place["len"]]
    assert stripe_reader.checksum(section) == place["checksum"]
    found = list(stripe_reader.stripes(section))
    assert [(span, entries) for span, entries, *_ in found] == [
        (range(3), entries) for entries in (1000, 1000, 500)
    ]
    for stripe, (_, _, base, name, offset, lengths, sums) in enumerate(found):
        assert name == (f"{'a' + str(stripe):0>20}" if stripe < 2 else "")
        thing = base if isinstance(base, bytes) else (GOLDEN / f"stripe-{stripe}").read_bytes()
        for branch in range(3):
            start = offset + sum(lengths[:branch])
            basket = thing[start : start + lengths[branch]]
            assert basket == record("Muon", branch, stripe)
            assert stripe_reader.checksum(basket) == sums[branch]
    known = stripe_reader.statistics(section)
    assert known == [[None] * 3, [(2000, 1, -0.5, 1e300)] * 2 + [None], [None, (5, 0, -1, 7), None]]


def test_lists_of_some_branches_are_as_specified() -> None:
    section = (GOLDEN / "list-of-branches").read_bytes()
    found = list(stripe_reader.stripes(section))
    spans = [(range(1), 2000), (range(1, 3), 1000), (range(1, 3), 1000), (range(3), 500)]
    assert [(span, entries) for span, entries, *_ in found] == spans
    assert [name[-2:] for _, _, _, name, *_ in found] == ["e0", "e1", "e2", ""]
    assert stripe_reader.listed(section)[2]["sizes"] == [700, 800, 800]
    known = stripe_reader.statistics(section)
    float_values, signed_values = (2000, 1, -0.5, 1e300), (5, 0, -1, 7)
    assert known == [[None] * 2, [float_values] * 2 + [None], [signed_values] * 2 + [None]]


def test_indexes_of_events_are_as_specified() -> None:
    runs, lumis, events = stripe_reader.events((GOLDEN / "events").read_bytes())
    entries = np.arange(2500)
    np.testing.assert_array_equal(runs, 273_158 + entries // 1000)
    np.testing.assert_array_equal(lumis, 1 + entries % 1000 // 100)
    np.testing.assert_array_equal(events, entries * 7919 % 65_537 + (1 << 33))


def test_a_dataset_is_read_by_a_reader_that_knows_only_the_text(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    counts = np.arange(1000, dtype=np.int32) % 4
    pt = np.arange(counts.sum(), dtype=np.float32) / 8
    columns = {
        "run": np.full(1000, 7, np.uint32),
        "luminosityBlock": (np.arange(1000) // 100).astype(np.uint32),
        "event": np.arange(1000, dtype=np.uint64)[::-1] * 3,
        "MET_pt": np.sqrt(np.arange(1000, dtype=np.float32)),
    }
    types = {name: column.dtype for name, column in columns.items()}
    ak = pytest.importorskip("awkward")
    with uproot.recreate(tmp_path / "in.root") as file:
        tree = file.mktree("Events", {**types, "Jet_pt": "var * float32"}, counter_name=lambda _: "nJet")
        tree.extend({**columns, "Jet_pt": ak.unflatten(pt, counts)})
    options = _core.WriteOptions(stripe_size=2000, batch=144)
    place = _core.Stripes(str(tmp_path / "dataset"))
    inputs = [(str(tmp_path / "in.root"), _core.OpenOptions())]
    place.create("Events", inputs, options)
    place.append(inputs, options)

    dataset = stripe_reader.Dataset(tmp_path / "dataset")
    assert [segment["entries"] for segment in dataset.description["segments"]] == [1000, 1000]
    wanted = {**columns, "nJet": counts, "Jet_pt": pt}
    found = set()
    for product in dataset.description["products"]:
        schema = uproot.open(io.BytesIO(dataset.schemas[0]))["Events"]
        for number, place in enumerate(product["branches"]):
            name = schema.keys(recursive=True)[place]
            baskets = list(dataset.baskets(product, number))
            assert sum(entries for entries, _ in baskets) == 2000
            assert len(baskets) > 2 and all(entries <= 144 for entries, _ in baskets)
            values, first = [], 0
            for entries, content in baskets:
                # Offsets of the entries follow the values of jagged columns.
                jagged = counts[np.arange(first, first + entries) % 1000]
                size = int(jagged.sum()) if name == "Jet_pt" else entries
                values.append(np.frombuffer(content, wanted[name].dtype.newbyteorder(">"), size))
                first += entries
            np.testing.assert_array_equal(np.concatenate(values), np.tile(wanted[name], 2))
            lists = map(stripe_reader.statistics, dataset.sections(product))
            known = [one for branches in lists for one in branches[number]]
            ends = [(one.min().item(), one.max().item()) if len(one) else (None, None) for one in values]
            assert known == [(len(one), 0, *pair) for one, pair in zip(values, ends, strict=True)]
            found.add(name)
    assert found == set(wanted)
    for segment in dataset.description["segments"]:
        name = segment["events"]["id"]
        index = (tmp_path / "dataset" / "d" / name[-2:] / name).read_bytes()
        assert stripe_reader.checksum(index) == segment["events"]["checksum"]
        for column, wanted_column in zip(
            stripe_reader.events(index), list(columns.values())[:3], strict=True
        ):
            np.testing.assert_array_equal(column, wanted_column)
        assert segment["auxiliary"]["len"] > 0


def test_the_dataset_of_version_1_is_read() -> None:
    pytest.importorskip("awkward")
    dataset = sapwood.open(GOLDEN / "dataset")
    tree = sapwood.open(GOLDEN.parent / "edm" / "edm.root")["Events"]
    assert set(dataset.keys()) == set(tree.keys()) and dataset.num_entries == tree.num_entries == 30
    read = 0
    for name in set(tree.keys()):
        try:
            wanted = tree[name].array()
        except sapwood.errors.UnsupportedError:
            continue
        assert dataset[name].array().to_list() == wanted.to_list(), name
        read += 1
    assert read > 20


def test_the_dataset_of_version_1_is_read_by_what_knows_only_the_text() -> None:
    dataset = stripe_reader.Dataset(GOLDEN / "dataset")
    assert dataset.version["n"] == 2 and dataset.schemas[0].startswith(b"root")
    segment = dataset.description["segments"][0]
    cut = {
        sum(entries for entries, _ in dataset.baskets(product, place)): len(
            list(dataset.baskets(product, place))
        )
        for product in dataset.description["products"]
        for place in range(len(product["branches"]))
    }
    # Of branches without leaves there is nothing; all others have a basket in each of three batches, or more.
    assert set(cut) == {0, 30} and cut[30] >= 3 and segment["batch"] == 12


def test_numbers_in_planes_and_offsets_in_steps_are_read() -> None:
    ak = pytest.importorskip("awkward")
    events = np.arange(2000)
    wanted = {
        "pt": np.sqrt(events).astype("f4"),
        "mass": np.sqrt(events + 0.5),
        "charge": (events % 3 - 1).astype("i4"),
        "hits": (500 * np.sin(events)).astype("i2"),
    }
    jets = ak.unflatten(np.sqrt(np.arange(events.size // 4 * 6)).astype("f4"), events % 4)
    tree = sapwood.open(GOLDEN / "planes")
    arrays = tree.arrays()
    for name, values in wanted.items():
        np.testing.assert_array_equal(arrays[name], values)
    assert ak.array_equal(arrays["Jet_pt"], jets)
    dataset = stripe_reader.Dataset(GOLDEN / "planes")
    branches = [branch for product in dataset.description["products"] for branch in product["branches"]]
    places = dict(zip(branches, tree.keys(), strict=True))
    wanted |= {"nJet_pt": (events % 4).astype("i4"), "Jet_pt": ak.to_numpy(ak.flatten(jets))}
    for product in dataset.description["products"]:
        for number, branch in enumerate(product["branches"]):
            values = wanted.pop(places[branch])
            # Offsets of the entries follow the values of jagged columns.
            [(entries, content)] = dataset.baskets(product, number)
            assert entries == 2000
            found = np.frombuffer(content, values.dtype.newbyteorder(">"), len(values))
            np.testing.assert_array_equal(found, values)
    assert not wanted
    stored = b"".join(one.read_bytes() for one in (GOLDEN / "planes").rglob("*") if one.is_file())
    assert all(tag in stored for tag in (b"ZP\2", b"ZP\4", b"ZP\b", b"ZT\4"))


@pytest.mark.parametrize("version", [2, 3, 4, 5, 6, 7, "summer"])
def test_every_version_of_a_history_in_version_1_is_read(version: int | str) -> None:
    ak = pytest.importorskip("awkward")
    dataset = sapwood.stripe.open(GOLDEN / "history")
    arrays = dataset.tree(version).arrays()
    events = np.arange(50 if version == 2 else 100)
    expected = work.columns(events) | {"nJet_pt": (events % 4).astype("i4")}
    if version in (4, 5, 6):
        expected["Jet_pt"] = 2 * expected["Jet_pt"]
    if version in (5, 6):
        del expected["met"]
    if version == 6:
        expected |= {"Twice_pt": 2 * expected["Jet_pt"], "nTwice_pt": expected["nJet_pt"]}
    assert set(arrays.fields) == set(expected)
    for name, column in expected.items():
        assert ak.array_equal(arrays[name], column), name
    assert dataset.verify(version).wrong == () and dataset.tags() == {"summer": 3}
    assert dataset.find(7, 4, 42, version=version) == [42]
