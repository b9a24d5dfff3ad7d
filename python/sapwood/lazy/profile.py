"""Profiles: which columns an analysis was seen to use, kept in a file so that the next job starts trained."""

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
from ..errors import ProfileWarning, UsageError
from ..options.locked import locked
from ..options.outputs import PROFILE, check_name
from ..options.whole_file import write_whole

if TYPE_CHECKING:
    from ..model.tree import Tree

FORMAT, VERSION = "sapwood profile", 1
SUFFIX = ".json"
MOST_WINDOWS = 4096
"""Counts above this are halved when a profile is saved: what was seen long ago counts less and less."""
_NAME = re.compile(r"[\w+-][\w.+-]*")


@dataclass
class TreeUse:
    """What is known of the trees of one name and schema.

    Attributes:
        tree: the name of the tree.
        schema: a digest of the names and types of its branches.
        columns: by path of the branch, windows in which it was touched, and windows that were seen. A window
            is what is fetched together: the entries of one or more whole clusters.
    """

    tree: str
    schema: str
    columns: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, column: str, touched: int, seen: int) -> None:
        """Counts more windows of a column."""
        before = self.columns.get(column, (0, 0))
        self.columns[column] = (before[0] + touched, before[1] + seen)

    def shares(self) -> dict[str, float]:
        """By column, the share of windows in which it was touched; those never touched are left out."""
        return {
            name: min(1.0, touched / seen)
            for name, (touched, seen) in self.columns.items()
            if touched and seen
        }

    def aged(self) -> TreeUse:
        """The same with counts halved until none is above :data:`MOST_WINDOWS`; zeros are forgotten."""
        columns = {}
        for name, (touched, seen) in self.columns.items():
            while seen > MOST_WINDOWS:
                touched, seen = touched // 2, seen // 2
            if touched:
                columns[name] = (touched, seen)
        return TreeUse(self.tree, self.schema, columns)


class Profile:
    """What was learned about the use of trees, by name and schema of the tree.

    ``tree.events(profile=…)``, ``tree.lazy(profile=…)`` and ``tree.arrays(virtual=True, profile=…)`` take a
    profile, its name or its path; they begin with what it says, add what they see, and save it at their end.
    Several processes may save the same profile: what each of them saw is added up.

    >>> from pathlib import Path; import tempfile
    >>> profile = Profile(Path(tempfile.mkdtemp()) / "z-peak.json")
    >>> profile.add("Events", "0f2e41bd", {"Muon_pt": (10, 10), "Jet_pt": (1, 10)})
    >>> profile.save()
    >>> Profile.load(profile.path).shares("Events", "0f2e41bd")
    {'Jet_pt': 0.1, 'Muon_pt': 1.0}
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """An empty profile; without a path, one that stays in memory."""
        self.path = None if path is None else Path(path)
        self._known: dict[tuple[str, str], TreeUse] = {}
        self._unsaved: dict[tuple[str, str], TreeUse] = {}
        self._lock = threading.RLock()

    @classmethod
    def load(cls, where: str | os.PathLike[str]) -> Profile:
        """The profile of a name or a path; empty if there is none yet.

        A file that is damaged, or that cannot be read, causes a :class:`sapwood.errors.ProfileWarning`; the
        profile is then empty, and the file stays as it is.
        """
        profile = cls(profile_path(where))
        assert profile.path is not None
        try:
            profile._known = _read(profile.path)
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            _warn(f"the profile {profile.path} is not used: {error}")
        return profile

    @property
    def name(self) -> str:
        """The name that it is found by, or its path if that is not where named profiles are."""
        if self.path is None:
            return "(in memory)"
        named = self.path.parent == profile_folder() and self.path.suffix == SUFFIX
        return self.path.stem if named else str(self.path)

    @property
    def trees(self) -> list[TreeUse]:
        """What is known, by tree."""
        return list(self._known.values())

    def shares(self, tree: str, schema: str) -> dict[str, float]:
        """By column of a tree, the share of windows in which it was touched; nothing for another schema."""
        found = self._known.get((tree, schema))
        return {} if found is None else found.shares()

    def add(self, tree: str, schema: str, columns: Mapping[str, tuple[int, int]]) -> None:
        """Adds what was seen: by column, windows in which it was touched, and windows that were seen."""
        new = {(tree, schema): TreeUse(tree, schema, dict(columns))}
        with self._lock:
            _merge(self._known, new)
            _merge(self._unsaved, new)

    def merge(self, *others: Profile) -> None:
        """Adds all that other profiles know."""
        for other in others:
            for use in other.trees:
                self.add(use.tree, use.schema, use.columns)

    def save(self) -> None:
        """Adds what is new since it was loaded or last saved to its file, and takes over what others saved.

        What cannot be saved causes a :class:`sapwood.errors.ProfileWarning`: no analysis fails for it. A file
        that is no profile is not touched.
        """
        with self._lock:
            if self.path is None or not self._unsaved:
                return
            unsaved, self._unsaved = self._unsaved, {}
            try:
                self._known = _add_to_file(self.path, unsaved)
            except (OSError, ValueError) as error:
                _merge(self._unsaved, unsaved)
                _warn(f"the profile {self.path} was not saved: {error}")

    def show(self, stream: TextIO | None = None) -> None:
        """Prints a line per column: the share of windows that used it, and how many windows were seen."""
        out = sys.stdout if stream is None else stream
        trees = "tree" if len(self._known) == 1 else "trees"
        out.write(printable(f"{self.name}: {len(self._known)} {trees}") + "\n")
        for use in self.trees:
            out.write(printable(f"{use.tree} (schema {use.schema})") + "\n")
            for column, share, seen in by_share(use):
                out.write(printable(f"  {share:6.1%} of {seen:>5,} windows  {column}") + "\n")

    @shows_printable
    def __repr__(self) -> str:
        columns = sum(len(use.columns) for use in self.trees)
        return f"<Profile {self.name!r}: {len(self._known)} trees, {columns} columns>"


def by_share(use: TreeUse) -> list[tuple[str, float, int]]:
    """(column, share of windows, windows seen), those that are used most first."""
    rows = [(name, share, use.columns[name][1]) for name, share in use.shares().items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def profile_folder() -> Path:
    """Where named profiles are: ``sapwood/profiles`` in the user's cache directory."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "sapwood" / "profiles"


