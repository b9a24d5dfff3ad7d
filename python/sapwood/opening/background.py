"""Background events that are overlaid on primary events, as in pile-up mixing."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

import numpy as np

from ..arrays.libraries import library_named
from ..display.printable import shows_printable
from ..display.units import counted
from ..errors import ArgumentTypeError, UsageError
from ..errors.closing import ClosingContext
from ..model.branches import BranchFilter, HasBranches
from ..options.checks import check_whole_number
from ..options.paths import FileSpec, several_files
from ..options.reading import open_options
from ..query.batch import Report
from ..query.filters import Filter, Filters
from ..query.query import Query
from ..query.reading import Steps
from ..query.select import select
from .many import opened_files

MODES = ("sequential", "random-clusters")

# Purposes of random numbers: the order of files, the entries in them, the number of overlaid events. They are
# part of the seed, so changing one would change the events that every existing seed selects.
_FILES, _ENTRIES, _OVERLAID = 1, 2, 3


@dataclass(frozen=True)
class _Visit(FileSpec):
    """One visit to a file of the pool; ``number`` counts visits from 0."""

    number: int = 0


class Background(ClosingContext):
    """An endless supply of events from a pool of files.

    The sequence of events depends only on ``seed``, ``mode``, ``most_entries``, and the files and their
    order. It is the same on every machine, whichever columns you read and however many events you take at a
    time. The next clusters and files are fetched while you use the current events.

    >>> with sapwood.Background("minbias/*.root:Events", ["Track_pt"], seed=7) as pool:      # doctest: +SKIP
    ...     pile_up = pool.overlay(len(events), mean=35.0)

    Args:
        files: the pool, as in :func:`sapwood.iterate`.
        expressions: names or expressions, as in :meth:`sapwood.Tree.arrays`. Default: all branches that can
            be read.
        seed: an integer of at least 0. Give each job a different one.
        mode: ``"sequential"`` starts at a random entry of a random file and continues through all files, in
            an endless cycle. ``"random-clusters"`` reads the files in random order, and the clusters of each
            file in random order; after the last file it starts again in another order.
        most_entries: longer clusters are read in parts of this length. About four parts are in memory at a
            time.
        filter_name, filter_typename, filter_branch: the branches to read if there are no ``expressions``.
        library: ``"ak"``, ``"np"``, ``"pd"`` or ``"arrow"``.
        deadline, threads, options: as in :func:`sapwood.open`.

    Raises:
        TypeError: the seed is not an integer.
        UsageError: an argument is out of range.

    Each file is equally likely to be the first, regardless of its size. Use an object from one thread only.
    """

    def __init__(
        self,
        files: Any,
        expressions: Any = None,
        *,
        seed: int,
        mode: str = "sequential",
        most_entries: int = 10_000,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        library: str = "ak",
        deadline: float | None = None,
        threads: int | None = None,
        **options: Any,
    ) -> None:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise ArgumentTypeError(f"seed must be an integer, not {seed!r}")
        if seed < 0:
            raise UsageError(f"seed must not be negative, but is {seed}")
        if mode not in MODES:
            raise UsageError(f"mode must be {' or '.join(map(repr, MODES))}, not {mode!r}")
        most_entries = check_whole_number("most_entries", most_entries, 1)
        self._seed, self._mode, self._most_entries = check_whole_number("seed", seed), mode, most_entries
        self._wanted = expressions
        self._filters = Filters(filter_name, filter_typename, filter_branch)
        self._library = library_named(library)
        self._options = open_options(deadline, threads, options)
        self._pool = several_files(files, self._options.deadline, self._options.for_core())
        self._numbers = self._random(_OVERLAID)
        self._blocks = self._read()
        self._block: Any = None
        self._left = range(0)
        self._report: Report | None = None

    def take(self, count: int, *, report: bool = False) -> Any:
        """Returns the next ``count`` events, as :meth:`sapwood.Tree.arrays` does.

        Args:
            count: number of events.
            report: True to return a pair: the events, and a list with one :class:`sapwood.Report` for each
                contiguous range of entries they come from, in order.

        Raises:
            UsageError: the files of the pool contain no events.
        """
        if count < 0:
            raise UsageError(f"the number of events must not be negative, but is {count}")
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
        events = self._library.concatenate(parts)
        return (events, [one for one in reports if one.start < one.stop]) if report else events

    def overlay(self, primaries: int, *, number: int | None = None, mean: float | None = None) -> Any:
        """Returns the next events, grouped into one list per primary event.

        Args:
            primaries: number of primary events.
            number: number of background events for each primary event.
            mean: mean of a Poisson distribution from which that number is drawn, instead of ``number``.

        Returns:
            An ``ak.Array`` of ``primaries`` lists of events. This requires ``library="ak"``.
        """
        if (number is None) == (mean is None):
            raise UsageError("give either 'number' or 'mean' to overlay")
        if self._library.name != "ak":
            raise UsageError('overlay requires library="ak"; with other libraries, use take')
        import awkward as ak

        counts = np.full(primaries, number) if mean is None else self._numbers.poisson(mean, primaries)
        return ak.unflatten(ak.Array(self.take(int(counts.sum()))), counts)

    def close(self) -> None:
        """Closes the files."""
        self._blocks.close()
        self._left, self._block = range(0), None

    @shows_printable
    def __repr__(self) -> str:
        return f"<Background of {counted(len(self._pool), 'file')}, {self._mode}, seed {self._seed}>"

    def _random(self, purpose: int, number: int = 0) -> np.random.RandomState:
        """A random generator for one purpose: NumPy's legacy one, whose stream never changes."""
        words = [self._seed >> shift & 0xFFFFFFFF for shift in range(0, max(self._seed.bit_length(), 1), 32)]
        return np.random.RandomState([purpose, number, *words])

    def _visits(self) -> Iterator[_Visit]:
        files = len(self._pool)
        first = int(self._random(_FILES).randint(files))
        order = np.arange(files)
        for number in count():
            place = number % files
            if self._mode == "sequential":
                spec = self._pool[(first + place) % files]
            else:
                order = self._random(_FILES, number).permutation(files) if place == 0 else order
                spec = self._pool[order[place]]
            yield _Visit(spec.file, spec.object_path, spec.steps, number)

    def _ranges(self, visit: FileSpec, source: HasBranches) -> list[tuple[int, int]]:
        """The entries of one visit: clusters, split where they are too long."""
        assert isinstance(visit, _Visit)
        # Clusters of the whole tree: the sequence of events must not depend on the columns that are read.
        entries, starts = (
            source.tree.num_entries,
            source.tree.cluster_starts or source.tree.common_entry_offsets(),
        )
        random = self._random(_ENTRIES, visit.number)
        first = 0
        if self._mode == "sequential" and visit.number == 0 and entries:
            first = int(random.randint(entries))
        edges = [first, *(start for start in starts if first < start < entries), entries]
        ranges = [
            (begin, min(begin + self._most_entries, stop))
            for start, stop in pairwise(edges)
            for begin in range(start, stop, self._most_entries)
        ]
        if self._mode == "random-clusters":
            ranges = [ranges[index] for index in random.permutation(len(ranges))]
        return ranges

    def _begin(self, visit: FileSpec, source: HasBranches) -> Steps:
        selection = select(source, self._wanted, filters=self._filters)
        query = Query(source, selection, self._library)
        return Steps(query, self._ranges(visit, source))

    def _read(self) -> Generator[tuple[Any, Report], None, None]:
        empty = 0
        for file in opened_files(self._visits(), self._options, False, self._begin):
            steps = file.steps()
            empty = 0 if steps.ranges else empty + 1
            if empty == len(self._pool):
                raise UsageError("the background files contain no events")
            yield from steps.results(report=True)


def _part(block: Any, start: int, stop: int) -> Any:
    """A range of events in an array or table of any library."""
    if isinstance(block, dict):
        return {name: _part(column, start, stop) for name, column in block.items()}
    if hasattr(block, "iloc"):
        return block.iloc[start:stop]
    if hasattr(block, "column_names"):
        return block.slice(start, stop - start)
    return block[start:stop]
