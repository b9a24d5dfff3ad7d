"""Filters by name, type and branch: globs, "/regular expressions/i", functions, or iterables of these."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import ArgumentTypeError, ExpressionError

if TYPE_CHECKING:
    from ..model.branch import Branch

Filter: TypeAlias = "str | Callable[[str], bool] | Iterable[Filter] | None"
"""A name, a glob, ``"/regex/flags"``, a function, an iterable of them (any may match), or None for all."""

_REGEX = re.compile(r"/(.*)/([iLmsux]*)", re.DOTALL)
_FLAGS = {
    "i": re.IGNORECASE,
    "L": re.LOCALE,
    "m": re.MULTILINE,
    "s": re.DOTALL,
    "u": re.UNICODE,
    "x": re.VERBOSE,
}

_IMPORTED = re.compile("_collection[0-9]+")
"""The names that ROOT's importer gives to collections."""

_BYTES: tuple[type, ...] = (bytes, bytearray)


def text_filter(filter: Filter) -> Callable[[str], bool] | None:
    """A filter as a function of a string, or None if it accepts everything.

    A regular expression needs to match only the start of the text, as in uproot; a glob must match all of it.

    >>> accepts = text_filter(["Muon_*", "/jet_.*/i"])
    >>> [name for name in ("Muon_pt", "Jet_pt", "MET_pt") if accepts(name)]
    ['Muon_pt', 'Jet_pt']

    Raises:
        ExpressionError: if a regular expression is malformed.
        ArgumentTypeError: if the filter is of another type.
    """
    if filter is None:
        return None
    if isinstance(filter, str):
        return _pattern(filter)
    if callable(filter):
        return filter
    if isinstance(filter, _BYTES) or not hasattr(filter, "__iter__"):
        raise ArgumentTypeError(
            "a filter must be None, a name, a glob, '/regex/flags', a function, or an iterable of these, "
            f"not {filter!r}"
        )
    names: set[str] = set()
    tests: list[Callable[[str], bool] | None] = []
    for part in filter:
        if isinstance(part, str) and not _is_pattern(part):
            names.add(part)
        else:
            tests.append(text_filter(part))
    if None in tests:
        return None
    if not tests:
        return names.__contains__
    return lambda text: text in names or any(test(text) for test in tests if test is not None)


def _is_pattern(text: str) -> bool:
    """Whether a filter is a regular expression or a glob, and not one name."""
    return any(wildcard in text for wildcard in "*?[") or _REGEX.fullmatch(text) is not None


def _pattern(pattern: str) -> Callable[[str], bool]:
    if not _is_pattern(pattern):
        return lambda text: text == pattern
    regex = _REGEX.fullmatch(pattern)
    if regex is not None:
        compiled = _compiled(pattern, regex[1], regex[2])
    else:
        compiled = re.compile(fnmatch.translate(pattern))
    return lambda text: compiled.match(text) is not None


def _compiled(pattern: str, regex: str, letters: str) -> re.Pattern[str]:
    flags = re.RegexFlag(0)
    for letter in letters:
        flags |= _FLAGS[letter]
    try:
        return re.compile(regex, flags)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        position = getattr(error, "pos", None)
        # The regular expression begins after the slash.
        column = None if position is None else position + 2
        place = "" if column is None else f" (column {column})"
        reason = getattr(error, "msg", None) or error
        message = f"the filter {pattern!r} is not a regular expression: {reason}{place}"
        raise ExpressionError(message, expression=pattern, column=column) from None


def patterns_of(filter: Filter) -> list[str]:
    """The names, globs and regular expressions in a filter.

    >>> patterns_of(["Muon.*", ["MET_pt", str.isupper]])
    ['Muon.*', 'MET_pt']
    """
    if isinstance(filter, str):
        return [filter]
    parts = filter if isinstance(filter, (list, tuple, set, frozenset)) else ()  # others can be used up
    return [pattern for part in parts for pattern in patterns_of(part)]


def matches(pattern: str, names: Collection[str]) -> bool:
    """Whether one of the names is this one, or matches the pattern."""
    return pattern in names or any(map(_pattern(pattern), names))


@dataclass(frozen=True)
class Filters:
    """Selects branches: the filter arguments of :meth:`sapwood.Tree.iteritems`.

    Attributes:
        name: filters by name or path.
        typename: filters by C++ type.
        branch: a function that takes a :class:`sapwood.Branch` and returns whether to include it.
    """

    name: Filter = None
    typename: Filter = None
    branch: Callable[[Branch], Any] | None = None

    def passing(self, branches: Iterable[Branch], skip: int) -> Iterator[tuple[str, Branch]]:
        """Yields (path without its first ``skip`` characters, branch) for each branch that passes."""
        by_name, by_type = text_filter(self.name), text_filter(self.typename)
        if self.branch is not None and not callable(self.branch):
            raise ArgumentTypeError(f"'filter_branch' must be a function of a branch, not {self.branch!r}")
        for branch in branches:
            path = branch.path[skip:]
            if by_name is not None and not (by_name(branch.name) or by_name(path) or by_name("/" + path)):
                continue
            if by_type is not None and not by_type(branch.typename):
                continue
            if self.branch is not None and not self.branch(branch):
                continue
            yield path, branch

    def for_members(self, branches: Iterable[Branch], skip: int) -> Filters | None:
        """The filters of members of objects: patterns with a dot that match no branch; None without any."""
        dotted = [pattern for pattern in patterns_of(self.name) if "." in pattern]
        if not dotted:
            return None
        paths = [(branch.name, branch.path[skip:]) for branch in branches]
        names = {name for own, path in paths for name in (own, path, f"/{path}")}
        unmatched = [pattern for pattern in dotted if not matches(pattern, names)]
        return Filters(unmatched, self.typename, self.branch) if unmatched else None


ALL = Filters()
"""All branches."""


def is_shown_by_projections(branch: Branch) -> bool:
    """Whether a field is an untyped collection, and each of its members is also a field of the RNTuple.

    ROOT's importer writes NanoAOD's ``Muon_pt`` and others as projections of a field ``_collection0``.
    """
    if not _IMPORTED.fullmatch(branch.path) or not branch.fields:
        return False
    members = ((branch.member_at(name), branch.tree.get(name)) for name in branch.fields)
    return all(own is not None and shown is not None and own.form == shown.form for own, shown in members)
