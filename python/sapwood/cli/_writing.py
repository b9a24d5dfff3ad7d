"""Options of the commands that write ROOT files, and the summary that they print."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ..display.units import counted, human_bytes
from ._options import Force, Reading
from ._output import complain, print_line

if TYPE_CHECKING:
    from ..writing.repacking import RepackReport

Sources: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="IN...", help="Files, URLs, globs or datasets.")
]
Targets: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="OUT",
        help="The new file, never an input; or a directory, for a file with the name of each input.",
    ),
]
Target: TypeAlias = Annotated[str, typer.Argument(metavar="OUT", help="The new file; never an input.")]
Compression: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="ALGORITHM[:LEVEL]", help="zstd:5, lzma, lz4:9, zlib:1 or none; by default unchanged."
    ),
]
Follow: TypeAlias = Annotated[
    bool, typer.Option("--follow", help="CMS: write only the runs and luminosity blocks of passing entries.")
]
MainTree: TypeAlias = Annotated[
    str | None, typer.Option(metavar="PATH", help="The tree to select from; by default the largest.")
]
Trees: TypeAlias = Annotated[
    list[str] | None, typer.Option("--only-tree", metavar="PATH", help="Write only this tree. Repeatable.")
]


@dataclass(frozen=True)
class Layout:
    """The layout of a new file."""

    compression: Compression = None
    basket_size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Bytes of a basket or page before compression, such as 256k."),
    ] = None
    cluster_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Compressed bytes of a cluster, such as 20MB.")
    ] = None
    cluster_entries: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Entries of a cluster, instead of its bytes.")
    ] = None
    split: Annotated[
        int | None,
        typer.Option(
            metavar="LEVEL", min=0, max=99, help="0: one branch for each object, 99: for each of its members."
        ),
    ] = None
    format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="rntuple writes trees as RNTuples, ttree RNTuples as trees."),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of :func:`sapwood.repack`."""
        return asdict(self) | {
            "basket_size": byte_size(self.basket_size),
            "cluster_size": byte_size(self.cluster_size),
        }


@dataclass(frozen=True)
class Branches:
    """The branches that are written."""

    keep: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Only branches with these names. Repeatable.")
    ] = None
    drop: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="No branches with these names. Repeatable.")
    ] = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of :func:`sapwood.repack`. Typer passes an empty list for an absent option."""
        return {"keep": self.keep or None, "drop": self.drop or None}


@dataclass(frozen=True)
class Output(Reading):
    """How inputs are read, how a new file is written, and how the result is printed."""

    force: Force = False

    def write(
        self, target: str, function: Callable[..., RepackReport], source: Any, **options: Any
    ) -> dict[str, Any]:
        """Calls a function that writes a file; prints its report, unless JSON is wanted, and returns it."""
        began = time.monotonic()
        report = function(source, target, overwrite=self.force, **self.open_options, **options)
        seconds = time.monotonic() - began
        document = {"output": target, "seconds": seconds, **vars(report), "notes": list(report.notes)}
        if self.as_json:
            return document
        for note in report.notes:
            complain(f"sapwood: {note}")
        if sys.stdout.isatty():
            trees = ", ".join(
                f"{counted(entries, 'entry', 'entries')} of {path}" for path, entries in report.trees.items()
            )
            print_line(f"{target}: {trees or 'no trees'}, {human_bytes(report.bytes)} in {seconds:.1f} s")
        return document


def byte_size(text: str | None) -> int | str | None:
    """A plain number as such, and a short size such as "256k" with its unit written out."""
    if text is None or (text.isdecimal() and len(text) < 19):
        return None if text is None else int(text)
    short = re.fullmatch(r"\s*([\d.]+)\s*([kKmMgG])(i?)\s*", text)
    # 256k means 262144 bytes, as is usual for basket sizes.
    return f"{short[1]} {short[2]}iB" if short else text
