"""The reader behind all lazy views: fields by name, windows of entries, profiles and statistics."""

from __future__ import annotations

import bisect
import os
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..arrays.column import Column, Form, empty_column, member_column, record_form
from ..errors import ArgumentTypeError, KeyInFileError, UnsupportedTypeError, UsageError
from ..errors.core import core_errors
from ..options.memory import memory_size
from ..query.assemble import column_of, readable_leaves
from ..query.filters import ALL, Filters
from ..query.select import require_readable, select
from ..query.steps import entry_range
from ..report.lazy_use import LazyUse
from ..report.touches import Touches
from .background import in_background
from .depth import Depth
from .profile import Profile, profile_of

if TYPE_CHECKING:
    from .. import _core
    from ..model.branch import Branch
    from ..model.branches import HasBranches
    from ..model.tree import Tree


@dataclass(frozen=True)
class Caching:
    """Settings for what lazy readers prefetch and how much they keep in memory.

    Lazy readers prefetch only from remote files. From a local file, they read exactly the columns you touch
    and, in loops, decode ahead those of the next windows that you have touched in most windows. A window is
    what is read together: one or more whole clusters.

    Attributes:
        startup: whether to fetch all columns of the first entries together while no usage is known. Default:
            True.
        learn: whether to fetch columns that are touched in most windows with every later window. Default:
            True.
        trigger: whether the first touch of any other column in a window also fetches the columns that are
            touched occasionally. Default: True.
        startup_size: maximum number of bytes to fetch at startup, or a size such as ``"20 MB"``. Default:
            16 MiB.
        startup_entries: maximum number of entries in the first window. Default: 1000.
        memory: number of bytes for windows, or a size such as ``"500 MB"``: those that are kept, decoded
            ahead, or being decoded. If all columns are used, a window takes a quarter of it. A cluster that
            would take more is cut, and its baskets are decompressed once for each window that they reach
            into. The objects of Python for the columns, and freed memory that the allocator keeps for a
            while, come on top: some 50 MB for a thousand columns in use. Default: 512 MiB.
        ahead: number of windows that loops over local files decode ahead, 0 for none. By default, loops set
            it themselves, so that you need not wait, by the measured times of decoding a window and of
            using one, in at most an eighth of ``memory`` if it is more than one.
    """

    startup: bool = True
    learn: bool = True
    trigger: bool = True
    startup_size: int | str | None = None
    startup_entries: int | None = None
    memory: int | str | None = None
    ahead: int | None = None

    @property
    def memory_bytes(self) -> int:
        """The number of bytes for windows."""
        return 512 << 20 if self.memory is None else memory_size(self.memory)

    def for_core(self) -> dict[str, Any]:
        """The options for the core, without those that are not set.

        Raises:
            UsageError: if a size or a number of entries is less than 1, or ``ahead`` less than 0.
        """
        sizes = {"startup_bytes": self.startup_size, "memory_bytes": self.memory}
        limits = {name: memory_size(size) for name, size in sizes.items() if size is not None}
        if self.startup_entries is not None:
            limits["startup_entries"] = self.startup_entries
        if any(limit < 1 for limit in limits.values()):
            raise UsageError(f"sizes and numbers of entries must be at least 1, in {self}")
        if self.ahead is not None and self.ahead < 0:
            raise UsageError(f"'ahead' must be at least 0, in {self}")
        return {"startup": self.startup, "learn": self.learn, "trigger": self.trigger, **limits}


@dataclass(frozen=True)
class LazyOptions:
    """The options of a lazy reader. The declared columns are fetched with every window.

    Attributes:
        seeded: whether the reader begins with what the profile holds.
    """

    profile: Profile | None = None
    caching: Caching = Caching()
    declared: Sequence[str] = ()
    threads: int | None = None
    deadline: float | None = None
    seeded: bool = True


