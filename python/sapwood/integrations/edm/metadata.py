"""Provenance of an EDM file: the product registry, the process history, and parameter sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...errors import KeyInFileError
from ...model.branches import HasBranches
from ...model.directory import Directory
from ...model.file import File
from ...opening.single import open as open_object
from .events import Events
from .members import member
from .names import ProductName, wrapped_class
from .parameters import decode
from .processes import ProcessInfo, hash_text, metadata_branch, processes_of

_TREES = {"Events": "Event", "LuminosityBlocks": "LuminosityBlock", "Runs": "Run"}
_BRANCH_TYPES = ("Event", "LuminosityBlock", "Run", "Process")  # edm::BranchType, in its order


@dataclass(frozen=True)
class ProductInfo:
    """A product that is registered in the file or stored in it.

    Attributes:
        name: the parts of its name.
        class_name: the C++ class of the object, without its wrapper.
        branch_type: what it belongs to: "Event", "LuminosityBlock", "Run" or "Process".
        present: whether the file contains it; False if it was dropped.
        compressed_bytes: bytes in the file, including sub-branches.
        uncompressed_bytes: bytes before compression.
        branch_id: the ID in the registry; None without a registry.
        aliases: aliases in the registry; empty without a registry.
    """

    name: ProductName
    class_name: str
    branch_type: str
    present: bool
    compressed_bytes: int
    uncompressed_bytes: int
    branch_id: int | None = None
    aliases: tuple[str, ...] = ()


def products(source: Any) -> list[ProductInfo]:
    """The products of a file: those in its registry, then others that only its branches show.

    Args:
        source: a path or URL, a :class:`sapwood.File`, or :class:`Events`.
    """
    with owned_file(source) as file:
        known = _products_in_trees(file)
        registry = metadata_branch(file, "ProductRegistry")
        listed = None if registry is None else member(registry, "productList_")
        if listed is None:
            return list(known.values())
        pairs = listed.array(entry_stop=1)[0].to_list()
        registered = [_registered(key, description, known) for key, description in pairs]
        names = {info.name for info in registered}
        return registered + [info for name, info in known.items() if name not in names]


def processes(source: Any) -> list[ProcessInfo]:
    """The steps of all process histories of a file, in order; empty if it has none.

    Args:
        source: a path or URL, a :class:`sapwood.File`, or :class:`Events`.
    """
    with owned_file(source) as file:
        return processes_of(file)


def parameter_sets(source: Any) -> dict[str, dict[str, Any]]:
    """The parameter sets of a file by ID, as nested dicts of Python values.

    ``parameter_sets(file)[process.parameter_set_id]`` is the configuration of a process. A nested parameter
    set that is stored separately appears as ``{"@id": …}``.

    Args:
        source: a path or URL, a :class:`sapwood.File`, or :class:`Events`.

    Raises:
        KeyInFileError: the file has no parameter sets.
        CorruptFileError: a parameter set cannot be decoded.
    """
    with owned_file(source) as file:
        blobs: list[Any] = []
        if "ParameterSets" in file:
            branch = file.tree_at("ParameterSets")["IdToParameterSetsBlobs"]
            blobs = branch.array().to_list()
        else:
            old = metadata_branch(file, "ParameterSetMap")
            if old is None:
                raise KeyInFileError.not_found(
                    "tree", "ParameterSets", file.keys(cycle=False), file.file_path
                )
            blobs = old.array(entry_stop=1)[0].to_list()
        pairs = (blob if isinstance(blob, tuple) else (blob["first"], blob["second"]) for blob in blobs)
        return {hash_text(key["hash_"]): decode(value["pset_"]) for key, value in pairs}


@contextmanager
def owned_file(source: Any) -> Iterator[File]:
    """The file of a path or of an open object; it is closed at the end if it was opened here."""
    if isinstance(source, (Events, Directory, HasBranches)):
        yield source.file
    else:
        found = open_object(source)
        try:
            yield found.file
        finally:
            found.file.close()


def _products_in_trees(file: File) -> dict[ProductName, ProductInfo]:
    found = {}
    for tree in file.keys(recursive=False, cycle=False):
        # There is one tree ProcessBlocks<process> for each process.
        branch_type = "Process" if tree.startswith("ProcessBlocks") else _TREES.get(tree)
        if branch_type is not None:
            for product in Events(file.tree_at(tree)).products:
                found[product.name] = ProductInfo(
                    name=product.name,
                    class_name=product.class_name,
                    branch_type=branch_type,
                    present=True,
                    compressed_bytes=product.compressed_bytes,
                    uncompressed_bytes=product.uncompressed_bytes,
                )
    return found


def _registered(
    key: dict[str, Any], description: dict[str, Any], known: dict[ProductName, ProductInfo]
) -> ProductInfo:
    name = ProductName(
        key["friendlyClassName_"], key["moduleLabel_"], key["productInstanceName_"], key["processName_"]
    )
    here = known.get(name)
    kind = description.get("branchType_", 0)
    return ProductInfo(
        name=name,
        class_name=wrapped_class(description["fullClassName_"]),
        branch_type=_BRANCH_TYPES[kind] if 0 <= kind < len(_BRANCH_TYPES) else str(kind),
        present=here is not None,
        compressed_bytes=here.compressed_bytes if here else 0,
        uncompressed_bytes=here.uncompressed_bytes if here else 0,
        branch_id=description.get("branchID_", {}).get("id_"),
        aliases=tuple(description.get("branchAliases_", ())),
    )
