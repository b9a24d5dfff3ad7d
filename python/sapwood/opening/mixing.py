"""Background events merged to one per primary event, or taken from a pool where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import counter_names
from ..errors import UsageError


def merged(events: Any, counts: NDArray[np.int64], bunches: Sequence[int], prefix: str) -> dict[str, Any]:
    """Columns of the background of each primary event: see :meth:`sapwood.Background.mix`.

    Args:
        events: all background events, an ``ak.Array`` of records.
        counts: how many there are in each bunch of each primary event.
        bunches: the number of each bunch.
    """
    import awkward as ak

    each = counts.sum(axis=1)
    ends = np.cumsum(each)
    place = (np.arange(len(events)) - np.repeat(ends - each, each)).astype(np.int32)
    bunch = np.repeat(np.tile(np.asarray(bunches, np.int32), len(counts)), counts.ravel())
    found: dict[str, Any] = {
        f"n{prefix}": each.astype(np.int32),
        f"{prefix}_bunch": ak.unflatten(bunch, each),
    }

    def add(name: str, column: Any) -> None:
        if name in found:
            raise UsageError(f"two columns would be {name!r}: leave one of the pool out")
        found[name] = column

    lists = {name for name in events.fields if _is_list(events[name])}
    collections = {name: _collection(name, events, lists) for name in lists}
    counters = {f"n{collection}" for collection in collections.values()}
    for name in events.fields:
        if name in lists:
            collection, items = collections[name], ak.to_numpy(ak.num(events[name]))
            sums = np.diff(np.concatenate([[0], np.cumsum(items)])[np.concatenate([[0], ends])])
            if f"n{prefix}_{collection}" not in found:
                add(f"n{prefix}_{collection}", sums.astype(np.int32))
                add(f"{prefix}_{collection}_event", ak.unflatten(np.repeat(place, items), sums))
            add(f"{prefix}_{name}", ak.unflatten(ak.flatten(events[name]), sums))
        elif name not in counters:
            add(f"{prefix}_{name}", ak.unflatten(events[name], each))
    return found


def premixed(events: Any, prefix: str) -> dict[str, Any]:
    """The columns of events that :func:`merged` made before."""
    count, beginnings = f"n{prefix}", (f"{prefix}_", f"n{prefix}_")
    found = {name: events[name] for name in events.fields if name == count or name.startswith(beginnings)}
    if count not in found:
        raise UsageError(
            f"the pool is not premixed: it has no column {count!r}; give 'number' or 'mean', or the prefix "
            "with which it was made"
        )
    return found


def _is_list(column: Any) -> bool:
    """Whether the entries of a column are lists, other than text."""
    import awkward as ak

    kind = column.type.content
    return isinstance(kind, ak.types.ListType) and kind.parameter("__array__") is None


def _collection(name: str, events: Any, lists: set[str]) -> str:
    """What a list belongs to: the part of its name for which there is a counter, or all of it."""
    counter = next((one for one in counter_names(name) if one in events.fields and one not in lists), None)
    return name if counter is None else counter[1:]
