"""The plan of a run: layouts (points), ways to read them (workloads), and sweeps of both."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...display.units import counted, human_bytes
from ...errors import UsageError

LINKS = {"WAN": (0.1, 12.5e6), "region": (0.02, 125e6)}
"""The modeled links: seconds per round trip, bytes per second."""


@dataclass(frozen=True)
class Point:
    """A layout of the sample. For None, the sample keeps the setting of the original file.

    Attributes:
        compression: algorithm and level, such as ``"zstd:5"``, or ``"none"``.
        basket_size: the most bytes of a basket before compression.
        cluster_entries: entries per cluster.
        cluster_bytes: compressed bytes per cluster in the original file; not together with
            ``cluster_entries``.
        entries: number of events, from the first one.
        variant: the name of another sample, with the same objects split differently; empty for the main one.
        format: ``"rntuple"`` or ``"ttree"``; empty for that of the original file.
        split: the split level of objects, 0 to 99.
    """

    compression: str
    basket_size: int | None = None
    cluster_entries: int | None = None
    cluster_bytes: int | None = None
    entries: int | None = None
    variant: str = ""
    format: str = ""
    split: int | None = None

    @property
    def key(self) -> str:
        """An identifier that is the same in every run, and suitable as a file name."""
        return _digest(asdict(self))

    @property
    def label(self) -> str:
        """A short description of the layout.

        >>> Point("zstd:5", basket_size=262144, cluster_entries=1000).label
        'zstd:5, baskets 256 KiB, clusters of 1,000'
        """
        parts = [self.format, self.compression] if self.format else [self.compression]
        if self.basket_size is not None:
            parts.append(f"baskets {binary_size(self.basket_size)}")
        if self.cluster_entries is not None:
            parts.append(f"clusters of {self.cluster_entries:,}")
        if self.cluster_bytes is not None:
            parts.append(f"clusters of {human_bytes(self.cluster_bytes)}")
        if self.split is not None:
            parts.append(f"split {self.split}")
        if self.entries is not None:
            parts.append(counted(self.entries, "entry", "entries"))
        return ", ".join([*parts, self.variant] if self.variant else parts)

    @property
    def level(self) -> int:
        """The level of the compression; 0 for none."""
        return int(self.compression.partition(":")[2] or 0)

    @property
    def algorithm(self) -> str:
        """The algorithm of the compression."""
        return self.compression.partition(":")[0]

    def options(self, expansion: float = 1.0) -> dict[str, Any]:
        """The arguments for :func:`sapwood.repack`.

        Args:
            expansion: bytes of the sample, which is not compressed, per compressed byte of the original file.
        """
        size = None if self.cluster_bytes is None else round(self.cluster_bytes * expansion)
        named = {
            "basket_size": self.basket_size,
            "cluster_size": size,
            "cluster_entries": self.cluster_entries,
            "split": self.split,
            "format": self.format or None,
        }
        chosen = {} if self.entries is None else {"entry_stop": self.entries}
        return {
            "compression": self.compression,
            **{name: value for name, value in named.items() if value is not None},
            **chosen,
        }

    def command(self, source: str, target: str) -> str:
        """The command that writes a file with this layout.

        >>> Point("zstd:5", basket_size=262144, cluster_entries=1000).command("a.root", "b.root")
        'sapwood repack a.root b.root --compression zstd:5 --basket-size 262144 --cluster-entries 1000'
        """
        parts = ["sapwood", "repack", source, target, "--compression", self.compression]
        if self.basket_size is not None:
            parts += ["--basket-size", str(self.basket_size)]
        if self.cluster_entries is not None:
            parts += ["--cluster-entries", str(self.cluster_entries)]
        if self.cluster_bytes is not None:
            parts += ["--cluster-size", f"{self.cluster_bytes / 1e6:g}MB"]
        if self.split is not None:
            parts += ["--split", str(self.split)]
        if self.format:
            parts += ["--format", self.format]
        return shlex.join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Workload:
    """A way to read a file.

    Attributes:
        columns: branches, by name or glob; all, if there are none.
        branches: the share of these branches that is read, drawn at random for each repeat.
        events: the share of the entries that is read, drawn at random for each repeat.
        step: memory of one step of reading.
        cache: memory for the windows of an event loop (``Caching(memory=…)``), which reads all entries, chunk
            by chunk; empty to read arrays, in steps.
        over: the modeled link, a name in :data:`LINKS`; empty to read the file directly.
    """

    columns: tuple[str, ...] = ()
    branches: float = 1.0
    events: float = 1.0
    step: str = "100 MB"
    cache: str = ""
    over: str = ""

    @property
    def key(self) -> str:
        """An identifier that is the same in every run."""
        return _digest(asdict(self))

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Workload:
        """The inverse of :meth:`to_dict`."""
        return cls(**{**document, "columns": tuple(document["columns"])})


ALL = Workload()
"""All columns of all entries."""


@dataclass(frozen=True)
class Sweep:
    """Layouts that differ in one parameter, and the workloads that read each of them."""

    name: str
    points: tuple[Point, ...]
    workloads: tuple[Workload, ...]


COMPRESSIONS = (
    *("zlib:1", "zlib:4", "zlib:6", "zlib:9", "lz4:1", "lz4:4", "lz4:9"),
    *("zstd:1", "zstd:3", "zstd:5", "zstd:7", "zstd:9", "lzma:1", "lzma:4", "lzma:7", "lzma:9"),
)
BASKETS = tuple(1 << bits for bits in range(14, 21))
"""16 KiB to 1 MiB."""
CLUSTER_ENTRIES = (10, 30, 100, 300, 1000, 3000, 10_000)
CLUSTER_BYTES = (2_000_000, 10_000_000, 30_000_000)
SPLIT_LEVELS = (0, 1, 99)
SHARES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
"""The shares of branches and of events for the curves of skipping."""
STEPS = ("5 MB", "30 MB", "100 MB")


def sweeps(
    base: Point,
    columns: tuple[str, ...],
    entries: int,
    variants: Iterable[str] = (),
    other: str = "rntuple",
    levels: Iterable[int] = (),
) -> list[Sweep]:
    """The usual sweeps around a layout: one dimension at a time.

    Args:
        base: the current layout.
        columns: the columns that an analysis reads.
        entries: entries of the sample.
        variants: the names of other samples.
        other: the format that the file does not have.
        levels: the split levels of its objects, if it has any. The members of objects then have other names,
            so columns are not read by name.
    """
    analysis = analysis_of(columns)
    near = (ALL, analysis, *(replace(analysis, over=name) for name in LINKS))
    skipping = tuple(Workload(branches=share) for share in SHARES[1:])
    skipping += tuple(Workload(events=share) for share in SHARES[1:])
    skipping += tuple(replace(ALL, step=step) for step in STEPS if step != ALL.step)
    counts = [count for count in CLUSTER_ENTRIES if count <= entries]
    by_entries = tuple(replace(base, cluster_entries=count) for count in counts)
    by_bytes = tuple(replace(base, cluster_bytes=size) for size in CLUSTER_BYTES)
    shares = [round(entries * share) for share in (0.1, 0.3)]
    return [
        Sweep("as it is", (base,), near + skipping),
        Sweep("compression", tuple(replace(base, compression=name) for name in COMPRESSIONS), near),
        Sweep("basket size", tuple(replace(base, basket_size=size) for size in BASKETS), near),
        Sweep("cluster size", by_entries + by_bytes, near),
        Sweep("event skipping", by_entries[::2], tuple(Workload(events=share) for share in SHARES[1:])),
        Sweep("events", tuple(replace(base, entries=count) for count in shares if count), near[:2]),
        Sweep("format", (replace(base, format=other),), near),
        Sweep("split", tuple(replace(base, variant=name) for name in variants), near),
        Sweep(
            "split level",
            tuple(replace(base, split=level) for level in levels),
            tuple(workload for workload in near if not workload.columns),
        ),
    ]


def chosen_sweeps(planned: list[Sweep], names: Iterable[str]) -> list[Sweep]:
    """The first sweep, which all others are compared with, and those of the named dimensions; by default all.

    >>> [one.name for one in chosen_sweeps(sweeps(Point("zlib:5"), (), 1000), ["basket-size"])]
    ['as it is', 'basket size']

    Raises:
        UsageError: for an unknown or repeated name.
    """
    base, *others = planned
    by_name = {one.name.replace(" ", "-"): one for one in others if one.points}
    return [base, *(by_name[name] for name in chosen_names("dimension", names, by_name) or by_name)]


def chosen_names(kind: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    """The names, after a check.

    Raises:
        UsageError: for an unknown or repeated name.
    """
    wanted, known = list(names), list(known)
    for i, name in enumerate(wanted):
        if name not in known:
            raise UsageError(f"unknown {kind} {name!r}; use {', '.join(known)}")
        if name in wanted[:i]:
            raise UsageError(f"the {kind} {name!r} is given twice")
    return wanted


def analysis_of(columns: tuple[str, ...]) -> Workload:
    """The workload of an analysis: the named columns, or else a tenth of all."""
    return Workload(columns=columns) if columns else Workload(branches=0.1)


def workloads_by_point(all_sweeps: Iterable[Sweep]) -> dict[Point, list[Workload]]:
    """Each layout once, in the order of the sweeps, with all of its workloads."""
    found: dict[Point, dict[Workload, None]] = {}
    for sweep in all_sweeps:
        for point in sweep.points:
            found.setdefault(point, {}).update(dict.fromkeys(sweep.workloads))
    return {point: list(workloads) for point, workloads in found.items()}


def binary_size(nbytes: int) -> str:
    """Bytes in powers of 1024, the usual unit of basket sizes.

    >>> binary_size(16384), binary_size(1 << 20), binary_size(32000)
    ('16 KiB', '1 MiB', '32000 B')
    """
    if nbytes and nbytes % (1 << 20) == 0:
        return f"{nbytes >> 20} MiB"
    return f"{nbytes >> 10} KiB" if nbytes and nbytes % 1024 == 0 else f"{nbytes} B"


def _digest(document: dict[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True)
    return hashlib.blake2s(text.encode(), digest_size=6).hexdigest()
