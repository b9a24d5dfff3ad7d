"""CMS EDM files: names, products, event numbers, luminosity masks, provenance."""

from __future__ import annotations

import doctest
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sapwood
from sapwood import edm
from sapwood.cli._app import app
from sapwood.errors import CorruptFileError, KeyInFileError, UsageError
from sapwood.integrations.edm import names, parameters
from sapwood.integrations.edm.parameters import decode

DATA = Path(__file__).resolve().parents[1] / "data" / "edm"
FILE, PLAIN = DATA / "edm.root", DATA / "edm_plain.root"
LUMIS = [(1, 10, 6), (1, 11, 5), (1, 10, 4), (2, 1, 7), (2, 5, 8)]
ENTRIES = sum(entries for _, _, entries in LUMIS)


@pytest.fixture
def events() -> Iterator[edm.Events]:
    with edm.open(FILE) as events:
        yield events


@pytest.fixture
def plain() -> Iterator[edm.Events]:
    with edm.open(PLAIN) as events:
        yield events


def muons(entry: int) -> list[dict[str, Any]]:
    """What make.cpp writes as the muons of an entry."""
    return [
        {
            "pt_": 10.0 * entry + i,
            "eta_": 0.25 * i,
            "pdgId_": 13 if i % 2 else -13,
            "isolations_": [0.125] * i,
            "selectors_": 7 * entry,
        }
        for i in range(entry % 4)
    ]


@pytest.mark.parametrize("module", [names, parameters, edm.lumis], ids=lambda module: module.__name__)
def test_examples(module: Any) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("text", ["run", "Muon_pt", "a_b_c_d_e.", "recoTracks__RECO.", "_a_b_c.", "a_b__."])
def test_other_names_are_no_products(text: str) -> None:
    assert edm.ProductName.of_branch(text) is None
    with pytest.raises(UsageError, match="type_label_instance_process"):
        edm.ProductName.parse(text)


def test_sub_branches_have_the_name_of_their_product() -> None:
    name = edm.ProductName.parse("recoTracks_generalTracks__RECO.obj.chi2_")
    assert name == edm.ProductName("recoTracks", "generalTracks", "", "RECO")
    assert str(name) == "recoTracks_generalTracks__RECO."


@pytest.mark.parametrize(
    ("wanted", "branch"),
    [
        ("generalTracks", "recoTracks_generalTracks__RECO."),
        ("generalTracks::RECO", "recoTracks_generalTracks__RECO."),
        ("recoTracks_generalTracks__RECO.", "recoTracks_generalTracks__RECO."),
        ("recoTracks_generalTracks__RECO", "recoTracks_generalTracks__RECO."),
        ("allTracks", "recoTracks_generalTracks__RECO."),
        ("slimmedMuons::RECO", "patMuons_slimmedMuons__RECO."),
        (("slimmedMuons", "", "RECO"), "patMuons_slimmedMuons__RECO."),
        (("flags", "first"), "ints_flags_first_PAT."),
        ("flags:second", "ints_flags_second_PAT."),
        (edm.ProductName("ints", "flags", "second", "PAT"), "ints_flags_second_PAT."),
        ("double", "double_fixedGridRhoAll__RECO."),
        (["fixedGridRhoAll"], "double_fixedGridRhoAll__RECO."),
    ],
)
def test_a_product_is_found_by(events: edm.Events, wanted: Any, branch: str) -> None:
    assert events[wanted].name.branch == branch


def test_a_product_is_found_by_its_parts(events: edm.Events) -> None:
    for cpp in ("std::vector<reco::Track>", "vector<reco::Track >", "recoTracks"):
        assert events.product(type=cpp, label="displacedTracks").class_name == "vector<reco::Track>"
    assert events.product("flags", instance="first").name.instance == "first"
    assert events.product("slimmedMuons", process="RECO").name.process == "RECO"
    with pytest.raises(UsageError):
        events.product()


def test_the_latest_process_wins(events: edm.Events) -> None:
    assert events["slimmedMuons"].name.process == "PAT"
    assert events["std::vector<pat::Muon>"].name.process == "PAT"


def test_without_a_history_the_process_must_be_said(plain: edm.Events) -> None:
    with pytest.raises(KeyInFileError, match="matches 2 products") as caught:
        plain["slimmedMuons"]
    assert caught.value.keys == ["patMuons_slimmedMuons__RECO.", "patMuons_slimmedMuons__PAT."]
    assert "process=" in (caught.value.hint or "")
    assert plain.product("slimmedMuons", process="PAT").name.process == "PAT"


