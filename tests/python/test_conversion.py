"""Columns become arrays of each library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sapwood.arrays.column import BuiltColumn, empty_column, record_form, record_of, type_string
from sapwood.arrays.libraries import library_named
from sapwood.arrays.numpy import awkward_to_column, column_to_numpy
from sapwood.errors import UnsupportedTypeError


def buffer(values: list[Any], dtype: str = "int64") -> np.ndarray[Any, Any]:
    return np.array(values, dtype=dtype)


FLAT = BuiltColumn(("primitive", "float32"), 3, [buffer([1, 2, 3], "float32")])
FIXED = BuiltColumn(("fixed", 2, ("primitive", "int16")), 3, [buffer([1, 2, 3, 4, 5, 6], "int16")])
NONE_FIXED = BuiltColumn(("fixed", 0, ("primitive", "int16")), 3, [buffer([], "int16")])
JAGGED = BuiltColumn(("list", ("primitive", "bool")), 3, [buffer([0, 2, 2, 3]), buffer([1, 0, 1], "bool")])
TEXT = BuiltColumn(("string",), 3, [buffer([0, 1, 1, 3]), np.frombuffer("aé".encode(), "u1")])
NESTED = BuiltColumn(
    ("list", ("list", ("primitive", "int32"))),
    3,
    [buffer([0, 2, 2, 3]), buffer([0, 1, 1, 3]), buffer([7, 8, 9], "i4")],
)
TEXTS = BuiltColumn(
    ("list", ("string",)), 2, [buffer([0, 0, 2]), buffer([0, 1, 3]), np.frombuffer(b"abc", "u1")]
)
RECORD = record_of({"x": FLAT, "y": JAGGED})
ROWS = BuiltColumn(
    ("list", record_form([("a", ("primitive", "uint8")), ("v", ("fixed", 2, ("primitive", "float64")))])),
    2,
    [buffer([0, 1, 3]), buffer([1, 2, 3], "u1"), buffer([1, 2, 3, 4, 5, 6], "f8")],
)
POINT = record_form([("x", ("primitive", "int16")), ("y", ("list", ("primitive", "int8")))], "ns::Point<int>")
POINTERS = BuiltColumn(
    ("option", POINT),
    3,
    [buffer([0, -1, 1]), buffer([5, 6], "i2"), buffer([0, 1, 3]), buffer([7, 8, 9], "i1")],
)
PAIRS = BuiltColumn(
    ("list", ("tuple", [("string",), ("primitive", "int32")])),
    2,
    [buffer([0, 2, 2]), buffer([0, 1, 3]), np.frombuffer(b"abb", "u1"), buffer([1, 2], "i4")],
)
NUMBER, WORD = (
    record_form([("n", ("primitive", "int32"))], "Number"),
    record_form([("w", ("string",))], "Word"),
)
POLYMORPHIC = BuiltColumn(
    ("union", [NUMBER, ("empty",), WORD]),
    3,
    [
        buffer([2, 0, 2], "i1"),
        buffer([0, 0, 1]),
        buffer([4], "i4"),
        buffer([0, 1, 1]),
        np.frombuffer(b"a", "u1"),
    ],
)
POLYMORPHIC_POINTERS = BuiltColumn(
    ("list", ("option", POLYMORPHIC.form)),
    2,
    [buffer([0, 2, 4]), buffer([0, -1, 1, 2]), *POLYMORPHIC.buffers],
)
MEMBERLESS = BuiltColumn(("list", record_form([], "Nothing")), 2, [buffer([0, 2, 3])])
EXPECTED: list[tuple[BuiltColumn, str, list[Any]]] = [
    (FLAT, "float32", [1, 2, 3]),
    (FIXED, "2 * int16", [[1, 2], [3, 4], [5, 6]]),
    (NONE_FIXED, "0 * int16", [[], [], []]),
    (JAGGED, "var * bool", [[True, False], [], [True]]),
    (TEXT, "string", ["a", "", "é"]),
    (NESTED, "var * var * int32", [[[7], []], [], [[8, 9]]]),
    (TEXTS, "var * string", [[], ["a", "bc"]]),
    (
        RECORD,
        "{x: float32, y: var * bool}",
        [{"x": 1, "y": [True, False]}, {"x": 2, "y": []}, {"x": 3, "y": [True]}],
    ),
    (
        ROWS,
        "var * {a: uint8, v: 2 * float64}",
        [[{"a": 1, "v": [1, 2]}], [{"a": 2, "v": [3, 4]}, {"a": 3, "v": [5, 6]}]],
    ),
]
EXPECTED += [
    (
        POINTERS,
        "?{x: int16, y: var * int8}",
        [{"x": 5, "y": [7]}, None, {"x": 6, "y": [8, 9]}],
    ),
    (PAIRS, "var * (string, int32)", [[("a", 1), ("bb", 2)], []]),
    (MEMBERLESS, "var * {}", [[{}, {}], [{}]]),
]
COLUMNS = [pytest.param(*case, id=case[1]) for case in EXPECTED]


def nameless_type(array: Any) -> str:
    """The type of an item, without names of classes."""
    ak = pytest.importorskip("awkward")
    item = ak.without_parameters(array).layout.form.type
    # Strings are strings by a parameter.
    return str(item) if "string" not in str(array.type) else str(array.type).partition(" * ")[2]


def with_structs(values: Any) -> Any:
    """Tuples as Arrow has them."""
    if isinstance(values, tuple):
        return {str(index): with_structs(value) for index, value in enumerate(values)}
    return [with_structs(value) for value in values] if isinstance(values, list) else values


@pytest.mark.parametrize(("column", "type_", "values"), COLUMNS)
def test_awkward(column: BuiltColumn, type_: str, values: list[Any]) -> None:
    ak = pytest.importorskip("awkward")
    array = ak.Array(library_named("ak").array(column, range(column.length), None))
    assert nameless_type(array) == type_
    assert array.to_list() == values
    assert type_string(column.form) == type_


@pytest.mark.parametrize(("column", "type_", "values"), COLUMNS)
def test_awkward_there_and_back(column: BuiltColumn, type_: str, values: list[Any]) -> None:
    ak = pytest.importorskip("awkward")
    array = ak.Array(library_named("ak").array(column, range(column.length), None))
    back = awkward_to_column(array[np.arange(column.length)[::-1]])
    assert back.form == column.form
    assert library_named("ak").array(back, range(back.length), None).to_list() == values[::-1]


@pytest.mark.parametrize(("column", "type_", "values"), COLUMNS)
def test_arrow(column: BuiltColumn, type_: str, values: list[Any]) -> None:
    pa = pytest.importorskip("pyarrow")
    array = library_named("arrow").array(column, range(column.length), None)
    array.validate(full=True)
    assert isinstance(array, pa.Array)
    assert array.to_pylist() == with_structs(values)


@pytest.mark.parametrize(("column", "type_", "values"), COLUMNS)
def test_an_empty_column_has_the_same_type(column: BuiltColumn, type_: str, values: list[Any]) -> None:
    ak = pytest.importorskip("awkward")
    array = ak.Array(library_named("ak").array(empty_column(column.form), range(0), None))
    assert nameless_type(array) == type_
    assert len(column_to_numpy(empty_column(column.form))) == 0


def test_numpy_flat_shares_memory() -> None:
    assert column_to_numpy(FLAT) is FLAT.buffers[0]
    fixed = column_to_numpy(FIXED)
    assert fixed.shape == (3, 2) and np.shares_memory(fixed, FIXED.buffers[0])


def test_awkward_shares_memory() -> None:
    ak = pytest.importorskip("awkward")
    array = ak.Array(library_named("ak").array(JAGGED, range(3), None))
    assert np.shares_memory(ak.to_layout(array).content.data, JAGGED.buffers[1])


def test_numpy_lists_are_objects() -> None:
    array = column_to_numpy(JAGGED)
    assert array.dtype == object
    assert [(item.dtype.name, item.tolist()) for item in array] == [
        ("bool", [True, False]),
        ("bool", []),
        ("bool", [True]),
    ]
    nested = column_to_numpy(NESTED)
    assert [[inner.tolist() for inner in item] for item in nested] == [[[7], []], [], [[8, 9]]]
    assert column_to_numpy(TEXT).tolist() == ["a", "", "é"]
    assert [item.tolist() for item in column_to_numpy(TEXTS)] == [[], ["a", "bc"]]


def test_numpy_records_are_structured() -> None:
    array = column_to_numpy(RECORD)
    assert array.dtype.names == ("x", "y")
    assert array["x"].tolist() == [1, 2, 3]
    rows = column_to_numpy(ROWS)
    assert rows[1].dtype["v"].shape == (2,)
    assert rows[1]["v"].tolist() == [[3, 4], [5, 6]]


def test_numpy_records_with_a_name_twice() -> None:
    column = BuiltColumn(
        record_form([("x", ("primitive", "int8"))] * 2), 1, [buffer([1], "i1"), buffer([2], "i1")]
    )
    assert column_to_numpy(column).dtype.names == ("x", "x#2")


def test_text_that_is_not_utf8_is_kept() -> None:
    column = BuiltColumn(("string",), 1, [buffer([0, 2]), np.array([0xFF, 0x61], "u1")])
    (text,) = column_to_numpy(column)
    assert text.encode(errors="surrogateescape") == b"\xffa"
    pa = pytest.importorskip("pyarrow")
    array = library_named("arrow").array(column, range(1), None)
    assert array.type == pa.large_binary() and array.to_pylist() == [b"\xffa"]


def test_classes_and_titles_are_parameters() -> None:
    ak = pytest.importorskip("awkward")
    form = record_form([("x", ("primitive", "int8")), ("y", ("primitive", "int8"))], "Point", ["in cm", ""])
    layout = library_named("ak").array(BuiltColumn(form, 1, [buffer([1], "i1")] * 2), range(1), None)
    assert layout.parameters == {"__record__": "Point"}
    assert [content.parameters for content in layout.contents] == [{"__doc__": "in cm"}, {}]
    assert awkward_to_column(ak.Array(layout)).form == form


UNION_VALUES = [{"w": "a"}, {"n": 4}, {"w": ""}]
OPTIONAL_VALUES = [[{"w": "a"}, None], [{"n": 4}, {"w": ""}]]


@pytest.mark.parametrize(
    ("column", "values"), [(POLYMORPHIC, UNION_VALUES), (POLYMORPHIC_POINTERS, OPTIONAL_VALUES)]
)
def test_unions(column: BuiltColumn, values: list[Any]) -> None:
    ak = pytest.importorskip("awkward")
    array = ak.Array(library_named("ak").array(column, range(column.length), None))
    assert array.to_list() == values
    assert "unknown" not in str(array.type)
    assert library_named("ak").array(awkward_to_column(array), range(column.length), None).to_list() == values
    arrow = library_named("arrow").array(column, range(column.length), None)
    arrow.validate(full=True)
    assert arrow.to_pylist() == values


def test_numpy_options_and_unions_are_objects() -> None:
    points = column_to_numpy(POINTERS)
    assert points[1] is None and points[2]["x"] == 6 and points[2]["y"].tolist() == [8, 9]
    assert [item.item() for item in column_to_numpy(POLYMORPHIC)] == [("a",), (4,), ("",)]
    (first, second) = column_to_numpy(POLYMORPHIC_POINTERS)
    assert first[1] is None and second[0]["n"] == 4
    numbers = BuiltColumn(("option", ("primitive", "int8")), 2, [buffer([-1, 0]), buffer([3], "i1")])
    assert column_to_numpy(numbers).tolist() == [None, 3]
    (pairs, _) = column_to_numpy(PAIRS)
    assert pairs.dtype.names == ("0", "1") and pairs.tolist() == [("a", 1), ("bb", 2)]


def test_a_union_keeps_alternatives_that_do_not_occur() -> None:
    ak = pytest.importorskip("awkward")
    form = ("union", [NUMBER, WORD])
    one = BuiltColumn(
        form, 2, [buffer([0, 0], "i1"), buffer([0, 1]), buffer([4, 5], "i4"), buffer([0]), buffer([], "u1")]
    )
    array = ak.Array(library_named("ak").array(one, range(2), None))
    assert str(array.type) == "2 * union[Number[n: int32], Word[w: string]]"
    assert array.to_list() == [{"n": 4}, {"n": 5}]
    assert library_named("arrow").array(one, range(2), None).to_pylist() == [{"n": 4}, {"n": 5}]
    none = BuiltColumn(("option", form), 2, [buffer([-1, -1]), *empty_column(form).buffers])
    assert ak.Array(library_named("ak").array(none, range(2), None)).to_list() == [None, None]
    assert library_named("arrow").array(none, range(2), None).to_pylist() == [None, None]
    assert column_to_numpy(none).tolist() == [None, None]


def test_a_union_of_one_alternative_is_that_alternative() -> None:
    ak = pytest.importorskip("awkward")
    form = ("union", [NUMBER, ("empty",)])
    one = BuiltColumn(form, 2, [buffer([0, 0], "i1"), buffer([0, 1]), buffer([4, 5], "i4")])
    array = ak.Array(library_named("ak").array(one, range(2), None))
    assert nameless_type(array) == "{n: int32}" and array.to_list() == [{"n": 4}, {"n": 5}]
    assert library_named("arrow").array(one, range(2), None).to_pylist() == [{"n": 4}, {"n": 5}]


def test_unions_inside_unions_become_one_union() -> None:
    ak = pytest.importorskip("awkward")
    inner = ("option", ("union", [("primitive", "int64"), ("primitive", "float64")]))
    column = BuiltColumn(
        ("option", ("union", [("primitive", "float32"), inner])),
        4,
        [
            buffer([0, 1, -1, 2]),
            buffer([1, 0, 1], "i1"),
            buffer([0, 0, 1]),
            buffer([0.5], "f4"),
            buffer([0, 1]),
            buffer([1, 0], "i1"),
            buffer([0, 0]),
            buffer([7], "i8"),
            buffer([1.5], "f8"),
        ],
    )
    array = ak.Array(library_named("ak").array(column, range(4), None))
    assert str(array.type) == "4 * union[?float32, ?int64, ?float64]"
    assert array.to_list() == [1.5, 0.5, None, 7]
    assert column_to_numpy(column).tolist() == [1.5, 0.5, None, 7]


@pytest.mark.parametrize("name", ["ak", "np", "pd", "arrow"])
def test_parts_of_different_types_are_joined(name: str) -> None:
    pytest.importorskip({"ak": "awkward", "np": "numpy", "pd": "pandas", "arrow": "pyarrow"}[name])
    library = library_named(name)
    nothing = BuiltColumn(("list", ("empty",)), 2, [buffer([0, 0, 0])])
    words = BuiltColumn(("list", WORD), 1, [buffer([0, 2]), buffer([0, 1, 2]), np.frombuffer(b"xy", "u1")])
    parts = [library.array(column, range(column.length), None) for column in (nothing, words)]
    joined = library.concatenate_arrays(parts)
    assert [len(item) for item in joined] == [0, 0, 2]


def test_arrow_says_what_it_cannot_join() -> None:
    pytest.importorskip("pyarrow")
    library = library_named("arrow")
    parts = [library.array(column, range(3), None) for column in (POLYMORPHIC, JAGGED)]
    with pytest.raises(UnsupportedTypeError, match="ak"):
        library.concatenate_arrays(parts)


def test_pandas_is_indexed_by_entry() -> None:
    pytest.importorskip("pandas")
    series = library_named("pd").array(FLAT, range(10, 13), None)
    assert series.index.tolist() == [10, 11, 12] and series.dtype == np.float32
    items = library_named("pd").array(RECORD, range(3), None).tolist()
    assert items[1]["x"] == 2
    assert [row.tolist() for row in library_named("pd").array(FIXED, range(3), None)] == [
        [1, 2],
        [3, 4],
        [5, 6],
    ]


def test_descriptions_are_attached() -> None:
    ak = pytest.importorskip("awkward")
    array = ak.Array(library_named("ak").array(FLAT, range(3), {"__doc__": "momentum"}))
    assert array.layout.parameters["__doc__"] == "momentum"


def test_how_zip_joins_lists_of_equal_lengths() -> None:
    ak = pytest.importorskip("awkward")
    library = library_named("ak")
    lists = {
        "Muon_pt": ak.Array([[1.0], [2.0, 3.0]]),
        "Muon_eta": ak.Array([[4.0], [5.0, 6.0]]),
        "Jet_pt": ak.Array([[], [1.0]]),
        "run": ak.Array([1, 2]),
        "name": ak.Array(["a", "b"]),
    }
    zipped = library.group(lists, "zip", range(2), {}, None)
    assert zipped.to_list() == [
        {"run": 1, "name": "a", "Muon": [{"pt": 1.0, "eta": 4.0}], "Jet": []},
        {
            "run": 2,
            "name": "b",
            "Muon": [{"pt": 2.0, "eta": 5.0}, {"pt": 3.0, "eta": 6.0}],
            "Jet": [{"pt": 1.0}],
        },
    ]
    mixed = library.group({"a": ak.Array([[1]]), "b": ak.Array([[2]])}, "zip", range(1), {}, None)
    assert mixed.to_list() == [{"jagged0": [{"a": 1, "b": 2}]}]


@pytest.mark.parametrize("name", ["xx", None, 3, "akward"])
def test_an_unknown_library_is_refused(name: object) -> None:
    with pytest.raises(ValueError, match="arrow"):
        library_named(name)


def test_a_library_that_is_not_installed_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install awkward"):
        library_named("ak")


@pytest.mark.parametrize("name", ["ak", "awkward", "np", "NumPy", "pd", "pandas", "arrow", "pa", "pyarrow"])
def test_the_usual_names_of_libraries(name: str) -> None:
    assert library_named(name).name in ("ak", "np", "pd", "arrow")
