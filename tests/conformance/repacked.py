"""Files of the corpus, written anew in several layouts: every branch must stay as it was.

python tests/conformance/repacked.py [NAME ...] compares all files of the corpus, or those that are named.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import uproot
from corpus import CORPUS

import sapwood
from sapwood.directory import TREE_CLASSES
from sapwood.errors import SapwoodError

LAYOUTS: dict[str, dict[str, Any]] = {
    "copy": {},
    "zstd": {"compression": "zstd:5"},
    "cut": {"compression": "lz4:4", "basket_size": 5_000, "cluster_entries": 7},
    "bytes": {"basket_size": "1 MiB", "cluster_size": "10 kB"},
}

COMPARED: Counter[str] = Counter()
"""Branches that were compared, by how."""

# Baskets that leave this to other branches can be copied, but not cut.
REFUSED = "does not store where its entries begin"


def files() -> list[Path]:
    """Those of the corpus that hold trees and no RNTuple, which are not written yet."""
    found = []
    for path in sorted((CORPUS / "files").iterdir()):
        try:
            with sapwood.open({str(path): None}) as file:
                classes = set(file.classnames().values())
        except SapwoodError:
            continue
        if classes & TREE_CLASSES and not any("RNTuple" in name for name in classes):
            found.append(path)
    return found


def differences(before: Path, after: Path) -> list[str]:
    """What differs between two files, in words."""
    _tree_of_uproot.cache_clear()
    with sapwood.open({str(before): None}) as old, sapwood.open({str(after): None}) as new:
        found = list(_other_keys(old, new))
        for path, kind in old.classnames(cycle=False).items():
            if kind in TREE_CLASSES:
                found += _trees(old.tree_at(path), new.tree_at(path), before, after)
    return found


def _other_keys(old: sapwood.File, new: sapwood.File) -> Iterator[str]:
    def keys(file: sapwood.File) -> set[tuple[Any, ...]]:
        others = (key for key in file.all_keys if key.class_name not in TREE_CLASSES and not key.is_directory)
        return {(key.path, key.cycle, key.class_name, key.title, key.object_bytes) for key in others}

    yield from (f"only in one: {key}" for key in keys(old) ^ keys(new))


def _trees(old: sapwood.Tree, new: sapwood.Tree, before: Path, after: Path) -> Iterator[str]:
    if (old.num_entries, len(old.core.branches)) != (new.num_entries, len(new.core.branches)):
        yield f"{old.object_path}: {new.num_entries} entries, {len(new.core.branches)} branches"
        return
    for index, branch in enumerate(old.core.branches):
        try:
            expected = _column(old, index)
        except SapwoodError as error:
            if error.code == "unsupported" and branch.num_baskets:
                COMPARED["as bytes"] += 1
                yield from _entries(before, after, old.object_path, branch.path)
            continue
        try:
            written = _column(new, index)
        except SapwoodError as error:
            yield f"{old.object_path}/{branch.path}: {error}"
            continue
        COMPARED["as columns"] += 1
        if expected != written:
            yield f"{old.object_path}/{branch.path} has other values"


def _column(tree: sapwood.Tree, index: int) -> tuple[Any, ...]:
    from sapwood._border import core_errors

    with core_errors():
        (column,) = tree.core.read([index], 0, tree.num_entries, threads=2, deadline=None)
    return str(column.form), column.length, *(np.asarray(buffer).tobytes() for buffer in column.buffers)


def _entries(before: Path, after: Path, tree: str, branch: str) -> Iterator[str]:
    """Compares the bytes of entries that nobody decodes, as uproot finds them."""
    try:
        old, new = ([*_bytes(path, tree, branch)] for path in (before, after))
    except Exception as error:
        COMPARED["by nobody"] += 1
        if "'CS'" not in str(error):  # the old compression, which uproot lacks
            print(f"    {before.name}:{tree}/{branch} is compared by nobody: {error!r:.100}")
        return
    if old != new:
        yield f"{tree}/{branch} has other bytes"


@functools.cache
def _tree_of_uproot(path: Path, tree: str) -> Any:
    return uproot.open(path)[tree]


def _bytes(path: Path, tree: str, branch: str) -> Iterator[bytes]:
    # Of several cycles, the newest is written, as the first of the new file.
    found = _tree_of_uproot(path, tree.partition(";")[0])[branch]
    for number in range(found.num_baskets):
        basket = found.basket(number)
        if basket.byte_offsets is None:
            yield from (bytes(row) for row in np.asarray(basket.data).reshape(basket.num_entries, -1))
            continue
        # Offsets as the basket states them: uproot looks for them at the end, where displacements may be.
        raw, key_bytes = np.asarray(basket.raw_data), basket.member("fKeylen")
        border = basket.member("fLast") - key_bytes
        starts = raw[border + 4 :][: 4 * basket.num_entries].view(">i4") - key_bytes
        yield from (bytes(raw[a:b]) for a, b in itertools.pairwise([*starts, border]))


def check(path: Path, layout: str, folder: Path) -> list[str]:
    """What is wrong with a file of the corpus in another layout."""
    target = folder / f"{layout}-{path.name}"
    try:
        report = sapwood.repack(path, target, **LAYOUTS[layout])
        assert report.bytes == target.stat().st_size
        return differences(path, target)
    except SapwoodError as error:
        if error.code == "unsupported" and REFUSED in str(error) and "basket_size" in LAYOUTS[layout]:
            COMPARED["files refused"] += 1
            return []
        return [f"{type(error).__name__}: {error}"]
    finally:
        if "KEEP" not in os.environ:
            target.unlink(missing_ok=True)


def main(names: list[str]) -> int:
    """Compares, and prints what is wrong."""
    wrong, begin = Counter[str](), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for path in files():
            if names and path.name not in names:
                continue
            for layout in LAYOUTS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = check(path, layout, Path(folder))
                for line in found[:8]:
                    print(f"{path.name} [{layout}] {line}", flush=True)
                wrong[layout] += bool(found)
                COMPARED["files"] += 1
    print(f"{dict(COMPARED)} in {time.monotonic() - begin:.0f} s")
    print(f"{wrong.total()} files are not as they were: {dict(wrong)}")
    return 1 if wrong.total() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
