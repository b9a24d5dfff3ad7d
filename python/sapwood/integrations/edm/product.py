"""Products: what one module put into every event."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...display.printable import shows_printable
from ...errors import KeyInFileError
from .members import member, read_together
from .names import ProductName, wrapped_class

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ...model.branch import Branch


class Product:
    """A product: the object in each event that one module made.

    Files hold it wrapped: ``present`` says whether the module made it, ``obj`` is the object.
    """

    def __init__(self, name: ProductName, branch: Branch) -> None:
        self.name = name
        self.branch = branch

    @property
    def class_name(self) -> str:
        """The C++ class of the object, without the wrapper."""
        return wrapped_class(self.branch.typename)

    @cached_property
    def obj(self) -> Branch:
        """The object, as a branch or as that part of it; without regard to ``present``."""
        return self._wrapped("obj") or self.branch

    @property
    def members(self) -> list[str]:
        """Names of the members of the object that can be asked for; with dots for those inside of others."""
        obj = self.obj
        if obj.is_group:
            return [child.name.removeprefix(f"{obj.name}.") for child in obj.itervalues()]
        return [found.member[len(obj.member) :].lstrip(".") for _, found in obj.members()]

    @property
    def compressed_bytes(self) -> int:
        """Bytes in the file, sub-branches included."""
        return sum(branch.compressed_bytes for branch in (self.branch, *self.branch.itervalues()))

    @property
    def uncompressed_bytes(self) -> int:
        """The same before compression."""
        return sum(branch.uncompressed_bytes for branch in (self.branch, *self.branch.itervalues()))

    def __getitem__(self, name: str) -> Branch:
        """A member of the object, to be read by itself: ``product["pt_"].array()``."""
        found = member(self.obj, name)
        if found is None:
            place = f"{self.branch.file.file_path}:{self.obj.object_path}"
            raise KeyInFileError.not_found("member", name, self.members, place)
        return found

    def present(self, entry_start: int | None = None, entry_stop: int | None = None) -> NDArray[Any]:
        """Whether each event has the product: an array of bool."""
        import numpy as np

        flag = self._wrapped("present")
        if flag is None:
            start, stop, _ = slice(entry_start, entry_stop).indices(self.branch.num_entries)
            return np.ones(max(stop - start, 0), dtype=bool)
        array = flag.array(entry_start=entry_start, entry_stop=entry_stop, library="np")
        return np.asarray(array, dtype=bool)

    def array(
        self,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        *,
        threads: int | None = None,
        deadline: float | None = None,
    ) -> Any:
        """The objects, as an ``ak.Array``; None in events without the product.

        Arguments as those of :meth:`sapwood.Branch.array`.
        """
        return self._read([self.obj], entry_start, entry_stop, threads, deadline)[0]

    def arrays(
        self,
        members: str | Iterable[str],
        entry_start: int | None = None,
        entry_stop: int | None = None,
        *,
        threads: int | None = None,
        deadline: float | None = None,
    ) -> Any:
        """Some members of the objects, in one read: an ``ak.Array`` of (lists of) records with these fields.

        What else is in the objects is skipped. Events without the product have None.
        """
        import awkward as ak

        names = [members] if isinstance(members, str) else list(members)
        columns = self._read([self[name] for name in names], entry_start, entry_stop, threads, deadline)
        # The list of objects is one level; lists in the objects stay in the fields.
        depth = 2 if all(column.ndim > 1 for column in columns) and self._is_collection else 1
        return ak.zip(dict(zip(names, columns, strict=True)), depth_limit=depth)

    @property
    def _is_collection(self) -> bool:
        form = self.obj.interpretation.form
        return form is not None and bool(form[0] == "list")

    def _read(
        self,
        branches: list[Branch],
        entry_start: int | None,
        entry_stop: int | None,
        threads: int | None,
        deadline: float | None,
    ) -> list[Any]:
        import awkward as ak
        import numpy as np

        flag = self._wrapped("present")
        wanted = branches if flag is None else [*branches, flag]
        arrays = read_together(wanted, entry_start, entry_stop, threads=threads, deadline=deadline)
        if flag is None:
            return arrays
        present = np.asarray(arrays.pop(), dtype=bool)
        return arrays if present.all() else [ak.mask(array, present) for array in arrays]

    def _wrapped(self, part: str) -> Branch | None:
        return member(self.branch, part)

    @shows_printable
    def __repr__(self) -> str:
        return f"<Product {self.name.tag!r}: {self.class_name} in {self.branch.file.file_path!r}>"
