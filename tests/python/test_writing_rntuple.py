"""RNTuples that are written: uproot and ROOT read what was given, whatever the types, sizes and options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from root_peer import rntuples_by_root

import sapwood
from sapwood.errors import KeyInFileError, UnsupportedTypeError, UsageError

NUMBERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
ENTRIES = 1000


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    """A column for each type that can be written."""
    random = np.random.default_rng(24)
    counts = random.integers(0, 4, ENTRIES)
    floats = ak.unflatten(random.normal(size=counts.sum()).astype("f4"), counts)
    words = [f"tag{n}" * (n % 4) + "ü" for n in range(ENTRIES)]
    integers = {
        name: random.integers(np.iinfo(name).min, np.iinfo(name).max, ENTRIES, name, endpoint=True)
        for name in NUMBERS[1:]
    }
    hits = ak.from_regular((ak.local_index(floats, 1) + 7)[..., np.newaxis], axis=2)
    none = ak.contents.ListOffsetArray(
        ak.index.Index64(np.zeros(ENTRIES + 1)), ak.to_layout(np.empty(0, "f4"))
    )
    return {
        "bool": random.random(ENTRIES) < 0.5,
        **integers,
        "float32": random.normal(size=ENTRIES).astype("f4"),
        "float64": random.normal(size=ENTRIES),
        "text": words,
        "list": floats,
        "nested": ak.values_astype(ak.Array([[part] * (len(part) % 3) for part in floats.tolist()]), "f4"),
        "texts": ak.Array([[word] * (n % 3) for n, word in enumerate(words)]),
        "flags": floats > 0,
        "array": random.normal(size=(ENTRIES, 2, 3)),
        "option": ak.Array([n if n % 3 else None for n in range(ENTRIES)]),
        "options": ak.mask(floats, floats > 0),
        "record": ak.zip({"x": random.normal(size=ENTRIES), "n": integers["int8"]}),
        "Jet": ak.zip({"pt": floats, "hits": hits}, depth_limit=2),
        "variant": ak.Array([n if n % 2 else words[n] for n in range(ENTRIES)]),
        "empty": ak.Array(none),
    }


OPTIONS: list[dict[str, Any]] = [
    {},
    {"compression": "none"},
    {"compression": "lz4:4", "page_size": 300, "cluster_entries": 300},
    {
        "compression": {"list": "zlib:1", "text": "none", "*": "lzma:7"},
        "cluster_size": "8 kB",
        "page_size": "1 kB",
    },
    {"checksums": False, "cluster_entries": 999},
]


def write(path: Path, table: dict[str, Any], steps: int = 1, **options: Any) -> None:
    with sapwood.recreate(path) as file:
        rntuple = file.mkrntuple("deep/events", None, "all types", **options)
        for step in range(steps):
            part = slice(step * ENTRIES // steps, (step + 1) * ENTRIES // steps)
            rntuple.extend({name: column[part] for name, column in table.items()})
        assert rntuple.num_entries == ENTRIES


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(options) or "defaults")
def test_uproot_reads_what_was_written(
    table: dict[str, Any], tmp_path: Path, options: dict[str, Any]
) -> None:
    several = "cluster_entries" in options or "cluster_size" in options
    # uproot does not move the positions in variants to their cluster.
    table = {name: column for name, column in table.items() if name != "variant" or not several}
    path = tmp_path / "out.root"
    write(path, table, steps=3, **options)
    with uproot.open(path) as file:
        read = file["deep/events"]
        assert read.keys(recursive=False) == list(table)
        assert read.num_entries == ENTRIES
        for name, column in table.items():
            assert read[name].array().tolist() == ak.Array(column).tolist(), name


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(options) or "defaults")
def test_root_reads_what_was_written(table: dict[str, Any], tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "out.root"
    write(path, table, steps=3, **options)
    (read,) = rntuples_by_root(path, "deep/events")
    assert read["description"] == "all types"
    for name, column in table.items():
        assert [entry[name] for entry in read["entries"]] == ak.Array(column).tolist(), name


def test_types_have_the_names_of_root(table: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    write(path, table)
    (read,) = rntuples_by_root(path, "deep/events")
    named = {
        "bool": "bool",
        "uint8": "std::uint8_t",
        "float32": "float",
        "text": "std::string",
        "nested": "std::vector<std::vector<float>>",
        "array": "std::array<std::array<double,3>,2>",
        "options": "std::vector<std::optional<float>>",
        "record": "",
        "Jet": "",
        "variant": "std::variant<std::string,std::int64_t>",
    }
    assert {name: read["types"][name] for name in named} == named


def test_declared_types_accept_data_that_fit(tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    types = {"x": "float32", "jets": "var * {pt: float32, id: int8}", "maybe": "?int32", "p": ("f8", (2,))}
    with sapwood.recreate(path) as file:
        rntuple = file.mkrntuple("t", types, titles={"x": "a number"})
        assert rntuple.keys() == list(types)
        assert rntuple.typenames()["maybe"] == "?int32"
        jets = [[{"id": 1, "pt": 2.5}], []]
        rntuple.extend({"p": [[1, 2], [3, 4]], "maybe": [1, 2], "jets": jets, "x": [1, 2]})
        maybe = np.ma.masked_array([1, 2], [True, False])
        rntuple.extend({"p": np.ones((2, 2)), "maybe": maybe, "jets": [[], []], "x": np.ones(2)})
        with pytest.raises(UsageError, match="'x' is missing"):
            rntuple.extend({"maybe": [1]})
        with pytest.raises(KeyInFileError, match="unknown"):
            rntuple.extend({"p": [], "maybe": [], "jets": [], "x": [], "unknown": []})
        with pytest.raises(UsageError, match="the data is string"):
            rntuple.extend({"p": [[1, 2]], "maybe": [1], "jets": [[]], "x": ["a"]})
        with pytest.raises(UsageError, match="does not fit int32"):
            rntuple.extend({"p": [[1, 2]], "maybe": [2**40], "jets": [[]], "x": [1]})
    with uproot.open(path) as file:
        read = file["t"].arrays()
    assert read.x.tolist() == [1, 2, 1, 1]
    assert read.maybe.tolist() == [1, 2, None, 2]
    assert read.jets.tolist() == [[{"pt": 2.5, "id": 1}], [], [], []]


def test_data_give_types_and_entries_as_in_uproot(tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    array = ak.Array([{"x": 1.5, "y": [1, 2]}, {"x": 2.5, "y": []}])
    with sapwood.recreate(path) as file:
        file.mkrntuple("array", array)
        file.mkrntuple("dict", {"x": np.arange(3)})
        file.mkrntuple("form", array.layout.form)
        file.mkrntuple("type", array.type.content)
        file["tree"] = {"x": np.arange(3)}
        assert {name: len(file[name].keys()) for name in ("array", "form", "type")} == dict.fromkeys(
            ["array", "form", "type"], 2
        )
        file["form"].extend(array)
    with uproot.open(path) as file:
        assert file.classnames() == {
            **dict.fromkeys(["array;1", "dict;1", "form;1", "type;1"], "ROOT::RNTuple"),
            "tree;1": "TTree",
        }
        assert file["array"].arrays().tolist() == file["form"].arrays().tolist() == array.tolist()
        assert file["type"].num_entries == 0
    assert [read["entries"] for read in rntuples_by_root(path, "dict", "type")] == [
        [{"x": 0}, {"x": 1}, {"x": 2}],
        [],
    ]


def test_an_rntuple_is_added_to_an_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    with sapwood.recreate(path) as file:
        file.mkrntuple("first", {"x": np.arange(3)})
    with sapwood.update(path) as file:
        file.mkrntuple("second", {"x": ak.Array([[1.5], []])})
    first, second = rntuples_by_root(path, "first", "second")
    assert first["entries"][2] == {"x": 2}
    assert second["entries"] == [{"x": [1.5]}, {"x": []}]


LATE = ["int32", "text", "nested", "array", "options", "record", "Jet", "variant", "bool"]


@pytest.mark.parametrize("options", [{}, {"cluster_entries": 70, "page_size": 300}], ids=str)
def test_late_fields_are_zero_or_empty_before(
    table: dict[str, Any], tmp_path: Path, options: dict[str, Any]
) -> None:
    path, first = tmp_path / "out.root", 345
    types = {name: ak.type(ak.Array(table[name])).content for name in LATE}
    with sapwood.recreate(path) as file:
        rntuple = file.mkrntuple("t", {"n": "int64"}, **options)
        rntuple.extend({"n": np.arange(first)})
        rntuple.add_fields(types, titles={"text": "words"}, compression={"text": "none"})
        assert rntuple.keys() == ["n", *LATE]
        rntuple.extend({"n": np.arange(first, ENTRIES), **{name: table[name][first:] for name in LATE}})
    zeros = {"int32": 0, "text": "", "nested": [], "array": np.zeros((2, 3)).tolist(), "options": []}
    zeros |= {"record": {"x": 0, "n": 0}, "Jet": [], "variant": None, "bool": False}
    expected = {name: [zeros[name]] * first + ak.Array(table[name]).tolist()[first:] for name in LATE}
    expected["n"] = list(range(ENTRIES))
    with sapwood.open(f"{path}:t") as tree:
        assert tree["text"].title == "words"
        for name, values in expected.items():
            assert tree[name].array().tolist() == values, name
        assert tree["Jet"].array(entry_start=300, entry_stop=400).tolist() == expected["Jet"][300:400]
    assert sapwood.verify(path).files[0].ok
    copy = tmp_path / "copy.root"
    for change in ({}, {"compression": "lz4"}, {"entry_start": 100}):
        sapwood.repack(path, copy, overwrite=True, **change)  # type: ignore[arg-type]
        with sapwood.open(f"{copy}:t") as tree:
            assert tree["record"].array().tolist() == expected["record"][change.get("entry_start", 0) :]
    (read,) = rntuples_by_root(path, "t")
    for name in {*expected} - {"variant"}:
        assert [entry[name] for entry in read["entries"]] == expected[name], name


def test_fields_added_before_the_first_entry_are_like_the_others(tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    with sapwood.recreate(path) as file:
        rntuple = file.mkrntuple("t", {"x": "int32"})
        rntuple.add_fields({"y": "float32"})
        rntuple.add_fields({"z": "var * int8"})
        rntuple.extend({"x": [1, 2], "y": [0.5, 1.5], "z": [[1], []]})
    expected = [{"x": 1, "y": 0.5, "z": [1]}, {"x": 2, "y": 1.5, "z": []}]
    with uproot.open(path) as file:
        assert file["t"].arrays().tolist() == expected
    (read,) = rntuples_by_root(path, "t")
    assert read["entries"] == expected


def test_late_fields_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    with sapwood.recreate(path) as file:
        with pytest.raises(UsageError, match="no fields yet"):
            file.mkrntuple("later").add_fields({"x": "int32"})
        file["later"].extend({"x": [1]})
        rntuple = file.mkrntuple("t", {"x": "int32"})
        rntuple.extend({"x": [1]})
        for fields, message in (
            ({"x": "int32"}, "two fields of this name"),
            ({"y": "int32", "a.b": "int32"}, "must not contain '.'"),
            ({"y": np.zeros(1)}, "must be a dict of types"),
        ):
            with pytest.raises(UsageError, match=message):
                rntuple.add_fields(fields)
        assert rntuple.keys() == ["x"]
        rntuple.extend({"x": [2]})
    with uproot.open(path) as file:
        assert file["t"].arrays().tolist() == [{"x": 1}, {"x": 2}]


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ({}, UsageError, "has no fields"),
        ({"a.b": np.zeros(1)}, UsageError, "must not contain '.'"),
        ({"x": ak.Array([[]])}, UsageError, "the type of 'x' is unknown"),
        ({"x": np.zeros(1, "c16")}, UnsupportedTypeError, "complex128"),
        ({"x": np.zeros(1), "y": np.zeros(2)}, UsageError, "'y' has 2 entries, but 'x' has 1"),
        ({"x": ak.Array([{"a": 1}, 2])}, UnsupportedTypeError, "no field can store"),
        ({"x": ak.Array([{"a": 1}, None])}, UnsupportedTypeError, "missing values"),
    ],
)
def test_what_cannot_be_written_is_refused(
    tmp_path: Path, data: dict[str, Any], error: type[Exception], message: str
) -> None:
    path = tmp_path / "out.root"
    with pytest.raises(error, match=message), sapwood.recreate(path) as file:
        file.mkrntuple("t", data if data else None).extend(data)
    assert not path.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"page_size": 10}, "pages of 10 bytes"),
        ({"cluster_entries": 0}, "at least one entry"),
        ({"compression": {"y": "zstd"}}, "no field is named 'y'"),
        ({"titles": {"y": "?"}}, "no field is named 'y'"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message), sapwood.recreate(tmp_path / "out.root") as file:
        file.mkrntuple("t", {"x": "float32"}, **options)


def test_batches_may_hold_one_alternative_of_a_union(tmp_path: Path) -> None:
    types = {"v": "union[float32, int32, string]", "l": "var * union[int32, string]"}
    batches = [
        {"v": [1, 2**24 + 1], "l": [[1], []]},
        {"v": ["a"], "l": [["b", "c"]]},
        {"v": [0.5], "l": [[]]},
        {"v": [], "l": []},
    ]
    with sapwood.recreate(tmp_path / "out.root") as file:
        rntuple = file.mkrntuple("Events", types)
        for batch in batches:
            rntuple.extend(batch)
        with pytest.raises(UsageError, match="'v': the data is float64, but the file stores union"):
            file.mkrntuple("others", {"v": "union[int32, string]"}).extend({"v": [0.5]})
    with sapwood.open(f"{tmp_path}/out.root:Events") as tree:
        assert tree["v"].array().tolist() == [1, 2**24 + 1, "a", 0.5]
        assert tree["l"].array().tolist() == [[1], [], ["b", "c"], []]
    with uproot.open(tmp_path / "out.root") as file:
        assert file["Events"]["l"].array().tolist() == [[1], [], ["b", "c"], []]
