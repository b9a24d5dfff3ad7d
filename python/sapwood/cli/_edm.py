"""`sapwood show --edm`: the products of a CMS file, and the processes that made them."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..display.units import human_bytes
from ..errors import UsageError
from ._output import Column, print_json, print_line, print_table, ratio
from ._target import open_target

_KEYS = {"size": "compressed_bytes", "unpacked": "uncompressed_bytes", "ratio": "ratio"}


def show_edm(
    source: str,
    sort: str | None,
    filter_name: str | None,
    as_json: bool,
    deadline: float | None,
    replicas: list[str] | None = None,
) -> None:
    """Prints two tables, or one JSON document."""
    from ..integrations import edm
    from ..query.filters import text_filter

    wanted = text_filter(filter_name)
    with open_target(source, deadline, None, replicas).file as file:
        known = edm.products(file)
        if not known:
            raise UsageError(f"{file.file_path} has no products: it is no CMS EDM file")
        infos = [
            info for info in known if wanted is None or wanted(info.name.branch) or wanted(info.name.label)
        ]
        document = {
            "file": file.file_path,
            "products": _sorted([_row(info) for info in infos], sort),
            "processes": [dataclasses.asdict(info) for info in edm.processes(file)],
        }
    if as_json:
        print_json(document)
    else:
        _print(document)


def _row(info: Any) -> dict[str, Any]:
    packed, unpacked = info.compressed_bytes, info.uncompressed_bytes
    return {
        "branch": info.name.branch,
        **dataclasses.asdict(info.name),
        "class": info.class_name,
        "per": info.branch_type,
        "present": info.present,
        "branch_id": info.branch_id,
        "aliases": list(info.aliases),
        "compressed_bytes": packed,
        "uncompressed_bytes": unpacked,
        "ratio": unpacked / packed if packed else None,
    }


def _sorted(rows: list[dict[str, Any]], sort: str | None) -> list[dict[str, Any]]:
    if sort == "name":
        return sorted(rows, key=lambda row: str(row["branch"]))
    if sort is None:
        return rows
    if sort not in _KEYS:
        raise UsageError(f"products are not sorted by {sort!r}, but by 'name', {', '.join(map(repr, _KEYS))}")
    return sorted(rows, key=lambda row: float(row[_KEYS[sort]] or 0), reverse=True)


def _print(document: dict[str, Any]) -> None:
    columns = [
        Column("label", style="bold"),
        Column("instance"),
        Column("process"),
        Column("class", style="cyan"),
        Column("per"),
        Column("compressed", right=True),
        Column("unpacked", right=True),
        Column("ratio", right=True),
    ]
    rows = [
        [
            row["label"],
            row["instance"] or "-",
            row["process"],
            row["class"],
            row["per"],
            *_sizes(row),
        ]
        for row in document["products"]
    ]
    here = [row for row in document["products"] if row["present"]]
    packed = sum(row["compressed_bytes"] for row in here)
    unpacked = sum(row["uncompressed_bytes"] for row in here)
    counts = f"{len(here):,} products, {len(rows) - len(here):,} dropped"
    total = [human_bytes(packed), human_bytes(unpacked), ratio(unpacked, packed)]
    print_table(columns, rows, [counts, "", "", "", "", *total])
    if document["processes"]:
        print_line()
        steps = [
            [
                str(step["history"]),
                str(step["position"]),
                step["process"],
                step["release"],
                step["parameter_set_id"],
            ]
            for step in document["processes"]
        ]
        titles = ("history", "step", "process", "release", "parameter set")
        print_table([Column(title) for title in titles], steps)


def _sizes(row: dict[str, Any]) -> list[str]:
    if not row["present"]:
        return ["dropped", "-", "-"]
    packed, unpacked = row["compressed_bytes"], row["uncompressed_bytes"]
    return [human_bytes(packed), human_bytes(unpacked), ratio(unpacked, packed)]
