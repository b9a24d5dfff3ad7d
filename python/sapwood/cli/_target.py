"""What FILE[:PATH] on the command line stands for."""

from __future__ import annotations

import os
from typing import Any

TREE_CLASSES = frozenset({"TTree", "TNtuple", "TNtupleD"})


def open_target(
    text: str, deadline: float | None, threads: int | None, replicas: list[str] | None = None
) -> Any:
    """Opens a file, or the object in it that stands after a colon."""
    from ..errors import FileNotFoundError
    from ..opening.single import open
    from ..options.remote_glob import STORES

    options: dict[str, Any] = {"deadline": deadline, "threads": threads, "replicas": replicas or None}
    target = split_target(text)
    try:
        return open(target, **options)
    except FileNotFoundError as error:
        # Of a dataset in an object store, nothing but the store says where its name ends.
        scheme, mark, rest = text.partition("://")
        place, colon, name = rest.partition(":")
        if target != text or not colon or scheme.lower() not in STORES:
            raise
        try:
            return open({scheme + mark + place: name}, **options)
        except FileNotFoundError:
            raise error from None


def open_tree(
    text: str, deadline: float | None, threads: int | None, replicas: list[str] | None = None
) -> Any:
    """Opens the tree of FILE:TREE; of FILE alone, its only tree.

    Raises:
        UsageError: if there are several, or what was named is no tree.
    """
    from ..errors import UsageError

    found = open_tree_or_object(text, deadline, threads, replicas)
    if hasattr(found, "num_entries"):
        return found
    raise UsageError(f"{text} is no tree")


def open_tree_or_object(
    text: str, deadline: float | None, threads: int | None, replicas: list[str] | None = None
) -> Any:
    """Opens what FILE:PATH names; of a file or a directory, its only tree.

    Raises:
        UsageError: if a file or directory has several trees.
    """
    from ..errors import KeyInFileError, UsageError
    from ..model.directory import Directory

    found = open_target(text, deadline, threads, replicas)
    if not isinstance(found, Directory):
        return found
    trees = trees_in(found)
    if not trees:
        raise KeyInFileError(f"there is no tree in {text}")
    if len(trees) > 1:
        named = ", ".join(trees[:8]) + (", …" if len(trees) > 8 else "")
        raise UsageError(f"{text} has {len(trees)} trees, name one after a colon: {named}")
    return found[trees[0]]


def trees_in(directory: Any) -> list[str]:
    """The paths of the trees in a directory and those below it, highest cycles only."""
    classes = directory.classnames(recursive=True, cycle=False)
    return [path for path, class_name in classes.items() if class_name in TREE_CLASSES]


def is_directory(text: str) -> bool:
    """Whether it names a directory of files: one of this machine, or a URL that ends in a slash."""
    from ..options.paths import is_dataset, is_url

    if not is_url(text) and is_dataset(text):
        return False
    return text.partition("?")[0].endswith("/") if is_url(text) else os.path.isdir(text)


def split_target(text: str) -> Any:
    """`open` splits at a colon after ".root" only; on a command line a local file may have any name."""
    from ..options.paths import CATALOGUED, is_dataset, is_url, split_object_path

    _, inside = split_object_path(text)
    if inside is not None or is_url(text) or os.path.exists(text):
        return text
    file, colon, name = text.rpartition(":")
    known = file.startswith(CATALOGUED) or os.path.exists(file) or is_dataset(file)
    return {file: name} if colon and known else text
