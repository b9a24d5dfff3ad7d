"""The table of the five studies: complete, and every command, function and page that it names exists."""

from __future__ import annotations

import inspect
import operator
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")
from typer.main import get_command

import sapwood
from sapwood.cli._app import app
from sapwood.errors import ArgumentTypeError
from sapwood.options.reading import open_options

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "bench"))
import study_items  # noqa: E402

STUDIES, ROWS = study_items.load()
DOCS = REPOSITORY / "docs"


def test_every_item_of_the_studies_is_there_once() -> None:
    listed = [one for row in ROWS for one in row.ids]
    every = {
        f"{letter}{number}" for letter, most in study_items.NUMBERS.items() for number in range(1, most + 1)
    }
    assert sorted(listed) == sorted(every)
    assert f"{len(every)} items" in (DOCS / "studies.md").read_text()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.ids[0])
def test_states_have_reasons_and_what_works_is_named(row: study_items.Row) -> None:
    assert row.state in study_items.STATES
    assert bool(row.why) == (row.state != "works")
    assert row.use or row.state in ("not yet", "-")


def named(kind: str) -> list[str]:
    """All that is named in code and begins so."""
    spans = {span for row in ROWS for span in re.findall(r"`([^`]+)`", f"{row.use} {row.why}")}
    found = sorted(span for span in spans if span.startswith(kind))
    assert found
    return found


@pytest.mark.parametrize("line", named("sapwood "))
def test_commands_and_their_options_exist(line: str) -> None:
    command = get_command(app)
    options = []
    for word in line.split()[1:]:
        if word.startswith("--"):
            options.append(word)
        elif line.startswith("sapwood trace show"):
            command = get_command(app).commands["trace"]  # type: ignore[attr-defined]
        else:
            command = command.commands[word]  # type: ignore[attr-defined]
    known = {name for one in command.params for name in one.opts}
    assert set(options) <= known


@pytest.mark.parametrize("name", named("sapwood."))
def test_functions_and_their_options_exist(name: str) -> None:
    path, _, option = name.removeprefix("sapwood.").rstrip("…=)").partition("(")
    found = operator.attrgetter(path)(sapwood)
    if option and option not in inspect.signature(found).parameters:
        assert path == "open"
        try:
            open_options(None, None, {option: object()})
        except ArgumentTypeError as error:
            assert "has no option" not in str(error)
        except ValueError:
            pass


@pytest.mark.parametrize("line", named("make "))
def test_targets_of_make_exist(line: str) -> None:
    rules = re.findall(r"^([\w-][\w -]*):", (REPOSITORY / "Makefile").read_text(), flags=re.MULTILINE)
    assert line.removeprefix("make ") in " ".join(rules).split()


@pytest.mark.parametrize("target", sorted({t for row in ROWS for t in re.findall(r"\]\(([^)]+)\)", row.use)}))
def test_links_lead_to_headings(target: str) -> None:
    page, _, anchor = target.partition("#")
    headings = re.findall(r"^#+ (.+)$", (DOCS / page).read_text(), flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in headings}
    assert not anchor or anchor in anchors


def test_a_missing_figure_is_an_error() -> None:
    table = [["head", "x"], ["---", "---"], ["first", "1.00"], ["second, a", "2"], ["second, b", "3"]]
    assert study_items.cell(lambda *_: table, "file", "", "first", 1) == "1"
    assert study_items.cell(lambda *_: table, "file", "", "second, b", 1) == "3"
    for row in ("second", "third"):
        with pytest.raises(LookupError, match=f"file.md: . rows of '' begin with '{row}'"):
            study_items.cell(lambda *_: table, "file", "", row, 1)
