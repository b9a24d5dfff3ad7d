"""Writing files: every kind of column, and when a file appears; see test_writing_refused.py."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from root_peer import python_with_root, read_by_root

import sapwood
from sapwood.errors import ClosedFileError, KeyInFileError, UnsupportedTypeError, UsageError
from sapwood.writing.types import column_type

ak = pytest.importorskip("awkward")

MUONS = ak.Array(
    [[{"pt": 31.5, "q": 1}, {"pt": 20.0, "q": -1}], [], [{"pt": 8.25, "q": 1}]],
)


def everything() -> dict[str, Any]:
    """A column of each kind, three entries."""
    return {
        "run": np.array([1, 2, 2**32 - 1], "u4"),
        "big": np.array([0, 2**64 - 1, 7], "u8"),
        "small": np.array([-128, 0, 127], "i1"),
        "good": np.array([True, False, True]),
        "p4": np.arange(12.0).reshape(3, 4),
        "matrix": np.arange(18, dtype="i2").reshape(3, 2, 3),
        "Muon": MUONS,
        "hits": ak.Array([[1], [2, 3], []]),
        "nested": ak.Array([[[1.5], []], [], [[2.5, 3.5]]]),
        "name": ["a", "", "ü" * 200],
        "names": ak.Array([["x", "yy"], [], [""]]),
        "vertex": ak.Array([{"x": 1.0, "y": 2}, {"x": 3.0, "y": 4}, {"x": 5.0, "y": 6}]),
    }


BRANCHES = [
    *["run", "big", "small", "good", "p4", "matrix", "nMuon", "Muon_pt", "Muon_q", "nhits", "hits"],
    *["nested", "name", "names", "vertex_x", "vertex_y"],
]


def expected() -> dict[str, list[Any]]:
    """What branches hold when :func:`everything` was written."""
    data = everything()
    members = {"Muon_pt": MUONS.pt, "Muon_q": MUONS.q, "nMuon": [2, 0, 1], "nhits": [1, 2, 0]}
    members |= {"vertex_x": data["vertex"].x, "vertex_y": data["vertex"].y}
    return {name: ak.to_list(members.get(name, data.get(name))) for name in BRANCHES}


def test_types_are_named_as_sapwood_and_root_name_them(tmp_path: Path) -> None:
    path = tmp_path / "types.root"
    shown = {
        "a": ("int16_t", "int16_t"),
        "b": ("UInt_t", "uint32_t"),
        "c": ("vector<uint8_t>", "std::vector<uint8_t>"),
        "d": ("std::vector<std::int64_t>", "std::vector<int64_t>"),
        "e": ("vector<vector<Float_t>>", "std::vector<std::vector<float>>"),
        "f": ("Bool_t", "bool"),
    }
    with sapwood.recreate(path) as file:
        file.mktree("t", {name: declared for name, (declared, _) in shown.items()})
        with pytest.raises(sapwood.errors.UsageError, match="Colour_t"):
            file.mktree("u", {"x": "Colour_t"})
    with sapwood.open(f"{path}:t") as tree:
        assert {branch.name: branch.typename for branch in tree.branches} == {
            name: typename for name, (_, typename) in shown.items()
        }


def test_every_kind_of_column_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    with sapwood.recreate(path) as file:
        file["dir/Events"] = everything()
        file["dir/Events"].extend(everything())
        assert file["dir/Events"].num_entries == 6
        assert not path.exists()
    twice = {name: values * 2 for name, values in expected().items()}
    with sapwood.open(path) as read:
        assert read["dir/Events"].keys() == BRANCHES
        assert {name: read["dir/Events"][name].array().tolist() for name in BRANCHES} == twice
    with uproot.open(path) as read:
        assert {name: read["dir/Events"][name].array().tolist() for name in BRANCHES} == twice


def test_root_reads_every_kind_of_column(tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    with sapwood.recreate(path) as file:
        file["dir/Events"] = everything()
        file["text"] = "hello"
    (found,) = read_by_root(path)
    flat = {
        name: [np.ravel(value).tolist() if _is_numbers(name) else value for value in values]
        for name, values in expected().items()
    }
    assert found["text"] == "hello"
    assert list(found["dir/Events"]) == BRANCHES
    assert {name for name in BRANCHES if found["dir/Events"][name] != flat[name]} == set()


def _is_numbers(name: str) -> bool:
    return name not in ("nested", "name", "names")


def test_declared_types(tmp_path: Path) -> None:
    types = {
        "met": "float32",
        "p4": ("f8", (4,)),
        "Jet": "var * {pt: float32, id: int8}",
        "tracks": "vector<vector<int>>",
        "labels": "std::vector<std::string>",
        "flat": "vector<double>",
        "text": "char*",
        "word": str,
        "seen": bool,
    }
    with sapwood.recreate(tmp_path / "out.root") as file:
        tree = file.mktree("Events", types, title="the events", titles={"met": "missing energy"})
        tree.extend(
            {
                "met": [1, 2.1],
                "p4": ak.Array([[1.0, 2, 3, 4], [5, 6, 7, 8]]),
                "Jet": [[], []],
                "tracks": ak.Array([[[1]], []]),
                "labels": [["a"], []],
                "flat": np.array([[1.0, 2.0], [3.0, 4.0]]),
                "text": ["abc", ""],
                "word": np.array(["x", "yz"]),
                "seen": [True, False],
            }
        )
    with sapwood.open(f"{tmp_path}/out.root:Events") as tree:
        assert tree.title == "the events"
        assert tree["met"].title == "missing energy"
        assert tree["tracks"].typename == "std::vector<std::vector<int32_t>>"
        assert tree["flat"].typename == "std::vector<double>"
        assert tree["met"].array().tolist() == [1.0, float(np.float32(2.1))]
        assert tree["p4"].array().tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
        assert tree["nJet"].array().tolist() == [0, 0]
        assert tree["Jet_id"].array().type.content.content.primitive == "int8"
        assert tree["flat"].array().tolist() == [[1, 2], [3, 4]]
        assert tree["text"].array().tolist() == ["abc", ""]
        assert tree["word"].array().tolist() == ["x", "yz"]


def test_numbers_have_the_names_of_all_languages() -> None:
    for name, kind in [
        ("f4", "float32"),
        ("float", "float64"),
        ("Float_t", "float32"),
        ("u1", "uint8"),
        ("int16_t", "int16"),
        ("unsigned int", "uint32"),
        ("long long", "int64"),
    ]:
        assert column_type("x", f"var * {name}") == column_type("x", f"var * {kind}")
    assert column_type("x", "3 * f4") == column_type("x", ("f4", (3,)))
    record = column_type("x", "var * {f4: i4, y: ?Float_t}")
    assert record == column_type("x", "var * {f4: int32, y: ?float32}")
    for wrong in ("var * flot", "var *", "{x float32}", 'var * "f4"'):
        with pytest.raises(UsageError, match='is not a type of a column; use "float32"') as caught:
            column_type("x", wrong)
        assert "Token" not in str(caught.value)


def test_lists_of_one_length_stay_fixed(tmp_path: Path) -> None:
    regular = ak.to_regular(ak.Array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    with sapwood.recreate(tmp_path / "out.root") as file:
        file["fixed"] = {"x": regular}
        file.mkrntuple("ntuple", {"x": regular})
        file.mktree("lists", {"x": "var * float64"}).extend({"x": regular})
        file.mktree("declared", {"x": "3 * float64"}).extend({"x": regular})
    with sapwood.open(tmp_path / "out.root") as file:
        for name in ("fixed", "ntuple", "declared"):
            assert str(file[name]["x"].array().type) == "2 * 3 * float64"
            assert file[name].keys() == ["x"]
        assert str(file["lists"]["x"].array().type) == "2 * var * float64"
        assert all(file[name]["x"].array().to_list() == regular.to_list() for name in ("fixed", "lists"))
    with uproot.open(tmp_path / "out.root") as file:
        assert file["fixed/x"].array().to_list() == regular.to_list()


def test_columns_share_the_counter_that_is_among_them(tmp_path: Path) -> None:
    data = {
        "Jet_pt": ak.Array([[1.0], [2.0, 3.0]]),
        "Jet_eta": ak.Array([[0.1], [0.2, 0.3]]),
        "nJet": np.array([1, 2]),
        "other": ak.Array([[1], []]),
    }
    with sapwood.recreate(tmp_path / "out.root") as file:
        file["Events"] = data
        assert file["Events"].keys() == ["nJet", "Jet_pt", "Jet_eta", "nother", "other"]
        with pytest.raises(UsageError, match=r"entry 1 .* 2 items, but 'nJet' counts 1 .*Jet_pt"):
            file["Events"].extend({**data, "nJet": np.array([1, 1])})
    with sapwood.open(f"{tmp_path}/out.root:Events") as tree:
        assert tree["Jet_eta"].array().tolist() == [[0.1], [0.2, 0.3]]


def test_names_can_be_chosen(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "out.root") as file:
        tree = file.mktree(
            "Events",
            {"a_x": "var * int32", "a_y": "var * int32", "b": {"c": "float32"}},
            field_name=lambda outer, inner: f"{outer}.{inner}",
            counter_name=lambda counted: "size_" + counted.partition("_")[0],
        )
        assert tree.keys() == ["size_a", "a_x", "a_y", "b.c"]


def test_tables_of_others(tmp_path: Path) -> None:
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    values = {"x": [1.5, 2.5], "n": [1, 2], "s": ["a", "b"]}
    structured = np.array([(1.5, 1), (2.5, 2)], dtype=[("x", "f8"), ("n", "i8")])
    with sapwood.recreate(tmp_path / "out.root") as file:
        file["pandas"] = pd.DataFrame(values)
        file["arrow"] = pa.table({**values, "l": [[1], []]})
        file["awkward"] = ak.Array([{"x": 1.5, "n": 1, "s": "a"}, {"x": 2.5, "n": 2, "s": "b"}])
        file["structured"] = structured
    with sapwood.open(tmp_path / "out.root") as file:
        for name in ("pandas", "arrow", "awkward"):
            assert {key: file[name][key].array().tolist() for key in values} == values
        assert file["arrow"]["l"].array().tolist() == [[1], []]
        assert file["structured"].arrays(library="np")["n"].tolist() == [1, 2]


def test_integers_beyond_int64_in_lists_keep_their_digits(tmp_path: Path) -> None:
    numbers = [2**63 + 1, 1, 2**64 - 1]
    with sapwood.recreate(tmp_path / "out.root") as file:
        file["tree"] = {"x": numbers}
        file.mkrntuple("rntuple", {"x": "uint64"}).extend({"x": numbers})
    with sapwood.open(tmp_path / "out.root") as file:
        for name in ("tree", "rntuple"):
            read = file[name]["x"].array(library="np")
            assert read.dtype == "u8"
            assert read.tolist() == numbers


def test_views_of_texts_in_arrow_tables_are_written(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    texts = ["a", None, "a text that is longer than a view"]
    with sapwood.recreate(tmp_path / "out.root") as file:
        file.mkrntuple("rntuple", arrow.table({"x": arrow.array(texts, "string_view")}))
        pairs = arrow.array([[("a", 1)], []], arrow.map_(arrow.string(), arrow.int32()))
        with pytest.raises(UsageError, match="Awkward Array has none like map<string, int32>"):
            file["maps"] = {"x": pairs}
    assert sapwood.open(f"{tmp_path}/out.root:rntuple")["x"].array().tolist() == texts


def test_numbers_are_converted_where_they_fit(tmp_path: Path) -> None:
    types = {"f": "float32", "d": "float64", "u": "uint64", "i": "int8"}
    with sapwood.recreate(tmp_path / "out.root") as file:
        tree = file.mktree("t", types)
        tree.extend({"f": [0.1, np.inf], "d": [1, 2], "u": [True, False], "i": [-128, 127]})
        tree.extend({"f": ak.Array([1, 2]), "d": np.array([1.5], "f4").repeat(2), "u": [3, 4], "i": [0, 1]})
        for wrong in ({"u": [-1, 0]}, {"d": np.array([1, 2**63 - 1])}, {"i": [128, 0]}):
            with pytest.raises(UsageError, match="does not fit"):
                tree.extend({"f": [0, 0], "d": [0, 0], "u": [0, 0], "i": [0, 0], **wrong})
    with sapwood.open(f"{tmp_path}/out.root:t") as read:
        assert read["f"].array(library="np").tolist() == [float(np.float32(0.1)), np.inf, 1, 2]
        assert read["d"].array(library="np").tolist() == [1, 2, 1.5, 1.5]
        assert read["u"].array(library="np").tolist() == [1, 0, 3, 4]


def test_settings_by_branch(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "out.root", compression="none") as file:
        file.mktree(
            "t",
            {"Muon_pt": "float64", "Muon_eta": "float64", "x": "float64"},
            compression={"Muon_eta": "lzma:1", "Muon_*": "lz4"},
            basket_size={"x": 2000},
            cluster_entries=1000,
        ).extend({name: np.zeros(2500) for name in ("Muon_pt", "Muon_eta", "x")})
    with uproot.open(f"{tmp_path}/out.root:t") as tree:
        settings = {branch.name: branch.compression for branch in tree.branches}
        assert settings == {"Muon_pt": uproot.LZ4(4), "Muon_eta": uproot.LZMA(1), "x": None}
        assert tree["Muon_pt"].num_baskets == 3
        assert tree["x"].num_baskets > 10


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="stop"), sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(1000)}
        raise RuntimeError("stop")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ClosedFileError):
        file["u"] = {"x": [1]}
    with pytest.raises(UsageError, match=r"exists; to replace it, use sapwood\.recreate"):
        sapwood.create(path)
    with sapwood.recreate(path) as file:
        tree = file.mktree("t", {"x": "int64"})
        tree.extend({"x": [1]})
    with pytest.raises(ClosedFileError):
        tree.extend({"x": [2]})
    assert sapwood.open(path)["t"].num_entries == 1
    with pytest.raises(sapwood.errors.FileNotFoundError):
        sapwood.recreate(tmp_path / "none" / "out.root")


def test_objects_with_write_and_seek(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with sapwood.recreate(buffer) as file:
        file["t"] = {"x": np.arange(5)}
    assert sapwood.open(buffer)["t"]["x"].array(library="np").tolist() == [0, 1, 2, 3, 4]

    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(sapwood.errors.ReadError, match="No space"), sapwood.recreate(Full()) as file:
        file["t"] = {"x": np.arange(5)}


def test_trees_without_entries_and_without_types(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "out.root") as file:
        file.mktree("empty", {"x": "int32", "j": "var * float32", "v": "vector<string>"})
        learned = file.mktree("learned")
        learned.extend({"x": np.arange(3, dtype="i2")})
        file.mkdir("a/b")
        with pytest.raises(UsageError, match="'empty' already exists"):
            file["empty"] = {"x": [1]}
        with pytest.raises(UsageError, match="type of 'x' is unknown"):
            file["unknown"] = {"x": [[], []]}
        with pytest.raises(KeyInFileError, match="learned"):
            file["lerned"]
        with pytest.raises(UsageError, match="cannot be written"):
            file["object"] = object()
    with sapwood.open(tmp_path / "out.root") as file:
        assert file["empty"].num_entries == 0
        assert file["empty"]["j"].array().tolist() == []
        assert file["learned"]["x"].array(library="np").dtype == np.int16
        assert "a/b" in file


def test_the_old_form_of_zlib_is_written_too(tmp_path: Path) -> None:
    path = tmp_path / "old.root"
    with sapwood.recreate(path, compression="cs:6") as file:
        file["Events"] = {"x": np.arange(100_000) // 7}
    assert path.read_bytes().count(b"CS\x08") >= 3
    with sapwood.open(f"{path}:Events") as tree:
        assert np.array_equal(tree["x"].array(library="np"), np.arange(100_000) // 7)
    if python_with_root():
        (by_root,) = read_by_root(path)
        assert by_root["Events"]["x"][-1] == [99_999 // 7]


def test_how_far_branches_are_searched_depends_on_their_values_alone(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    words = np.array(["muon ", "electron ", "has ", "hits ", "in ", "the ", "outer ", "layer "])
    columns = {
        "noise": draw.integers(0, 2**63, 6000),
        "steps": np.arange(6000) // 7,
        "texts": ["".join(draw.choice(words, 9)) for _ in range(6000)],
    }
    written = []
    for portion in (6000, 1000, 777):
        path = tmp_path / f"{portion}.root"
        with sapwood.recreate(path, compression="zstd:5", threads=2) as file:
            tree = file.mktree("Events", basket_size=20_000, cluster_entries=1000)
            for start in range(0, 6000, portion):
                tree.extend({name: values[start : start + portion] for name, values in columns.items()})
        with sapwood.open(f"{path}:Events") as ours:
            assert ours["texts"].array().to_list() == columns["texts"]
            assert np.array_equal(ours["noise"].array(), columns["noise"])
            assert {branch.compression for branch in ours.core.branches} == {505}
            written.append([branch.compressed_bytes for branch in ours.core.branches])
    assert written[0] == written[1] == written[2]


def test_integers_of_pandas_with_missing_values_stay_integers(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    large = 2**60 + 1
    whole, missing = ({"x": pd.Series([large, last], dtype="Int64")} for last in (7, None))
    with sapwood.recreate(tmp_path / "x.root") as file:
        file["whole"] = pd.DataFrame(whole)
        with pytest.raises(UnsupportedTypeError, match="has missing values, which int64 cannot store"):
            file["t"] = pd.DataFrame(missing)
        file.mkrntuple("n", missing)
        file.mkrntuple("array", {"x": pd.array([True, None], dtype="boolean")})
    with sapwood.open(tmp_path / "x.root") as file:
        assert file["whole"].arrays().x.to_list() == [large, 7]
        assert file["n"].arrays().x.to_list() == [large, None]
        assert file["array"].arrays().x.to_list() == [True, None]


def test_directories_hold_what_is_written_to_them(tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    with sapwood.recreate(path) as file:
        outer = file.mkdir("a")
        inner = outer.mkdir("/b/")
        tree = inner.mktree("t", {"x": [1, 2]})
        tree.extend({"x": [3]})
        outer.mkrntuple("r", {"y": np.arange(4.0)})
        outer.update({"b/text": "one"}, note="two")
        assert inner.path == "a/b" and repr(inner) == f"<WritableDirectory 'a/b' of '{path}'>"
        assert outer.keys() == ["b/t", "r", "b/text", "note"] and "b/t" in outer and "t" not in outer
        assert inner["t"] is tree and file["a/b/t"] is tree and inner.keys() == ["t", "text"]
        with pytest.raises(sapwood.errors.UsageError, match="'a/b/t' already exists"):
            outer["b/t"] = {"x": [1]}
        with pytest.raises(sapwood.errors.KeyInFileError, match="b/r"):
            outer["b/r"]
        with pytest.raises(sapwood.errors.UsageError, match="must not be empty"):
            outer["/"] = "text"
    with sapwood.open(path) as read:
        assert read["a/b/t"].arrays().tolist() == [{"x": 1}, {"x": 2}, {"x": 3}]
        assert read["a/r"]["y"].array().tolist() == [0, 1, 2, 3]
        assert (str(read["a/b/text"]), str(read["a/note"])) == ("one", "two")
    with sapwood.update(path) as file:
        file.mkdir("a")["b/t"].extend({"x": [4]})
        assert sorted(file.mkdir("a").keys()) == ["b/t", "b/text", "note", "r"]
    with sapwood.open(path) as read:
        assert read["a/b/t"]["x"].array().tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("write", ["mktree", "mkrntuple", "__setitem__"])
def test_iterators_are_columns_like_lists(tmp_path: Path, write: str) -> None:
    with sapwood.recreate(tmp_path / "x.root") as file:
        columns = {"x": (n for n in range(3)), "y": map(float, range(3)), "s": iter(["a", "", "c"])}
        getattr(file, write)("t", columns)
        more = {"x": iter([3]), "y": [3.0], "s": ["d"]}
        file["t"].extend(more)
    found = sapwood.open(f"{tmp_path}/x.root:t").arrays()
    assert (found.x.to_list(), found.y.to_list()) == ([0, 1, 2, 3], [0.0, 1.0, 2.0, 3.0])
    assert found.s.to_list() == ["a", "", "c", "d"]


@pytest.mark.parametrize(
    "array",
    [
        np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")]),
        np.array([(1, [2.5, 3]), (3, [4.5, 5])], [("a", "u1"), ("b", "f4", (2,))]),
        np.array([[(1, 2.5)], [(3, 4.5)]], [("a", "i4"), ("b", "f8")]),
        np.array([], [("a", "i4"), ("b", "f8")]),
    ],
)
def test_structured_arrays_are_records(tmp_path: Path, array: Any) -> None:
    for library in (sapwood, uproot):
        with library.recreate(tmp_path / f"{library.__name__}.root") as file:
            file.mktree("t", {"x": array}).extend({"x": array})
            if library is sapwood:
                file.mkrntuple("n", {"x": array}).extend({"x": array})
    with sapwood.open(tmp_path / "sapwood.root") as ours, sapwood.open(tmp_path / "uproot.root") as theirs:
        assert ours["t"].typenames() == theirs["t"].typenames()
        assert ours["t"].arrays().to_list() == theirs["t"].arrays().to_list()
        fields = ours["n"]["x"].array()
        for name in "ab":
            assert fields[name].to_list() == np.concatenate([array[name]] * 2).tolist()


def test_objects_of_pandas_that_are_missing_are_none(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    nan = float("nan")
    columns = {
        "plain": (pd.Series(["x", None]), ["x", None]),
        "object": (pd.Series(["x", nan], dtype=object), ["x", None]),
        "string": (pd.Series(["x", None], dtype="string"), ["x", None]),
        "category": (pd.Series(["x", None], dtype="category"), ["x", None]),
        "list": (pd.Series([[1], nan], dtype=object), [[1], None]),
        "whole": (pd.Series(["x", "y"]), ["x", "y"]),
    }
    with sapwood.recreate(tmp_path / "x.root") as file:
        file.mkrntuple("n", pd.DataFrame({name: given for name, (given, _) in columns.items()}))
        file.mktree("t", pd.DataFrame({"x": pd.Series([1.5, nan], dtype=object)}))
        with pytest.raises(UnsupportedTypeError, match="'s' has missing values, which string cannot store"):
            file.mktree("s", pd.DataFrame({"s": ["x", None]}))
    with sapwood.open(tmp_path / "x.root") as file:
        assert (
            file["n"].arrays().to_list() == ak.Array({name: e for name, (_, e) in columns.items()}).to_list()
        )
        assert file["n"]["plain"].typename == "std::optional<std::string>"
        assert np.isnan(file["t"]["x"].array(library="np")).tolist() == [False, True]
