"""One or many trees as a ``pyarrow.dataset.Dataset``, into which engines push columns and filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import pyarrow as pa
    import pyarrow.dataset as pads
except ImportError as error:
    message = f"sapwood.arrow_dataset needs pyarrow: pip install 'sapwood[arrow]' ({error})"
    raise ImportError(message) from error

from ... import _core
from ...arrays.libraries import library_named
from ...display.printable import shows_printable
from ...display.units import counted
from ...errors import KeyInFileError, UnsupportedTypeError, UsageError, did_you_mean, nearest
from ...opening.ahead import opened_files
from ...options.paths import FileSpec, is_url, several_files
from ...options.reading import WITHOUT_SECRETS, OpenOptions, open_options
from ...query.filters import Filters
from ...query.query import Query
from ...query.reading import Steps
from ...query.steps import entry_steps
from .pushdown import implied_cut, names_in

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ...model.branches import HasBranches
    from ...options.keywords import OpenKeywords
    from ...report import ReadReport


def arrow_dataset(
    files: Any,
    tree: str | None = None,
    *,
    columns: Any = None,
    step_size: int | str = "32 MB",
    deadline: float | None = None,
    threads: int | None = None,
    **options: Unpack[OpenKeywords],
) -> ArrowDataset:
    """Presents trees as a ``pyarrow.dataset.Dataset``, so that DuckDB, Polars and others can query them.

    >>> events = sapwood.arrow_dataset("nano/*.root", "Events")          # doctest: +SKIP
    >>> duckdb.sql("select avg(MET_pt) from events where run > 300_000")          # doctest: +SKIP
    >>> pl.scan_pyarrow_dataset(events).filter(pl.col("nMuon") > 1).collect()     # doctest: +SKIP

    The engine asks for the columns that a query uses, and only these are read. Comparisons of numbers and
    booleans in its filter become a cut: sapwood reads their columns first, and the other columns only where
    an entry may pass. In a dataset of stripes, statistics exclude whole stripes before anything is read. The
    rest of the filter is applied to what was read, so the result is the same as without any of this.

    Args:
        files: as in :func:`sapwood.iterate`: paths, URLs, globs, a list or a dict.
        tree: the path of the tree, for files that are named without one. Default: the only tree of each file.
        columns: the columns of the table, as in :meth:`sapwood.Tree.arrays`: names, a glob or expressions.
            Default: all branches that Arrow has a type for.
        step_size: entries, or memory, that are read at a time. The next step is fetched in the
            background.
        deadline: seconds that opening a file, or reading a step, may take.
        threads, options: as in :func:`sapwood.open`.

    Returns:
        A dataset, whose schema is that of the first file. Columns of other files are converted to it. Lists
        are Arrow lists, and records are structs.

    Raises:
        ImportError: pyarrow is not installed.
        FileNotFoundError: no file matches.
        KeyInFileError: the first file lacks the tree or a column.
    """
    settings = open_options(deadline, threads, options, arrow_dataset)
    specs = several_files(files, settings.deadline, settings.for_core())
    if tree is not None:
        specs = [one if one.object_path else replace(one, object_path=tree) for one in specs]
    return ArrowDataset(specs, settings, columns, step_size)


class ArrowDataset(pads.Dataset):  # type: ignore[misc]
    """Trees as a table of Arrow: see :func:`sapwood.arrow_dataset`.

    It has the methods of ``pyarrow.dataset.Dataset`` that read (``to_table``, ``to_batches``, ``head``,
    ``take``, ``count_rows``, ``filter``, ``scanner``), and :meth:`report`. It can be pickled, unless its
    options have secrets.
    """

    def __init__(
        self,
        specs: Sequence[FileSpec],
        options: OpenOptions,
        columns: Any,
        step_size: int | str,
        filter: Any = None,
        schema: Any = None,
    ) -> None:
        # pyarrow's own constructor refuses to be called; nothing of it is used.
        self._specs, self._options, self._step_size = list(specs), options, step_size
        self._given, self._filter = columns, filter
        known: tuple[Any, dict[str, str]] | None = schema
        self._schema, self._expressions = known or _first_schema(self._specs, options, columns)
        self._reports: list[Any] = []

    @property
    def schema(self) -> Any:
        """The ``pyarrow.Schema`` of the table."""
        return self._schema

    @property
    def partition_expression(self) -> Any:
        """What all entries have in common: nothing."""
        return pads.scalar(True)

    def scanner(
        self, columns: Any = None, filter: Any = None, batch_size: int | None = None, **ignored: Any
    ) -> Any:
        """A ``pyarrow.dataset.Scanner``, which reads when it is consumed.

        Args:
            columns: names, or a dict of names and expressions. Default: all.
            filter: a ``pyarrow.compute.Expression``.
            batch_size: most entries of a batch.
            ignored: further options of pyarrow, which tune its own readers.
        """
        if self._filter is not None:
            filter = self._filter if filter is None else self._filter & filter
        if isinstance(columns, Mapping):
            used = {name: None for one in columns.values() for name in names_in(one, self._schema.names)}
            names = [name for name in self._schema.names if name in used]
        else:
            names = list(self._schema.names if columns is None else columns)
            self._check(names)
        schema = pa.schema([self._schema.field(name) for name in names])
        batches = self._batches(names, schema, filter, batch_size)
        projected = {"columns": dict(columns)} if isinstance(columns, Mapping) else {}
        return pads.Scanner.from_batches(batches, schema=schema, **projected)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """The number of entries that pass a filter. Without one, no entry is read."""
        if filter is None and self._filter is None:
            with closing(opened_files(self._specs, self._options, False)) as files:
                return sum(_num_entries(*pair) for pair in zip(self._specs, files, strict=True))
        whole = filter if self._filter is None else self._filter if filter is None else self._filter & filter
        names = names_in(whole, self._schema.names)[:1]
        batches = self.scanner(names, filter, **options).to_batches()
        return sum(batch.num_rows for batch in batches)

    def filter(self, expression: Any) -> ArrowDataset:
        """The entries that pass an expression; nothing is read yet."""
        both = expression if self._filter is None else self._filter & expression
        known = (self._schema, self._expressions)
        return ArrowDataset(self._specs, self._options, self._given, self._step_size, both, known)

    def head(self, num_rows: int, columns: Any = None, filter: Any = None, **options: Any) -> Any:
        """The first entries as a ``pyarrow.Table``. Files that are not needed are not opened."""
        batches, missing = [], num_rows
        scanner = self.scanner(columns, filter, **options)
        for batch in scanner.to_reader():
            batches.append(batch[:missing])
            missing -= len(batches[-1])
            if missing <= 0:
                break
        return pa.Table.from_batches(batches, scanner.projected_schema)

    def take(self, indices: Any, columns: Any = None, filter: Any = None, **options: Any) -> Any:
        """The entries at some positions as a ``pyarrow.Table``. All entries of the columns are read."""
        return self.to_table(columns, filter, **options).take(indices)

    def to_table(self, columns: Any = None, filter: Any = None, **options: Any) -> Any:
        """All entries as a ``pyarrow.Table``."""
        return self.scanner(columns, filter, **options).to_table()

    def to_batches(self, columns: Any = None, filter: Any = None, **options: Any) -> Iterator[Any]:
        """All entries as an iterator of ``pyarrow.RecordBatch``."""
        return iter(self.scanner(columns, filter, **options).to_batches())

    def sort_by(self, sorting: Any, **options: Any) -> Any:
        """All entries, sorted, as a dataset in memory."""
        return pads.dataset(self.to_table(**options).sort_by(sorting))

    def join(self, right: Any, *arguments: Any, **options: Any) -> Any:
        """All entries, joined with those of another dataset or table, as a dataset in memory."""
        return pads.dataset(self.to_table().join(_table(right), *arguments, **options))

    def join_asof(self, right: Any, *arguments: Any, **options: Any) -> Any:
        """The same for joins of the nearest values."""
        return pads.dataset(self.to_table().join_asof(_table(right), *arguments, **options))

    def get_fragments(self, filter: Any = None) -> Any:
        """Not available: fragments are objects of Arrow's own readers."""
        raise UnsupportedTypeError("a dataset of sapwood has no fragments: use to_batches or scanner")

    def replace_schema(self, schema: Any) -> Any:
        """Not available: convert what was read instead."""
        raise UnsupportedTypeError(
            "a sapwood dataset takes its schema from its files; cast the table instead"
        )

    def report(self) -> ReadReport | None:
        """The cost of the files that the latest scan has read so far; None before any."""
        reports = [report() for report in list(self._reports)]
        return sum(reports[1:], reports[0]) if reports else None

    @shows_printable
    def __repr__(self) -> str:
        files, columns = counted(len(self._specs), "file"), counted(len(self._schema.names), "column")
        return f"<ArrowDataset of {files}, {columns}>"

    def __reduce__(self) -> tuple[Any, ...]:
        places = [spec.file for spec in self._specs]
        if not all(isinstance(place, str) for place in places):
            raise UsageError("a dataset of open files or file objects cannot be pickled: give paths or URLs")
        if self._options.has_secrets or any(is_url(one) and _core.redact(one) != one for one in places):
            raise UsageError(f"this dataset cannot be pickled: {WITHOUT_SECRETS}")
        known = (self._schema, self._expressions)
        arguments = (self._specs, self._options, self._given, self._step_size, self._filter, known)
        return (ArrowDataset, arguments)

    def _check(self, names: Sequence[Any]) -> None:
        for name in names:
            if name not in self._expressions:
                near = nearest(str(name), self._schema.names)
                raise KeyInFileError(f"the dataset has no column {name!r}{did_you_mean(near)}")

    def _batches(self, names: list[str], schema: Any, filter: Any, batch_size: int | None) -> Iterator[Any]:
        """The batches of a scan. Opening begins when the first one is requested."""
        used = [] if filter is None else names_in(filter, self._schema.names)
        read = list(dict.fromkeys([*names, *used]))
        if filter is not None and not read:
            # A filter without columns still needs entries to apply to.
            read = self._schema.names[:1]
        cut = None if filter is None else implied_cut(filter, self._types)
        expressions = [self._expressions[name] for name in read]
        whole = pa.schema([self._schema.field(name) for name in read])
        reports: list[Any] = []
        self._reports = reports

        def begin(spec: FileSpec, source: HasBranches) -> Steps:
            query = Query.of(source, expressions, cut, Filters(), None, library_named("arrow"), dict, False)
            steps = [
                step
                for start, stop in spec.ranges(source.tree.num_entries)
                for step in entry_steps(source.tree, query.leaves, start, stop, self._step_size)
            ]
            return Steps(query, steps)

        files = opened_files(self._specs, self._options, False, begin if read else None)
        for spec, file in zip(self._specs, files, strict=True):
            opened = file.source.file
            reports.append(opened.report)
            if not read:
                yield from _bare(_num_entries(spec, file), batch_size)
                continue
            for arrays in file.steps().results():
                table = _converted(arrays, expressions, whole, opened.file_path)
                if filter is not None:
                    table = table.filter(filter)
                if names:
                    yield from table.select(names).cast(schema).to_batches(max_chunksize=batch_size)
                else:
                    yield from _bare(table.num_rows, batch_size)
                del arrays, table

    @property
    def _types(self) -> dict[str, Any]:
        """The NumPy types of columns with one number or boolean per entry, and None for the others."""
        return {
            field.name: np.dtype(field.type.to_pandas_dtype())
            if self._expressions[field.name] == field.name and _is_number(field.type)
            else None
            for field in self._schema
        }


