"""Types of columns, which are known before any entry is read, unlike those of Arrow arrays.

An Arrow array of options or unions has the types of the values that occur in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.column import Form
from ..arrays.libraries import ArrowLibrary
from ..arrays.numpy import awkward_to_column


class _FormLibrary(ArrowLibrary):
    """Has the form of a column in place of its array."""

    def array(self, column: Any, index: Any, doc: Any) -> Any:
        return column.form

    def computed(self, value: Any, index: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return awkward_to_column(value).form
        form: Form = ("primitive", value.dtype.name)
        for size in reversed(value.shape[1:]):
            form = ("fixed", size, form)
        return form

    def select(self, array: Any, mask: Any) -> Any:
        return array


def forms(tree: Any, chosen: dict[str, Any]) -> dict[str, Form]:
    """The forms of the columns that ``tree.arrays(**chosen)`` reads, by name."""
    within = {"library": _FormLibrary(), "how": dict, "entry_start": 0, "entry_stop": 0}
    found: dict[str, Form] = tree.arrays(**{**chosen, **within})
    return found