def test_ambiguous_names_are_listed(events: edm.Events) -> None:
    with pytest.raises(KeyInFileError, match=r"ints_flags_first_PAT\., ints_flags_second_PAT\."):
        events["flags"]
    with pytest.raises(KeyInFileError, match="matches 2 products"):
        events["vector<reco::Track>"]


def test_missing_names_are_reported_with_suggestions(events: edm.Events) -> None:
    with pytest.raises(KeyInFileError, match="slimmedMuons") as caught:
        events["slimedMuon"]
    assert "slimmedMuons" in caught.value.keys
    assert "slimedMuon" not in events
    assert "slimmedMuons" in events


def test_a_split_product(events: edm.Events) -> None:
    tracks = events["generalTracks"]
    assert tracks.members == ["chi2_", "charge_", "hits_"]
    expected = [[{"chi2_": e + 0.5, "hits_": [e] * (i + 1)} for i in range(e % 3)] for e in range(ENTRIES)]
    assert tracks.arrays(["chi2_", "hits_"]).to_list() == expected
    assert tracks["charge_"].array(entry_start=2, entry_stop=3).to_list() == [[-1, 1]]
    whole = tracks.array(entry_start=5, entry_stop=6).to_list()
    assert whole == [
        [{"chi2_": 5.5, "charge_": -1 if i == 0 else 1, "hits_": [5] * (i + 1)} for i in range(2)]
    ]


def test_an_unsplit_object_in_a_split_wrapper(events: edm.Events) -> None:
    product = events["slimmedMuons"]
    assert product.array().to_list() == [muons(e) for e in range(ENTRIES)]
    assert product.array(entries=[7, 2]).to_list() == [muons(7), muons(2)]
    assert product.arrays("pt_", entries=[7]).to_list() == [[{"pt_": one["pt_"]} for one in muons(7)]]
    some = product.arrays(["pt_", "isolations_"], entry_start=7, entry_stop=8)
    assert some.to_list() == [[{k: m[k] for k in ("pt_", "isolations_")} for m in muons(7)]]
    assert product["pt_"].array(entry_start=3, entry_stop=4).to_list() == [[30.0, 31.0, 32.0]]
    assert {"pt_", "eta_", "isolations_"} <= set(product.members)


def test_an_unsplit_wrapper(plain: edm.Events) -> None:
    product = plain["slimmedMuons::PAT"]
    assert not product.branch.branches
    assert product.array().to_list() == [muons(e) for e in range(ENTRIES)]
    assert product.arrays("eta_", entry_stop=4).to_list() == [
        [{"eta_": m["eta_"]} for m in muons(e)] for e in range(4)
    ]
    assert plain["fixedGridRhoAll"].array().to_list() == [0.5 * e for e in range(ENTRIES)]
    assert product.present().tolist() == [True] * ENTRIES


@pytest.mark.parametrize("path", [FILE, PLAIN], ids=lambda path: path.stem)
def test_events_without_the_product_have_none(path: Path) -> None:
    with edm.open(path) as events:
        product = events["displacedTracks"]
        assert product.present(entry_stop=6).tolist() == [False, True, True, True, True, False]
        array = product.array(entry_stop=6).to_list()
    assert array[0] is None
    assert array[5] is None
    assert array[1] == [{"chi2_": 1.5, "charge_": 1, "hits_": [1]}]


def test_members_are_columns_of_the_tree(events: edm.Events) -> None:
    for label, member in (("slimmedMuons", "pt_"), ("generalTracks", "hits_")):
        column = events[label][member]
        assert events.tree[column.path].array().to_list() == column.array().to_list()
        (chunk,) = sapwood.iterate({str(FILE): "Events"}, [column.path])
        assert chunk[column.path].to_list() == column.array().to_list()


def test_an_unknown_member_is_reported_with_suggestions(events: edm.Events) -> None:
    with pytest.raises(KeyInFileError, match="chi2_"):
        events["generalTracks"]["chi_2"]


@pytest.mark.parametrize("path", [FILE, PLAIN], ids=lambda path: path.stem)
def test_ids(path: Path) -> None:
    with edm.open(path) as events:
        ids = events.ids()
        assert events.ids(-2).tolist() == ids.tolist()[-2:]
    expected = [(run, block) for run, block, entries in LUMIS for _ in range(entries)]
    assert ids[["run", "luminosityBlock"]].tolist() == expected
    assert ids["event"].tolist() == [5_000_000_000 + e for e in range(ENTRIES)]


