"""Sizes of baskets, which only their keys hold: those of many baskets are read together."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from ..errors import SapwoodError
from ..opening.raw import RawFile

# The beginning of a TKey: fNbytes, fVersion, fObjlen, fDatime, fKeylen.
_KEY = struct.Struct(">ihiIh")


def measure_baskets(branches: Iterable[Any], start: int, stop: int) -> None:
    """Keeps the uncompressed sizes of baskets with entries of a range, where their branches look for them.

    Baskets that are embedded in the record of the tree, or cannot be read, are left out.
    """
    places: list[tuple[dict[int, int], int, int]] = []
    file = None
    for branch in branches:
        known = branch.__dict__.setdefault("_basket_sizes", {})
        offsets, seeks = branch.entry_offsets, branch.member("fBasketSeek")
        for number in range(branch._num_normal_baskets):
            if offsets[number] < stop and start < offsets[number + 1] and number not in known:
                places.append((known, number, int(seeks[number])))
                file = branch._own.file
    if file is None:
        return
    try:
        keys = RawFile.of(file).read([(offset, offset + _KEY.size) for *_, offset in places])
    except SapwoodError:
        return
    for (known, number, _), key in zip(places, keys, strict=True):
        if len(key) == _KEY.size:
            _, _, size, _, length = _KEY.unpack(key)
            known[number] = size + length
