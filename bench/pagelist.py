"""Writes the list of pages that the limit of RNTuples reads: their positions, sizes and encodings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import uproot

BIT, INDEX = 0x00, (0x1A, 0x1B)
ZIGZAG = (0x11, 0x13, 0x15)
SPLIT = (0x12, 0x14, 0x16, 0x18, 0x19)
PLAIN = (*range(0x01, 0x0B), 0x0C, 0x0D)


def encoding(column: Any) -> str:
    """The name of a column's encoding, as the limit knows it."""
    kind = int(column.type)
    for name, kinds in {
        "bit": (BIT,),
        "ends": INDEX,
        "zigzag": ZIGZAG,
        "split": SPLIT,
        "plain": PLAIN,
    }.items():
        if kind in kinds:
            return name
    raise ValueError(f"the limit cannot decode columns of type 0x{kind:02x}")


def physical_columns(ntuple: Any, fields: list[str]) -> list[int]:
    """The numbers of the stored columns that the fields need, each once."""
    records = ntuple.field_records
    wanted = set(fields)

    def top(field: int) -> str:
        while records[field].parent_field_id != field:
            field = records[field].parent_field_id
        return str(records[field].field_name)

    found = {number for number, column in enumerate(ntuple.column_records) if top(column.field_id) in wanted}
    found |= {alias.physical_id for alias in ntuple.alias_column_records if top(alias.field_id) in wanted}
    return sorted(found)


def write_list(path: Path, name: str, fields: list[str], out: Path) -> None:
    """Writes the pages that the `fields` need to `out`. Their columns must have one representation each."""
    lines = [str(path.resolve())]
    with uproot.open(path) as file:
        ntuple = file[name]
        stored = {column.idx: column for column in ntuple.column_records if hasattr(column, "idx")}
        for number in physical_columns(ntuple, fields):
            column = stored[number]
            kind, bits = encoding(column), int(column.nbits)
            lines.append(f"column {number} {kind} {max(bits // 8, 1)}")
            for cluster in ntuple.page_link_list:
                for place, page in enumerate(cluster[number].pages):
                    elements = abs(page.num_elements)
                    size = (elements * bits + 7) // 8
                    locator = page.locator
                    lines.append(f"{locator.offset} {locator.num_bytes} {size} {elements} {int(place == 0)}")
    out.write_text("\n".join(lines) + "\n")
