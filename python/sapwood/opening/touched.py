"""Loops over files whose columns are read when they are touched: events, and lazy arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..errors import ArgumentTypeError
from ..lazy.ahead import Visit
from ..lazy.background import in_background
from ..lazy.carried import CarriedUse, NarrowReader
from ..lazy.chunks import LazyChunks, virtual_records
from ..lazy.event import Event, WindowValues
from ..lazy.event_chunk import EventChunk
from ..lazy.events import Events
from ..lazy.profile import Profile
from ..lazy.reader import Caching, HeldWindow, LazyReader, lazy_options
from ..lazy.virtual import VirtualRecords
from ..model.branches import BranchFilter
from ..options.reading import OpenOptions, open_options
from ..query.filters import Filter, Filters
from ..report.loop import LoopReport
from .ahead import OpeningFile
from .loop import FileLoop, LoopOptions, LoopRun, left, popped
from .many import specs_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options.keywords import EventKeywords

T = TypeVar("T")

_ADVICE = "touch columns inside the loop, or read them all into one array with sapwood.concatenate"


def events(
    files: Any,
    columns: Iterable[str] = (),
    *,
    filter_name: Filter = None,
    filter_typename: Filter = None,
    filter_branch: BranchFilter | None = None,
    profile: Profile | str | os.PathLike[str] | None = None,
    caching: Caching | None = None,
    allow_missing: bool = False,
    on_error: str = "raise",
    resume: str | os.PathLike[str] | None = None,
    progress: bool = False,
    deadline: float | None = None,
    threads: int | None = None,
    **options: Unpack[EventKeywords],
) -> FileEvents:
    """The entries of many files one by one, for loops in Python; each column is read when you first touch it.

    >>> for event in sapwood.events("root://host//store/*.root:Events"):          # doctest: +SKIP
    ...     if event.nMuon > 1:
    ...         histogram.fill(event.Muon_pt[0])

    Which columns you use is learned once, not in every file: it is carried from file to file between trees of
    the same name and schema. The next files open ahead, and the columns in use of their first entries are
    read while you work.

    Args:
        files: as in :func:`sapwood.iterate`.
        columns: names of columns that you know you need; they are fetched from the start.
        filter_name, filter_typename, filter_branch, profile, caching: as in :meth:`sapwood.Tree.events`.
        allow_missing: True to skip files that lack the tree or one of ``columns``. A column that you only
            touch raises AttributeError or KeyInFileError in a file that lacks it.
        on_error: ``"skip"`` to skip a file, or the rest of it, that cannot be read, as in
            :func:`sapwood.iterate`. The columns in use are then read before you get the events, so that a
            damaged one ends the file and not your loop. The first touch of another column can still raise.
        resume: the path of a checkpoint, as in :func:`sapwood.iterate`. It is saved after each window: one or
            more whole clusters.
        progress: True to show files, entries, speed and waiting, in a notebook or on standard error.
        deadline: seconds that opening a file, or reading a touched column, may take.
        threads, options: as in :func:`sapwood.open`.

    Returns:
        The events: see :class:`sapwood.FileEvents`.
    """
    use = CarriedUse(
        "events",
        lazy_options(columns, profile, caching, None, None),
        Filters(filter_name, filter_typename, filter_branch),
    )
    loop = LoopOptions(allow_missing, on_error, resume, progress)
    return FileEvents(TouchedFiles(files, open_options(deadline, threads, options, events), loop, use))


def lazy(
    files: Any,
    columns: Iterable[str] = (),
    *,
    filter_name: Filter = None,
    filter_typename: Filter = None,
    filter_branch: BranchFilter | None = None,
    profile: Profile | str | os.PathLike[str] | None = None,
    caching: Caching | None = None,
    ak_add_doc: bool | Mapping[str, str] = False,
    access_log: Any = None,
    allow_missing: bool = False,
    on_error: str = "raise",
    resume: str | os.PathLike[str] | None = None,
    progress: bool = False,
    deadline: float | None = None,
    threads: int | None = None,
    **options: Unpack[EventKeywords],
) -> FileChunks:
    """The entries of many files in chunks: Awkward Arrays that read each column when you first touch it.

    >>> for events in sapwood.lazy("nano/*.root:Events"):          # doctest: +SKIP
    ...     histogram.fill(events.MET_pt[events.nMuon > 1])

    Args:
        ak_add_doc, access_log: as in :meth:`sapwood.Tree.lazy`.

    The other arguments are those of :func:`sapwood.events`.

    Returns:
        An iterator over arrays, one for each chunk of a file: one or more whole clusters.
    """
    use = CarriedUse(
        "lazy",
        lazy_options(columns, profile, caching, None, None),
        Filters(filter_name, filter_typename, filter_branch),
    )
    loop = LoopOptions(allow_missing, on_error, resume, progress)
    touched = TouchedFiles(files, open_options(deadline, threads, options, lazy), loop, use)
    known: dict[tuple[str, str], VirtualRecords] = {}

    def read(file: OpeningFile) -> Iterator[Any]:
        for reader in touched.readers(file):
            key = reader.tree.name, reader.tree.schema
            if key not in known:
                known[key] = virtual_records(reader, ak_add_doc, access_log)
            chunks = LazyChunks(reader, known[key])
            for index, read_next in chunks.visits(touched.read_next_file):
                touched.read_next(read_next)
                touched.check(reader.hold(index))
                start, stop = reader.windows[index]
                yield from touched.run.give(popped([chunks[index]]), partial(int, stop - start))

    return FileChunks(touched, read)


class TouchedFiles:
    """The files of a loop whose columns are read when they are touched, and what is read ahead of them."""

    def __init__(self, files: Any, options: OpenOptions, loop: LoopOptions, carried: CarriedUse) -> None:
        self.run = LoopRun(specs_of(files, options), options, loop)
        self.carried = carried
        self._prepared: dict[OpeningFile, Future[tuple[LazyReader, HeldWindow] | None]] = {}
        self._reader: LazyReader | None = None

    def readers(self, file: OpeningFile) -> Iterator[LazyReader]:
        """The readers of the entries that are left of a file: one for each range."""
        source, run = file.source, self.run
        self.carried.note(source.tree)
        ahead = self._prepared.pop(file, None)
        for start, stop in left(file.spec.ranges(source.tree.num_entries), run.position.done):
            with run.waiting():
                prepared, ahead = None if ahead is None else ahead.result(), None
                if prepared is None or (prepared[0].start, prepared[0].stop) != (start, stop):
                    reader = self.carried.reader(source, start, stop)
                else:
                    reader = prepared[0]
            self._reader = reader
            # Events and chunks that the caller keeps read on.
            file.add_user(reader)
            try:
                # What is held ahead stays until its first window is held by the loop.
                yield reader
            finally:
                del prepared
                run.waited += reader.waited
                self._reader = None

    def read_next_file(self) -> None:
        """Reads the columns in use of the first window of the files that open ahead."""
        if self._reader is None:
            return
        self._reader.ledger.observe()
        for file in self.run.ahead.following:
            prepared = self._prepared.get(file)
            if prepared is None:
                self._prepared[file] = in_background(partial(self._prepare, file))
            elif prepared.done():
                in_background(partial(_catch_up, prepared))

    def read_next(self, read_next: Callable[[], None]) -> None:
        """Reads what is next: a window, the next file, or both, once columns are in use."""
        read_next()
        if self._reader is not None and self._reader.tree.core.is_distant:
            self.read_next_file()

    def check(self, window: HeldWindow) -> None:
        """Reads the columns in use, if files that fail are skipped, to see whether they fail."""
        if self.run.skips and window.reader.in_use:
            with self.run.waiting():
                window.reader.touch(window.reader.in_use, window.index)

    def _prepare(self, file: OpeningFile) -> tuple[LazyReader, HeldWindow] | None:
        tree = file.source.tree
        if not self.carried.knows(tree):
            # In the thread of the loop: it may call filters, and warn.
            return None
        start, stop = file.spec.ranges(tree.num_entries)[0]
        reader = self.carried.reader(file.source, start, stop)
        return (reader, reader.read_ahead(0, is_first=True)) if reader.windows else None


class TouchLoop(FileLoop[T]):
    """A loop over many files whose columns are read when they are touched. It can be used once.

    Events and chunks that you keep read further columns as well: their files stay open until you drop them,
    close the loop, or are 15 files further.
    """

    def __init__(self, touched: TouchedFiles, read: Callable[[OpeningFile], Iterator[T]]) -> None:
        super().__init__(touched.run, touched.run.files(read))
        self._touched = touched

    def __getitem__(self, where: object) -> NoReturn:
        raise ArgumentTypeError(f"a loop over files has no items such as {where!r}: {_ADVICE}")

    def __getattr__(self, name: str) -> NoReturn:
        message = f"{type(self).__name__!r} object has no attribute {name!r}"
        if not name.startswith("_"):
            message += f": {_ADVICE}"
        raise AttributeError(message, name=name, obj=self)

    def report(self) -> LoopReport:
        """What the loop has done so far, the entries that it lost, and the schemas of the trees."""
        carried = self._touched.carried
        return replace(super().report(), schemas=carried.schemas, differences=tuple(carried.differences))


class FileChunks(TouchLoop[Any], Iterator[Any]):
    """An iterator over the arrays of :func:`sapwood.lazy` or :func:`sapwood.nanoevents`."""

    def __next__(self) -> Any:
        return next(self._items)


class FileEvents(TouchLoop[Event]):
    """The entries of many files, for one loop: over events or, with :meth:`chunks`, over chunks.

    ``event.entry`` is the number of an entry in its tree; the attribute ``tree`` of this object is the tree
    that the loop is in.
    """

    def __init__(self, touched: TouchedFiles) -> None:
        super().__init__(touched, partial(_events_of, touched))

    def __iter__(self) -> Iterator[Event]:
        self._run.require_unused()
        return self._items

    def chunks(self) -> Iterator[EventChunk]:
        """The same entries in chunks, whose fields are whole arrays, for loops without one over events.

        >>> for chunk in sapwood.events("nano/*.root:Events").chunks():          # doctest: +SKIP
        ...     histogram.fill(chunk.MET_pt[chunk.nMuon > 1])

        A chunk holds the entries of one window: one or more whole clusters.
        """
        self._run.require_unused()
        chunks = self._run.files(partial(_chunks_of, self._touched))
        self._items = chunks
        return chunks


def _catch_up(prepared: Future[tuple[LazyReader, HeldWindow] | None]) -> None:
    """Reads what has come into use since a file was prepared."""
    found = prepared.result()
    if found is not None and isinstance(found[0], NarrowReader):
        found[0].catch_up(0)


def _events_of(touched: TouchedFiles, file: OpeningFile) -> Iterator[Event]:
    for window, positions, read_next in _visits(touched, file):
        touched.check(window)
        values = WindowValues(window)
        del window
        events = values.events(positions, partial(touched.read_next, read_next))
        yield from touched.run.give(events, partial(_taken, values, len(positions)))
        del values, events


def _chunks_of(touched: TouchedFiles, file: OpeningFile) -> Iterator[EventChunk]:
    for window, positions, read_next in _visits(touched, file):
        touched.read_next(read_next)
        touched.check(window)
        chunk = popped([EventChunk(window, positions)])
        del window
        yield from touched.run.give(chunk, partial(int, len(positions)))


def _visits(touched: TouchedFiles, file: OpeningFile) -> Iterator[Visit]:
    for reader in touched.readers(file):
        every = Events(reader, range(reader.start, reader.stop))
        yield from every.visits(touched.read_next_file)


def _taken(values: WindowValues, events: int) -> int:
    return events - values.left
