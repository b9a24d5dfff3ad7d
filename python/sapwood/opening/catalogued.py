"""Datasets by their names in the catalogue of this user: ``"catalog:ttbar"``."""

from __future__ import annotations

from ..history.logs import Log
from ..options.paths import CATALOGUED


def catalogued(name: str) -> tuple[str, Log]:
    """The place of a dataset in the catalogue of this user, with the version that is named, and its log.

    Args:
        name: ``"catalog:NAME"``, or ``"catalog:NAME@v12"``.
    """
    # SQLAlchemy is needed by catalogues only.
    from ..catalog import Catalog

    name, at, version = name.removeprefix(CATALOGUED).partition("@")
    with Catalog() as catalog:
        place, found = catalog.place(name)
    return place + at + version, found.get("log")
