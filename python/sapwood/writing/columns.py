"""Converts arrays and tables of any library to columns, and columns to the buffers of branches and fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import BuiltColumn, Form, buffer_count, empty_column, record_of, type_string
from ..arrays.numpy import take_apart
from ..errors import UnsupportedTypeError, UsageError

Path = tuple[str, ...]
Offsets = dict[tuple[int, int], tuple[NDArray[Any], NDArray[Any]]]
"""Offsets by address and length, each with a copy that starts at 0."""

NUMBERS = frozenset(
    ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
)


def fields_of_table(data: Any) -> dict[str, Any]:
    """The columns of a table by name. Iterators become lists, because columns are looked at more than once.

    Raises:
        UsageError: the data is not a table, or two of its columns have the same name.
    """
    columns = _given_columns(data)
    return {name: list(array) if isinstance(array, Iterator) else array for name, array in columns.items()}


def _given_columns(data: Any) -> dict[str, Any]:
    if isinstance(data, Mapping):
        return _by_name((str(name), array) for name, array in data.items())
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        return {name: data[name] for name in data.dtype.names}
    kind = type(data).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(data, "columns"):
        return _by_name((str(name), data.iloc[:, i]) for i, name in enumerate(data.columns))
    if kind == "pyarrow" and hasattr(data, "column_names"):
        return _by_name(zip(data.column_names, data.columns, strict=True))
    if kind == "awkward" and data.fields:
        return {name: data[name] for name in data.fields}
    raise UsageError(
        f"{type(data).__name__} has no columns",
        hint="give a dict of arrays, an Awkward Array of records, a DataFrame or an Arrow table",
    )


def _by_name(columns: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Columns by name. One of several with the same name would be lost."""
    found: dict[str, Any] = {}
    for name, array in columns:
        if name in found:
            raise UsageError(f"two columns are named {name!r}", branch=name, hint="rename one of them")
        found[name] = array
    return found


def is_table(data: Any, *, empty: bool = False) -> bool:
    """Whether the data is a table, which can be written as a tree; with ``empty``, even without columns."""
    try:
        return bool(_given_columns(data)) or empty
    except UsageError as error:
        if error.branch is not None:
            raise  # a table, of which a column is wrong
        return False


def column_of(name: str, data: Any, shared: Offsets | None = None) -> BuiltColumn:
    """Converts an array of any library to a column.

    Numbers in Python lists become ``int64`` or ``float64``.

    Args:
        name: the name of the column in error messages.
        data: the array.
        shared: a cache for the columns of one table, so that those with common offsets keep them in common.

    Raises:
        UsageError: the data is not an array.
    """
    if isinstance(data, BuiltColumn):
        return data
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        return _structured_column(name, data)
    if callable(getattr(data, "array", None)):
        raise UsageError(f"{name!r} is a branch, not an array: write its .array()", hint="write its .array()")
    array = _as_numpy(data)
    if array is not None:
        return _numpy_column(name, array)
    layout = _as_awkward(name, data)
    column = _simple_list(layout, {} if shared is None else shared)
    if column is not None:
        return column
    buffers: list[NDArray[Any]] = []
    form = take_apart(layout, buffers)
    return BuiltColumn(form, len(layout), buffers)


def _simple_list(layout: Any, shared: Offsets) -> BuiltColumn | None:
    """A faster :func:`take_apart` for lists of numbers; None for other data."""
    if not (layout.is_list and hasattr(layout, "offsets") and layout.parameter("__array__") is None):
        return None
    if layout.is_regular:
        # Its lists have one length, which is a part of its type.
        return None
    offsets, content = layout.offsets.data, layout.content
    if not content.is_numpy or content.data.ndim != 1 or offsets.dtype != np.int64:
        return None
    start, values = int(offsets[0]), content.data
    if start:
        key = (offsets.ctypes.data, len(offsets))
        if key not in shared:
            # Holding the offsets keeps the address valid as a key.
            shared[key] = (offsets, offsets - start)
        offsets, values = shared[key][1], values[start:]
    return BuiltColumn(("list", ("primitive", _name(values.dtype))), len(layout), [offsets, values])


