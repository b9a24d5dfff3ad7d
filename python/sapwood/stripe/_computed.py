"""Products computed from columns of a dataset, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..writing import recreate

if TYPE_CHECKING:
    from ..model.tree import Tree


def write_product(
    target: str,
    path: str,
    name: str,
    function: Callable[[Any], Mapping[str, Any]],
    tree: Tree,
    columns: Sequence[str],
    step_size: int | str,
) -> None:
    """Applies a function to columns, and writes the results to a tree of a new file.

    Raises:
        UsageError: if the name of a column does not begin with that of the product.
    """
    with recreate(target) as file:
        written = None
        for arrays in tree.iterate(list(columns), step_size=step_size):
            results = dict(function(arrays))
            for column in results:
                if column != name and not column.startswith(f"{name}_"):
                    raise UsageError(
                        f"the column '{column}' does not belong to the product '{name}'; call it '{name}_…'"
                    )
            if written is None:
                file[path] = results
                written = file[path]
            else:
                written.extend(results)
