"""Profiles: files that record which columns an analysis uses, so that the next job can prefetch them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..display.printable import printable, shows_printable
from ..display.units import counted
from ..errors import ArgumentTypeError, ProfileWarning, UsageError
from ..options.locked import locked
from ..options.outputs import PROFILE, check_name
from ..options.whole_file import write_whole

if TYPE_CHECKING:
    from ..model.tree import Tree

FORMAT, VERSION = "sapwood profile", 1
SUFFIX = ".json"
MAX_WINDOWS = 4096
"""When a profile is saved, larger counts are halved, so that old observations lose weight."""
_NAME = re.compile(r"[\w+-][\w.+-]*")


@dataclass
class TreeUse:
    """The recorded use of trees with one name and schema.

    Attributes:
        tree: the name of the tree.
        schema: a digest of the names and types of its branches.
        columns: by path of the branch, the number of windows in which it was touched, and the number of
            windows that were seen. A window is a range of entries that is fetched together: one or more whole
            clusters.
    """

    tree: str
    schema: str
    columns: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, column: str, touched: int, seen: int) -> None:
        """Counts more windows of a column."""
        before = self.columns.get(column, (0, 0))
        self.columns[column] = (before[0] + touched, before[1] + seen)

    def shares(self) -> dict[str, float]:
        """The share of windows in which each column was touched, for columns that were ever touched."""
        return {
            name: min(1.0, touched / seen)
            for name, (touched, seen) in self.columns.items()
            if touched and seen
        }

    def aged(self) -> TreeUse:
        """A copy with counts halved until none is above :data:`MAX_WINDOWS`, and without zeros."""
        columns = {}
        for name, (touched, seen) in self.columns.items():
            while seen > MAX_WINDOWS:
                touched, seen = touched // 2, seen // 2
            if touched:
                columns[name] = (touched, seen)
        return TreeUse(self.tree, self.schema, columns)


class Profile:
    """The recorded use of columns, by name and schema of the tree.

    ``tree.events(profile=…)``, ``tree.lazy(profile=…)`` and ``tree.arrays(virtual=True, profile=…)`` take a
    profile, its name or its path. They prefetch the columns that it lists, add what they observe, and save it
    at the end. Several processes can save the same profile: their observations are added up.

    >>> from pathlib import Path; import tempfile
    >>> profile = Profile(Path(tempfile.mkdtemp()) / "z-peak.json")
    >>> profile.add("Events", "0f2e41bd", {"Muon_pt": (10, 10), "Jet_pt": (1, 10)})
    >>> profile.save()
    >>> Profile.load(profile.path).shares("Events", "0f2e41bd")
    {'Jet_pt': 0.1, 'Muon_pt': 1.0}
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Makes an empty profile. Without a path, it stays in memory."""
        self.path = None if path is None else Path(path)
        self._uses: dict[tuple[str, str], TreeUse] = {}
        self._unsaved: dict[tuple[str, str], TreeUse] = {}
        self._lock = threading.RLock()

    @classmethod
    def load(cls, where: str | os.PathLike[str]) -> Profile:
        """The profile with a name or at a path; empty if there is none yet.

        If the file is damaged or cannot be read, a :class:`sapwood.errors.ProfileWarning` is issued, the
        profile is empty, and the file is left unchanged.

        Raises:
            UsageError: if the name is invalid.
        """
        profile = cls(profile_path(where))
        assert profile.path is not None
        try:
            profile._uses = _read(profile.path)
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            _warn(f"ignored the profile {profile.path}: {error}")
        return profile

    @property
    def name(self) -> str:
        """The profile's name; its path if it is not in the folder of named profiles."""
        if self.path is None:
            return "(in memory)"
        named = self.path.parent == profile_folder() and self.path.suffix == SUFFIX
        return self.path.stem if named else str(self.path)

    @property
    def trees(self) -> list[TreeUse]:
        """The recorded use of each tree."""
        return list(self._uses.values())

    def shares(self, tree: str, schema: str) -> dict[str, float]:
        """The share of windows, from 0 to 1, in which each column of a tree was touched.

        The dict is empty if the profile has no tree with this name and schema.
        """
        use = self._uses.get((tree, schema))
        return {} if use is None else use.shares()

    def add(self, tree: str, schema: str, columns: Mapping[str, tuple[int, int]]) -> None:
        """Adds observations: for each column, the numbers of windows touched and of windows seen."""
        new = {(tree, schema): TreeUse(tree, schema, dict(columns))}
        with self._lock:
            _merge(self._uses, new)
            _merge(self._unsaved, new)

    def merge(self, *others: Profile) -> None:
        """Adds the observations of other profiles."""
        for other in others:
            for use in other.trees:
                self.add(use.tree, use.schema, use.columns)

    def save(self) -> None:
        """Adds the unsaved observations to the file, and loads those that other processes saved.

        If this fails, a :class:`sapwood.errors.ProfileWarning` is issued, so that no analysis fails because
        of its profile. A file that is not a profile is never changed.
        """
        with self._lock:
            if self.path is None or not self._unsaved:
                return
            unsaved, self._unsaved = self._unsaved, {}
            try:
                self._uses = _add_to_file(self.path, unsaved)
            except (OSError, ValueError) as error:
                _merge(self._unsaved, unsaved)
                _warn(f"cannot save the profile {self.path}: {error}")

    def show(self, stream: TextIO | None = None) -> None:
        """Prints a line per column: the share of windows that used it, and the number of windows seen.

        ``stream`` defaults to the standard output.
        """
        out = sys.stdout if stream is None else stream
        out.write(printable(f"{self.name}: {counted(len(self._uses), 'tree')}") + "\n")
        for use in self.trees:
            out.write(printable(f"{use.tree} (schema {use.schema})") + "\n")
            for column, share, seen in by_share(use):
                windows = "window " if seen == 1 else "windows"
                out.write(printable(f"  {share:6.1%} of {seen:>5,} {windows}  {column}") + "\n")

    @shows_printable
    def __repr__(self) -> str:
        columns = counted(sum(len(use.columns) for use in self.trees), "column")
        return f"<Profile {self.name!r}: {counted(len(self._uses), 'tree')}, {columns}>"


