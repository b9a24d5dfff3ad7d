"""The tables of a catalogue, and upgrades from older versions of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    func,
    inspect,
    select,
    text,
)

from ..errors import UnsupportedTypeError

VERSION = 3
"""The version of the tables below. Each change of them increments it and adds a step to :data:`STEPS`."""

metadata = MetaData()

state = Table(
    "sapwood_catalog",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
)


def _of_dataset() -> Column[int]:
    return Column("dataset", ForeignKey("sapwood_datasets.id", ondelete="CASCADE"), primary_key=True)


datasets = Table(
    "sapwood_datasets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("identity", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),
    Column("tree", Text, nullable=False),
    # The newest version that was read, and its content.
    Column("tip", BigInteger, nullable=False),
    # Untagged versions before this one have expired.
    Column("oldest", BigInteger, nullable=False),
    Column("snapshot", Text, nullable=False),
    Column("entries", BigInteger, nullable=False),
    Column("bytes", BigInteger),
    Column("objects", BigInteger),
    Column("added_ms", BigInteger, nullable=False),
    Column("changed_ms", BigInteger, nullable=False),
    Column("refreshed_ms", BigInteger, nullable=False),
)

locations = Table(
    "sapwood_locations",
    metadata,
    _of_dataset(),
    Column("place", Integer, primary_key=True),
    Column("url", Text, nullable=False, unique=True),
    # If the log is not at this location: the URL of its database, without secrets, and its name there.
    Column("log_url", Text),
    Column("log_name", Text),
)

versions = Table(
    "sapwood_versions",
    metadata,
    _of_dataset(),
    Column("version", BigInteger, primary_key=True),
    Column("snapshot", Text),
    Column("parent", BigInteger),
    Column("operation", Text, nullable=False),
    Column("what", Text),
    Column("time_ms", BigInteger, nullable=False),
    Column("who", Text),
    Column("tool", Text),
    Column("job", Text),
    # Null for versions that had expired before they were read.
    Column("entries", BigInteger),
    Column("parameters", Text, nullable=False, default="{}"),
)

# A row applies to the versions of the dataset from `since` to `until` (exclusive).
products = Table(
    "sapwood_products",
    metadata,
    _of_dataset(),
    Column("name", Text, primary_key=True),
    Column("since", BigInteger, primary_key=True),
    Column("until", BigInteger),
    Column("version", BigInteger, nullable=False),
    Column("branches", Integer),
    # From the last version in which they were counted.
    Column("entries", BigInteger),
    Column("bytes", BigInteger),
    Column("objects", BigInteger),
    Index("sapwood_products_by_name", "name", "version"),
)

segments = Table(
    "sapwood_segments",
    metadata,
    _of_dataset(),
    Column("number", BigInteger, primary_key=True),
    Column("since", BigInteger, primary_key=True),
    Column("until", BigInteger),
    Column("entries", BigInteger, nullable=False),
    Column("batch", BigInteger, nullable=False),
)

# The inputs of a version: files, or versions of datasets, catalogued or not.
inputs = Table(
    "sapwood_inputs",
    metadata,
    _of_dataset(),
    Column("version", BigInteger, primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("url", Text, nullable=False),
    Column("of_version", Text),
    Index("sapwood_inputs_by_url", "url"),
)

tags = Table(
    "sapwood_tags",
    metadata,
    _of_dataset(),
    Column("name", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
)

OF_DATASETS = (locations, versions, products, segments, inputs, tags)
"""The tables whose rows belong to a catalogued dataset and are deleted with it."""

# The logs of datasets that keep their log in this database, whether or not they are catalogued.
commits = Table(
    "sapwood_commits",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("entry", LargeBinary, nullable=False),
    Column("time_ms", BigInteger, nullable=False),
)


def _add_commits(connection: Connection) -> None:
    commits.create(connection)


def _add_logs(connection: Connection) -> None:
    for column in ("log_url", "log_name"):
        connection.execute(text(f"ALTER TABLE {locations.name} ADD COLUMN {column} TEXT"))


STEPS: Mapping[int, Callable[[Connection], None]] = {1: _add_commits, 2: _add_logs}
"""For each version of the tables, the step that upgrades them to the next version."""


def version_of(connection: Connection) -> int | None:
    """The version of the tables in a database, or None if it has no such tables."""
    if not inspect(connection).has_table(state.name):
        return None
    version: int | None = connection.scalar(select(func.max(state.c.version)))
    return version


def upgrade(connection: Connection) -> None:
    """Creates the tables, or upgrades older ones to the current version."""
    found = version_of(connection)
    if found is None:
        metadata.create_all(connection)
    else:
        for version in range(found, VERSION):
            STEPS[version](connection)
        connection.execute(state.delete())
    connection.execute(state.insert().values(version=VERSION))


def check_version(found: int, shown: str) -> None:
    """Raises an UnsupportedTypeError for the tables of a newer sapwood."""
    if found > VERSION:
        raise UnsupportedTypeError(
            f"catalogue {shown} has version {found}, but this sapwood supports versions up to {VERSION}",
            url=shown,
            hint="install a newer sapwood",
        )
