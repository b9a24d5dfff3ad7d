"""coffea's NanoEvents with sapwood's lazy reader, which reads the columns that an analysis touches.

coffea 2026.9 has no public interface for other readers, so this module uses internals that may change:
``BaseSourceMapping``, ``_lazify_form`` and ``NanoEventsFactory._from_mapping``.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from ..arrays.awkward import awkward_form, column_to_layout
from ..errors import UsageError
from ..lazy.carried import CarriedUse
from ..lazy.chunks import whole_loader
from ..lazy.profile import Profile
from ..lazy.reader import Caching, LazyReader, lazy_options, open_reader
from ..model.branches import HasBranches
from ..opening.ahead import OpeningFile
from ..opening.loop import LoopOptions, popped
from ..opening.touched import FileChunks, TouchedFiles
from ..options.reading import open_options
from ..query.filters import ALL


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
    **options: Any,
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
        raise UsageError("'entry_start' and 'entry_stop' are of a tree: for files, give their 'steps'")
    use = CarriedUse("nanoevents", lazy_options(columns, profile, caching, None, None), ALL)
    loop = LoopOptions(allow_missing, on_error, resume, progress)
    touched = TouchedFiles(files, open_options(deadline, threads, options), loop, use)

    def read(file: OpeningFile) -> Iterator[Any]:
        for reader in touched.readers(file):
            touched.read_next_file()
            yield from touched.run.give(popped([make(reader)]), partial(int, reader.stop - reader.start))

    return FileChunks(touched, read)


def _events(reader: LazyReader, *, schemaclass: Any, metadata: Any, access_log: list[Any] | None) -> Any:
    """The entries of a reader."""
    from coffea.nanoevents import NanoAODSchema, NanoEventsFactory

    tree = reader.tree
    mapping = _mapping_class()(reader, access_log)
    uuid, start, stop = str(tree.file.uuid), reader.start, reader.stop
    mapping.preload_column_source(uuid, tree.object_path, reader)
    factory = NanoEventsFactory._from_mapping(
        mapping,
        (uuid, tree.object_path, f"{start}-{stop}"),
        base_form(reader),
        NanoAODSchema if schemaclass is None else schemaclass,
        metadata,
        mode="virtual",
    )
    return factory.events()


def base_form(reader: LazyReader) -> dict[str, Any]:
    """The input of coffea's schemas: the form of all columns with the keys of their buffers."""
    from coffea.nanoevents.mapping.uproot import CannotBeNanoEvents, _lazify_form

    forms: dict[str, Any] = {}
    for name, branch in reader.fields.items():
        form = branch.interpretation.form
        if form is None or "," in name or "!" in name:
            continue
        document = json.loads(awkward_form(form).to_json())
        try:
            forms[name] = _lazify_form(document, f"{name},!load", branch.title, branch.typename)
        except CannotBeNanoEvents:
            continue
    return {
        "class": "RecordArray",
        "fields": list(forms),
        "contents": list(forms.values()),
        "parameters": {"__doc__": reader.tree.title},
        "form_key": None,
        "typenames": reader.tree.typenames(),
    }


def _mapping_class() -> type[Any]:
    """coffea's mapping of buffers, implemented with a lazy reader."""
    import awkward as ak
    import numpy as np
    from coffea.nanoevents.mapping.base import BaseSourceMapping

    class LazyMapping(BaseSourceMapping):  # type: ignore[misc]
        def __init__(self, reader: LazyReader, access_log: list[Any] | None) -> None:
            super().__init__(
                None,
                reader.start,
                reader.stop,
                cache={},
                access_log=access_log,
                file_handle=reader.tree.file,
                virtual=True,
            )
            self._load = whole_loader(reader)

        @classmethod
        def _extract_base_form(cls, source: LazyReader) -> dict[str, Any]:
            return base_form(source)

        def key_root(self) -> str:
            return "sapwood:"

        def get_column_handle(self, columnsource: LazyReader, name: str, allow_missing: bool) -> str | None:
            return None if allow_missing and name not in columnsource else name

        def extract_column(
            self, columnhandle: str | None, start: int, stop: int, allow_missing: bool, **_: Any
        ) -> Any:
            """The column as coffea's own mapping returns it: an option type if it may be missing."""
            if columnhandle is None:
                missing = ak.index.Index64(np.full(stop - start, -1, dtype=np.int64))
                content = ak.contents.NumpyArray(np.empty(0, dtype=bool))
                return ak.Array(ak.contents.IndexedOptionArray(missing, content))
            layout = column_to_layout(self._load(columnhandle))
            if allow_missing:
                present = ak.index.Index64(np.arange(stop - start, dtype=np.int64))
                layout = ak.contents.IndexedOptionArray(present, layout)
            return ak.Array(layout)

        def __len__(self) -> int:
            return int(self._stop - self._start)

        def __iter__(self) -> Iterator[Any]:
            raise TypeError("keys are created on demand, so they cannot be listed")

    return LazyMapping
