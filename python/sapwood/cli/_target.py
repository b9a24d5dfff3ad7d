"""The meaning of FILE[:PATH] on the command line."""

from __future__ import annotations

import os
from typing import Any

from ._options import Access


def open_target(text: str, access: Access) -> Any:
    """Opens a file, or the object inside it that is named after a colon."""
    from ..errors import FileNotFoundError
    from ..opening.single import open
    from ..options.remote_glob import STORES

    options = access.open_options
    target = split_target(text)
    try:
        return open(target, **options)
    except FileNotFoundError as error:
        # Only the object store knows where the name of a dataset ends.
        scheme, mark, rest = text.partition("://")
        place, colon, name = rest.partition(":")
        if target != text or not colon or scheme.lower() not in STORES:
            raise
        try:
            return open({scheme + mark + place: name}, **options)
        except FileNotFoundError:
            raise error from None


def open_tree(text: str, access: Access, option: str = "") -> Any:
    """Opens the tree of FILE:TREE; for FILE alone, its only tree.

    Raises:
        UsageError: if there are several trees, or the name is that of another object. The hint for a branch
            names it after ``option``, the command's option for columns; without one, as an argument.
    """
    from ..errors import UsageError

    found = open_tree_or_object(text, access)
    if is_branch(found):
        found.close()
        hint = f"write '{column_of_tree(found, option)}'"
        raise UsageError(f"{text} is a branch, but this needs a tree; {hint}", hint=hint)
    if hasattr(found, "num_entries"):
        return found
    raise UsageError(f"{text} is not a tree")


def is_branch(found: Any) -> bool:
    """Whether an opened object is a branch of a tree."""
    return hasattr(found, "is_group")


def place_of(tree: Any) -> str:
    """A tree as the argument FILE:TREE."""
    return f"{tree.file.file_path}:{tree.object_path.lstrip('/').partition(';')[0]}"


def column_of_tree(branch: Any, option: str = "") -> str:
    """A branch as the arguments FILE:TREE COLUMN, with an option before the column if there is one."""
    return " ".join(filter(None, (place_of(branch.tree), option, branch.path)))


def open_tree_or_object(text: str, access: Access) -> Any:
    """Opens the object of FILE:PATH; for a file or directory, its only tree.

    Raises:
        UsageError: if a file or directory has several trees.
        KeyInFileError: if it has none; the hint says which commands list and print its objects.
    """
    from ..errors import KeyInFileError
    from ..model.directory import Directory
    from ..opening.only_tree import only_tree

    found = open_target(text, access)
    if not isinstance(found, Directory):
        return found
    try:
        return only_tree(found)
    except KeyInFileError as error:
        hint = f"list it with 'sapwood ls -r {text}', and print an object with 'sapwood show {text}:NAME'"
        raise KeyInFileError(f"{error.message}; {hint}", url=error.url, hint=hint) from None


def is_directory(text: str) -> bool:
    """Whether this is a directory of files: a local one, or a URL that ends in a slash."""
    from ..options.paths import is_dataset, is_url

    if not is_url(text) and is_dataset(text):
        return False
    return text.partition("?")[0].endswith("/") if is_url(text) else os.path.isdir(text)


def split_target(text: str) -> Any:
    """The argument of ``open``, which splits after ".root" only; here, local files may have any name."""
    from ..options.paths import CATALOGUED, is_dataset, is_url, split_object_path

    _, inside = split_object_path(text)
    if inside is not None or is_url(text) or os.path.exists(text):
        return text
    file, colon, name = text.rpartition(":")
    known = file.startswith(CATALOGUED) or os.path.exists(file) or is_dataset(file)
    return {file: name} if colon and known else text