class LazyReader:
    """Reads fields of a tree on demand, window by window. Thread-safe."""

    def __init__(
        self, tree: Tree, kind: str, fields: Mapping[str, Branch], start: int, stop: int, options: LazyOptions
    ) -> None:
        tree.file.require_open()
        self.tree = tree
        self._fields = dict(fields)
        self.start, self.stop = start, stop
        self._held: weakref.WeakValueDictionary[int, HeldWindow] = weakref.WeakValueDictionary()
        self.trained: list[str] = []
        self._deadline = tree.file.options.deadline_or(options.deadline)
        self._named = {name: (branch, _leaves_of(tree, branch)) for name, branch in self._fields.items()}
        self.leaves = list({leaf.key: leaf for _, leaves in self._named.values() for leaf in leaves}.values())
        self._request_index = {leaf.key: index for index, leaf in enumerate(self.leaves)}
        # Without learning, exactly what is touched is read.
        self._learns = options.caching.learn
        threads = tree.file.options.threads_or(options.threads)
        self._ahead = options.caching.ahead
        self._depth = Depth(threads or os.cpu_count() or 1, options.caching.memory_bytes // 8)
        self.waited = 0.0
        """The time that touches took, in seconds."""
        with core_errors():
            self._core = tree.core.lazy(
                [leaf.request for leaf in self.leaves],
                entry_start=start,
                entry_stop=stop,
                trained=self._trained(options),
                threads=threads,
                deadline=self._deadline,
                **options.caching.for_core(),
            )
            self.windows = list(self._core.windows())
        self._used: Touches[str] = Touches(len(self.windows))
        self.ledger = Ledger(tree, kind, self._core, self.leaves, self.windows, options.profile)
        tree.file.add_ledger(self.ledger)
        # This saves the profile also when the process ends.
        self._finish = weakref.finalize(self, self.ledger.finish)

    @property
    def fields(self) -> Mapping[str, Branch]:
        """The branches that it offers, by name."""
        return self._fields

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self.windows]

    def window_of(self, entry: int) -> int:
        """The index of the window that contains an entry of the tree."""
        return bisect.bisect_right(self._starts, entry) - 1

    def hold(self, window: int) -> HeldWindow:
        """A window whose data stay in memory as long as the returned object is referenced."""
        held = self._held.get(window)
        if held is None:
            held = self._held[window] = HeldWindow(self, window)
        return held

    def column(self, name: str, window: int) -> Column:
        """The column of a field in a window.

        Raises:
            KeyInFileError: if there is no such field.
        """
        self.tree.file.require_open()
        branch, leaves = self._branch(name)
        requests = [self._request_index[leaf.key] for leaf in leaves]
        begin = time.perf_counter()
        with core_errors():
            if len(requests) > 1:
                self._core.touch(requests, window, deadline=self._deadline)
            columns = [self._core.column(request, window, deadline=self._deadline) for request in requests]
        for request in requests:
            self.ledger.touched.add(request, window)
        self._used.add(name, window)
        self.waited += time.perf_counter() - begin
        if branch.member and branch.key != leaves[0].key:
            return _require_member(columns[0], branch)
        return column_of(branch, dict(zip((leaf.key for leaf in leaves), columns, strict=True)))

    def form(self, name: str) -> Form:
        """The form of a field's columns."""
        return self._branch(name)[0].interpretation.form or record_form([])

    def touch(self, names: Iterable[str], window: int) -> None:
        """Fetches several fields of a window together."""
        requests = [self._request_index[leaf.key] for name in names for leaf in self._branch(name)[1]]
        with core_errors():
            self._core.touch(requests, window, deadline=self._deadline)

    @property
    def in_use(self) -> list[str]:
        """The fields that were touched in most windows; before any was, those that are trained."""
        seen = self._used.windows
        if not seen:
            return self.trained
        return [name for name, windows in self._used.counts().items() if 2 * windows >= seen]

    def read_ahead(self, window: int, *, is_first: bool = False) -> HeldWindow:
        """Holds a window, and reads the fields in use in the background.

        From a server, only ``is_first``, the first window, is read: the core itself fetches the others ahead.
        A window is read once while it is held. Nothing is raised: a column that cannot be read says so when
        it is touched.
        """
        held, names = self.hold(window), self.in_use
        reads = is_first if self.tree.core.is_distant else self._ahead != 0
        if names and self._learns and reads and not held.is_read_ahead:
            held.is_read_ahead = True
            # From now on: until the interpreter changes threads, the window waits as well.
            begin = time.perf_counter()
            in_background(lambda: self._decode(names, window, begin))
        return held

    @property
    def depth(self) -> int:
        """How many windows to hold ahead, none while no field is in use. The core reads those of servers."""
        if not self.in_use:
            return 0
        if self.tree.core.is_distant:
            return 1
        return self._depth.windows(self._window_bytes) if self._ahead is None else self._ahead

    def note_use(self, window: int, seconds: float) -> None:
        """Takes note of the time that a window was in use, without waiting for columns."""
        self._depth.note_use(seconds / self._entries(window))

    def _decode(self, names: Sequence[str], window: int, begin: float) -> None:
        self.touch(names, window)
        self._depth.note_decoding((time.perf_counter() - begin) / self._entries(window))

    def _window_bytes(self) -> float:
        """The mean size of the columns in use of a window."""
        leaves = {leaf.key: leaf for name in self.in_use for leaf in self._branch(name)[1]}
        decoded = sum(leaf.uncompressed_bytes for leaf in leaves.values())
        return decoded / max(1, self.tree.num_entries) * (self.stop - self.start) / len(self.windows)

    def _entries(self, window: int) -> int:
        start, stop = self.windows[window]
        return stop - start

    def release(self, window: int) -> None:
        """Allows the data of a window to be dropped."""
        self._core.release(window)

    @contextmanager
    def visiting(self, windows: Mapping[int, float]) -> Iterator[None]:
        """A context in which windows are visited in order, and thus prefetched; then the profile is saved.

        ``windows`` maps the index of each window to the share of its entries that will be used.
        """
        expected = self._core.expect(list(windows.items()))
        try:
            yield
        finally:
            self._core.forget(expected)
            self.save()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._found(name) is not None

    def _branch(self, name: str) -> tuple[Branch, list[Branch]]:
        found = self._found(name)
        if found is None:
            raise KeyInFileError.not_found("field", name, list(self.fields), self.tree.location)
        return found

    def _found(self, name: str) -> tuple[Branch, list[Branch]] | None:
        """The branch for a name, and its leaves: a field, or a branch whose leaves are all in fields.

        The leaf of a member that is not a field of its own is the whole branch.
        """
        found = self._named.get(name)
        if found is None:
            branch = self.tree.get(name)
            leaves = [] if branch is None else readable_leaves(branch)
            if branch is not None and branch.member and branch.key not in self._request_index:
                leaves = _holders(branch)
            if branch is None or not leaves or any(leaf.key not in self._request_index for leaf in leaves):
                return None
            found = self._named[name] = (branch, leaves)
        return found

    def save(self) -> None:
        """Saves the profile, if there is one."""
        self.ledger.save()

    def close(self) -> None:
        """Saves the profile. Cached data are dropped once nothing references them."""
        self._finish()

    def _trained(self, options: LazyOptions) -> list[tuple[int, float]] | None:
        shares: dict[int, float] = {}
        if options.profile is not None and options.seeded:
            by_path = options.profile.shares(self.tree.name, self.tree.schema)
            indices = {leaf.path: index for index, leaf in enumerate(self.leaves)}
            shares = {indices[path]: share for path, share in by_path.items() if path in indices}
        for name in options.declared:
            shares |= {self._request_index[leaf.key]: 1.0 for leaf in self._branch(name)[1]}
        self.trained = [self.leaves[index].path for index, share in shares.items() if 2 * share >= 1]
        return sorted(shares.items()) or None