def leaves(column: BuiltColumn) -> dict[Path, BuiltColumn]:
    """Splits a column into columns of its members by path; lists of records become records of lists.

    >>> from ..arrays.column import record_form
    >>> muons = ("list", record_form([("pt", ("primitive", "float32")), ("q", ("primitive", "int8"))]))
    >>> numbers = [np.array([0, 2]), np.array([1, 2], "f4"), np.array([1, -1], "i1")]
    >>> {path: part.form for path, part in leaves(BuiltColumn(muons, 1, numbers)).items()}
    {('pt',): ('list', ('primitive', 'float32')), ('q',): ('list', ('primitive', 'int8'))}
    """
    parts = _leaves(column.form, iter(column.buffers))
    return {path: BuiltColumn(form, column.length, buffers) for path, form, buffers in parts}


def fit(name: str, column: BuiltColumn, wanted: Form) -> list[NDArray[Any]]:
    """Converts a column to the buffers of a form.

    Floating-point numbers may be rounded to a narrower type. Integers are converted only if they stay exact.

    Args:
        name: the name of the branch or field in error messages.
        column: the data.
        wanted: the form.

    Raises:
        UsageError: the data has another type, or a number does not fit.
        UnsupportedTypeError: values are missing.
    """
    # A shortcut for nearly all columns of a wide tree.
    if column.form == wanted and is_plain(wanted) and column.buffers[-1].dtype.isnative:
        *offsets, values = column.buffers
        starts = [each[: column.length + 1] for each in offsets]
        buffers = [*starts, values[: int(starts[0][-1]) if starts else column.length]]
    else:
        buffers = list(_Fitter(name, column.form, wanted).fit(column))
    return [np.ascontiguousarray(buffer) for buffer in buffers]


