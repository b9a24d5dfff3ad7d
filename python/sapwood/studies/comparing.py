"""Compares two files, trees or objects: schema, entries and values, in steps of bounded memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.libraries import library_named
from ..errors import UnsupportedTypeError, UsageError
from ..model.branch import Branch
from ..model.directory import RNTUPLE_CLASSES, TREE_CLASSES, Directory
from ..model.tree import Tree
from ..objects.instance import plain
from ..query.filters import Filter, is_shown_by_projections
from ..query.query import Query
from ..query.reading import read_steps
from ..query.select import Selection
from ..query.steps import num_entries_for

STEP = "32 MB"
"""The memory of the arrays of one step, for each of the two files."""


@dataclass(frozen=True)
class Difference:
    """One difference between two files.

    Attributes:
        object: the path of the object in the file; empty if you named the objects to compare.
        part: the branch, or the member of an object, with the place in the value, such as "Muon_pt[2]".
        kind: ``"missing"``, ``"class"``, ``"type"``, ``"entries"`` or ``"value"``.
        entry: the first entry whose values differ, or None.
        a, b: what the two files have. For ``"missing"``, one of them is None.
    """

    object: str
    part: str
    kind: str
    entry: int | None
    a: Any
    b: Any


@dataclass(frozen=True)
class Tolerance:
    """How far floating-point numbers may differ: ``|a - b| <= atol + rtol * |b|``. NaN equals NaN."""

    rtol: float = 0.0
    atol: float = 0.0

    def equal(self, a: Any, b: Any) -> bool:
        """Whether two arrays of the same dtype and shape are equal."""
        if a.dtype.kind not in "fc":
            return bool(np.array_equal(a, b))
        if not self.rtol and not self.atol:
            return bool(np.array_equal(a, b, equal_nan=True))
        return bool(np.allclose(a, b, self.rtol, self.atol, equal_nan=True))

    def same(self, a: Any, b: Any) -> bool:
        """Whether two single values are equal."""
        if type(a) is not type(b):
            return False
        if isinstance(a, float):
            return self.equal(np.asarray(a), np.asarray(b))
        return bool(a == b)


def compare(
    a: Any,
    b: Any,
    *,
    filter_name: Filter = None,
    tolerance: Tolerance = Tolerance(),
    unread: Callable[[str, str], None] = lambda what, why: None,
) -> Iterator[Difference]:
    """Yields the differences of two open files, directories, trees or other objects.

    Args:
        filter_name: only branches with these names.
        tolerance: how far floating-point numbers may differ.
        unread: is called with each branch or member that cannot be compared, and the reason.

    For each branch, only the first different entry is found.

    Raises:
        UsageError: if ``filter_name`` matches no branch of either, because equality would then say nothing.
    """
    if filter_name is not None and not any(_has_match(one, filter_name) for one in (a, b)):
        raise UsageError(
            f"no branch of either matches the filter {filter_name!r}; 'sapwood show' lists the names"
        )
    yield from _compare("", a, b, filter_name, tolerance, unread)


def _has_match(one: Any, chosen: Filter) -> bool:
    """Whether a filter selects a branch of a tree, of a branch, or of any tree of a directory."""
    if isinstance(one, (Tree, Branch)):
        return bool(_columns(one, chosen))
    if not isinstance(one, Directory):
        return False
    classes = one.classnames(recursive=True, cycle=False)
    for path, class_name in classes.items():
        # A tree that cannot be read is reported where it is compared.
        with suppress(UnsupportedTypeError):
            if class_name in TREE_CLASSES and _has_match(one[path], chosen):
                return True
    return False


def _compare(
    name: str, a: Any, b: Any, chosen: Filter, tolerance: Tolerance, unread: Callable[[str, str], None]
) -> Iterator[Difference]:
    kinds = [
        next((kind for kind in (Directory, Tree, Branch) if isinstance(one, kind)), None) for one in (a, b)
    ]
    if kinds[0] is not kinds[1]:
        raise UsageError(
            f"cannot compare {_noun(a)} with {_noun(b)}: name the same kind of object in both files"
        )
    if isinstance(a, Directory):
        yield from _directories(a, b, chosen, tolerance, unread)
    elif isinstance(a, (Tree, Branch)):
        yield from _trees(name, a, b, chosen, tolerance, unread)
    else:
        yield from _objects(name, a, b, tolerance, unread)


def _noun(one: Any) -> str:
    for kind, noun in ((Directory, "a file or directory"), (Tree, "a tree"), (Branch, "a branch")):
        if isinstance(one, kind):
            return noun
    return f"an object of class {getattr(one, 'class_name', type(one).__name__)}"


def _directories(
    a: Directory, b: Directory, chosen: Filter, tolerance: Tolerance, unread: Callable[[str, str], None]
) -> Iterator[Difference]:
    ours, theirs = (one.classnames(recursive=True, cycle=False) for one in (a, b))
    for path in dict.fromkeys([*ours, *theirs]):
        classes = ours.get(path), theirs.get(path)
        if None in classes:
            yield Difference(path, "", "missing", None, *classes)
            continue
        if classes[0] != classes[1]:
            yield Difference(path, "", "class", None, *classes)
            if not TREE_CLASSES.issuperset(classes):
                continue
        if not str(classes[0]).startswith("TDirectory"):
            try:
                yield from _compare(path, a[path], b[path], chosen, tolerance, unread)
            except UnsupportedTypeError as error:
                unread(path, str(error))


def _trees(
    name: str,
    a: Tree | Branch,
    b: Tree | Branch,
    chosen: Filter,
    tolerance: Tolerance,
    unread: Callable[[str, str], None],
) -> Iterator[Difference]:
    if a.num_entries != b.num_entries:
        yield Difference(name, "", "entries", None, a.num_entries, b.num_entries)
    ours, theirs = _columns(a, chosen), _columns(b, chosen)
    converted = len({one.tree.classname in RNTUPLE_CLASSES for one in (a, b)}) > 1
    if converted and chosen is None:
        ours, theirs = _without_repeated(ours), _without_repeated(theirs)
    common = []
    for path in dict.fromkeys([*ours, *theirs]):
        types = [one[path].typename if path in one else None for one in (ours, theirs)]
        if None in types:
            yield Difference(name, path, "missing", None, *types)
        elif not _same_type(ours[path], theirs[path], converted):
            yield Difference(name, path, "type", None, *types)
        elif reason := ours[path].unsupported or theirs[path].unsupported:
            unread(f"{name}:{path}" if name else path, reason)
        else:
            common.append(path)
            for member, reason in ours[path].skipped:
                unread(f"{name}:{path}.{member}" if name else f"{path}.{member}", reason)
    stop = min(a.num_entries, b.num_entries)
    if common and stop:
        pairs = [{path: columns[path] for path in common} for columns in (ours, theirs)]
        yield from _values(name, pairs[0], pairs[1], stop, tolerance)


def _same_type(ours: Branch, theirs: Branch, converted: bool) -> bool:
    """Whether two columns have the same type; ``converted`` if one is a branch and the other a field.

    Branches and fields spell one type in two ways: ``float[]`` is ``ROOT::VecOps::RVec<float>``. What they
    have in common are the arrays that they are read as.
    """
    same = repr(ours.interpretation) == repr(theirs.interpretation)
    return same and (ours.typename == theirs.typename or (converted and ours.form is not None))


def _without_repeated(columns: dict[str, Branch]) -> dict[str, Branch]:
    """The columns, without collections of an RNTuple whose members are columns themselves."""
    return {path: branch for path, branch in columns.items() if not is_shown_by_projections(branch)}


def _columns(source: Tree | Branch, chosen: Filter) -> dict[str, Branch]:
    """The branches with data below a tree or a branch, and the branch itself, by path."""
    itself = [(source.path, source)] if isinstance(source, Branch) else []
    found = [*itself, *source.items(filter_name=chosen)]
    return {path: branch for path, branch in found if not branch.is_group}


def _values(
    name: str, ours: Mapping[str, Branch], theirs: Mapping[str, Branch], stop: int, tolerance: Tolerance
) -> Iterator[Difference]:
    """Reads both in steps of the same entries, and yields the first difference of each column."""
    step = min(num_entries_for(list(columns.values()), 0, stop, STEP) for columns in (ours, theirs))
    ranges = [(start, min(start + step, stop)) for start in range(0, stop, step)]
    different: set[str] = set()
    for (start, _), a, b in zip(ranges, _steps(ours, ranges), _steps(theirs, ranges), strict=True):
        for path in ours:
            if path in different:
                continue
            entry = _first_difference(a[path], b[path], tolerance)
            if entry is not None:
                different.add(path)
                left, right = (plain(one[entry : entry + 1].to_list()[0]) for one in (a[path], b[path]))
                place, left, right = next(_places(left, right, tolerance), ("", left, right))
                yield Difference(name, path + place, "value", start + entry, left, right)


def _steps(columns: Mapping[str, Branch], ranges: list[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    tree = next(iter(columns.values())).tree
    query = Query(tree, Selection(dict(columns), None, {}, True), library_named("ak"), dict)
    return read_steps(query, ranges)


def _first_difference(a: Any, b: Any, tolerance: Tolerance) -> int | None:
    """The first entry in which two arrays differ, found by bisection; None if they are equal."""
    if _equal(a, b, tolerance):
        return None
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high) // 2
        if _equal(a[low : middle + 1], b[low : middle + 1], tolerance):
            low = middle + 1
        else:
            high = middle
    return low


def _equal(a: Any, b: Any, tolerance: Tolerance) -> bool:
    """Whether two Awkward Arrays hold the same values, compared buffer by buffer."""
    import awkward as ak

    forms, lengths, buffers = zip(*(ak.to_buffers(ak.to_packed(one)) for one in (a, b)), strict=True)
    if lengths[0] != lengths[1] or not forms[0].is_equal_to(forms[1], all_parameters=False):
        return False
    return all(
        array.shape == buffers[1][key].shape and tolerance.equal(array, buffers[1][key])
        for key, array in buffers[0].items()
    )


def _objects(
    name: str, a: Any, b: Any, tolerance: Tolerance, unread: Callable[[str, str], None]
) -> Iterator[Difference]:
    for member, reason in getattr(a, "skipped", ()):
        unread(f"{name}: {member}" if name else member, reason)
    classes = [getattr(one, "class_name", type(one).__name__) for one in (a, b)]
    if classes[0] != classes[1]:
        yield Difference(name, "", "class", None, *classes)
        return
    for place, left, right in _places(plain(a), plain(b), tolerance):
        yield Difference(name, place.lstrip("."), "value", None, left, right)


def _places(a: Any, b: Any, tolerance: Tolerance, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The places in two nested values that differ, and what is there; of a list, only the first."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        for key in a:
            yield from _places(a[key], b[key], tolerance, f"{place}.{key}")
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        for i, (left, right) in enumerate(zip(a, b, strict=True)):
            found = next(_places(left, right, tolerance, f"{place}[{i}]"), None)
            if found is not None:
                yield found
                return
    elif not tolerance.same(a, b):
        yield place, a, b


def check_tolerance(rtol: float, atol: float) -> Tolerance:
    """A tolerance from two numbers that are not negative."""
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0 or math.isinf(value):
            raise UsageError(f"{name!r} must be a number, at least 0, not {value!r}")
    return Tolerance(rtol, atol)
