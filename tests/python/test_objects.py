"""Objects of a file become Python values: numbers, text, lists, maps, and objects with members."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood.errors import KeyInFileError, SapwoodError, UnsupportedTypeError, UsageError
from sapwood.objects import Graph, Object, Parameter, String
from sapwood.objects.classes import present
from sapwood.objects.reading import member_types
from sapwood.objects.values import first_item

DATA = Path(__file__).parents[1] / "data" / "objects"


@pytest.fixture(scope="module")
def file() -> Any:
    with sapwood.open(DATA / "objects.root") as opened:
        yield opened


def test_all_keys_can_be_read(file: Any) -> None:
    assert len(file.values()) == len(file.keys()) == 26


def test_text_is_text(file: Any) -> None:
    assert file["text"] == "a short text" and isinstance(file["text"], str)
    assert file["text_latin"] == "latin \udce9"
    assert file["text_latin"].encode("utf-8", "surrogateescape") == b"latin \xe9"
    assert file["string"] == "a standard text"
    assert file["strings"] == ["x", "", "zz"]


def test_parameters_have_values(file: Any) -> None:
    scale = file["parameter"]
    assert isinstance(scale, Parameter)
    assert (scale.name, scale.value, scale.classname) == ("scale", 1.5, "TParameter<double>")
    assert file["parameter_int"].value == -3
    assert file["parameter_bool"].value is True


def test_maps_are_dicts_and_multimaps_are_not(file: Any) -> None:
    table = file["map"]
    assert list(table) == ["none", "one", "two"]
    assert table["two"].tolist() == [1.5, 2.5] and table["two"].dtype == np.float64
    assert file["multimap"] == [(1, 1.5), (1, 2.5), (2, 3.5)]
    assert dict(file["tmap"])["key"] == "second" and file["tmap"]["number"].value == 3.0


def test_lists(file: Any) -> None:
    assert [inner.tolist() for inner in file["nested"]] == [[1, 2], [], [3]]
    with pytest.raises(ValueError, match="read-only"):
        file["nested"][0][0] = 7
    assert file["empty"] == []
    assert [item.name for item in file["hashed"]] == ["first"]
    first, second = file["list"]
    assert (first.name, first.title, second) == ("first", "1st", "second")


def test_objects_of_mixed_classes(file: Any) -> None:
    array = file["array"]
    kinds = [type(item).__name__ if item is None else getattr(item, "class_name", "str") for item in array]
    assert kinds == ["TNamed", "str", "TParameter<double>", "TNamed", "NoneType", "NoneType", "TVector3"]
    assert array[3] == array[0]  # written once, referred to the second time
    assert (array[6].fX, array[6]["fY"], array[6].member("fZ")) == (1.0, 2.0, 3.0)


def test_members(file: Any) -> None:
    vector = file["vector"]
    assert isinstance(vector, Object)
    assert dict(vector) == {"fP": vector.fP, "fE": 4.0} and len(vector) == 2
    assert vector.to_dict() == {"fP": {"fX": 1.0, "fY": 2.0, "fZ": 3.0}, "fE": 4.0} == vector.tolist()
    assert vector.has_member("fE") and "fE" in vector and "fE" in dir(vector)
    assert repr(vector) == "<TLorentzVector fP=<TVector3> fE=4.0>"
    assert vector.name is None
    with pytest.raises(KeyInFileError, match="'fE'"):
        vector.member("fEE")
    with pytest.raises(AttributeError):
        vector.fEE  # noqa: B018
    assert [item.fP.fX for item in file["vectors"]] == [0.0, 1.0, 2.0]
    assert file["matrix"].fElements.reshape(2, 3).tolist() == [[0, 1, 2], [10, 11, 12]]
    assert file["function"].name == "f1"


def test_pickled(file: Any) -> None:
    for name in "vector", "array", "map", "graph", "text", "parameter":
        again = pickle.loads(pickle.dumps(file[name]))
        assert repr(again) == repr(file[name])


def test_graphs_are_written_as_they_were_read(file: Any, tmp_path: Path) -> None:
    names = "graph", "graph_errors", "graph_asymmetric"
    with sapwood.recreate(tmp_path / "new.root") as new:
        for name in names:
            new[name] = file[name]
    with sapwood.open(tmp_path / "new.root") as again:
        for name in names:
            found, expected = again[name], file[name]
            assert again.classname_of(name) == file.classname_of(name)
            assert {**found.to_dict(), "fName": ""} == {**expected.to_dict(), "fName": ""}


def test_graphs(file: Any) -> None:
    graph = file["graph_asymmetric"]
    assert isinstance(graph, Graph) and graph.num_points == 3
    x, y = graph.values()
    assert x.tolist() == [0, 1, 2] and y.tolist() == graph.values("y").tolist() == [0, 1, 4]
    np.testing.assert_allclose(graph.errors("low", "y"), [0.3, 1.3, 2.3])
    np.testing.assert_allclose(graph.errors("high", "y"), [0.4, 1.4, 2.4])
    np.testing.assert_allclose(graph.errors("mean")[0], [0.15] * 3)
    np.testing.assert_allclose(graph.errors("diff", "x"), [0.1] * 3)
    assert file["graph_errors"].errors("low", "x").tolist() == [0.5, 0.5]
    with pytest.raises(UsageError, match="no errors"):
        file["graph"].errors("low")
    with pytest.raises(KeyInFileError):
        graph.values("z")


def test_paths_and_cycles(file: Any) -> None:
    assert file["dir/sub/deep"].title == file["dir/sub"]["deep;1"].title == "in a directory"
    assert sapwood.open(f"{DATA / 'objects.root'}:dir/sub/deep").name == "deep"
    with pytest.raises(KeyInFileError):
        file["dir/sub/dee"]
    with pytest.raises(KeyInFileError):
        file["named/fName"]
    assert file.get("nothing", 5) == 5


def test_trees_are_still_trees(events_file: Path) -> None:
    with sapwood.open(events_file) as file:
        assert isinstance(file["Events"], sapwood.Tree)
        assert isinstance(file["dir"], sapwood.Directory)
        assert isinstance(file["dir/sub/Runs"], sapwood.Tree)


class Column:
    """A column as the core hands it over."""

    def __init__(self, form: Any, *buffers: Any) -> None:
        self.form, self.length = form, 1
        self.buffers = [np.asarray(buffer) for buffer in buffers]


def item(form: Any, *buffers: Any, typename: str = "", types: dict[str, str] | None = None) -> Any:
    return first_item(Column(form, *buffers), typename, present, lambda _: types or {})


NUMBER = ("primitive", "int32")
PAIRS = ("list", ("tuple", [NUMBER, NUMBER]))


def test_values_of_all_forms() -> None:
    assert item(NUMBER, [7]) == 7
    assert item(("fixed", 2, ("fixed", 3, NUMBER)), range(6)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert item(("option", NUMBER), [-1], []) is None
    assert item(("option", NUMBER), [0], [5]) == 5
    assert (
        item(("union", [NUMBER, ("string",)]), np.array([1], "i1"), [0], [], [0, 2], np.array([65, 66], "u1"))
        == "AB"
    )
    assert item(("list", ("empty",)), [0, 0]) == []
    record = item(("record", [("a", NUMBER)], "A", [""]), [3])
    assert (record.class_name, record.a) == ("A", 3)


def test_the_type_name_tells_maps_from_lists_of_pairs() -> None:
    buffers = ([0, 2], [1, 1], [3, 4])
    assert item(PAIRS, *buffers, typename="map<int,int>") == {1: 4}
    assert item(PAIRS, *buffers, typename="std::multimap<int,int>") == [(1, 3), (1, 4)]
    assert item(PAIRS, *buffers, typename="vector<pair<int,int> >") == [(1, 3), (1, 4)]
    member = item(
        ("record", [("m", PAIRS)], "A", [""]), *buffers, types={"m": "const std::unordered_map<int, int>*"}
    )
    assert member.m == {1: 4}
    nested = ("list", ("tuple", [NUMBER, PAIRS]))
    assert item(nested, [0, 1], [9], *buffers, typename="map<int,map<int,int> >") == {9: {1: 4}}


def test_types_of_members_include_those_of_bases() -> None:
    base = {
        "name": "B",
        "version": 1,
        "elements": [{"name": "b", "class": "TStreamerSTL", "type_name": "map<int,int>"}],
    }
    old = {"name": "B", "version": 0, "elements": []}
    derived = {
        "name": "A",
        "version": 2,
        "elements": [{"name": "B", "class": "TStreamerBase", "type_name": "BASE"}],
    }
    assert member_types([base, old, derived], "A") == {"b": "map<int,int>"}


def test_damage_is_reported(tmp_path: Path) -> None:
    """Whatever byte is broken, there is a value or a typed error: no crash, no other exception."""
    data = (DATA / "objects.root").read_bytes()
    random = np.random.default_rng(3)
    failures = 0
    for _ in range(150):
        broken = bytearray(data)
        for place in random.integers(300, len(data), 3):
            broken[place] = random.integers(256)
        try:
            with sapwood.open(bytes(broken)) as file:
                for name in file:
                    try:
                        str(file[name])
                    except SapwoodError:
                        failures += 1
        except SapwoodError:
            failures += 1
    assert failures > 20


def test_skipped_members_are_reported(file: Any) -> None:
    value = Object("A", {"x": 1}, (("y", "its class streams itself"),))
    assert value.skipped == (("y", "its class streams itself"),)
    assert file["vector"].skipped == ()


def test_an_unknown_class(corpus: Path) -> None:
    with sapwood.open(corpus / "skhep__uproot-issue-861.root") as file:
        with pytest.raises(UnsupportedTypeError, match="CalibrationCoefficient") as caught:
            file["Energy/Calibration_0"]
        assert caught.value.hint and caught.value.offset


def test_histograms_of_the_corpus(corpus: Path) -> None:
    """Every histogram that uproot reads has the same contents here."""
    uproot = pytest.importorskip("uproot")
    compared = 0
    for path in sorted(corpus.glob("*.root")):
        try:
            file = sapwood.open(path)
        except SapwoodError:
            continue
        names = file.classnames(filter_classname=["TH[123]?", "TProfile*"])
        if not names:
            continue
        with uproot.open(path) as other:
            for name in names:
                mine, known = file[name], other[name]
                np.testing.assert_array_equal(mine.values(flow=True), known.values(flow=True))
                assert mine.axis(0).labels() == known.axis(0).labels()
                if mine.kind == "COUNT":
                    np.testing.assert_array_equal(mine.variances(flow=True), known.variances(flow=True))
                compared += 1
    assert compared > 50


def test_text_keeps_its_identity() -> None:
    text = String("label")
    text.unique_id = 3
    again = pickle.loads(pickle.dumps(text))
    assert again == "label" and again.unique_id == 3


def test_nan_is_itself() -> None:
    assert Object("A", {"x": math.nan}) == Object("A", {"x": math.nan})
    assert Object("A", {"x": 1.0}) != Object("A", {"x": 2.0})
