"""Statistics of a lazy reader: hits, misses, fetches, and bytes that were fetched but not used."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from ..display.printable import printable, shows_printable
from ..display.units import counted, human_bytes
from ..options.outputs import check_picture
from ..options.whole_file import write_whole
from .fetch_map import document
from .touches import Touches

KINDS = ("startup", "trained", "trigger", "declared", "touched")
"""The cause of a fetch. "startup": no usage is known yet. "trained": the column is used in most windows.
"trigger": the column is used occasionally, and another such column was touched. "declared": you named it in
advance. "touched": the column itself was touched."""


@dataclass(frozen=True)
class ColumnUse:
    """The use of one column.

    Attributes:
        windows_touched: number of windows in which it was used.
        hits: number of windows in which it was available, or in flight, when first touched.
        misses: number of windows in which the first touch had to fetch it.
        fetched_bytes: compressed bytes that were fetched for it.
        wasted_bytes: the part of ``fetched_bytes`` for windows in which it was not used.
    """

    windows_touched: int = 0
    hits: int = 0
    misses: int = 0
    fetched_bytes: int = 0
    wasted_bytes: int = 0


@dataclass(frozen=True)
class KindUse:
    """The cost of all fetches of one kind.

    Attributes:
        fetches: number of fetches; each is planned and sent as a whole.
        requests: number of planned requests; what opening fetched needs none, so the file may have fewer.
        ranges: number of baskets.
        fetched_bytes: bytes of the baskets.
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
    """Index of the window."""
    columns: tuple[str, ...]
    """Paths of the branches."""
    ranges: int
    """Number of baskets."""
    nbytes: int
    """Bytes of the baskets."""
    asked: float
    """When it was sent."""
    answered: float | None
    """When the last answer arrived; None if it failed or is still in flight."""


@dataclass(frozen=True, repr=False)
class LazyUse:
    """Statistics of one lazy reader.

    Attributes:
        tree: the name of the tree.
        kind: the kind of reader: ``"events"``, ``"lazy"`` or ``"virtual"``.
        windows: ranges of entries (start, stop) that are fetched together.
        windows_seen: number of windows in which any column was used.
        columns: :class:`ColumnUse` by path of the branch, for columns that were used or fetched.
        kinds: :class:`KindUse` by kind of fetch.
        fetches: the first fetches, at most 8,192, in order; ``kinds`` counts all of them.
        touched: the set of (column, index of the window), one for each use.
    """

    tree: str
    kind: str
    windows: tuple[tuple[int, int], ...]
    windows_seen: int
    columns: Mapping[str, ColumnUse] = field(default_factory=dict)
    kinds: Mapping[str, KindUse] = field(default_factory=dict)
    fetches: tuple[LazyFetch, ...] = ()
    touched: Set[tuple[str, int]] = frozenset()

    @classmethod
    def from_core(
        cls,
        tree: str,
        kind: str,
        columns: Sequence[str],
        windows: Sequence[tuple[int, int]],
        accounting: Mapping[str, Any],
        fetches: Iterable[Mapping[str, Any]],
        touched: Touches[int],
    ) -> LazyUse:
        """The statistics of the core, with the names of columns instead of their indices."""
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
            touched=touched.renamed(columns.__getitem__),
        )

    @property
    def hits(self) -> int:
        """Number of first touches that found the column available or in flight."""
        return sum(use.hits for use in self.columns.values())

    @property
    def misses(self) -> int:
        """Number of first touches that had to fetch the column."""
        return sum(use.misses for use in self.columns.values())

    @property
    def fetched_bytes(self) -> int:
        """Compressed bytes that were fetched for all columns."""
        return sum(use.fetched_bytes for use in self.columns.values())

    @property
    def wasted_bytes(self) -> int:
        """Compressed bytes that were fetched for windows in which the column was not used."""
        return sum(use.wasted_bytes for use in self.columns.values())

    @property
    def total_fetches(self) -> int:
        """Number of fetches of all kinds."""
        return sum(use.fetches for use in self.kinds.values())

    def to_dict(self) -> dict[str, Any]:
        """All statistics by name, fit for JSON."""
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
        """All statistics as a JSON document."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Draws the fetches and their causes as SVG: by column and entry, and over time.

        Args:
            path: a local path that ends with ".svg".
            overwrite: whether to replace an existing file.

        Raises:
            UsageError: if the name does not end with ".svg", or the file exists and ``overwrite`` is False.
        """
        target = check_picture(path, (), overwrite)
        write_whole(target, document(self), overwrite=overwrite)

    def summary(self) -> str:
        """One line with the windows, hits, misses and bytes."""
        share = self.wasted_bytes / self.fetched_bytes if self.fetched_bytes else 0.0
        windows = f"{self.windows_seen:,} of {counted(len(self.windows), 'window')}"
        touches = f"{counted(self.hits, 'hit')}, {counted(self.misses, 'miss', 'misses')}"
        fetched = f"{human_bytes(self.fetched_bytes)} fetched, {share:.1%} unused"
        return f"{self.kind} of {self.tree}: {windows}, {touches}; {fetched}"

    def lines(self) -> Iterator[str]:
        """The summary, a line per kind of fetch, and the columns with the most misses and unused bytes."""
        yield self.summary()
        for name, use in self.kinds.items():
            if use.fetches:
                fetches, requests = (
                    counted(use.fetches, "fetch", "fetches"),
                    counted(use.requests, "request"),
                )
                size = f"{counted(use.ranges, 'basket')}, {human_bytes(use.fetched_bytes)}"
                yield f"  {name + ':':<9} {fetches} in {requests}, {size}"
        worst = sorted(self.columns.items(), key=lambda item: (-item[1].misses, -item[1].wasted_bytes))
        for name, column in worst[:5]:
            if column.misses or column.wasted_bytes:
                windows = counted(column.windows_touched, "window")
                unused = f"{human_bytes(column.wasted_bytes)} of {human_bytes(column.fetched_bytes)} unused"
                yield f"  {name}: used in {windows}, {counted(column.misses, 'miss', 'misses')}, {unused}"

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
