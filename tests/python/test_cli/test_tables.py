"""Tables of any width: cells are complete or end in "…", and dropped columns are named."""

from __future__ import annotations

import doctest
import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from sapwood.cli import _edm, _output, head
from sapwood.display import table as table_module
from sapwood.display.table import GAP, Extent, fit

WIDTHS = (60, 80, 120, 200)
LONG = "Jet_btagDeepFlavB_with_a_name_that_is_longer_than_half_of_a_terminal"
FOOTNOTE = "Not shown for lack of width: "

at_all_widths = pytest.mark.parametrize("width", WIDTHS)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a tree of long names and big numbers, a wide tree, and a directory."""
    path = tmp_path_factory.mktemp("tables") / "long.root"
    with uproot.recreate(path) as file:
        kinds = {"Muon_pfRelIso03_all": "var * float32", "Muon_charge": "var * int32", LONG: "int64"}
        file.mktree("Events", kinds, title="a title of several words, which may wrap at the spaces").extend(
            {
                "Muon_pfRelIso03_all": [[1.15, 2.25], [], [3.125]] * 1000,
                "Muon_charge": [[1, -1], [], [1]] * 1000,
                LONG: np.arange(3000) + 10**18,
            }
        )
        file.mktree("wide", {f"x{i}": "int32" for i in range(60)}).extend(
            {f"x{i}": np.arange(3) for i in range(60)}
        )
        file["histogram"] = np.histogram(np.arange(10.0))
    return path


@pytest.fixture
def terminal(sapwood: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a command in a terminal of a width."""

    def run(width: int, *arguments: object) -> str:
        for module in (_output, head):
            monkeypatch.setattr(module, "terminal_width", lambda: width)
        done = sapwood(*arguments)
        assert done.code == 0, done.err
        return re.sub("\x1b\\[[0-9;]*m", "", done.out)

    return run


def table(text: str) -> tuple[list[str], list[list[str]], list[str]]:
    """The titles, the lines of cells, and the titles of dropped columns."""
    title, rule, *lines = text.splitlines()
    assert set(rule) == {"─"}
    dropped: list[str] = []
    for line in lines:
        if line.startswith(FOOTNOTE):
            dropped = line.removeprefix(FOOTNOTE).partition(". To see all")[0].split(", ")
    lines = [line for line in lines if not line.startswith((FOOTNOTE, "…"))]
    return cells(title), [cells(line) for line in lines], dropped


def cells(line: str) -> list[str]:
    """The cells of a line."""
    return re.split(r" {2,}", line.strip())


def check(shown: str, columns: Sequence[_output.Column], lines: Sequence[Sequence[str]], width: int) -> None:
    """Every cell is complete in a terminal, or its column is named as dropped."""
    titles, _, dropped = table(shown)
    order = [column.title for column in columns]
    assert sorted(titles + dropped) == sorted(order) and titles == sorted(titles, key=order.index)
    drawn = [line for line in shown.splitlines() if not line.startswith((FOOTNOTE, "…"))]
    assert max(map(len, drawn)) <= width
    for line in lines:
        for cell, column in zip(line, columns, strict=True):
            if column.title in dropped or not cell:
                continue
            complete = any(cell.strip() in cells(one) for one in drawn)
            assert complete or (not column.right and wrapped(cell.strip(), drawn)), cell


def wrapped(cell: str, lines: list[str]) -> bool:
    """Whether the pieces of a cell of text are in a table."""
    pieces = [piece for line in lines for piece in cells(line)]
    rest = cell
    while rest:
        piece = max((one for one in pieces if one and rest.startswith(one)), key=len, default="")
        if not piece:
            return False
        rest = rest[len(piece) :].lstrip()
    return True


