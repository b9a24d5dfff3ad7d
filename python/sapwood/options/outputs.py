"""The rule for all files that sapwood writes: inputs are never replaced, other files only on request."""

from __future__ import annotations

import errno
import glob
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from .. import _core
from ..errors import (
    ArgumentTypeError,
    CorruptFileError,
    FileNotFoundError,
    PermissionError,
    UnsupportedTypeError,
    UsageError,
)
from ..errors.core import core_errors
from .paths import is_url, split_object_path
from .remote_glob import STORES

STANDARD_OUTPUT = "-"
FORCE = "give --force (overwrite=True in Python)"
"""How to replace an existing file."""


@dataclass(frozen=True)
class Format:
    """The format of an output: its name in messages, and the suffixes of its files."""

    name: str
    suffixes: tuple[str, ...] = ()


ROOT = Format("a ROOT file", (".root",))
SVG = Format("an SVG picture", (".svg",))
PICTURE = Format("an SVG, PNG or PDF picture", (".svg", ".png", ".pdf"))
REPORT = Format("an HTML or JSON report", (".html", ".htm", ".json"))
RECORDING = Format("a recording", (".swt",))
RECEIPT = Format("a receipt, which is JSON", (".json",))
PROFILE = Format("a profile, which is JSON", (".json",))
FLAT = Format("a flat file", (".pds",))
DATASET = Format("a dataset")
_OF_DATASETS = frozenset(("hint", "d", "list", "snap", "log", "ref", "job", "lease"))
"""Names in the directory of a dataset, whose files may be replaced or collected."""
DATABASE = Format("an SQLite database", (".sqlite", ".sqlite3", ".db"))
TABLES = {
    "parquet": Format("Parquet", (".parquet", ".pq")),
    "feather": Format("Arrow's file format", (".feather", ".arrow")),
    "npz": Format("a NumPy archive", (".npz",)),
    "csv": Format("CSV", (".csv",)),
}
_OURS = (ROOT, SVG, REPORT, RECORDING, FLAT, DATABASE, *TABLES.values())
_OTHERS = (
    *(".npy", ".h5", ".hdf5", ".tsv", ".jsonl", ".xml", ".yaml", ".yml", ".toml", ".meta4", ".metalink"),
    *(".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz"),
    *(".png", ".jpg", ".jpeg", ".gif", ".pdf", ".ps", ".eps"),
    *(".py", ".ipynb", ".sh", ".cc", ".cpp", ".cxx", ".hh", ".rs", ".md", ".tex"),
    # The folder that 'sapwood tune' makes beside its report.
    ".work",
)
_KNOWN = frozenset((*(suffix for one in _OURS for suffix in one.suffixes), *_OTHERS))
"""Suffixes that name a format. A file with another suffix, or none, may hold anything."""

_NUMBERED_ROOT = re.compile(r"\.root\.[0-9]+", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443, "root": 1094, "roots": 1094}
_ALIASES = {
    "s3a": "s3",
    "s3s": "s3",
    "gcs": "gs",
    "azure": "az",
    "abfs": "az",
    "abfss": "az",
    "dav": "http",
    "davs": "https",
    "xroot": "root",
    "xroots": "roots",
}
"""Other names of schemes."""


def check_output(
    target: str | os.PathLike[str],
    what: Format,
    *,
    inputs: Iterable[Any] = (),
    overwrite: bool = False,
    remote: bool = False,
    deadline: float | None = None,
    replaced_by: str = FORCE,
) -> str:
    """Checks that a file may be written, before any work is done.

    Args:
        target: a path, a ``file://`` URL or, if ``remote``, the URL of an object.
        what: the format.
        inputs: all inputs: paths, URLs, globs, "file.root:Tree", open files, or collections of these.
        overwrite: whether to replace an existing file. An input is never replaced.
        remote: whether the target may be in an object store.
        deadline: seconds that looking for such an object may take.
        replaced_by: how to replace an existing file, for the message.

    Returns:
        The local path, or the URL.

    Raises:
        UsageError: if the target exists, is an input, or has the suffix of another format.
        FileNotFoundError: if its directory does not exist.
        PermissionError: if it is not writable.
    """
    place = check_name(target, what)
    refuse_inputs(place, inputs)
    if is_url(place):
        if not remote:
            raise UsageError(
                f"{_shown(place)}: {what.name} is written to local paths only; copy it afterwards",
                url=_shown(place),
            )
        if not overwrite and _is_object(place, deadline):
            raise _is_there(place, replaced_by)
        return place
    _check_local(place, overwrite, replaced_by)
    return place


