"""The rule for all files that sapwood writes: no input is replaced, and other files only when you ask."""

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
from ..errors import CorruptFileError, FileNotFoundError, PermissionError, UnsupportedTypeError, UsageError
from ..errors.core import core_errors
from .paths import is_url, split_object_path
from .remote_glob import STORES

STANDARD_OUTPUT = "-"
FORCE = "give --force (overwrite=True in Python)"
"""How an existing file is replaced."""


@dataclass(frozen=True)
class Format:
    """What an output holds: its name in messages, and the suffixes that a file of it may have."""

    name: str
    suffixes: tuple[str, ...] = ()


ROOT = Format("a ROOT file", (".root",))
SVG = Format("an SVG picture", (".svg",))
REPORT = Format("an HTML or JSON report", (".html", ".htm", ".json"))
RECORDING = Format("a recording", (".swt",))
RECEIPT = Format("a receipt, which is JSON", (".json",))
PROFILE = Format("a profile, which is JSON", (".json",))
FLAT = Format("a flat file", (".pds",))
DATASET = Format("a dataset")
_OF_DATASETS = frozenset(("hint", "d", "list", "snap", "log", "ref", "job", "lease"))
"""What lies in the directory of a dataset, which may be replaced or collected."""
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
"""Suffixes that name a format. A file of any other suffix, or of none, may hold anything."""

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
"""Schemes that have several names."""


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
    """Checks that a file may be written, before any work is done for it.

    Args:
        target: a path, a ``file://`` URL, or if ``remote`` the URL of an object.
        what: what is written.
        inputs: whatever is read: paths, URLs, globs, "file.root:Tree", open files, or collections of these.
        overwrite: whether an existing file is replaced. An input never is.
        remote: whether it may also be an object in an object store.
        deadline: seconds that looking for such an object may take.
        replaced_by: what to do to replace an existing file.

    Returns:
        The local path, or the URL.

    Raises:
        UsageError: if the target exists, is an input, or has the suffix of another format.
        FileNotFoundError: if its directory does not exist.
        PermissionError: if it may not be written.
    """
    place = check_name(target, what)
    refuse_inputs(place, inputs)
    if is_url(place):
        if not remote:
            raise UsageError(
                f"{_shown(place)}: {what.name} is written to a local path: write it there, and copy it",
                url=_shown(place),
            )
        if not overwrite and _is_object(place, deadline):
            raise _is_there(place, replaced_by)
        return place
    _check_local(place, overwrite, replaced_by)
    return place


def check_picture(path: str | os.PathLike[str], inputs: Iterable[Any], overwrite: bool) -> str:
    """Checks that an SVG picture may be written; its name has to end with ".svg"."""
    if not os.fspath(path).lower().endswith(SVG.suffixes):
        raise UsageError(f"the picture is an SVG document: {os.fspath(path)!r} should end with '.svg'")
    return check_output(path, SVG, inputs=inputs, overwrite=overwrite)


def check_name(target: str | os.PathLike[str], what: Format) -> str:
    """Checks the name alone; returns the local path, or the URL.

    Raises:
        UsageError: for "-", a path with an object in the file, and the suffix of another format.
    """
    text = os.fsdecode(target)
    if os.path.basename(text) == STANDARD_OUTPUT:
        raise UsageError(f"'-' is standard output, which {what.name} cannot be written to: name a file")
    if not text or (text.endswith("/") and what is not DATASET):
        raise UsageError(f"{text!r} is not the name of a file")
    file, inside = split_object_path(text)
    if inside is not None:
        raise UsageError(f"{text!r} names an object in a file, but the output is a file: write {file!r}")
    place = _local(text) or text
    # A link is followed when its file is replaced.
    for name in {_name(place), os.path.basename(os.path.realpath(place)) if not is_url(place) else ""}:
        suffix = ".root" if _NUMBERED_ROOT.search(name) else PurePosixPath(name).suffix.lower()
        if suffix in _KNOWN and suffix not in what.suffixes:
            usual = f", such as {what.suffixes[0]!r}" if what.suffixes else ""
            raise UsageError(f"{_shown(text)!r}: the output is {what.name}: choose another suffix{usual}")
    return place


