"""The results of operations on datasets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Written:
    """The result of writing to a dataset.

    Attributes:
        version: the number of the version that contains the entries.
        entries: entries that were written.
        objects, bytes: stored objects and their size, without the snapshot and its entry in the log.
        already: whether an earlier attempt of the job had written it, so that nothing was done now.
        notes: anything unexpected, such as files without entries.
    """

    version: int
    entries: int
    objects: int
    bytes: int
    already: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wrong:
    """An object that is lost or damaged: its URL, its product and entries, and the error."""

    object: str
    product: str | None
    entries: tuple[int, int]
    error: str


@dataclass(frozen=True)
class Verified:
    """The result of a check: objects and bytes that were read, objects that were skipped, and errors."""

    objects: int
    bytes: int
    skipped: int
    wrong: tuple[Wrong, ...] = ()


@dataclass(frozen=True)
class Collected:
    """The result of garbage collection: keys and bytes of unneeded objects, and the number of needed ones."""

    objects: tuple[str, ...]
    bytes: int
    kept: int


@dataclass(frozen=True)
class Consolidated:
    """The result of consolidation.

    Attributes:
        version: the new version; the newest existing one if there was nothing to do.
        segments, objects: the numbers before and after.
        read, written: bytes.
        notes: what stayed unchanged, and why.
    """

    version: int
    segments: tuple[int, int]
    objects: tuple[int, int]
    read: int
    written: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exported:
    """The result of an export: bytes of the file, entries of its tree, and anything unexpected."""

    bytes: int
    entries: int
    notes: tuple[str, ...] = ()