class HeldWindow:
    """A window of a reader, whose data stay in memory as long as this object lives."""

    __slots__ = ("__weakref__", "index", "is_read_ahead", "reader", "start", "stop")

    def __init__(self, reader: LazyReader, index: int) -> None:
        self.reader = reader
        self.index = index
        self.is_read_ahead = False
        self.start, self.stop = reader.windows[index]

    def column(self, name: str) -> Column:
        """The column of a field in this window."""
        return self.reader.column(name, self.index)

    def __del__(self) -> None:
        # The attribute is missing if __init__ failed.
        reader = getattr(self, "reader", None)
        if reader is not None:
            reader.release(self.index)


class Ledger:
    """The observations and statistics of a lazy reader. It outlives the reader, but keeps no cached data."""

    def __init__(
        self,
        tree: Tree,
        kind: str,
        core: _core.Lazy,
        leaves: Sequence[Branch],
        windows: Sequence[tuple[int, int]],
        profile: Profile | None,
    ) -> None:
        self._core: _core.Lazy | None = core
        self._tree, self._kind = tree.name, kind
        self._columns = [leaf.path for leaf in leaves]
        self._windows = list(windows)
        self._profile = profile
        self._schema = "" if profile is None else tree.schema
        self._saved: dict[int, tuple[int, int]] = {}
        self.touched: Touches[int] = Touches(len(windows))
        self._final: LazyUse | None = None
        # Reentrant, because the garbage collector can finish a reader while its own ledger is in use.
        self._lock = threading.RLock()

    def use(self) -> LazyUse:
        """The statistics of the reader so far."""
        with self._lock:
            core = self._core
            if core is None:
                assert self._final is not None
                return self._final
            return LazyUse.from_core(
                self._tree,
                self._kind,
                self._columns,
                self._windows,
                core.accounting(),
                core.fetches(),
                self.touched,
            )

    def save(self) -> None:
        """Adds the observations since the last call to the profile, and saves it."""
        with self._lock:
            self.observe()
            if self._profile is not None:
                self._profile.save()

    def observe(self) -> None:
        """Adds the observations since the last call to the profile, which is not saved."""
        with self._lock:
            new = self._new_observations()
            if self._profile is not None and new:
                self._profile.add(self._tree, self._schema, new)

    def finish(self) -> None:
        """Saves the profile, and releases the core, so that only the statistics stay."""
        with self._lock:
            self.save()
            self._final = self.use()
            self._core = None

    def _new_observations(self) -> dict[str, tuple[int, int]]:
        """The windows touched and seen since the last call, by column."""
        if self._core is None or self._profile is None:
            return {}
        windows = self.touched.windows
        counts = {request: (touched, windows) for request, touched in self.touched.counts().items()}
        profiled = self._profile.shares(self._tree, self._schema)
        # Columns of the profile that were not touched count as unused, so that they are dropped in time.
        seen = max((seen for _, seen in counts.values()), default=0)
        unused = {index: (0, seen) for index, path in enumerate(self._columns) if path in profiled}
        new: dict[str, tuple[int, int]] = {}
        for request, (touched, seen) in (unused | counts).items():
            before = self._saved.get(request, (0, 0))
            # More columns may be touched in windows that were counted already.
            if touched > before[0] or seen > before[1]:
                new[self._columns[request]] = (touched - before[0], seen - before[1])
                self._saved[request] = (touched, seen)
        return new