def check_dataset(target: str | os.PathLike[str]) -> str:
    """Checks that a dataset may be made; returns its directory or URL.

    Raises:
        UsageError: as :func:`check_name`, and for a directory with other files of names that datasets use.
    """
    place = check_name(target, DATASET)
    if not is_url(place) and os.path.isdir(place) and not os.path.exists(os.path.join(place, "fmt")):
        for name in sorted(_OF_DATASETS.intersection(os.listdir(place))):
            message = f"{os.path.join(place, name)} exists and is not part of a dataset"
            raise UsageError(f"{message}: choose an empty directory", url=place)
    return place


def refuse_inputs(target: str, inputs: Iterable[Any]) -> None:
    """Raises a UsageError if the target is an input, by whatever name, or lies in a dataset that is one."""
    for source in _names(inputs):
        if is_same(target, source):
            raise UsageError(
                f"{_shown(target)} is read, and cannot be the output as well: choose another output",
                url=_shown(target),
            )
        if _is_inside(target, source):
            message = f"{_shown(target)} lies in the dataset {_shown(source)}, which is read"
            raise UsageError(f"{message}: choose another output", url=_shown(target))


def refuse_existing(path: str | os.PathLike[str], replaced_by: str = FORCE) -> None:
    """Raises a UsageError if a local file exists."""
    if os.path.lexists(path):
        raise _is_there(os.fspath(path), replaced_by)


def _check_local(place: str, overwrite: bool, replaced_by: str) -> None:
    folder = os.path.dirname(os.path.realpath(place) if overwrite else place) or "."
    if not os.path.isdir(folder):
        missing = FileNotFoundError(f"{place}: there is no directory {folder!r}: make it first", url=place)
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
        raise PermissionError(f"{place}: you may not write to the directory {folder!r}", url=place)


def _is_object(url: str, deadline: float | None) -> bool:
    """Whether there is an object at a URL of an object store; others cannot be written to anyway."""
    if _scheme(url) not in STORES:
        return False
    try:
        with core_errors():
            _core.File.open(url, deadline=deadline, options={}).close()
    except FileNotFoundError:
        return False
    except PermissionError as error:
        # Whoever may write need not be allowed to read.
        message = f"nobody may see whether {_shown(url)} exists: to write it anyway, {FORCE}"
        raise PermissionError(f"{message} ({error})", url=_shown(url)) from None
    except (CorruptFileError, UnsupportedTypeError):
        pass
    return True


def _is_there(place: str, replaced_by: str) -> UsageError:
    return UsageError(f"{_shown(place)} exists: to replace it, {replaced_by}", url=_shown(place))


def _names(inputs: Any) -> Iterator[str]:
    """The paths and URLs that inputs may stand for."""
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
    """A text and what it names without an object path, a version, or a chain of protocols; globs expanded."""
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
    """The local path that a text means; None for URLs of servers, and for nothing."""
    if text.lower().startswith("file://"):
        host, slash, path = text[len("file://") :].partition("/")
        if slash and host.lower() in ("", "localhost"):
            return unquote(slash + path)
        raise UsageError(f"{text!r} is no path of this machine: a file URL is file:///path", url=text)
    return os.path.expanduser(text) if text and not is_url(text) else None


def is_same(target: str, source: str) -> bool:
    """Whether two paths or URLs name the same file."""
    target, source = _local(target) or target, _local(source) or source
    if is_url(target) or is_url(source):
        return is_url(target) and is_url(source) and _normal(target) == _normal(source)
    if "\0" in target + source:  # no path has it
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
    """A URL in the one form that all its spellings have: without password, query and default port."""
    parts = urlsplit(url)
    scheme = _scheme(url)
    if scheme in STORES:
        # Keys are taken literally. An Azure container may stand where users do.
        host = parts.netloc.lower() if scheme == "az" else parts.netloc.lower().rpartition("@")[2]
        return f"{scheme}://{host}{parts.path.rstrip('/')}"
    try:
        port = parts.port or _PORTS.get(scheme, 0)
    except ValueError:
        return url
    path = posixpath.normpath("/" + unquote(parts.path).strip("/"))
    return f"{scheme}://{(parts.hostname or '').lower()}:{port}{path}"


def _scheme(url: str) -> str:
    """The scheme of a URL, by its usual name."""
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
