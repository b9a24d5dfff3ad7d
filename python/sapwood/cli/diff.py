"""`sapwood diff`: the differences of two files: schema, entries and values."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._options import Filter, Reading
from ._output import Column, can_wrap, complain, numbers, plain, print_json, print_table
from ._run import FAILED, USAGE, command
from .head import shorten

if TYPE_CHECKING:
    from ..studies.comparing import Difference

WIDEST = 60
"""The most characters of a value in the table."""
LEAST_VALUE = 8
"""Texts wrap to this width, because their place matters more."""

_NUMBER = re.compile(r"\W*\d[\d.eE+-]*\W*")
"""A word that is a number, with its sign and the brackets and commas around it."""


@functools.partial(command, trouble=USAGE)
def diff(
    a: Annotated[
        str, typer.Argument(metavar="FILE1[:PATH]", help="The first file or URL, or an object in it.")
    ],
    b: Annotated[str, typer.Argument(metavar="FILE2[:PATH]", help="The second file or object.")],
    filter_name: Filter = None,
    rtol: Annotated[
        float, typer.Option(metavar="X", min=0, help="How far floats may differ, relative to the second.")
    ] = 0.0,
    atol: Annotated[
        float, typer.Option(metavar="X", min=0, help="How far floats may differ, absolutely.")
    ] = 0.0,
    *,
    reading: Reading,
) -> None:
    """Compare two files, trees or objects: schema, entries, values.

    \b
    sapwood diff old.root new.root
    sapwood diff old.root:Events new.root:Events --filter 'Muon_*' --rtol 1e-6

    For each branch, the first entry that differs is printed with both values. Floats must be equal unless
    you give a tolerance; NaN equals NaN. Compression, baskets and older cycles are not compared. Exit codes:
    0 without differences, 1 with differences, 2 for trouble.
    """
    from ..studies.comparing import check_tolerance, compare
    from ._target import open_target

    unread: list[tuple[str, str]] = []
    tolerance = check_tolerance(rtol, atol)
    with contextlib.ExitStack() as stack:
        opened = []
        for source in (a, b):
            opened.append(open_target(source, reading))
            if hasattr(opened[-1], "file"):
                stack.enter_context(opened[-1].file)
        found = compare(
            *opened,
            filter_name=filter_name,
            tolerance=tolerance,
            unread=lambda what, why: unread.append((what, why)),
        )
        differences = list(found)
    if reading.as_json:
        print_json(
            {
                "equal": not differences and not unread,
                "a": a,
                "b": b,
                "differences": [plain(asdict(one)) for one in differences],
                "not_compared": [{"name": name, "reason": reason} for name, reason in unread],
            }
        )
    elif differences:
        _print(differences)
    for name, reason in unread:
        complain(f"sapwood: {name} was not compared: {reason}")
    if differences or unread:
        raise typer.Exit(FAILED if differences else USAGE)


def _print(differences: list[Difference]) -> None:
    least = max([LEAST_VALUE, *(_longest_number(value) for one in differences for value in (one.a, one.b))])
    columns = [Column("object", style="bold"), Column("what", style="bold", last=1, least=12)]
    columns += [Column("difference"), *numbers("entry", last=1)]
    columns += [Column("first", last=1, least=least), Column("second", last=1, least=least)]
    rows = [
        [
            one.object,
            one.part,
            _kind(one),
            "" if one.entry is None else f"{one.entry:,}",
            *map(_shown, (one.a, one.b)),
        ]
        for one in differences
    ]
    if not any(one.object for one in differences):
        columns, rows = columns[1:], [row[1:] for row in rows]
    if not can_wrap(columns, rows):
        # One value below the other needs less width than side by side.
        columns = [*columns[:-2], Column("first | second", last=1, least=least)]
        rows = [[*row[:-2], f"{row[-2]} | {row[-1]}"] for row in rows]
    print_table(columns, rows)


def _kind(one: Difference) -> str:
    if one.kind != "missing":
        return one.kind
    return "only in the second" if one.a is None else "only in the first"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (str, int, float)):
        return shorten(str(value), WIDEST)
    return shorten(json.dumps(plain(value), ensure_ascii=False), WIDEST)


def _longest_number(value: Any) -> int:
    """The most characters of a number in a value: cut in two, it would read like another one."""
    return max((len(word) for word in _shown(value).split() if _NUMBER.fullmatch(word)), default=0)
