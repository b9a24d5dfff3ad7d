"""Finds datasets by their names in the user's catalogue, such as ``"catalog:ttbar"``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..options.paths import CATALOGUED

if TYPE_CHECKING:
    from ..history.logs import Log


def catalogued(name: str) -> tuple[str, Log]:
    """The location of a dataset, including the version in ``name``, and its log if that is in a database.

    Args:
        name: ``"catalog:NAME"`` or ``"catalog:NAME@v12"``.

    Raises:
        KeyInFileError: the catalogue has no dataset with this name.
    """
    # Imported here because only catalogues need SQLAlchemy.
    from ..catalog import Catalog

    name, at, version = name.removeprefix(CATALOGUED).partition("@")
    with Catalog() as catalog:
        place, found = catalog.place(name)
    return place + at + version, found.get("log")
