"""The processing chain: outputs equal inputs, and the report is correct."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood import chain, errors, stripe

ak = pytest.importorskip("awkward")

DATA = Path(__file__).resolve().parents[1] / "data"
EVENTS = 1000
MAIN = "from sapwood.cli.main import main; main()"


def written(path: Path, longest: int) -> str:
    """Numbers, lists, vectors and strings, in clusters that no batch divides."""
    events = np.arange(EVENTS)
    counts = events % (longest + 1)
    lists = ak.unflatten(np.repeat(events * 0.5, counts), counts)
    with sapwood.recreate(path) as file:
        file.mktree(
            "Events",
            {"event": "u8", "ok": "bool", "Jet_pt": "var * float32", "cov": "3 * float64", "name": "string"},
            cluster_entries=170,
        )
        file["Events"].extend(
            {
                "event": events.astype("u8"),
                "ok": events % 3 == 0,
                "Jet_pt": ak.values_astype(lists, "float32"),
                "cov": np.stack([events, events + 0.25, -events], axis=1).astype("f8"),
                "name": [f"event {event}" * (event % 3) for event in events],
            }
        )
    return f"{path}:Events"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("chain") / "source.root", 6)


def values(place: Any) -> Any:
    with sapwood.open(str(place)) as tree:
        return tree.arrays()


def same(one: Any, other: Any) -> None:
    assert one.fields == other.fields
    for name in one.fields:
        assert ak.array_equal(one[name], other[name], equal_nan=True), name


def outputs(folder: Path) -> dict[str, tuple[str, str]]:
    """Where a chain writes, and what is opened then."""
    return {
        "root": (str(folder / "out.root"), f"{folder / 'out.root'}:Events"),
        "stripes": (str(folder / "set"), str(folder / "set")),
    }


@pytest.mark.parametrize("kind", ["root", "stripes"])
@pytest.mark.parametrize(("lanes", "threads", "batch"), [(1, 1, 144), (3, 2, 24), (4, 1, 720)])
def test_events_come_out_as_they_went_in(
    source: str, tmp_path: Path, kind: str, lanes: int, threads: int, batch: int
) -> None:
    place, opened = outputs(tmp_path)[kind]
    done = chain.run(source, place, lanes=lanes, threads=threads, batch=batch, stripe_size="4 kB")
    same(values(source), values(opened))
    assert (done.events, done.batches) == (EVENTS, -(-EVENTS // batch))
    with sapwood.open(source) as tree:
        columns = len(tree.keys())
    assert (done.columns, done.decoded_columns) == (columns, columns)
    # Strings are no numbers: they go on as the bytes that they came as.
    assert done.encoded_columns == columns - 1


@pytest.mark.parametrize("batch", [24, 100, 720])
def test_a_flat_file_carries_events_from_anywhere_to_anywhere(
    source: str, tmp_path: Path, batch: int
) -> None:
    flat, back = tmp_path / "a.pds", tmp_path / "back.root"
    wrote = chain.run(source, flat, lanes=2, batch=144)
    assert (wrote.written_bytes, wrote.written_objects) == (flat.stat().st_size, 1)
    read = chain.run(flat, back, lanes=2, batch=batch)
    assert (read.events, read.entry_bytes) == (wrote.events, wrote.entry_bytes)
    same(values(source), values(f"{back}:Events"))


def test_a_dataset_is_a_source(source: str, tmp_path: Path) -> None:
    stripe.create(tmp_path / "data", source, batch=120, stripe_size="4 kB")
    place, opened = outputs(tmp_path)["root"]
    done = chain.run(tmp_path / "data", place, lanes=2, batch=144)
    same(values(source), values(opened))
    assert done.entry_bytes == chain.run(source, batch=144).entry_bytes


@pytest.mark.parametrize(
    ("file", "tree"),
    [
        ("edm/edm.root", "Events"),
        ("edm/edm_plain.root", "Events"),
        ("trees/split.root", ""),
        ("trees/counted.root", ""),
        ("xaod/xaod.root", "CollectionTree"),
    ],
)
@pytest.mark.parametrize("way", ["root", "stripes", "flat"])
def test_classes_come_out_as_they_went_in(tmp_path: Path, file: str, tree: str, way: str) -> None:
    """Columns that nobody serializes are carried as bytes, and the result says so."""
    place = f"{DATA / file}:{tree}" if tree else str(DATA / file)
    with sapwood.open(DATA / file) as opened:
        name = tree or next(iter(opened.keys(cycle=False)))
    out = tmp_path / "out.root"
    if way == "root":
        done = chain.run(place, out, lanes=2, batch=7)
    else:
        between = tmp_path / ("between" if way == "stripes" else "between.pds")
        done = chain.run(place, between, lanes=2, batch=7)
        chain.run(between, out, lanes=2, batch=5)
    assert done.encoded_columns <= done.decoded_columns <= done.columns
    before, after = sapwood.open(f"{DATA / file}:{name}"), sapwood.open(f"{out}:{name}")
    assert set(before.keys()) == set(after.keys())
    for key in list(before.keys()):
        try:
            expected = before[key].array()
        except errors.UnsupportedTypeError:
            continue
        assert ak.array_equal(expected, after[key].array(), equal_nan=True), key


@pytest.mark.parametrize("between", ["", "set", "flat.pds"])
def test_a_dataset_that_is_written_knows_its_values_and_events(between: str, tmp_path: Path) -> None:
    """It is what `stripe create` makes of the same events: cuts pass over stripes, events are found."""
    file, events = tmp_path / "in.root", np.arange(500)
    with sapwood.recreate(file) as written:
        numbers = {"run": events * 0 + 7, "luminosityBlock": events // 50, "event": events * 3}
        written["Events"] = {name: column.astype("u4") for name, column in numbers.items()} | {
            "x": events / 2
        }
    options: dict[str, Any] = {"batch": 48, "stripe_size": "4 kB"}
    made = stripe.create(tmp_path / "made", f"{file}:Events", **options)
    source = f"{file}:Events"
    if between:
        chain.run(source, tmp_path / between, batch=60)
        source = str(tmp_path / between)
    chain.run(source, tmp_path / "chained", lanes=2, **options)
    chained = stripe.open(tmp_path / "chained")
    assert chained.find(7, 4, 207 * 3) == made.find(7, 4, 207 * 3) == [207]
    for product in ("event", "x"):
        assert chained.statistics(product) == made.statistics(product)
        assert chained.statistics(product)[0].known == 11
    assert chained.excluded("x > 240") == made.excluded("x > 240") == (480, 10)
    assert chained.gc(grace_days=0, alone=True).objects == ()
    assert not list((tmp_path / "chained").glob("lease/*"))


def test_reading_writes_nothing(source: str) -> None:
    done = chain.run(source, chain="read", lanes=2, batch=24)
    assert (done.events, done.written_bytes, done.written_objects) == (EVENTS, 0, 0)
    assert done.encoded_columns == 0 and done.serialise_seconds == 0 and done.compress_seconds == 0
    # Fixed columns, the counts of jets, jets; of strings, at least their lengths.
    jets = int(np.sum(np.arange(EVENTS) % 7))
    assert done.entry_bytes >= EVENTS * (8 + 1 + 24 + 4 + 1) + 4 * jets


def test_a_sink_takes_what_a_dataset_would(source: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"batch": 144, "stripe_size": "4 kB"}
    sunk = chain.run(source, "sink", lanes=3, **options)
    kept = chain.run(source, tmp_path / "set", **options)
    assert sunk.written_objects == kept.written_objects
    alone = chain.run(source, "sink", group=False, **options)
    assert alone.written_objects > sunk.written_objects


def test_nothing_comes_from_an_empty_source() -> None:
    done = chain.run("empty:1000", lanes=4, batch=24)
    assert (done.events, done.batches, done.columns, done.entry_bytes) == (1000, 42, 0, 0)


def test_as_many_events_as_are_asked_for(source: str, tmp_path: Path) -> None:
    assert chain.run(source, tmp_path / "a.root", entries=250, batch=24).events == 250
    assert values(f"{tmp_path / 'a.root'}:Events").event.tolist() == list(range(250))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"output": "a.root", "chain": "read"}, errors.UsageError),
        ({"source": "empty:10", "output": "sink"}, errors.UsageError),
        ({"source": "empty:many"}, errors.UsageError),
        ({"output": "sink,none"}, errors.UsageError),
        ({"lanes": 0}, errors.UsageError),
        ({"batch": 0}, errors.UsageError),
        ({"chain": "both"}, errors.UsageError),
        ({"source": "missing.root:Events"}, FileNotFoundError),
    ],
)
def test_invalid_arguments_are_refused(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], error: type
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error):
        chain.run(**{"source": source, **arguments})
    assert not list(tmp_path.iterdir())


def test_a_dataset_is_not_written_to_twice(source: str, tmp_path: Path) -> None:
    chain.run(source, tmp_path / "set")
    with pytest.raises(errors.UsageError, match="dataset already"):
        chain.run(source, tmp_path / "set")
    same(values(source), values(tmp_path / "set"))


@pytest.mark.parametrize("kind", ["root", "stripes", "flat"])
def test_several_segments_are_stored_as_one(source: str, tmp_path: Path, kind: str) -> None:
    """The second has longer lists, and a product of another file stands in place of that of both."""
    names = tmp_path / "names.root"
    with sapwood.recreate(names) as file:
        file["Events"] = {"name": [f"other {event}" for event in range(2 * EVENTS)]}
    data = stripe.create(tmp_path / "data", [source, written(tmp_path / "longer.root", 9)], batch=130)
    data.add(f"{names}:Events", "name", by_position=True)
    way = {"root": tmp_path / "out.root", "stripes": tmp_path / "set", "flat": tmp_path / "out.pds"}[kind]
    assert chain.run(tmp_path / "data", way, lanes=2, batch=144).events == 2 * EVENTS
    out = way if kind == "root" else tmp_path / "back.root"
    if kind != "root":
        chain.run(way, out, batch=100)
    same(values(tmp_path / "data"), values(f"{out}:Events"))
    uproot = pytest.importorskip("uproot")
    [leaf] = uproot.open(f"{out}:Events")["nJet_pt"].member("fLeaves")
    assert leaf.member("fMaximum") == 9, "readers take as many items as the longest list has"


@pytest.mark.parametrize("place", [0, 8, 30, 2000, -3000, -200, -30, -1])
def test_a_damaged_flat_file_is_an_error(source: str, tmp_path: Path, place: int) -> None:
    flat = tmp_path / "a.pds"
    chain.run(source, flat, batch=24)
    whole = flat.read_bytes()
    content = bytearray(whole)
    content[place] ^= 0x41
    flat.write_bytes(content)
    with pytest.raises(errors.SapwoodError):
        chain.run(flat, chain="read")
    for cut in (10, len(whole) // 2, len(whole) - 5):
        flat.write_bytes(whole[:cut])
        with pytest.raises(errors.SapwoodError):
            chain.run(flat, chain="read")


def test_a_lane_that_fails_ends_the_chain(source: str, tmp_path: Path) -> None:
    """The error is that of the lane, and nothing is at the place of the output."""
    path = Path(source.partition(":")[0])
    broken = tmp_path / "broken.root"
    content = bytearray(path.read_bytes())
    with sapwood.open(source) as tree:
        middle = tree["event"].basket_entry_start_stop(3)[0]
        assert middle > 0
    at = len(content) // 2
    content[at : at + 400] = bytes(400)
    broken.write_bytes(content)
    with pytest.raises(errors.SapwoodError) as failed:
        chain.run(f"{broken}:Events", tmp_path / "out.root", lanes=4, batch=24)
    assert "interrupted" not in str(failed.value)
    assert not (tmp_path / "out.root").exists()


def test_points_are_all_combinations_that_differ(source: str, tmp_path: Path) -> None:
    found = chain.measure(
        [source, "empty:100"],
        ["none", str(tmp_path / "set")],
        lanes=[1, 2],
        stripe_sizes=["4 kB", "8 kB"],
        entries=200,
    )
    points = [one.point for one in found.measurements]
    assert len(points) == len(set(points)) == 2 * (1 + 1 + 2) + 2 * 2
    assert not any(one.error for one in found.measurements)
    datasets = sorted(path.name for path in (tmp_path / "set").iterdir())
    assert datasets == ["0001", "0002", "0003", "0004"]
    page = found.to_html()
    assert page.count("<svg") == 4 and not re.search(r"(?:src|href)=.https?:", page)
    assert json.loads(json.dumps(found.to_dict()))["measurements"][0]["runs"][0]["events"] == 200


def test_a_point_that_fails_says_why(source: str, tmp_path: Path) -> None:
    found = chain.measure([source, str(tmp_path / "none.root")], chains=["read"], entries=10)
    good, bad = found.measurements
    assert good.rate > 0 and "none.root" in bad.error
    assert "failed" in found.to_html()


def test_the_command_measures(source: str, tmp_path: Path) -> None:
    page = tmp_path / "chain.html"
    options = ["--output", "sink", "--lanes", "1,2", "--most-entries", "100", "-o", str(page)]
    command = [sys.executable, "-c", MAIN, "bench", "chain", source, *options]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["measurements"]
    assert [(one["point"]["chain"], one["point"]["lanes"]) for one in found] == [
        ("read", 1),
        ("read", 2),
        ("full", 1),
        ("full", 2),
    ]
    assert page.read_text().startswith("<!doctype html>")
