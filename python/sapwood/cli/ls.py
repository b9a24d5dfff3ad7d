"""`sapwood ls`: the keys in files, or the files in directories."""

from __future__ import annotations

import collections
import os
from typing import Annotated, Any

import typer

from ..display.units import human_bytes
from ._options import Access, Files
from ._output import Column, complain, numbers, print_line, print_table, ratio
from ._run import command
from ._several import for_each


@command
def ls(
    sources: Files,
    long: Annotated[
        bool,
        typer.Option("-l", "--long", help="Also show older cycles, titles, dates and byte offsets."),
    ] = False,
    recursive: Annotated[
        bool, typer.Option("-r", "--recursive", help="Also list the content of directories.")
    ] = False,
    *,
    access: Access,
) -> None:
    """List the keys in files, or the files in directories.

    Trees are listed with their entries, sizes and compression.

    \b
    sapwood ls -r https://example.org/nano.root
    sapwood ls *.root
    sapwood ls root://example.org//store/

    With several files, a file that cannot be read is reported, and the others are still listed.
    """
    failures: list[Exception] = []

    def listed(source: str) -> dict[str, Any]:
        document, failed = _document(source, recursive, long, access)
        failures.extend(failed)
        if not access.as_json:
            _print(document, long)
        return document

    for_each(sources, access, listed, failures)


def _document(
    source: str, recursive: bool, every_cycle: bool, access: Access
) -> tuple[dict[str, Any], list[Exception]]:
    """The keys of a file or the entries of a directory, and the exceptions of trees that failed to open."""
    from ..opening.single import is_dataset_tree
    from ..options.paths import single_file
    from ._target import is_directory, open_target, split_target

    if is_directory(source):
        return {"entries": _directory_entries(source, access)}, []
    spec = single_file(split_target(source))
    found = open_target(source if spec.object_path is None else spec.file, access)
    if is_dataset_tree(found):
        found = found.file
    with found.file as file:
        keys = (
            _keys(found, recursive)
            if spec.object_path is None
            else _keys_at(file, spec.object_path, recursive)
        )
        rows, failures = _rows(file, keys, every_cycle)
        document = {
            "file": file.file_path,
            "bytes": file.size,
            "compression": str(file.compression),
            "root_version": file.root_version,
            "keys": rows,
        }
    return document, failures


def _directory_entries(place: str, access: Access) -> list[dict[str, Any]]:
    """The content of a local or remote directory."""
    from ..options.paths import is_url
    from ..options.remote_glob import lister

    if is_url(place):
        entries = lister(access.deadline, access.settings.for_core())(place)
    else:
        entries = sorted((entry.name, entry.is_dir()) for entry in os.scandir(place))
    return [{"name": name, "is_directory": is_directory} for name, is_directory in entries]


def _rows(
    file: Any, keys: list[tuple[str, Any]], every_cycle: bool
) -> tuple[list[dict[str, Any]], list[Exception]]:
    """A row per name and key, and the exceptions of trees that could not be opened."""
    from ..errors import SapwoodError
    from ..model.directory import TREE_CLASSES

    highest: dict[str, int] = {}
    for name, key in keys:
        highest[name] = max(highest.get(name, key.cycle), key.cycle)
    rows: list[dict[str, Any]] = []
    failures: list[Exception] = []
    for name, key in keys:
        if key.cycle < highest[name] and not every_cycle:
            continue
        row = _row(name, key)
        try:
            if row["class"] in TREE_CLASSES:
                row["tree"] = _tree(file.object_of(key))
                if key.path == file.dataset_tree:
                    # Its branches report the compression of the files that the dataset was made from.
                    row["tree"]["compression"] = None
        except SapwoodError as error:
            complain(f"sapwood: {error}")
            failures.append(error)
        rows.append(row)
    return rows, failures


