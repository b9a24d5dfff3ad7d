"""Histograms agree with ROOT bin by bin, in all error modes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood.errors import KeyInFileError, UnsupportedTypeError, UsageError
from sapwood.objects import Axis, Histogram, Profile

DATA = Path(__file__).parents[1] / "data" / "objects"
FACTS: dict[str, Any] = json.loads((DATA / "histograms.json").read_text())


@pytest.fixture(scope="module")
def file() -> Any:
    with sapwood.open(DATA / "histograms.root") as opened:
        yield opened


def in_root_order(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Bins in the order of ROOT's global bin numbers: x counts first."""
    return np.asarray(array, dtype=np.float64).T.ravel()


@pytest.mark.parametrize("name", FACTS)
def test_root_says_the_same(file: Any, name: str) -> None:
    histogram, facts = file[name], FACTS[name]
    assert isinstance(histogram, Histogram)
    np.testing.assert_allclose(in_root_order(histogram.values(flow=True)), facts["values"], rtol=1e-12)
    np.testing.assert_allclose(in_root_order(histogram.errors(flow=True)), facts["errors"], rtol=1e-12)
    if "counts" in facts:
        np.testing.assert_allclose(in_root_order(histogram.counts(flow=True)), facts["counts"], rtol=1e-12)
    assert len(histogram.axes) == len(facts["edges"])
    for axis, edges in zip(histogram.axes, facts["edges"], strict=True):
        np.testing.assert_allclose(axis.edges(), edges, rtol=1e-14, atol=1e-15)
    assert histogram.axis().labels() == facts["labels"]
    assert not histogram.skipped


@pytest.mark.parametrize("name", FACTS)
def test_uproot_says_the_same(file: Any, name: str) -> None:
    uproot = pytest.importorskip("uproot")
    histogram = file[name]
    with uproot.open(DATA / "histograms.root") as other:
        known = other[name]
        for flow in False, True:
            np.testing.assert_allclose(histogram.values(flow), known.values(flow), rtol=1e-12)
            for dd in False, True:
                if not hasattr(known, "to_numpy"):  # of profiles
                    continue
                flat = [*_flat(histogram.to_numpy(flow, dd))]
                expected = [*_flat(known.to_numpy(flow, dd))]
                assert len(flat) == len(expected)
                for one, two in zip(flat, expected, strict=True):
                    np.testing.assert_allclose(one, two, rtol=1e-12)
        assert (histogram.name, histogram.title, histogram.kind) == (known.name, known.title, known.kind)
        assert histogram.values().dtype == known.values().dtype
        for mine, theirs in zip(histogram.axes, known.axes, strict=True):
            assert (mine.low, mine.high, mine.name) == (theirs.low, theirs.high, theirs.member("fName"))


def _flat(value: Any) -> Any:
    return [array for item in value for array in (item if isinstance(item, tuple) else (item,))]


def test_contents_have_their_type(file: Any) -> None:
    types = {letter: file[f"h1{letter}"].values().dtype.name for letter in "CSILFD"}
    expected = {"C": "int8", "S": "int16", "I": "int32", "L": "int64", "F": "float32", "D": "float64"}
    assert types == expected


def test_a_number_is_not_the_name_of_a_member(file: Any) -> None:
    histogram = file["h1"] if "h1" in file else file[file.keys(filter_classname="TH*")[0]]
    with pytest.raises(sapwood.errors.ArgumentTypeError, match=r"values\(\) returns those of its bins"):
        histogram[0]


def test_members_and_axes(file: Any) -> None:
    histogram = file["h1D"]
    assert histogram.classname == "TH1D"
    assert histogram.member("fNcells") == histogram.fNcells == histogram.members["fNcells"] == 7
    assert histogram.axis("x") is histogram.axis(0) is histogram.axes[0]
    assert histogram.axis().title == "x title"
    assert len(histogram.axis()) == 5 and histogram.axis()[0] == (-1.0, pytest.approx(-0.6))
    assert list(histogram.axis()) == [tuple(pair) for pair in histogram.axis().intervals().tolist()]
    assert histogram.axis().edges(flow=True)[0] == -np.inf
    assert not histogram.axis().traits.discrete and file["labelled"].axis().traits.discrete
    assert list(file["categories"].axis()) == ["b", "a", "c"]
    assert file["variable"].axis().variable and not histogram.axis().variable
    with pytest.raises(KeyInFileError):
        histogram.axis("y")
    with pytest.raises(KeyInFileError, match="fNcells"):
        histogram.member("fNcell")
    with pytest.raises(AttributeError, match="fNothing"):
        _ = histogram.fNothing
    assert "5 bins" in repr(histogram) and "3 x 4 bins" in repr(file["h2D"])


