"""What a catalogue tells: datasets, their versions and products, and what depends on what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

__all__ = ["Dataset", "Input", "Match", "Product", "Refreshed", "Related", "Version"]


class Record:
    """What JSON can be made of."""

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON: times as in ISO 8601."""
        plain: dict[str, Any] = _plain(asdict(self))  # type: ignore[call-overload]
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


@dataclass(frozen=True)
class Dataset(Record):
    """A dataset, as it was when the catalogue looked at it last.

    Attributes:
        name: its name in the catalogue.
        identity: what the dataset calls itself, wherever it is copied to.
        tree: path of its tree.
        version: its newest version.
        entries: number of entries.
        products: number of products.
        nbytes: bytes of the baskets of its products; None if they were not counted.
        objects: objects that hold these.
        locations: URLs or paths, the first one that was given first.
        tags: names of versions.
        changed: when its newest version was made.
        refreshed: when the catalogue looked at it.
    """

    name: str
    identity: str
    tree: str
    version: int
    entries: int
    products: int
    nbytes: int | None
    objects: int | None
    locations: tuple[str, ...]
    tags: Mapping[str, int]
    changed: datetime
    refreshed: datetime


@dataclass(frozen=True)
class Input(Record):
    """What a version was made of.

    Attributes:
        url: a file or a dataset, without secrets.
        version: which version of the dataset, or its tag; None for files.
        dataset: its name, if the catalogue has that dataset.
    """

    url: str
    version: str | None = None
    dataset: str | None = None


@dataclass(frozen=True)
class Version(Record):
    """A version of a dataset.

    Attributes:
        version: its number.
        parent: the one it was made from.
        operation: what made it: ``create``, ``append``, ``add``, ``replace``, ``drop``, ….
        what: the same in a few words.
        time: when.
        who: who made it, if that was said.
        tool: name and version of what wrote it.
        job: the job that wrote it.
        entries: number of entries; None if it had expired before the catalogue saw it.
        inputs: what it was made of.
        parameters: options of what made it.
        tags: names that it has.
        expired: whether it cannot be opened any more.
    """

    version: int
    parent: int | None
    operation: str
    what: str | None
    time: datetime
    who: str | None
    tool: str | None
    job: str | None
    entries: int | None
    inputs: tuple[Input, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    expired: bool = False


@dataclass(frozen=True)
class Product(Record):
    """Columns of a dataset that are read, added and replaced together.

    Attributes:
        name: its name.
        version: the version of the dataset that wrote it.
        since: the first version of the dataset that has it so.
        until: the first one that has it so no more; None if the newest one has.
        branches: number of branches.
        entries: number of entries.
        nbytes: bytes of its baskets.
        objects: objects that hold these.
    """

    name: str
    version: int
    since: int
    until: int | None
    branches: int | None
    entries: int | None
    nbytes: int | None
    objects: int | None


@dataclass(frozen=True)
class Match(Record):
    """A product of a dataset that was looked for."""

    dataset: str
    url: str
    product: Product


@dataclass(frozen=True)
class Related(Record):
    """Something that a dataset was made of, or that was made of it.

    Attributes:
        steps: 1 for what it was made of directly, 2 for what that was made of, ….
        url: where it is.
        dataset: its name, if the catalogue has it.
        version: which version, or tag, of it.
        of: name of the dataset that was made of it (of ancestors), or that it was made of (of descendants).
        of_version: which version of that.
    """

    steps: int
    url: str
    dataset: str | None
    version: str | None
    of: str
    of_version: str | None


@dataclass(frozen=True)
class Refreshed(Record):
    """What looking at a dataset again has shown.

    Attributes:
        name: the dataset.
        before: the newest version that was known; None if it was not.
        version: the newest version now.
        error: why it could not be looked at, or None.
    """

    name: str
    before: int | None
    version: int | None
    error: Exception | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        told = {"name": self.name, "before": self.before, "version": self.version}
        return {**told, "error": None if self.error is None else str(self.error)}
