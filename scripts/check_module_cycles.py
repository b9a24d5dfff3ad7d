"""Checks that the modules inside every crate depend on each other without cycles.

It checks two kinds of graphs: that of all files of a crate, and for each folder that of the modules directly
in it, each merged with everything below it. An arrow is a path in the code of one module to an item of
another. Re-exported names lead to the module that defines them, so `mod x;` and `pub use` alone are not
arrows. Comments, strings and items under `#[cfg(test)]` do not count.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rust_modules import Module, Reference, load, references

ROOT = Path(__file__).parents[1]
# Crates whose cycles do not yet fail the check. Remove a name to see the cycles of its crate.
ALLOWED: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Graph:
    """Nodes, and one reference for each arrow between two of them."""

    arrows: dict[str, dict[str, Reference]]

    def shortest_cycle(self, start: str) -> list[str] | None:
        """The nodes of a shortest cycle through `start`, which comes first."""
        before: dict[str, str] = {}
        queue = [start]
        for node in queue:
            for target in sorted(self.arrows.get(node, {})):
                if target == start:
                    path = [node]
                    while path[-1] != start:
                        path.append(before[path[-1]])
                    return path[::-1]
                if target not in before:
                    before[target] = node
                    queue.append(target)
        return None

    def cycles(self) -> Iterator[tuple[Reference, ...]]:
        """A shortest cycle through each node that is on one; each cycle once."""
        seen: set[frozenset[str]] = set()
        for start in sorted(self.arrows):
            cycle = self.shortest_cycle(start)
            if cycle and frozenset(cycle) not in seen:
                seen.add(frozenset(cycle))
                following = cycle[1:] + cycle[:1]
                yield tuple(self.arrows[a][b] for a, b in zip(cycle, following, strict=True))


def graph(found: list[Reference], folder: Module | None) -> Graph:
    """All files, or the modules directly in `folder`, merged with everything below them."""
    arrows: dict[str, dict[str, Reference]] = {}
    for reference in found:
        if folder is None:
            source, target = str(reference.source.file), str(reference.target.file)
        else:
            ends = folder.member(reference.source), folder.member(reference.target)
            if ends[0] is None or ends[1] is None:
                continue
            source, target = ends[0], ends[1]
        if source != target:
            arrows.setdefault(source, {}).setdefault(target, reference)
    return Graph(arrows)


def cycles(crate: Path) -> list[tuple[Reference, ...]]:
    """The cycles of a crate: those of its files, then those of its folders, outermost first."""
    modules = load(crate)
    found = references(modules)
    folders = [module for module in modules if module.children]
    result: dict[frozenset[Reference], tuple[Reference, ...]] = {}
    for folder in (None, *folders):
        for cycle in graph(found, folder).cycles():
            result.setdefault(frozenset(cycle), cycle)
    return list(result.values())


def main(root: Path = ROOT) -> int:
    failed = False
    for crate in sorted(path.parent for path in root.glob("crates/*/src")):
        found = cycles(crate)
        if crate.name in ALLOWED:
            print(f"crates/{crate.name} still has {len(found)} cycles of modules")
            continue
        failed |= bool(found)
        for cycle in found:
            print(f"error: crates/{crate.name}: a cycle between {len(cycle)} modules", file=sys.stderr)
            for reference in cycle:
                print(f"  {reference.describe(root)}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
