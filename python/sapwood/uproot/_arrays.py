"""``arrays``, ``array`` and ``iterate`` of uproot over columns that sapwood reads.

Uproot's own functions plan what is read, and compute expressions, cuts and groups. Between the two, sapwood
delivers the columns whose interpretation it gives, and uproot reads the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import uproot
from uproot._util import no_filter, unset
from uproot.behaviors import TBranch as machinery
from uproot.interpretation.grouped import AsGrouped
from uproot.interpretation.jagged import AsJagged
from uproot.interpretation.library import Awkward, _regularize_library
from uproot.language.python import python_language
from uproot.source import futures

from ..arrays.awkward import records
from ..errors import SapwoodError
from ..model.branch import Branch
from ._baskets import measure_baskets
from ._columns import Convert, converter, iterate_columns, read_columns
from ._log import COUNTS, left
from ._together import read_one


@dataclass
class Plan:
    """Branches to read, and what to make of them.

    Attributes:
        source: the tree or branch whose method was called.
        contexts: the expressions in uproot's words: pairs of text and facts.
        interpretations: by the cache key of a branch.
        arrays: those already read, by the cache key of a branch.
        library: a library of uproot.
        options: of uproot's interpretations.
    """

    source: Any
    contexts: list[tuple[str, dict[str, Any]]]
    interpretations: dict[str, Any]
    arrays: dict[str, Any]
    library: Any
    options: dict[str, Any]
    executors: tuple[Any, Any]
    served: dict[str, tuple[Any, Branch, Convert]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Finds out which branches sapwood can read; the others are left to uproot."""
        for key, branch in self.branches.items():
            if key not in self.arrays:
                found = reader(branch, self.interpretations[key], self.library)
                if found is not None:
                    self.served[key] = (branch, *found)
                else:
                    left(f"the branch {branch.name!r}", branch.file.file_path, "only uproot reads it so")

    @property
    def branches(self) -> dict[str, Any]:
        """The branches with baskets, by their cache keys."""
        return {
            branch.cache_key: branch
            for _, context in self.contexts
            for branch in context["branches"]
            if not isinstance(self.interpretations[branch.cache_key], AsGrouped)
        }

    @property
    def wanted(self) -> dict[str, Branch]:
        """The branches that sapwood reads."""
        return {key: own for key, (_, own, _) in self.served.items()}

    def take(self, columns: Mapping[str, Any], start: int, stop: int) -> dict[str, Any]:
        """The arrays of columns that sapwood read."""
        COUNTS["columns"] += len(columns)
        return {
            key: self.library.finalize(
                convert(columns[key]), branch, self.interpretations[key], start, stop, self.options
            )
            for key, (branch, _, convert) in self.served.items()
        }

    def read_all(self, start: int, stop: int) -> None:
        """Reads all branches for a range of entries."""
        if self.served:
            try:
                wanted = self.wanted
                if len(wanted) == 1:
                    columns = read_one(*next(iter(wanted.items())), start, stop)
                else:
                    columns = read_columns(wanted, start, stop)
                self.arrays.update(self.take(columns, start, stop))
            except SapwoodError as error:
                left("columns", self.source.file.file_path, error)
        self.read_rest(self.arrays, start, stop, {})

    def read_rest(
        self, arrays: dict[str, Any], start: int, stop: int, kept: dict[Any, Any]
    ) -> dict[Any, Any]:
        """Lets uproot read what is not in ``arrays``, and group it. ``kept`` holds baskets of the last range.

        Returns:
            The baskets that reach beyond the range.
        """
        baskets: list[tuple[Any, int, Any]] = [
            (branch, number, kept.get((key, number), place))
            for key, branch in self.branches.items()
            if key not in arrays
            for number, place in branch.entries_to_ranges_or_baskets(start, stop)
        ]
        if len(arrays) < len(self.interpretations):
            machinery._ranges_or_baskets_to_arrays(
                self.source,
                baskets,
                self.interpretations,
                start,
                stop,
                *self.executors,
                self.library,
                arrays,
                True,
                self.options,
            )
        return {
            (branch.cache_key, number): basket
            for branch, number, basket in baskets
            if basket.entry_start_stop[1] > stop
        }

    def group(self, arrays: dict[str, Any], how: Any) -> None:
        """Adds the arrays of groups, made of those of their sub-branches."""
        machinery._fix_asgrouped(
            arrays,
            self.contexts,
            self.interpretations,
            self.library,
            how,
            self.options["ak_add_doc"],
        )


