"""What was done to a dataset, as its operations tell it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Written:
    """What was written to a dataset.

    Attributes:
        version: the number of the version that has it.
        entries: entries that were written.
        objects, bytes: what was stored for them, besides the snapshot and its entry in the log.
        already: whether the job had written it before, so that nothing was done now.
        notes: what is not as one might expect, such as files without entries.
    """

    version: int
    entries: int
    objects: int
    bytes: int
    already: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wrong:
    """An object that is lost or damaged: its URL, whose entries it holds, and what is wrong."""

    object: str
    product: str | None
    entries: tuple[int, int]
    error: str


@dataclass(frozen=True)
class Verified:
    """What was checked: objects and their bytes, objects that were left out, and what is wrong."""

    objects: int
    bytes: int
    skipped: int
    wrong: tuple[Wrong, ...] = ()


@dataclass(frozen=True)
class Collected:
    """What no version needs: the keys of the objects, their bytes, and how many objects are needed."""

    objects: tuple[str, ...]
    bytes: int
    kept: int


@dataclass(frozen=True)
class Consolidated:
    """What became larger: of segments and objects, how many there were, and how many are in their stead.

    Attributes:
        version: the version that has it; the newest, if there was nothing to do.
        segments, objects: before, and after.
        read, written: bytes.
        notes: what was left as it was, and why.
    """

    version: int
    segments: tuple[int, int]
    objects: tuple[int, int]
    read: int
    written: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exported:
    """The file that was written: its bytes, the entries of its tree, and what is not as one might expect."""

    bytes: int
    entries: int
    notes: tuple[str, ...] = ()
