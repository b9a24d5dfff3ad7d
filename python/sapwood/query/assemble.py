"""Split objects, put together again: the sub-branches of a branch as the records that they came from.

ROOT splits an object into a branch per member, and a collection of objects into a branch per member of the
items, each a list per entry. Put together, they have the shape that the same objects have where they are not
split: bases are merged into their record, lists are around records, and ``TObject``'s own members
(``fUniqueID``, ``fBits``), which only their leaves show, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import BuiltColumn, Column, empty_column, fields_apart, record_of
from ..errors import UsageError

if TYPE_CHECKING:
    from ..model.branch import Branch

Columns: TypeAlias = Mapping[tuple[int, int, str], Column]

_TOBJECT = "TObject"
_TOBJECT_MEMBERS = ("fUniqueID", "fBits")
_TOBJECT_MEMBER_TYPE = "uint32_t"
_DIMENSIONS = re.compile(r"(\[[^\]]*\])+$")


def readable_leaves(branch: Branch) -> list[Branch]:
    """The branches whose data make up a branch: itself, or the readable ones inside a group."""
    if not branch.is_group:
        return [branch]
    leaves = [leaf for _, child in _children(branch) for leaf in readable_leaves(child)]
    return leaves or _counts(branch)


def column_of(branch: Branch, columns: Columns) -> Column:
    """The column of a branch; that of a group is put together from those of :func:`readable_leaves`.

    Raises:
        UsageError: if the parts do not fit: they have different numbers of entries, or of items.
    """
    if not branch.is_group:
        return columns[branch.key]
    try:
        return _record(branch, columns) if branch.item_class is None else _lists(branch, columns)
    except ValueError as error:
        raise UsageError(f"the sub-branches of {branch.path!r} cannot stand side by side: {error}") from None


def empty_column_of(branch: Branch) -> Column:
    """The column of no entries of a branch that can be read."""
    leaves = readable_leaves(branch)
    return column_of(branch, {leaf.key: empty_column(leaf.form or ("empty",)) for leaf in leaves})


def member_of(branch: Branch, path: str) -> Branch | None:
    """The sub-branch, or the member in one, that the objects of a group have at a path with dots."""
    if not branch.is_group:
        return branch.member_at(path)
    for name, child in _children(branch):
        found = None
        if path == name:
            found = branch.tree.branch_at(child.index)
        elif path.startswith(f"{name}."):
            found = member_of(child, path[len(name) + 1 :])
        elif _is_base(child, name):
            found = member_of(child, path)
        if found is not None:
            return found
    return None


def _record(branch: Branch, columns: Columns) -> BuiltColumn:
    bases: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for name, child in _children(branch):
        column = column_of(child, columns)
        if _is_base(child, name) and column.form[0] == "record":
            bases.update(fields_apart(column))
        else:
            _put(own, name, column)
    # A member hides that of the same name in a base.
    return _records_of({**bases, **own}, branch.item_class or branch.typename)


def _lists(branch: Branch, columns: Columns) -> BuiltColumn:
    """The items of a collection: what is in each of the lists of its members."""
    leaves = readable_leaves(branch)
    if leaves == _counts(branch):
        counts = columns[branch.key]
        offsets = np.concatenate([[0], np.cumsum(counts.buffers[0], dtype=np.int64)])
        return _list_of(offsets, BuiltColumn(("record", [], branch.item_class, []), int(offsets[-1]), []))
    common: NDArray[Any] | None = None
    items: dict[tuple[int, int, str], Column] = {}
    for leaf in leaves:
        column = columns[leaf.key]
        if column.form[0] != "list":
            raise ValueError(f"{leaf.path!r} holds no lists")
        offsets, *buffers = column.buffers
        common = offsets if common is None else common
        if offsets is not common and not np.array_equal(offsets, common):
            raise ValueError(f"{leaf.path!r} has other numbers of items than {leaves[0].path!r}")
        items[leaf.key] = BuiltColumn(column.form[1], int(offsets[-1]), buffers)
    assert common is not None
    return _list_of(common, _record(branch, items))


def _list_of(offsets: NDArray[Any], content: BuiltColumn) -> BuiltColumn:
    return BuiltColumn(("list", content.form), len(offsets) - 1, [offsets, *content.buffers])


def _children(branch: Branch) -> list[tuple[str, Branch]]:
    """The sub-branches that make up a record, with the names of the members that they are."""
    children = []
    named = [(child, _member_name(child)) for child in branch.branches]
    integers = {name for child, name in named if child.typename.removesuffix("[]") == _TOBJECT_MEMBER_TYPE}
    # A class may have a member of the same name and of any type: TObject's own two come together.
    hidden = set(_TOBJECT_MEMBERS) if integers.issuperset(_TOBJECT_MEMBERS) else set()
    for child, name in named:
        part = child.records
        if name in hidden and branch.typename != _TOBJECT and not child.is_group:
            continue
        if name == _TOBJECT and _is_base(child, name):
            continue
        if child.unsupported is None and readable_leaves(part):
            children.append((name, part))
    return children


def _counts(branch: Branch) -> list[Branch]:
    """The branch that holds the numbers of items, if a collection has that itself."""
    return [branch] if branch.item_class is not None and branch.form is not None else []


def _member_name(branch: Branch) -> str:
    """The name of a sub-branch, without those of the branches it is in, and without dimensions."""
    name = _DIMENSIONS.sub("", branch.name)
    for above in branch.ancestors:
        prefix = above.name.removesuffix(".") + "."
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


def _is_base(branch: Branch, name: str) -> bool:
    """Whether a sub-branch is a base class of its parent: that is called as its class is."""
    return name.replace(" ", "") == branch.typename.replace(" ", "")


def _put(fields: dict[str, Any], name: str, column: Column) -> None:
    """Puts a member in its place: "a.b" is "b" of the record "a", which has no branch of its own."""
    *outer, last = name.split(".")
    place = fields
    for part in outer:
        inner = place.setdefault(part, {})
        if not isinstance(inner, dict):
            place, last = fields, name
            break
        place = inner
    place[last] = column


def _records_of(fields: Mapping[str, Any], class_name: str) -> BuiltColumn:
    columns = {
        name: _records_of(field, "") if isinstance(field, dict) else field for name, field in fields.items()
    }
    return record_of(columns, class_name)
