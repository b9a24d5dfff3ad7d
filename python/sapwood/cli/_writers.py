"""Files that `convert` writes, batch by batch; each appears whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import Form, type_string
from ..errors import UnsupportedTypeError, UsageError
from ..options.outputs import TABLES
from ..options.whole_file import whole_file
from ._casts import cast_exactly, other_type
from ._output import plain

FORMATS = {suffix: name for name, table in TABLES.items() for suffix in table.suffixes}
"""The format for a file's extension."""


class Writer(Protocol):
    """Takes tables with the same columns, one after the other."""

    def write(self, table: Any) -> None:
        """Appends a ``pyarrow.Table``."""

    def close(self, complete: bool) -> None:
        """Finishes the file; unless ``complete``, it will be discarded."""


def format_of(path: str, wanted: str | None) -> str:
    """The format of an output: that of ``--to``, or else that of its extension."""
    name = wanted or FORMATS.get(Path(path).suffix.lower())
    if name == "arrow":
        name = "feather"
    if name not in _WRITERS:
        known = ", ".join(sorted({*FORMATS.values(), "arrow"}))
        what = f"unknown format {wanted!r}" if wanted else f"{path!r} has no extension of a known format"
        raise UsageError(f"{what}; choose one with --to: {known}")
    return name


@contextlib.contextmanager
def writer(path: str, file_format: str, schema: Any, *, overwrite: bool = False) -> Iterator[Writer]:
    """A writer whose file appears on success; on failure, it leaves nothing behind."""
    if file_format in ("parquet", "npz"):
        _refuse_variants(schema, TABLES[file_format].name)
    with (
        whole_file(path, overwrite=overwrite) as part,
        _closed(_WRITERS[file_format](part, schema)) as opened,
    ):
        yield opened