def lazy_options(
    columns: Iterable[str],
    profile: Profile | str | os.PathLike[str] | None,
    caching: Caching | None,
    threads: int | None,
    deadline: float | None,
) -> LazyOptions:
    """The options for the arguments of the methods that make readers."""
    names: Any = (columns,) if isinstance(columns, str) else columns
    declared = tuple(names) if isinstance(names, Iterable) else (names,)
    if not all(isinstance(name, str) for name in declared):
        raise ArgumentTypeError(f"'columns' must be names of branches, not {columns!r}")
    if not (caching is None or isinstance(caching, Caching)):
        raise ArgumentTypeError(f"'caching' must be a sapwood.Caching, not {caching!r}")
    return LazyOptions(profile_of(profile), caching or Caching(), declared, threads, deadline)


def open_reader(
    source: HasBranches,
    kind: str,
    entry_start: int | None,
    entry_stop: int | None,
    options: LazyOptions,
    filters: Filters = ALL,
) -> LazyReader:
    """A reader of the branches that pass the filters, and of the declared columns under their names."""
    tree = source.tree
    start, stop = entry_range(tree.num_entries, entry_start, entry_stop)
    outputs: dict[str, Any] = select(source, filters=filters).outputs
    outputs |= {name: require_readable(source[name]) for name in options.declared}
    return LazyReader(tree, kind, outputs, start, stop, options)


def _holders(member: Branch) -> list[Branch]:
    """The branch that holds a member, if the member can be taken from its columns."""
    whole = member.tree.branch_at(member.index)
    form = None if whole.unsupported else whole.form
    found = None if form is None else member_column(empty_column(form), member.member)
    return [whole] if found is not None and found.form == member.form else []


def _require_member(column: Column, member: Branch) -> Column:
    found = member_column(column, member.member)
    assert found is not None, "the form of the whole branch has the member"
    return found


def _leaves_of(tree: Tree, branch: Branch) -> list[Branch]:
    leaves = readable_leaves(branch)
    if any(leaf.tree is not tree for leaf in leaves):
        raise UnsupportedTypeError(
            f"{branch.path!r} belongs to a friend tree and cannot be read lazily; "
            "read it with arrays(), or lazily from the friend itself",
            branch=branch.path,
        )
    return leaves
