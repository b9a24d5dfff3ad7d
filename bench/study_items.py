"""The tables of docs/studies.md: what five studies describe, and what sapwood has of it (study_items.toml).

Figures come from the result files, when bench/overview.py pastes the tables.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ITEMS = Path(__file__).with_name("study_items.toml")
NUMBERS = {"A": 61, "B": 19, "C": 33, "D": 29, "E": 35}
"""How many items each study has."""
STATES = ("works", "in part", "not yet", "not here", "-")
HEAD = ("item", "state", "in sapwood", "there", "here")

Rows = Callable[[str, str], list[list[str]]]
"""The rows of a table, by the name of a result file, and a heading or the beginning of the table."""


@dataclass(frozen=True)
class Row:
    """One row: some items of the studies, and what sapwood has of them."""

    ids: tuple[str, ...]
    item: str
    state: str = "works"
    use: str = ""
    there: str = ""
    here: str = ""
    why: str = ""
    figures: dict[str, list[str | int]] = field(default_factory=dict)

    def of(self, study: str) -> bool:
        """Whether a study has one of its items."""
        return any(one.startswith(study) for one in self.ids)

    def cells(self, rows: Rows) -> list[str]:
        """The cells of its table."""
        found = {name: cell(rows, *place) for name, place in self.figures.items()}  # type: ignore[arg-type]
        state = self.why if self.state == "-" else f"{self.state}: {self.why}" if self.why else self.state
        item = f"**{', '.join(self.ids)}** {self.item}"
        return [item, state, self.use, self.there, self.here.format_map(found)]


def load() -> tuple[dict[str, str], list[Row]]:
    """The titles of the studies by their letters, and all rows."""
    document = tomllib.loads(ITEMS.read_text(encoding="utf-8"))
    rows = [Row(**{**one, "ids": tuple(one["ids"].split())}) for one in document["row"]]
    return document["studies"], rows


def cell(rows: Rows, file: str, heading: str, row: str, column: int) -> str:
    """A cell of a result file: that of the row whose first cell this is, or which alone begins so."""
    table = rows(file, heading)[2:]
    found = [one for one in table if one[0] == row] or [
        one for one in table if f"{' | '.join(one)} |".startswith(row)
    ]
    if not found or (len(found) > 1 and found[0][0] != row):
        raise LookupError(f"{file}.md: {len(found)} rows of {heading!r} begin with {row!r}")
    return re.sub(r"\.00$", "", found[0][column])


def tables(rows_of: Rows) -> Iterator[tuple[str, str]]:
    """The tables by the names of their places: a summary, and one for each study."""
    studies, rows = load()
    yield "study_states", _markdown(_summary(studies, rows))
    for letter in studies:
        body = [row.cells(rows_of) for row in rows if row.of(letter)]
        yield f"study_{letter}", _markdown([list(HEAD), ["---"] * len(HEAD), *body])


def _summary(studies: dict[str, str], rows: list[Row]) -> Iterator[list[str]]:
    yield ["study", *STATES[:-1], "not software"]
    yield ["---", *["---:"] * len(STATES)]
    for letter, title in studies.items():
        states = Counter(row.state for row in rows for one in row.ids if one.startswith(letter))
        yield [f"{letter}: {title}", *(str(states[state]) for state in STATES)]
    every = Counter(row.state for row in rows for _ in row.ids)
    yield [f"all {sum(every.values())} items", *(str(every[state]) for state in STATES)]


def _markdown(rows: Iterator[list[str]] | list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
