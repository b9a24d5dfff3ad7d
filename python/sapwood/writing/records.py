"""Records as split objects: the class that a record stands for, and the branches of its members."""

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
        name: its name.
        storage: what the core is told, see ``_core.Writer.tree``.
        path: the members that lead to it.
        form: shape and type of what is in it; of a branch without values, that of the objects.
        holds: ``"values"``, ``"counts"`` (of the objects whose members follow), or ``"nothing"``.
    """

    name: str
    storage: Storage
    path: Path
    form: Form
    holds: str


def has_records(form: Form) -> bool:
    """Whether there are records in a form, whatever is around them."""
    if form[0] in ("record", "tuple"):
        return True
    return form[0] in ("list", "fixed", "option") and has_records(form[-1])


def split_parts(column: str, form: Form, place: int) -> list[Part]:
    """The branches of a column of records, or of lists of records, as ROOT splits objects.

    Args:
        column: its name; that of the class, too, if the record has none of its own.
        form: its form.
        place: that of the first branch among those of the tree.

    Raises:
        UnsupportedTypeError: if objects cannot have such members.
        UsageError: if there is no item that could tell a type.
    """
    whole = _storage(column, form, column, listed=False)
    if whole[0] not in ("object", "objects"):
        raise _unsplit(column, form)
    with core_errors():
        branches = _core.split_branches(column, whole, place)
    parts: list[Part] = []
    for name, storage in branches:
        if storage[0] != "member":
            parts.append(_part(name, storage, (), form, whole, listed=False))
            continue
        above = parts[storage[1] - place]
        path, inner, content = above.path, _items(above.form), _content(above, parts, whole, place)
        for number in storage[2]:
            member, content = content[2][number]
            path, inner = (*path, member), dict(_items(inner)[1])[member]
        listed = above.holds == "counts"
        parts.append(_part(name, storage, path, inner, content, listed))
    return parts


def _content(above: Part, parts: list[Part], whole: Storage, place: int) -> Storage:
    """What a branch stores, whose storage may say only which member it is."""
    if above.storage[0] != "member":
        return whole
    content = _content(parts[above.storage[1] - place], parts, whole, place)
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
    """How a member is stored; ``where`` is what errors call it."""
    form = _present(form)
    if form[0] == "record":
        return ("object", *_class(where, form, class_name, listed=listed))
    if form[0] == "list" and _present(form[1])[0] == "record":
        if listed:
            raise UnsupportedTypeError(
                f"{where!r}: {type_string(form)} inside of a list of records cannot be split",
                branch=where,
                hint='write the column with records="columns", or make a column of its own of it',
            )
        return ("objects", *_class(where, _present(form[1]), class_name, listed=True))
    if has_records(form):
        raise _unsplit(where, form)
    form = storable(where, form)
    if listed and not _readable_in_lists(form):
        raise UnsupportedTypeError(
            f"{where!r}: {type_string(form)} cannot be a member of records in a list that are split",
            branch=where,
            hint="ROOT reads numbers, arrays and vectors of numbers there, and fails at others; "
            'write the column with records="columns"',
        )
    if form[0] == "string":
        return ("string",)
    if is_block(form):
        dims = []
        while form[0] == "fixed":
            dims.append(form[1])
            form = form[2]
        return ("numbers", form[1], dims)
    return ("vector", _item(as_vector(form)[1]))


def _readable_in_lists(form: Form) -> bool:
    """Whether ROOT 6.40 reads such a member of objects in a vector, of a class that it does not have.

    When such a vector grows, ROOT moves the bytes of each ``std::string``, and crashes; of vectors in vectors
    it draws other values.
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
        hint='records whose fields have names can, and lists of these; others are for records="columns"',
    )


def _present(form: Form) -> Form:
    while form[0] == "option":
        form = form[1]
    return form


def _items(form: Form) -> Form:
    """The record in a form of records or of lists of these."""
    form = _present(form)
    return _present(form[1]) if form[0] == "list" else form


def _item(form: Form) -> Any:
    if form[0] == "list":
        return ("vector", _item(form[1]))
    return ("string",) if form[0] == "string" else form[1]