def by_share(use: TreeUse) -> list[tuple[str, float, int]]:
    """(column, share of windows, windows seen) for each column, the most used first."""
    rows = [(name, share, use.columns[name][1]) for name, share in use.shares().items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def profile_folder() -> Path:
    """The folder of named profiles: ``sapwood/profiles`` in the user's cache directory."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "sapwood" / "profiles"


def profile_path(where: str | os.PathLike[str]) -> Path:
    """The file of a named profile; a path is returned as it is.

    A text is a path if it contains a separator or ends with ".json".

    Raises:
        UsageError: if the name is invalid.
    """
    text = os.fspath(where)
    if not isinstance(where, str) or os.sep in text or "/" in text or text.endswith(SUFFIX):
        return Path(check_name(text, PROFILE))
    if not _NAME.fullmatch(text):
        raise UsageError(
            f"invalid profile name {text!r}: use only letters, digits and . _ + -, or a path with a '/'"
        )
    return profile_folder() / f"{text}{SUFFIX}"


def check_profile(path: Path) -> None:
    """Raises a UsageError if a file is not a valid profile, so that it is neither changed nor deleted."""
    try:
        _read(path)
    except ValueError as error:
        raise UsageError(f"left {path} unchanged: {error}") from None


def saved_profiles() -> Iterator[Path]:
    """Yields the files of the named profiles, sorted by name."""
    yield from sorted(profile_folder().glob(f"*{SUFFIX}"))


def profile_of(where: Profile | str | os.PathLike[str] | None) -> Profile | None:
    """The profile for the argument ``profile`` of a reader."""
    if where is None or isinstance(where, Profile):
        return where
    if not isinstance(where, (str, os.PathLike)):
        raise ArgumentTypeError(f"'profile' must be a sapwood.Profile, a name or a path, not {where!r}")
    return Profile.load(where)


def schema_digest(tree: Tree) -> str:
    """A short digest of the names and types of a tree's branches, which does not depend on their order."""
    return hashlib.sha256(tree.core.schema_text().encode()).hexdigest()[:16]


def _merge(uses: dict[tuple[str, str], TreeUse], new: Mapping[tuple[str, str], TreeUse]) -> None:
    for key, more in new.items():
        use = uses.setdefault(key, TreeUse(more.tree, more.schema))
        for column, (touched, seen) in more.columns.items():
            use.add(column, touched, seen)


def _add_to_file(path: Path, new: Mapping[tuple[str, str], TreeUse]) -> dict[tuple[str, str], TreeUse]:
    """Adds observations to a file, and returns all that it then contains."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path):
        try:
            uses = _read(path)
        except FileNotFoundError:
            uses = {}
        _merge(uses, new)
        uses = {key: use.aged() for key, use in uses.items()}
        write_whole(path, _text(uses))
    return uses


def _read(path: Path) -> dict[tuple[str, str], TreeUse]:
    """The contents of a profile's file.

    Raises:
        ValueError: if the file is not a profile, or damaged.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the file is damaged ({error})") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError("the file is not a sapwood profile")
    if document.get("version") != VERSION:
        raise ValueError(
            f"the profile has version {document.get('version')!r}, but this sapwood reads only {VERSION}"
        )
    uses: dict[tuple[str, str], TreeUse] = {}
    try:
        for one in document["trees"]:
            use = uses.setdefault((str(one["tree"]), str(one["schema"])), TreeUse(one["tree"], one["schema"]))
            for column, (touched, seen) in one["columns"].items():
                if not (type(touched) is type(seen) is int and 0 <= touched <= seen):
                    raise ValueError(f"invalid counts for {column!r}: {touched!r} of {seen!r} windows")
                use.add(column, touched, seen)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the file is damaged ({type(error).__name__}: {error})") from None
    return uses


def _text(uses: Mapping[tuple[str, str], TreeUse]) -> str:
    trees: list[dict[str, Any]] = [
        {"tree": use.tree, "schema": use.schema, "columns": dict(sorted(use.columns.items()))}
        for use in uses.values()
    ]
    return json.dumps({"format": FORMAT, "version": VERSION, "trees": trees}, indent=1) + "\n"


def _warn(text: str) -> None:
    warnings.warn(text, ProfileWarning, stacklevel=3)
