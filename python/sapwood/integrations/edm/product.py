"""Products: the objects that one module stored in each event."""

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
    """A product: an object in each event that one module made.

    Files store it in a wrapper: ``present`` says whether the event has it, and ``obj`` is the object.

    Attributes:
        name: the :class:`ProductName`.
        branch: the branch that holds the wrapper.
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
        """The branch or member that holds the object; reading it ignores ``present``."""
        return self._wrapped("obj") or self.branch

    @property
    def members(self) -> list[str]:
        """Names of the members of the object; nested members have dots in their names."""
        obj = self.obj
        if obj.is_group:
            return [child.name.removeprefix(f"{obj.name}.") for child in obj.itervalues()]
        return [found.member[len(obj.member) :].lstrip(".") for _, found in obj.members()]

    @property
    def compressed_bytes(self) -> int:
        """Bytes in the file, including sub-branches."""
        return sum(branch.compressed_bytes for branch in (self.branch, *self.branch.itervalues()))

    @property
    def uncompressed_bytes(self) -> int:
        """Bytes before compression, including sub-branches."""
        return sum(branch.uncompressed_bytes for branch in (self.branch, *self.branch.itervalues()))

    def __getitem__(self, name: str) -> Branch:
        """A member of the object, which can be read on its own: ``product["pt_"].array()``."""
        found = member(self.obj, name)
        if found is None:
            raise KeyInFileError.not_found("member", name, self.members, self.obj.location)
        return found

    def present(self, entry_start: int | None = None, entry_stop: int | None = None) -> NDArray[Any]:
        """Whether each event has the product: a NumPy array of bool, one per entry of the range."""
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
        entries: Any = None,
        threads: int | None = None,
        deadline: float | None = None,
    ) -> Any:
        """Reads the objects.

        The arguments are those of :meth:`sapwood.Branch.array`.

        Returns:
            An ``ak.Array`` with an item per event, None in events without the product.
        """
        how = {"entries": entries, "threads": threads, "deadline": deadline}
        return self._read([self.obj], entry_start, entry_stop, **how)[0]

    def arrays(
        self,
        members: str | Iterable[str],
        entry_start: int | None = None,
        entry_stop: int | None = None,
        *,
        entries: Any = None,
        threads: int | None = None,
        deadline: float | None = None,
    ) -> Any:
        """Reads some members of the objects at once, without decoding the others.

        Args:
            members: a name or names from :attr:`members`.

        The other arguments are those of :meth:`sapwood.Branch.array`.

        Returns:
            An ``ak.Array`` of records with these fields, or of lists of records if the object is a
            collection; None in events without the product.

        Raises:
            KeyInFileError: there is no such member; the message suggests similar names.
            UnsupportedTypeError: a member cannot be read.
        """
        import awkward as ak

        names = [members] if isinstance(members, str) else list(members)
        how = {"entries": entries, "threads": threads, "deadline": deadline}
        columns = self._read([self[name] for name in names], entry_start, entry_stop, **how)
        # Only the outer list is zipped: lists inside the objects stay in the fields.
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
        **how: Any,
    ) -> list[Any]:
        import awkward as ak
        import numpy as np

        flag = self._wrapped("present")
        wanted = branches if flag is None else [*branches, flag]
        arrays = read_together(wanted, entry_start, entry_stop, **how)
        if flag is None:
            return arrays
        present = np.asarray(arrays.pop(), dtype=bool)
        return arrays if present.all() else [ak.mask(array, present) for array in arrays]

    def _wrapped(self, part: str) -> Branch | None:
        return member(self.branch, part)

    @shows_printable
    def __repr__(self) -> str:
        return f"<Product {self.name.tag!r}: {self.class_name} in {self.branch.file.file_path!r}>"
