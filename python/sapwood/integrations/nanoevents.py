"""coffea's NanoEvents over sapwood: the columns that an analysis touches are read by a lazy reader.

coffea 2026.9 has no public way in for another reader. This uses what its own readers are made with, which may
change: ``BaseSourceMapping``, ``_lazify_form`` and ``NanoEventsFactory._from_mapping``.
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

    Args:
        tree: a tree, as ``sapwood.open("file.root:Events")`` gives it.
        columns: names that will be needed in any case, of branches in the tree.
        schemaclass: how branches become events; default: coffea's ``NanoAODSchema``.
        metadata: what coffea keeps with the events.
        entry_start: first entry. Default: 0.
        entry_stop: one after the last entry. Default: all.
        profile: a :class:`sapwood.Profile`, its name or its path: what was learned before, and is saved.
        caching: what is fetched ahead of need, and how much is kept.
        access_log: a list that coffea tells what was touched.
        threads: threads that decompress and decode. Default: as the file was opened.
        deadline: seconds that touching a column may take. Default: as the file was opened.

    Raises:
        ImportError: if coffea is not installed.
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
    """What coffea's schemas are given: the form of all columns, and the keys of their buffers."""
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
    """coffea's mapping of buffers, reading with a lazy reader."""
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
            """The column, as coffea's own mapping has it: what may be missing is an option."""
            if columnhandle is None:
                nothing = ak.index.Index64(np.full(stop - start, -1, dtype=np.int64))
                content = ak.contents.NumpyArray(np.empty(0, dtype=bool))
                return ak.Array(ak.contents.IndexedOptionArray(nothing, content))
            layout = column_to_layout(self._load(columnhandle))
            if allow_missing:
                all_there = ak.index.Index64(np.arange(stop - start, dtype=np.int64))
                layout = ak.contents.IndexedOptionArray(all_there, layout)
            return ak.Array(layout)

        def __len__(self) -> int:
            return int(self._stop - self._start)

        def __iter__(self) -> Iterator[Any]:
            raise TypeError("the keys are made as coffea asks for them; there is no list of them")

    return LazyMapping
