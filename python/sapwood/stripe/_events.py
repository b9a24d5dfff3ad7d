"""Finds the entries of events in a dataset: by luminosity block, or by run, block and event number."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core
from ..errors.core import core_errors
from ..history.describe import place_of
from ..history.logs import Log, log_of
from ..options.reading import open_options
from ._words import version_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options.keywords import DatasetKeywords


def select(
    url: str | os.PathLike[str],
    mask: Mapping[int, Iterable[Sequence[int]]] | Mapping[str, Iterable[Sequence[int]]] | str | Path,
    *,
    version: int | str | None = None,
    log: Log = None,
    deadline: float | None = None,
    **options: Unpack[DatasetKeywords],
) -> list[tuple[int, int]]:
    """The entries of a dataset whose luminosity blocks are in a mask.

    The event index has blocks of 65,536 entries; only those that may contain such entries are read.

    Args:
        url: the location of the dataset.
        mask: first and last luminosity blocks of each run, as in the certification files of CMS:
            ``{273158: [[1, 12], [14, 20]]}``; or the path of such a JSON file.
        version: a number, or a tag; by default the newest.
        log: its log, if that is in a database: a :class:`sapwood.catalog.DatabaseLog`, or the database's URL.
        deadline: seconds for the whole call; by default an hour.
        options: for object stores, as in :func:`sapwood.open`.

    Returns:
        The ranges of entries, in order, each as (start, stop): the values for ``entry_start`` and
        ``entry_stop``.

    Raises:
        FileNotFoundError: there is no dataset.
        KeyInFileError: the dataset has no such version, or no event index.
        ValueError: the mask has another form.
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
    **options: Unpack[DatasetKeywords],
) -> list[list[int]]:
    """The entries of given events in a dataset.

    Args:
        url: the location of the dataset.
        events: run, luminosity block and event number of each.
        version: a number, or a tag; by default the newest.
        log: its log, if that is in a database: a :class:`sapwood.catalog.DatabaseLog`, or the database's URL.
        deadline: seconds for the whole call; by default an hour.
        options: for object stores, as in :func:`sapwood.open`.

    Returns:
        The entries of each event: none, one, or more if the dataset contains the event more than once.

    Raises:
        FileNotFoundError: there is no dataset.
        KeyInFileError: the dataset has no such version, or no event index.
    """
    with core_errors():
        return _open(url, log, deadline, options).find(version_name(version), [*events])


def _open(
    url: str | os.PathLike[str], log: Log, deadline: float | None, options: DatasetKeywords
) -> _core.Stripes:
    opening, place = open_options(deadline, None, options), place_of(url)
    return _core.Stripes(place, opening.deadline, opening.for_core(), log_of(log, place, opening))
