"""Maintenance of datasets: consolidation of small objects, and receipts of workers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_stripe import jets, same, write

import sapwood
from sapwood import errors, stripe

ak = pytest.importorskip("awkward")

DATA = Path(__file__).resolve().parents[1] / "data"
MAIN = "from sapwood.cli.main import main; main()"


def piece(folder: Path, number: int) -> str:
    events = np.arange(50) + 50 * number
    return write(folder / f"{number}.root", events, met=events / 2, Jet_pt=jets(events))


@pytest.fixture
def pieces(tmp_path: Path) -> stripe.Dataset:
    dataset = stripe.create(tmp_path / "data", piece(tmp_path, 0))
    for number in range(1, 6):
        dataset.append(piece(tmp_path, number))
    return dataset


class TestConsolidation:
    def test_pieces_become_one(self, pieces: stripe.Dataset, tmp_path: Path) -> None:
        version = pieces.version()
        before = pieces.export(tmp_path / "before.root")
        would = pieces.consolidate(dry_run=True)
        assert would.segments == (6, 1) and pieces.version() == version
        done = pieces.consolidate()
        assert done.segments == (6, 1) and done.version == version + 1 and not done.notes
        assert done.objects[1] * 2 <= done.objects[0]
        same(pieces.tree(version), pieces.tree())
        assert pieces.find(7, 12, 123) == [123] and pieces.verify().wrong == ()
        assert pieces.export(tmp_path / "after.root").entries == before.entries == 300
        same(sapwood.open(f"{tmp_path}/before.root:Events"), sapwood.open(f"{tmp_path}/after.root:Events"))
        assert pieces.consolidate().version == done.version
        pieces.expire(newest=1)
        pieces.gc(grace_days=0, alone=True, dry_run=False)
        assert pieces.tree()["event"].array(library="np").tolist() == list(range(300))

    def test_consolidating_products_leaves_other_stripes(self, tmp_path: Path) -> None:
        layout: dict[str, Any] = {"batch": 48, "stripe_size": "32 B", "group": False}
        dataset = stripe.create(tmp_path / "data", [piece(tmp_path, number) for number in (0, 1)], **layout)
        version = dataset.version()
        was = {path: path.stat().st_mtime_ns for path in (tmp_path / "data").rglob("*") if path.is_file()}
        command = [sys.executable, "-c", MAIN, "stripe", "consolidate", str(tmp_path / "data")]
        done = subprocess.run(
            [*command, "--product", "Jet", "--product", "met", "--json"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert document["segments"] == [2, 2] and document["version"] == version + 1 and not document["notes"]
        # Of each segment, an object for each of its two batches, and a list.
        assert document["objects"][1] == 2 * (2 + 1) and document["objects"][0] > 20
        now = {path: path.stat().st_mtime_ns for path in (tmp_path / "data").rglob("*") if path.is_file()}
        same_as_before = {path for path in was if now.get(path) == was[path]}
        assert {path.name for path in set(was) - same_as_before} == {"hint"}
        kinds = [path.relative_to(tmp_path / "data").parts[0] for path in set(now) - set(was)]
        assert sorted(kinds) == ["d"] * 4 + ["list"] * 2 + ["log", "snap"]
        same(dataset.tree(version), dataset.tree())
        assert dataset.statistics("met")[0].stripes == 4 and dataset.statistics("event")[0].stripes > 4
        assert dataset.verify().wrong == () and dataset.find(7, 6, 63) == [63]
        assert dataset.consolidate(products="Jet").version == version + 1
        with pytest.raises(errors.KeyInFileError, match="'Nothing'"):
            dataset.consolidate(products=["Nothing"])

    @pytest.mark.parametrize(("name", "tree"), [("edm/edm.root", "Events"), ("trees/split.root", None)])
    def test_every_class_stays_as_it_is(self, name: str, tree: str | None, tmp_path: Path) -> None:
        keys = sapwood.open(DATA / name).keys(cycle=False)
        tree = tree or next(key for key in keys if hasattr(sapwood.open(DATA / name)[key], "num_entries"))
        dataset = stripe.create(tmp_path / "data", f"{DATA / name}:{tree}")
        dataset.append(f"{DATA / name}:{tree}")
        dataset.append(f"{DATA / name}:{tree}")
        version = dataset.version()
        done = dataset.consolidate()
        assert done.segments == (3, 1), done.notes
        same(dataset.tree(version), dataset.tree())


class TestReceipts:
    def test_entries_stored_by_many_workers_are_committed_once(self, tmp_path: Path) -> None:
        dataset = stripe.create(tmp_path / "data", piece(tmp_path, 0))
        receipts = []
        for number in (1, 2, 3):
            receipts.append(tmp_path / f"{number}.json")
            appended = dataset.append(piece(tmp_path, number), receipt=receipts[-1], job=(f"job {number}", 1))
            assert appended.entries == 50 and appended.version == dataset.version() == 2
        again = tmp_path / "again.json"
        dataset.append(piece(tmp_path, 2), receipt=again, job=("job 2", 2))
        # Nobody collects what is not committed yet.
        assert dataset.gc(grace_days=0, alone=True, dry_run=False).objects == ()
        done = dataset.commit(receipts[:2])
        assert (done.version, done.entries, done.already) == (3, 100, False)
        done = dataset.commit([*receipts, again])
        assert (done.version, done.entries) == (4, 50)
        done = dataset.commit([*receipts, again])
        assert (done.version, done.entries, done.already) == (4, 0, True)
        events: list[Any] = dataset.tree()["event"].array(library="np").tolist()
        assert events == list(range(200))
        assert dataset.verify().wrong == ()

    def test_foreign_receipts_are_refused(self, tmp_path: Path) -> None:
        dataset = stripe.create(tmp_path / "data", piece(tmp_path, 0))
        other = stripe.create(tmp_path / "other", piece(tmp_path, 0))
        receipt = tmp_path / "r.json"
        dataset.append(piece(tmp_path, 1), receipt=receipt)
        with pytest.raises(errors.UsageError, match="another dataset"):
            other.commit([receipt])
        document = json.loads(receipt.read_text())
        document["lease"] = "fmt"
        receipt.write_text(json.dumps(document))
        with pytest.raises(errors.ConflictError, match="lapsed"):
            dataset.commit([receipt])
        receipt.write_text("{}")
        with pytest.raises(errors.CorruptFileError):
            dataset.commit([receipt])
        assert dataset.version() == 2 and dataset.verify().wrong == ()


class TestDamage:
    def test_only_the_product_is_named_whose_bytes_are_wrong(
        self, pieces: stripe.Dataset, tmp_path: Path
    ) -> None:
        pieces.consolidate()
        stripes = [
            path
            for path in (tmp_path / "data" / "d").rglob("*")
            if path.is_file() and path.read_bytes()[8] == 4 and b"Jet_pt" in path.read_bytes()
        ]
        newest = max(stripes, key=lambda path: path.stat().st_mtime_ns)
        content = newest.read_bytes()
        place = content.rindex(b"Jet_pt")
        newest.chmod(0o644)
        newest.write_bytes(content[: place + 1] + b"X" + content[place + 2 :])
        wrong = [one for one in pieces.verify().wrong if newest.name in one.object]
        assert [one.product for one in wrong] == ["Jet"], wrong
