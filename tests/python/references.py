"""Files whose entries hold references, in other layouts: ROOT reads the same objects from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from root_peer import Digests, compile_by_root, objects_by_root

import sapwood
from sapwood.errors import UnsupportedTypeError

BASKET_SIZES = (1_000, 16 << 10, 64 << 10, 1 << 20)


@dataclass(frozen=True)
class Layout:
    """A file in which the original was written again, and which entries of some trees it then holds."""

    name: str
    path: Path
    trees: Sequence[str]
    chosen: Callable[[list[str]], list[str]] = list


class Original:
    """A file, and the objects that ROOT reads in some of its trees; none if it does not survive them.

    The folder `classes` has those of its classes that ROOT does not know.
    """

    def __init__(
        self, python: str, path: Path, trees: Sequence[str], folder: Path, classes: Path | None = None
    ) -> None:
        self.python, self.path, self.trees, self.folder = python, path, trees, folder
        self.classes = classes

    @cached_property
    def objects(self) -> Digests | None:
        """What ROOT reads in the file itself."""
        return self.read(self.path)

    def read(self, path: Path) -> Digests | None:
        """The objects in the same trees of another file."""
        return objects_by_root(self.python, self.classes, [(path, self.trees)])[0]

    def expected(self, layout: Layout) -> Digests:
        """The objects in a layout. What the tree carries along does not depend on the entries."""
        return {
            tree: {
                name: digests if name == "user info" else layout.chosen(digests)
                for name, digests in branches.items()
            }
            for tree, branches in (self.objects or {}).items()
            if tree in layout.trees
        }

    def written(self, name: str, **options: Any) -> Layout:
        """The file repacked to another one."""
        target = self.folder / f"{name}.root"
        sapwood.repack(self.path, target, **options)
        return Layout(name, target, self.trees)

    def differences(self) -> list[str]:
        """The names of the layouts in which ROOT reads other objects."""
        layouts = [*self._layouts()]
        # One process, as it takes longer to start ROOT than to read.
        files = [(self.path, self.trees), *((one.path, one.trees) for one in layouts)]
        self.objects, *found = objects_by_root(self.python, self.classes, files)
        pairs = zip(layouts, found, strict=True)
        return [layout.name for layout, objects in pairs if objects != self.expected(layout)]

    def _layouts(self) -> Iterator[Layout]:
        for size in BASKET_SIZES:
            yield self.written(f"baskets of {size} bytes", basket_size=size)
        merged = self.folder / "merged.root"
        sapwood.merge([self.path, self.path], merged)
        yield Layout("merged with itself", merged, self.trees, lambda digests: digests * 2)
        for tree in self.trees:
            yield from self._skimmed(tree)

    def _skimmed(self, tree: str) -> Iterator[Layout]:
        with sapwood.open({str(self.path): tree}) as found:
            first = found.num_entries // 3
        name = f"{tree.replace('/', ' ')} from entry {first} on"
        try:
            layout = self.written(name, tree=tree, trees=[tree], entry_start=first)
        except UnsupportedTypeError as error:
            # What cannot be moved is not skimmed.
            assert "cannot be moved" in str(error)
            return
        yield replace(layout, trees=[tree], chosen=lambda digests: digests[first:])


def differences(python: str, path: Path, trees: Sequence[str], folder: Path, build: Path) -> list[str]:
    """In words, what is wrong: ROOT does not read the file, or other objects in some layout.

    What is compiled stays in the folder `build`.
    """
    folder.mkdir()
    original = Original(python, path, trees, folder, compile_by_root(python, build, path))
    found = original.differences()
    return found if any((original.objects or {}).values()) else ["ROOT does not read it"]
