"""Globs on servers whose directories can be listed: ``root://host//dir/*/f*.root``, ``s3://bucket/dir/*.root``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import TypeAlias

from .. import _core
from ..errors import UsageError
from ..errors.core import core_errors

# "?" begins the opaque part of a URL, so it is not a wildcard here.
_URL = re.compile(r"(?P<server>(?P<scheme>[^:]+)://[^/?]*/)(?P<path>[^?]*)(?P<opaque>\?.*)?", re.DOTALL)
STORES = ("s3", "gs", "az")
"""The schemes of object stores, which may hold datasets."""
_WILDCARD = re.compile(r"[*\[]")

Lister: TypeAlias = Callable[[str], "list[tuple[str, bool]]"]
"""Takes the URL of a directory; returns its names, and whether each is a directory."""


def lister(deadline: float | None = None, options: _core.OpenOptions | None = None) -> Lister:
    """A function that lists directories, each within ``deadline`` seconds."""

    def listed(url: str) -> list[tuple[str, bool]]:
        with core_errors():
            return _core.list_directory(url, deadline=deadline, options=options)

    return listed


def remote_glob(url: str, listed: Lister) -> Iterator[str]:
    """The URLs of the files and datasets that match a glob, sorted; a URL without wildcards unchanged.

    Raises:
        UnsupportedTypeError: if directories of the server cannot be listed.
    """
    match = _URL.fullmatch(url)
    if match is None or _WILDCARD.search(match["path"]) is None:
        yield url
        return
    if "**" in match["path"]:
        raise UsageError(f"{url!r}: '**' works for local files only")
    server, opaque = match["server"], match["opaque"] or ""
    has_datasets = match["scheme"].lower() in STORES

    def list_path(path: str) -> list[tuple[str, bool]]:
        return listed(server + path + opaque)

    for path in _matches(list_path, "", match["path"].split("/"), has_datasets):
        yield server + path + opaque


def _matches(listed: Lister, done: str, parts: list[str], has_datasets: bool) -> Iterator[str]:
    """The paths of files and datasets below ``done`` that match the patterns ``parts``."""
    plain = 0
    while plain < len(parts) and _WILDCARD.search(parts[plain]) is None:
        plain += 1
    if plain == len(parts):
        yield done + "/".join(parts)
        return
    done += "".join(f"{part}/" for part in parts[:plain])
    pattern, rest = parts[plain], parts[plain + 1 :]
    for name, is_directory in listed(done):
        # As in local globs, a wildcard does not match a leading dot.
        hidden = name.startswith(".") and not pattern.startswith(".")
        if hidden or not fnmatchcase(name, pattern):
            continue
        if not rest:
            is_dataset = is_directory and has_datasets and ("fmt", False) in listed(f"{done}{name}/")
            if is_dataset or not is_directory:
                yield done + name
        elif is_directory:
            yield from _matches(listed, f"{done}{name}/", rest, has_datasets)
