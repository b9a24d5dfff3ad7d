"""`sapwood head`: the first entries of a tree."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ._options import Columns, Cut, Filter, Reading, Tree
from ._output import Column, numbers, plain, print_json, print_table
from ._run import command

WIDEST = 40
"""The most characters of one value in a table."""
ROWS_ARE_ENTRIES = 8
"""The most columns that are printed side by side; more are printed one below the other."""


@command
def head(
    source: Tree,
    columns: Columns = None,
    count: Annotated[int, typer.Option("-n", "--entries", min=0, help="The number of entries.")] = 10,
    filter_name: Filter = None,
    cut: Cut = None,
    *,
    reading: Reading,
) -> None:
    """Print the first entries of a tree.

    \b
    sapwood head nano.root:Events -n 5 nMuon Muon_pt 'Muon_pt * 2'
    """
    from ._target import open_tree

    with open_tree(source, reading) as tree:
        arrays = tree.arrays(
            columns or None, cut, filter_name=filter_name, entry_stop=count, library="np", how=dict
        )
        values = {name: [plain(item) for item in array] for name, array in arrays.items()}
        document = {
            "file": tree.file.file_path,
            "tree": tree.object_path,
            "entries": max(map(len, values.values()), default=0),
            "columns": values,
        }
    if reading.as_json:
        print_json(document)
    elif len(values) > ROWS_ARE_ENTRIES:
        rows = [[name, shorten("  ".join(map(text, column)), 100)] for name, column in values.items()]
        print_table([Column("column", style="bold"), Column("values", breaks=True)], rows)
    else:
        entries = zip(*values.values(), strict=True)
        rows = [[shorten(text(value), WIDEST) for value in entry] for entry in entries]
        print_table(numbers(*values), rows)


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
    """A line, shortened with an ellipsis if it is too long."""
    return line if len(line) <= width else line[: width - 1] + "…"
