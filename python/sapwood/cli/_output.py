"""Output of all commands: lines, tables and JSON; colored on a terminal, plain in a pipe.

Names and values come from files and servers that may be hostile. Every line and every cell goes through
:func:`~sapwood.display.printable.printable` here, and no other module of the command line writes to a stream.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..display.printable import printable, printable_lines
from ..display.table import GAP, LEAST_TEXT, Extent, fit

if TYPE_CHECKING:
    from ..options.outputs import Format


@dataclass(frozen=True)
class Column:
    """A column of a table: title, alignment, how long it is kept, and a style for terminals."""

    title: str
    right: bool = False
    """Numbers are aligned on the right. They are never wrapped or cut."""
    last: int = 0
    """In a narrow terminal, columns with the least of these are dropped first, and among these from the
    right. The first column is never dropped."""
    style: str = ""
    least: int = LEAST_TEXT
    """Text wraps to this width before columns are dropped."""


def numbers(*titles: str, last: int = 0) -> list[Column]:
    """Columns of numbers, which are aligned on the right."""
    return [Column(title, right=True, last=last) for title in titles]


def print_line(text: str = "", *, flush: bool = False) -> None:
    """Prints one line."""
    print(printable(text), flush=flush)


def print_text(text: str) -> None:
    """Prints a text of several lines that sapwood composed, such as a report."""
    print(printable_lines(text))


def complain(text: str) -> None:
    """Prints one line to standard error."""
    print(printable(text), file=sys.stderr)


def output_or_standard(
    target: str, what: Format, inputs: Iterable[Any], force: bool, as_json: bool
) -> str | None:
    """The local path of an output after a check that it may be written; None for "-", standard output."""
    from ..errors import UsageError
    from ..options.outputs import STANDARD_OUTPUT, check_output

    if target != STANDARD_OUTPUT:
        return check_output(target, what, inputs=inputs, overwrite=force)
    if as_json:
        raise UsageError(f"standard output cannot hold both {what.name} and the JSON document: name a file")
    return None


def terminal_width() -> int | None:
    """The width of the terminal that standard output is; None for a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def can_show_progress() -> bool:
    """Whether standard error is a terminal that can rewrite a line, which one of type ``dumb`` cannot."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def print_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], footer: Sequence[str] | None = None
) -> None:
    """Prints a table. No cell is ever cut.

    In a pipe, the table has its full width, aligned with spaces. In a terminal that is too narrow, text
    wraps; then columns are dropped, and a last line names them.
    """
    columns = [replace(column, title=printable(column.title)) for column in columns]
    rows = [[printable(cell) for cell in row] for row in rows]
    footer = [printable(cell) for cell in footer] if footer else None
    width = terminal_width()
    if width is not None:
        _print_in_terminal(columns, rows, footer, width)
        return
    lines = [[column.title for column in columns], *rows, *([footer] if footer else [])]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        cells = (
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        )
        print((" " * GAP).join(cells).rstrip())


def fits_terminal(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table needs neither wrapping nor dropping. In a pipe, every table fits."""
    width = terminal_width()
    return width is None or fit(_extents(columns, rows, None), width).full_width <= width


def can_wrap(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table fits without dropping columns. In a pipe, every table fits."""
    width = terminal_width()
    return width is None or not fit(_extents(columns, rows, None), width).dropped


def _extents(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], footer: Sequence[str] | None
) -> list[Extent]:
    from rich.cells import cell_len

    extents = []
    for i, column in enumerate(columns):
        title = cell_len(column.title)
        full = max(title, *(cell_len(row[i]) for row in [*rows, *([footer] if footer else [])]), 1)
        least = full if column.right else max(title, min(full, column.least))
        extents.append(Extent(full, least, column.last))
    return extents


def _print_in_terminal(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], footer: Sequence[str] | None, width: int
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    fitted = fit(_extents(columns, rows, footer), width)
    table = Table(
        box=box.SIMPLE_HEAD,
        show_footer=footer is not None,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),  # the box itself adds a space
        header_style="bold",
    )
    for i, cells in fitted.widths.items():
        # Text, because Rich takes brackets in a string for markup.
        table.add_column(
            Text(columns[i].title),
            footer=Text(footer[i]) if footer else "",
            justify="right" if columns[i].right else "left",
            style=columns[i].style,
            width=cells,
            overflow="fold",
            footer_style="bold",
        )
    for row in rows:
        table.add_row(*(Text(row[i]) for i in fitted.widths))
    # Both sizes, because Rich takes terminals that can do nothing but print for 80 characters wide.
    Console(width=width, height=len(rows)).print(table)
    if fitted.dropped:
        names = ", ".join(columns[i].title for i in fitted.dropped)
        print(
            f"Not shown for lack of width: {names}. To see all columns, use a terminal of "
            f"{fitted.full_width} characters, --json, or | less -S"
        )


def print_json(document: dict[str, Any]) -> None:
    """Prints one JSON document. Names are exact; it is pure ASCII, so it cannot control a terminal."""
    indent = 2 if sys.stdout.isatty() else None
    json.dump(document, sys.stdout, ensure_ascii=True, indent=indent, allow_nan=False)
    print()


def plain(value: Any) -> Any:
    """A value in the types of JSON. Infinities and NaN become Python's strings for them."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def ratio(uncompressed: int, compressed: int) -> str:
    """The compression ratio; "-" if it is unknown, as for datasets."""
    return f"{uncompressed / compressed:.2f}" if compressed and uncompressed else "-"
