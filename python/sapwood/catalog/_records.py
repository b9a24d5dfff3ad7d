"""Records that a catalogue returns: datasets, versions, products and lineage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

__all__ = ["Dataset", "Input", "Match", "Product", "RefreshResult", "Related", "Version"]


class Record:
    """A record that can be converted to JSON."""

    def to_dict(self) -> dict[str, Any]:
        """The record as a dict for JSON, with times in ISO 8601."""
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
    """A dataset at the time of its last refresh.

    Attributes:
        name: the name in the catalogue.
        identity: the identity of the dataset, which all its copies share.
        tree: the path of the tree.
        version: the newest version.
        entries: number of entries.
        products: number of products.
        nbytes: bytes of the baskets of all products; None if unknown.
        objects: number of objects that contain these; None if unknown.
        locations: URLs or paths, in the order in which they were added.
        tags: version numbers by tag.
        changed: when the newest version was made.
        refreshed: when the catalogue last read the dataset.
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
    """An input of a version.

    Attributes:
        url: path or URL of a file or dataset, without secrets.
        version: version or tag of the dataset; None for files.
        dataset: name of the dataset, if it is in the catalogue.
    """

    url: str
    version: str | None = None
    dataset: str | None = None


@dataclass(frozen=True)
class Version(Record):
    """A version of a dataset.

    Attributes:
        version: the version number.
        parent: the version from which it was made; None for the first.
        operation: the operation that made it, such as ``create``, ``append``, ``add``, ``replace``, ``drop``.
        what: a short description of the operation.
        time: when it was made.
        who: the author, if given.
        tool: name and version of the program that wrote it.
        job: the job that wrote it.
        entries: number of entries; None if it had expired before the catalogue read it.
        inputs: the files or datasets from which it was made.
        parameters: options of the operation.
        tags: the tags of this version.
        expired: whether it can no longer be opened.
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
    """A product: columns of a dataset that are written and replaced together.

    Attributes:
        name: the name of the product.
        version: the version of the dataset that wrote it.
        since: the first version of the dataset that contains it in this form.
        until: the first later version without it in this form; None if the newest version contains it.
        branches: number of branches.
        entries: number of entries.
        nbytes: bytes of its baskets.
        objects: number of objects that contain these.
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
    """A search result.

    Attributes:
        dataset: name of the dataset.
        url: its first location.
        product: the product that matches.
    """

    dataset: str
    url: str
    product: Product


@dataclass(frozen=True)
class Related(Record):
    """An ancestor or descendant of a dataset.

    Attributes:
        steps: the distance: 1 for direct inputs or derived datasets, 2 for theirs, and so on.
        url: path or URL.
        dataset: its name, if it is in the catalogue.
        version: its version or tag.
        of: for an ancestor, the name of the dataset made from it; for a descendant, that of its input.
        of_version: the version of that dataset.
    """

    steps: int
    url: str
    dataset: str | None
    version: str | None
    of: str
    of_version: str | None


@dataclass(frozen=True)
class RefreshResult(Record):
    """The result of refreshing a dataset.

    Attributes:
        name: the name of the dataset.
        before: the newest version before.
        version: the newest version now.
        error: the reason why the dataset could not be read, or None.
    """

    name: str
    before: int | None
    version: int | None
    error: Exception | None = None

    def to_dict(self) -> dict[str, Any]:
        """The record as a dict for JSON."""
        error = None if self.error is None else str(self.error)
        return {"name": self.name, "before": self.before, "version": self.version, "error": error}