class _Fitter:
    def __init__(self, name: str, given: Form, wanted: Form) -> None:
        self.name, self.given, self.wanted = name, given, wanted

    def fit(self, column: BuiltColumn) -> Iterator[NDArray[Any]]:
        return self._fit(column.form, iter(column.buffers), column.length, self.wanted)

    def _fit(
        self, form: Form, buffers: Iterator[NDArray[Any]], length: int, wanted: Form
    ) -> Iterator[NDArray[Any]]:
        if form[0] == "empty" and length == 0:
            yield from empty_column(wanted).buffers
        elif wanted[0] == "option":
            if form[0] == "option":
                positions, form = next(buffers)[:length], form[1]
                length = int(np.count_nonzero(positions >= 0))
            else:
                positions = np.arange(length, dtype=np.int64)
            yield positions
            yield from self._fit(form, buffers, length, wanted[1])
        elif form[0] == "option":
            if (next(buffers)[:length] < 0).any():
                raise UnsupportedTypeError(
                    f"{self.name!r} has missing values, which {type_string(self.wanted)} cannot store",
                    branch=self.name,
                    hint="replace them first, for example with ak.fill_none",
                )
            yield from self._fit(form[1], buffers, length, wanted)
        elif wanted[0] == "primitive" and form[0] == "primitive":
            yield self._numbers(next(buffers)[:length], np.dtype(wanted[1]))
        elif wanted[0] == "string" and form[0] == "string":
            yield from islice(buffers, 2)
        elif wanted[0] == "fixed" and form[0] in ("fixed", "list"):
            self._check_size(form, buffers, length, wanted[1])
            content = form[2] if form[0] == "fixed" else form[1]
            yield from self._fit(content, buffers, length * wanted[1], wanted[2])
        elif wanted[0] == "list" and form[0] == "list":
            offsets = next(buffers)[: length + 1]
            yield offsets
            yield from self._fit(form[1], buffers, int(offsets[-1]), wanted[1])
        elif wanted[0] == "list" and form[0] == "fixed":
            yield np.arange(length + 1, dtype=np.int64) * form[1]
            yield from self._fit(form[2], buffers, length * form[1], wanted[1])
        elif wanted[0] == form[0] and wanted[0] in ("record", "tuple", "union"):
            yield from self._fit_parts(form, buffers, length, wanted)
        elif wanted[0] == "union":
            yield from self._fit_alternative(form, list(islice(buffers, buffer_count(form))), length, wanted)
        else:
            raise self._unfit()

    def _fit_parts(
        self, form: Form, buffers: Iterator[NDArray[Any]], length: int, wanted: Form
    ) -> Iterator[NDArray[Any]]:
        """Fields of records, which are found by their names, items of tuples, and alternatives of unions."""
        given = dict(form[1] if form[0] == "record" else enumerate(form[1]))
        parts = dict(wanted[1] if wanted[0] == "record" else enumerate(wanted[1]))
        if given.keys() != parts.keys():
            raise self._unfit()
        lengths = dict.fromkeys(given, length)
        if form[0] == "union":
            tags = next(buffers)[:length].astype(np.int8)
            yield from (tags, next(buffers)[:length])
            lengths = {tag: int(np.count_nonzero(tags == tag)) for tag in given}
        own = {name: list(islice(buffers, buffer_count(part))) for name, part in given.items()}
        for name, part in parts.items():
            yield from self._fit(given[name], iter(own[name]), lengths[name], part)

    def _fit_alternative(
        self, form: Form, buffers: list[NDArray[Any]], length: int, wanted: Form
    ) -> Iterator[NDArray[Any]]:
        """Data of one type for a union: the first alternative of this type, else the first that takes it."""

        def distance(tag: int) -> int:
            alternative = wanted[1][tag]
            if alternative == form or alternative[0] != form[0] or form[0] != "primitive":
                return int(alternative != form)
            return 1 if np.dtype(alternative[1]).kind == np.dtype(form[1]).kind else 2

        for tag in sorted(range(len(wanted[1])), key=distance):
            try:
                fitted = list(self._fit(form, iter(buffers), length, wanted[1][tag]))
            except (UsageError, UnsupportedTypeError):
                continue
            yield np.full(length, tag, np.int8)
            yield np.arange(length, dtype=np.int64)
            for other, alternative in enumerate(wanted[1]):
                yield from fitted if other == tag else empty_column(alternative).buffers
            return
        raise self._unfit()

    def _check_size(self, form: Form, buffers: Iterator[NDArray[Any]], length: int, size: int) -> None:
        if form[0] == "fixed":
            same = form[1] == size
        else:
            same = bool((np.diff(next(buffers)[: length + 1]) == size).all())
        if not same:
            raise self._unfit()

    def _numbers(self, numbers: NDArray[Any], wanted: np.dtype[Any]) -> NDArray[Any]:
        have = numbers.dtype
        if have == wanted:
            return numbers
        floating = have.kind == "f" and wanted.kind == "f"
        if not floating and (have.kind not in "biu" or wanted.kind == "b"):
            raise self._unfit(f"convert the data: .astype({wanted.name!r})")
        with np.errstate(over="ignore"):
            converted = numbers.astype(wanted)
        lost = np.isinf(converted) & ~np.isinf(numbers) if floating else _differ(converted, numbers)
        if lost.any():
            index = int(np.flatnonzero(lost)[0])
            raise UsageError(
                f"{self.name!r}: {numbers[index]} (number {index} of the data) does not fit {wanted.name}",
                branch=self.name,
            )
        return converted

    def _unfit(self, hint: str | None = None) -> UsageError:
        given, wanted = type_string(self.given), type_string(self.wanted)
        return UsageError(
            f"{self.name!r}: the data is {given}, but the file stores {wanted}", branch=self.name, hint=hint
        )


