"""Stores records as split objects: the class of a record, and the branches of its members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _core
from ..arrays.column import Form, type_string
from ..errors import UnsupportedTypeError
from ..errors.core import core_errors
from .columns import Path, as_vector, is_block, storable

Storage = tuple[Any, ...]


@dataclass(frozen=True)
class Part:
    """A branch of a column of split objects.

    Attributes:
        name: the name.
        storage: how the core stores it; see ``_core.Writer.tree``.
        path: the members that lead to it.
        form: the form of its values; for a branch without values, that of the objects.
        holds: ``"values"``, ``"counts"`` (of the objects whose members follow), or ``"nothing"``.
    """

    name: str
    storage: Storage
    path: Path
    form: Form
    holds: str


def has_records(form: Form) -> bool:
    """Whether a form contains records at any depth of lists and options."""
    if form[0] in ("record", "tuple"):
        return True
    return form[0] in ("list", "fixed", "option") and has_records(form[-1])


def split_parts(column: str, form: Form, start: int) -> list[Part]:
    """Splits a column of records, or of lists of records, into branches as ROOT splits objects.

    Args:
        column: the name of the column, and of the class if the record has no name.
        form: the form of the column.
        start: the index of the first of these branches in the tree.

    Raises:
        UnsupportedTypeError: ROOT cannot split such members.
        UsageError: a list has no item from which its type could be inferred.
    """
    whole = _storage(column, form, column, listed=False)
    if whole[0] not in ("object", "objects"):
        raise _unsplit(column, form)
    with core_errors():
        branches = _core.split_branches(column, whole, start)
    parts: list[Part] = []
    for name, storage in branches:
        if storage[0] != "member":
            parts.append(_part(name, storage, (), form, whole, listed=False))
            continue
        above = parts[storage[1] - start]
        path, inner, content = above.path, _items(above.form), _content(above, parts, whole, start)
        for number in storage[2]:
            member, content = content[2][number]
            path, inner = (*path, member), dict(_items(inner)[1])[member]
        listed = above.holds == "counts"
        parts.append(_part(name, storage, path, inner, content, listed))
    return parts


def _content(above: Part, parts: list[Part], whole: Storage, start: int) -> Storage:
    """The full storage of a branch whose own storage may only name a member."""
    if above.storage[0] != "member":
        return whole
    content = _content(parts[above.storage[1] - start], parts, whole, start)
    for number in above.storage[2]:
        content = content[2][number][1]
    return content


def _part(name: str, storage: Storage, path: Path, form: Form, content: Storage, listed: bool) -> Part:
    if content[0] == "object":
        return Part(name, storage, path, form, "nothing")
    if content[0] == "objects":
        return Part(name, storage, path, form, "counts")
    form = storable(name, form)
    if content[0] == "vector":
        form = as_vector(form)
    return Part(name, storage, path, ("list", form) if listed else form, "values")


def _storage(where: str, form: Form, class_name: str, *, listed: bool) -> Storage:
    """The storage of a member; ``where`` is its name in error messages."""
    form = _present(form)
    if form[0] == "record":
        return ("object", *_class(where, form, class_name, listed=listed))
    if form[0] == "list" and _present(form[1])[0] == "record":
        if listed:
            raise UnsupportedTypeError(
                f"{where!r}: {type_string(form)} inside a list of records cannot be split",
                branch=where,
                hint='write the column with records="columns", or move the inner list to its own column',
            )
        return ("objects", *_class(where, _present(form[1]), class_name, listed=True))
    if has_records(form):
        raise _unsplit(where, form)
    form = storable(where, form)
    if listed and not _readable_in_lists(form):
        raise UnsupportedTypeError(
            f"{where!r}: {type_string(form)} cannot be a member of split records in a list",
            branch=where,
            hint="ROOT can read only numbers, arrays and vectors of numbers there: "
            'write the column with records="columns"',
        )
    if form[0] == "string":
        return ("string",)
    if is_block(form):
        return ("numbers", *block_storage(form))
    return ("vector", vector_item(as_vector(form)[1]))


def _readable_in_lists(form: Form) -> bool:
    """Whether ROOT 6.40 can read such a member of objects in a vector without a dictionary for their class.

    When such a vector grows, ROOT moves each ``std::string`` bytewise and crashes. For vectors of vectors,
    ``TTree::Draw`` returns wrong values.
    """
    return is_block(form) or (form[0] in ("list", "fixed") and as_vector(form)[1][0] == "primitive")


def _class(
    where: str, record: Form, class_name: str, *, listed: bool
) -> tuple[str, list[tuple[str, Storage]]]:
    name = record[2] or class_name
    members = [
        (field, _storage(f"{where}.{field}", form, f"{name}_{field}", listed=listed))
        for field, form in record[1]
    ]
    return name, members


def _unsplit(where: str, form: Form) -> UnsupportedTypeError:
    return UnsupportedTypeError(
        f"{where!r}: {type_string(form)} cannot be split",
        branch=where,
        hint='only records with named fields, and lists of them, can be split; use records="columns"',
    )


def _present(form: Form) -> Form:
    while form[0] == "option":
        form = form[1]
    return form


def _items(form: Form) -> Form:
    """The form of the records, without the list around them."""
    form = _present(form)
    return _present(form[1]) if form[0] == "list" else form


def vector_item(form: Form) -> Any:
    """The storage of an item of a ``std::vector``: a dtype, ``("string",)`` or ``("vector", item)``."""
    if form[0] == "list":
        return ("vector", vector_item(form[1]))
    return ("string",) if form[0] == "string" else form[1]


def block_storage(form: Form) -> tuple[str, list[int]]:
    """The dtype and the dimensions of a number or a fixed array."""
    dims = []
    while form[0] == "fixed":
        dims.append(form[1])
        form = form[2]
    return form[1], dims