def check_picture(path: str | os.PathLike[str], inputs: Iterable[Any], overwrite: bool) -> str:
    """Checks that an SVG picture may be written; its name must end with ".svg"."""
    if not os.fspath(path).lower().endswith(SVG.suffixes):
        raise UsageError(f"the picture is an SVG document: {os.fspath(path)!r} must end with '.svg'")
    return check_output(path, SVG, inputs=inputs, overwrite=overwrite)


def check_name(target: str | os.PathLike[str], what: Format) -> str:
    """Checks only the name; returns the local path, or the URL.

    Raises:
        UsageError: for "-", a path with an object in the file, or the suffix of another format.
    """
    if not isinstance(target, (str, bytes, os.PathLike)):
        raise ArgumentTypeError(f"{what.name} must be a path or URL, not {target!r}")
    text = os.fsdecode(target)
    if os.path.basename(text) == STANDARD_OUTPUT:
        raise UsageError(f"{what.name} cannot be written to standard output ('-'): name a file")
    if not text or "\0" in text or (text.endswith("/") and what is not DATASET):
        raise UsageError(f"{text!r} is not the name of a file")
    file, inside = split_object_path(text)
    if inside is not None:
        raise UsageError(f"{text!r} names an object in a file, but the output must be a file: write {file!r}")
    place = _local(text) or text
    # A link is followed when its target is replaced.
    for name in {_name(place), os.path.basename(os.path.realpath(place)) if not is_url(place) else ""}:
        suffix = ".root" if _NUMBERED_ROOT.search(name) else PurePosixPath(name).suffix.lower()
        if suffix in _KNOWN and suffix not in what.suffixes:
            usual = f", such as {what.suffixes[0]!r}" if what.suffixes else ""
            raise UsageError(f"{_shown(text)!r}: the output is {what.name}; choose another suffix{usual}")
    return place


def check_dataset(target: str | os.PathLike[str]) -> str:
    """Checks that a dataset may be created; returns its directory or URL.

    Raises:
        UsageError: as :func:`check_name`, and for a directory with other files under names that datasets use.
    """
    place = check_name(target, DATASET)
    if not is_url(place) and os.path.isdir(place) and not os.path.exists(os.path.join(place, "fmt")):
        for name in sorted(_OF_DATASETS.intersection(os.listdir(place))):
            message = f"{os.path.join(place, name)} exists and is not part of a dataset"
            raise UsageError(f"{message}: choose an empty directory", url=place)
    return place


def refuse_inputs(target: str, inputs: Iterable[Any]) -> None:
    """Raises a UsageError if the target is an input, under any name, or inside a dataset that is one."""
    for source in _names(inputs):
        if is_same(target, source):
            raise UsageError(
                f"{_shown(target)} is an input and cannot also be the output: choose another output",
                url=_shown(target),
            )
        if _is_inside(target, source):
            message = f"{_shown(target)} is inside the dataset {_shown(source)}, which is an input"
            raise UsageError(f"{message}: choose another output", url=_shown(target))


def refuse_existing(path: str | os.PathLike[str], replaced_by: str = FORCE) -> None:
    """Raises a UsageError if a local file exists."""
    if os.path.lexists(path):
        raise _is_there(os.fspath(path), replaced_by)


