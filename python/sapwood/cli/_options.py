"""Arguments and options that several commands share, alone and in groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from ..options.reading import OpenOptions

CONNECTION = "Connection options"
"""The title of the options of :class:`Connection` in `--help`."""

Files: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE[:PATH]...",
        help="Files, URLs or globs; after a colon, a tree or directory inside the file.",
    ),
]
Tree: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE[:TREE]",
        help="A file or URL, and the tree inside it. You can omit the tree if it is the only one.",
    ),
]
TreesAndColumns: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE[:TREE]... [COLUMN...]",
        help="Files, URLs or globs, and the tree inside; you can omit the tree if it is the only one. After "
        "the first argument, names with .root and URLs are files; all others are branches or expressions, by "
        "default all branches.",
    ),
]
Filter: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--filter", "-f", metavar="GLOB", help="Only branches with these names: 'Muon_*', or '/regex/i'."
    ),
]
Cut: TypeAlias = Annotated[
    str | None, typer.Option(metavar="CUT", help="Only entries for which this expression is true.")
]
Entries: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="START:STOP",
        help="Only these entries. You can omit either end; negative numbers count from the end.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
Deadline: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Fail if opening, or one step of the work, takes longer.",
        rich_help_panel=CONNECTION,
    ),
]
Replica: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--replica",
        metavar="URL",
        help="Another copy of the file: its URL, a prefix that ends in a slash, or a metalink. Repeatable.",
        rich_help_panel=CONNECTION,
    ),
]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option("--threads", "-j", metavar="N", help="Threads for decoding; by default all cores."),
]
Log: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--log",
        metavar="URL",
        help="The database with the dataset's log: postgresql://HOST/DATABASE, or the path of an SQLite "
        "file.",
    ),
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace an existing output, but never an input.")
]


@dataclass(frozen=True)
class StoreAccess:
    """How object stores are reached."""

    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Object stores: the profile of the credentials.", rich_help_panel=CONNECTION
        ),
    ] = None
    endpoint: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Object stores: the URL of the service.", rich_help_panel=CONNECTION
        ),
    ] = None
    anonymous: Annotated[
        bool,
        typer.Option("--anonymous", help="Object stores: use no credentials.", rich_help_panel=CONNECTION),
    ] = False
    deadline: Deadline = None

    @property
    def open_options(self) -> dict[str, Any]:
        """The arguments of :func:`sapwood.open`."""
        options = {
            "profile": self.profile,
            "endpoint": self.endpoint,
            "anonymous": self.anonymous or None,
            "deadline": self.deadline,
        }
        return {name: value for name, value in options.items() if value is not None}


@dataclass(frozen=True)
class ServerAccess(StoreAccess):
    """How servers of all kinds are reached."""

    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:VALUE",
            help="A header for all HTTP requests. Repeatable. Other users may see it in the list of "
            "processes.",
            rich_help_panel=CONNECTION,
        ),
    ] = None

    @property
    def open_options(self) -> dict[str, Any]:
        """The arguments of :func:`sapwood.open`."""
        headers = _headers(self.header or ())
        return {**super().open_options, **({"headers": headers} if headers else {})}


@dataclass(frozen=True)
class Connection(ServerAccess):
    """How files on servers are reached, and where they are kept."""

    cache: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Keep the blocks of remote files here; by default in SAPWOOD_CACHE, if that is set.",
            rich_help_panel=CONNECTION,
        ),
    ] = None
    replica: Replica = None

    @property
    def open_options(self) -> dict[str, Any]:
        """The arguments of :func:`sapwood.open`."""
        options = {"cache": self.cache, "replicas": self.replica or None}
        given = {name: value for name, value in options.items() if value is not None}
        return {**super().open_options, **given}

    @property
    def settings(self) -> OpenOptions:
        """The same, checked."""
        from ..options.reading import open_options

        options = dict(self.open_options)
        return open_options(options.pop("deadline", None), options.pop("threads", None), options)


@dataclass(frozen=True)
class Access(Connection):
    """How a file is opened, and whether its document is printed as JSON."""

    as_json: Json = False


@dataclass(frozen=True)
class Reading(Access):
    """How a file is opened and decoded."""

    threads: Threads = None

    @property
    def open_options(self) -> dict[str, Any]:
        """The arguments of :func:`sapwood.open`."""
        return {**super().open_options, **({} if self.threads is None else {"threads": self.threads})}


def _headers(texts: Iterable[str]) -> dict[str, str]:
    """Headers by their names.

    >>> _headers(["Accept: text/html"])
    {'Accept': 'text/html'}
    """
    found = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            # Not shown: it may be secret.
            raise typer.BadParameter("a header must be NAME:VALUE", param_hint="--header")
        found[name.strip()] = value.strip()
    return found


def quantity(text: str, units: dict[str, float], kind: str) -> float:
    """A number with a unit, in the base unit. The error message names the ``kind`` of value.

    >>> quantity("2 km", {"m": 1.0, "km": 1000.0}, "a length such as 2km")
    2000.0
    """
    import re

    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([A-Za-z/]*)\s*", text)
    if found is None or found[2] not in units:
        raise typer.BadParameter(f"{text!r} is not {kind}")
    return float(found[1]) * units[found[2]]


def duration(text: str) -> float:
    """A time in seconds: 20us, 150ms, 90s, 10m, 2h; a plain number is seconds.

    >>> duration("10m"), duration("90")
    (600.0, 90.0)
    """
    units = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}
    return quantity(text, units, "a time such as 150ms, 90s, 10m or 2h")


def entry_range(text: str | None) -> tuple[int | None, int | None]:
    """START:STOP as two numbers. Those that no tree has entries between are refused as a mistake."""
    if text is None:
        return None, None
    begin, colon, end = text.partition(":")
    try:
        if not colon:
            raise ValueError(text)
        start, stop = (int(one) if one.strip() else None for one in (begin, end))
    except ValueError:
        raise typer.BadParameter(
            f"entries must be START:STOP, such as 0:1000 or :1000, not {text!r}"
        ) from None
    if start is not None and stop is not None and (start < 0) == (stop < 0) and start > stop:
        raise typer.BadParameter(f"entries must be START:STOP, with START before STOP, not {text!r}")
    return start, stop
