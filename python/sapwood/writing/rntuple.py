"""RNTuples that are being written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..arrays.column import Form, record_form, type_string
from ..display.units import counted
from ..errors import KeyInFileError, UnsupportedTypeError, UsageError
from ..errors.core import core_errors
from ..options.compression import Compression
from ..options.memory import memory_size
from .columns import column_of, fields_of_table, fit, number
from .table import WritableTable
from .types import declared_types


@dataclass(frozen=True)
class RNTupleLayout:
    """The options of :meth:`WritableFile.mkrntuple`."""

    description: str
    compression: Compression | str | int | Mapping[str, Any] | None
    page_size: int | str
    cluster_size: int | str
    cluster_entries: int | None
    checksums: bool
    titles: Mapping[str, str]


class WritableRNTuple(WritableTable):
    """An RNTuple to which you can add entries, from :meth:`WritableFile.mkrntuple`."""

    _column = ("field", "fields")

    def __init__(
        self,
        core: _core.Writer,
        path: str,
        fields: Mapping[str, Form] | None,
        layout: RNTupleLayout,
        compression: Compression,
    ) -> None:
        super().__init__(core, path, compression, layout.cluster_size, layout.cluster_entries)
        self._layout = layout
        self._fields: dict[str, Form] = {}
        if fields is not None:
            self._begin(fields)

    @property
    def description(self) -> str:
        """The description."""
        return self._layout.description

    def _forms(self) -> Mapping[str, Form]:
        return self._fields

    def extend(self, arrays: Any) -> None:
        """Adds entries.

        Pages and clusters are filled across calls, so that small steps do not make them smaller. They are
        slower, though: prefer 10,000 entries to 10.

        >>> with sapwood.recreate("out.root") as file:
        ...     events = file.mkrntuple("Events", {"met": "float32", "Jet": "var * {pt: float32, id: int8}"})
        ...     events.extend({"met": np.zeros(2, "f4"), "Jet": [[{"pt": 40.5, "id": 1}], []]})

        Args:
            arrays: a table with all declared fields, which have the same length: a dict of NumPy, Awkward or
                Arrow arrays, Series or lists; an Awkward Array of records; a structured array; a DataFrame;
                an Arrow table. Numbers are converted to the declared types if they stay exact; floating-point
                numbers may be rounded.

        Raises:
            UsageError: fields are missing, differ in length, or have another type.
            KeyInFileError: there are undeclared fields.
            UnsupportedTypeError: values are missing, or ROOT has no type for them.
            ClosedFileError: the file was completed or discarded.

        After an error, no entry was added.
        """
        data = fields_of_table(arrays)
        columns = {name: column_of(name, array) for name, array in data.items()}
        fields = self._fields
        if self._number < 0:
            fields = {name: field_form(name, column.form) for name, column in columns.items()}
        if not fields:
            raise self._no_fields()
        for name in fields:
            if name not in columns:
                raise UsageError(f"the field {name!r} is missing", branch=name)
        for name in columns:
            if name not in fields:
                raise KeyInFileError.not_found("field", name, fields, "the RNTuple")
        first = next(iter(fields))
        length = columns[first].length
        for name, column in columns.items():
            if column.length != length:
                entries = counted(column.length, "entry", "entries")
                raise UsageError(f"{name!r} has {entries}, but {first!r} has {length:,}", branch=name)
        fitted = [fit(name, columns[name], form) for name, form in fields.items()]
        buffers = [[buffer.reshape(-1).view(np.uint8) for buffer in column] for column in fitted]
        if self._number < 0:
            # Not before the data have the right types: the file would have an RNTuple without entries.
            self._begin(fields)
        with core_errors():
            self._core.extend(self._number, length, buffers)
        self._entries += length

    def add_fields(
        self,
        fields: Any,
        *,
        compression: Compression | str | int | Mapping[str, Any] | None = None,
        titles: Mapping[str, str] | None = None,
    ) -> None:
        """Adds top-level fields. In the entries so far, they are zero, empty or None, as in ROOT.

        The open cluster ends, so add all fields together.

        >>> with sapwood.recreate("out.root") as file:
        ...     events = file.mkrntuple("Events", {"met": "float32"})
        ...     events.extend({"met": [1.5, 2.5]})
        ...     events.add_fields({"jets": "var * float32"})
        ...     events.extend({"met": [3.5], "jets": [[1, 2]]})
        >>> sapwood.open("out.root:Events")["jets"].array().tolist()
        [[], [], [1.0, 2.0]]

        Args:
            fields: a dict with a type for each field, as for :meth:`WritableFile.mkrntuple`.
            compression: as there, for these fields.
            titles: a dict of descriptions of these fields.

        Raises:
            UsageError: a type, a name or an option is invalid, a name is in use, or the RNTuple has no fields
                yet. Nothing was added.
            UnsupportedTypeError: ROOT has no such type.
            ClosedFileError: the file was completed or discarded.
        """
        declared = declared_fields(fields)
        if declared is None:
            raise UsageError("fields must be a dict of types", hint='for example {"x": "float32"}')
        if self._number < 0:
            raise UsageError(
                f"the RNTuple {self.path!r} has no fields yet", hint="declare them all with mkrntuple"
            )
        specs = self._specs(declared, compression, titles or {})
        with core_errors():
            self._core.add_fields(self._number, specs)
        self._fields |= declared

    def _begin(self, fields: Mapping[str, Form]) -> None:
        if not fields:
            raise self._no_fields()
        layout = self._layout
        specs = self._specs(fields, layout.compression, layout.titles)
        directory, _, own = self.path.rpartition("/")
        with core_errors():
            self._number = self._core.rntuple(
                directory,
                own,
                layout.description,
                specs,
                compression=self._compression.code,
                cluster=self._cluster,
                page_size=memory_size(layout.page_size),
                checksums=layout.checksums,
            )
        self._fields = dict(fields)

    def _no_fields(self) -> UsageError:
        return UsageError(f"the RNTuple {self.path!r} has no fields")

    def _specs(
        self,
        fields: Mapping[str, Form],
        compression: Compression | str | int | Mapping[str, Any] | None,
        titles: Mapping[str, str],
    ) -> list[tuple[str, str, Form, int]]:
        names = list(fields)
        compressions = self._compressions(compression, names)
        self._check_titles(titles, names)
        return [(name, titles.get(name, ""), form, compressions[name]) for name, form in fields.items()]


def declared_fields(fields: Any) -> dict[str, Form] | None:
    """The forms of declared fields; None if these are not types, but data."""
    declared = declared_types(fields)
    if declared is None:
        return None
    return {name: field_form(name, kind.form) for name, kind in declared.items()}


def field_form(name: str, form: Form) -> Form:
    """The form in which a field stores a column.

    Records have no class, so that ROOT has no name for the type of fixed arrays and options of them: these
    become lists and plain records.

    Raises:
        UnsupportedTypeError: ROOT has no such type.
        UsageError: there is no item from which the type could be inferred.
    """
    kind = form[0]
    if kind == "primitive":
        return ("primitive", number(name, np.dtype(form[1])))
    if kind == "empty":
        raise UsageError(
            f"the type of {name!r} is unknown, because it contains no values",
            branch=name,
            hint="declare the types with mkrntuple",
        )
    if kind == "record":
        fields = [(field, field_form(f"{name}.{field}", inner)) for field, inner in form[1]]
        return record_form(fields, titles=form[3])
    if kind in ("tuple", "union"):
        items = [field_form(name, item) for item in form[1]]
        if kind == "union" and any(map(_is_untyped, items)):
            raise UnsupportedTypeError(
                f"{name!r}: no field can store {type_string(form)}",
                branch=name,
                hint="ROOT has no unions of records without a class: write their members as fields",
            )
        return (kind, items)
    if kind == "string":
        return form
    item = field_form(name, form[-1])
    if kind == "fixed" and _is_untyped(item):
        return ("list", item)
    if kind == "option" and (_is_untyped(item) or item[0] == "option"):
        return item
    return (*form[:-1], item)


def _is_untyped(form: Form) -> bool:
    """Whether there are records in a form, which have no name as types."""
    if form[0] in ("tuple", "union"):
        return any(map(_is_untyped, form[1]))
    return form[0] == "record" or (form[0] in ("list", "fixed", "option") and _is_untyped(form[-1]))