def _differ(converted: NDArray[Any], numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Where integers changed: 64-bit integers may not fit a double, nor negative ones an unsigned type."""
    with np.errstate(invalid="ignore"):
        differ: NDArray[np.bool_] = converted.astype(numbers.dtype) != numbers
    if converted.dtype.kind == "f":
        # The largest integers round to a double beyond their range, which compares equal after the cast back.
        differ |= converted >= 2.0 ** (63 if numbers.dtype.kind == "i" else 64)
    else:
        differ |= (converted < 0) != (numbers < 0)
    return differ


def storable(name: str, form: Form) -> Form:
    """The form in which a column without records is stored: without options, and without arrays of lists.

    Raises:
        UnsupportedTypeError: no branch can store the type.
        UsageError: there is no item from which the type could be inferred.
    """
    if form[0] == "option":
        return storable(name, form[1])
    if form[0] == "fixed":
        content = storable(name, form[2])
        return ("fixed", form[1], content) if is_block(content) else ("list", as_vector(content))
    if form[0] == "list":
        content = storable(name, form[1])
        return ("list", content if is_block(content) else as_vector(content))
    if form[0] == "empty":
        raise UsageError(
            f"the type of {name!r} is unknown, because it contains no values",
            branch=name,
            hint="declare the types with mktree",
        )
    if form[0] == "union":
        raise UnsupportedTypeError(f"{name!r}: no branch can store {type_string(form)}", branch=name)
    if form[0] == "primitive":
        number(name, np.dtype(form[1]))
    return form


def number(name: str, dtype: np.dtype[Any]) -> str:
    """The name of a numeric dtype.

    Raises:
        UnsupportedTypeError: branches cannot store it.
    """
    known = _name(dtype)
    if known not in NUMBERS:
        hint = {
            "m": "write it as integers: .view('int64')",
            "M": "write it as integers: .view('int64')",
            "c": "write .real and .imag as two branches",
            "f": "convert it: .astype('float32') or .astype('float64')",
        }.get(dtype.kind)
        raise UnsupportedTypeError(f"{name!r}: no branch can store {known}", branch=name, hint=hint)
    return known


@cache
def _name(dtype: np.dtype[Any]) -> str:
    """The name of a dtype, cached because NumPy builds it at every access."""
    return dtype.name


def is_plain(form: Form) -> bool:
    """Whether a form is a number or a list of numbers."""
    item = form[1] if form[0] == "list" else form
    return bool(item[0] == "primitive")


def is_block(form: Form) -> bool:
    """Whether a form is a number or a fixed array of numbers."""
    return form[0] == "primitive" or (form[0] == "fixed" and is_block(form[2]))


def as_vector(form: Form) -> Form:
    """The form of a ``std::vector`` with the same items: fixed arrays become lists."""
    return ("list", as_vector(form[-1])) if form[0] in ("list", "fixed") else form


def _leaves(form: Form, buffers: Iterator[NDArray[Any]]) -> Iterator[tuple[Path, Form, list[NDArray[Any]]]]:
    kind = form[0]
    if kind == "record":
        for name, field in form[1]:
            for path, inner, parts in _leaves(field, buffers):
                yield (name, *path), inner, parts
    elif kind == "tuple":
        for number, field in enumerate(form[1]):
            for path, inner, parts in _leaves(field, buffers):
                yield (str(number), *path), inner, parts
    elif kind in ("list", "fixed", "option"):
        own = [] if kind == "fixed" else [next(buffers)]
        for path, inner, parts in _leaves(form[-1], buffers):
            yield path, (*form[:-1], inner), [*own, *parts]
    else:
        yield (), form, list(islice(buffers, buffer_count(form)))


def _as_numpy(data: Any) -> NDArray[Any] | None:
    """Data as a NumPy array if it consists of plain numbers, else None."""
    if isinstance(data, (list, tuple)):
        flat = all(isinstance(item, (bool, int, float, np.number, np.bool_)) for item in data)
        data = _of_numbers(data) if data and flat else None
    elif type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "to_numpy"):
        data = _of_pandas(data)
    if not isinstance(data, np.ndarray) or data.dtype.kind in "OSU" or data.dtype.names is not None:
        return None
    return data


def _of_numbers(data: Any) -> NDArray[Any] | None:
    """A list of numbers. Of integers beyond ``int64`` beside others, NumPy itself would make floats."""
    array: NDArray[Any] = np.asarray(data)
    if array.dtype.kind != "f" or any(isinstance(item, (float, np.inexact)) for item in data):
        return array
    numbers = [int(item) for item in data]
    return np.array(numbers, np.uint64) if min(numbers) >= 0 else None


def _of_pandas(data: Any) -> NDArray[Any]:
    """A column of pandas. Integers with missing values are masked: pandas itself would make them floats."""
    stored = getattr(data.dtype, "numpy_dtype", None)
    missing = np.asarray(data.isna())
    if isinstance(data.dtype, np.dtype) or stored is None or stored.kind not in "biu" or not missing.any():
        array: NDArray[Any] = data.to_numpy()
        return array
    return np.ma.MaskedArray(data.to_numpy(stored, na_value=0), missing)


def _numpy_column(name: str, array: NDArray[Any]) -> BuiltColumn:
    if array.ndim == 0:
        raise UsageError(f"{name!r} is a single value, but needs one value per entry", branch=name)
    native = array.dtype.newbyteorder("=")
    form: Form = ("primitive", number(name, native))
    for size in reversed(array.shape[1:]):
        form = ("fixed", size, form)
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        missing = np.ma.getmaskarray(array)
        if array.ndim > 1:
            raise UnsupportedTypeError(
                f"{name!r} is an array of {array.ndim} dimensions with missing values",
                branch=name,
                hint="replace them first, for example with numpy.ma.filled",
            )
        positions = np.where(missing, np.int64(-1), np.cumsum(~missing, dtype=np.int64) - 1)
        return BuiltColumn(("option", form), len(array), [positions, array.compressed().astype(native)])
    values = np.ascontiguousarray(array, native)
    return BuiltColumn(form, len(array), [values.reshape(-1)])


def _structured_column(name: str, array: NDArray[Any]) -> BuiltColumn:
    """A structured array as records, in fixed arrays if it has several dimensions."""
    if array.ndim == 0 or not array.dtype.names:
        wrong = "has no fields" if array.ndim else "is a single value, but needs one value per entry"
        raise UsageError(f"{name!r} {wrong}", branch=name)
    flat = array.reshape(-1)
    records = record_of({field: column_of(f"{name}.{field}", flat[field]) for field in array.dtype.names})
    form = records.form
    for size in reversed(array.shape[1:]):
        form = ("fixed", size, form)
    return BuiltColumn(form, len(array), records.buffers)


def _items_of_pandas(data: Any) -> list[Any]:
    """The items of a column of pandas, which has NaN for texts and objects that are missing."""
    items, missing = list(data), np.asarray(data.isna())
    if all(isinstance(item, (int, float, np.number)) for item in items):
        return items  # numbers, among which NaN is one
    return [None if gone else item for item, gone in zip(items, missing, strict=True)]


def _as_awkward(name: str, data: Any) -> Any:
    try:
        import awkward as ak
    except ModuleNotFoundError:
        message = (
            f"{name!r}: writing anything but NumPy arrays of numbers requires 'awkward': pip install awkward"
        )
        raise ModuleNotFoundError(message, name="awkward") from None
    kind = type(data).__module__.partition(".")[0]
    try:
        if kind == "pyarrow":
            view = str(data.type).endswith("_view")  # which Awkward Array does not know
            array = ak.from_arrow(data.cast(f"large_{str(data.type)[:-5]}") if view else data)
        elif kind == "pandas":
            array = ak.from_iter(_items_of_pandas(data))
        elif isinstance(data, np.ndarray):
            array = ak.from_iter(data.tolist() if data.dtype.kind in "SU" else list(data))
        else:
            array = data if kind == "awkward" else ak.from_iter(data)
        if isinstance(array, ak.Array):
            return ak.to_layout(array)
    except (TypeError, ValueError) as error:
        # Awkward Array says in a second paragraph where its source is.
        reason = str(error).partition("\n\n")[0]
        raise UsageError(f"{name!r} is not an array: {reason}", branch=name) from None
    except NotImplementedError:
        known = getattr(data, "type", type(data).__name__)
        raise UsageError(
            f"{name!r} is not an array: Awkward Array has none like {known}", branch=name
        ) from None
    except RuntimeError as error:
        # Awkward Array cannot convert such an item, and says it in terms of C++.
        if "'str'" in str(error):
            message, hint = "a text that is not valid Unicode", None
        else:
            message = "a number that does not fit in 64 bits"
            hint = "give numbers beyond int64 in arrays of uint64"
        raise UsageError(f"{name!r} holds {message}", branch=name, hint=hint) from None
    raise UsageError(f"{name!r} is not an array, but {type(data).__name__}", branch=name)
