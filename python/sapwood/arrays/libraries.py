"""The array libraries of results: ``library="ak"``, ``"np"``, ``"pd"`` and ``"arrow"``."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import KeyInFileError, UsageError
from . import arrow as _arrow
from . import awkward as _awkward
from . import numpy as _numpy
from . import pandas as _pandas
from .column import Column

Doc = Mapping[str, str]
"""Descriptions of a column: ``{"__doc__": …}`` and other parameters that you asked for."""


class Library(ABC):
    """Makes arrays of one library from columns and computed values, and combines arrays into tables."""

    name: ClassVar[str]
    module: ClassVar[str]
    package: ClassVar[str]
    has_tables: ClassVar[bool] = True  # all columns of a table must have the same length

    def require(self) -> None:
        """Imports the library; if it is not installed, raises an ImportError that says what to install."""
        if importlib.util.find_spec(self.module) is None:
            raise ImportError(
                f"library={self.name!r} needs the package {self.package!r}; "
                f"run 'pip install {self.package}', or use library=\"np\", which needs only NumPy"
            )
        importlib.import_module(self.module)

    @abstractmethod
    def array(self, column: Column, index: NDArray[np.int64] | range, doc: Doc | None) -> Any:
        """A column as an array. ``index`` holds the entry numbers of its items."""

    @abstractmethod
    def computed(self, value: Any, index: NDArray[np.int64] | range) -> Any:
        """A NumPy or Awkward array as an array of this library."""

    @abstractmethod
    def select(self, array: Any, mask: NDArray[np.bool_]) -> Any:
        """The items where ``mask`` is true."""

    @abstractmethod
    def concatenate_arrays(self, arrays: Sequence[Any]) -> Any:
        """Concatenates arrays, or the tables that ``how=None`` makes."""

    @abstractmethod
    def lists(self, table: Any, counts: NDArray[np.int64], axes: Mapping[str, Sequence[int]]) -> Any:
        """The items of a table in lists of these counts; ``axes`` names and labels the axes of ``counts``."""

    def group(
        self, arrays: dict[str, Any], how: Any, index: Any, docs: Mapping[str, Doc], title: Doc | None
    ) -> Any:
        """Arrays in a container: None for the library's own kind of table, or a dict."""
        if how is dict:
            return arrays
        if how is None:
            return self.table(arrays, index, docs, title)
        more = ", 'zip'" * (self.name == "ak")
        raise UsageError(
            f"for library={self.name!r}, 'how' must be None, dict, tuple, list{more}, not {how!r}"
        )

    def table(self, arrays: dict[str, Any], index: Any, docs: Mapping[str, Doc], title: Doc | None) -> Any:
        """The library's own kind of table."""
        return arrays

    def concatenate(self, parts: Sequence[Any], places: Sequence[str] = ()) -> Any:
        """Concatenates results of several files, each as returned by :meth:`group`.

        Args:
            places: where each part comes from, for error messages.

        Raises:
            KeyInFileError: a part in a dict lacks a column of another: only tables mark missing values.
        """
        first = parts[0]
        if not isinstance(first, dict):
            return self.concatenate_arrays(parts)
        places = places or ["one file"] + ["another"] * (len(parts) - 1)
        for part, place in zip(parts, places, strict=True):
            _require_columns(part, place, first, places[0])
            _require_columns(first, places[0], part, place)
        return {name: self.concatenate_arrays([part[name] for part in parts]) for name in first}


def _require_columns(part: Mapping[str, Any], place: str, other: Mapping[str, Any], there: str) -> None:
    """Raises a KeyInFileError if a part lacks a column that the other has."""
    for name in other:
        if name not in part:
            hint = (
                "request only columns that all files have, or a table, which marks missing values: "
                'library="ak", "pd" or "arrow" without how='
            )
            raise KeyInFileError(
                f"{place} has no column {name!r}, but {there} has one: {hint}",
                key=name,
                url=place,
                branch=name,
                hint=hint,
            )