def _check_local(place: str, overwrite: bool, replaced_by: str) -> None:
    folder = os.path.dirname(os.path.realpath(place) if overwrite else place) or "."
    if not os.path.isdir(folder):
        missing = FileNotFoundError(f"{place}: there is no directory {folder!r}; create it first", url=place)
        missing.errno, missing.strerror, missing.filename = errno.ENOENT, os.strerror(errno.ENOENT), place
        raise missing
    if os.path.exists(place) and not os.path.isfile(place):
        kind = "a directory" if os.path.isdir(place) else "a device or a pipe"
        raise UsageError(f"{place} is {kind}: name a file", url=place)
    if not overwrite:
        refuse_existing(place, replaced_by)
    elif os.path.exists(place) and not os.stat(place).st_mode & 0o222:
        raise PermissionError(
            f"{place} is write-protected: make it writable, remove it, or choose another output", url=place
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{place}: the directory {folder!r} is not writable", url=place)


def _is_object(url: str, deadline: float | None) -> bool:
    """Whether there is an object at the URL of an object store; other servers cannot be written to."""
    if _scheme(url) not in STORES:
        return False
    try:
        with core_errors():
            _core.File.open(url, deadline=deadline).close()
    except FileNotFoundError:
        return False
    except PermissionError as error:
        # Permission to write need not include permission to read.
        message = f"no permission to check whether {_shown(url)} exists; to write it anyway, {FORCE}"
        raise PermissionError(f"{message} ({error})", url=_shown(url)) from None
    except (CorruptFileError, UnsupportedTypeError):
        pass
    return True


def _is_there(place: str, replaced_by: str) -> UsageError:
    return UsageError(f"{_shown(place)} exists; to replace it, {replaced_by}", url=_shown(place))


def _names(inputs: Any) -> Iterator[str]:
    """The paths and URLs that inputs may mean."""
    if inputs is None or isinstance(inputs, (bytes, bytearray, memoryview)) or callable(inputs):
        return
    if isinstance(inputs, (str, os.PathLike)):
        yield from _readings(os.fsdecode(inputs))
    elif hasattr(inputs, "file_path") or hasattr(inputs, "file"):
        # An open file, or something in one.
        yield from _readings(str(getattr(inputs, "file_path", None) or inputs.file.file_path))
    elif isinstance(getattr(inputs, "name", None), str):
        yield inputs.name
    elif isinstance(inputs, Iterable) and not isinstance(inputs, Iterator):
        for one in inputs:
            yield from _names(one)


def _readings(text: str) -> Iterator[str]:
    """A text, with and without object path, version, and chain of protocols; globs are expanded."""
    whole = [text, split_object_path(text)[0], text.rpartition(":")[0], *text.split("::")]
    for name in dict.fromkeys([*whole, *(one.rpartition("@")[0] for one in whole)]):
        local = _local(name)
        if local is None:
            if is_url(name):
                yield name
            continue
        yield local
        if glob.has_magic(local):
            yield from glob.iglob(local, recursive=True)


def _local(text: str) -> str | None:
    """The local path that a text means; None for URLs of servers and for an empty text."""
    if text.lower().startswith("file://"):
        host, slash, path = text[len("file://") :].partition("/")
        if slash and host.lower() in ("", "localhost"):
            return unquote(slash + path)
        raise UsageError(
            f"{text!r} is not a path on this machine: file URLs are written file:///path", url=text
        )
    return os.path.expanduser(text) if text and not is_url(text) else None


def is_same(target: str, source: str) -> bool:
    """Whether two paths or URLs name the same file."""
    target, source = _local(target) or target, _local(source) or source
    if is_url(target) or is_url(source):
        return is_url(target) and is_url(source) and _normal(target) == _normal(source)
    if "\0" in target + source:  # impossible in a path
        return False
    try:
        return os.path.samefile(target, source)
    except OSError:
        return os.path.realpath(target) == os.path.realpath(source)


def _is_inside(target: str, source: str) -> bool:
    if is_url(target) or is_url(source):
        return is_url(target) and is_url(source) and _normal(target).startswith(_normal(source) + "/")
    is_dataset = os.path.isfile(os.path.join(source, "fmt"))
    return is_dataset and os.path.realpath(target).startswith(os.path.join(os.path.realpath(source), ""))


def _normal(url: str) -> str:
    """The normal form of a URL: without password, query and default port."""
    parts = urlsplit(url)
    scheme = _scheme(url)
    if scheme in STORES:
        # Keys are taken literally. In URLs of Azure, the container may be in the place of the user.
        host = parts.netloc.lower() if scheme == "az" else parts.netloc.lower().rpartition("@")[2]
        return f"{scheme}://{host}{parts.path.rstrip('/')}"
    try:
        port = parts.port or _PORTS.get(scheme, 0)
    except ValueError:
        return url
    path = posixpath.normpath("/" + unquote(parts.path).strip("/"))
    return f"{scheme}://{(parts.hostname or '').lower()}:{port}{path}"


def _scheme(url: str) -> str:
    """The scheme of a URL, under its usual name."""
    scheme = url.partition("://")[0].lower()
    return _ALIASES.get(scheme, scheme)


def _name(place: str) -> str:
    """The last part of a path or URL."""
    return urlsplit(place).path.rpartition("/")[2] if is_url(place) else os.path.basename(place)


def _shown(place: str) -> str:
    """A path or URL without secrets."""
    if not is_url(place):
        return place
    return _core.redact(place)
