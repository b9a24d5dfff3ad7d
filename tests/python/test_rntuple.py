"""RNTuples are trees like any other: read, cut, looped over, shown, verified, near and far."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import testkit
from typer.testing import CliRunner

import sapwood
from sapwood.cli._app import app
from sapwood.errors import KeyInFileError, UnsupportedTypeError
from sapwood.report.layout import draw, layout_of
from sapwood.report.verifying import FileReport

ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

ENTRIES = 3000


def content(first: int = 0) -> dict[str, object]:
    """Numbers, lists, texts and records, different in each entry."""
    number = np.arange(first, first + ENTRIES)
    counts = number % 4
    values = np.arange(counts.sum(), dtype="f4")
    return {
        "run": number.astype("u4"),
        "good": number % 3 == 0,
        "energy": number * 0.5,
        "pt": ak.unflatten(values, counts),
        "name": [f"event {i}é" for i in number],
        "muon": ak.unflatten(ak.zip({"pt": values * 2, "charge": (values % 2).astype("i4")}), counts),
    }


def both_clusters() -> ak.Array:
    return ak.concatenate([ak.Array(content()), ak.Array(content(ENTRIES))])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An RNTuple of two clusters, with a histogram beside it."""
    path = tmp_path_factory.mktemp("rntuple") / "events.root"
    with uproot.recreate(path, compression=uproot.ZSTD(3)) as file:
        events = file.mkrntuple("Events", content())
        events.extend(content(ENTRIES))
        file["h"] = np.histogram([1.0, 2.0])
    return path


@pytest.fixture(scope="module")
def tree_path(path: Path) -> Path:
    """The same entries as a TTree."""
    tree_path = path.with_name("tree.root")
    with sapwood.recreate(tree_path) as file:
        file["Events"] = both_clusters()
    return tree_path


def checked(path: Path) -> FileReport:
    (report,) = sapwood.verify(path).files
    return report


@pytest.fixture
def events(path: Path) -> sapwood.Tree:
    tree = sapwood.open(f"{path}:Events")
    assert isinstance(tree, sapwood.Tree)
    return tree


def test_all_values_are_those_that_uproot_wrote(events: sapwood.Tree) -> None:
    expected, found = both_clusters(), events.arrays()
    assert events.num_entries == len(found) == 2 * ENTRIES
    assert set(found.fields) == set(content())
    for name in content():
        assert ak.array_equal(found[name], expected[name], check_parameters=False), name
    assert found.pt.type == expected.pt.type and found.run.type == expected.run.type


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (ENTRIES - 7, ENTRIES + 5), (4000, 4001), (5999, 6000)])
def test_entry_ranges_may_cut_clusters(events: sapwood.Tree, start: int, stop: int) -> None:
    part = events.arrays(entry_start=start, entry_stop=stop)
    assert part.to_list() == events.arrays()[start:stop].to_list()


def test_parts_of_objects_are_read_by_dotted_paths(events: sapwood.Tree) -> None:
    assert events["muon.pt"].array().to_list() == events.arrays().muon.pt.to_list()
    assert events["muon.pt"].typename == "float[]"
    with pytest.raises(KeyInFileError, match=r"muon\.pt"):
        events["muon.ptt"]


def test_libraries_queries_and_cuts(events: sapwood.Tree) -> None:
    assert events.arrays(["run"], library="np")["run"].dtype == np.dtype("u4")
    assert list(events.arrays(["run", "energy"], library="pd").columns) == ["run", "energy"]
    cut = events.arrays(["run", "twice"], cut="good & (energy > 100)", aliases={"twice": "2 * energy"})
    expected = [i for i in range(2 * ENTRIES) if i % 3 == 0 and i * 0.5 > 100]
    assert cut.run.to_list() == expected and cut.twice.to_list() == expected
    chosen = events.arrays(["name"], entries=[5, 5999, 7])
    assert chosen.name.to_list() == ["event 5é", "event 5999é", "event 7é"]


