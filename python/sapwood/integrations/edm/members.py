"""Finds members of objects, whether or not the writer split the branch that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...arrays.libraries import library_named
from ...query.query import Query
from ...query.reading import read_arrays
from ...query.select import Selection, require_readable

if TYPE_CHECKING:
    from ...model.branch import Branch


def member(branch: Branch, path: str) -> Branch | None:
    """The sub-branch for a member ``a.b``, or that member of an unsplit object, or None."""
    below = {child.name: child for child in reversed(list(branch.itervalues()))}
    # Names of sub-branches start with the parent's name if that ends in a period, else often without it.
    prefixes = ("", branch.name if branch.name.endswith(".") else f"{branch.name}.")
    pieces = path.split(".")
    for count in range(len(pieces), 0, -1):
        head, rest = ".".join(pieces[:count]), ".".join(pieces[count:])
        found = next((below[prefix + head] for prefix in prefixes if prefix + head in below), None)
        if found is not None:
            return member(found, rest) if rest else found
    return None if branch.is_group else branch.member_at(path)


def read_together(
    branches: list[Branch],
    entry_start: int | None,
    entry_stop: int | None,
    *,
    entries: Any = None,
    library: str = "ak",
    threads: int | None = None,
    deadline: float | None = None,
) -> list[Any]:
    """Reads branches of one tree at once, as one array each."""
    outputs = {f"{number}": require_readable(branch) for number, branch in enumerate(branches)}
    selection = Selection(dict(outputs), None, {}, True)
    query = Query(branches[0].tree, selection, library_named(library), tuple)
    how = {"entries": entries, "threads": threads, "deadline": deadline}
    return list(read_arrays(query, entry_start, entry_stop, **how))
