"""What a notebook shows, and what a person at a prompt tries first."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from hostile_names import EVIL, EVIL_FILE, harmful, write

import sapwood
from sapwood.display.notebook import MOST_ROWS, notebook_table
from sapwood.report.loop import LostFile


class Tags(HTMLParser):
    """The tags and the text of a document."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


TAGS = {"div", "style", "strong", "table", "thead", "tbody", "tr", "th", "td", "pre"}


@pytest.fixture
def file(tmp_path: Path) -> Any:
    with sapwood.recreate(tmp_path / "a.root") as file:
        x = np.arange(100, dtype=np.float32)
        file["dir/Events"] = {"x": x, "lists": ak.unflatten(np.arange(200), np.full(100, 2))}
        file["h"] = np.histogram(x, bins=4)
    with sapwood.open(tmp_path / "a.root") as file:
        yield file


def test_files_trees_branches_and_reports_are_tables(file: Any, tmp_path: Path) -> None:
    tree = file["dir/Events"]
    tree.arrays("x")
    repacked = sapwood.repack(tmp_path / "a.root", tmp_path / "b.root")
    shown = {
        "dir/Events": file,
        "TTree": file["dir"],
        "var * int64": tree,
        "float32": tree["x"],
        "fetched bytes": file.report(),
        "copied baskets": repacked,
        "undamaged": sapwood.verify(tmp_path / "a.root"),
        "sum of bins 100": file["h"],
        "1 of 1": _after(sapwood.iterate(tmp_path / "a.root")),
        "end in the tree": next(tree.iterate("x", report=True))[1],
        "v2: dir/Events, 100 entries": sapwood.stripe.create(
            tmp_path / "d", f"{tmp_path / 'a.root'}:dir/Events"
        ),
    }
    for text, value in shown.items():
        document = Tags(value._repr_html_())
        assert text in document.text, type(value)
        assert document.tags <= TAGS
    assert "100 entries" in Tags(tree._repr_html_()).text


def _after(loop: sapwood.Iteration) -> sapwood.LoopReport:
    """The report of a loop that is over."""
    list(loop)
    return loop.report()


@pytest.mark.parametrize("kind", ["Dataset", "Histogram", "Report", "LoopReport"])
def test_hostile_names_of_files_are_text_in_every_table(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"{EVIL_FILE}.root".replace("/", "|"))
    lost = LostFile(EVIL, 3, "corrupt", EVIL)
    with sapwood.open(path) as file:
        histogram, tree = (file[name] for name in file.keys(cycle=False))
        shown: dict[str, Callable[[], Any]] = {
            "Dataset": lambda: sapwood.stripe.create(tmp_path / "evil", tree),
            "Histogram": lambda: histogram,
            "Report": lambda: next(tree.iterate(report=True))[1],
            "LoopReport": lambda: sapwood.LoopReport(1, lost=(lost,), differences=(EVIL,)),
        }
        document = Tags(shown[kind]()._repr_html_())
    assert document.tags <= TAGS and not harmful(document.text)
    assert "<script>" in document.text


def test_a_dataset_that_is_gone_is_shown_without_an_error(file: Any, tmp_path: Path) -> None:
    dataset = sapwood.stripe.create(tmp_path / "d", f"{tmp_path / 'a.root'}:dir/Events")
    shutil.rmtree(tmp_path / "d")
    assert "Dataset" in Tags(dataset._repr_html_()).text


def test_hostile_names_are_text() -> None:
    document = notebook_table(EVIL, [EVIL], [[EVIL]], EVIL)
    assert EVIL not in document
    assert Tags(document).tags <= TAGS
    assert Tags(document).text.isprintable()


def test_long_tables_end_with_a_count() -> None:
    document = notebook_table("t", ["a", "b"], [["x", i] for i in range(MOST_ROWS + 1234)])
    assert "… and 1,234 more" in document
    assert document.count("<tr>") == MOST_ROWS + 2


def test_a_closed_file_is_shown_without_an_error(file: Any) -> None:
    file.close()
    assert "closed" in file._repr_html_()


def test_slices_of_a_branch_are_arrays_of_these_entries(file: Any) -> None:
    branch = file["dir/Events"]["x"]
    everything = np.arange(100, dtype=np.float32)
    for chosen in (
        slice(3),
        slice(10, 20),
        slice(-5, None),
        slice(None, None, 7),
        slice(50, 10, -3),
        slice(9, 9),
    ):
        assert branch[chosen].to_list() == everything[chosen].tolist(), chosen
    assert branch[0] == 0 and branch[-1] == 99 and branch[np.int64(5)] == 5
    assert file["dir/Events"]["lists"][1].to_list() == [2, 3]
    with pytest.raises(IndexError, match="no entry 100"):
        branch[100]


def test_a_slice_reads_only_its_entries(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root", compression="none") as file:
        tree = file.mktree("t", {"x": np.float64}, cluster_entries=100_000)
        for _ in range(20):
            tree.extend({"x": np.random.default_rng(1).random(100_000)})
    with sapwood.open(tmp_path / "a.root") as file:
        file["t"]["x"][-3:]
        assert file.report().decompressed_bytes < 2e6


def test_slices_of_a_tree_name_the_way(file: Any) -> None:
    with pytest.raises(TypeError, match=r"\.arrays\(\[names\], entry_start=…, entry_stop=…\)"):
        file["dir/Events"][:3]
    with pytest.raises(TypeError, match=r"\.arrays"):
        file["dir/Events"][["x", "lists"]]


def test_the_prompt_completes_and_finds_names(file: Any) -> None:
    tree = file["dir/Events"]
    assert "x" in tree and "nothing" not in tree and "dir/Events" in file
    assert set(tree._ipython_key_completions_()) >= {"x", "lists"}
    assert "dir/Events;1" in file._ipython_key_completions_()
    assert {"arrays", "show", "num_entries"} <= set(dir(tree))
    assert len(tree) == len(tree.branches)


def test_errors_about_how_name_all_values(file: Any) -> None:
    tree = file["dir/Events"]
    with pytest.raises(ValueError, match="None, dict, tuple, list, 'zip', not 'zipp'"):
        tree.arrays(how="zipp")
    with pytest.raises(ValueError, match="None, dict, tuple, list, not 'zip'"):
        tree.arrays(how="zip", library="np")


@pytest.mark.parametrize("write", [sapwood.recreate, sapwood.example])
def test_a_missing_directory_is_named(tmp_path: Path, write: Any) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no directory '.*nowhere'"):
        write(tmp_path / "nowhere" / "a.root")


def test_report_and_entries_have_one_meaning(file: Any, tmp_path: Path) -> None:
    import inspect

    path = f"{tmp_path / 'a.root'}:dir/Events"
    for steps in (sapwood.iterate(path, report=True), file["dir/Events"].iterate(report=True)):
        assert [type(report) for _, report in steps] == [sapwood.Report]
    assert isinstance(sapwood.concatenate(path, cost=True)[1], sapwood.ReadReport)
    for function in (sapwood.repack, sapwood.concatenate):
        names = set(inspect.signature(function).parameters)
        assert {"entry_start", "entry_stop"} <= names and not names & {"entries", "report"}
