"""Lazy columns: Awkward Arrays, a chunk of entries each, whose columns are read when they are touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, overload

from ..arrays.column import Column, Form
from ..arrays.concatenate import concatenated
from ..display.printable import shows_printable
from ..errors import UsageError
from ..query.assemble import readable_leaves
from ..query.query import documentation
from ..query.select import warn_skipped
from .reader import LazyReader
from .view import LazyView
from .virtual import Accessed, VirtualRecords

AddDoc: TypeAlias = "bool | Mapping[str, str]"
"""Whether titles become ``__doc__``; or attributes of branches, by what they become."""


class LazyChunks(LazyView, Sequence[Any]):
    """The entries of a tree in chunks, each an ``ak.Array`` of records; :meth:`sapwood.Tree.lazy` makes it.

    Nothing of a chunk is read before one of its columns is touched; then, in one request, what is expected to
    be touched with it. Chunks can be had in any order, several times, and by several threads. The profile, if
    there is one, is saved whenever a loop ends.
    """

    def __init__(self, reader: LazyReader, add_doc: AddDoc = False, access_log: Any = None) -> None:
        super().__init__(reader)
        self._records = _records(reader, add_doc, access_log)

    @property
    def entry_ranges(self) -> list[tuple[int, int]]:
        """The entries of each chunk: whole clusters of the tree, one or more."""
        return list(self._reader.windows)

    def __len__(self) -> int:
        return len(self._reader.windows)

    @overload
    def __getitem__(self, where: int) -> Any: ...

    @overload
    def __getitem__(self, where: slice) -> list[Any]: ...

    def __getitem__(self, where: int | slice) -> Any:
        index = range(len(self))[where]
        if isinstance(index, range):
            return [self._chunk(one) for one in index]
        return self._chunk(index)

    def __iter__(self) -> Iterator[Any]:
        with self._reader.going_over(dict.fromkeys(range(len(self)), 1.0)):
            for index in range(len(self)):
                yield self._chunk(index)

    @shows_printable
    def __repr__(self) -> str:
        return f"<LazyChunks of {self.tree.name!r}: {len(self)} chunks, {len(self._reader.fields)} fields>"

    def _chunk(self, index: int) -> Any:
        held = self._reader.hold(index)
        return self._records.array(held.stop - held.start, held.column)


def whole_array(reader: LazyReader, add_doc: AddDoc = False, access_log: Any = None) -> Any:
    """All entries of a reader as one ``ak.Array`` of records; columns are read when they are touched."""
    return _records(reader, add_doc, access_log).array(reader.stop - reader.start, whole_loader(reader))


def whole_loader(reader: LazyReader) -> Callable[[str], Column]:
    """What reads a field in all windows of a reader, and makes one column of it."""

    def load(name: str) -> Column:
        parts = []
        with reader.going_over(dict.fromkeys(range(len(reader.windows)), 1.0)):
            for window in range(len(reader.windows)):
                parts.append(reader.column(name, window))
                reader.release(window)
        return concatenated(reader.form(name), parts)

    return load


def _forms(reader: LazyReader) -> dict[str, Form]:
    """The forms of the fields that can stand in one table: a branch may have fewer entries than its tree."""
    whole, short = {}, []
    for name, branch in reader.fields.items():
        if any(leaf.num_entries < reader.stop for leaf in readable_leaves(branch)):
            short.append(branch)
        else:
            whole[name] = reader.form(name)
    warn_skipped(short, "they have fewer entries than their tree")
    return whole


def _records(reader: LazyReader, add_doc: AddDoc, access_log: Any) -> VirtualRecords:
    docs = {name: documentation(branch, add_doc) for name, branch in reader.fields.items()}
    titles = {name: doc for name, doc in docs.items() if doc}
    return VirtualRecords(_forms(reader), titles, _appending(access_log))


def _appending(access_log: Any) -> Callable[[Accessed], None] | None:
    """What adds to a log. As for uproot, anything that ``+=`` can add a list to is one."""
    if access_log is None:
        return None
    if not hasattr(access_log, "__iadd__"):
        raise UsageError(
            f"an access_log is a list, or adds lists by '+=' as one does; {access_log!r} does not"
        )

    def add(accessed: Accessed) -> None:
        access_log.__iadd__([accessed])

    return add
