"""Which entries of a dataset are some events: by luminosity blocks, or by run, block and event number."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _core
from ..errors.core import core_errors
from ..history.describe import place_of
from ..history.logs import Log, log_of
from ..options.reading import open_options
from ._words import version_name


def select(
    url: str | os.PathLike[str],
    mask: Mapping[int, Iterable[Sequence[int]]] | Mapping[str, Iterable[Sequence[int]]] | str | Path,
    *,
    version: int | str | None = None,
    log: Log = None,
    deadline: float | None = None,
    **options: Any,
) -> list[tuple[int, int]]:
    """The entries of a dataset whose luminosity blocks are in a mask.

    Of the index of events, only the blocks of 65,536 entries are read that may have such entries.

    Args:
        url: where the dataset is.
        mask: first and last luminosity blocks of each run, as CMS certifies data:
            ``{273158: [[1, 12], [14, 20]]}``; or the path of a JSON file that says so.
        version: a number, or a tag; by default the newest.
        log: its log, if that is in a database: a :class:`sapwood.catalog.DatabaseLog`, or the database's URL.
        deadline: seconds that it may take; by default an hour.
        options: for object stores, as of :func:`sapwood.open`.

    Returns:
        Of each range of entries, in order, the first one and the one after the last: what ``entry_start`` and
        ``entry_stop`` take.

    Raises:
        FileNotFoundError: there is no dataset.
        KeyInFileError: it has no such version, or does not say which events its entries are.
        ValueError: the mask is of another form.
    """
    if isinstance(mask, Mapping):
        text = json.dumps({str(run): [list(blocks) for blocks in ranges] for run, ranges in mask.items()})
    else:
        text = Path(mask).read_text(encoding="utf-8")
    with core_errors():
        return _open(url, log, deadline, options).select(version_name(version), text)


def find(
    url: str | os.PathLike[str],
    events: Iterable[tuple[int, int, int]],
    *,
    version: int | str | None = None,
    log: Log = None,
    deadline: float | None = None,
    **options: Any,
) -> list[list[int]]:
    """The entries of a dataset that are some events.

    Args:
        url: where the dataset is.
        events: run, luminosity block and event number of each.
        version: a number, or a tag; by default the newest.
        log: its log, if that is in a database: a :class:`sapwood.catalog.DatabaseLog`, or the database's URL.
        deadline: seconds that it may take; by default an hour.
        options: for object stores, as of :func:`sapwood.open`.

    Returns:
        For each event the entries that are it: one, or none; more, if it is in the dataset more than once.

    Raises:
        FileNotFoundError: there is no dataset.
        KeyInFileError: it has no such version, or does not say which events its entries are.
    """
    with core_errors():
        return _open(url, log, deadline, options).find(version_name(version), [*events])


def _open(
    url: str | os.PathLike[str], log: Log, deadline: float | None, options: dict[str, Any]
) -> _core.Stripes:
    asked, place = open_options(deadline, None, options), place_of(url)
    return _core.Stripes(place, asked.deadline, asked.for_core(), log_of(log, place, asked))
