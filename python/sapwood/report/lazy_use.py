"""What a lazy reader did: what was asked for, what was there, and what was fetched for nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from ..display.printable import printable, shows_printable
from ..display.units import human_bytes
from ..options.outputs import check_picture
from ..options.whole_file import write_whole
from .fetch_map import document

KINDS = ("startup", "trained", "trigger", "declared", "touched")
"""Why something is fetched: nothing is known yet; the column is used in most windows; one was touched that is
used now and then, as is this one; it was named beforehand; or exactly it was touched."""


@dataclass(frozen=True)
class ColumnUse:
    """What was done with one column.

    Attributes:
        windows_touched: windows in which it was used.
        hits: windows in which it was there, or on its way, when it was first touched.
        misses: windows in which the first touch had to ask for it.
        fetched_bytes: bytes that were fetched for it.
        wasted_bytes: those of them that were fetched for windows in which it was not used.
    """

    windows_touched: int = 0
    hits: int = 0
    misses: int = 0
    fetched_bytes: int = 0
    wasted_bytes: int = 0


@dataclass(frozen=True)
class KindUse:
    """What fetches of one kind cost.

    Attributes:
        fetches: how many there were; each is planned as one, and sent at once.
        requests: requests to the server that they were sent as.
        ranges: baskets in them.
        fetched_bytes: bytes of these.
    """

    fetches: int = 0
    requests: int = 0
    ranges: int = 0
    fetched_bytes: int = 0


class LazyFetch(NamedTuple):
    """One fetch. Times are seconds since opening the file began, as in :attr:`ReadReport.timeline`."""

    kind: str
    """One of :data:`KINDS`."""
    window: int
    columns: tuple[str, ...]
    ranges: int
    """Baskets."""
    nbytes: int
    """Bytes of these."""
    asked: float
    answered: float | None
    """None if it failed, or is still under way."""


@dataclass(frozen=True, repr=False)
class LazyUse:
    """What one lazy reader did.

    Attributes:
        tree: the name of the tree.
        kind: ``"events"``, ``"lazy"`` or ``"virtual"``: what was asked for.
        windows: ranges of entries that are fetched together.
        windows_seen: windows in which any column was used.
        columns: by path of the branch; those neither used nor fetched are left out.
        kinds: by kind of fetch.
        fetches: the fetches, in order.
        touched: (column, window) of what was used.
    """

    tree: str
    kind: str
    windows: tuple[tuple[int, int], ...]
    windows_seen: int
    columns: Mapping[str, ColumnUse] = field(default_factory=dict)
    kinds: Mapping[str, KindUse] = field(default_factory=dict)
    fetches: tuple[LazyFetch, ...] = ()
    touched: frozenset[tuple[str, int]] = frozenset()

    @classmethod
    def from_core(
        cls,
        tree: str,
        kind: str,
        columns: Sequence[str],
        windows: Sequence[tuple[int, int]],
        accounting: Mapping[str, Any],
        fetches: Iterable[Mapping[str, Any]],
        touched: Iterable[tuple[int, int]] = (),
    ) -> LazyUse:
        """The core's accounts, with names in place of numbers."""
        return cls(
            tree=tree,
            kind=kind,
            windows=tuple(windows),
            windows_seen=accounting["windows_seen"],
            columns={columns[number]: _column_use(one) for number, one in accounting["columns"].items()},
            kinds={name: _kind_use(one) for name, one in accounting["kinds"].items()},
            fetches=tuple(
                LazyFetch(
                    one["kind"],
                    one["window"],
                    tuple(columns[number] for number in one["columns"]),
                    len(one["ranges"]),
                    sum(nbytes for _, nbytes in one["ranges"]),
                    one["asked"],
                    one["answered"],
                )
                for one in fetches
            ),
            touched=frozenset((columns[number], window) for number, window in touched),
        )

    @property
    def hits(self) -> int:
        """First touches of a column in a window that found it there."""
        return sum(use.hits for use in self.columns.values())

    @property
    def misses(self) -> int:
        """First touches of a column in a window that had to ask for it."""
        return sum(use.misses for use in self.columns.values())

    @property
    def fetched_bytes(self) -> int:
        """Bytes of all baskets that were fetched."""
        return sum(use.fetched_bytes for use in self.columns.values())

    @property
    def wasted_bytes(self) -> int:
        """Bytes that were fetched for windows in which nobody used them."""
        return sum(use.wasted_bytes for use in self.columns.values())

    @property
    def total_fetches(self) -> int:
        """Fetches of all kinds."""
        return sum(use.fetches for use in self.kinds.values())

    def to_dict(self) -> dict[str, Any]:
        """All of it, fit for JSON."""
        totals = {name: getattr(self, name) for name in _TOTALS}
        return {
            "tree": self.tree,
            "kind": self.kind,
            "windows": [list(window) for window in self.windows],
            **totals,
            "kinds": {name: asdict(use) for name, use in self.kinds.items()},
            "columns": {name: asdict(use) for name, use in self.columns.items()},
            "fetches": [{**one._asdict(), "columns": list(one.columns)} for one in self.fetches],
        }

    def to_json(self, indent: int | None = None) -> str:
        """All of it as a JSON document."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Draws, as SVG, what was fetched for which reason: by column and entries, and over time.

        Args:
            path: a local path that ends with ".svg".
            overwrite: whether an existing file is replaced.

        Raises:
            UsageError: if the name does not end with ".svg", or the file exists without ``overwrite``.
        """
        place = check_picture(path, (), overwrite)
        write_whole(place, document(self), overwrite=overwrite)

    def summary(self) -> str:
        """One line."""
        share = self.wasted_bytes / self.fetched_bytes if self.fetched_bytes else 0.0
        windows = f"{self.windows_seen} of {len(self.windows)} windows"
        found = f"{self.hits:,} hits, {self.misses:,} misses"
        fetched = f"{human_bytes(self.fetched_bytes)} fetched, {share:.1%} for nothing"
        return f"{self.kind} of {self.tree}: {windows}, {found}; {fetched}"

    def lines(self) -> Iterator[str]:
        """The summary, a line per kind of fetch, and the columns that missed or wasted most."""
        yield self.summary()
        for name, use in self.kinds.items():
            if use.fetches:
                yield (
                    f"  {name + ':':<9} {use.fetches:,} fetches in {use.requests:,} requests, "
                    f"{use.ranges:,} baskets, {human_bytes(use.fetched_bytes)}"
                )
        worst = sorted(self.columns.items(), key=lambda item: (-item[1].misses, -item[1].wasted_bytes))
        for name, column in worst[:5]:
            if column.misses or column.wasted_bytes:
                yield (
                    f"  {name}: used in {column.windows_touched} windows, {column.misses} misses, "
                    f"{human_bytes(column.wasted_bytes)} of {human_bytes(column.fetched_bytes)} for nothing"
                )

    def __str__(self) -> str:
        return "\n".join(map(printable, self.lines()))

    @shows_printable
    def __repr__(self) -> str:
        return f"<LazyUse {self.summary()}>"


def _column_use(counts: Mapping[str, int]) -> ColumnUse:
    return ColumnUse(
        windows_touched=counts["windows_touched"],
        hits=counts["hits"],
        misses=counts["misses"],
        fetched_bytes=counts["bytes_fetched"],
        wasted_bytes=counts["bytes_unused"],
    )


def _kind_use(counts: Mapping[str, int]) -> KindUse:
    return KindUse(counts["fetches"], counts["requests"], counts["ranges"], counts["bytes"])


_TOTALS = ("windows_seen", "hits", "misses", "fetched_bytes", "wasted_bytes", "total_fetches")
