"""`sapwood hist` counts as NumPy does, and draws in every terminal."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import awkward as ak
import numpy as np
import pytest

import sapwood as sw
from sapwood.cli.hist import _order
from sapwood.display.bars import ASCII, BLOCKS, bars, characters_for, shades
from sapwood.errors import UsageError
from sapwood.studies import filling


@pytest.fixture
def plots(tmp_path: Path) -> str:
    random = np.random.default_rng(1)
    with sw.recreate(tmp_path / "plots.root") as file:
        file["dir/z"] = np.histogram(random.normal(91, 2, 5000), bins=120, range=(60, 120))
        file["map"] = np.histogram2d(random.normal(size=500), random.normal(size=500), bins=20)
    return str(tmp_path / "plots.root")


def test_values_are_those_of_numpy(sapwood: Callable[..., Any], path: Path, events: dict[str, Any]) -> None:
    found = sapwood("hist", f"{path}:Events", "Muon_pt", "--range", "0:50", "-b", "25", "--json").json
    values = ak.to_numpy(ak.flatten(events["Muon_pt"]))
    assert found["values"] == np.histogram(values, 25, (0, 50))[0].tolist()
    assert (found["entries"], found["above"]) == (len(values), (values > 50).sum())


@pytest.mark.parametrize("kept", [filling.KEPT, 10])
def test_without_a_range_it_is_that_of_the_values(
    sapwood: Callable[..., Any],
    path: Path,
    events: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    kept: int,
) -> None:
    monkeypatch.setattr(filling, "KEPT", kept)
    found = sapwood("hist", f"{path}:Events", "MET_pt * 2", "--json").json
    values, edges = np.histogram(events["MET_pt"].astype(float) * 2, 50)
    assert found["values"] == values.tolist()
    assert np.allclose(found["edges"][0], edges)


def test_cuts_weights_ranges_of_entries_and_several_files(
    sapwood: Callable[..., Any], path: Path, events: dict[str, Any]
) -> None:
    words = ("MET_pt", "--cut", "run % 2 == 0", "--weight", "run", "--range", "0:100")
    found = sapwood("hist", f"{path}:Events", *words, "--entries", "100:900", "--json").json
    keep = slice(100, 900, 2)
    values = np.histogram(events["MET_pt"][keep], 50, (0, 100), weights=events["run"][keep])[0]
    assert np.allclose(found["values"], values)
    double = sapwood("hist", f"{path.parent}/[n]a{{no,no}}.root:Events", *words, "--json").json
    assert double["values"] == sapwood("hist", f"{path}:Events", *words, "--json").json["values"]


def test_the_weight_of_an_entry_counts_for_each_item(sapwood: Callable[..., Any], path: Path) -> None:
    words = ("Muon_pt", "--range", "0:1000", "--json")
    plain = sapwood("hist", f"{path}:Events", *words).json
    assert sapwood("hist", f"{path}:Events", *words, "--weight", "run * 0 + 2").json["values"] == [
        2 * value for value in plain["values"]
    ]


def test_whole_numbers_have_a_bin_each_and_nan_is_counted(
    sapwood: Callable[..., Any], tmp_path: Path
) -> None:
    with sw.recreate(tmp_path / "a.root") as file:
        file["t"] = {"n": np.array([0, 1, 1, 4]), "x": np.array([1.0, np.nan, np.inf, 2.0])}
    found = sapwood("hist", tmp_path / "a.root", "n", "--json").json
    assert (found["values"], found["edges"][0][0]) == ([1, 2, 0, 0, 1], -0.5)
    assert sapwood("hist", tmp_path / "a.root", "x", "--json").json["nan"] == 2
    assert "NaN or infinite 2" in sapwood("hist", tmp_path / "a.root", "x").out
    assert sapwood("hist", tmp_path / "a.root", "x", "--entries", "0:0").code == 0


def test_stored_histograms_are_drawn(sapwood: Callable[..., Any], plots: str) -> None:
    shown = sapwood("hist", f"{plots}:dir/z").out
    lines = shown.splitlines()
    peak = lines[1].index("█") if "█" in lines[1] else lines[2].index("█")
    assert 30 < peak < 45, "the Z is about in the middle of 60 to 120"
    assert lines[0].startswith("z") and "sum of bins 5,000" in lines[-1]
    assert "'█' is" in sapwood("hist", f"{plots}:map").out
    assert max(map(len, sapwood("hist", f"{plots}:map").out.splitlines())) <= 80


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("bins", [1, 7, 50, 333, 5000])
@pytest.mark.parametrize("look", [BLOCKS, ASCII])
def test_drawings_fit_in_every_width(width: int, bins: int, look: Any) -> None:
    values = np.random.default_rng(2).poisson(100, bins).tolist()
    edges = np.linspace(-1e-7, 1e9, bins + 1).tolist()
    for lines in (
        list(bars(values, edges, width=width, characters=look)),
        list(shades([values] * 70, edges[:1] * 71, edges, width=width, characters=look)),
    ):
        assert max(map(len, lines)) <= width
        assert all(line.isascii() for line in lines) == (look is ASCII)


def test_bars_are_as_high_as_their_values() -> None:
    heights = [
        sum(BLOCKS.bars.index(line[i + 4]) if i + 4 < len(line) else 0 for line in lines[:16])
        for lines in [list(bars([0, 1, 64, 128], [0, 1, 2, 3, 4], width=40))]
        for i in range(2, 9 * 4, 9)
    ]
    assert heights == [0, 1, 64, 128]


def test_encodings_without_blocks_get_ascii() -> None:
    assert characters_for("utf-8") is BLOCKS
    assert characters_for("ascii") is ASCII
    assert characters_for("latin-1") is ASCII
    assert characters_for(None) is ASCII


@pytest.mark.parametrize("name", ["dir/z", "map"])
def test_pictures_are_svg_without_matplotlib(
    sapwood: Callable[..., Any], plots: str, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "out.svg"
    assert sapwood("hist", f"{plots}:{name}", "-o", out).code == 0
    assert ElementTree.parse(out).getroot().tag.endswith("svg")
    assert sapwood("hist", f"{plots}:{name}", "-o", out).code == 2, "it exists"
    assert sapwood("hist", f"{plots}:{name}", "-o", tmp_path / "out").code == 2, "no suffix"


def test_other_pictures_need_matplotlib(
    sapwood: Callable[..., Any], plots: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    done = sapwood("hist", f"{plots}:dir/z", "-o", tmp_path / "out.png")
    assert done.code == 1
    assert "pip install matplotlib" in done.err and len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["Events"], 2, "name what to draw"),
        (["Events", "Muon_pt", "--range", "5"], 2, "LOW:HIGH"),
        (["Events", "Muon_pt", "--range", "5:1"], 2, "LOW:HIGH"),
        (["Events", "nothing"], 3, "nothing"),
        (["Events", "Muon_pt +"], 2, "column"),
        (["Events", "--cut", "run > 1"], 2, "--cut needs an expression"),
    ],
)
def test_mistakes_give_one_line(
    sapwood: Callable[..., Any], path: Path, words: list[str], code: int, says: str
) -> None:
    done = sapwood("hist", f"{path}:{words[0]}", *words[1:])
    assert done.code == code
    assert says in done.err and len(done.err.splitlines()) == 1


def test_text_cannot_be_drawn(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    with sw.recreate(tmp_path / "a.root") as file:
        file["t"] = {"s": ak.Array(["a", "b"])}
    done = sapwood("hist", tmp_path / "a.root", "s")
    assert done.code == 4 and "needs numbers" in done.err


def test_labels_and_widths_of_bins_are_said(sapwood: Callable[..., Any]) -> None:
    file = Path(__file__).parents[2] / "data" / "objects" / "histograms.root"
    assert sapwood("hist", f"{file}:categories").out.endswith("sum of bins 5; x: b a c\n")
    assert "different widths" in sapwood("hist", f"{file}:variable").out
    assert "means" in sapwood("hist", f"{file}:profile").out
    three = sapwood("hist", f"{file}:h3F")
    assert three.code == 4 and "has 3 axes" in three.err


def test_the_line_of_numbers_has_only_those_that_are_defined(sapwood: Callable[..., Any], path: Path) -> None:
    def note(*words: str) -> str:
        return str(sapwood("hist", f"{path}:Events", *words).out.splitlines()[-1])

    assert note("run", "--entries", "7:8") == "1 value, mean 7, std 0"
    assert note("run", "--cut", "run < 0") == "0 values"
    assert note("run + 5000", "--range", "0:1").endswith("above 1,000")
    assert "std" not in note("MET_pt", "--weight", "0 - 1 * (run % 2 == 0) * MET_pt + 25")


def test_the_ends_of_an_axis_differ(sapwood: Callable[..., Any], path: Path) -> None:
    lines = sapwood("hist", f"{path}:Events", "run * 0 + 362760").out.splitlines()
    assert lines[-2].split() == ["362759.5", "362760.5"]


@pytest.mark.parametrize("words", [["--range", "0:4"], []])
def test_weights_that_are_nan_are_strings_in_json(
    sapwood: Callable[..., Any], tmp_path: Path, words: list[str]
) -> None:
    with sw.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": np.array([0.5, 2.5, 9.0]), "w": np.array([2.0, np.nan, np.inf])}
    arguments = ["hist", tmp_path / "a.root", "x", "--weight", "w", "--bins", "4", *words]
    found = sapwood(*arguments, "--json")
    assert (found.code, found.err) == (0, "")
    assert found.json["values"] == ([2, 0, "nan", 0] if words else ["nan", 0, 0, "inf"])
    assert found.json["above"] == ("inf" if words else 0)
    assert sapwood(*arguments).code == 0
    assert sapwood(*arguments, "-o", tmp_path / "a.svg").code == 0


def test_a_huge_weight_changes_no_other_bin(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    with sw.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": np.array([0.0, 1.0, 2.0]), "w": np.array([1e20, 1.0, 2.0])}
    words = ["x", "--weight", "w", "--bins", "2", "--json"]
    assert sapwood("hist", tmp_path / "a.root", *words).json["values"] == [1e20, 3]


@pytest.fixture
def labelled(tmp_path: Path) -> Callable[..., list[Path]]:
    """Writes one histogram per list of labels; its values are 1, 2, 4 and so on."""
    hist = pytest.importorskip("hist")

    def write(*several: str) -> list[Path]:
        paths = [tmp_path / f"{number}.root" for number in range(len(several))]
        for path, labels in zip(paths, several, strict=True):
            axis = hist.axis.StrCategory(labels.split(), overflow=False)
            one, two = hist.Hist(axis), hist.Hist(axis, hist.axis.Regular(2, 0, 1))
            for number, label in enumerate(labels.split()):
                one.fill([label] * 2**number)
                two.fill([label] * 2**number, 0.7)
            with sw.recreate(path) as file:
                file["h"], file["map"] = one, two
                file["plain"] = np.array([1.0, 1.0, 1.0]), np.array([0.0, 1.0, 2.0, 3.0])
        return paths

    return write


def test_histograms_with_labels_are_added_by_label(
    sapwood: Callable[..., Any], labelled: Callable[..., list[Path]]
) -> None:
    paths = labelled("a b c", "c a b", "a b c")
    found = sapwood("hist", *(f"{path}:h" for path in paths), "--json").json
    assert found["values"] == [1 + 2 + 1, 2 + 4 + 2, 4 + 1 + 4]
    found = sapwood("hist", *(f"{path}:map" for path in paths), "--json").json
    assert found["values"] == [[0, 4], [0, 8], [0, 9]]


@pytest.mark.parametrize("other", ["a b d", "b a d"])
def test_histograms_with_other_labels_are_refused(
    sapwood: Callable[..., Any], labelled: Callable[..., list[Path]], other: str
) -> None:
    first, second = labelled("a b c", other)
    for pair in [(f"{first}:h", f"{second}:h"), (f"{first}:h", f"{first}:plain")]:
        done = sapwood("hist", *pair)
        assert done.code == 2 and len(done.err.splitlines()) == 1
        assert "has other labels than the first file: '" in done.err


@pytest.mark.parametrize(
    ("first", "second", "order"),
    [
        ("a b ", "b a ", [1, 0, 2]),
        ("a  b", "b a ", "labels for other bins"),
        ("a a b", "b a a", "'a' is not the label of one bin"),
        ("a a b", "a a b", [0, 1, 2]),
        ("  ", "  ", [0, 1, 2]),
    ],
)
def test_bins_without_a_label_of_their_own_are_not_guessed(first: str, second: str, order: Any) -> None:
    axes = [
        SimpleNamespace(labels=lambda words=words: words.split(" "), num_bins=3) for words in (first, second)
    ]
    if isinstance(order, list):
        assert _order(*axes, "b.root") == order
        return
    with pytest.raises(UsageError, match=order):
        _order(*axes, "b.root")


def test_histograms_are_not_added_to_profiles(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    file = Path(__file__).parents[2] / "data" / "objects" / "histograms.root"
    found = sw.open(file)["profile"]
    with sw.recreate(tmp_path / "a.root") as output:
        output["h"] = found.values(), found.axis().edges()
    for pair in ([f"{file}:profile", tmp_path / "a.root:h"], [tmp_path / "a.root:h", f"{file}:profile"]):
        done = sapwood("hist", *pair)
        assert done.code == 2 and "is a profile" in done.err
