"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

File: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="FILE[:PATH]", help="A file or URL; after a colon the tree or directory in it."),
]
Tree: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE[:TREE]",
        help="A file or URL and the tree in it; the tree may be left out if it is the only one.",
    ),
]
Columns: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="[COLUMN]...", help="Branches or expressions; by default all.")
]
Filter: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--filter", "-f", metavar="GLOB", help="Only branches of these names: 'Muon_*', or '/regex/i'."
    ),
]
Entries: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="START:STOP",
        help="Only these entries; either end may be left out, negative ones count from the end.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
Deadline: TypeAlias = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Fail if opening, or one step of reading, takes longer."),
]
Replica: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--replica",
        metavar="URL",
        help="Where else the file is: its URL, a prefix of its path that ends in a slash, or a metalink; "
        "may be repeated.",
    ),
]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option("--threads", "-j", metavar="N", help="Threads to decode with; by default all cores."),
]

Log: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--log",
        metavar="URL",
        help="The database that has its log: postgresql://HOST/DATABASE, or the path of an SQLite file.",
    ),
]

Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace an existing output; never one that is read.")
]


def entry_range(text: str | None) -> tuple[int | None, int | None]:
    """START:STOP as two numbers."""
    if text is None:
        return None, None
    start, colon, stop = text.partition(":")
    try:
        if not colon:
            raise ValueError(text)
        return (int(start) if start.strip() else None), (int(stop) if stop.strip() else None)
    except ValueError:
        raise typer.BadParameter(f"entries are START:STOP, such as 0:1000 or :1000, not {text!r}") from None
