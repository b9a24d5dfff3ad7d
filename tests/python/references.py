"""Files whose entries hold references, in other layouts: ROOT reads the same objects from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from root_peer import Digests, objects_by_root

import sapwood

BASKET_SIZES = (1_000, 16 << 10, 64 << 10, 1 << 20)


def differences(python: str, path: Path, trees: Sequence[str], folder: Path) -> Iterator[str]:
    """In words, what ROOT reads otherwise from a file that was repacked, skimmed or merged."""
    before = objects_by_root(python, path, trees)
    if before is None:
        yield "ROOT does not read the original"
        return
    target = folder / path.name
    for size in BASKET_SIZES:
        sapwood.repack(path, target, basket_size=size)
        if objects_by_root(python, target, trees) != before:
            yield f"baskets of {size} bytes"
    sapwood.merge([path, path], target)
    if objects_by_root(python, target, trees) != _twice(before):
        yield "merged with itself"
    for tree in trees:
        with sapwood.open({str(path): tree}) as found:
            start, stop = found.num_entries // 3, found.num_entries
        sapwood.repack(path, target, tree=tree, trees=[tree], entries=(start, stop))
        after = objects_by_root(python, target, [tree])
        if after is None or after[tree] != {name: one[start:stop] for name, one in before[tree].items()}:
            yield f"{tree}, entries {start} to {stop}"


def _twice(digests: Digests) -> Digests:
    return {
        tree: {name: of_branch * 2 for name, of_branch in branches.items()}
        for tree, branches in digests.items()
    }
