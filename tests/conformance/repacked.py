"""Files of the corpus, written again in several layouts and merged: every branch must stay as it was.

    python tests/conformance/repacked.py [NAME ...]    all files of the corpus, or those that are named

What sapwood understands is compared as columns, and all else by its bytes, entry by entry. Where there is
ROOT, it compares the bytes of all branches of files that were cut or merged.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from contents import Contents, read
from corpus import CORPUS

import sapwood
from sapwood.errors import SapwoodError
from sapwood.model.directory import TREE_CLASSES
from sapwood.writing.repacking import CMS_SETS

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from root_peer import Judge, python_with_root

LAYOUTS: dict[str, dict[str, Any]] = {
    "cut": {"compression": "lz4:4", "basket_size": 5_000, "cluster_entries": 7},
    "merged": {},
    "copy": {},
    "zstd": {"compression": "zstd:5"},
    "bytes": {"basket_size": "1 MiB", "cluster_size": "10 kB"},
}
"""Options, by the names of layouts. What is merged is a file with itself."""

JUDGED = {"cut", "merged"}
"""Layouts that ROOT compares, too."""


@dataclass
class Outcome:
    """How branches of a file were compared, how many by which; and what is wrong."""

    counted: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def check_all(paths: Iterable[Path], layouts: Callable[[Path], Sequence[str]]) -> Outcome:
    """What is found in all files that hold trees, each in some layouts, on all processors."""
    # The largest first, so that none is left at the end.
    ordered = sorted(paths, key=lambda path: -path.stat().st_size)
    method = multiprocessing.get_context("spawn")
    total = Outcome()
    with ProcessPoolExecutor(os.cpu_count(), method) as pool:
        jobs = (ordered, map(layouts, ordered), itertools.repeat(python_with_root()))
        for path, outcome in zip(ordered, pool.map(check, *jobs), strict=True):
            total.counted += outcome.counted
            total.wrong += [f"{path.name} {line}" for line in outcome.wrong]
    return total


def check(path: Path, layouts: Sequence[str], python: str | None) -> Outcome:
    """Writes a file again in some layouts, and compares. One without trees or with RNTuples is left out."""
    outcome = Outcome()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        try:
            file = sapwood.open({str(path): None})
        except SapwoodError:
            return outcome
        with file:
            classes = set(file.classnames().values())
            if classes.isdisjoint(TREE_CLASSES) or any("RNTuple" in name for name in classes):
                return outcome
            before = Contents(path, file)
            for layout in layouts:
                found = Comparison(before, layout, Path(folder) / path.name, outcome.counted).differences(
                    python
                )
                outcome.wrong += [f"[{layout}] {line}" for line in found]
        outcome.counted["files"] += 1
    return outcome


@cache
def judge(python: str) -> Judge:
    """That of this process."""
    return Judge(python)


@dataclass
class Comparison:
    """A file, and what it becomes in a layout."""

    before: Contents
    layout: str
    target: Path
    counted: Counter[str]

    def differences(self, python: str | None) -> list[str]:
        """What differs, in words."""
        options = {"threads": 1, "overwrite": True, **LAYOUTS[self.layout]}
        try:
            if self.layout == "merged":
                report = sapwood.merge([self.before.path] * 2, self.target, **options)
            else:
                report = sapwood.repack(self.before.path, self.target, **options)
            assert report.bytes == self.target.stat().st_size
            with sapwood.open({str(self.target): None}) as file:
                after = Contents(self.target, file)
                found = [*self._others(after)]
                for tree in self.before.trees:
                    found += self._branches(after, tree)
        except SapwoodError as error:
            return [f"{type(error).__name__}: {error}"]
        if python is not None and self.layout in JUDGED:
            found += self._by_root(judge(python))
        return found

    def _times(self, tree: str) -> int:
        # What all files of a job have is not repeated.
        return 2 if self.layout == "merged" and tree not in CMS_SETS else 1

    def _others(self, after: Contents) -> Iterator[str]:
        # Histograms are added where files are merged: only that they are there is the same.
        shown = slice(2 if self.layout == "merged" else None)
        old, new = ({key[shown] for key in one.others} for one in (self.before, after))
        yield from (f"only in one: {key}" for key in old ^ new)

    def _branches(self, after: Contents, name: str) -> Iterator[str]:
        old, new, times = self.before.trees[name], after.trees[name], self._times(name)
        branches = old.core.branches
        if (new.num_entries, len(new.core.branches)) != (times * old.num_entries, len(branches)):
            yield f"{name}: {new.num_entries} entries, {len(new.core.branches)} branches"
            return
        understood = self.before.columns(name)
        self.counted["branches as columns"] += len(understood)
        for begin in range(0, new.num_entries, max(old.num_entries, 1)):
            written = read(new, list(understood), begin, begin + old.num_entries)
            for index, expected in understood.items():
                if written[index] != expected:
                    found = written[index] if isinstance(written[index], SapwoodError) else "other values"
                    yield f"{name}/{branches[index].path}: {found}"
        for branch in branches:
            if branch.index not in understood and branch.num_baskets:
                self.counted["branches as bytes"] += 1
                data, lengths = self.before.entries(name, branch.path)
                if after.entries(name, branch.path) != (data * times, lengths * times):
                    yield f"{name}/{branch.path}: other bytes"

    def _by_root(self, judge: Judge) -> Iterator[str]:
        for tree in self.before.trees:
            name = tree.partition(";")[0]
            found = judge.compare(self.before.path, self.target, [name], self._times(tree))
            if found is None:
                self.counted["trees that ROOT does not survive"] += 1
                continue
            self.counted["branches by ROOT"] += found[name]["branches"] - found[name]["unread"]
            self.counted["branches that ROOT does not read"] += found[name]["unread"]
            yield from (f"ROOT: {name}/{what}" for what in found[name]["differences"])


def main(names: Sequence[str]) -> int:
    """Compares, and prints what is wrong."""
    begin = time.monotonic()
    paths = [path for path in (CORPUS / "files").iterdir() if not names or path.name in names]
    outcome = check_all(paths, lambda path: list(LAYOUTS))
    print("\n".join(outcome.wrong))
    print(f"{dict(outcome.counted)} in {time.monotonic() - begin:.0f} s, {len(outcome.wrong)} differences")
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
