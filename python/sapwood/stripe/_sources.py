"""The sources of a dataset: trees of files and other datasets, and the branches and entries to take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from .. import _core
from ..errors import SapwoodError, UnsupportedTypeError, UsageError
from ..errors.core import core_errors
from ..model.directory import TREE_CLASSES, split_cycle
from ..opening.single import core_input, open_spec
from ..options.paths import FileSpec, several_files, single_file
from ..options.reading import OpenOptions
from ..query.filters import Filter
from ..writing.repacking import ranges_of
from ..writing.selecting import branches_of


class Sources:
    """The sources of a dataset, from the names that users give.

    Attributes:
        inputs: the inputs that the core opens.
        tree: the path of the tree, if the sources name one.
    """

    def __init__(self, named: Any, options: OpenOptions) -> None:
        self._options = replace(options, log=None)
        if isinstance(named, Mapping) and not _is_tree(named):
            self._specs = [single_file(named)]
        else:
            self._specs = several_files(named, options.deadline, options.for_core())
        self.inputs = [core_input(spec, self._options) for spec in self._specs]
        paths = {_path(spec.file) if _is_tree(spec.file) else spec.object_path for spec in self._specs}
        paths.discard(None)
        if len(paths) > 1:
            raise UsageError(f"the sources name several trees: {', '.join(sorted(map(str, paths)))}")
        self.tree = next(iter(paths), None)

    def first(self) -> Any:
        """The first source, opened."""
        source = self.inputs[0]
        if not isinstance(source, tuple):
            return source
        with core_errors():
            return _core.File.open(source[0], deadline=self._options.deadline, options=source[1])

    @contextmanager
    def core_errors(self) -> Iterator[None]:
        """Translates the core's errors; one for another object than a tree is a mistake of the caller."""
        try:
            with core_errors():
                yield
        except UnsupportedTypeError:
            for spec in self._specs:
                kind = None if _is_tree(spec.file) else self._class_of(spec)
                if kind is not None and kind not in TREE_CLASSES:
                    message = (
                        f"{spec.object_path!r} in {_core.redact(str(spec.file))} is a {kind}, not a tree"
                    )
                    raise UsageError(message) from None
            raise

    def _class_of(self, spec: FileSpec) -> str | None:
        """The class of the object that a source names; None if it cannot be had."""
        if spec.object_path is None:
            return None
        with suppress(SapwoodError), open_spec(FileSpec(spec.file), self._options).file as file:
            return str(file.classname_of(spec.object_path))
        return None

    def chosen(self, path: str, keep: Filter, drop: Filter, cut: str | None) -> dict[str, Any]:
        """The branches and entries of the tree to write, as arguments of the core."""
        branches, entries = None, []
        for spec in self._specs if cut is not None else self._specs[:1]:
            tree = spec.file if _is_tree(spec.file) else open_spec(FileSpec(spec.file, path), self._options)
            if not _is_tree(tree):
                raise UsageError(f"{path!r} in {_core.redact(str(spec.file))} is not a tree")
            branches = branches_of(tree, keep, drop) if branches is None else branches
            entries.append(ranges_of(tree, cut))
            if tree is not spec.file:
                tree.file.close()
        return {"branches": branches, "entries": None if cut is None else entries}


def recorded_selection(keep: Filter, drop: Filter, cut: str | None) -> dict[str, str]:
    """The selection in the form that a version records."""
    chosen = {"keep": keep, "drop": drop, "cut": cut}
    return {name: value if isinstance(value, str) else repr(value) for name, value in chosen.items() if value}


def _is_tree(source: object) -> bool:
    return hasattr(source, "num_entries")


def _path(tree: Any) -> str:
    return split_cycle(tree.object_path)[0]
