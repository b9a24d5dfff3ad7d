"""Options of the commands that write ROOT files, and what they tell at the end."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ..display.units import human_bytes
from ._output import complain, print_json, print_line

if TYPE_CHECKING:
    from ..writing.repacking import RepackReport

Source: TypeAlias = Annotated[str, typer.Argument(metavar="IN", help="A file or URL; also a dataset.")]
Target: TypeAlias = Annotated[
    str, typer.Argument(metavar="OUT", help="The new file; never one that is read.")
]
Compression: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="ALGORITHM[:LEVEL]", help="zstd:5, lzma, lz4:9, zlib:1 or none; by default as it is."
    ),
]
BasketSize: TypeAlias = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Bytes of a basket before compression, such as 256k.")
]
ClusterSize: TypeAlias = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Stored bytes of a cluster, such as 20MB.")
]
ClusterEntries: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Entries of a cluster, instead.")
]
Keep: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="GLOB", help="Only branches of these names; may be repeated.")
]
Drop: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="GLOB", help="No branches of these names; may be repeated.")
]
MainTree: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="The tree that is chosen from; by default the largest."),
]
Trees: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--only-tree", metavar="PATH", help="Write only this tree; may be repeated."),
]
Follow: TypeAlias = Annotated[
    bool, typer.Option("--follow", help="CMS: only runs and luminosity blocks of entries that pass.")
]


def size(text: str | None) -> int | str | None:
    """A number as it is, or a size such as "256k" with its unit written out."""
    if text is None or text.isdecimal():
        return None if text is None else int(text)
    short = re.fullmatch(r"\s*([\d.]+)\s*([kKmMgG])(i?)\s*", text)
    # As everywhere where baskets are spoken of, 256k are 262144 bytes.
    return f"{short[1]} {short[2]}iB" if short else text


def tell(target: str, as_json: bool, write: Callable[[], RepackReport]) -> None:
    """Writes, and prints what was done."""
    began = time.monotonic()
    report = write()
    seconds = time.monotonic() - began
    if as_json:
        document: dict[str, Any] = {"output": target, "seconds": seconds, **vars(report)}
        print_json(document | {"notes": list(report.notes)})
        return
    for note in report.notes:
        complain(f"sapwood: {note}")
    if sys.stdout.isatty():
        trees = ", ".join(f"{entries:,} entries of {path}" for path, entries in report.trees.items())
        print_line(f"{target}: {trees or 'no trees'}, {human_bytes(report.bytes)} in {seconds:.1f} s")
