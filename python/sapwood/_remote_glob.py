"""Globs on servers whose directories can be listed: ``root://host//dir/*/f*.root``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import TypeAlias

from . import _core
from ._border import core_errors
from .errors import UsageError

# "?" begins the opaque part of a URL: it is no wildcard here.
_URL = re.compile(r"(?P<server>(?P<scheme>[^:]+)://[^/?]*/)(?P<path>[^?]*)(?P<opaque>\?.*)?", re.DOTALL)
_WILDCARD = re.compile(r"[*\[]")
_SCHEMES = frozenset({"root", "roots", "xroot", "xroots"})

_List: TypeAlias = Callable[[str], list[tuple[str, bool]]]


def remote_glob(url: str, deadline: float | None = None) -> Iterator[str]:
    """The URLs of the files that a glob stands for, sorted; a URL without wildcards as it is.

    ``deadline``: seconds that listing one directory may take.

    Raises:
        UsageError: if directories of such a server cannot be listed.
    """
    match = _URL.fullmatch(url)
    if match is None or _WILDCARD.search(match["path"]) is None:
        yield url
        return
    if match["scheme"].lower() not in _SCHEMES:
        raise UsageError(f"{url!r}: globs work for local files and root:// only; list the URLs")
    if "**" in match["path"]:
        raise UsageError(f"{url!r}: '**' works for local files only")
    server, opaque = match["server"], match["opaque"] or ""

    def list_directory(path: str) -> list[tuple[str, bool]]:
        with core_errors():
            return _core.list_directory(server + path + opaque, deadline=deadline)

    for path in _matches(list_directory, "", match["path"].split("/")):
        yield server + path + opaque


def _matches(list_directory: _List, done: str, parts: list[str]) -> Iterator[str]:
    """The paths of files that begin with ``done`` and go on as ``parts`` say."""
    plain = 0
    while plain < len(parts) and _WILDCARD.search(parts[plain]) is None:
        plain += 1
    if plain == len(parts):
        yield done + "/".join(parts)
        return
    done += "".join(f"{part}/" for part in parts[:plain])
    pattern, rest = parts[plain], parts[plain + 1 :]
    for name, is_directory in list_directory(done):
        # As in local globs, a wildcard does not match a dot at the beginning.
        hidden = name.startswith(".") and not pattern.startswith(".")
        if hidden or not fnmatchcase(name, pattern):
            continue
        if rest and is_directory:
            yield from _matches(list_directory, f"{done}{name}/", rest)
        elif not rest and not is_directory:
            yield done + name
