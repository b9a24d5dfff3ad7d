"""Output of all commands: lines, tables and JSON; coloured on a terminal, plain in a pipe.

Names and values come from files and servers that may be hostile. Every line and every cell goes through
:func:`~sapwood.display.printable.printable` here, and no other module of the command line writes to a stream.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..display.printable import printable, printable_lines

if TYPE_CHECKING:
    from ..options.outputs import Format


@dataclass(frozen=True)
class Column:
    """A column of a table: title, alignment, whether its text may wrap, and a style for terminals."""

    title: str
    right: bool = False
    breaks: bool = False
    style: str = ""


def numbers(*titles: str) -> list[Column]:
    """Columns of numbers, which are aligned on the right."""
    return [Column(title, right=True) for title in titles]


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


def print_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], footer: Sequence[str] | None = None
) -> None:
    """Prints a table; in a pipe, only aligned with spaces."""
    columns = [replace(column, title=printable(column.title)) for column in columns]
    rows = [[printable(cell) for cell in row] for row in rows]
    footer = [printable(cell) for cell in footer] if footer else None
    if sys.stdout.isatty():
        _rich_table(columns, rows, footer)
        return
    lines = [[column.title for column in columns], *rows, *([footer] if footer else [])]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        cells = (
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        )
        print("  ".join(cells).rstrip())


def _rich_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], footer: Sequence[str] | None
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_footer=footer is not None, pad_edge=False, header_style="bold")
    for i, column in enumerate(columns):
        # Text, because Rich takes brackets in a string for markup.
        table.add_column(
            Text(column.title),
            footer=Text(footer[i]) if footer else "",
            justify="right" if column.right else "left",
            style=column.style,
            no_wrap=not column.breaks,
            overflow="fold",
            footer_style="bold",
        )
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


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