@at_all_widths
@pytest.mark.parametrize(
    "words",
    [
        ("show", "{}:Events"),
        ("show", "{}:wide"),
        ("ls", "{}"),
        ("ls", "-l", "{}"),
        ("doctor", "{}"),
        ("stripe", "ls", "DATASET"),
        ("stripe", "log", "DATASET"),
        ("stripe", "show", "DATASET", "--product", "Muon"),
        ("catalog", "ls", "CATALOG"),
    ],
    ids=" ".join,
)
def test_nothing_is_cut(
    sapwood: Callable[..., Any],
    terminal: Callable[..., str],
    source: Path,
    stores: dict[str, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    words: tuple[str, ...],
) -> None:
    tables: list[Any] = []
    draw = _output._print_in_terminal

    def recorded(columns: Any, rows: Any, footer: Any, width: int) -> None:
        tables.append((columns, [[column.title for column in columns], *rows, *([footer] if footer else [])]))
        draw(columns, rows, footer, width)

    monkeypatch.setattr(_output, "_print_in_terminal", recorded)
    shown = terminal(width, *(one for word in words for one in stores.get(word, [word.format(source)])))
    ((columns, lines),) = tables
    start = re.search(rf"^ *{columns[0].title}  ", shown, re.MULTILINE)
    assert start is not None
    check(shown[start.start() :].partition("Only the metadata")[0], columns, lines, width)


@pytest.fixture(scope="module")
def stores(
    sapwood: Callable[..., Any], source: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """The arguments that name a dataset, and a catalogue with it."""
    folder = tmp_path_factory.mktemp("a_folder_with_a_name_of_a_length_that_cannot_fit_in_a_column")
    dataset, catalog = str(folder / "dataset"), str(folder / "catalog.sqlite")
    assert sapwood("stripe", "create", dataset, "--from", f"{source}:Events", "--who", "somebody").code == 0
    done = sapwood("catalog", "add", dataset, "--catalog", catalog)
    assert done.code == 0, done
    return {"DATASET": [dataset], "CATALOG": ["--catalog", catalog]}


@at_all_widths
def test_show_has_complete_types_and_names(terminal: Callable[..., str], source: Path, width: int) -> None:
    titles, rows, dropped = table(terminal(width, "show", f"{source}:Events"))
    assert titles[:3] == ["branch", "type", "entries"]
    muons = next(row for row in rows if row[0] == "Muon_pfRelIso03_all")
    assert muons[1:3] == ["float[]", "3,000"]
    assert next(row for row in rows if row[0] == "Muon_charge")[1] == "int32_t[]"
    assert (not dropped) == (width == 200 or (width == 120 and not dropped))


@at_all_widths
@pytest.mark.parametrize("long", [(), ("-l",)], ids=["ls", "ls -l"])
def test_ls_has_names_and_entries_in_every_width(
    terminal: Callable[..., str], source: Path, width: int, long: tuple[str, ...]
) -> None:
    titles, rows, dropped = table(terminal(width, "ls", *long, source))
    cycle = ";1" if long else ""
    for name, entries in ("Events", "3,000"), ("wide", "3"):
        row = next(row for row in rows if row[0] == name + cycle)
        assert row[titles.index("entries")] == entries
    assert titles[:3] == ["key", "class", "entries"] and "key" not in dropped
    assert not dropped or width < 200
    if long and width >= 80:
        assert {"record", "offset", "written"} <= set(titles)


@at_all_widths
def test_terminals_that_can_only_print_have_their_width(
    terminal: Callable[..., str], source: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    usual = terminal(width, "ls", "-l", source)
    monkeypatch.setenv("TERM", "dumb")
    assert terminal(width, "ls", "-l", source) == usual


@at_all_widths
def test_head_has_complete_numbers(terminal: Callable[..., str], source: Path, width: int) -> None:
    shown = terminal(width, "head", f"{source}:Events", "-n", "2")
    assert "1.15, 2.25" in shown and FOOTNOTE not in shown
    assert "1000000000000000000" in shown
    assert re.findall(r"\b10000[\d.]*", shown)[1:] == ["1000000000000000001"] * (width > 80)


@pytest.mark.parametrize("module", [head, table_module], ids=lambda module: module.__name__)
def test_examples(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_shortening_keeps_numbers_complete() -> None:
    values = [[1.125, 22.25], [333.125, -4.5], list(range(100, 160))]
    line = head.text(values)
    numbers = {head.text(number) for one in values for number in one}
    for width in range(12, len(line) + 2):
        short = head.shorten(line, width)
        assert len(short) <= width
        assert set(re.findall(r"[-\d.]+", short)) <= numbers
        assert short.count("[") == short.count("]")
    assert head.shorten("a" * 50, 10) == "a" * 9 + "…"


@pytest.mark.parametrize("seed", range(20))
def test_the_columns_that_are_shown_fit(seed: int) -> None:
    random = np.random.default_rng(seed)
    for width in (1, 10, 60, 80, 200):
        extents = [
            Extent(full, int(random.integers(1, full + 1)), int(random.integers(4)))
            for full in map(int, random.integers(1, 60, random.integers(1, 12)))
        ]
        found = fit(extents, width)
        assert sum(found.widths.values()) + GAP * (len(found.widths) - 1) <= width
        assert 0 in found.widths and sorted([*found.widths, *found.dropped]) == list(range(len(extents)))
        if len(found.widths) > 1:
            assert all(extents[i].least <= cells <= extents[i].full for i, cells in found.widths.items())
        kept = [(extents[i].last, -i) for i in found.widths if i]
        assert not kept or max(((extents[i].last, -i) for i in found.dropped), default=(0, -99)) < min(kept)


def test_a_wide_tree_shows_its_first_columns(sapwood: Callable[..., Any], source: Path) -> None:
    lines = sapwood("head", f"{source}:wide", "-n", "2").out.splitlines()
    assert len(lines) == 1 + head.MOST_COLUMNS + 1
    assert lines[-1].startswith("… and 40 more columns") and "--filter" in lines[-1]
    assert len(sapwood("head", f"{source}:wide", "--json").json["columns"]) == 60
    assert len(sapwood("head", f"{source}:wide", "--filter", "x*").out.splitlines()) == 61
    assert len(sapwood("head", f"{source}:wide", *(f"x{i}" for i in range(30))).out.splitlines()) == 31


def test_head_finds_the_first_entries_that_pass(sapwood: Callable[..., Any], path: Path) -> None:
    def runs(cut: str, count: int) -> list[int]:
        line = ("head", f"{path}:Events", "run", "--cut", cut, "-n", str(count), "--json")
        return list(sapwood(*line).json["columns"]["run"])

    assert runs("run >= 990", 3) == [990, 991, 992]
    assert runs("run >= 998", 3) == [998, 999]
    assert runs("run % 400 == 399", 10) == [399, 799]
    assert runs("run < 0", 3) == [] and runs("run >= 990", 0) == []


def test_head_searches_in_steps(
    sapwood: Callable[..., Any], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sapwood.model.tree import Tree

    steps: list[tuple[int, int]] = []
    arrays = Tree.arrays

    def watched(self: Tree, *arguments: Any, **options: Any) -> Any:
        steps.append((options["entry_start"], options["entry_stop"]))
        return arrays(self, *arguments, **options)

    monkeypatch.setattr(Tree, "arrays", watched)
    monkeypatch.setattr(head, "FIRST_STEP", 10)
    monkeypatch.setattr(head, "LARGEST_STEP", 2000)
    done = sapwood("head", f"{path}:Events", "run", "--cut", "run >= 300", "-n", "2", "--json")
    assert done.json["columns"] == {"run": [300, 301]}
    assert steps[0] == (0, 10) and steps[1] == (10, 30)
    assert all(one[1] == next_one[0] for one, next_one in itertools.pairwise(steps))
    assert max(stop - start for start, stop in steps) < 600 and steps[-1][0] <= 301 < steps[-1][1]


def test_ls_takes_several_files(sapwood: Callable[..., Any], source: Path, path: Path) -> None:
    done = sapwood("ls", source, path)
    assert done.code == 0
    assert [line for line in done.out.splitlines() if line.endswith(":")] == [f"{source}:", f"{path}:"]
    files = sapwood("ls", source, path, "--json").json["files"]
    assert [one["file"] for one in files] == [str(source), str(path)]


def test_ls_lists_the_files_that_it_can_read(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    done = sapwood("ls", tmp_path / "none.root", path)
    assert done.code == 3 and "no such file" in done.err and "Events" in done.out
    missing, listed = sapwood("ls", tmp_path / "none.root", path, "--json").json["files"]
    assert missing["error"]["code"] == "not-found" and listed["keys"]


def test_show_says_what_a_file_without_trees_holds(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "plots.root"
    with uproot.recreate(path) as file:
        file["one"] = file["sub/two"] = np.histogram(np.arange(10.0))
    done = sapwood("show", path)
    assert done.code == 3 and "it holds 2 TH1D" in done.err
    assert f"sapwood ls -r {path}" in done.err and f"sapwood show {path}:NAME" in done.err


def test_a_new_dataset_explains_its_version(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    done = sapwood("stripe", "create", tmp_path / "new", "--from", f"{path}:Events")
    assert "v2: Events, 1,000 entries (v1 is the empty dataset" in done.out
    assert "v1 is" not in sapwood("stripe", "show", tmp_path / "new").out


@pytest.mark.parametrize("width", [60, 80])
def test_diff_keeps_the_place_of_each_difference(
    sapwood: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int
) -> None:
    for name, value in {"a": 1.2345678901234567, "b": -7.6543210987654321}.items():
        with uproot.recreate(tmp_path / f"{name}.root") as file:
            file["Events"] = {"Muon_pfRelIso03_all": np.full(3, value)}
    monkeypatch.setattr(_output, "terminal_width", lambda: width)
    done = sapwood("diff", tmp_path / "a.root", tmp_path / "b.root")
    shown = re.sub("\x1b\\[[0-9;]*m", "", done.out)
    titles, _, dropped = table(shown)
    values = ["first", "second"] if width > 60 else ["first | second"]
    assert titles == ["object", "what", "difference", "entry", *values]
    assert dropped == []
    # A number in two lines would read like another one.
    assert "1.2345678901234567" in shown and "-7.654321098765432" in shown


@pytest.mark.parametrize("width", [60, 70, 80, 100])
def test_diff_wraps_lists_between_numbers_only(
    sapwood: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int
) -> None:
    first, second = [0.7853981633974483, 12.140739440917969, 1e-17], [-2.5919435024261475, 26.315227508544922]
    for name, value in {"a": first, "b": second}.items():
        with uproot.recreate(tmp_path / f"{name}.root") as file:
            file["Events"] = {"x": ak.Array([value])}
    monkeypatch.setattr(_output, "terminal_width", lambda: width)
    shown = re.sub("\x1b\\[[0-9;]*m", "", sapwood("diff", tmp_path / "a.root", tmp_path / "b.root").out)
    assert {str(number) for number in [*first[:2], *second]} <= set(re.findall(r"[-\d.e]+", shown))


def test_ls_long_keeps_the_class_at_80_columns(terminal: Callable[..., str], source: Path) -> None:
    titles, _, dropped = table(terminal(80, "ls", "-l", source))
    assert "class" in titles and "ratio" in dropped


def test_products_keep_their_class_and_size_at_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_output, "terminal_width", lambda: 80)
    sizes = {"present": True, "compressed_bytes": 123_456_789, "uncompressed_bytes": 987_654_321}
    names = {"label": "offlineSlimmedPrimaryVertices", "instance": "selectedPatCandidates", "process": "RECO"}
    product = {**names, "class": "vector<reco::VertexCompositePtrCandidate>", "per": "Event", **sizes}
    _edm._print({"products": [product], "processes": []})
    titles, _, _ = table(re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out))
    assert {"label", "instance", "process", "class", "compressed"} <= set(titles)