@contextlib.contextmanager
def standard_output(file_format: str, schema: Any) -> Iterator[Writer]:
    """A writer to standard output."""
    if file_format != "csv" and sys.stdout.isatty():
        raise UsageError(
            f"{TABLES[file_format].name} cannot be written to a terminal: name a file, or use a pipe"
        )
    if file_format == "csv":
        with _closed(_CsvWriter(sys.stdout.buffer, schema)) as opened:
            yield opened
        return
    # The other formats have their index at the end, so half a file would be useless.
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        with writer(os.path.join(folder, "table"), file_format, schema) as opened:
            yield opened
        with open(os.path.join(folder, "table"), "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
            sys.stdout.buffer.flush()


@contextlib.contextmanager
def _closed(opened: Writer) -> Iterator[Writer]:
    """Closes a writer; its file is complete if nothing was raised."""
    try:
        yield opened
    except BaseException:
        with contextlib.suppress(Exception):
            opened.close(complete=False)
        raise
    opened.close(complete=True)


def _refuse_variants(schema: Any, format_name: str) -> None:
    for field in schema:
        if _has_variants(field.type):
            raise UnsupportedTypeError(
                f"column {field.name!r} has values of several types, and {format_name} has no variants; "
                "use feather, or name the other columns"
            )


def _has_variants(kind: Any) -> bool:
    """Whether there is a union anywhere in an Arrow type."""
    import pyarrow as pa

    if pa.types.is_union(kind):
        return True
    return any(_has_variants(kind.field(i).type) for i in range(kind.num_fields))


class _ParquetWriter:
    """Parquet: each batch is a row group."""

    def __init__(self, path: Path, schema: Any) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self._schema = schema
        try:
            self._writer = parquet.ParquetWriter(path, schema, compression="zstd")
        except pa.ArrowNotImplementedError as error:
            # Arrow does not name the column.
            raise UnsupportedTypeError(
                f"parquet cannot hold a column ({error}); use feather, or leave the column out"
            ) from None

    def write(self, table: Any) -> None:
        self._writer.write_table(cast_exactly(table, self._schema), row_group_size=max(table.num_rows, 1))

    def close(self, complete: bool) -> None:
        self._writer.close()


class _FeatherWriter:
    """Arrow's file format, also called Feather version 2."""

    def __init__(self, path: Path, schema: Any) -> None:
        import pyarrow as pa

        self._schema = schema
        self._writer = pa.ipc.new_file(
            os.fspath(path), schema, options=pa.ipc.IpcWriteOptions(compression="lz4")
        )

    def write(self, table: Any) -> None:
        self._writer.write_table(cast_exactly(table, self._schema))

    def close(self, complete: bool) -> None:
        self._writer.close()


class _CsvWriter:
    """Comma-separated values; anything but numbers and text, such as a list, is written as JSON."""

    def __init__(self, where: Path | IO[bytes], schema: Any) -> None:
        import pyarrow as pa
        from pyarrow import csv

        self._nested = {i: field.type for i, field in enumerate(schema) if pa.types.is_nested(field.type)}
        for i in self._nested:
            schema = schema.set(i, pa.field(schema.field(i).name, pa.large_utf8()))
        self._schema = schema
        self._writer = csv.CSVWriter(where if not isinstance(where, Path) else os.fspath(where), schema)

    def write(self, table: Any) -> None:
        import pyarrow as pa

        for i, first in self._nested.items():
            # JSON holds the values of every type; but lists and numbers in one column are refused elsewhere.
            types, later = pa.types, table.column(i).type
            if not (types.is_nested(later) or types.is_null(later) or types.is_union(first)):
                raise other_type(table.column_names[i], first, later)
            texts = [json.dumps(plain(item)) for item in table.column(i).to_pylist()]
            table = table.set_column(i, self._schema.field(i), pa.array(texts, type=pa.large_utf8()))
        self._writer.write(cast_exactly(table, self._schema))

    def close(self, complete: bool) -> None:
        self._writer.close()


class _NpzWriter:
    """NumPy's archive. A jagged column is stored as its flat values, and `<name>.offsets` for its entries.

    An array's length precedes its values, so the values wait in temporary files until the length is known.
    """

    def __init__(self, path: Path, schema: Any) -> None:
        self._path = path
        self._schema = schema
        self._folder = tempfile.TemporaryDirectory(dir=path.parent, prefix=f"{path.name}.")
        self._columns: dict[str, _Column] = {}

    def write(self, table: Any) -> None:
        table = cast_exactly(table, self._schema)
        for name, column in zip(table.column_names, table.columns, strict=True):
            for chunk in column.chunks:
                for suffix, values, is_offsets in _arrays(name, chunk):
                    self._column(name, suffix, values, is_offsets).append(values)

    def close(self, complete: bool) -> None:
        try:
            if complete:
                with zipfile.ZipFile(self._path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                    for name, column in self._columns.items():
                        with archive.open(f"{name}.npy", "w", force_zip64=True) as target:
                            column.copy_to(target)
        finally:
            for column in self._columns.values():
                column.file.close()
            self._folder.cleanup()

    def _column(self, owner: str, suffix: str, values: NDArray[Any], is_offsets: bool) -> _Column:
        name = owner + suffix
        if name not in self._columns:
            file = open(Path(self._folder.name) / f"{len(self._columns)}", "w+b")  # noqa: SIM115
            self._columns[name] = _Column(owner, file, values, is_offsets)
        found = self._columns[name]
        if found.owner != owner:
            raise UnsupportedTypeError(
                f"columns {found.owner!r} and {owner!r} both need an array {name!r} in npz; "
                "leave one of them out, or use parquet"
            )
        return found


class _Column:
    """One array, collected in a temporary file until the archive is written."""

    def __init__(self, owner: str, file: IO[bytes], first: NDArray[Any], is_offsets: bool) -> None:
        self.owner = owner
        self.file = file
        self._dtype, self._shape = first.dtype, first.shape[1:]
        self._rows = 0
        self._is_offsets = is_offsets
        self._last = 0

    def append(self, values: NDArray[Any]) -> None:
        if self._is_offsets:
            # Every batch begins at 0: shift it to the last offset of the previous batch, which it repeats.
            values = values + self._last
            self._last = int(values[-1])
            values = values[1:] if self._rows else values
        self._rows += len(values)
        np.ascontiguousarray(values).tofile(self.file)

    def copy_to(self, target: IO[bytes]) -> None:
        # Only some versions of NumPy have types for it.
        npy: Any = np.lib.format
        header = {
            "descr": npy.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._rows, *self._shape),
        }
        npy.write_array_header_1_0(target, header)
        self.file.seek(0)
        shutil.copyfileobj(self.file, target, 1 << 20)


def check_npz(columns: Mapping[str, Form]) -> None:
    """Checks that NumPy's archive can hold columns with these forms, whatever their values.

    Raises:
        UnsupportedTypeError: a column may miss values, or have values of several types.
    """
    for name, form in columns.items():
        if "union" in (kinds := set(_kinds(form))):
            raise UnsupportedTypeError(
                f"column {name!r} has type {type_string(form)}, which npz cannot hold; "
                "use feather, or name the other columns"
            )
        if "option" in kinds:
            raise UnsupportedTypeError(
                f"column {name!r} has type {type_string(form)}: its missing values have no place in npz; "
                "use parquet, or leave the column out"
            )


def _kinds(form: Form) -> Iterator[str]:
    """The kinds of a form and of those inside."""
    yield form[0]
    inner: list[Form] = []
    if form[0] == "record":
        inner = [field for _, field in form[1]]
    elif form[0] in ("tuple", "union"):
        inner = form[1]
    elif form[0] in ("list", "option", "fixed"):
        inner = [form[-1]]
    for one in inner:
        yield from _kinds(one)


def _arrays(name: str, array: Any) -> Iterator[tuple[str, NDArray[Any], bool]]:
    """The NumPy arrays of an Arrow array: (suffix of the name, values, whether they are offsets)."""
    import pyarrow as pa

    shape: tuple[int, ...] = ()
    level, rows = 0, len(array)
    while pa.types.is_nested(array.type):
        if pa.types.is_fixed_size_list(array.type):
            shape = (*shape, array.type.list_size)
        elif pa.types.is_large_list(array.type) and not shape:
            level += 1
            yield _offsets_suffix(level), _from_zero(array.offsets), True
            rows = len(array.flatten())
        else:
            raise UnsupportedTypeError(
                f"column {name!r} has type {array.type}, which npz cannot hold; use parquet"
            )
        array = array.flatten()
    if pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type):
        if shape:
            raise UnsupportedTypeError(
                f"column {name!r} has arrays of text, which npz cannot hold; use parquet"
            )
        parts = array.buffers()
        offsets = np.frombuffer(parts[1], np.int64)[array.offset : array.offset + len(array) + 1]
        yield _offsets_suffix(level + 1), offsets - offsets[0], True
        text = np.frombuffer(parts[2], np.uint8) if parts[2] is not None else np.empty(0, np.uint8)
        yield "", text[offsets[0] : offsets[-1]], False
    else:
        values = array.to_numpy(zero_copy_only=False)
        # The number of rows of arrays without items cannot be told from these.
        yield "", values.reshape(rows, *shape), False


def _offsets_suffix(level: int) -> str:
    return ".offsets" if level == 1 else f".offsets{level}"


def _from_zero(offsets: Any) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = offsets.to_numpy(zero_copy_only=False)
    shifted: NDArray[np.int64] = numbers - numbers[0]
    return shifted


_WRITERS: dict[str, Any] = {
    "parquet": _ParquetWriter,
    "feather": _FeatherWriter,
    "csv": _CsvWriter,
    "npz": _NpzWriter,
}
