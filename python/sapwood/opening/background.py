"""Secondary input: events of background files, to be overlaid on others, as in pile-up mixing."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

import numpy as np

from ..arrays.libraries import library_named
from ..display.printable import shows_printable
from ..errors import UsageError
from ..errors.closing import Closing
from ..model.branches import BranchFilter, HasBranches
from ..options.paths import FileSpec, several_files
from ..options.reading import open_options
from ..query.batch import Report
from ..query.filters import Filter, Filters
from ..query.query import Query
from ..query.reading import Steps
from ..query.select import select
from .many import opened_files

MODES = ("sequential", "random-clusters")

# What random numbers are for: files, entries in them, how many events are overlaid. These and the seed settle
# which they are: another value here would change what every seed means.
_FILES, _ENTRIES, _OVERLAID = 1, 2, 3


@dataclass(frozen=True)
class _Visit(FileSpec):
    """One use of a file of the pool; ``number`` counts them."""

    number: int = 0


class Background(Closing):
    """A pool of files whose events are handed out one after the other, without end.

    The events that come are settled by ``seed``, ``mode``, ``most_entries`` and the files with their order:
    with the same ones the same events come, on any machine, whatever columns are read and however many events
    are taken at a time. While events are handed out, the next clusters and files are fetched.

    Args:
        files: the pool, as in :func:`sapwood.iterate`.
        expressions: names, or expressions, as in :meth:`sapwood.Tree.arrays`. Default: whole events, which is
            all branches that can be read.
        seed: a whole number from 0 on. Give each job its own.
        mode: ``"sequential"`` begins at a random entry of a random file and goes on from there through all
            files, again and again. ``"random-clusters"`` takes the files in random order, and the clusters of
            each in random order; when all were used, again in another order.
        most_entries: longer clusters are read in pieces of this length. Four or so are in memory at a time.
        filter_name, filter_typename, filter_branch: which branches make up an event, if there are no
            ``expressions``.
        library: ``"ak"``, ``"np"``, ``"pd"`` or ``"arrow"``.
        deadline, threads, options: as in :func:`sapwood.open`.

    Every file is equally likely to be the first, however many events it has. An object serves one thread.
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
            raise TypeError(f"a seed is a whole number, not {seed!r}")
        if seed < 0:
            raise UsageError(f"a seed is not negative, as {seed} is")
        if mode not in MODES:
            raise UsageError(f"the mode is one of {MODES}, not {mode!r}")
        if most_entries < 1:
            raise UsageError(f"most_entries is at least 1, not {most_entries}")
        self._seed, self._mode, self._most_entries = int(seed), mode, most_entries
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
        """The next ``count`` events, as :meth:`sapwood.Tree.arrays` returns them.

        With ``report=True`` a pair: these, and a list with a :class:`sapwood.Report` of each run of entries
        that they are, in order.

        Raises:
            UsageError: if the files of the pool have no events.
        """
        if count < 0:
            raise UsageError(f"the number of events is not negative, as {count} is")
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
        """The next events, in a list for each of ``primaries`` events that they are overlaid on.

        ``number`` is how many each of them gets, or ``mean`` the mean of a Poisson distribution of that. For
        ``library="ak"`` only.
        """
        if (number is None) == (mean is None):
            raise UsageError("overlay takes either the number of events for each primary one, or their mean")
        if self._library.name != "ak":
            raise UsageError('lists of events need library="ak"; take gives any number of them one by one')
        import awkward as ak

        counts = np.full(primaries, number) if mean is None else self._numbers.poisson(mean, primaries)
        return ak.unflatten(ak.Array(self.take(int(counts.sum()))), counts)

    def close(self) -> None:
        """Closes the files."""
        self._blocks.close()
        self._left, self._block = range(0), None

    @shows_printable
    def __repr__(self) -> str:
        return f"<Background of {len(self._pool)} files, {self._mode}, seed {self._seed}>"

    def _random(self, purpose: int, number: int = 0) -> np.random.RandomState:
        """Random numbers for one purpose, by NumPy's older generator, which it promises never to change."""
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

    def _pieces(self, visit: FileSpec, source: HasBranches) -> list[tuple[int, int]]:
        """The entries of one visit: clusters, those that are too long in pieces."""
        assert isinstance(visit, _Visit)
        # Not those of the columns that are read: what comes does not depend on these.
        entries, starts = (
            source.tree.num_entries,
            source.tree.cluster_starts or source.tree.common_entry_offsets(),
        )
        random = self._random(_ENTRIES, visit.number)
        first = 0
        if self._mode == "sequential" and visit.number == 0 and entries:
            first = int(random.randint(entries))
        edges = [first, *(start for start in starts if first < start < entries), entries]
        pieces = [
            (begin, min(begin + self._most_entries, stop))
            for start, stop in pairwise(edges)
            for begin in range(start, stop, self._most_entries)
        ]
        if self._mode == "random-clusters":
            pieces = [pieces[index] for index in random.permutation(len(pieces))]
        return pieces

    def _begin(self, visit: FileSpec, source: HasBranches) -> Steps:
        selection = select(source, self._wanted, filters=self._filters)
        query = Query(source, selection, self._library)
        return Steps(query, self._pieces(visit, source))

    def _read(self) -> Generator[tuple[Any, Report], None, None]:
        empty = 0
        for file in opened_files(self._visits(), self._options, False, self._begin):
            steps = file.steps()
            empty = 0 if steps.ranges else empty + 1
            if empty == len(self._pool):
                raise UsageError("the files of the background have no events")
            yield from steps.results(report=True)


def _part(block: Any, start: int, stop: int) -> Any:
    """Some events of an array or a table of any library."""
    if isinstance(block, dict):
        return {name: _part(column, start, stop) for name, column in block.items()}
    if hasattr(block, "iloc"):
        return block.iloc[start:stop]
    if hasattr(block, "column_names"):
        return block.slice(start, stop - start)
    return block[start:stop]