def test_masks_are_json_or_dicts(tmp_path: Path) -> None:
    ranges = {"1": [[1, 3], [4, 6]], "2": [[9, 9]]}
    path = tmp_path / "cert.json"
    path.write_text(json.dumps(ranges))
    for mask in (edm.LumiMask(path), edm.LumiMask(str(path)), edm.LumiMask({1: [(1, 6)], 2: [(9, 9)]})):
        assert mask.contains([1, 1, 1, 2, 2, 3], [0, 4, 7, 9, 10, 9]).tolist() == [0, 1, 0, 1, 0, 0]
        assert repr(mask) == "<LumiMask: 7 luminosity blocks in 2 runs>"
    for wrong in ([1, 2], {"a": [[1, 2]]}, {1: [[2, 1]]}, {1: [3]}):
        with pytest.raises(UsageError, match="luminosity mask"):
            edm.LumiMask(wrong)  # type: ignore[arg-type]


MASKS = [
    ({1: [[10, 10]], 2: [[1, 9]]}, [(0, 6), (11, 30)]),
    ({1: [[10, 11]]}, [(0, 15)]),
    ({2: [[2, 5]]}, [(22, 30)]),
    ({3: [[1, 100]]}, []),
]


@pytest.mark.parametrize(("good", "ranges"), MASKS)
def test_a_mask_becomes_entry_ranges(events: edm.Events, good: Any, ranges: list[tuple[int, int]]) -> None:
    mask = edm.LumiMask(good)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mask.entry_ranges(events) == mask.entry_ranges(FILE) == ranges
    ids = events.ids()
    chosen = np.flatnonzero(mask.contains(ids["run"], ids["luminosityBlock"]))
    assert chosen.tolist() == [entry for start, stop in ranges for entry in range(start, stop)]


