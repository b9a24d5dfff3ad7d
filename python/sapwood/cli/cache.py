"""`sapwood cache`: the blocks of remote files that are kept on the local disk; listed, verified, removed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ..display.units import human_bytes
from ._options import Json
from ._output import Column, print_json, print_line, print_table
from ._run import FAILED, command

Directory: TypeAlias = Annotated[
    Path | None,
    typer.Option("--directory", "-d", metavar="DIR", help="The cache; else that of SAPWOOD_CACHE."),
]

app = typer.Typer(
    help="Look after a cache: blocks of remote files that are kept on the local disk.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
@command
def ls(directory: Directory = None, as_json: Json = False) -> None:
    """List the files of which something is kept, the one used last first."""
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
            "" if one.used is None else one.used.astimezone().strftime("%Y-%m-%d %H:%M"),
            one.url or "?",
        ]
        for one in found
    ]
    titles = [Column("kept", right=True), Column("of", right=True), Column("blocks", right=True)]
    total = [
        human_bytes(sum(one.nbytes for one in found)),
        "",
        f"{sum(one.blocks for one in found):,}",
        "",
        "",
    ]
    print_table([*titles, Column("used"), Column("file", breaks=True)], rows, total)


@app.command()
@command
def verify(directory: Directory = None, as_json: Json = False) -> None:
    """Read all that is kept, and remove what is damaged. Fails (1) if anything was."""
    from ..options.cache import verify as verify_cache

    found = verify_cache(directory)
    if as_json:
        damaged = [str(path) for path in found.damaged]
        print_json({"sound": found.sound, "nbytes": found.nbytes, "damaged": damaged})
    else:
        print_line(
            f"{found.sound:,} sound blocks, {human_bytes(found.nbytes)}; {len(found.damaged):,} damaged"
        )
        for path in found.damaged:
            print_line(f"removed: {path}")
    if found.damaged:
        raise typer.Exit(FAILED)


@app.command()
@command
def clear(
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="The file to remove; all, if none is given.")
    ] = None,
    directory: Directory = None,
) -> None:
    """Remove what is kept of one file, or of all. Files that are open are read on."""
    from ..options.cache import clear as clear_cache

    print_line(f"{human_bytes(clear_cache(directory, url=url))} freed")
