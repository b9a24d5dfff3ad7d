"""Several files in one command: globs, one result or output for each, and trees one after the other."""

from __future__ import annotations

import itertools
import os
import posixpath
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


def trees_and_columns(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments FILE[:TREE]... and the others, told apart by their names: columns, or an output first.

    >>> trees_and_columns(["data", "b.root:Events", "https://host/c", "run", "Muon_pt * 2"])
    (['data', 'b.root:Events', 'https://host/c'], ['run', 'Muon_pt * 2'])
    >>> trees_and_columns(["a.root", "b.root", "file:///data/both.csv", "run"])
    (['a.root', 'b.root'], ['file:///data/both.csv', 'run'])
    """
    from ..options.outputs import TABLES
    from ..options.paths import CATALOGUED, is_root_file, is_url

    tables = tuple(suffix for one in TABLES.values() for suffix in one.suffixes)

    def is_file(text: str) -> bool:
        if is_url(text):
            return not text.lower().endswith(tables)
        return is_root_file(text) or text.startswith(CATALOGUED)

    files = list(itertools.takewhile(is_file, arguments[1:]))
    return [arguments[0], *files], list(arguments[1 + len(files) :])


def require_matches(tree: Any, filter_name: str | None) -> None:
    """Refuses a filter that no branch matches.

    Raises:
        UsageError: the error names the filter, and the command that lists the branches.
    """
    from ..errors import UsageError
    from ._target import place_of

    if filter_name is not None and not tree.keys(filter_name=filter_name):
        place = place_of(tree)
        raise UsageError(f"no branch matches --filter {filter_name!r}; list them with 'sapwood show {place}'")


def each_once(filter_name: str | None) -> Callable[[Any], bool] | None:
    """The filter for columns that nobody named: without collections of RNTuples that other fields show.

    ROOT's importer writes NanoAOD's ``Muon_pt`` and others as projections of a field ``_collection0``.
    """
    from ..query.filters import is_shown_by_projections

    return None if filter_name is not None else lambda branch: not is_shown_by_projections(branch)


def selection(columns: Sequence[str], filter_name: str | None) -> dict[str, Any]:
    """The arguments of :meth:`sapwood.Tree.arrays` that select columns: by name, with --filter, or all.

    Raises:
        UsageError: if both are given, as names are not filtered.
    """
    from ..errors import UsageError

    if columns and filter_name is not None:
        hint = "name columns, or select them with --filter"
        raise UsageError(f"{columns[0]!r} and --filter cannot be combined: {hint}", hint=hint)
    filters = {"filter_name": filter_name, "filter_branch": None if columns else each_once(filter_name)}
    return {"expressions": list(columns) or None, **filters}


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
    _each(expanded(sources, access), access, function, [] if failures is None else failures)


def for_each_output(
    sources: Sequence[str],
    target: str,
    access: Any,
    suffix: str,
    function: Callable[[str, str], dict[str, Any]],
) -> None:
    """Calls a function that writes the output of an input and returns its document, for each input.

    The target is the output of one input, or a directory: outputs in it have the names of their inputs, with
    this suffix. Failures are treated as in :func:`for_each`.

    Raises:
        UsageError: if several inputs have the same output.
    """
    from ..errors import UsageError
    from ..options.paths import split_object_path
    from ._target import is_directory

    names = expanded(sources, access)
    if not is_directory(target):
        if len(names) > 1:
            raise UsageError(
                f"each of the {len(names)} inputs has its own output: name an existing directory, or a URL "
                f"that ends in '/', instead of {target!r}; 'sapwood merge' writes one file from several"
            )
        _each(names, access, lambda source: function(source, target), [])
        return
    outputs: dict[str, str] = {}
    for name in names:
        base = posixpath.basename(split_object_path(name)[0].partition("?")[0].rstrip("/"))
        output = posixpath.join(target, base.removesuffix(".root") + suffix)
        if output in outputs.values():
            raise UsageError(f"several inputs are named {base!r}, but {output} can be the output of only one")
        outputs[name] = output
    _each(names, access, lambda source: function(source, outputs[source]), [], headings=False)


def _each(
    names: Sequence[str],
    access: Any,
    function: Callable[[str], dict[str, Any]],
    failures: list[Exception],
    headings: bool = True,
) -> None:
    """Calls a function for each file, with its name as a heading, as :func:`for_each` describes."""
    documents: list[dict[str, Any]] = []
    for place, source in enumerate(names):
        if len(names) > 1 and headings and not access.as_json:
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
    sources: Sequence[str], access: Access, entries: tuple[int | None, int | None] = (None, None)
) -> Iterator[tuple[Any, int, int]]:
    """The trees of files and globs, one after the other, each with its part of a range of entries.

    The range is numbered across all files; negative numbers count from their end. A tree is open until the
    next one is requested.
    """
    from ..query.steps import entry_range
    from ._target import open_tree

    names = expanded(sources, access)
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
