"""Files whose entries hold references, in other layouts: ROOT reads the same objects from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from root_peer import Digests, compile_by_root, objects_by_root

import sapwood
from sapwood.errors import UnsupportedTypeError

BASKET_SIZES = (1_000, 16 << 10, 64 << 10, 1 << 20)


class Original:
    """A file, and the objects that ROOT reads in some of its trees; none if it does not survive them."""

    def __init__(self, python: str, path: Path, trees: Sequence[str], folder: Path) -> None:
        self.python, self.path, self.trees, self.folder = python, path, trees, folder
        self.classes = folder / "classes"
        compile_by_root(python, self.classes, path)
        self.objects = self.read(path)

    def read(self, path: Path) -> Digests | None:
        """The objects in the same trees of another file."""
        return objects_by_root(self.python, self.classes, path, self.trees)

    def expected(self, chosen: Callable[[list[str]], list[str]]) -> Digests:
        """The objects of some entries. What the tree carries along does not depend on them."""
        return {
            tree: {
                name: digests if name == "user info" else chosen(digests)
                for name, digests in branches.items()
            }
            for tree, branches in (self.objects or {}).items()
        }

    def written(self, name: str, **options: Any) -> Digests | None:
        """The objects in a file that this one was repacked to."""
        target = self.folder / f"{name}.root"
        sapwood.repack(self.path, target, overwrite=True, **options)
        return self.read(target)

    def differences(self) -> Iterator[str]:
        """In words, in which layouts ROOT reads other objects. What cannot be moved is not skimmed."""
        for size in BASKET_SIZES:
            if self.written(f"{size}", basket_size=size) != self.objects:
                yield f"baskets of {size} bytes"
        target = self.folder / "merged.root"
        sapwood.merge([self.path, self.path], target, overwrite=True)
        if self.read(target) != self.expected(lambda digests: digests * 2):
            yield "merged with itself"
        for tree in self.trees:
            yield from self._skimmed(tree)

    def _skimmed(self, tree: str) -> Iterator[str]:
        target = self.folder / "skimmed.root"
        with sapwood.open({str(self.path): tree}) as found:
            first = found.num_entries // 3
        try:
            sapwood.repack(self.path, target, tree=tree, trees=[tree], entry_start=first, overwrite=True)
        except UnsupportedTypeError as error:
            assert "cannot be moved" in str(error)
            return
        expected = self.expected(lambda digests: digests[first:])[tree]
        if objects_by_root(self.python, self.classes, target, [tree]) != {tree: expected}:
            yield f"{tree} from entry {first} on"


def differences(python: str, path: Path, trees: Sequence[str], folder: Path) -> list[str]:
    """In words, what is wrong: ROOT does not read the file, or other objects in some layout."""
    folder.mkdir()
    original = Original(python, path, trees, folder)
    if not any(original.expected(list).values()):
        return ["ROOT does not read it"]
    return list(original.differences())
