"""What a call wants to get: a selection, in a library, grouped in some way, with descriptions or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..arrays.libraries import Doc, Library
from .filters import Filters
from .select import Selection, select

if TYPE_CHECKING:
    from ..model.branch import Branch
    from ..model.branches import HasBranches


@dataclass(frozen=True)
class Query:
    """The arguments of a call that say what its result looks like, checked."""

    source: HasBranches
    selection: Selection
    library: Library
    how: Any = None
    ak_add_doc: bool | Mapping[str, str] = False

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
        """The query of the arguments of :meth:`sapwood.Tree.arrays`."""
        return cls(source, select(source, expressions, cut, filters, aliases), library, how, ak_add_doc)

    @cached_property
    def leaves(self) -> list[Branch]:
        """The branches to read."""
        return self.selection.leaf_branches

    def doc(self, of: HasBranches) -> Doc | None:
        """The description of a branch or a tree."""
        return documented(of, self.ak_add_doc)


def documented(of: HasBranches, ak_add_doc: bool | Mapping[str, str]) -> Doc | None:
    """The description of a branch or a tree that ``ak_add_doc`` asks for."""
    if not ak_add_doc:
        return None
    if isinstance(ak_add_doc, Mapping):
        wanted = ak_add_doc.items()
        return {key: str(getattr(of, attribute)) for key, attribute in wanted if hasattr(of, attribute)}
    return {"__doc__": of.title}