class AwkwardLibrary(Library):
    """Awkward Arrays; a table is an array of records. Methods also take and return bare layouts."""

    name, module, package = "ak", "awkward", "awkward"

    def array(self, column: Column, index: NDArray[np.int64] | range, doc: Doc | None) -> Any:
        return _awkward.column_to_layout(column, doc)

    def computed(self, value: Any, index: NDArray[np.int64] | range) -> Any:
        import awkward as ak

        return value if isinstance(value, ak.Array) else ak.Array(np.asarray(value))

    def select(self, array: Any, mask: NDArray[np.bool_]) -> Any:
        import awkward as ak

        return ak.Array(array)[mask]

    def concatenate_arrays(self, arrays: Sequence[Any]) -> Any:
        import awkward as ak

        if len(arrays) == 1:
            return arrays[0]
        layouts = [_awkward.as_layout(array) for array in arrays]
        if any(map(_awkward.has_unions, layouts)):
            return ak.Array(_awkward.concatenated_layouts(layouts))
        return ak.concatenate(arrays)

    def lists(self, table: Any, counts: NDArray[np.int64], axes: Mapping[str, Sequence[int]]) -> Any:
        import awkward as ak

        found = ak.Array(ak.unflatten(table, counts.ravel()))
        for size in counts.shape[:0:-1]:
            found = ak.to_regular(ak.unflatten(found, np.full(len(found) // max(size, 1), size)))
        return found

    def group(
        self, arrays: dict[str, Any], how: Any, index: Any, docs: Mapping[str, Doc], title: Doc | None
    ) -> Any:
        import awkward as ak

        if how == "zip":
            return self._titled(_awkward.zipped(arrays, len(index)), title)
        if how is not None:
            arrays = {name: ak.Array(array) for name, array in arrays.items()}
        return super().group(arrays, how, index, docs, title)

    def table(self, arrays: dict[str, Any], index: Any, docs: Mapping[str, Doc], title: Doc | None) -> Any:
        return self._titled(_awkward.records(arrays, len(index)), title)

    @staticmethod
    def _titled(array: Any, title: Doc | None) -> Any:
        if title:
            array.layout.parameters.update(title)
        return array


class NumPyLibrary(Library):
    """NumPy arrays; a table is a dict of arrays."""

    name, module, package = "np", "numpy", "numpy"
    has_tables = False

    def array(self, column: Column, index: NDArray[np.int64] | range, doc: Doc | None) -> Any:
        return _numpy.column_to_numpy(column)

    def computed(self, value: Any, index: NDArray[np.int64] | range) -> Any:
        return value if isinstance(value, np.ndarray) else _numpy.awkward_to_numpy(value)

    def select(self, array: Any, mask: NDArray[np.bool_]) -> Any:
        return array[mask]

    def concatenate_arrays(self, arrays: Sequence[Any]) -> Any:
        return arrays[0] if len(arrays) == 1 else _numpy.concatenate(arrays)

    def lists(self, table: Any, counts: NDArray[np.int64], axes: Mapping[str, Sequence[int]]) -> Any:
        edges = np.cumsum(counts)[:-1]

        def split(column: NDArray[Any]) -> NDArray[Any]:
            parts = np.split(column, edges) if counts.size else []
            return _numpy.objects(parts).reshape(counts.shape)

        return {name: split(column) for name, column in table.items()}


class PandasLibrary(Library):
    """pandas Series; a table is a DataFrame. The index is the entry number."""

    name, module, package = "pd", "pandas", "pandas"

    def array(self, column: Column, index: NDArray[np.int64] | range, doc: Doc | None) -> Any:
        return _pandas.column_to_series(column, self._index(index))

    def computed(self, value: Any, index: NDArray[np.int64] | range) -> Any:
        import pandas as pd

        if isinstance(value, np.ndarray) and value.ndim == 1:
            return pd.Series(value, index=self._index(index))
        if isinstance(value, np.ndarray):
            return pd.Series(_numpy.objects(list(value)), index=self._index(index))
        return _pandas.awkward_to_series(value, self._index(index))

    def select(self, array: Any, mask: NDArray[np.bool_]) -> Any:
        return array[mask]

    def concatenate_arrays(self, arrays: Sequence[Any]) -> Any:
        import pandas as pd

        return arrays[0] if len(arrays) == 1 else pd.concat(arrays)

    def table(self, arrays: dict[str, Any], index: Any, docs: Mapping[str, Doc], title: Doc | None) -> Any:
        return _pandas.frame(arrays, self._index(index))

    def lists(self, table: Any, counts: NDArray[np.int64], axes: Mapping[str, Sequence[int]]) -> Any:
        import pandas as pd

        sizes = counts.ravel()
        labels = np.meshgrid(*axes.values(), indexing="ij")
        levels = [np.repeat(one.ravel(), sizes) for one in labels]
        levels.append(np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes))
        index = pd.MultiIndex.from_arrays(levels, names=[*axes, "event"])
        return table.set_axis(index)

    @staticmethod
    def _index(index: NDArray[np.int64] | range) -> Any:
        import pandas as pd

        return pd.RangeIndex(index) if isinstance(index, range) else pd.Index(index)


class ArrowLibrary(Library):
    """Arrow arrays; a table is a ``pyarrow.Table``."""

    name, module, package = "arrow", "pyarrow", "pyarrow"

    def array(self, column: Column, index: NDArray[np.int64] | range, doc: Doc | None) -> Any:
        return _arrow.column_to_arrow(column)

    def computed(self, value: Any, index: NDArray[np.int64] | range) -> Any:
        import pyarrow as pa

        if isinstance(value, np.ndarray) and value.ndim == 1:
            return pa.array(value)
        import awkward as ak

        return _arrow.awkward_to_arrow(ak.Array(value))

    def select(self, array: Any, mask: NDArray[np.bool_]) -> Any:
        import pyarrow as pa

        return array.filter(pa.array(mask))

    def concatenate_arrays(self, arrays: Sequence[Any]) -> Any:
        import pyarrow as pa

        if isinstance(arrays[0], pa.Table):
            return _arrow.concatenate_tables(arrays)
        return arrays[0] if len(arrays) == 1 else _arrow.concatenate_arrays(arrays)

    def lists(self, table: Any, counts: NDArray[np.int64], axes: Mapping[str, Sequence[int]]) -> Any:
        import pyarrow as pa

        items = table.to_struct_array().combine_chunks()
        found = pa.LargeListArray.from_arrays(np.concatenate([[0], np.cumsum(counts)]), items)
        for size in counts.shape[:0:-1]:
            found = pa.FixedSizeListArray.from_arrays(found, size)
        return found

    def table(self, arrays: dict[str, Any], index: Any, docs: Mapping[str, Doc], title: Doc | None) -> Any:
        return _arrow.table(arrays, len(index), docs)


_LIBRARIES: dict[str, Library] = {
    "ak": AwkwardLibrary(),
    "np": NumPyLibrary(),
    "pd": PandasLibrary(),
    "arrow": ArrowLibrary(),
}
_ALIASES = {"awkward": "ak", "numpy": "np", "pandas": "pd", "pa": "arrow", "pyarrow": "arrow"}


def library_named(name: Any) -> Library:
    """The library with this name, which is imported; a :class:`Library` stands for itself.

    Raises:
        UsageError: if there is no such library.
        ImportError: if it is not installed; the message says what to install.
    """
    library = name if isinstance(name, Library) else None
    if isinstance(name, str):
        key = name.casefold()
        library = _LIBRARIES.get(_ALIASES.get(key, key))
    if library is None:
        message = f'unknown library {name!r}; use "ak" (Awkward Array), "np", "pd" or "arrow"'
        if str(name).casefold() in ("pl", "polars"):
            message += '; polars.from_arrow makes a DataFrame of the table that library="arrow" returns'
        raise UsageError(message)
    library.require()
    return library
