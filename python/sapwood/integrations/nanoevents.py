"""coffea's NanoEvents with sapwood's lazy reader, which reads the columns that an analysis touches.

coffea 2026.9 has no public interface for other readers, so this module uses internals that may change:
``BaseSourceMapping``, ``_lazify_form`` and ``NanoEventsFactory._from_mapping``.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ..arrays.awkward import awkward_form, column_to_layout
from ..lazy.chunks import whole_loader
from ..lazy.profile import Profile
from ..lazy.reader import Caching, LazyReader, lazy_options, open_reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model.tree import Tree


def nanoevents(
    tree: Tree,
    columns: Iterable[str] = (),
    *,
    schemaclass: Any = None,
    metadata: Any = None,
    entry_start: int | None = None,
    entry_stop: int | None = None,
    profile: Profile | str | os.PathLike[str] | None = None,
    caching: Caching | None = None,
    access_log: list[Any] | None = None,
    threads: int | None = None,
    deadline: float | None = None,
) -> Any:
    """The entries of a tree as coffea's NanoEvents, in its mode "virtual".

    >>> events = sapwood.nanoevents(sapwood.open("nano.root:Events"))          # doctest: +SKIP
    >>> events.Muon.pt                                                         # doctest: +SKIP

    Args:
        tree: a tree, such as ``sapwood.open("file.root:Events")``.
        columns: names of branches that you know you need; they are fetched from the start.
        schemaclass: the coffea schema that maps branches to events. Default: ``NanoAODSchema``.
        metadata: metadata that coffea attaches to the events.
        entry_start: first entry; negative values count from the end. Default: 0.
        entry_stop: end of the range (exclusive); negative values count from the end. Default: all.
        profile: a :class:`sapwood.Profile`, its name or its path. It holds what earlier jobs learned, and is
            updated.
        caching: a :class:`sapwood.Caching` that limits read-ahead and memory.
        access_log: a list to which coffea appends each accessed buffer.
        threads: threads that decompress and decode. Default: those given when the file was opened.
        deadline: seconds that reading a touched column may take. Default: the one given when the file was
            opened.

    Returns:
        An ``ak.Array`` of records with coffea's behaviors.

    Raises:
        ImportError: coffea is not installed.
    """
    try:
        from coffea.nanoevents import NanoAODSchema, NanoEventsFactory
    except ImportError as error:
        raise ImportError(f"sapwood.nanoevents needs coffea: pip install coffea ({error})") from error
    options = lazy_options(columns, profile, caching, threads, deadline)
    reader = open_reader(tree, "nanoevents", entry_start, entry_stop, options)
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
