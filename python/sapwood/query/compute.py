"""Computes results from columns: groups, expressions, the cut, and the arrays of a library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import awkward as _awkward
from ..arrays import numpy as _numpy
from ..arrays.column import Column, is_flat
from ..arrays.libraries import Doc, library_named
from ..display.units import counted
from ..errors import UsageError
from .assemble import Columns, column_of, readable_leaves
from .expressions import Expression
from .query import Query
from .select import branches_among, warn_skipped

if TYPE_CHECKING:
    from ..model.branch import Branch


def compute(query: Query, columns: Columns, start: int, stop: int, index_offset: int = 0) -> Any:
    """The result for the entries [start, stop), from the columns of the query's leaves.

    Libraries with an index (pandas) add ``index_offset`` to the entry numbers.
    """
    return Result(query, columns, range(start + index_offset, stop + index_offset)).get()


@dataclass(frozen=True)
class _Placeholder:
    """Stands for a column for which only the entries that pass the cut were read."""

    length: int


class Result:
    """Computes one result from columns; ``index`` holds the numbers of their entries."""

    def __init__(self, query: Query, columns: Columns, index: range | NDArray[np.int64]) -> None:
        self.query = query
        self.library = query.library
        self.selection = query.selection
        self.columns = columns
        self.length = len(index)
        self.index = index
        self.makes_table = self.library.has_tables and query.how not in (dict, list, tuple)
        self.values: dict[str, Any] = {}

    @property
    def mask(self) -> NDArray[np.bool_] | None:
        """The entries that pass the cut; None if the cut selects items of lists."""
        if isinstance(self.cut, np.ndarray) or self.cut.ndim == 1:
            return np.asarray(self.cut, dtype=bool)
        return None

    def add(self, columns: Columns) -> None:
        """Adds columns of the same entries."""
        self.columns = {**self.columns, **columns}

    def get(self, passing: Columns | None = None) -> Any:
        """The result. ``passing`` holds columns that contain only the entries that pass the cut."""
        passing = passing or {}
        selected: dict[str, Column] = {}
        outputs: dict[str, Any] = {}
        for name, output in self.selection.outputs.items():
            if isinstance(output, Expression):
                outputs[name] = output
            elif passing and all(leaf.key in passing for leaf in readable_leaves(output)):
                selected[name] = column_of(output, passing)
                outputs[name] = _Placeholder(self.length)
            else:
                outputs[name] = column_of(output, self.columns)
        if self.selection.cut is not None or self.makes_table:
            outputs = self._of_full_length(outputs)
        docs = self._docs(outputs)
        if self.selection.cut is None:
            arrays = {name: self._array(output, docs.get(name)) for name, output in outputs.items()}
            index: Any = self.index
        elif (mask := self.mask) is not None:
            index = np.asarray(self.index)[mask]
            arrays = {
                name: self.library.array(selected[name], index, docs.get(name))
                if name in selected
                else self.library.select(self._array(output, docs.get(name)), mask)
                for name, output in outputs.items()
            }
        else:
            arrays = {
                name: self._cut_inside(name, output, docs.get(name)) for name, output in outputs.items()
            }
            index = self.index
        how, title = self.query.how, self.query.doc(self.query.source)
        if how is tuple or how is list:
            return self.query.contained(self.library.group(arrays, dict, index, docs, title))
        return self.library.group(arrays, how, index, docs, title)

    @cached_property
    def cut(self) -> Any:
        """The cut as an array of booleans: one per entry, or one per item (then an Awkward Array)."""
        assert self.selection.cut is not None
        source = self.selection.cut.source
        value = self._evaluate(self.selection.cut)
        is_numpy = isinstance(value, np.ndarray)
        if len(value) != self.length or (is_numpy and value.ndim != 1):
            entries = counted(self.length, "entry", "entries")
            shape = f"shape {value.shape}" if is_numpy else f"length {len(value)}"
            raise source.error(f"has the {shape}, but there are {entries}")
        if not (value.dtype.kind in "biuf" if is_numpy else _awkward.is_numeric(value)):
            raise source.error("must give one number or boolean per entry, or per item of a list")
        return value != 0 if is_numpy else _awkward.is_true(value)

    @cached_property
    def use_awkward(self) -> bool:
        """Whether expressions need Awkward Array: NumPy handles only numbers and fixed-size arrays."""
        if self.library.name == "ak":
            return True
        forms = [column_of(branch, self.columns).form for branch in self.selection.operands]
        needed = any(not is_flat(form) for form in forms) or any("$" in text for text in self._texts())
        if needed:
            library_named("ak")
        return needed

    def _array(self, output: Any, doc: Doc | None) -> Any:
        if isinstance(output, Expression):
            value = self._evaluate(output)
            if len(value) != self.length and (self.makes_table or self.selection.cut is not None):
                values, entries = counted(len(value), "value"), counted(self.length, "entry", "entries")
                raise output.source.error(
                    f"has {values} for {entries}, so it cannot be a column of a table or be cut",
                    hint="use how=dict without a cut",
                )
            return self.library.computed(value, self.index[: len(value)])
        return self.library.array(output, self.index[: output.length], doc)

    def _cut_inside(self, name: str, output: Any, doc: Doc | None) -> Any:
        """An output after a cut that selects items of lists."""
        if isinstance(output, Expression):
            array = self._evaluate(output)
        else:
            array = _awkward.column_to_awkward(output, doc)
        _awkward.check_cut(name, array, self.cut)
        return self.library.computed(array[self.cut], self.index)

    def _evaluate(self, expression: Expression) -> Any:
        value = expression.evaluate(self._value)
        if np.isscalar(value) or (isinstance(value, np.ndarray) and value.ndim == 0):
            return np.full(self.length, value)
        if not isinstance(value, np.ndarray) and not hasattr(value, "layout"):
            raise expression.source.error("does not give an array")
        return value

    def _value(self, name: str) -> Any:
        if name not in self.values:
            target = self.selection.names[name]
            if isinstance(target, Expression):
                self.values[name] = self._evaluate(target)
            else:
                convert = _awkward.column_to_awkward if self.use_awkward else _numpy.column_to_numpy
                self.values[name] = convert(column_of(target, self.columns))
        return self.values[name]

    def _texts(self) -> list[str]:
        everything = [*self.selection.outputs.values(), *self.selection.names.values(), self.selection.cut]
        return [one.text for one in everything if isinstance(one, Expression)]

    def _docs(self, outputs: Mapping[str, Any]) -> dict[str, Doc]:
        docs = {}
        for name in outputs:
            branch = self.selection.outputs[name]
            doc = self.query.doc(branch) if not isinstance(branch, Expression) else None
            if doc:
                docs[name] = doc
        return docs

    def _length(self, branch: Branch) -> int:
        leaves = readable_leaves(branch)
        if all(leaf.key in self.columns for leaf in leaves):
            return column_of(branch, self.columns).length
        # Only the entries that pass the cut were read, which happens only to branches that have all entries.
        return self.length

    def _of_full_length(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """The outputs that can be columns of one table: a branch may have fewer entries than its tree."""
        needed = self.selection.branches if self.selection.explicit else self.selection.operands
        short = [branch.path for branch in needed if self._length(branch) != self.length]
        if short:
            raise UsageError(
                f"these branches have fewer entries than their tree, so they cannot be columns of a table or "
                f"be cut: {', '.join(map(repr, short))}; use how=dict without a cut"
            )
        fits = {
            name: output
            for name, output in outputs.items()
            if isinstance(output, Expression) or output.length == self.length
        }
        left_out = [self.selection.outputs[name] for name in outputs if name not in fits]
        warn_skipped(
            branches_among(left_out), "they have fewer entries than their tree (how=dict returns them)"
        )
        return fits
