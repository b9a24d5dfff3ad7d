"""Lazy chunks: Awkward Arrays of some entries each, whose columns are read when you touch them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, SupportsIndex, TypeAlias, overload

from ..arrays.column import Column, Form
from ..arrays.concatenate import concatenated
from ..display.printable import shows_printable
from ..display.units import counted
from ..errors import ArgumentTypeError, UsageError
from ..query.assemble import readable_leaves
from ..query.query import check_docs, documentation
from ..query.select import warn_skipped
from .ahead import nothing, visits_of
from .reader import LazyReader
from .view import LazyView
from .virtual import AccessCallback, BufferAccess, VirtualRecords

AddDoc: TypeAlias = "bool | Mapping[str, str]"
"""Whether titles become ``__doc__``; or a mapping from parameter names to attributes of branches."""


class LazyChunks(LazyView, Sequence[Any]):
    """The entries of a tree in chunks, each an ``ak.Array`` of records; made by :meth:`sapwood.Tree.lazy`.

    Nothing is read until you touch a column of a chunk. That column is then fetched together with the columns
    that are likely to be touched with it. You can access chunks in any order, repeatedly, and from several
    threads. If there is a profile, it is saved whenever a loop ends.
    """

    _ADVICE: ClassVar[str] = (
        "can be a field of each chunk: touch it in a loop over the chunks, or in tree.arrays(virtual=True),"
        " one array of all entries"
    )

    def __init__(self, reader: LazyReader, records: VirtualRecords) -> None:
        super().__init__(reader)
        self._records = records

    @property
    def entry_ranges(self) -> list[tuple[int, int]]:
        """The entries (start, stop) of each chunk: one or more whole clusters of the tree."""
        return list(self._reader.windows)

    def __len__(self) -> int:
        return len(self._reader.windows)

    @overload
    def __getitem__(self, where: int) -> Any: ...

    @overload
    def __getitem__(self, where: slice) -> list[Any]: ...

    def __getitem__(self, where: SupportsIndex | slice | str) -> Any:
        if isinstance(where, str):
            raise ArgumentTypeError(f"chunks have numbers; {where!r} {self._ADVICE}")
        every = range(len(self))
        if isinstance(where, slice):
            return [self._chunk(one) for one in every[where]]
        return self._chunk(every[where])

    def __iter__(self) -> Iterator[Any]:
        for window, read_next in self.visits(nothing):
            read_next()
            chunk = [self._chunk(window)]
            del window
            yield chunk.pop()

    def visits(self, at_last: Callable[[], None]) -> Iterator[tuple[int, Callable[[], None]]]:
        """The index of each chunk, and a function to call once columns are in use, which reads the next.

        For the last chunk, that is ``at_last``.
        """
        every = range(len(self))
        with self._reader.visiting(dict.fromkeys(every, 1.0)):
            for window, _, read_next in visits_of(self._reader, ((one, ()) for one in every), at_last):
                yield window.index, read_next

    @shows_printable
    def __repr__(self) -> str:
        sizes = f"{counted(len(self), 'chunk')}, {counted(len(self._reader.fields), 'field')}"
        return f"<LazyChunks of {self.tree.name!r}: {sizes}>"

    def _chunk(self, index: int) -> Any:
        window = self._reader.hold(index)
        return self._records.array(window.stop - window.start, window.column)


def whole_array(reader: LazyReader, add_doc: AddDoc = False, access_log: Any = None) -> Any:
    """All entries of a reader as one ``ak.Array`` of records; columns are read when you touch them."""
    return virtual_records(reader, add_doc, access_log).array(
        reader.stop - reader.start, whole_loader(reader)
    )


def whole_loader(reader: LazyReader) -> Callable[[str], Column]:
    """A function that reads a field in all windows of a reader, as one column."""

    def load(name: str) -> Column:
        parts = []
        with reader.visiting(dict.fromkeys(range(len(reader.windows)), 1.0)):
            for window in range(len(reader.windows)):
                parts.append(reader.column(name, window))
                reader.release(window)
        return concatenated(reader.form(name), parts)

    return load


def _forms(reader: LazyReader) -> dict[str, Form]:
    """The forms of the fields that have all entries: a branch may have fewer entries than its tree."""
    whole, short = {}, []
    for name, branch in reader.fields.items():
        if any(leaf.num_entries < reader.stop for leaf in readable_leaves(branch)):
            short.append(branch)
        else:
            whole[name] = reader.form(name)
    warn_skipped(short, "they have fewer entries than their tree")
    return whole


def virtual_records(reader: LazyReader, add_doc: AddDoc, access_log: Any) -> VirtualRecords:
    """What makes arrays of the fields of a reader, and of others of the same schema."""
    check_docs(add_doc)
    docs = {name: documentation(branch, add_doc) for name, branch in reader.fields.items()}
    titles = {name: doc for name, doc in docs.items() if doc}
    return VirtualRecords(_forms(reader), titles, _appender(access_log))


def _appender(access_log: Any) -> AccessCallback | None:
    """A function that appends to a log. As in uproot, a log is anything that ``+=`` can add a list to."""
    if access_log is None:
        return None
    if not hasattr(access_log, "__iadd__"):
        raise UsageError(
            f"'access_log' must be a list, or support '+=' as a list does, unlike {access_log!r}"
        )

    def append(access: BufferAccess) -> None:
        access_log.__iadd__([access])

    return append