def test_an_index_that_does_not_cover_all_entries_is_not_used(
    events: edm.Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = edm.lumi_ranges(events)
    assert whole.tolist()[:2] == [(1, 10, 0, 6), (1, 11, 6, 11)]
    monkeypatch.setattr(edm.lumis, "_index", lambda file: whole[:-1])
    with pytest.warns(edm.LumiIndexWarning, match="does not cover the 30 entries"):
        again = edm.lumi_ranges(events)
    assert again.tolist() == whole.tolist()


@pytest.mark.parametrize(("good", "ranges"), MASKS)
def test_without_an_index_all_ids_are_read(good: Any, ranges: list[tuple[int, int]]) -> None:
    with pytest.warns(edm.LumiIndexWarning, match="is missing"):
        assert edm.LumiMask(good).entry_ranges(PLAIN) == ranges


def test_entry_ranges_are_steps_of_iterate() -> None:
    steps = edm.LumiMask({1: [[11, 11]], 2: [[5, 5]]}).entry_ranges(FILE)
    files = {str(FILE): {"object_path": "Events", "steps": steps}}
    found = [chunk["id_.event_"].to_list() for chunk in sapwood.iterate(files, ["id_.event_"])]
    assert found == [[5_000_000_000 + e for e in range(start, stop)] for start, stop in steps]


def test_products(events: edm.Events) -> None:
    infos = {info.name.branch: info for info in edm.products(events)}
    assert len(infos) == 8
    tracks = infos["recoTracks_generalTracks__RECO."]
    assert tracks.class_name == "std::vector<reco::Track>"
    assert tracks.branch_type == "Event"
    assert tracks.aliases == ("allTracks",)
    assert tracks.branch_id is not None
    assert tracks.present
    assert tracks.compressed_bytes == events["generalTracks"].compressed_bytes > 0
    dropped = infos["ints_dropped__RECO."]
    assert not dropped.present
    assert dropped.compressed_bytes == 0


def test_products_without_a_registry() -> None:
    infos = edm.products(PLAIN)
    assert [info.name.label for info in infos][:2] == ["generalTracks", "displacedTracks"]
    assert len(infos) == 7
    assert all(info.present and info.branch_id is None for info in infos)


def test_processes() -> None:
    found = edm.processes(FILE)
    assert [(info.position, info.process, info.release) for info in found] == [
        (0, "HLT", "CMSSW_14_0_1"),
        (1, "RECO", "CMSSW_14_0_2"),
        (2, "PAT", "CMSSW_14_0_3"),
    ]
    assert edm.processes(PLAIN) == []


def test_parameter_sets() -> None:
    sets = edm.parameter_sets(FILE)
    last = edm.processes(FILE)[-1]
    assert sets[last.parameter_set_id] == {
        "maxEvents": -1,
        "process": "PAT",
        "tags": ["a:b", "c"],
        "weights": [1.5, 2.0],
        "options": {"@id": "00000000000000000000000000000002"},
        "on": True,
    }
    assert sets["00000000000000000000000000000002"] == {"names": ["ab", "c"], "inner": {"n": 3}}
    with pytest.raises(KeyInFileError, match="ParameterSets"):
        edm.parameter_sets(PLAIN)


@pytest.mark.parametrize(
    "text", ["", "<", "a=+I(1)", "<a>", "<a=+I(x)>", "<a=+I>", "<a=+S(zz)>", "<a=+P(" * 70 + "<>" + ")>" * 70]
)
def test_broken_parameter_sets_are_corrupt(text: str) -> None:
    with pytest.raises(CorruptFileError):
        decode(text)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trees as in an EDM file, each of megabytes, so that none comes along with another by chance."""
    uproot = pytest.importorskip("uproot")
    path = tmp_path_factory.mktemp("edm") / "large.root"
    noise = np.random.default_rng(3).integers(0, 256, (1000, 2000), dtype=np.uint8)
    with uproot.recreate(path, compression=None) as file:
        for name in ("padding", "Events", "MetaData", "ParameterSets", "Parentage", "more"):
            product = "ints_flags__PAT." if name == "Events" else "blob"
            tree = file.mktree(name, {product: ("u1", (2000,))})
            tree.extend({product: noise})
    return path


def test_reading_events_touches_no_other_tree(large: Path) -> None:
    others = ("MetaData", "ParameterSets", "Parentage")

    def touched(file: sapwood.File) -> set[str]:
        """The trees of which the record or a basket was fetched, by the file's own trace."""
        fetched = [(offset, offset + size) for _, _, offset, size in file.trace()]
        spans: dict[str, list[tuple[int, int]]] = {}
        with sapwood.open(large) as again:
            for name in others:
                key = again.key(name)
                baskets = again[name]["blob"].baskets
                spans[name] = [(key.offset, key.offset + key.nbytes)]
                spans[name] += [(offset, offset + size) for _, _, offset, size, _ in baskets]
        return {
            name
            for name, places in spans.items()
            if any(a < stop and start < b for a, b in places for start, stop in fetched)
        }

    with edm.open(large) as events:
        events["flags"].obj.array()
        assert events.file.report().unplanned_reads == 0
        assert touched(events.file) == set()
        events.file["MetaData"]["blob"].array(library="np")
        assert touched(events.file) == {"MetaData"}


def show(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["show", "--edm", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_line_lists_products_and_processes() -> None:
    lines = show(str(FILE)).splitlines()
    assert lines[0].split()[:4] == ["label", "instance", "process", "class"]
    (muons,) = (line for line in lines if line.startswith("slimmedMuons") and " PAT " in line)
    assert "std::vector<pat::Muon>" in muons
    assert any(line.startswith("dropped") and line.split()[-3] == "dropped" for line in lines)
    assert any(line.startswith("7 products, 1 dropped") for line in lines)
    assert any("CMSSW_14_0_3" in line for line in lines)


def test_the_command_line_sorts_filters_and_speaks_json() -> None:
    document = json.loads(show(str(FILE), "--json", "--sort", "size", "--filter", "*Tracks*"))
    rows = document["products"]
    assert {row["label"] for row in rows} == {"generalTracks", "displacedTracks"}
    sizes = [row["compressed_bytes"] for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert [step["process"] for step in document["processes"]] == ["HLT", "RECO", "PAT"]
    assert json.loads(show(str(PLAIN), "--json"))["processes"] == []
    assert CliRunner().invoke(app, ["show", "--edm", str(FILE), "--sort", "baskets"]).exit_code == 2


def test_the_command_line_refuses_other_files(events_file: Path) -> None:
    result = CliRunner().invoke(app, ["show", "--edm", str(events_file)])
    assert result.exit_code == 2
    assert "not a CMS EDM file" in result.stderr