def profile_path(where: str | os.PathLike[str]) -> Path:
    """The file of a name, or the path itself.

    A path has a separator in it, or ends in ".json".

    Raises:
        UsageError: for a name that cannot be that of a file everywhere.
    """
    text = os.fspath(where)
    if not isinstance(where, str) or os.sep in text or "/" in text or text.endswith(SUFFIX):
        return Path(check_name(text, PROFILE))
    if not _NAME.fullmatch(text):
        raise UsageError(
            f"{text!r} is no name for a profile: it has letters, digits, and . _ + - only; a path has a '/'"
        )
    return profile_folder() / f"{text}{SUFFIX}"


def check_profile(path: Path) -> None:
    """Raises a UsageError if a file is not a profile, so that it is neither changed nor deleted as one."""
    try:
        _read(path)
    except ValueError as error:
        raise UsageError(f"{path} is left as it is: {error}") from None


def saved_profiles() -> Iterator[Path]:
    """The files of the named profiles, sorted."""
    yield from sorted(profile_folder().glob(f"*{SUFFIX}"))


def profile_of(where: Profile | str | os.PathLike[str] | None) -> Profile | None:
    """What a reader is given as ``profile=``."""
    return where if where is None or isinstance(where, Profile) else Profile.load(where)


def schema_digest(tree: Tree) -> str:
    """A short digest of the names and types of a tree's branches, whatever their order."""
    lines = sorted(f"{branch.path}\t{branch.typename}" for branch in tree.core.branches)
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()[:16]


def _merge(known: dict[tuple[str, str], TreeUse], new: Mapping[tuple[str, str], TreeUse]) -> None:
    for key, more in new.items():
        use = known.setdefault(key, TreeUse(more.tree, more.schema))
        for column, (touched, seen) in more.columns.items():
            use.add(column, touched, seen)


def _add_to_file(path: Path, new: Mapping[tuple[str, str], TreeUse]) -> dict[tuple[str, str], TreeUse]:
    """Adds to what a file says; returns what it says then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path):
        try:
            known = _read(path)
        except FileNotFoundError:
            known = {}
        _merge(known, new)
        known = {key: use.aged() for key, use in known.items()}
        write_whole(path, _text(known))
    return known


def _read(path: Path) -> dict[tuple[str, str], TreeUse]:
    """What a file says.

    Raises:
        ValueError: if it is no profile.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("it is damaged") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError("it is no profile of sapwood")
    if document.get("version") != VERSION:
        raise ValueError(f"its version is {document.get('version')!r}, and this sapwood reads {VERSION}")
    known: dict[tuple[str, str], TreeUse] = {}
    try:
        for one in document["trees"]:
            use = known.setdefault(
                (str(one["tree"]), str(one["schema"])), TreeUse(one["tree"], one["schema"])
            )
            for column, (touched, seen) in one["columns"].items():
                if not (type(touched) is type(seen) is int and 0 <= touched <= seen):
                    raise ValueError(f"its counts for {column!r} are none: {touched!r} of {seen!r} windows")
                use.add(column, touched, seen)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is damaged ({type(error).__name__}: {error})") from None
    return known


def _text(known: Mapping[tuple[str, str], TreeUse]) -> str:
    trees: list[dict[str, Any]] = [
        {"tree": use.tree, "schema": use.schema, "columns": dict(sorted(use.columns.items()))}
        for use in known.values()
    ]
    return json.dumps({"format": FORMAT, "version": VERSION, "trees": trees}, indent=1) + "\n"


def _warn(text: str) -> None:
    warnings.warn(text, ProfileWarning, stacklevel=3)