def test_a_page_of_two_windows_is_read_once(path: Path) -> None:
    names = ["run", "pt", "name"]
    with sapwood.open(f"{path}:Events") as events:
        whole = events.arrays(names)
        wanted = events.file.report().wanted_bytes
    with sapwood.open(f"{path}:Events") as events:
        chunks = events.lazy(caching=sapwood.Caching(startup_entries=300))
        assert chunks.entry_ranges[0] == (0, 300)
        for (start, stop), chunk in zip(chunks.entry_ranges, chunks, strict=True):
            assert ak.array_equal(ak.materialize(chunk[names]), whole[start:stop], check_parameters=False)
        assert events.file.report().wanted_bytes == wanted


def test_loops_give_every_entry_once(events: sapwood.Tree) -> None:
    steps = [chunk.run for chunk in events.iterate(["run"], step_size=700)]
    assert ak.concatenate(steps).to_list() == list(range(2 * ENTRIES)) and len(steps) == 9
    assert [event.run for event, _ in zip(events.events(), range(5), strict=False)] == list(range(5))
    window = next(iter(events.lazy()))
    assert window["muon"].pt[2].to_list() == events.arrays(entry_stop=3).muon.pt[2].to_list()


def test_ntuples_and_trees_are_read_as_one(path: Path, tree_path: Path) -> None:
    both = [f"{path}:Events", f"{tree_path}:Events"]
    found = sapwood.concatenate(both, ["run", "pt", "name"])
    assert len(found) == 4 * ENTRIES
    assert found[: 2 * ENTRIES].to_list() == found[2 * ENTRIES :].to_list()
    assert sum(map(len, sapwood.iterate(both, ["pt"], step_size=1000))) == 4 * ENTRIES


def test_it_is_described_like_a_tree(events: sapwood.Tree, capsys: pytest.CaptureFixture[str]) -> None:
    assert (events.name, events.classname) == ("Events", "ROOT::RNTuple")
    assert list(events.cluster_starts) == [0, ENTRIES, 2 * ENTRIES]
    assert events.typenames()["pt"] == "std::vector<float>"
    # Its writer gave it no type.
    assert events.typenames()["muon"] == "struct[]"
    assert 0 < events["pt"].compressed_bytes < events["pt"].uncompressed_bytes
    assert sum(branch.compressed_bytes for branch in events.branches) == events.compressed_bytes
    assert events["run"].compression.algorithm == "ZSTD"
    events.show()
    assert "std::vector<float>" in capsys.readouterr().out
    again = pickle.loads(pickle.dumps(events))
    assert again["run"].array(entry_stop=2).to_list() == [0, 1]


def test_commands_take_it_as_a_tree(path: Path) -> None:
    def run(*words: str) -> str:
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == 0, result.output
        return result.output

    assert "6,000" in run("ls", str(path)) and "ROOT::RNTuple" in run("ls", str(path))
    assert "std::vector<float>" in run("show", str(path))
    assert run("head", "-n", "1", "--cut", "run > 10", str(path), "run").split() == ["run", "11"]


def test_a_remote_field_takes_at_most_two_round_trips(path: Path) -> None:
    with testkit.serving(path.parent, "--rtt-ms", "5") as server:
        events = sapwood.open(f"{server.url}/{path.name}:Events")
        found = events.arrays(["run", "energy"])
        report = events.file.report()
    assert found.run.to_list() == list(range(2 * ENTRIES))
    assert report.round_trips <= 2
    assert report.unplanned_reads == 0


