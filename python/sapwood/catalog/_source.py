"""What a catalogue reads of a dataset: its log, and what its versions hold; never its data."""

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
"""Versions that are asked for together: one small object each."""
_VERSIONED = re.compile(r"(?P<url>.*/[^/@]+)@(?P<version>[\w.+-]+)", re.DOTALL)
_SECRETS = re.compile(r"\S+://\S+")


@dataclass(frozen=True)
class History:
    """What a dataset says of itself.

    Attributes:
        newest: the description of the newest version, with sizes.
        entries: those of the log after the version that was known, in order.
        contents: descriptions of the versions that can still be opened, without sizes.
    """

    newest: Mapping[str, Any]
    entries: list[Mapping[str, Any]]
    contents: Mapping[int, Mapping[str, Any]]


def newest(url: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The description of the newest version, with sizes."""
    return _describe(url, None, True, options)


def read(
    url: str, newest: Mapping[str, Any], known: tuple[int, str] | None, options: Mapping[str, Any]
) -> History:
    """Reads what is new of a dataset after the ``known`` version, given by number and snapshot."""
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
    """The one form of the place of a dataset, by which places are compared; without secrets."""
    if url.startswith("file://"):
        url = url.removeprefix("file://")
    if not is_url(url):
        return os.path.abspath(os.path.expanduser(url))
    if _core.redact(url) != url:
        raise UsageError(
            f"the URL {_core.redact(url)} holds secrets, and a catalogue keeps none: "
            "give keys by the environment or a profile"
        )
    return url.rstrip("/")


def split_version(text: str) -> tuple[str, str | None]:
    """An input as its place, and the version or tag of it that was named; without secrets.

    >>> split_version("s3://bucket/ttbar@v12"), split_version("https://user@example.org/a.root:Events")
    (('s3://bucket/ttbar', 'v12'), ('https://example.org/a.root:Events', None))
    """
    found = _VERSIONED.fullmatch(text)
    url, version = (found["url"], found["version"]) if found else (text, None)
    return (_core.redact(url) if is_url(url) else url).rstrip("/"), version


def without_secrets(text: str) -> str:
    """A text whose URLs have lost their secrets."""
    return _SECRETS.sub(lambda found: _core.redact(found[0]), text)


def _check_same_history(url: str, tip: int, known: tuple[int, str], entries: list[Mapping[str, Any]]) -> None:
    version, snapshot = known
    there = next((entry for entry in entries if entry["n"] == version), None)
    if tip < version or there is None or there["snapshot"] != snapshot:
        raise ConflictError(
            f"{url} has another history than the catalogue knows: version {version} is not the same",
            url=url,
            hint="look what happened to the dataset; to begin anew, forget it and add it again",
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
