"""Queries: a selection of branches and expressions, and the form of the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..arrays.libraries import Doc, Library
from ..errors import ArgumentTypeError
from .filters import Filters
from .select import Selection, select

if TYPE_CHECKING:
    from ..model.branch import Branch
    from ..model.branches import HasBranches


@dataclass(frozen=True)
class Query:
    """A checked selection from a source, the array library, the container (``how``), and descriptions."""

    source: HasBranches
    selection: Selection
    library: Library
    how: Any = None
    ak_add_doc: bool | Mapping[str, str] = False

    def __post_init__(self) -> None:
        check_docs(self.ak_add_doc)

    @classmethod
    def of(
        cls,
        source: HasBranches,
        expressions: Any,
        cut: str | None,
        filters: Filters,
        aliases: Mapping[str, str] | None,
        library: Library,
        how: Any,
        ak_add_doc: bool | Mapping[str, str],
    ) -> Query:
        """The query for the arguments of :meth:`sapwood.Tree.arrays`."""
        return cls(source, select(source, expressions, cut, filters, aliases), library, how, ak_add_doc)

    @cached_property
    def leaves(self) -> list[Branch]:
        """The branches with data to read, each once."""
        return self.selection.leaf_branches

    def contained(self, arrays: dict[str, Any]) -> Any:
        """Named arrays in the container, if that is a tuple or a list: each as often as requested."""
        if self.how is not tuple and self.how is not list:
            return arrays
        return self.how(arrays[name] for name in self.selection.requested or arrays)

    def doc(self, source: HasBranches) -> Doc | None:
        """The description of a branch or a tree."""
        return documentation(source, self.ak_add_doc)


def check_docs(ak_add_doc: Any) -> None:
    """Raises an ArgumentTypeError unless this is a bool or a dict of strings."""
    names = [*ak_add_doc, *ak_add_doc.values()] if isinstance(ak_add_doc, Mapping) else []
    if not isinstance(ak_add_doc, (bool, Mapping)) or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(f"'ak_add_doc' must be a bool or a dict of strings, not {ak_add_doc!r}")


def documentation(source: HasBranches, ak_add_doc: bool | Mapping[str, str]) -> Doc | None:
    """The description of a branch or a tree, as selected by ``ak_add_doc``.

    True gives its title as ``__doc__``; a mapping gives the attributes that are its values, under its keys.
    """
    if not ak_add_doc:
        return None
    if isinstance(ak_add_doc, Mapping):
        wanted = ak_add_doc.items()
        return {key: str(getattr(source, name)) for key, name in wanted if hasattr(source, name)}
    return {"__doc__": source.title}
