"""The order in which events of a pool of files are taken, and the reading of them in that order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

import numpy as np

from ..errors import UsageError
from ..model.branches import HasBranches
from ..options.paths import FileSpec
from ..options.reading import OpenOptions
from ..query.batch import Report
from ..query.query import Query
from ..query.reading import Steps
from .ahead import open_tree, opened_files

MODES = ("sequential", "random-clusters")

# Purposes of random numbers: the order of files, the entries in them, the number of overlaid events; and the
# same for parts. They belong to the seed: changing one would change the events that existing seeds select.
FILES, ENTRIES, OVERLAID = 1, 2, 3
_OF_PARTS = 16

Range = tuple[int, int]


@dataclass(frozen=True)
class Order:
    """What the order of events depends on.

    Attributes:
        part: None for the one endless sequence of a seed; a part has a sequence of its own.
    """

    seed: int
    mode: str
    most_entries: int
    part: int | None = None

    def random(self, purpose: int, number: int = 0) -> np.random.RandomState:
        """A random generator for one purpose: NumPy's legacy one, whose stream never changes."""
        words = [self.seed >> shift & 0xFFFFFFFF for shift in range(0, max(self.seed.bit_length(), 1), 32)]
        if self.part is None:
            return np.random.RandomState([purpose, number, *words])
        part = [self.part & 0xFFFFFFFF, self.part >> 32]
        return np.random.RandomState([purpose + _OF_PARTS, number, *part, *words])

    def files(self, files: int) -> Iterator[int]:
        """The places of the files, round after round."""
        first = int(self.random(FILES).randint(files))
        order = np.arange(files)
        for number in count():
            place = number % files
            if self.mode == "sequential":
                yield (first + place) % files
            else:
                order = self.random(FILES, number).permutation(files) if place == 0 else order
                yield int(order[place])

    def ranges(self, number: int, source: HasBranches) -> list[Range]:
        """The entries of a file at its turn, the ``number``-th: clusters, split where they are too long."""
        # Clusters of the whole tree: the order of events must not depend on the columns that are read.
        entries = source.tree.num_entries
        starts = source.tree.cluster_starts or source.tree.common_entry_offsets()
        random = self.random(ENTRIES, number)
        first = int(random.randint(entries)) if self.mode == "sequential" and number == 0 and entries else 0
        edges = [first, *(start for start in starts if first < start < entries), entries]
        ranges = [
            (begin, min(begin + self.most_entries, stop))
            for start, stop in pairwise(edges)
            for begin in range(start, stop, self.most_entries)
        ]
        if self.mode == "random-clusters":
            ranges = [ranges[index] for index in random.permutation(len(ranges))]
        return ranges


class OpenTrees:
    """The trees that were used last stay open: however many files there are, at most ``limit``."""

    def __init__(self, options: OpenOptions, limit: int = 16) -> None:
        self._options, self._limit = options, limit
        self._trees: OrderedDict[int, HasBranches] = OrderedDict()

    def get(self, place: int, spec: FileSpec) -> HasBranches:
        """The tree of the file at a place of the pool. One that the caller opened is not closed here."""
        if isinstance(spec.file, HasBranches):
            return spec.file
        if place not in self._trees:
            self._trees[place] = open_tree(spec, self._options)
        self._trees.move_to_end(place)
        if len(self._trees) > self._limit:
            self._trees.popitem(last=False)[1].file.close()
        return self._trees[place]

    def close(self) -> None:
        """Closes all of them."""
        while self._trees:
            self._trees.popitem()[1].file.close()


@dataclass(frozen=True)
class _Visit(FileSpec):
    """One visit to a file of the pool; ``number`` counts visits from 0."""

    number: int = 0


class Supply:
    """The events of a pool of files in an order.

    Args:
        query: makes the query for the tree of a file.
        window: the places in the order from which to which events are taken; nothing else is read. None: all
            of the endless sequence, for which the next files open and start reading ahead.
        trees: where a window gets its trees from.
    """

    def __init__(
        self,
        files: Sequence[FileSpec],
        options: OpenOptions,
        order: Order,
        query: Callable[[HasBranches], Query],
        window: tuple[int, int] | None = None,
        trees: OpenTrees | None = None,
    ) -> None:
        self._files, self._options, self._order, self._query = files, options, order, query
        self._window, self._trees = window, trees
        self._passed = 0  # events in the files that have been begun, and those before the window
        self._blocks = self._read()
        self._block: Any = None
        self._left = range(0)
        self._report: Report | None = None

    def take(self, count: int) -> tuple[list[Any], list[Report]]:
        """The next events in pieces, at least one, and where those that are not empty come from."""
        parts: list[Any] = []
        reports: list[Report] = []
        while count > 0 or not parts:
            if not self._left:
                self._block = None
                self._block, self._report = next(self._blocks)
                self._left = range(self._report.tree_entry_stop - self._report.tree_entry_start)
            here, self._left = self._left[:count], self._left[count:]
            assert self._report is not None
            parts.append(_part(self._block, here.start, here.stop))
            first = self._report.tree_entry_start
            reports.append(Report(self._report.tree, first + here.start, first + here.stop))
            count -= len(here)
        return parts, [one for one in reports if one.start < one.stop]

    def close(self) -> None:
        """Stops reading."""
        self._blocks.close()
        self._left, self._block = range(0), None

    def _read(self) -> Generator[tuple[Any, Report], None, None]:
        empty = 0
        most = {} if self._window is None else {"most": 0}
        for file in opened_files(self._visits(), self._options, False, self._begin, **most):
            empty = 0 if file.source.tree.num_entries else empty + 1
            if empty == len(self._files):
                raise UsageError("the background files contain no events")
            yield from file.steps().results(report=True)

    def _visits(self) -> Iterator[_Visit]:
        for number, place in enumerate(self._order.files(len(self._files))):
            if self._window is not None and self._passed >= self._window[1]:
                return
            spec = self._files[place]
            file = spec.file if self._trees is None else self._trees.get(place, spec)
            yield _Visit(file, spec.object_path, spec.steps, number)

    def _begin(self, visit: FileSpec, source: HasBranches) -> Steps:
        assert isinstance(visit, _Visit)
        ranges = self._order.ranges(visit.number, source)
        return Steps(self._query(source), ranges if self._window is None else self._inside(ranges))

    def _inside(self, ranges: Sequence[Range]) -> list[Range]:
        """The parts of the ranges that are in the window."""
        assert self._window is not None
        first, last = self._window
        found = []
        for start, stop in ranges:
            begin = start + max(first - self._passed, 0)
            end = min(stop, start + last - self._passed)
            self._passed += stop - start
            if begin < end:
                found.append((begin, end))
        return found


def _part(block: Any, start: int, stop: int) -> Any:
    """A range of events in an array or table of any library."""
    if isinstance(block, dict):
        return {name: _part(column, start, stop) for name, column in block.items()}
    if hasattr(block, "iloc"):
        return block.iloc[start:stop]
    if hasattr(block, "column_names"):
        return block.slice(start, stop - start)
    return block[start:stop]
