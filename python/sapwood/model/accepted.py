"""What uproot, and libraries over it, look for in files and trees that their checks are to accept."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, ClassVar

from ..errors import SapwoodError


class AcceptedByUproot:
    """Passes a check of uproot with ``isinstance``, as soon as a program has imported uproot.

    Attributes:
        stands_for: the module and the abstract base class that is checked.
    """

    stands_for: ClassVar[tuple[str, str]]

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # `isinstance` looks here first, however early the file was opened: often, so that it must be quick.
        own = type(self)
        if own not in _REGISTERED and "uproot" in sys.modules:
            _register(own, self.stands_for)
        return own


_REGISTERED: set[type] = set()
"""The classes that pass their checks."""


def _register(own: type, stands_for: tuple[str, str]) -> None:
    """Lets a class pass its check, if uproot's class is there by now. Uproot is never imported."""
    base = _of_uproot(*stands_for)
    if base is not None:
        base.register(own)
        _complete_open_trees()
        _REGISTERED.add(own)


def refusal(error: SapwoodError) -> SapwoodError:
    """An error about a type, which libraries over uproot catch to leave the branch out."""
    base = _of_uproot("uproot.interpretation.objects", "CannotBeAwkward")
    if base is not None:
        error.__class__ = _joined(type(error), base)  # type: ignore[arg-type]
    return error


@dataclass(frozen=True)
class Traffic:
    """What was read from a file so far, under uproot's names.

    Attributes:
        num_requested_bytes: bytes.
        num_requests: requests to the server or the disk.
        num_requested_chunks: ranges of bytes.
    """

    num_requested_bytes: int
    num_requests: int
    num_requested_chunks: int

    @classmethod
    def of(cls, counters: Mapping[str, int]) -> Traffic:
        """What the counters of an open file say."""
        return cls(counters["fetched_bytes"], counters["requests"], counters["ranges"])

    @property
    def performance_counters(self) -> Traffic:
        """The same numbers: uproot keeps them one attribute deeper."""
        return self

    def asdict(self) -> dict[str, int]:
        """The numbers by their names."""
        return asdict(self)


def _complete_open_trees() -> None:
    """Lets what ``uproot.dask`` wraps open trees in answer whether they have a branch; coffea asks it.

    Without this, open trees of uproot 5.7 itself fail there, too.
    """
    wrapper = _of_uproot("uproot.behaviors.TBranch", "_NoClose")
    if wrapper is not None and not hasattr(wrapper, "__contains__"):
        wrapper.__contains__ = lambda self, name: name in self.hasbranches


def _of_uproot(module: str, name: str) -> Any:
    """Something of uproot, if the program has imported it, else None."""
    return getattr(sys.modules.get(module), name, None)


@cache
def _joined(first: type, second: type) -> type:
    return type(first.__name__, (first, second), {"__module__": first.__module__, "__doc__": first.__doc__})
