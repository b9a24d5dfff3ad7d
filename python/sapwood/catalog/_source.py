"""Reads the metadata of datasets for the catalogue: logs and descriptions of versions, but never data."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..errors import ConflictError, FileNotFoundError, KeyInFileError, UsageError
from ..history.describe import describe, log
from ..options.paths import is_url

AT_ONCE = 8
"""Number of versions read in parallel, from one small object each."""
_VERSIONED = re.compile(r"(?P<url>.*/[^/@]+)@(?P<version>[\w.+-]+)", re.DOTALL)
_SECRETS = re.compile(r"\S+://\S+")


@dataclass(frozen=True)
class History:
    """New metadata of a dataset.

    Attributes:
        newest: the description of the newest version, with sizes.
        entries: the log entries after the known version, in order.
        contents: descriptions by version, without sizes, of those that have not expired.
    """

    newest: Mapping[str, Any]
    entries: list[Mapping[str, Any]]
    contents: Mapping[int, Mapping[str, Any]]


def newest(url: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Reads the description of the newest version, with sizes."""
    return _describe(url, None, True, options)


def read(
    url: str, newest: Mapping[str, Any], known: tuple[int, str] | None, options: Mapping[str, Any]
) -> History:
    """Reads the metadata of a dataset after the ``known`` version, which is given by number and snapshot."""
    tip = int(newest["version"])
    after = 0 if known is None else known[0]
    entries = _log(url, max(after - 1, 0), options)
    if known is not None:
        _check_same_history(url, tip, known, entries)
    entries = [entry for entry in entries if after < entry["n"] <= tip]
    older = [int(entry["n"]) for entry in entries if entry["n"] != tip]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda version: _retained(url, version, options), older)
        contents = {version: one for version, one in zip(older, found, strict=True) if one is not None}
    return History(newest, entries, {**contents, tip: newest})


def normal(url: str) -> str:
    """The canonical form of a location, for comparison.

    Raises:
        UsageError: the URL contains secrets.
    """
    if url.startswith("file://"):
        url = url.removeprefix("file://")
    if not is_url(url):
        return os.path.abspath(os.path.expanduser(url))
    if _core.redact(url) != url:
        raise UsageError(
            f"the URL {_core.redact(url)} contains secrets, which a catalogue must not store: "
            "set credentials in the environment or a profile"
        )
    return url.rstrip("/")


def split_version(text: str) -> tuple[str, str | None]:
    """Splits an input into its location, without secrets, and its version or tag, or None.

    >>> split_version("s3://bucket/ttbar@v12"), split_version("https://user@example.org/a.root:Events")
    (('s3://bucket/ttbar', 'v12'), ('https://example.org/a.root:Events', None))
    """
    found = _VERSIONED.fullmatch(text)
    url, version = (found["url"], found["version"]) if found else (text, None)
    return (_core.redact(url) if is_url(url) else url).rstrip("/"), version


def without_secrets(text: str) -> str:
    """Removes secrets from the URLs in a text."""
    return _SECRETS.sub(lambda found: _core.redact(found[0]), text)


def _check_same_history(url: str, tip: int, known: tuple[int, str], entries: list[Mapping[str, Any]]) -> None:
    version, snapshot = known
    there = next((entry for entry in entries if entry["n"] == version), None)
    if tip < version or there is None or there["snapshot"] != snapshot:
        raise ConflictError(
            f"{url} has another history than in the catalogue: version {version} differs",
            url=url,
            hint="find out what happened to the dataset; to start over, forget it and add it again",
        )


def _retained(url: str, version: int, options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    try:
        return _describe(url, version, False, options)
    except (FileNotFoundError, KeyInFileError):
        return None  # expired


def _log(url: str, after: int, options: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(log(url, after=after, **options))


def _describe(url: str, version: int | None, sizes: bool, options: Mapping[str, Any]) -> Mapping[str, Any]:
    return describe(url, version=version, sizes=sizes, **options)
