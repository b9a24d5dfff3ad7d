"""Several files in one command: globs, one result after the other, and trees one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import typer

from ._options import Access, Connection
from ._output import complain, print_json, print_line
from ._run import FAILED, describe, exit_code


def expanded(sources: Sequence[str], access: Connection) -> list[str]:
    """The arguments FILE[:PATH], with the matching files in place of each glob.

    Raises:
        FileNotFoundError: no file matches a glob.
    """
    from ..options.paths import CATALOGUED, is_url, several_files

    settings = access.settings
    found: list[str] = []
    for source in sources:
        local = not is_url(source)
        if source.startswith(CATALOGUED) or (local and (os.path.exists(source) or not _has_glob(source))):
            found.append(source)
            continue
        specs = several_files(source, settings.deadline, settings.for_core())
        found += [one.file if one.object_path is None else f"{one.file}:{one.object_path}" for one in specs]
    return found


def _has_glob(text: str) -> bool:
    from ..options.paths import is_glob, split_object_path

    return is_glob(split_object_path(text)[0])


def for_each(
    sources: Sequence[str],
    access: Any,
    function: Callable[[str], dict[str, Any]],
    failures: list[Exception] | None = None,
) -> None:
    """Calls a function that prints one file, or returns its document, for each of several files.

    A file that cannot be read is reported, and the others still follow. The command then exits with the
    code of the first failure; ``failures`` may hold others that the function reported itself.
    """
    failures = [] if failures is None else failures
    names = expanded(sources, access)
    documents: list[dict[str, Any]] = []
    for place, source in enumerate(names):
        if len(names) > 1 and not access.as_json:
            if place > 0:
                print_line()
            print_line(f"{source}:")
        try:
            documents.append(function(source))
        except Exception as error:
            if len(names) == 1 or exit_code(error) is None:
                raise
            complain(f"sapwood: {error}")
            documents.append({"file": source, "error": describe(error)})
            failures.append(error)
    if access.as_json:
        print_json(documents[0] if len(names) == 1 else {"files": documents})
    if failures:
        raise typer.Exit(exit_code(failures[0]) or FAILED)


def trees(
    source: str, access: Access, entries: tuple[int | None, int | None] = (None, None)
) -> Iterator[tuple[Any, int, int]]:
    """The trees of FILE[:TREE] or of a glob, one after the other, each with its part of a range of entries.

    The range is numbered across all files; negative numbers count from their end. A tree is open until the
    next one is requested.
    """
    from ..query.steps import entry_range
    from ._target import open_tree

    names = expanded([source], access)
    start, stop = entries
    if len(names) > 1 and ((start or 0) < 0 or (stop or 0) < 0):
        start, stop = entry_range(sum(_num_entries(name, access) for name in names), start, stop)
    offset = 0
    for name in names:
        if stop is not None and 0 <= stop <= offset and offset > 0:
            return
        with open_tree(name, access) as tree:
            if len(names) == 1:
                yield tree, *entry_range(tree.num_entries, start, stop)
                return
            first = max((start or 0) - offset, 0)
            last = tree.num_entries if stop is None else max(stop - offset, 0)
            yield tree, *entry_range(tree.num_entries, first, last)
            offset += tree.num_entries


def _num_entries(name: str, access: Access) -> int:
    from ._target import open_tree

    with open_tree(name, access) as tree:
        return int(tree.num_entries)
