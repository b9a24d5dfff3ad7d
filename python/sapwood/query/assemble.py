"""Assembles split objects: makes records of the sub-branches of a branch.

ROOT splits an object into one branch per member, and a collection of objects into one branch per member of
its items, each with a list per entry. The assembled objects have the same shape as unsplit ones: base classes
are merged into their record, and lists contain records. The members of ``TObject`` (``fUniqueID``, ``fBits``)
are omitted; they are available only as leaves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import BuiltColumn, Column, empty_column, field_columns, record_of
from ..errors import UsageError

if TYPE_CHECKING:
    from ..model.branch import Branch

Columns: TypeAlias = Mapping[tuple[int, int, str], Column]

_TOBJECT = "TObject"
_TOBJECT_MEMBERS = ("fUniqueID", "fBits")
_TOBJECT_MEMBER_TYPE = "uint32_t"
_DIMENSIONS = re.compile(r"(\[[^\]]*\])+$")


def readable_leaves(branch: Branch) -> list[Branch]:
    """The branches that hold the data of a branch: itself, or the readable branches inside a group."""
    if not branch.is_group:
        return [branch]
    leaves = [leaf for _, child in _children(branch) for leaf in readable_leaves(child)]
    return leaves or _counts(branch)


def column_of(branch: Branch, columns: Columns) -> Column:
    """The column of a branch; for a group, it is assembled from the columns of :func:`readable_leaves`.

    Raises:
        UsageError: if the leaves differ in their numbers of entries or items.
    """
    if not branch.is_group:
        return columns[branch.key]
    try:
        return _record(branch, columns) if branch.item_class is None else _lists(branch, columns)
    except ValueError as error:
        raise UsageError(f"cannot assemble the sub-branches of {branch.path!r}: {error}") from None


def empty_column_of(branch: Branch) -> Column:
    """A column without entries, for a branch that can be read."""
    leaves = readable_leaves(branch)
    return column_of(branch, {leaf.key: empty_column(leaf.form or ("empty",)) for leaf in leaves})


def member_of(branch: Branch, path: str) -> Branch | None:
    """The member at a dotted path in the objects of a group: a sub-branch, or a member inside one."""
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
            bases.update(field_columns(column))
        else:
            _put(own, name, column)
    # A member hides a member of the same name in a base class.
    return _records_of({**bases, **own}, branch.item_class or branch.typename)


def _lists(branch: Branch, columns: Columns) -> BuiltColumn:
    """The items of a collection, as lists of records made of the lists of their members."""
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
            raise ValueError(f"{leaf.path!r} does not contain lists")
        offsets, *buffers = column.buffers
        common = offsets if common is None else common
        if offsets is not common and not np.array_equal(offsets, common):
            raise ValueError(f"the lists of {leaf.path!r} and {leaves[0].path!r} differ in length")
        items[leaf.key] = BuiltColumn(column.form[1], int(offsets[-1]), buffers)
    assert common is not None
    return _list_of(common, _record(branch, items))


def _list_of(offsets: NDArray[Any], content: BuiltColumn) -> BuiltColumn:
    return BuiltColumn(("list", content.form), len(offsets) - 1, [offsets, *content.buffers])


def _children(branch: Branch) -> list[tuple[str, Branch]]:
    """The sub-branches of a record, each with the name of its member."""
    children = []
    named = [(child, _member_name(child)) for child in branch.branches]
    integers = {name for child, name in named if child.typename.removesuffix("[]") == _TOBJECT_MEMBER_TYPE}
    # Any class may have a member with one of these names, but TObject has both, as integers.
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
    """The branch itself, if it is a collection that stores its numbers of items; otherwise nothing."""
    return [branch] if branch.item_class is not None and branch.form is not None else []


def _member_name(branch: Branch) -> str:
    """The name of a sub-branch without the names of its ancestors and without dimensions."""
    name = _DIMENSIONS.sub("", branch.name)
    for above in branch.ancestors:
        prefix = above.name.removesuffix(".") + "."
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


def _is_base(branch: Branch, name: str) -> bool:
    """Whether a sub-branch is a base class of its parent: it then has the name of its class."""
    return name.replace(" ", "") == branch.typename.replace(" ", "")


def _put(fields: dict[str, Any], name: str, column: Column) -> None:
    """Inserts a member: "a.b" becomes "b" in the record "a", which has no branch of its own."""
    *outer, last = name.split(".")
    record = fields
    for part in outer:
        inner = record.setdefault(part, {})
        if not isinstance(inner, dict):
            record, last = fields, name
            break
        record = inner
    record[last] = column


def _records_of(fields: Mapping[str, Any], class_name: str) -> BuiltColumn:
    columns = {
        name: _records_of(field, "") if isinstance(field, dict) else field for name, field in fields.items()
    }
    return record_of(columns, class_name)