def test_damage_to_a_page_is_found(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    sound = checked(path)
    assert sound.ok
    assert str(sapwood.verify(path)).endswith(f"{sound.baskets} pages)")
    with sapwood.open(f"{path}:Events") as events:
        (energy,) = (one for one in layout_of(events).branches if one.name == "energy")
    offset = energy.baskets[0].offset
    damaged = tmp_path / "damaged.root"
    damaged.write_bytes(whole[:offset] + b"?" + whole[offset + 1 :])
    report = checked(damaged)
    assert not report.ok
    (finding,) = report.findings
    assert (finding.branch, finding.basket) == ("energy", None)
    assert finding.what == f"Events;1 energy page {finding.page}"
    assert report.trees[0].lost["energy"] == ((0, ENTRIES),)


@pytest.fixture(scope="module")
def made(corpus: Path) -> Path:
    """A folder of RNTuples that ROOT made."""
    folder = corpus.parent.parent / "corpus-rntuple"
    if not folder.is_dir():
        pytest.skip(f"no RNTuples in {folder}")
    return folder


def test_unknown_features_of_the_format_are_refused(made: Path) -> None:
    with pytest.raises(UnsupportedTypeError, match="feature number 137"):
        sapwood.open(f"{made / 'gen640__feature_flag.root'}:ntpl")


def test_any_damage_to_a_page_with_a_checksum_is_found(made: Path, tmp_path: Path) -> None:
    sound = made / "gen640__comp505.root"
    assert checked(sound).ok
    whole, damaged = sound.read_bytes(), tmp_path / "damaged.root"
    with sapwood.open(f"{sound}:t") as tree:
        branches = layout_of(tree).branches
    for branch in branches:
        place = branch.baskets[-1].offset + branch.baskets[-1].nbytes // 2
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        report = checked(damaged)
        assert [finding.code for finding in report.findings] == ["checksum"]
        assert branch.name in report.trees[0].lost


def test_damage_to_a_page_in_several_parts_is_found(made: Path, tmp_path: Path) -> None:
    sound = made / "gen640__chunk.root"
    assert checked(sound).ok
    expected = sapwood.open(f"{sound}:t").arrays().to_list()
    whole, damaged, found = sound.read_bytes(), tmp_path / "damaged.root", 0
    for place in range(400, len(whole), 997):
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        if checked(damaged).ok:
            assert sapwood.open(f"{damaged}:t").arrays().to_list() == expected
        else:
            found += 1
    assert found > 10


def test_pages_in_several_parts_count_with_all_of_them(made: Path) -> None:
    path = made / "gen640__chunk.root"
    shown = CliRunner().invoke(app, ["show", f"{path}:t", "--json"])
    (field,), total = (json.loads(shown.stdout)[name] for name in ("branches", "total"))
    # 1,000 offsets of 8 bytes and 2,000 numbers of 4, not compressed, in two pages with checksums of 8 bytes.
    sizes = field["compressed_bytes"], field["uncompressed_bytes"]
    assert sizes == (total["compressed_bytes"], total["uncompressed_bytes"]) == (16_016, 16_000)
    assert field["baskets"] == total["baskets"] > 2
    with sapwood.open(f"{path}:t") as tree:
        assert (tree.compressed_bytes, tree.uncompressed_bytes) == sizes
        parts = layout_of(tree).branches[0].baskets
        assert sum(part.nbytes for part in parts) == sizes[0]
        assert all(part.offset + part.nbytes <= tree.file.size for part in parts)
        assert ak.num(tree["v"].array(), axis=0) == 1000


def test_fields_that_were_added_later_are_zero_before(made: Path) -> None:
    late = sapwood.open(f"{made / 'gen640__late_record.root'}:t").arrays()
    assert len(late) == 30
    assert late.fields == ["i", "HLT", "late", "x", "y", "z"]
    assert not any(late.late[:10]) and any(late.late)


def test_attribute_sets_are_trees(corpus: Path) -> None:
    path = corpus.parent.parent / "corpus-rntuple" / "gen640__attributes.root"
    if not path.exists():
        pytest.skip(f"no {path.name}")
    with sapwood.open(f"{path}:ntpl") as tree:
        assert tree.attribute_sets == ["Attributes"]
        found = tree.attribute_set("Attributes")
        about = [{"_rangeStart": 0, "_rangeLen": 1, "_userData": {"attr": 1}}]
        about += [{"_rangeStart": 1, "_rangeLen": 2, "_userData": {"attr": 2}}]
        assert found.arrays().to_list() == about
        assert found["_userData.attr"].array().to_list() == [1, 2]
        assert found.object_path == "/ntpl;1.Attributes"
        assert pickle.loads(pickle.dumps(found)).arrays().to_list() == about
        with pytest.raises(KeyInFileError, match="'ntpl' has no attribute set 'Other'"):
            tree.attribute_set("Other")


def test_a_tree_has_no_attribute_sets(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "out.root") as file:
        file["t"] = {"x": [1, 2]}
    with sapwood.open(f"{tmp_path}/out.root:t") as tree:
        assert tree.attribute_sets == []
        with pytest.raises(KeyInFileError):
            tree.attribute_set("Attributes")


@pytest.fixture
def collections(tmp_path: Path) -> Path:
    """An RNTuple with a collection, a record in it, and another record."""
    path = tmp_path / "collections.root"
    muons = ak.Array([[{"pt": 1.0, "x": {"y": 1, "z": "a"}}, {"pt": 2.0, "x": {"y": 2, "z": "bc"}}], []] * 40)
    with sapwood.recreate(path) as file:
        columns = {"Muon": muons, "MET": ak.Array([{"phi": 0.5, "pt": 3.0}] * 80)}
        file.mkrntuple("t", columns, cluster_entries=30)
    return path


@pytest.mark.parametrize("name", ["Muon.pt", "Muon.x", "Muon.x.y", "Muon.x.z", "MET.pt"])
def test_members_of_fields_are_items_of_events_and_chunks(collections: Path, name: str) -> None:
    with sapwood.open(f"{collections}:t") as tree:
        expected = tree[name].array()
        chunks = list(tree.events().chunks())
        assert ak.array_equal(ak.concatenate([chunk[name] for chunk in chunks]), expected)
        found = [ak.to_list(event[name]) for event in tree.events()]
        assert found == expected.to_list()
        with pytest.raises(KeyInFileError, match=r"no field 'Muon\.q'"):
            chunks[0]["Muon.q"]


def test_a_member_named_as_in_nanoaod_is_suggested_with_its_dot(collections: Path) -> None:
    with sapwood.open(f"{collections}:t") as tree:
        for name, dotted in (("Muon_pt", r"Muon\.pt"), ("MET_phi", r"MET\.phi")):
            with pytest.raises(KeyInFileError, match=f"did you mean '{dotted}'"):
                tree[name]
            with pytest.raises(KeyInFileError, match=f"did you mean '{dotted}'"):
                tree.arrays([f"{name} * 2"])


def test_the_picture_of_an_rntuple_has_fields_and_pages(collections: Path) -> None:
    with sapwood.open(f"{collections}:t") as tree:
        for picture in (draw(layout_of(tree)), draw(layout_of(tree, ["MET"]))):
            assert "2 fields" in picture and "pages" in picture
            assert "basket<" not in picture and " baskets" not in picture and "branch" not in picture


def test_an_unknown_member_of_a_field_names_those_that_are_near(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "out.root") as file:
        file.mkrntuple("events", {"Muon": "var * {pt: float32, eta: float32}", "run": "int32"})
    with sapwood.open(f"{tmp_path}/out.root:events") as events:
        with pytest.raises(KeyInFileError, match=r"no branch 'ptt' in .*:Muon; did you mean 'pt'"):
            events["Muon"]["ptt"]
        with pytest.raises(KeyInFileError, match=":run has no members, so there is no 'pt'"):
            events["run"]["pt"]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_fixed_arrays_of_tuples_are_items_of_series(tmp_path: Path, size: int) -> None:
    """Also where there are as many items as members."""
    pandas = pytest.importorskip("pandas")
    entries = [[(number, 0.5 * number) for number in range(first, first + size)] for first in (1, 5)]
    with sapwood.recreate(tmp_path / "out.root") as file:
        file.mkrntuple("events", {"p": ak.to_regular(ak.Array(entries), axis=1)})
    with sapwood.open(f"{tmp_path}/out.root:events") as events:
        assert str(events["p"].array().type) == f"2 * {size} * (int64, float64)"
        series = events["p"].array(library="pd")
        assert isinstance(series, pandas.Series)
        assert [item.tolist() for item in series] == entries
