"""coffea's NanoEvents with sapwood's lazy reader, which reads the columns that an analysis touches."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from ..arrays.awkward import column_to_layout
from ..arrays.column import Column
from ..errors import UsageError
from ..lazy.carried import CarriedUse
from ..lazy.chunks import whole_loader
from ..lazy.profile import Profile
from ..lazy.reader import Caching, LazyReader, lazy_options, open_reader
from ..model.accepted import AcceptedByUproot
from ..model.branch import Branch, Interpretation
from ..model.branches import HasBranches
from ..opening.ahead import OpeningFile
from ..opening.loop import LoopOptions, popped
from ..opening.touched import FileChunks, TouchedFiles
from ..options.reading import open_options
from ..query.filters import ALL

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options.keywords import EventKeywords


def nanoevents(
    files: Any,
    columns: Iterable[str] = (),
    *,
    schemaclass: Any = None,
    metadata: Any = None,
    entry_start: int | None = None,
    entry_stop: int | None = None,
    profile: Profile | str | os.PathLike[str] | None = None,
    caching: Caching | None = None,
    access_log: list[Any] | None = None,
    allow_missing: bool = False,
    on_error: str = "raise",
    resume: str | os.PathLike[str] | None = None,
    progress: bool = False,
    threads: int | None = None,
    deadline: float | None = None,
    **options: Unpack[EventKeywords],
) -> Any:
    """The entries of a tree, or of many files, as coffea's NanoEvents, in its mode "virtual".

    >>> events = sapwood.nanoevents(sapwood.open("nano.root:Events"))          # doctest: +SKIP
    >>> events.Muon.pt                                                         # doctest: +SKIP
    >>> for events in sapwood.nanoevents("nano/*.root:Events"):                # doctest: +SKIP
    ...     histogram.fill(events.MET.pt)

    Args:
        files: a tree, such as ``sapwood.open("file.root:Events")``, or files as in :func:`sapwood.iterate`.
        columns: names of branches that you know you need; they are fetched from the start.
        schemaclass: the coffea schema that maps branches to events. Default: ``NanoAODSchema``.
        metadata: metadata that coffea attaches to the events.
        entry_start: of a tree, the first entry; negative values count from the end. Default: 0.
        entry_stop: of a tree, the end of the range (exclusive); negative values count from the end. Default:
            all.
        profile: a :class:`sapwood.Profile`, its name or its path. It holds what earlier jobs learned, and is
            updated.
        caching: a :class:`sapwood.Caching` that limits read-ahead and memory.
        access_log: a list to which coffea appends each accessed buffer.
        allow_missing, on_error, resume, progress, options: of files, as in :func:`sapwood.events`. The
            position is saved after each file.
        threads: threads that decompress and decode. Default: those given when the file was opened.
        deadline: seconds that opening a file, or reading a touched column, may take. Default: the one given
            when the file was opened.

    Returns:
        For a tree, an ``ak.Array`` of records with coffea's behaviors. For files, an iterator over one for
        each file, as :func:`sapwood.lazy` returns.

    Raises:
        ImportError: coffea is not installed.
    """
    if importlib.util.find_spec("coffea") is None:
        raise ImportError("sapwood.nanoevents needs coffea: pip install coffea")
    make = partial(_events, schemaclass=schemaclass, metadata=metadata, access_log=access_log)
    if isinstance(files, HasBranches):
        reading = lazy_options(columns, profile, caching, threads, deadline)
        return make(open_reader(files, "nanoevents", entry_start, entry_stop, reading))
    if entry_start is not None or entry_stop is not None:
        raise UsageError("'entry_start' and 'entry_stop' apply to one tree; for files, use 'steps'")
    use = CarriedUse("nanoevents", lazy_options(columns, profile, caching, None, None), ALL)
    loop = LoopOptions(allow_missing, on_error, resume, progress)
    touched = TouchedFiles(files, open_options(deadline, threads, options, nanoevents), loop, use)

    def read(file: OpeningFile) -> Iterator[Any]:
        for reader in touched.readers(file):
            touched.read_next_file()
            yield from touched.run.give(popped([make(reader)]), partial(int, reader.stop - reader.start))

    return FileChunks(touched, read)


def _events(reader: LazyReader, *, schemaclass: Any, metadata: Any, access_log: list[Any] | None) -> Any:
    """The entries of a reader."""
    from coffea.nanoevents import NanoAODSchema, NanoEventsFactory

    factory = NanoEventsFactory.from_root(
        LazyDirectory(reader),
        treepath=reader.tree.object_path,
        entry_start=reader.start,
        entry_stop=reader.stop,
        schemaclass=NanoAODSchema if schemaclass is None else schemaclass,
        metadata=metadata,
        access_log=access_log,
    )
    return factory.events()


class LazyDirectory(AcceptedByUproot):
    """A directory of the tree of a reader only, for ``NanoEventsFactory.from_root``.

    It and the two classes below have what coffea looks for in an open file of uproot.
    """

    stands_for = ("uproot.reading", "ReadOnlyDirectory")

    def __init__(self, reader: LazyReader) -> None:
        self._reader = reader

    def __getitem__(self, path: str) -> LazyTree:
        return LazyTree(self._reader)


class LazyTree:
    """The tree of a reader; its branches are the fields of the reader."""

    def __init__(self, reader: LazyReader) -> None:
        self._tree = reader.tree
        load = whole_loader(reader)
        self._branches = {
            name: LazyBranch(name, branch, load)
            for name, branch in reader.fields.items()
            # coffea does not accept these characters, and warns of what it cannot read.
            if not {",", "!"} & set(name) and branch.interpretation.form is not None
        }

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tree, name)

    def iteritems(self) -> Iterator[tuple[str, LazyBranch]]:
        """Iterates over (name, branch)."""
        return iter(self._branches.items())

    def __getitem__(self, name: str) -> LazyBranch:
        return self._branches[name]

    def __contains__(self, name: object) -> bool:
        return name in self._branches


class LazyBranch:
    """A field of a reader."""

    def __init__(self, name: str, branch: Branch, load: Callable[[str], Column]) -> None:
        self.name, self.title, self.typename = name, branch.title, branch.typename
        self.interpretation: Interpretation = branch.interpretation
        self._load = load

    def array(self, interpretation: Interpretation, **_: Any) -> Any:
        """The entries of the reader, which is the range that coffea asks for."""
        import awkward as ak

        return ak.Array(column_to_layout(self._load(self.name)))