def is_watched() -> bool:
    """Whether the program replaced how uproot reads a basket, for example to count baskets."""
    return not uproot.models.TBasket.Model_TBasket.read.__module__.startswith("uproot.")


def reader(branch: Any, interpretation: Any, library: Any) -> tuple[Branch, Convert] | None:
    """How sapwood reads a branch of uproot with an interpretation; None if it cannot."""
    own = getattr(branch, "_own", None)
    if own is None or branch.file.closed or is_watched():
        return None
    if interpretation is not branch.interpretation and (
        interpretation.cache_key != branch.interpretation.cache_key
    ):
        return None
    memo = branch.__dict__.setdefault("_converters", {})
    key = type(library)
    if key not in memo:
        memo[key] = converter(own, branch.interpretation, library, branch.file)
    return None if memo[key] is None else (own, memo[key])


_EXECUTORS = (ThreadPoolExecutor, futures.ThreadPoolExecutor, futures.TrivialExecutor, type(None))


def has_own_executor(options: Mapping[str, Any]) -> bool:
    """Whether the caller's executor does more than run tasks; sapwood would bypass it."""
    names = ("decompression_executor", "interpretation_executor")
    return any(type(options.get(name)) not in _EXECUTORS for name in names)


def _of_tree(options: dict[str, Any]) -> dict[str, Any]:
    """Options without those for RNTuples that ``uproot.iterate`` and ``concatenate`` of an open tree add."""
    if options.get("filter_field") is no_filter:
        options = {name: value for name, value in options.items() if name != "filter_field"}
    if options.get("filter_branch") is unset:
        options = {**options, "filter_branch": no_filter}
    return options


class Reads(machinery.HasBranches):  # type: ignore[misc]
    """The methods of trees and branches that read arrays."""

    def _eager_arrays(self, expressions: Any = None, cut: Any = None, **options: Any) -> Any:
        """What :meth:`uproot.HasBranches.arrays` calls for arrays that are not virtual."""
        if getattr(self.tree, "_own", None) is None or has_own_executor(options):
            return super()._eager_arrays(expressions, cut, **options)
        asked = _Asked.of(self, expressions, cut, **options)
        if asked is None:
            return super()._eager_arrays(expressions, cut, **options)
        return asked.arrays()

    def arrays(self, expressions: Any = None, cut: Any = None, **options: Any) -> Any:
        """As in uproot."""
        return super().arrays(expressions, cut, **_of_tree(options))

    def iterate(self, expressions: Any = None, cut: Any = None, **options: Any) -> Iterator[Any]:
        """As in uproot, with the next step read while you use the last."""
        options = _of_tree(options)
        asked = None
        if getattr(self.tree, "_own", None) is not None and not has_own_executor(options):
            own = {name: value for name, value in options.items() if name not in ("step_size", "report")}
            asked = _Asked.of(self, expressions, cut, **{"array_cache": None, **own})
        if asked is None:
            yield from super().iterate(expressions, cut, **options)
        else:
            yield from asked.steps(options.get("step_size", "100 MB"), options.get("report", False))

    arrays.__doc__ = machinery.HasBranches.arrays.__doc__
    iterate.__doc__ = machinery.HasBranches.iterate.__doc__


def read_array(
    branch: Any,
    interpretation: Any,
    entry_start: Any,
    entry_stop: Any,
    *,
    decompression_executor: Any = None,
    interpretation_executor: Any = None,
    array_cache: Any = "inherit",
    library: Any = "ak",
    ak_add_doc: Any = False,
) -> Any:
    """The array of one branch, as :meth:`uproot.TBranch.array` returns it."""
    if interpretation is None:
        interpretation = branch.interpretation
    else:
        interpretation = machinery._regularize_interpretation(interpretation)
    start, stop = machinery._regularize_entries_start_stop(branch.num_entries, entry_start, entry_stop)
    executors = machinery._regularize_executors(decompression_executor, interpretation_executor, branch._file)
    kept = machinery._regularize_array_cache(array_cache, branch._file)
    library = _regularize_library(library)

    def key(name: str, interpretation: Any) -> str:
        return f"{branch.cache_key}:{name}:{interpretation.cache_key}:{start}-{stop}:{library.name}"

    def cached(name: str, interpretation: Any) -> Any:
        return None if kept is None else kept.get(key(name, interpretation))

    arrays: dict[str, Any] = {}
    contexts: list[tuple[str, dict[str, Any]]] = []
    interpretations: dict[str, Any] = {}
    machinery._regularize_branchname(
        branch, branch.name, branch, interpretation, cached, arrays, contexts, interpretations, True, False
    )
    plan = Plan(branch, contexts, interpretations, arrays, library, {"ak_add_doc": ak_add_doc}, executors)
    plan.read_all(start, stop)
    plan.group(arrays, None)
    if kept is not None:
        kept[key(branch.name, interpretation)] = arrays[branch.cache_key]
    return arrays[branch.cache_key]


