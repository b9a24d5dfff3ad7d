"""Tasks that read some entries of a file: small to send, wherever they run."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import _core
from ...arrays.libraries import library_named
from ...errors import ArgumentTypeError, FileChangedError, UsageError
from ...model.branch import Branch
from ...model.file import File
from ...model.tree import Tree
from ...opening.ahead import opened_files
from ...opening.only_tree import only_tree
from ...opening.pool import POOL
from ...options.paths import FileSpec, is_url, several_files
from ...options.reading import WITHOUT_SECRETS, OpenOptions, open_options
from ...query.filters import Filters
from ...query.query import Query
from ...query.steps import entry_steps

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ...options.keywords import OpenKeywords


class EntryTask(NamedTuple):
    """Some entries of one file.

    Attributes:
        url: the file.
        tree: the path of the tree; None for the only one.
        first: the first entry, or with ``parts`` the number of the part.
        last: the end (exclusive), or with ``parts`` the end of the parts.
        parts: the number of equal parts that the tree is divided into when it is read; None if ``first`` and
            ``last`` are entries.
    """

    url: str
    tree: str | None
    first: int
    last: int
    parts: int | None = None

    def entries(self, num_entries: int) -> tuple[int, int]:
        """The range of entries in a tree of this length.

        >>> EntryTask("a.root", None, 1, 2, parts=3).entries(100)
        (33, 66)

        Raises:
            FileChangedError: the tree has fewer entries than when the task was made.
        """
        if self.parts is not None:
            return self.first * num_entries // self.parts, self.last * num_entries // self.parts
        if self.last > num_entries:
            raise FileChangedError(
                f"{_core.redact(self.url)} has {num_entries} entries, but had at least {self.last} when the "
                "tasks were planned; plan them again",
                url=_core.redact(self.url),
            )
        return self.first, self.last


@dataclass(frozen=True)
class Reading:
    """What tasks read, and how: the same for all of them, so it is sent only once.

    Attributes:
        columns, cut, library, how: as in :meth:`sapwood.Tree.arrays`.
        options: as the files are opened.
        threads: threads that decompress and decode in one task.
        spread: seconds over which the first tasks of all processes are spread, at random.
    """

    columns: Any = None
    cut: str | None = None
    library: str = "ak"
    how: Any = None
    options: OpenOptions = OpenOptions()  # noqa: RUF009
    threads: int | None = None
    spread: float = 0.0


_STARTED: list[float] = []
"""When this process ran its first task; empty before."""


def read_task(task: EntryTask, reading: Reading) -> Any:
    """Reads the entries of a task. The file stays open for the next one.

    Raises:
        SapwoodError: the file cannot be read; the message names it.
    """
    if not _STARTED:
        _STARTED.append(time.monotonic())
        time.sleep(random.uniform(0, reading.spread))
    with POOL.borrow(task.url, reading.options) as file:
        tree = tree_at(file, task.tree)
        first, last = task.entries(tree.num_entries)
        return tree.arrays(
            reading.columns,
            reading.cut,
            entry_start=first,
            entry_stop=last,
            library=reading.library,
            how=reading.how,
            threads=reading.threads,
        )


def tree_at(file: File, path: str | None) -> Tree:
    """The tree at a path of an open file, or its only one. It stays parsed for the next task."""
    found = file.kept_trees.get(path)
    if found is None:
        found = file.kept_trees[path] = _tree_at(file, path)
    return found


def _tree_at(file: File, path: str | None) -> Tree:
    path = file.dataset_tree if path is None else path
    if path is None:
        return only_tree(file)
    found = file[path]
    if not isinstance(found, Tree):
        raise UsageError(f"{file.file_path}:{path} is not a tree", url=file.file_path)
    return found


@dataclass(frozen=True)
class Plan:
    """Which entries of which files become tasks.

    Attributes:
        files: the files, with their trees, and their steps if the caller gave them.
        reading: what to read.
        step_size: entries or memory of one task.
        steps_per_file: equal parts of each file instead; then no file needs to be opened.
    """

    files: tuple[FileSpec, ...]
    reading: Reading
    step_size: int | str
    steps_per_file: int | None

    @property
    def needs_opening(self) -> bool:
        """Whether the tasks of a file are known only when it is open."""
        return self.steps_per_file is None and any(spec.steps is None for spec in self.files)

    def tasks_of(self, spec: FileSpec) -> list[EntryTask]:
        """The tasks of a file, which is opened if that is needed."""
        if spec.steps is not None:
            return [EntryTask(spec.file, spec.object_path, *step) for step in spec.steps]
        if self.steps_per_file is not None:
            parts = self.steps_per_file
            return [EntryTask(spec.file, spec.object_path, at, at + 1, parts) for at in range(parts)]
        with POOL.borrow(spec.file, self.reading.options) as file:
            return self._steps_of(spec, tree_at(file, spec.object_path))

    def tasks(self) -> list[EntryTask]:
        """The tasks of all files, in order; files are opened here if that is needed."""
        if not self.needs_opening:
            return [task for spec in self.files for task in self.tasks_of(spec)]
        found: list[EntryTask] = []
        with closing(opened_files(self.files, self.reading.options, False)) as files:
            for spec, file in zip(self.files, files, strict=True):
                is_known = spec.steps is not None
                found += self.tasks_of(spec) if is_known else self._steps_of(spec, file.source.tree)
        return found

    def _steps_of(self, spec: FileSpec, tree: Tree) -> list[EntryTask]:
        reading = self.reading
        leaves: Sequence[Branch] = ()
        if isinstance(self.step_size, str):
            library = library_named(reading.library)
            query = Query.of(tree, reading.columns, reading.cut, Filters(), None, library, reading.how, False)
            leaves = query.leaves
        steps = entry_steps(tree, leaves, 0, tree.num_entries, self.step_size)
        return [EntryTask(spec.file, spec.object_path, first, last) for first, last in steps]


def plan(
    files: Any,
    columns: Any = None,
    *,
    tree: str | None = None,
    cut: str | None = None,
    step_size: int | str = "100 MB",
    steps_per_file: int | None = None,
    library: str = "ak",
    how: Any = None,
    spread: float = 0.0,
    threads: int | None = 1,
    deadline: float | None = None,
    **options: Unpack[OpenKeywords],
) -> Plan:
    """Checks the arguments of a job on many machines; see :func:`sapwood.dask.from_files`."""
    settings = open_options(deadline, threads, options, plan)
    # Local globs and directories of servers are listed here; files are not looked at.
    specs = several_files(files, settings.deadline, settings.for_core())
    if tree is not None:
        specs = [one if one.object_path else replace(one, object_path=tree) for one in specs]
    specs = [replace(one, file=_sendable(one.file, settings)) for one in specs]
    if steps_per_file is not None and (isinstance(steps_per_file, bool) or steps_per_file < 1):
        raise UsageError(f"'steps_per_file' must be at least 1, not {steps_per_file!r}")
    if not 0 <= spread < 3600:
        raise UsageError(f"'spread' must be between 0 and 3600 seconds, not {spread!r}")
    names = columns if columns is None or isinstance(columns, str) else list(columns)
    reading = Reading(names, cut, library, how, settings, settings.threads, spread)
    return Plan(tuple(specs), reading, step_size, steps_per_file)


def _sendable(given: Any, options: OpenOptions) -> str:
    """A path or URL that means the same in other processes, and has no secrets."""
    if not isinstance(given, str):
        raise ArgumentTypeError(f"tasks need paths or URLs of files, not {type(given).__name__}")
    file: str = given
    if options.replicas is not None and options.replicas.function is not None:
        raise UsageError(
            "a function for 'replicas' cannot be sent to workers: use rules {beginning: prefixes}"
        )
    if not is_url(file) and options.replicas is None:
        file = os.path.abspath(os.path.expanduser(file))
    if options.has_secrets or (is_url(file) and _core.redact(file) != file):
        raise UsageError(f"{_core.redact(file)} cannot be read by other processes: {WITHOUT_SECRETS}")
    return file
