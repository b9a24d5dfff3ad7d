"""The figures of the documents are those of the result files."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "bench"))
import overview  # noqa: E402
import paste  # noqa: E402
import results  # noqa: E402

DOCS = REPOSITORY / "docs"
FOLDER = DOCS / "benchmarks" / "results"


@pytest.mark.parametrize("page", overview.PAGES)
def test_pasting_the_tables_again_changes_no_page(page: str) -> None:
    text = (DOCS / page).read_text()
    assert paste.paste(text, overview.tables(FOLDER)) == text
    assert "<!-- begin " in text


def test_the_ladder_compares_far_away_with_everything_on_and_near() -> None:
    rows = {row[0]: row[1:] for row in overview.ladder(FOLDER)}
    startup = overview.part(FOLDER, "learned", "## Startup")
    seconds = {row[0]: row for row in startup}
    far, near = startup[0].index("100 ms: s"), startup[0].index("0 ms: s")
    expected = float(seconds["ROOT, no cache"][far].strip("~")) / float(seconds["sapwood"][near])
    assert float(rows["ROOT, no cache"][0].strip("~")) == pytest.approx(expected, rel=0.01)
    assert list(rows)[2:] == overview.LADDER
    assert rows["sapwood, trained only"][0] == "", "this was not measured"


@pytest.mark.parametrize("name", list(overview.PLOTS))
def test_the_plots_are_drawn_from_the_result_files(name: str) -> None:
    drawn = overview.PLOTS[name](FOLDER)
    assert (DOCS / "images" / f"{name}.svg").read_text() == drawn


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_no_missed_criterion_is_turned_into_a_yes(path: Path) -> None:
    for line in path.read_text().splitlines():
        assert not (line.endswith("| yes |") and (", or the next" in line or ", or the last" in line)), line


def test_a_run_replaces_its_tables_and_keeps_those_of_others(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    results.save(page, {"First": "| a |\n| --- |", "Second": "text\n\n### Part\n\n| b |"})
    results.save(page, {"First": "| new |"})
    text = page.read_text()
    assert re.findall("(?m)^## (.+)$", text) == ["First", "Second"]
    assert "| new |" in text and "| a |" not in text and "### Part\n\n| b |" in text


def test_a_missed_criterion_says_no() -> None:
    assert results.required([("a / b", "0.28", "at least 0.90", False)]).endswith("| no |")