@dataclass
class _Asked:
    """The arguments of one call of ``arrays`` or ``iterate``."""

    source: Any
    expressions: Any
    cut: Any
    start: int
    stop: int
    executors: tuple[Any, Any]
    cache: Any
    library: Any
    language: Any
    aliases: Any
    filters: tuple[Any, Any, Any]
    ak_add_doc: Any
    how: Any

    @classmethod
    def of(
        cls,
        source: Any,
        expressions: Any,
        cut: Any,
        *,
        filter_name: Any = no_filter,
        filter_typename: Any = no_filter,
        filter_branch: Any = no_filter,
        aliases: Any = None,
        language: Any = python_language,
        entry_start: Any = None,
        entry_stop: Any = None,
        decompression_executor: Any = None,
        interpretation_executor: Any = None,
        array_cache: Any = "inherit",
        library: Any = "ak",
        ak_add_doc: Any = False,
        how: Any = None,
    ) -> _Asked | None:
        """The arguments, regularized; None for a branch without sub-branches: uproot asks its parent."""
        if isinstance(source, uproot.TBranch) and not source.branches:
            return None
        start, stop = machinery._regularize_entries_start_stop(
            source.tree.num_entries, entry_start, entry_stop
        )
        return cls(
            source,
            expressions,
            cut,
            start,
            stop,
            machinery._regularize_executors(decompression_executor, interpretation_executor, source._file),
            machinery._regularize_array_cache(array_cache, source._file),
            _regularize_library(library),
            language,
            aliases,
            (filter_name, filter_typename, filter_branch),
            ak_add_doc,
            how,
        )

    def arrays(self) -> Any:
        """The arrays, grouped as asked."""
        direct = self._direct()
        if direct is not None:
            return direct
        keys, aliases, plan = self._plan()
        plan.read_all(self.start, self.stop)
        plan.group(plan.arrays, self.how)
        if self.cache is not None:
            texts: dict[str, str] = {}  # the first expression with each branch
            for text, context in plan.contexts:
                for branch in context["branches"]:
                    texts.setdefault(branch.cache_key, text)
            for key, text in texts.items():
                self.cache[self._key(text, plan.interpretations[key])] = plan.arrays[key]
        return self._computed(plan, plan.arrays, keys, aliases)

    def steps(self, step_size: Any, report: bool) -> Iterator[Any]:
        """The arrays of one range of entries after the other."""
        keys, aliases, plan = self._plan()
        if not plan.interpretations:
            return
        if isinstance(step_size, str):
            measured = [one for one in plan.branches.values() if getattr(one, "_own", None) is not None]
            measure_baskets(measured, self.start, self.stop)
        size = machinery._regularize_step_size(
            self.source, step_size, self.start, self.stop, plan.interpretations
        )
        ranges = list(pairwise([*range(self.start, self.stop, size), self.stop]))
        ranges = [(first, last) for first, last in ranges if first < last]
        reading = iterate_columns(plan.wanted, ranges) if plan.served and ranges else None
        kept: dict[Any, Any] = {}
        for first, last in ranges:
            arrays: dict[str, Any] = dict(plan.arrays)
            if reading is not None:
                try:
                    arrays |= plan.take(next(reading), first, last)
                except SapwoodError as error:
                    left("columns", self.source.file.file_path, error)
                    reading = None
            kept = plan.read_rest(arrays, first, last, kept)
            plan.group(arrays, self.how)
            # No variable here may keep the arrays of a step alive while it waits for the next step.
            result = [self._computed(plan, arrays, keys, aliases)]
            del arrays
            yield (result.pop(), machinery.Report(self.source, first, last)) if report else result.pop()

    @cached_property
    def _place(self) -> str:
        key: str = self.source.cache_key
        return key

    @cached_property
    def _range(self) -> str:
        return f"{self.start}-{self.stop}:{self.library.name}"

    def _plan(self) -> tuple[Any, Any, Plan]:
        keys = machinery._keys_deep(self.source)
        aliases = machinery._regularize_aliases(self.source, self.aliases)
        arrays, contexts, interpretations = machinery._regularize_expressions(
            self.source,
            self.expressions,
            self.cut,
            *self.filters,
            keys,
            aliases,
            self.language,
            self._cached,
        )
        options = {"ak_add_doc": self.ak_add_doc}
        plan = Plan(self.source, contexts, interpretations, arrays, self.library, options, self.executors)
        return keys, aliases, plan

    def _key(self, name: str, interpretation: Any) -> str:
        """The key of uproot's array cache."""
        return f"{self._place}:{name}:{interpretation.cache_key}:{self._range}"

    def _cached(self, name: str, interpretation: Any) -> Any:
        return None if self.cache is None else self.cache.get(self._key(name, interpretation))

    def _computed(self, plan: Plan, arrays: dict[str, Any], keys: Any, aliases: Any) -> Any:
        """The expressions over arrays, in the container that was asked for."""
        source = self.source
        output = self.language.compute_expressions(
            source, arrays, plan.contexts, keys, aliases, source.file.file_path, source.object_path
        )
        primary = [
            (text, context)
            for text, context in plan.contexts
            if context["is_primary"] and not context["is_cut"]
        ]
        return self._grouped(output, primary)

    def _grouped(self, arrays: dict[str, Any], contexts: Any) -> Any:
        grouped = self.library.group(arrays, contexts, self.how)
        return machinery._ak_add_doc(grouped, self.source, self.ak_add_doc)

    def _direct(self) -> Any:
        """The arrays if whole branches of a tree are requested by name; else None.

        This skips the part of uproot's planning that takes as long as reading, for trees with many branches.
        """
        source = self.source
        has_filters = any(one is not no_filter for one in self.filters)
        if has_filters or self.cut is not None or not isinstance(source, uproot.TTree):
            return None
        names = self.expressions
        if names is None:
            names = [branch.name for branch in source.branches]
        elif isinstance(names, str):
            names = [names]
        elif not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            return None
        found: dict[str, tuple[Any, Any, Branch, Convert]] = {}
        for name in names:
            branch = source._lookup.get(name)
            if branch is None:
                return None
            interpretation = branch.interpretation
            how = reader(branch, interpretation, self.library)
            if how is None or how[0].branches:
                return None
            found[name] = (branch, interpretation, *how)
        if len(found) != len(names):
            return None
        keys, arrays = {}, {}
        if self.cache is not None:
            kinds = {id(interpretation): interpretation for _, interpretation, *_ in found.values()}
            ends = {key: f"{interpretation.cache_key}:{self._range}" for key, interpretation in kinds.items()}
            keys = {
                name: f"{self._place}:{name}:{ends[id(interpretation)]}"
                for name, (_, interpretation, *_) in found.items()
            }
            cached = {name: self.cache.get(key) for name, key in keys.items()}
            arrays = {name: array for name, array in cached.items() if array is not None}
        missing = {name: own for name, (_, _, own, _) in found.items() if name not in arrays}
        if missing:
            try:
                columns = read_columns(missing, self.start, self.stop)
            except SapwoodError as error:
                left("columns", source.file.file_path, error)
                return None
            COUNTS["columns"] += len(columns)
            options, finalize = {"ak_add_doc": self.ak_add_doc}, self.library.finalize
            for name in missing:
                branch, interpretation, _, convert = found[name]
                column = convert(columns[name])
                arrays[name] = finalize(column, branch, interpretation, self.start, self.stop, options)
                if keys:
                    self.cache[keys[name]] = arrays[name]
        if type(self.library) is Awkward and self.how is None and names:
            # What the group of the library is, without its detour through a dict of high-level arrays.
            grouped = records({name: arrays[name] for name in names}, self.stop - self.start)
            return machinery._ak_add_doc(grouped, source, self.ak_add_doc)
        contexts = [
            (name, _whole_branch(branch, interpretation))
            for name, (branch, interpretation, *_) in found.items()
        ]
        return self._grouped({name: arrays[name] for name in names}, contexts)


def _whole_branch(branch: Any, interpretation: Any) -> dict[str, Any]:
    """What uproot notes about an expression that is the name of a branch."""
    return {
        "is_primary": True,
        "is_cut": False,
        "is_jagged": isinstance(interpretation, AsJagged),
        "is_branch": True,
        "branches": [branch],
    }
