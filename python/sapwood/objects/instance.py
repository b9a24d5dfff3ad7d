"""Objects of C++ classes, with their members by name."""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping
from typing import Any

import numpy as np

from ..display.printable import printable, shows_printable
from ..errors import ArgumentTypeError, KeyInFileError

_REPR_LENGTH = 100


class Instance:
    """An object of a C++ class. Its members are available as items and as attributes.

    >>> track.member("fE"), track["fE"], track.fE                                    # doctest: +SKIP

    Members of base classes are members of the object, too.

    Attributes:
        class_name: the C++ class; empty for a record without a class.
        skipped: (path, reason) of each member that could not be read and is missing.
    """

    def __init__(
        self, class_name: str, members: Mapping[str, Any], skipped: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.class_name = class_name
        self.skipped = skipped
        self._members = members

    @property
    def classname(self) -> str:
        """Alias of ``class_name``."""
        return self.class_name

    @property
    def members(self) -> Mapping[str, Any]:
        """All members by name."""
        return self._members

    @property
    def all_members(self) -> Mapping[str, Any]:
        """Alias of :attr:`members`, which includes the members of base classes."""
        return self._members

    def has_member(self, name: str) -> bool:
        """Whether the object has a member with this name."""
        return name in self._members

    def member(self, name: str) -> Any:
        """The value of a member.

        Raises:
            KeyInFileError: if there is no such member.
        """
        if name not in self._members:
            raise KeyInFileError.not_found("member", name, self._members, self.class_name or "this record")
        return self._members[name]

    @property
    def name(self) -> str | None:
        """The name of the object (``fName``), or None."""
        return self._text("fName")

    @property
    def title(self) -> str | None:
        """The title of the object (``fTitle``), or None."""
        return self._text("fTitle")

    def _text(self, name: str) -> str | None:
        return str(self._members[name]) if name in self._members else None

    def keys(self) -> KeysView[str]:
        """The names of the members."""
        return self._members.keys()

    def to_dict(self) -> dict[str, Any]:
        """The object as nested dicts, lists, strings and numbers, which are fit for JSON except for NaN."""
        return {name: plain(value) for name, value in self._members.items()}

    def tolist(self) -> dict[str, Any]:
        """Alias of :meth:`to_dict`, named like the method of arrays."""
        return self.to_dict()

    def __getitem__(self, name: Any) -> Any:
        if not isinstance(name, str):
            values = "; values() returns those of its bins" if hasattr(self, "values") else ""
            raise ArgumentTypeError(f"a member has a name, not {name!r}{values}")
        return self.member(name)

    def __getattr__(self, name: str) -> Any:
        # The attributes are missing while an object is unpickled.
        members = self.__dict__.get("_members", {})
        if name in members:
            return members[name]
        owner = printable(self.__dict__.get("class_name") or "the record")
        raise AttributeError(f"{owner} has no member {name!r}")

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __bool__(self) -> bool:
        return True

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in self._members if name.isidentifier())})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        return self.class_name == other.class_name and _same(dict(self._members), dict(other._members))

    __hash__ = None  # type: ignore[assignment]

    @shows_printable
    def __repr__(self) -> str:
        shown = f"<{self.class_name or 'record'}"
        for name in self._members:
            if len(shown) > _REPR_LENGTH:
                shown += " …"
                break
            shown += f" {name}={_brief(self._members[name])}"
        return shown + ">"


class Object(Instance, Mapping[str, Any]):
    """An object of any other C++ class: a mapping from the names of its members to their values."""

    __hash__ = None  # type: ignore[assignment]


def plain(value: Any) -> Any:
    """A value as nested dicts, lists, strings and numbers."""
    if isinstance(value, Instance):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return repr(value.tolist()) if value.size <= 4 else f"array of {'x'.join(map(str, value.shape))}"
    if isinstance(value, Instance):
        return f"<{value.class_name or 'record'}>"
    if isinstance(value, (list, dict)) and value:
        return f"{type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal, also if they are or contain arrays; NaN equals NaN."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
            return False
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other or (one != one and other != other))
