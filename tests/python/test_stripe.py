"""Writing datasets: files come out as they went in, products are replaced, versions are kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import s3_server

import sapwood
from sapwood import errors, stripe

ak = pytest.importorskip("awkward")

DATA = Path(__file__).resolve().parents[1] / "data"


def write(path: Path, events: Any, **columns: Any) -> str:
    """A tree of events, with columns."""
    with sapwood.recreate(path) as file:
        file["Events"] = {
            "run": np.full(len(events), 7, dtype="u4"),
            "luminosityBlock": (np.asarray(events) // 10).astype("u4"),
            "event": np.asarray(events, dtype="u8"),
            **columns,
        }
    return f"{path}:Events"


def jets(events: Any, factor: float = 1.0) -> Any:
    """So many jets as the last digit of the event says."""
    counts = np.asarray(events) % 10
    return ak.unflatten(factor * np.repeat(np.asarray(events, dtype="f8"), counts), counts)


def same(one: Any, other: Any) -> None:
    assert one.keys() == other.keys()
    for name in list(one.keys()):
        left = one[name]
        try:
            expected = left.array()
        except errors.UnsupportedTypeError:
            continue
        assert ak.array_equal(expected, other[name].array(), equal_nan=True), name


@pytest.fixture
def dataset(tmp_path: Path) -> stripe.Dataset:
    events = np.arange(1000)
    source = write(tmp_path / "a.root", events, met=events / 2, Jet_pt=jets(events), Jet_eta=jets(events, -1))
    return stripe.create(tmp_path / "data", source, batch=120, stripe_size="4 kB", who="somebody")


class TestExport:
    @pytest.mark.parametrize(
        ("name", "tree"), [("edm/edm.root", "Events"), ("trees/main.root", None), ("trees/split.root", None)]
    )
    def test_a_file_comes_out_as_it_went_in(self, name: str, tree: str | None, tmp_path: Path) -> None:
        source = DATA / name
        keys = sapwood.open(source).keys(cycle=False)
        tree = tree or next(key for key in keys if hasattr(sapwood.open(source)[key], "num_entries"))
        dataset = stripe.create(tmp_path / "data", f"{source}:{tree}")
        exported = dataset.export(tmp_path / "out.root")
        out = sapwood.open(tmp_path / "out.root")
        assert exported.entries == out[tree].num_entries
        assert set(out.keys(cycle=False)) == set(keys)
        same(sapwood.open(source)[tree], out[tree])

    def test_segments_follow_each_other(self, dataset: stripe.Dataset, tmp_path: Path) -> None:
        events = np.arange(1000, 1050)
        more = write(
            tmp_path / "b.root", events, met=events / 2, Jet_pt=jets(events), Jet_eta=jets(events, -1)
        )
        assert dataset.append(more).entries == 50
        assert dataset.export(tmp_path / "out.root").entries == 1050
        out = sapwood.open(f"{tmp_path}/out.root:Events")
        assert out["event"].array(library="np").tolist() == list(range(1050))
        assert ak.array_equal(out["Jet_pt"].array(), jets(np.arange(1050)))
        uproot = pytest.importorskip("uproot")
        assert ak.array_equal(
            uproot.open(f"{tmp_path}/out.root:Events")["Jet_pt"].array(), jets(np.arange(1050))
        )


class TestProducts:
    def test_a_product_is_replaced_in_whatever_order_it_comes(
        self, dataset: stripe.Dataset, tmp_path: Path
    ) -> None:
        order = np.random.default_rng(1).permutation(1000)
        new = write(
            tmp_path / "new.root",
            order,
            Jet_pt=jets(order, 2),
            Jet_eta=jets(order, 3),
            Jet_phi=jets(order, 4),
        )
        before = {path for path in (tmp_path / "data").rglob("*") if path.is_file()}
        stamps = {path: path.stat().st_mtime_ns for path in before if "hint" not in path.name}
        written = dataset.add(new, "Jet")
        assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())
        tree = dataset.tree()
        assert ak.array_equal(tree["Jet_pt"].array(), jets(np.arange(1000), 2))
        assert ak.array_equal(tree["Jet_phi"].array(), jets(np.arange(1000), 4))
        assert ak.array_equal(dataset.tree(written.version - 1)["Jet_pt"].array(), jets(np.arange(1000)))
        dataset.export(tmp_path / "out.root")
        same(tree, sapwood.open(f"{tmp_path}/out.root:Events"))
        uproot = pytest.importorskip("uproot")
        out = uproot.open(f"{tmp_path}/out.root:Events")
        assert ak.array_equal(out["Jet_phi"].array(), jets(np.arange(1000), 4))

    def test_other_events_are_refused_with_numbers(self, dataset: stripe.Dataset, tmp_path: Path) -> None:
        version = dataset.version()
        for events in (np.arange(5, 1005), np.arange(990), np.r_[np.arange(999), 3]):
            new = write(tmp_path / "new.root", events, Jet_pt=jets(events))
            with pytest.raises(errors.UsageError, match=r"\d"):
                dataset.add(new, "Jet")
        assert dataset.version() == version

    def test_a_product_is_computed(self, dataset: stripe.Dataset) -> None:
        def twice(events: Any) -> dict[str, Any]:
            return {"Twice_met": 2 * events["met"], "Twice_pt": 2 * events["Jet_pt"]}

        version = dataset.version()
        dataset.add_product("Twice", twice, ["met", "Jet_pt"], step_size=300)
        tree = dataset.tree()
        assert tree["Twice_met"].array(library="np").tolist() == list(range(1000))
        assert ak.array_equal(tree["Twice_pt"].array(), jets(np.arange(1000), 2))
        made = dataset.describe()["made"]
        assert (
            made["parameters"]["from"].endswith(f"@v{version}") and "twice" in made["parameters"]["function"]
        )
        dataset.drop("Twice")
        assert "Twice_met" not in dataset.tree()

    def test_a_tree_that_differs_is_not_appended(self, dataset: stripe.Dataset, tmp_path: Path) -> None:
        other = write(tmp_path / "b.root", np.arange(10), met=np.arange(10))
        with pytest.raises(errors.UnsupportedTypeError, match="Jet"):
            dataset.append(other)


class TestCare:
    def test_damage_is_found(self, dataset: stripe.Dataset, tmp_path: Path) -> None:
        assert dataset.verify().wrong == ()
        victim = max(
            (tmp_path / "data" / "d").rglob("*"), key=lambda path: path.is_file() and path.stat().st_size
        )
        content = bytearray(victim.read_bytes())
        content[len(content) // 2] ^= 1
        victim.chmod(0o644)
        victim.write_bytes(bytes(content))
        (wrong,) = dataset.verify().wrong
        assert victim.name in wrong.object

    def test_products_are_dropped_by_name_or_in_a_list(self, dataset: stripe.Dataset) -> None:
        dataset.drop(["met", "Jet"], who="me")
        left = dataset.tree().keys()
        assert left and not {"met", "Jet_pt"} & set(left)
        with pytest.raises(errors.ArgumentTypeError, match="'products' must be a string"):
            dataset.drop(5)  # type: ignore[arg-type]

    def test_expired_versions_are_collected(self, dataset: stripe.Dataset, tmp_path: Path) -> None:
        dataset.tag("first")
        dataset.drop("met")
        dataset.expire(newest=1)
        assert "met" in dataset.tree("first") and "met" not in dataset.tree()
        dataset.untag("first")
        would = dataset.gc(grace_days=0, alone=True)
        done = dataset.gc(grace_days=0, alone=True, dry_run=False)
        assert would.objects and set(would.objects) <= set(done.objects)
        assert dataset.verify().wrong == () and dataset.tree()["Jet_pt"].array() is not None

    def test_there_is_one_dataset_at_a_place(self, dataset: stripe.Dataset, tmp_path: Path) -> None:
        with pytest.raises(errors.UsageError, match="already"):
            stripe.create(tmp_path / "data", f"{tmp_path / 'a.root'}:Events")
        with pytest.raises(FileNotFoundError):
            stripe.open(tmp_path / "nothing")

    def test_events_are_found(self, dataset: stripe.Dataset) -> None:
        assert dataset.find(7, 12, 123) == [123]
        assert dataset.select({"7": [[1, 2]]}) == [(10, 30)]


class TestBuckets:
    @pytest.mark.skipif(s3_server.missing() is not None, reason="there is no S3 server here")
    def test_a_bucket_holds_what_a_directory_holds(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        events = np.arange(1000)
        source = write(tmp_path / "a.root", events, met=events / 2, Jet_pt=jets(events))
        for name in [name for name in os.environ if name.startswith(("AWS_", "S3_"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(tmp_path))
        with s3_server.s3_server() as server:
            for name, value in server.variables.items():
                monkeypatch.setenv(name, value)
            dataset = stripe.create("s3://data/sets/ttbar", source, batch=120)
            dataset.add(write(tmp_path / "b.root", events[::-1], Jet_pt=jets(events[::-1], 2)), "Jet")
            assert dataset.verify().wrong == ()
            dataset.export(tmp_path / "out.root")
        out = sapwood.open(f"{tmp_path}/out.root:Events")
        assert ak.array_equal(out["Jet_pt"].array(), jets(events, 2))


@pytest.mark.parametrize("name", ["h", "dir"])
def test_another_object_than_a_tree_is_a_mistake_of_the_caller(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.root"
    with sapwood.recreate(path) as file:
        file["h"] = np.histogram([1.0], bins=2)
        file["dir/Events"] = {"x": np.arange(3)}
    with pytest.raises(errors.UsageError, match=rf"'{name}' in .* is a T\w+, not a tree$"):
        stripe.create(tmp_path / "made", f"{path}:{name}")