def _first_schema(specs: list[FileSpec], options: OpenOptions, columns: Any) -> tuple[Any, dict[str, str]]:
    """The schema of the first file, from reading none of its entries; and the expression of each column."""
    with closing(opened_files(specs[:1], options, False)) as files:
        source = next(files).source
        query = Query.of(source, columns, None, Filters(), None, library_named("arrow"), dict, False)
        empty = next(Steps(query, [(0, 0)]).results())
    url = source.file.file_path
    fields = [pa.field(name, array.type) for name, array in empty.items()]
    if columns is None:
        fields = [field for field in fields if not _is_unknown(field.type)]
    if not fields:
        raise UsageError(f"{url} has no columns for a table", url=url)
    return pa.schema(fields), {field.name: field.name for field in fields}


def _converted(arrays: dict[str, Any], expressions: Sequence[str], schema: Any, url: str) -> Any:
    """A table with the types of the schema."""
    columns = []
    for name, field in zip(expressions, schema, strict=True):
        array = arrays[name]
        try:
            columns.append(array if array.type == field.type else array.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UnsupportedTypeError(
                f"{url}: the column {name!r} is of type {array.type}, which does not fit into that "
                f"of the first file, {field.type} ({error}); read these files separately",
                url=url,
                branch=name,
            ) from None
    return pa.Table.from_arrays(columns, schema=schema)


def _bare(entries: int, batch_size: int | None) -> Iterator[Any]:
    """Batches without columns, which only have lengths."""
    size = batch_size or 131_072
    for start in range(0, entries, size):
        yield pa.record_batch({"": pa.nulls(min(size, entries - start))}).select([])


def _num_entries(spec: FileSpec, file: Any) -> int:
    """How many entries of an opened file belong to the dataset."""
    return sum(stop - start for start, stop in spec.ranges(file.source.tree.num_entries))


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _is_unknown(kind: Any) -> bool:
    """Whether no entries were enough to know the type: unions, and lists of nothing."""
    if pa.types.is_null(kind):
        return True
    return any(_is_unknown(kind.field(index).type) for index in range(kind.num_fields))


def _table(other: Any) -> Any:
    return other.to_table() if isinstance(other, pads.Dataset) else other
