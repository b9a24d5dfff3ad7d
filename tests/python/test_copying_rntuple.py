"""RNTuples that are repacked, skimmed, merged and written as trees have the values that they had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from root_peer import rntuples_by_root
from typer.testing import CliRunner

import sapwood
from sapwood.cli._app import app
from sapwood.errors import ChecksumError, CorruptFileError, KeyInFileError, UnsupportedTypeError

ENTRIES = 1000


def events(first: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(first)
    counts = random.integers(0, 4, ENTRIES)
    pt = ak.unflatten(random.normal(size=counts.sum()).astype("f4"), counts)
    return {
        "run": np.arange(first, first + ENTRIES, dtype="u4"),
        "flag": counts > 2,
        "nMuon": counts.astype("i4"),
        "Muon_pt": pt,
        "Muon_charge": ak.values_astype(pt > 0, "i1"),
        "nJet": (counts + 1).astype("i4"),
        "Jet_mass": ak.unflatten(np.arange((counts + 1).sum(), dtype="f8"), counts + 1),
        "name": [f"event {n}" for n in range(ENTRIES)],
        "p4": random.normal(size=(ENTRIES, 4)),
        "hits": ak.Array([[[n % 5] * (n % 3)] for n in range(ENTRIES)]),
    }


def imported(folder: Path, first: int = 0, **options: Any) -> Path:
    """An RNTuple with collections and projections, as ROOT's importer makes it, and other objects."""
    tree, path = folder / f"tree{first}.root", folder / f"imported{first}.root"
    with sapwood.recreate(tree) as file:
        file.mktree("deep/Events", None, titles={"Muon_pt": "transverse momentum"}).extend(events(first))
        file["about"] = "an example"
        file["counts"] = np.histogram([1, 2, 3])
    sapwood.repack(tree, path, format="rntuple", cluster_entries=300, **options)
    return path


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return imported(tmp_path_factory.mktemp("source"))


def read(path: Path, name: str = "deep/Events") -> ak.Array:
    with sapwood.open(f"{path}:{name}") as tree:
        return tree.arrays()


def types(path: Path, name: str = "deep/Events") -> dict[str, tuple[str, str]]:
    with sapwood.open(f"{path}:{name}") as tree:
        return {branch.name: (branch.typename, branch.title) for branch in tree.branches}


def assert_read_by_all(path: Path, expected: ak.Array, *names: str) -> None:
    """That sapwood, uproot and ROOT read these fields."""
    found = read(path)
    wanted = {name: expected[name].to_list() for name in names or expected.fields}
    assert {name: found[name].to_list() for name in wanted} == wanted
    with uproot.open(path) as file:
        for name, values in wanted.items():
            assert file["deep/Events"][name].array().to_list() == values, name
    (by_root,) = rntuples_by_root(path, "deep/Events")
    for name, values in wanted.items():
        assert [entry[name] for entry in by_root["entries"]] == values, name


