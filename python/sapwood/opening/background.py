"""Background events that are overlaid on primary events, as in pile-up mixing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.libraries import library_named
from ..display.printable import shows_printable
from ..display.units import counted
from ..errors import ArgumentTypeError, UsageError
from ..errors.closing import ClosingContext
from ..model.branches import BranchFilter, HasBranches
from ..options.checks import check_text, check_whole_number
from ..options.paths import several_files, single_file
from ..options.reading import open_options
from ..query.batch import Report
from ..query.filters import Filter, Filters
from ..query.query import Query
from ..query.select import select
from .interactions import interactions
from .mixing import merged, premixed
from .single import open_with_file
from .supply import MODES, OVERLAID, OpenTrees, Order, Supply

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options.keywords import OpenKeywords

PART = 1000
"""Numbered primary events get their background by parts of this length. It belongs to the seed, too."""


class Background(ClosingContext):
    """An endless supply of events from a pool of files.

    The sequence of events depends only on ``seed``, ``mode``, ``most_entries``, and the files and their
    order. It is the same on every machine, whichever columns you read and however many events you take at a
    time. The next clusters and files are fetched while you use the current events. Memory does not depend on
    the size of the pool.

    >>> with sapwood.Background("minbias/*.root:Events", ["Track_pt"], seed=7) as pool:      # doctest: +SKIP
    ...     pile_up = pool.overlay(len(events), mean=35.0)

    Args:
        files: the pool, as in :func:`sapwood.iterate`.
        expressions: names or expressions, as in :meth:`sapwood.Tree.arrays`. Default: all branches that can
            be read.
        seed: an integer of at least 0. Give each job a different one, unless jobs number their primary events
            (see :meth:`overlay`).
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
        **options: Unpack[OpenKeywords],
    ) -> None:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise ArgumentTypeError(f"seed must be an integer, not {seed!r}")
        if seed < 0:
            raise UsageError(f"seed must not be negative, but is {seed}")
        if mode not in MODES:
            raise UsageError(f"mode must be {' or '.join(map(repr, MODES))}, not {mode!r}")
        self._order = Order(int(seed), mode, check_whole_number("most_entries", most_entries, 1))
        self._wanted = expressions
        self._filters = Filters(filter_name, filter_typename, filter_branch)
        self._library = library_named(library)
        self._options = replace(open_options(deadline, threads, options), read_type="embedded")
        self._pool = several_files(files, self._options.deadline, self._options.for_core())
        if any(spec.steps is not None for spec in self._pool):
            raise UsageError("'steps' are only for iterate and concatenate: a pool consists of whole trees")
        self._numbers = self._order.random(OVERLAID)
        self._trees = OpenTrees(self._options)
        self._endless = Supply(self._pool, self._options, self._order, self._query)
        self._part: Supply | None = None
        self._next: tuple[Order, int, int] | None = (
            None  # the part that is open, its next event, and its last
        )
        self._histograms: dict[str, Any] = {}

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
        parts, reports = self._endless.take(count)
        events = self._library.concatenate(parts)
        return (events, reports) if report else events

    def overlay(
        self,
        primaries: int | range,
        *,
        number: Any = None,
        mean: Any = None,
        bunches: Sequence[int] | None = None,
        report: bool = False,
    ) -> Any:
        """Returns background events, grouped into one list per primary event.

        Args:
            primaries: how many primary events. They get the next events of the sequence. Or the numbers of
                the primary events in the whole sample, as a ``range``: the background of each then depends
                only on ``seed``, ``mode``, ``most_entries``, the pool, the distribution, and its number. It
                is the same in any job, whatever other events that job works on.
            number: number of background events of each primary event, or of each bunch: an integer, or a
                distribution, from which each bunch draws its own. It can be a list of the probabilities of
                0, 1, 2, …; a histogram (of sapwood, hist, boost-histogram or uproot); the name of one in a
                file, ``"pileup.root:pileup"``; or a function of a ``numpy.random.RandomState`` and the shape
                (primaries, bunches) that returns whole numbers of this shape.
            mean: instead of ``number``, the mean of a Poisson distribution from which each bunch draws its
                number: a number, or a distribution, as above, from which each primary event draws the mean
                for all of its bunches. A function gets the shape (primaries, 1), and returns numbers of a
                shape that fits (primaries, bunches).
            bunches: bunches that leave their traces in the primary event, such as ``range(-12, 4)``; 0 is its
                own. Default: only that, and no level of nesting for bunches.
            report: True to return a pair, as from :meth:`take`.

        Returns:
            With the library ``"ak"``, an array of one list of events per primary event; with ``bunches``, of
            one list per bunch of each. With ``"arrow"``, the same as an array. With ``"np"``, a dict with an
            array of objects for each column, of shape (primaries,) or (primaries, bunches), whose items are
            the arrays of :meth:`take`. With ``"pd"``, a DataFrame of all events whose index has the levels
            ``primary``, ``bunch`` (if you give ``bunches``) and ``event``.

        Raises:
            UsageError: the distribution is impossible, or the files of the pool contain no events.
        """
        counts, parts, reports = self._overlaid(primaries, number, mean, bunches)
        numbers = primaries if isinstance(primaries, range) else range(primaries)
        axes: dict[str, Sequence[int]] = {"primary": numbers}
        if bunches is not None:
            axes["bunch"] = list(bunches)
        shape = tuple(len(axis) for axis in axes.values())
        events = self._library.lists(self._library.concatenate(parts), counts.reshape(shape), axes)
        return (events, reports) if report else events

    def mix(
        self,
        events: Any,
        first: int | None = None,
        *,
        number: Any = None,
        mean: Any = None,
        bunches: Sequence[int] | None = None,
        prefix: str = "pileup",
    ) -> Any:
        """Returns primary events with their background in further columns.

        >>> for events, report in sapwood.iterate("signal.root:Events", step_size=100, report=True):
        ...     mixed = pool.mix(events, report.start, mean="pileup.root:pileup")      # doctest: +SKIP

        Lists (``Hit_time``, ``var * float``) become one list per primary event, with the items of all of its
        background events: ``pileup_Hit_time``. Beside it, ``npileup_Hit`` is their number, and
        ``pileup_Hit_event`` the place of the background event of each item. All other columns become lists
        with a value for each background event, such as ``pileup_vertex``; so do ``pileup_bunch``, the bunches
        of the background events, and ``npileup`` is their number.

        Without ``number`` and ``mean``, the pool is premixed: its events are those that this method returned
        before, from any primary events, and each primary event gets the background of one of them.

        Args:
            events: primary events, an array of records; or how many, without columns of their own.
            first: the number of the first primary event in the whole sample, for a background that is the
                same in any job. Default: the next events of the sequence.
            number, mean, bunches: as in :meth:`overlay`.
            prefix: the beginning of the names of the new columns.

        Returns:
            An ``ak.Array`` of records.

        Raises:
            UsageError: the library is not ``"ak"``, a column exists on both sides, or a premixed pool has no
                such columns.
        """
        if self._library.name != "ak":
            raise UsageError('mix requires library="ak"; with other libraries, use overlay')
        import awkward as ak

        if not check_text("prefix", prefix):
            raise UsageError("'prefix' must not be empty")
        is_number = isinstance(events, (int, np.integer))
        own = {} if is_number else _columns(events)
        length = check_whole_number("events", events) if is_number else len(events)
        primaries = length if first is None else range(first, first + length)
        is_premixed = number is None and mean is None
        if is_premixed and bunches is not None:
            raise UsageError("'bunches' are those with which the pool was premixed; give 'number' or 'mean'")
        counts, parts, _ = self._overlaid(primaries, 1 if is_premixed else number, mean, bunches)
        background = ak.Array(self._library.concatenate(parts))
        columns = (
            premixed(background, prefix)
            if is_premixed
            else merged(background, counts, [0] if bunches is None else list(bunches), prefix)
        )
        if twice := sorted(own.keys() & columns):
            raise UsageError(f"the column {twice[0]!r} exists on both sides: choose another prefix")
        return ak.zip({**own, **columns}, depth_limit=1)

    def close(self) -> None:
        """Closes the files."""
        self._endless.close()
        if self._part is not None:
            self._part.close()
        self._trees.close()

    @shows_printable
    def __repr__(self) -> str:
        return (
            f"<Background of {counted(len(self._pool), 'file')}, {self._order.mode}, seed {self._order.seed}>"
        )

    def _query(self, source: HasBranches) -> Query:
        return Query(source, select(source, self._wanted, filters=self._filters), self._library)

    def _histogram(self, name: str) -> Any:
        """An object in a file, which is read once."""
        if name not in self._histograms:
            file, self._histograms[name] = open_with_file(single_file(name), self._options)
            file.close()
        return self._histograms[name]

    def _overlaid(
        self, primaries: int | range, number: Any, mean: Any, bunches: Sequence[int] | None
    ) -> tuple[NDArray[np.int64], list[Any], list[Report]]:
        """How many events each bunch of each primary event gets; these in pieces; their origin."""
        draw = interactions(number, mean, self._histogram)
        width = 1 if bunches is None else len(bunches)
        if not isinstance(primaries, range):
            counts = draw(self._numbers, (check_whole_number("primaries", primaries), width))
            return counts, *self._endless.take(int(counts.sum()))
        if primaries.step != 1 or primaries.start < 0:
            raise UsageError(f"the numbers of primary events must be consecutive, from 0, not {primaries}")
        found, parts, reports = [np.empty((0, width), np.int64)], [], []
        for start in range(primaries.start // PART * PART, max(primaries.stop, primaries.start + 1), PART):
            order = replace(self._order, part=start // PART)
            counts = draw(order.random(OVERLAID), (PART, width))
            inside = slice(max(primaries.start - start, 0), max(primaries.stop - start, 0))
            found.append(counts[inside])
            pieces, origins = self._take_of_part(order, counts, inside)
            parts += pieces
            reports += origins
        return np.concatenate(found), parts, reports

    def _take_of_part(
        self, order: Order, counts: NDArray[np.int64], inside: slice
    ) -> tuple[list[Any], list[Report]]:
        """The events of some primary events of a part; the next ones continue where the last ones ended."""
        before, total = int(counts[: inside.start].sum()), int(counts.sum())
        wanted = int(counts[inside].sum())
        if self._next != (order, before, total) or self._part is None:
            if self._part is not None:
                self._part.close()
            # At least one event, which gives the types where no primary event has any.
            window = before, max(total, before + 1)
            self._part = Supply(self._pool, self._options, order, self._query, window, self._trees)
        taken = self._part.take(wanted)
        self._next = order, before + wanted, total
        return taken


def _columns(events: Any) -> dict[str, Any]:
    """The fields of an array of records."""
    import awkward as ak

    if not isinstance(events, ak.Array) or not events.fields:
        raise ArgumentTypeError(f"'events' must be an ak.Array of records, or a number, not {type(events)}")
    return {name: events[name] for name in events.fields}
