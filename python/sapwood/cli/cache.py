"""`sapwood cache`: lists, verifies and removes blocks and decoded columns of files on the local disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ..display.units import counted, human_bytes
from ._options import Json
from ._output import Column, numbers, print_json, print_line, print_table
from ._run import FAILED, command

Directory: TypeAlias = Annotated[
    Path | None,
    typer.Option("--directory", "-d", metavar="DIR", help="The cache; by default SAPWOOD_CACHE."),
]

app = typer.Typer(
    help="Manage a cache of blocks and decoded columns on the local disk.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
@command
def ls(directory: Directory = None, as_json: Json = False) -> None:
    """List the files in the cache, most recently used first."""
    from ..options.cache import contents

    found = contents(directory)
    if as_json:
        files = [{**vars(one), "used": one.used and one.used.isoformat()} for one in found]
        print_json({"nbytes": sum(one.nbytes for one in found), "files": files})
        return
    rows = [
        [
            human_bytes(one.nbytes),
            human_bytes(one.size) if one.url else "?",
            f"{one.blocks:,}",
            f"{one.columns:,}",
            "" if one.used is None else one.used.astimezone().strftime("%Y-%m-%d %H:%M"),
            one.url or "?",
        ]
        for one in found
    ]
    kept = [f"{sum(one.blocks for one in found):,}", f"{sum(one.columns for one in found):,}"]
    total = [human_bytes(sum(one.nbytes for one in found)), "", *kept, "", ""]
    titles = [*numbers("cached", "of", "blocks", "columns"), Column("used"), Column("file", last=1)]
    print_table(titles, rows, total)


@app.command()
@command
def verify(directory: Directory = None, as_json: Json = False) -> None:
    """Read everything in the cache, and remove what is damaged. Fails (1) if any was damaged."""
    from ..options.cache import verify as verify_cache

    found = verify_cache(directory)
    if as_json:
        damaged = [str(path) for path in found.damaged]
        print_json({"sound": found.sound, "nbytes": found.nbytes, "damaged": damaged})
    else:
        sound = f"{counted(found.sound, 'sound file')}, {human_bytes(found.nbytes)}"
        print_line(f"{sound}; {len(found.damaged):,} damaged")
        for path in found.damaged:
            print_line(f"removed: {path}")
    if found.damaged:
        raise typer.Exit(FAILED)


@app.command()
@command
def clear(
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="The file to remove; by default all files.")
    ] = None,
    directory: Directory = None,
) -> None:
    """Remove the cached data of one file, or of all files. Programs with open files can go on reading."""
    from ..options.cache import clear as clear_cache

    freed = clear_cache(directory, url=url)
    if url is not None and not freed:
        print_line(f"nothing was cached of {url}")
    else:
        print_line(f"{human_bytes(freed)} freed")