def test_pages_are_copied_if_nothing_changes(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    report = sapwood.repack(source, path)
    assert report.copied_baskets > 0
    assert report.cut_baskets == 0
    assert report.objects == 2
    assert types(path) == types(source)
    assert abs(path.stat().st_size - source.stat().st_size) < 0.05 * source.stat().st_size
    with sapwood.open(path) as file:
        assert file["about"] == "an example"
        assert file["deep/Events"].num_entries == ENTRIES
    assert_read_by_all(path, read(source))


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "lz4:4"},
        {"compression": "none"},
        {"basket_size": 1000},
        {"cluster_entries": 77},
        {"cluster_size": "20 kB", "compression": "zlib:1"},
        {"entry_start": 250, "entry_stop": -7},
        {"cut": "nMuon == 2"},
        {"cut": "run % 50 == 3", "cluster_entries": 7},
        {"cut": "run > 5000"},
    ],
    ids=str,
)
def test_values_are_equal_after_any_change(source: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "out.root"
    report = sapwood.repack(source, path, **options)
    recompressed = list(options) == ["compression"]
    assert (report.cut_baskets > 0) == (options.get("cut") != "run > 5000" and not recompressed)
    assert (report.recompressed_baskets > 0) == recompressed
    cut = {name: option for name, option in options.items() if name in ("cut", "entry_start", "entry_stop")}
    with sapwood.open(f"{source}:deep/Events") as tree:
        expected = tree.arrays(**cut)
    assert types(path) == types(source)
    assert_read_by_all(path, expected)
    if "compression" in options:
        with sapwood.open(f"{path}:deep/Events") as tree:
            wanted = sapwood.Compression.of(options["compression"]).code
            assert {branch.compression.code for branch in tree.branches if branch.compression} == {wanted}


def test_clusters_that_are_wanted_as_a_whole_are_copied(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    report = sapwood.repack(source, path, entry_start=150, entry_stop=900)
    assert report.copied_baskets > 0
    assert report.cut_baskets > 0
    with sapwood.open(f"{path}:deep/Events") as tree:
        assert tree.num_entries == 750
        assert tree.cluster_starts == [0, 150, 450, 750]
    assert_read_by_all(path, read(source)[150:900])


def test_projections_keep_their_sizes_and_if_all_are_kept_their_collection(
    source: Path, tmp_path: Path
) -> None:
    path = tmp_path / "out.root"
    sapwood.repack(source, path, keep=["Muon_*", "Jet_mass"])
    kept = types(path)
    collections = {"_collection0", "_collection1"}
    assert set(kept) == collections | {"nMuon", "Muon_pt", "Muon_charge", "nJet", "Jet_mass"}
    assert kept["Muon_pt"] == ("ROOT::VecOps::RVec<float>", "transverse momentum")
    assert_read_by_all(path, read(source), *(set(kept) - collections))


@pytest.mark.parametrize(
    "options",
    [
        {"keep": "Muon_pt"},
        {"drop": ["Muon_charge", "*Jet*"]},
        {"drop": ["_collection*", "Muon_charge", "*Jet*"]},
    ],
)
def test_a_projection_without_its_collection_gets_values(
    source: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    path = tmp_path / "out.root"
    sapwood.repack(source, path, **options)
    kept = types(path)
    assert {"nMuon", "Muon_pt"} <= set(kept)
    assert not any(name.startswith("_collection") or "Jet" in name or "charge" in name for name in kept)
    assert kept["nMuon"][0] == "std::uint32_t"
    assert_read_by_all(path, read(source), *kept)


def test_lists_bring_the_field_of_their_lengths(source: Path, tmp_path: Path) -> None:
    """As those of a tree bring their counter."""
    path = tmp_path / "out.root"
    sapwood.repack(source, path, keep="Muon_*")
    assert set(types(path)) == {"_collection0", "nMuon", "Muon_pt", "Muon_charge"}
    sapwood.repack(source, path, keep="Muon_pt", overwrite=True)
    assert set(types(path)) == {"nMuon", "Muon_pt"}
    assert_read_by_all(path, read(source), "nMuon", "Muon_pt")
    sapwood.repack(source, path, keep="Muon_pt", drop="nMuon", overwrite=True)
    assert set(types(path)) == {"Muon_pt"}


def test_members_that_no_projection_shows_are_not_lost(tmp_path: Path) -> None:
    """ROOT projects no arrays: those of a collection are only there."""
    tree, path, slim = (tmp_path / f"{name}.root" for name in ("tree", "path", "slim"))
    covariance = ak.to_regular(ak.Array([[[1, 2]], [[3, 4], [5, 6]]]), axis=2)
    with sapwood.recreate(tree) as file:
        columns = {"run": [1, 2], "nMuon": [1, 2], "Muon_pt": [[1.5], [2.5, 3.5]], "Muon_cov": covariance}
        file["Events"] = columns
    sapwood.repack(tree, path, format="rntuple")
    with sapwood.open(f"{path}:Events") as events:
        with pytest.raises(KeyInFileError, match=r"no branch 'Muon_cov' .*'_collection0\.Muon_cov'"):
            events["Muon_cov"]
        with pytest.raises(KeyInFileError, match=r"'_collection0\.Muon_cov'"):
            events.arrays("Muon_cov + 1")
    for options in (
        {"drop": "run"},
        {"drop": "Muon_pt"},
        {"drop": "nMuon"},
        {"keep": "Muon_cov"},
        {"keep": "Muon_c*", "drop": "Muon_pt"},
        {"keep": "_collection0", "drop": "run"},
    ):
        sapwood.repack(path, slim, overwrite=True, **options)  # type: ignore[arg-type]
        with sapwood.open(f"{slim}:Events") as events:
            assert events["_collection0.Muon_cov"].array().to_list() == covariance.to_list(), options
            assert options.get("drop") not in events
    sapwood.repack(path, slim, drop="Muon_*", overwrite=True)
    assert set(types(slim, "Events")) == {"run", "nMuon"}
    sapwood.repack(path, slim, drop=["_collection0", "nMuon"], overwrite=True)
    assert set(types(slim, "Events")) == {"run", "Muon_pt"}


def test_collections_without_projections_are_kept_when_others_are_dropped(tmp_path: Path) -> None:
    path, slim = tmp_path / "path.root", tmp_path / "slim.root"
    hits = ak.Array([[{"x": 1}], []])
    with sapwood.recreate(path) as file:
        file.mkrntuple("Events", {"run": [1, 2], "x": [3, 4], "_collection0": hits, "_collections": hits})
    sapwood.repack(path, slim, drop="run")
    assert (
        read(slim, "Events").to_list()
        == read(path, "Events")[["x", "_collection0", "_collections"]].to_list()
    )


def test_a_collection_can_be_dropped_without_its_projections(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    sapwood.repack(source, path, drop="_collection0")
    kept = types(path)
    assert "_collection0" not in kept and {"_collection1", "nMuon", "Muon_pt", "Muon_charge"} <= set(kept)
    assert_read_by_all(path, read(source), "nMuon", "Muon_pt", "Muon_charge", "Jet_mass")


def test_files_are_merged(source: Path, tmp_path: Path) -> None:
    other = imported(tmp_path, ENTRIES)
    path = tmp_path / "out.root"
    report = sapwood.merge([source, other, source], path)
    assert report.cut_baskets == 0
    assert report.sums == 1
    assert_read_by_all(path, ak.concatenate([read(source), read(other), read(source)]))


def test_files_of_other_compression_are_merged(source: Path, tmp_path: Path) -> None:
    """Fields that are not compressed have other encodings of the same values."""
    other = imported(tmp_path, ENTRIES, compression="none")
    path = tmp_path / "out.root"
    report = sapwood.merge([source, other], path)
    assert report.copied_baskets > 0
    assert report.cut_baskets > 0
    assert_read_by_all(path, ak.concatenate([read(source), read(other)]))
    sapwood.merge([source, other], path, compression="lzma:1", overwrite=True)
    assert_read_by_all(path, ak.concatenate([read(source), read(other)]))


def with_types(path: Path, **columns: Any) -> Path:
    with sapwood.recreate(path) as file:
        file.mkrntuple("Events", columns)
    return path


def test_files_of_other_types_are_merged_by_what_they_share(tmp_path: Path) -> None:
    numbers = np.arange(5)
    one = with_types(tmp_path / "one.root", x=numbers.astype("f4"), y=numbers, z=numbers)
    two = with_types(tmp_path / "two.root", z=numbers + 5, x=numbers.astype("f8"))
    path = tmp_path / "out.root"
    with pytest.raises(UnsupportedTypeError, match="x is double, not float; y is missing"):
        sapwood.merge([one, two], path)
    assert not path.exists()
    report = sapwood.merge([one, two], path, schema="intersection")
    assert "y is missing" in report.notes[0]
    assert read(path, "Events").to_list() == [{"z": n} for n in range(10)]


def test_a_tree_and_an_rntuple_are_not_merged(source: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree.root"
    sapwood.repack(source, tree, format="ttree")
    with pytest.raises(UnsupportedTypeError, match="'deep/Events' is a TTree, but an RNTuple in"):
        sapwood.merge([source, tree], tmp_path / "out.root")


def test_rntuples_are_written_as_trees(source: Path, tmp_path: Path) -> None:
    path, again = tmp_path / "tree.root", tmp_path / "again.root"
    report = sapwood.repack(source, path, format="ttree", cluster_entries=300)
    assert dict(report.trees) == {"deep/Events": ENTRIES}
    expected = events()
    with uproot.open(path) as file:
        tree = file["deep/Events"]
        assert tree.classname == "TTree"
        assert set(tree.keys()) == set(expected)
        assert tree["Muon_pt"].title == "transverse momentum"
        assert tree["Muon_pt"].member("fLeaves")[0].member("fLeafCount").member("fName") == "nMuon"
        for name, values in expected.items():
            assert tree[name].array().to_list() == ak.Array(values).to_list(), name
    sapwood.repack(path, again, format="rntuple")
    assert read(again)[list(expected)].to_list() == read(source)[list(expected)].to_list()


def test_records_become_branches_of_their_members(tmp_path: Path) -> None:
    numbers = ak.Array([[n] * (n % 3) for n in range(20)])
    jets = ak.zip({"pt": ak.values_astype(numbers, "f4"), "id": numbers})
    path = with_types(
        tmp_path / "records.root",
        Jet=jets,
        met=ak.zip({"x": np.arange(20.0), "y": np.arange(20)}),
        pair=ak.zip((np.arange(20), np.arange(20) * 0.5)),
        names=ak.Array([["a", "b"]] * 20),
        arrays=ak.from_regular(ak.to_regular(ak.Array([[[1, 2], [3, 4]]] * 20), axis=2)),
    )
    sapwood.repack(path, tmp_path / "tree.root", format="ttree")
    with uproot.open(tmp_path / "tree.root") as file:
        found = file["Events"].arrays()
    assert found.nJet.to_list() == ak.num(jets).to_list()
    assert found.Jet_pt.to_list() == jets.pt.to_list()
    assert found.Jet_id.to_list() == jets.id.to_list()
    assert found.met_x.to_list() == list(range(20))
    assert found.pair_1.to_list() == [n * 0.5 for n in range(20)]
    assert found.names.to_list() == [["a", "b"]] * 20
    assert found.arrays.to_list() == [[[1, 2], [3, 4]]] * 20


def test_what_a_tree_cannot_hold_is_refused_by_name(tmp_path: Path) -> None:
    path = with_types(tmp_path / "in.root", x=np.arange(3), maybe=ak.Array([1, None, 3]))
    with pytest.raises(
        UnsupportedTypeError, match=r"of the field's type std::optional<std::int64_t> .*maybe"
    ) as caught:
        sapwood.repack(path, tmp_path / "out.root", format="ttree")
    assert "drop the field" in str(caught.value)
    assert not (tmp_path / "out.root").exists()
    sapwood.repack(path, tmp_path / "out.root", format="ttree", drop="maybe")
    assert read(tmp_path / "out.root", "Events").to_list() == [{"x": n} for n in range(3)]
    several = with_types(
        tmp_path / "several.root",
        x=np.arange(3),
        maybe=ak.Array([1, None, 3]),
        inside=ak.Array([{"a": [1, None], "b": 2}] * 3),
    )
    with pytest.raises(
        UnsupportedTypeError, match="drop the fields that a tree cannot hold: 'maybe', 'inside'"
    ):
        sapwood.repack(several, tmp_path / "refused.root", format="ttree")


def test_all_types_that_can_be_written_survive(tmp_path: Path) -> None:
    numbers = np.arange(ENTRIES)
    lists = ak.Array([[n / 3] * (n % 4) for n in numbers])
    path = with_types(
        tmp_path / "in.root",
        option=ak.Array([int(n) if n % 3 else None for n in numbers]),
        options=ak.mask(lists, lists > 9),
        record=ak.zip({"x": numbers * 0.5, "n": numbers}),
        jets=ak.zip({"pt": lists, "eta": lists * 2}),
        variant=ak.Array([int(n) if n % 2 else f"text {n}" for n in numbers]),
        pair=ak.zip((numbers, numbers * 0.5)),
        texts=ak.Array([["ü" * (n % 3)] * (n % 2) for n in numbers]),
        array=np.arange(ENTRIES * 6).reshape(ENTRIES, 2, 3),
    )
    target = tmp_path / "out.root"
    cut = {"cut": "record.n % 7 != 0"}
    for options in ({}, {"compression": "lz4"}, {"basket_size": 500, "cluster_entries": 99}, cut):
        sapwood.repack(path, target, overwrite=True, **options)  # type: ignore[arg-type]
        expected = read(path, "Events")
        expected = expected[expected.record.n % 7 != 0] if "cut" in options else expected
        assert read(target, "Events").to_list() == expected.to_list(), options
        assert types(target, "Events") == types(path, "Events")


def test_a_damaged_page_is_not_copied(source: Path, tmp_path: Path) -> None:
    from sapwood.report.layout import layout_of

    with sapwood.open(f"{source}:deep/Events") as tree:
        (run,) = (one for one in layout_of(tree).branches if one.name == "run")
    damaged, whole = tmp_path / "damaged.root", bytearray(source.read_bytes())
    whole[run.baskets[1].offset + run.baskets[1].nbytes // 2] ^= 1
    damaged.write_bytes(whole)
    for options in ({}, {"compression": "lz4"}):
        with pytest.raises(ChecksumError, match="checksum"):
            sapwood.repack(damaged, tmp_path / "out.root", **options)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["damaged.root"]


def test_a_damaged_page_without_a_checksum_is_not_recompressed(tmp_path: Path) -> None:
    """Its blocks do not have the length that its elements need."""
    path = tmp_path / "in.root"
    with uproot.recreate(path, compression=uproot.ZLIB(1)) as file:
        file.mkrntuple("Events", {"x": np.zeros(1000, np.int64)})
    whole = bytearray(path.read_bytes())
    length = (8000).to_bytes(3, "little")
    (place,) = (
        at for at in range(len(whole)) if whole[at : at + 3] == b"ZL\x08" and whole[at + 6 : at + 9] == length
    )
    whole[place + 6] -= 1
    path.write_bytes(whole)
    with pytest.raises(CorruptFileError, match="compression block"):
        sapwood.repack(path, tmp_path / "out.root", compression="zstd:1")
    assert not (tmp_path / "out.root").exists()


def test_unknown_fields_are_named(source: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyInFileError, match="no tree 'Other'"):
        sapwood.repack(source, tmp_path / "out.root", trees=["Other"])


def test_pages_without_checksums_get_them(tmp_path: Path) -> None:
    path, target = tmp_path / "in.root", tmp_path / "out.root"
    with uproot.recreate(path, compression=None) as file:
        file.mkrntuple("Events", {"x": np.arange(100), "v": ak.Array([[n] * (n % 3) for n in range(100)])})
    report = sapwood.repack(path, target)
    assert report.copied_baskets > 0
    assert read(target, "Events").to_list() == read(path, "Events").to_list()
    whole = bytearray(target.read_bytes())
    place = whole.find(np.arange(100).tobytes())
    whole[place + 100] ^= 1
    target.write_bytes(whole)
    with pytest.raises(ChecksumError):
        read(target, "Events")


def test_all_files_of_root_can_be_copied(corpus: Path, tmp_path: Path) -> None:
    folder = corpus.parent.parent / "corpus-rntuple"
    if not folder.is_dir():
        pytest.skip(f"no RNTuples in {folder}")
    target = tmp_path / "out.root"
    for path in sorted(folder.glob("*.root")):
        if "feature_flag" in path.name:
            continue
        with sapwood.open(path) as file:
            (name,) = file.keys(cycle=False)
        for options in ({}, {"compression": "lz4:3"}, {"cluster_entries": 3}, {"entry_start": 1}):
            report = sapwood.repack(path, target, overwrite=True, **options)  # type: ignore[arg-type]
            expected = read(path, name)[options.get("entry_start", 0) :]
            assert read(target, name).to_list() == expected.to_list(), (path.name, options)
            assert types(target, name) == types(path, name), path.name
            assert not any("attribute" in note for note in report.notes), path.name


def attributes(path: Path) -> list[tuple[int, int, int]]:
    """The ranges of entries that the attributes of ROOT's file are about, and their values."""
    with sapwood.open(f"{path}:ntpl") as tree:
        assert tree.attribute_sets == ["Attributes"]
        found = tree.attribute_set("Attributes").arrays()
    return [(one["_rangeStart"], one["_rangeLen"], one["_userData"]["attr"]) for one in found.to_list()]


def test_attributes_speak_of_the_same_entries_in_a_new_file(corpus: Path, tmp_path: Path) -> None:
    path = corpus.parent.parent / "corpus-rntuple" / "gen640__attributes.root"
    if not path.exists():
        pytest.skip(f"no {path.name}")
    one, both, tree = (tmp_path / f"{name}.root" for name in ("one", "both", "tree"))
    assert attributes(path) == [(0, 1, 1), (1, 2, 2)]
    for options in ({}, {"compression": "zstd:3"}, {"cluster_entries": 1}):
        sapwood.repack(path, one, overwrite=True, **options)  # type: ignore[arg-type]
        assert attributes(one) == attributes(path), options
    # All entries of the first attribute are dropped, and one of the second.
    sapwood.repack(path, one, overwrite=True, entry_start=2)
    assert attributes(one) == [(0, 1, 2)]
    sapwood.merge([path, one, path], both)
    assert attributes(both) == [(0, 1, 1), (1, 2, 2), (3, 1, 2), (4, 1, 1), (5, 2, 2)]
    with sapwood.open(f"{both}:ntpl") as ntuple:
        assert ntuple["Int32"].array().to_list() == [1, 2, 3, 3, 1, 2, 3]
    report = sapwood.repack(path, tree, format="ttree")
    assert any("attribute set" in note for note in report.notes)


def test_the_command_line_slims_skims_and_merges(source: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, list(arguments))
        assert result.exit_code == 0, result.output
        return result.output

    slim, skim, both = (str(tmp_path / f"{name}.root") for name in ("slim", "skim", "both"))
    run("slim", str(source), slim, "--keep", "Muon_*", "--keep", "nMuon")
    run("skim", slim, skim, "--cut", "nMuon >= 2")
    run("merge", both, skim, skim)
    expected = read(source)[["nMuon", "Muon_pt"]]
    expected = expected[expected.nMuon >= 2]
    assert_read_by_all(Path(both), ak.concatenate([expected, expected]))
    run("repack", both, str(tmp_path / "tree.root"), "--format", "ttree")
    with sapwood.open(tmp_path / "tree.root") as file:
        assert file.classnames(cycle=False)["deep/Events"] == "TTree"
    wrong = CliRunner().invoke(app, ["repack", both, str(tmp_path / "x.root"), "--format", "parquet"])
    assert wrong.exit_code == 2
    assert "'rntuple' or 'ttree'" in wrong.output


def test_datasets_are_made_from_rntuples(source: Path, tmp_path: Path) -> None:
    expected = read(source)
    wanted, names = expected[expected.nMuon > 0], list(events())
    dataset = sapwood.stripe.create(tmp_path / "set", f"{source}:deep/Events", cut="nMuon > 0")
    dataset.append(source)
    with sapwood.open(tmp_path / "set") as tree:
        found = tree.arrays()
        assert tree.file["about"] == "an example"
    assert set(found.fields) == set(names)
    assert found[names].to_list() == ak.concatenate([wanted, expected])[names].to_list()
    sapwood.stripe.create(tmp_path / "few", f"{source}:deep/Events", drop=["Muon_*", "*Jet*"])
    with sapwood.open(tmp_path / "few") as tree:
        assert set(tree.keys()) == {name for name in names if "Jet" not in name and "Muon_" not in name}


def test_an_rntuple_provides_products_for_a_dataset(source: Path, tmp_path: Path) -> None:
    """Its events are those of the dataset in another order."""
    keys = {"run": "u4", "luminosityBlock": "u4", "event": "u8"}
    numbers = {name: np.arange(50, dtype=kind) for name, kind in keys.items()}
    with sapwood.recreate(tmp_path / "first.root") as file:
        file["Events"] = numbers | {"x": np.arange(50.0)}
    dataset = sapwood.stripe.create(tmp_path / "set", f"{tmp_path}/first.root:Events")
    backwards = {name: values[::-1] for name, values in numbers.items()}
    path = with_types(
        tmp_path / "more.root", **backwards, Jet_pt=ak.Array([[n] * (n % 3) for n in range(50)][::-1])
    )
    dataset.add(f"{path}:Events", "Jet")
    with sapwood.open(tmp_path / "set") as tree:
        assert tree["Jet_pt"].array().to_list() == [[n] * (n % 3) for n in range(50)]


def test_a_dataset_is_not_begun_for_fields_that_no_tree_holds(tmp_path: Path) -> None:
    path = with_types(tmp_path / "in.root", maybe=ak.Array([1, None, 3]))
    with pytest.raises(UnsupportedTypeError, match="maybe"):
        sapwood.stripe.create(tmp_path / "set", f"{path}:Events")
    assert not (tmp_path / "set").exists()
