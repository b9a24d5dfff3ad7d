"""The figures of the documents are those of the result files."""

from __future__ import annotations

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


@pytest.mark.parametrize("page", ["benchmarks/index.md", "guides/remote.md"])
def test_pasting_the_tables_again_changes_no_page(page: str) -> None:
    text = (DOCS / page).read_text()
    assert paste.paste(text, overview.tables(FOLDER)) == text
    assert "<!-- begin " in text


@pytest.mark.parametrize("name", list(overview.PLOTS))
def test_the_plots_are_drawn_from_the_result_files(name: str) -> None:
    drawn = overview.PLOTS[name](FOLDER)
    assert (DOCS / "images" / f"{name}.svg").read_text() == drawn


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_no_missed_criterion_is_turned_into_a_yes(path: Path) -> None:
    for line in path.read_text().splitlines():
        assert not (line.endswith("| yes |") and (", or the next" in line or ", or the last" in line)), line


def test_a_missed_criterion_says_no() -> None:
    assert results.required([("a / b", "0.28", "at least 0.90", False)]).endswith("| no |")
