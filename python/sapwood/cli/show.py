"""`sapwood show`: one line per branch, with its type and its size on disk; or the members of an object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..display.units import counted, human_bytes
from ._options import Access, Files, Filter
from ._output import Column, numbers, print_table, ratio
from ._run import command
from ._several import for_each, require_matches

if TYPE_CHECKING:
    from ..model.branch import Branch


# The sort keys of branches: the largest come first, names from A to Z.
_KEYS = {
    "size": "compressed_bytes",
    "uncompressed": "uncompressed_bytes",
    "ratio": "ratio",
    "baskets": "baskets",
}
_NAMES = (*_KEYS, "name")


def _sort_key(text: str) -> str:
    """A sort key; `unpacked`, the former name of `uncompressed`, is still accepted."""
    key = "uncompressed" if text == "unpacked" else text
    if key not in _NAMES:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, _NAMES))}.")
    return key


@command
def show(
    sources: Files,
    sort: Annotated[
        str | None,
        typer.Option(
            parser=_sort_key,
            metavar=f"[{'|'.join(_NAMES)}]",
            help="Sort the branches; by default, they are in the order of the file.",
        ),
    ] = None,
    filter_name: Filter = None,
    edm: Annotated[
        bool, typer.Option("--edm", help="List the products and processes of a CMS EDM file instead.")
    ] = False,
    *,
    access: Access,
) -> None:
    """List branches: type, entries, bytes, ratio, baskets.

    For a branch, list the members of its objects; for any other object, print its content.

    \b
    sapwood show nano.root:Events --sort size --filter 'Muon_*'
    sapwood show nano.root:Events/branch
    sapwood show plots.root:dir/histogram
    sapwood show --edm miniaod.root --sort size
    """
    if edm:
        from ._edm import show_edm

        for_each(sources, access, lambda source: show_edm(source, sort, filter_name, access))
        return
    for_each(sources, access, lambda source: _show(source, sort, filter_name, access))


def _show(source: str, sort: str | None, filter_name: str | None, access: Access) -> dict[str, Any]:
    """Prints a tree, branch or other object unless a JSON document is wanted, which is returned."""
    from ..errors import UsageError
    from ..model.directory import RNTUPLE_CLASSES
    from ..report.layout import cluster_starts
    from ._object import object_document, print_object
    from ._target import is_branch, open_tree_or_object, place_of

    found = open_tree_or_object(source, access)
    if is_branch(found):
        if not access.as_json:
            found.show()
        return _branch_document(found)
    if not hasattr(found, "num_entries"):
        if not access.as_json:
            print_object(found)
        return object_document(source, found)
    with found as tree:
        require_matches(tree, filter_name)
        passing = tree.items(filter_name=filter_name)
        branches = [(path, branch) for path, branch in passing if not branch.member]
        if passing and not branches:
            whole = f"{place_of(tree)}/{tree.branch_at(passing[0][1].index).path}"
            raise UsageError(
                f"--filter {filter_name!r} matches only parts of branches, whose bytes are not known; "
                f"list them with 'sapwood show {whole}'"
            )
        rows = [_row(path, branch) for path, branch in branches]
        shared = tree.core.shared_sizes([branch.index for _, branch in branches])
        document = {
            "file": tree.file.file_path,
            "tree": tree.object_path,
            "title": tree.title,
            "entries": tree.num_entries,
            "clusters": len(cluster_starts(tree)) - 1,
            "branches": _sorted(rows, sort),
            "total": _total(rows, shared),
        }
    if not access.as_json:
        _print(document, ("field", "page") if tree.classname in RNTUPLE_CLASSES else ("branch", "basket"))
    return document


def _branch_document(branch: Branch) -> dict[str, Any]:
    """The branch, the members of its objects and its sub-branches."""
    return {
        "branch": _row(branch.path, branch),
        "members": [{"name": one.member, "type": one.typename} for _, one in branch.members()],
        "branches": [_row(path, one) for path, one in branch.items()],
        "skipped": [{"member": member, "reason": reason} for member, reason in branch.skipped],
    }


def _row(path: str, branch: Branch) -> dict[str, Any]:
    baskets = branch.num_baskets
    return {
        "name": path,
        "type": branch.typename,
        "entries": branch.num_entries,
        "compressed_bytes": branch.compressed_bytes,
        "uncompressed_bytes": branch.uncompressed_bytes,
        "ratio": branch.uncompressed_bytes / branch.compressed_bytes if branch.compressed_bytes else None,
        "baskets": baskets,
        "mean_basket_bytes": branch.compressed_bytes / baskets if baskets else None,
        "compression": str(branch.compression),
        "group": branch.is_group,
        "unsupported": branch.unsupported,
    }


def _total(rows: Sequence[dict[str, Any]], shared: tuple[int, int, int] | None) -> dict[str, Any]:
    """The sums of the rows; fields of an RNTuple share pages, which count once."""
    names = ("compressed_bytes", "uncompressed_bytes", "baskets")
    compressed, uncompressed, baskets = shared or (sum(row[name] for row in rows) for name in names)
    return {
        "branches": len(rows),
        "compressed_bytes": compressed,
        "uncompressed_bytes": uncompressed,
        "ratio": uncompressed / compressed if compressed else None,
        "baskets": baskets,
        "mean_basket_bytes": compressed / baskets if baskets else None,
    }


def _sorted(rows: list[dict[str, Any]], sort: str | None) -> list[dict[str, Any]]:
    if sort is None:
        return rows
    if sort == "name":
        return sorted(rows, key=lambda row: str(row["name"]))
    key = _KEYS[sort]
    return sorted(rows, key=lambda row: float(row[key] or 0), reverse=True)


def _print(document: dict[str, Any], words: tuple[str, str]) -> None:
    """Prints the table; ``words`` are what the format calls its columns and their chunks."""
    column, chunk = words
    columns = [
        Column(column, style="bold"),
        Column("type", style="cyan"),
        *numbers("entries", "compressed", "uncompressed", "ratio", f"{chunk}s", f"mean {chunk}"),
    ]
    rows = [
        [
            row["name"],
            row["type"] + (" (cannot be read)" if row["unsupported"] else ""),
            f"{row['entries']:,}",
            *_sizes(row),
        ]
        for row in document["branches"]
    ]
    total = document["total"]
    branches = counted(total["branches"], column, "branches" if column == "branch" else "")
    footer = [branches, "", f"{document['entries']:,}", *_sizes(total)]
    print_table(columns, rows, footer)


def _sizes(row: dict[str, Any]) -> list[str]:
    mean = row["mean_basket_bytes"]
    return [
        human_bytes(row["compressed_bytes"]),
        human_bytes(row["uncompressed_bytes"]) if row["uncompressed_bytes"] else "-",
        ratio(row["uncompressed_bytes"], row["compressed_bytes"]),
        f"{row['baskets']:,}",
        "-" if mean is None else human_bytes(mean),
    ]
