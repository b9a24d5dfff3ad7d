"""Writes the list of baskets that `bench/limit` reads: their positions and sizes."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

import uproot

# TBasket adds to a key: version, fBufferSize, fNevBufSize, fNevBuf, fLast, a flag.
KEY = struct.Struct(">ihiIhh")
BASKET = struct.Struct(">hiiiib")


def write_list(path: Path, tree_name: str, columns: list[str], out: Path) -> None:
    """Writes the baskets of `columns` to `out`. Entries must be single numbers or lists of numbers."""
    with uproot.open(f"{path}:{tree_name}") as tree, open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        lines = [str(path.resolve())]
        for name in columns:
            branch = tree[name]
            if branch.embedded_baskets:
                raise ValueError(f"{name}: the limit cannot read baskets inside the record of the tree")
            interpretation = branch.interpretation
            jagged = isinstance(interpretation, uproot.interpretation.jagged.AsJagged)
            numbers = interpretation.content if jagged else interpretation
            if not isinstance(numbers, uproot.interpretation.numerical.AsDtype):
                raise ValueError(f"{name}: {branch.typename} is not a number")
            item_size = numbers.from_dtype.itemsize
            lines.append(f"column {name} {item_size} {'jagged' if jagged else 'flat'}")
            seeks = branch.member("fBasketSeek")[: branch.num_baskets]
            lines.extend(basket_line(data, int(offset)) for offset in seeks)
    out.write_text("\n".join(lines) + "\n")


def basket_line(data: mmap.mmap, offset: int) -> str:
    """offset, fNbytes, fKeylen, fObjlen, fLast, fNevBuf of the basket at `offset`."""
    nbytes, _version, objlen, _time, keylen, _cycle = KEY.unpack_from(data, offset)
    _, _, _, entries, last, _ = BASKET.unpack_from(data, offset + keylen - BASKET.size)
    return f"{offset} {nbytes} {keylen} {objlen} {last} {entries}"
