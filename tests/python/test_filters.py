"""Filters by glob, regular expression or function, or a list of these."""

import pytest

from sapwood import errors
from sapwood.query.filters import text_filter

NAMES = ["Muon_pt", "Muon_eta", "nMuon", "MET_pt", "a/b[2]"]


def chosen(filter: object) -> list[str]:
    accepts = text_filter(filter)  # type: ignore[arg-type]
    return [name for name in NAMES if accepts is None or accepts(name)]


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        (None, NAMES),
        ("Muon_pt", ["Muon_pt"]),
        ("muon_pt", []),
        ("Muon_*", ["Muon_pt", "Muon_eta"]),
        ("M?on_pt", ["Muon_pt"]),
        ("[Mn]*", ["Muon_pt", "Muon_eta", "nMuon", "MET_pt"]),
        ("/muon/i", ["Muon_pt", "Muon_eta"]),
        ("/.*pt$/", ["Muon_pt", "MET_pt"]),
        ("/nothing/", []),
        (["nMuon", "/MET/"], ["nMuon", "MET_pt"]),
        ([], []),
        (["Muon_pt", None], NAMES),
        (lambda name: name.endswith("eta"), ["Muon_eta"]),
        ([lambda name: "/" in name, "MET*"], ["MET_pt", "a/b[2]"]),
    ],
)
def test_filter(filter: object, expected: list[str]) -> None:
    assert chosen(filter) == expected


def test_the_same_names_pass_as_with_uproot() -> None:
    util = pytest.importorskip("uproot")._util
    for filter in ["Muon_*", "/Muon/", "/muon.*pt/i", "/pt/", ["nMuon", "*_eta"], "a/b[2]", "a/b[[]2]"]:
        assert chosen(filter) == [name for name in NAMES if util.regularize_filter(filter)(name)]


@pytest.mark.parametrize("filter", [3, b"Muon", 1.5])
def test_other_types_are_refused(filter: object) -> None:
    with pytest.raises(TypeError, match="filter"):
        text_filter(filter)  # type: ignore[arg-type]


def test_a_wrong_regular_expression_is_an_error() -> None:
    with pytest.raises(errors.ExpressionError, match=r"'/\(/' is not a regular expression: .* \(column 2\)"):
        text_filter("/(/")
