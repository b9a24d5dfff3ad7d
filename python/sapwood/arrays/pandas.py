"""Converts columns into pandas Series and DataFrames, indexed by entry number.

One number per entry becomes a plain column. Anything else becomes an Awkward extension column if the package
awkward-pandas is installed, and a column of Python objects otherwise.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .awkward import column_to_awkward
from .column import Column
from .numpy import awkward_to_column, column_to_numpy, objects


def column_to_series(column: Column, index: Any) -> Any:
    """The column as a Series; ``index`` has one label per entry."""
    import pandas as pd

    if column.form[0] == "primitive":
        return pd.Series(column_to_numpy(column), index=index)
    if column.form[0] != "string" and importlib.util.find_spec("awkward_pandas") is not None:
        AwkwardExtensionArray = importlib.import_module("awkward_pandas").AwkwardExtensionArray

        return pd.Series(AwkwardExtensionArray(column_to_awkward(column)), index=index)
    return pd.Series(_items(column_to_numpy(column)), index=index, dtype=object)


def awkward_to_series(array: Any, index: Any) -> Any:
    """A computed Awkward Array as a Series."""
    return column_to_series(awkward_to_column(array), index)


def frame(series: Mapping[str, Any], index: Any) -> Any:
    """A DataFrame whose columns are the Series."""
    import pandas as pd

    return pd.DataFrame(dict(series), index=index if not series else None)


def _items(array: NDArray[Any]) -> NDArray[Any]:
    """One Python object per entry."""
    if array.ndim > 1:
        return objects(list(array))
    if array.dtype.names is not None:
        return objects([dict(zip(array.dtype.names, item, strict=True)) for item in array.tolist()])
    return array.astype(object, copy=False) if array.dtype != np.dtype(object) else array
