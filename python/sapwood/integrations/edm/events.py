"""The Events tree of an EDM file, and finding products in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...display.printable import shows_printable
from ...display.units import counted
from ...errors import KeyInFileError, UnsupportedTypeError, UsageError
from ...errors.closing import ClosingContext
from ...model.branches import HasBranches
from ...model.directory import Directory
from ...model.tree import Tree
from ...opening.single import open as open_object
from ...options.paths import single_file
from .members import member, read_together
from .names import ProductName, plain_class
from .processes import processes_of
from .product import Product

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from ...model.file import File
    from ...options.keywords import OpenKeywords

_PARTS = ("type", "label", "instance", "process")
"""The parts of the name of a product."""

ID_TYPE = np.dtype([("run", "u4"), ("luminosityBlock", "u4"), ("event", "u8")])
"""The dtype of :meth:`Events.ids`."""


def open(path: Any, tree: str = "Events", **options: Unpack[OpenKeywords]) -> Events:
    """Opens the products in one tree of a file.

    Args:
        path: a path, URL or file object, as in :func:`sapwood.open`.
        tree: the tree: ``"Events"``, ``"LuminosityBlocks"`` or ``"Runs"``.
        options: those of :func:`sapwood.open`.

    Raises:
        UsageError: the path in the file does not lead to a tree.

    The other errors are those of :func:`sapwood.open`.
    """
    spec = single_file(path)
    found = open_object({spec.file: spec.object_path or tree}, **options)
    if not isinstance(found, Tree):
        if isinstance(found, (Directory, HasBranches)):
            found.file.close()
        raise UsageError(f"{path!r} is not a tree")
    return Events(found)


class Events(ClosingContext):
    """A tree of products: a mapping from their names to :class:`Product` objects.

    ``events["slimmedMuons"]`` is short for ``events.product("slimmedMuons")``. A ``with`` block closes the
    file.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    @property
    def file(self) -> File:
        """The file."""
        return self.tree.file

    @property
    def num_entries(self) -> int:
        """Number of entries."""
        return self.tree.num_entries

    @cached_property
    def products(self) -> list[Product]:
        """All products, in file order."""
        named = ((ProductName.of_branch(branch.name), branch) for branch in self.tree.branches)
        return [Product(name, branch) for name, branch in named if name is not None]

    @cached_property
    def aliases(self) -> dict[str, ProductName]:
        """The aliases of products that are stored in the tree."""
        targets = {alias: ProductName.of_branch(text) for alias, text in self.tree.aliases.items()}
        return {alias: name for alias, name in targets.items() if name is not None}

    def keys(self) -> list[str]:
        """The names of the branches that hold products."""
        return [product.name.branch for product in self.products]

    def product(
        self,
        wanted: str | Sequence[str] | ProductName | None = None,
        *,
        type: str | None = None,
        label: str | None = None,
        instance: str | None = None,
        process: str | None = None,
    ) -> Product:
        """Finds a product.

        >>> events.product("slimmedMuons"), events.product(type="pat::Muon", process="PAT")  # doctest: +SKIP

        Args:
            wanted: a label ``"slimmedMuons"``; a type, as for ``type``; the name of the branch; an alias; or
                an input tag ``"label:instance:process"``, also as a tuple of its parts. The first of these
                that matches is used.
            type: the C++ class, ``"std::vector<pat::Muon>"``, or its name in branches, ``"patMuons"``.
            label: the label of the module.
            instance: the instance label. Default: the empty one, else the only one.
            process: the process name. Default: the latest process that made such a product.

        Raises:
            KeyInFileError: no product matches, or several do; the message lists candidates.
            UsageError: you gave no argument, or a tag with more than three parts.
        """
        parts = {"type": type, "label": label, "instance": instance, "process": process}
        if wanted is None:
            if all(part is None for part in parts.values()):
                raise UsageError("name the product by its label, its type, or both")
            found = self._matching(parts)
        else:
            found = self._readings(wanted, parts)
        if not found:
            raise self._missing(wanted, parts)
        return self._only(found, wanted or parts)

    def __getitem__(self, wanted: str | Sequence[str] | ProductName) -> Product:
        return self.product(wanted)

    def __contains__(self, wanted: object) -> bool:
        return isinstance(wanted, (str, tuple, ProductName)) and bool(self._readings(wanted, {}))

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.products)

    def ids(self, entry_start: int | None = None, entry_stop: int | None = None) -> NDArray[Any]:
        """Run, luminosity block and event number of each entry.

        Args:
            entry_start: first entry; negative values count from the end. Default: 0.
            entry_stop: end of the range (exclusive); negative values count from the end. Default: all.

        Returns:
            A structured NumPy array of :data:`ID_TYPE`, with the fields ``run``, ``luminosityBlock`` and
            ``event``.

        Raises:
            KeyInFileError: the tree has no ``EventAuxiliary``.
        """
        auxiliary = self.tree.get("EventAuxiliary") or self.tree.get("EventAux")
        if auxiliary is None:
            raise KeyInFileError.not_found("branch", "EventAuxiliary", self.tree.names(), self.tree.location)
        # EventID has a luminosity block since CMSSW 3_8. If it is missing or 0, it is stored beside EventID.
        wanted = {
            "run": member(auxiliary, "id_.run_"),
            "event": member(auxiliary, "id_.event_"),
            "luminosityBlock": member(auxiliary, "id_.luminosityBlock_"),
            "beside": member(auxiliary, "luminosityBlock_"),
        }
        columns = {name: branch for name, branch in wanted.items() if branch is not None}
        if not {"run", "event"} <= columns.keys():
            raise KeyInFileError.not_found("member", "id_", auxiliary.fields, auxiliary.object_path)
        read = read_together(list(columns.values()), entry_start, entry_stop, library="np")
        arrays = dict(zip(columns, read, strict=True))
        out = np.zeros(len(arrays["run"]), dtype=ID_TYPE)
        for name in ("run", "event", "luminosityBlock"):
            out[name] = arrays.get(name, 0)
        if "beside" in arrays:
            out["luminosityBlock"] = np.where(
                out["luminosityBlock"] == 0, arrays["beside"], out["luminosityBlock"]
            )
        return out

    def close(self) -> None:
        """Closes the file."""
        self.tree.close()

    @shows_printable
    def __repr__(self) -> str:
        entries = counted(self.num_entries, "entry", "entries")
        return f"<Events of {self.file.file_path!r}: {entries}, {counted(len(self), 'product')}>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(dict.fromkeys(product.name.label for product in self.products))

    def _readings(
        self, wanted: str | Sequence[str] | ProductName, parts: Mapping[str, str | None]
    ) -> list[Product]:
        """The products that match the first interpretation of ``wanted`` that matches any."""
        readings: list[dict[str, str | None]] = []
        if isinstance(wanted, ProductName):
            readings.append(dict(vars(wanted)))
        elif not isinstance(wanted, str):
            readings.append(_tag_parts(list(wanted)))
        else:
            named = [name for name in (ProductName.of_branch(wanted), self.aliases.get(wanted)) if name]
            readings += [{"label": wanted}, {"type": wanted}, *(dict(vars(name)) for name in named)]
            if wanted.count(":") in (1, 2):
                readings.append(_tag_parts(wanted.split(":")))
        for reading in readings:
            merged = {**parts, **{name: part for name, part in reading.items() if part is not None}}
            found = self._matching(merged)
            if found:
                return found
        return []

    def _matching(self, parts: Mapping[str, str | None]) -> list[Product]:
        given = {part: text for part, text in parts.items() if text is not None}
        return [one for one in self.products if all(_matches(one, *part) for part in given.items())]

    def _only(self, found: list[Product], wanted: Any) -> Product:
        """The product to use if several match."""
        plain = [product for product in found if not product.name.instance]
        found = plain or found
        if len({(product.name.type, product.name.label, product.name.instance) for product in found}) == 1:
            latest = self._latest(found)
            if latest is not None:
                return latest
        branches = [product.name.branch for product in found]
        shown = ", ".join(branches[:8]) + (f" and {len(found) - 8} more" if len(found) > 8 else "")
        differing = [part for part in _PARTS if len({getattr(product.name, part) for product in found}) > 1]
        hint = f"select one with {' or '.join(f'{part}=…' for part in differing)}"
        place = self.file.file_path
        raise KeyInFileError(
            f"{wanted!r} matches {len(found)} products in {place}: {shown}; {hint}",
            key=str(wanted),
            keys=branches,
            url=place,
            hint=hint,
        )

    def _latest(self, found: list[Product]) -> Product | None:
        """The product of the latest process, or None if the order of processes is unknown."""
        if len(found) == 1:
            return found[0]
        # An unreadable history counts as none: the caller then reports that the process is ambiguous.
        order: dict[str, int] = {}
        with suppress(UnsupportedTypeError):
            for info in processes_of(self.file):
                order[info.process] = max(info.position, order.get(info.process, 0))
        if not all(product.name.process in order for product in found):
            return None
        return max(found, key=lambda product: order[product.name.process])

    def _missing(self, wanted: Any, parts: dict[str, str | None]) -> KeyInFileError:
        said = wanted or {name: part for name, part in parts.items() if part is not None}
        text = said if isinstance(said, str) else ":".join(map(str, said if wanted else said.values()))
        names = [product.name for product in self.products]
        existing = [name.label for name in names]
        existing += [name.tag for name in names] + [name.type for name in names] + [*self.aliases]
        return KeyInFileError.not_found("product", text, existing, self.tree.location)


def _matches(product: Product, part: str, text: str) -> bool:
    """Whether a part of the name of a product is ``text``; a type may also be given as a C++ class."""
    if part == "type" and plain_class(product.class_name) == plain_class(text):
        return True
    return bool(getattr(product.name, part) == text)


def _tag_parts(parts: list[str]) -> dict[str, str | None]:
    """The parts of an input tag of one to three parts; an empty process stands for any."""
    if not 1 <= len(parts) <= 3:
        raise UsageError(f"an input tag is (label, instance, process), not {parts!r}")
    label, instance, process = (*parts, None, None)[:3]
    return {"label": label, "instance": instance, "process": process or None}