def _keys_at(file: Any, path: str, recursive: bool) -> list[tuple[str, Any]]:
    """The keys of the object at a path: only of a tree or a directory, the object is opened."""
    from ..errors import KeyInFileError
    from ..model.directory import TREE_CLASSES, split_cycle

    try:
        kind = file.classname_of(path)
    except KeyInFileError:  # a branch, or nothing
        return _keys(file[path], recursive)
    if kind in TREE_CLASSES or kind.startswith("TDirectory"):
        return _keys(file[path], recursive)
    chosen, cycle = file.key(path), split_cycle(path)[1]
    return [
        (key.name, key) for key in file.all_keys if key.path == chosen.path and cycle in (None, key.cycle)
    ]


def _keys(found: Any, recursive: bool) -> list[tuple[str, Any]]:
    """Keys with their paths relative to ``found``; for a tree or branch, the key of the tree."""
    if hasattr(found, "num_entries"):
        path = found.tree.object_path.strip("/").rpartition(";")[0]
        return [(key.name, key) for key in found.file.all_keys if key.path == path]
    prefix = "".join(f"{name}/" for name in found.path)
    everything = found.file.all_keys if recursive or prefix else found.file.top_keys
    below = [(key.path[len(prefix) :], key) for key in everything if key.path.startswith(prefix)]
    depth = prefix.count("/")
    return below if recursive else [(name, key) for name, key in below if key.path.count("/") == depth]


def _row(name: str, key: Any) -> dict[str, Any]:
    return {
        "name": name,
        "cycle": key.cycle,
        "class": key.class_name,
        "title": key.title,
        "offset": key.offset,
        "bytes": key.nbytes,
        "object_bytes": key.object_bytes,
        "written": _date(key.datime),
        "tree": None,
    }


def _tree(tree: Any) -> dict[str, Any]:
    from ..report.layout import cluster_starts

    branches = tree.values()
    settings = collections.Counter(str(branch.compression) for branch in branches if branch.num_baskets)
    return {
        "entries": tree.num_entries,
        "branches": len(branches),
        "baskets": sum(branch.num_baskets for branch in branches),
        "clusters": len(cluster_starts(tree)) - 1,
        "compressed_bytes": tree.compressed_bytes,
        "uncompressed_bytes": tree.uncompressed_bytes,
        "compression": settings.most_common(1)[0][0] if settings else None,
    }


def _date(datime: int) -> str:
    """ROOT's packed local time as text (root-io-spec, TDatime: six fields, years count from 1995)."""
    year, month, day = (datime >> 26) + 1995, datime >> 22 & 15, datime >> 17 & 31
    hour, minute, second = datime >> 12 & 31, datime >> 6 & 63, datime & 63
    return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"


def _print(document: dict[str, Any], long: bool) -> None:
    if "keys" in document:
        _print_keys(document["keys"], long)
    for entry in document.get("entries", ()):
        print_line(entry["name"] + "/" * entry["is_directory"])


def _print_keys(rows: list[dict[str, Any]], long: bool) -> None:
    # Names, entries and classes are kept longest, then what --long asks for.
    columns = [
        Column("key", style="bold"),
        Column("class", style="cyan", last=2),
        *numbers("entries", last=3),
        *numbers("branches", "compressed", "uncompressed", "ratio"),
        Column("compression"),
    ]
    if long:
        columns += [*numbers("record", "offset", last=1), Column("written", last=1)]
        columns.append(Column("title", last=1, least=12))
    lines = []
    for row in rows:
        line = [row["name"] + (f";{row['cycle']}" if long else ""), row["class"], *[""] * 6]
        tree = row["tree"]
        if tree is not None:
            compressed, uncompressed = tree["compressed_bytes"], tree["uncompressed_bytes"]
            line[2:] = [
                f"{tree['entries']:,}",
                f"{tree['branches']:,}",
                human_bytes(compressed),
                human_bytes(uncompressed) if uncompressed else "-",
                ratio(uncompressed, compressed),
                tree["compression"] or "-",
            ]
        if long:
            line += [human_bytes(row["bytes"]), f"{row['offset']:,}", row["written"], row["title"]]
        lines.append(line)
    print_table(columns, lines)
