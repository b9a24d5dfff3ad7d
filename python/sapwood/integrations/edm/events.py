"""The Events of a file, and how products in them are found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...display.printable import shows_printable
from ...errors import KeyInFileError, UnsupportedTypeError, UsageError
from ...errors.closing import Closing
from ...model.tree import Tree
from ...opening.single import open as open_object
from ...options.paths import single_file
from .members import member, read_together
from .names import ProductName, plain_class
from .processes import processes_of
from .product import Product

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...model.file import File

ID_TYPE = np.dtype([("run", "u4"), ("luminosityBlock", "u4"), ("event", "u8")])
"""What :meth:`Events.ids` returns an array of."""


def open(path: Any, tree: str = "Events", **options: Any) -> Events:
    """Opens the products of a file; of its trees, only this one is read.

    Args:
        path: a path, URL or file object, as in :func:`sapwood.open`.
        tree: ``"Events"``, or ``"LuminosityBlocks"`` or ``"Runs"``, which hold products, too.
        options: those of :func:`sapwood.open`.
    """
    spec = single_file(path)
    found = open_object({spec.file: spec.object_path or tree}, **options)
    if not isinstance(found, Tree):
        found.file.close()
        raise UsageError(f"{path!r} is no tree")
    return Events(found)


class Events(Closing):
    """A tree of products: a mapping from their names to :class:`Product` objects.

    ``events["slimmedMuons"]`` is ``events.product("slimmedMuons")``.
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
        """All products, in the order of the file."""
        named = ((ProductName.of_branch(branch.name), branch) for branch in self.tree.branches)
        return [Product(name, branch) for name, branch in named if name is not None]

    @cached_property
    def aliases(self) -> dict[str, ProductName]:
        """Other names that the writer gave to products."""
        targets = {alias: ProductName.of_branch(text) for alias, text in self.tree.aliases.items()}
        return {alias: name for alias, name in targets.items() if name is not None}

    def keys(self) -> list[str]:
        """The names of the products' branches."""
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
        """The product that a name means.

        Args:
            wanted: a label ``"slimmedMuons"``; an input tag ``"label:instance:process"``, or its parts as a
                tuple; the name of the branch; a type, as for ``type``; or an alias. The first that fits.
            type: the C++ class, ``"std::vector<pat::Muon>"``, or its name in branches, ``"patMuons"``.
            label: the module's label.
            instance: the instance. If it is not said, the empty one is meant, or else the only one.
            process: the process. If it is not said, the latest that made such a product is meant.

        Raises:
            KeyInFileError: if there is no such product, or several; it names the nearest.
        """
        parts = {"type": type, "label": label, "instance": instance, "process": process}
        if wanted is None:
            if all(part is None for part in parts.values()):
                raise UsageError("say which product: its label, its type, or both")
            found = self._matching(**parts)
        else:
            found = self._meant(wanted, parts)
        if not found:
            raise self._missing(wanted, parts)
        return self._only(found, wanted or parts)

    def __getitem__(self, wanted: str | Sequence[str] | ProductName) -> Product:
        return self.product(wanted)

    def __contains__(self, wanted: object) -> bool:
        nothing = dict.fromkeys(("type", "label", "instance", "process"))
        return isinstance(wanted, (str, tuple, ProductName)) and bool(self._meant(wanted, nothing))

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.products)

    def ids(self, entry_start: int | None = None, entry_stop: int | None = None) -> NDArray[Any]:
        """Run, luminosity block and event of each entry, as a structured array of :data:`ID_TYPE`."""
        auxiliary = self.tree.get("EventAuxiliary") or self.tree.get("EventAux")
        if auxiliary is None:
            place = f"{self.file.file_path}:{self.tree.object_path}"
            raise KeyInFileError.not_found("branch", "EventAuxiliary", self.tree.names(), place)
        # EventID got its luminosity block in CMSSW 3_8; before (and, as 0, after) it is beside the EventID.
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
        return f"<Events of {self.file.file_path!r}: {self.num_entries} entries, {len(self)} products>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(dict.fromkeys(product.name.label for product in self.products))

    def _meant(
        self, wanted: str | Sequence[str] | ProductName, parts: dict[str, str | None]
    ) -> list[Product]:
        """The products that any reading of ``wanted`` leads to, the first that leads to some."""
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
            found = self._matching(**merged)
            if found:
                return found
        return []

    def _matching(
        self,
        type: str | None = None,
        label: str | None = None,
        instance: str | None = None,
        process: str | None = None,
    ) -> list[Product]:
        plain = None if type is None else plain_class(type)
        return [
            product
            for product in self.products
            if (type is None or product.name.type == type or plain_class(product.class_name) == plain)
            and (label is None or product.name.label == label)
            and (instance is None or product.name.instance == instance)
            and (process is None or product.name.process == process)
        ]

    def _only(self, found: list[Product], wanted: Any) -> Product:
        """The product that is meant if several fit."""
        plain = [product for product in found if not product.name.instance]
        found = plain or found
        if len({(product.name.type, product.name.label, product.name.instance) for product in found}) == 1:
            latest = self._latest(found)
            if latest is not None:
                return latest
        branches = [product.name.branch for product in found]
        shown = ", ".join(branches[:8]) + (f" and {len(found) - 8} more" if len(found) > 8 else "")
        parts = ("type", "label", "instance", "process")
        differing = [part for part in parts if len({getattr(product.name, part) for product in found}) > 1]
        hint = f"say which, by {' or '.join(f'{part}=' for part in differing)}"
        place = self.file.file_path
        raise KeyInFileError(
            f"{wanted!r} means {len(found)} products in {place}: {shown}; {hint}",
            key=str(wanted),
            keys=branches,
            url=place,
            hint=hint,
        )

    def _latest(self, found: list[Product]) -> Product | None:
        """Of products that differ in the process, that of the latest one; None if this is not known."""
        if len(found) == 1:
            return found[0]
        # A history that cannot be read is as good as none: the caller then asks for the process.
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
        place = f"{self.file.file_path}:{self.tree.object_path}"
        return KeyInFileError.not_found("product", text, existing, place)


def _tag_parts(parts: list[str]) -> dict[str, str | None]:
    """(label,), (label, instance) or (label, instance, process); an empty process is any."""
    if not 1 <= len(parts) <= 3:
        raise UsageError(f"a product is named by (label, instance, process), not by {parts!r}")
    label, instance, process = (*parts, None, None)[:3]
    return {"label": label, "instance": instance, "process": process or None}
