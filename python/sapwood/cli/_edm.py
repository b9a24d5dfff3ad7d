"""`sapwood show --edm`: the products of a CMS file and the processes that made them."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..display.units import counted, human_bytes
from ..errors import UsageError
from ._options import Access
from ._output import Column, numbers, print_line, print_table, ratio
from ._target import open_target

_KEYS = {"size": "compressed_bytes", "uncompressed": "uncompressed_bytes", "ratio": "ratio"}


def show_edm(source: str, sort: str | None, filter_name: str | None, access: Access) -> dict[str, Any]:
    """Prints two tables unless a JSON document is wanted, which is returned."""
    from ..integrations import edm
    from ..query.filters import text_filter

    wanted = text_filter(filter_name)
    with open_target(source, access).file as file:
        products = edm.products(file)
        if not products:
            raise UsageError(f"{file.file_path} has no products: it is not a CMS EDM file")
        infos = [
            info for info in products if wanted is None or wanted(info.name.branch) or wanted(info.name.label)
        ]
        document = {
            "file": file.file_path,
            "products": _sorted([_row(info) for info in infos], sort),
            "processes": [dataclasses.asdict(info) for info in edm.processes(file)],
        }
    if not access.as_json:
        _print(document)
    return document


def _row(info: Any) -> dict[str, Any]:
    compressed, uncompressed = info.compressed_bytes, info.uncompressed_bytes
    return {
        "branch": info.name.branch,
        **dataclasses.asdict(info.name),
        "class": info.class_name,
        "per": info.branch_type,
        "present": info.present,
        "branch_id": info.branch_id,
        "aliases": list(info.aliases),
        "compressed_bytes": compressed,
        "uncompressed_bytes": uncompressed,
        "ratio": uncompressed / compressed if compressed else None,
    }


def _sorted(rows: list[dict[str, Any]], sort: str | None) -> list[dict[str, Any]]:
    if sort == "name":
        return sorted(rows, key=lambda row: str(row["branch"]))
    if sort is None:
        return rows
    if sort not in _KEYS:
        raise UsageError(f"cannot sort products by {sort!r}; use 'name', {', '.join(map(repr, _KEYS))}")
    return sorted(rows, key=lambda row: float(row[_KEYS[sort]] or 0), reverse=True)


def _print(document: dict[str, Any]) -> None:
    columns = [
        Column("label", style="bold", least=16),
        Column("instance", least=8),
        Column("process", least=8),
        Column("class", style="cyan", last=1, least=16),
        Column("per"),
        *numbers("compressed", last=1),
        *numbers("uncompressed", "ratio"),
    ]
    rows = [
        [row["label"], row["instance"] or "-", row["process"], row["class"], row["per"], *_sizes(row)]
        for row in document["products"]
    ]
    present = [row for row in document["products"] if row["present"]]
    compressed = sum(row["compressed_bytes"] for row in present)
    uncompressed = sum(row["uncompressed_bytes"] for row in present)
    counts = f"{counted(len(present), 'product')}, {len(rows) - len(present):,} dropped"
    total = [human_bytes(compressed), human_bytes(uncompressed), ratio(uncompressed, compressed)]
    print_table(columns, rows, [counts, "", "", "", "", *total])
    if document["processes"]:
        print_line()
        keys = ("history", "position", "process", "release", "parameter_set_id")
        steps = [[str(step[key]) for key in keys] for step in document["processes"]]
        titles = ("history", "step", "process", "release", "parameter set")
        print_table([Column(title) for title in titles], steps)


def _sizes(row: dict[str, Any]) -> list[str]:
    if not row["present"]:
        return ["dropped", "-", "-"]
    compressed, uncompressed = row["compressed_bytes"], row["uncompressed_bytes"]
    return [human_bytes(compressed), human_bytes(uncompressed), ratio(uncompressed, compressed)]