def test_labels_belong_to_bins_not_to_their_order(file: Any) -> None:
    assert file["labelled"].axis().labels() == ["electron", "", "muon", "tau"]
    assert file["labelled"].axis()[2] == "muon"


def test_errors_of_a_profile_by_any_option(file: Any) -> None:
    profile = file["profile"]
    assert isinstance(profile, Profile) and profile.error_mode == ""
    for option in "s", "i", "g":
        other = file[f"profile{option}"]
        assert other.error_mode == option
        # Each was filled with other numbers: what one gives for an option, another gives by its own.
        np.testing.assert_array_equal(other.errors(), other.errors(error_mode=option))
        # Means of integers have errors of their own only where all are equal.
        assert np.array_equal(other.errors(), other.errors(error_mode="")) == (option == "i")
    np.testing.assert_allclose(profile.variances(), profile.errors() ** 2)
    with pytest.raises(UsageError):
        profile.errors(error_mode="x")


def test_entries_that_are_not_in_bins_yet_are_no_zeros(file: Any) -> None:
    histogram = file["h1D"]
    members = {**histogram.members, "fBuffer": np.array([2.0, 1.0, 0.5, 1.0, 0.25])}
    with pytest.raises(UnsupportedTypeError, match="before its entries were filled into bins"):
        Histogram("TH1D", members).values()


def test_plotting_protocol(file: Any) -> None:
    plottable = pytest.importorskip("uhi.typing.plottable")
    for name in FACTS:
        assert isinstance(file[name], plottable.PlottableHistogram)
        assert isinstance(file[name].axes[0].traits, plottable.PlottableTraits)


@pytest.mark.parametrize("name", FACTS)
def test_to_hist(file: Any, name: str) -> None:
    pytest.importorskip("hist")
    histogram = file[name]
    made = histogram.to_hist()
    has_underflow = [axis.labels() is None for axis in histogram.axes]
    inside = tuple(slice(0 if has else 1, None) for has in has_underflow)
    np.testing.assert_allclose(made.values(flow=True), histogram.values(flow=True)[inside])
    assert made.kind.value == histogram.kind
    assert [axis.name for axis in made.axes] == [axis.name for axis in histogram.axes]
    if histogram.kind == "COUNT" and histogram.weighted:
        np.testing.assert_allclose(made.variances(flow=True), histogram.variances(flow=True)[inside])


def test_members_become_attributes_of_what_is_made(file: Any) -> None:
    pytest.importorskip("boost_histogram")
    made = file["h1D"].to_boost(metadata={"bins": "fNcells"}, axis_metadata={"high": "fXmax"})
    assert (made.bins, made.axes[0].high) == (file["h1D"].member("fNcells"), file["h1D"].axis().high)
    assert not hasattr(made, "name") and not hasattr(made.axes[0], "name")
    with pytest.raises(KeyInFileError, match="fNone"):
        file["profile"].to_boost({"none": "fNone"})


def test_missing_packages_are_named(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "boost_histogram", None)
    with pytest.raises(ModuleNotFoundError, match="pip install boost-histogram"):
        file["h1D"].to_boost()


def test_pickled_and_equal(file: Any) -> None:
    for name in "h2D", "profile3D", "labelled":
        again = pickle.loads(pickle.dumps(file[name]))
        assert type(again) is type(file[name]) and again == file[name]
    assert file["h1D"] != file["h1F"]
    assert isinstance(file["h1D"].axis(), Axis) and file["h1D"].axis() == file["h1F"].axis()
