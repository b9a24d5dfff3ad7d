"""The ways to name files: "file.root:dir/Tree", paths, URLs, globs, dicts, lists, file objects."""

from __future__ import annotations

import errno
import glob
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from .. import _core
from ..errors import ArgumentTypeError, FileNotFoundError, UsageError
from .remote_glob import Lister, lister, remote_glob

FileLike: TypeAlias = "str | os.PathLike[str] | Any"
"""A path or URL, an object with ``read`` and ``seek``, or bytes."""

CATALOGUED = "catalog:"
"""Prefix of the name of a dataset in the user's catalogue."""

# The usual rule in this field: only ".root:" or ".root.1:" ends a file's name; here, metalinks do, too.
_FILE_AND_OBJECT = re.compile(r"(.+\.(?:root(?:\.[0-9]+)?|meta4|metalink)):(.*)", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# pathlib folds the two slashes of a URL into one.
_FOLDED_URL = re.compile(r"((?:https?|file|root|s3|gs|az|davs?):/)(?=[^/])", re.IGNORECASE)
_GLOB = re.compile(r"[*?\[\]{}]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


@dataclass(frozen=True)
class FileSpec:
    """One file to read: its location, the object in it, and ranges of entries of that object."""

    file: Any
    object_path: str | None = None
    steps: tuple[tuple[int, int], ...] | None = None

    def ranges(self, num_entries: int) -> list[tuple[int, int]]:
        """The entries to read of an object with ``num_entries``: those of its steps, or all.

        >>> FileSpec("a.root", "t", ((0, 10), (90, 110))).ranges(100), FileSpec("a.root").ranges(100)
        ([(0, 10), (90, 100)], [(0, 100)])
        """
        if self.steps is None:
            return [(0, num_entries)]
        return [(min(start, num_entries), min(stop, num_entries)) for start, stop in self.steps]


def split_object_path(text: str) -> tuple[str, str | None]:
    """Splits "file.root:dir/Tree" into the file and the object in it.

    >>> split_object_path("https://host:80/a.root:dir/Tree;2")
    ('https://host:80/a.root', 'dir/Tree;2')
    >>> split_object_path("a.root.1:Tree"), split_object_path("a.root"), split_object_path("a.dat:Tree")
    (('a.root.1', 'Tree'), ('a.root', None), ('a.dat:Tree', None))
    """
    parts = text.strip().split("::")
    for index in range(len(parts) - 1, -1, -1):
        match = _FILE_AND_OBJECT.fullmatch(parts[index])
        if match is not None:
            parts[index] = match[1]
            return "::".join(parts), _object_path(match[2])
    return "::".join(parts), None


def single_file(path: Any) -> FileSpec:
    """The argument of :func:`sapwood.open`: a file, or a dict of one file and the object in it."""
    if isinstance(path, str):
        return FileSpec(*split_object_path(path))
    if isinstance(path, Mapping):
        if len(path) != 1:
            raise UsageError(
                f"open takes one file, not {len(path)}: use iterate or concatenate for several files"
            )
        ((file, target),) = path.items()
        object_path, steps = _target(target)
        if steps is not None:
            raise UsageError("'steps' are only for iterate and concatenate")
        return FileSpec(_plain(file), object_path)
    if isinstance(path, (list, tuple, set)):
        raise UsageError("open takes one file: use iterate or concatenate for several files")
    return FileSpec(_plain(path))


def several_files(
    files: Any, deadline: float | None = None, options: _core.OpenOptions | None = None
) -> list[FileSpec]:
    """The argument of :func:`sapwood.iterate`: a file, a glob, a dict, an open tree, or an iterable of these.

    ``deadline``: seconds that listing one directory of a server may take; ``options``: how to reach it.

    Raises:
        FileNotFoundError: if no file matches.
    """
    walked = _walk(files, lister(deadline, options))
    found = list(dict.fromkeys(walked)) if _hashable(files) else list(walked)
    if not found:
        raise FileNotFoundError(f"no file matches {files!r}", url=str(files))
    return found


def is_url(text: str) -> bool:
    """Whether a text starts with a scheme, such as "https://"."""
    return _SCHEME.match(text) is not None


def is_root_file(text: str) -> bool:
    """Whether a text names a ROOT file, a glob of them, or an object in one, by its suffix.

    >>> is_root_file("a/*.root"), is_root_file("a.root.1:Events"), is_root_file("sqrt(x)")
    (True, True, False)
    """
    return _FILE_AND_OBJECT.fullmatch(f"{text}:") is not None


def is_glob(path: str) -> bool:
    """Whether a path has wildcards: ``*``, ``?``, ``[ab]`` or ``{a,b}``."""
    return _GLOB.search(path) is not None


def is_file_object(candidate: object) -> bool:
    """Whether an object can be read like a file: it has ``read`` and ``seek``, or is a buffer."""
    if isinstance(candidate, (bytes, bytearray, memoryview)):
        return True
    return callable(getattr(candidate, "read", None)) and callable(getattr(candidate, "seek", None))


def is_dataset(path: str) -> bool:
    """Whether a local path is that of a dataset, with or without a version: "ttbar@v12"."""
    place, at, version = path.rpartition("@")
    here = [path, place] if at and "/" not in version else [path]
    return any(os.path.isfile(os.path.join(one, "fmt")) for one in here)


def check_exists(path: str) -> None:
    """Raises Python's usual error, with errno and file name, if a file on a local disk is missing.

    Raises:
        UsageError: for a directory; the hint is a glob of its files.
    """
    if is_url(path) or _core.is_on_network(path):
        return
    if is_dataset(path):
        return
    if os.path.isdir(path):
        hint = f"name its files with a glob, such as {os.path.join(path, '*.root')!r}"
        raise UsageError(f"{path!r} is a directory, not a file: {hint}", url=path, hint=hint)
    if not os.path.exists(path):
        message = f"no such file: {path!r} (looked in {os.getcwd()!r})"
        if is_glob(path):
            message += "; sapwood.iterate and sapwood.concatenate take globs"
        error = FileNotFoundError(message, url=path)
        error.errno, error.strerror, error.filename = errno.ENOENT, os.strerror(errno.ENOENT), path
        raise error


def _walk(files: Any, listed: Lister, split: bool = True) -> Iterator[FileSpec]:
    if isinstance(files, str):
        path, object_path = split_object_path(files) if split else (files, None)
        for name in _expand(path, listed):
            yield FileSpec(name, object_path)
    elif isinstance(files, os.PathLike):
        yield from (FileSpec(name) for name in _expand(_plain(files), listed))
    elif is_file_object(files) or hasattr(files, "num_entries"):
        yield FileSpec(files)
    elif isinstance(files, Mapping):
        for file, target in files.items():
            object_path, steps = _target(target)
            for spec in _walk(file, listed, split=False):
                yield FileSpec(spec.file, object_path, steps)
    elif isinstance(files, Iterable):
        for file in files:
            yield from _walk(file, listed, split)
    else:
        raise ArgumentTypeError(
            "files must be a path, URL or glob, a dict {path: tree}, an open tree, a file object, "
            f"or an iterable of these, not {files!r}"
        )


def _hashable(files: Any) -> bool:
    """Whether duplicates in ``files`` count once: a list may name a file twice on purpose."""
    return isinstance(files, (str, os.PathLike))


def _plain(file: Any) -> Any:
    if isinstance(file, os.PathLike):
        return _FOLDED_URL.sub(r"\1/", os.fspath(file))
    if isinstance(file, str) or is_file_object(file):
        return file
    raise ArgumentTypeError(
        f"a file must be a path, a URL, bytes, or an object with 'read' and 'seek', not {file!r}"
    )


def _object_path(text: Any) -> str | None:
    if not isinstance(text, str):
        raise ArgumentTypeError(f"the path of an object must be a string, not {text!r}")
    return re.sub(r"/+", "/", text.strip()).strip("/") or None


def _target(target: Any) -> tuple[str | None, tuple[tuple[int, int], ...] | None]:
    """A value of a dict of files: an object path, or {"object_path": …, "steps": …}."""
    if target is None:
        return None, None
    if isinstance(target, str):
        return _object_path(target), None
    if isinstance(target, Mapping):
        known = {"object_path", "steps", "num_entries", "uuid"}
        if not known.issuperset(target):
            raise UsageError(
                f"unknown keys {sorted(set(target) - known)} for a file; available: {sorted(known)}"
            )
        object_path = target.get("object_path")
        steps = target.get("steps")
        return object_path and _object_path(object_path), None if steps is None else _steps(steps)
    raise ArgumentTypeError(
        f"the values of a dict of files must be object paths, dicts or None, not {target!r}"
    )


def _steps(steps: Any) -> tuple[tuple[int, int], ...]:
    """Entry ranges, given as pairs or as the list of their edges."""
    try:
        items = list(steps)
        if items and all(isinstance(item, int) for item in items):
            pairs = list(itertools.pairwise(items))
        else:
            pairs = [(int(start), int(stop)) for start, stop in items]
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"steps must be pairs of entries, or their edges, not {steps!r}") from None
    if any(not 0 <= start <= stop for start, stop in pairs):
        raise UsageError(f"steps must be pairs start <= stop of entries, or rising edges, not {steps!r}")
    return tuple(pairs)


def _expand(path: str, listed: Lister) -> list[str]:
    """The files that match a glob, sorted; anything else unchanged."""
    if is_url(path):
        place, mark, opaque = path.partition("?")
        patterns = [one + mark + opaque for one in _expand_braces(place)]
        return list(dict.fromkeys(name for one in patterns for name in remote_glob(one, listed)))
    local = os.path.expanduser(path)
    if not is_glob(local) or os.path.exists(local):
        return [local]
    patterns = _expand_braces(local)
    return list(dict.fromkeys(name for pattern in patterns for name in sorted(glob.glob(pattern))))


def _expand_braces(pattern: str) -> list[str]:
    match = _BRACES.search(pattern)
    if match is None:
        return [pattern]
    head, tail = pattern[: match.start()], pattern[match.end() :]
    return [one for choice in match[1].split(",") for one in _expand_braces(head + choice + tail)]
