"""`sapwood head`: the first entries of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ..display.table import GAP, LEAST_TEXT
from ..display.units import counted
from ..errors import UsageError
from ._options import Cut, Entries, Filter, Reading, TreesAndColumns, entry_range
from ._output import (
    Column,
    fits_terminal,
    numbers,
    plain,
    print_json,
    print_line,
    print_table,
    terminal_width,
)
from ._run import command
from ._several import each_once, require_matches, selection, trees, trees_and_columns

WIDEST = 40
"""The most characters of one value in a table."""
LONGEST = 120
"""The most characters of all values of one column where each column is a line, in a pipe."""
ROWS_ARE_ENTRIES = 8
"""The most columns that are printed side by side; more are printed one below the other."""
MOST_COLUMNS = 20
"""The most columns that are printed unless you name them."""
FIRST_STEP = 1000
"""Entries that are searched first for those that pass a cut; each further step is twice as large."""
LARGEST_STEP = "100 MB"

_CLOSING = {"[": "]", "{": "}"}


@command
def head(
    arguments: TreesAndColumns,
    count: Annotated[
        int, typer.Option("-n", "--number", metavar="N", min=0, help="The number of entries.")
    ] = 10,
    filter_name: Filter = None,
    cut: Cut = None,
    entries: Entries = None,
    *,
    reading: Reading,
) -> None:
    """Print the first entries of a tree.

    \b
    sapwood head nano.root:Events -n 5 nMuon Muon_pt 'Muon_pt * 2'

    With a cut, these are the first entries that pass it. Without columns, only the first few columns of a
    wide tree are printed; `--json` prints all.
    """
    sources, columns = trees_and_columns(arguments)
    chosen, more = selection(columns, filter_name), 0
    document: dict[str, Any] = {}
    values: dict[str, list[Any]] = {}
    for tree, *within in trees(sources, reading, entry_range(entries)):
        require_matches(tree, chosen["filter_name"])
        if not (document or columns or filter_name is not None or reading.as_json):
            chosen["expressions"], more = _first_columns(tree)
        document = document or {"file": tree.file.file_path, "tree": tree.object_path}
        # All rows have the columns of the first file.
        if values:
            chosen = selection(list(values), None)
        rest = count - max(map(len, values.values()), default=0)
        found = _first_entries(tree, rest, cut, within, **chosen)
        for name, items in found.items():
            values.setdefault(name, []).extend(items)
        if all(len(items) >= count for items in values.values()):
            break
    document |= {"entries": max(map(len, values.values()), default=0), "columns": values}
    if reading.as_json:
        print_json(document)
        return
    _print(values)
    if more:
        left = counted(more, "more column")
        print_line(f"… and {left}: add the names of those you want, or select them with --filter 'GLOB'")


def _first_columns(tree: Any) -> tuple[list[str] | None, int]:
    """The names of the columns to print, or None for all, and how many are left out."""
    from ..query.filters import Filters
    from ..query.select import select

    names = list(select(tree, filters=Filters(branch=each_once(None))).outputs)
    return (None, 0) if len(names) <= MOST_COLUMNS else (names[:MOST_COLUMNS], len(names) - MOST_COLUMNS)


def _first_entries(
    tree: Any, count: int, cut: str | None, within: Sequence[int], **columns: Any
) -> dict[str, list[Any]]:
    """The values of the first entries of a range that pass a cut, evaluated in steps of bounded memory."""

    def read(start: int, stop: int) -> dict[str, list[Any]]:
        found = tree.arrays(cut=cut, entry_start=start, entry_stop=stop, library="np", how=dict, **columns)
        lengths = {name: len(array) for name, array in found.items()}
        if len(set(lengths.values())) > 1:
            name = min(lengths, key=lengths.__getitem__)
            values, entries = (
                counted(lengths[name], "value"),
                counted(max(lengths.values()), "entry", "entries"),
            )
            raise UsageError(f"{name!r} has {values} for {entries}, so it cannot stand beside other columns")
        return {name: [plain(item) for item in array[:count]] for name, array in found.items()}

    first, last = within
    if cut is None or count == 0:
        return read(first, min(first + count, last))
    most = tree.num_entries_for(LARGEST_STEP, cut=cut, **columns)
    values: dict[str, list[Any]] = {}
    start, step = first, max(FIRST_STEP, count)
    while True:
        stop = min(start + min(step, most), last)
        for name, items in read(start, stop).items():
            known = values.setdefault(name, [])
            known += items[: count - len(known)]
        if stop >= last or all(len(items) >= count for items in values.values()):
            return values
        start, step = stop, 2 * step


def _print(values: dict[str, list[Any]]) -> None:
    """Prints entries as lines if the columns fit side by side; otherwise, columns as lines."""
    rows = [[shorten(text(value), WIDEST) for value in entry] for entry in zip(*values.values(), strict=True)]
    columns = numbers(*values)
    if len(values) <= ROWS_ARE_ENTRIES and fits_terminal(columns, rows):
        print_table(columns, rows)
        return
    names = max(map(len, values))
    width = terminal_width()
    # Names may wrap at half of the width, so that the values need not.
    room = LONGEST if width is None else max(LEAST_TEXT, width - GAP - min(names, (width - GAP + 1) // 2))
    rows = [[name, shorten("  ".join(map(text, column)), room)] for name, column in values.items()]
    print_table([Column("column", style="bold"), Column("values", last=1)], rows)


def text(value: Any) -> str:
    """A value for people: six digits, lists in brackets."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {text(item)}" for name, item in value.items()) + "}"
    return str(value)


def shorten(line: str, width: int) -> str:
    """A line, shortened with an ellipsis if it is too long, between two values so that no number is cut.

    >>> shorten("[12.5, 13.25, 14.125]", 16), shorten("characters", 6)
    ('[12.5, 13.25, …]', 'chara…')
    """
    if len(line) <= width:
        return line
    for end in range(width - 1, 0, -1):
        if line[end] == " ":
            closing = "".join(_CLOSING[char] for char in reversed(_unclosed(line[:end])))
            shortened = f"{line[:end].rstrip()} …{closing}"
            if len(shortened) <= width:
                return shortened
    return line[: width - 1] + "…"


def _unclosed(text: str) -> list[str]:
    """The brackets that a text opens, but does not close."""
    found: list[str] = []
    for char in text:
        if char in _CLOSING:
            found.append(char)
        elif found and char == _CLOSING[found[-1]]:
            found.pop()
    return found
