"""ATLAS xAOD files: containers, whose variables are in static and dynamic auxiliary stores.

>>> from sapwood import xaod
>>> with sapwood.open("DAOD_PHYSLITE.root:CollectionTree") as tree:          # doctest: +SKIP
...     electrons = xaod.container(tree, "AnalysisElectrons").arrays(["pt", "eta"])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.libraries import library_named
from ..display.printable import shows_printable
from ..display.units import counted
from ..errors import KeyInFileError, UsageError
from ..query.entries import chosen_entries
from ..query.query import Query
from ..query.reading import read_arrays
from ..query.select import Selection, require_readable, warn_skipped
from ..query.steps import entry_range

if TYPE_CHECKING:
    from ..model.branch import Branch
    from ..model.file import File
    from ..model.tree import Tree

DYNAMIC, STATIC = "AuxDyn.", "Aux."
"""The suffixes after a container's name in the names of branches, for its two stores."""

__all__ = ["Container", "container", "containers", "follow", "link_names"]


def container(tree: Tree, name: str) -> Container:
    """The container with this name, such as "AnalysisElectrons".

    Raises:
        KeyInFileError: the tree has no such container; the message suggests similar names.
    """
    existing = containers(tree)
    if name not in existing:
        raise KeyInFileError.not_found("container", name, existing, tree.location)
    return Container(tree, name)


def containers(tree: Tree) -> list[str]:
    """The names of all containers, in file order."""
    names = (_container_of(branch.name) for branch in tree.branches)
    return list(dict.fromkeys(name for name in names if name is not None))


class Container:
    """A container: a list of objects per event (or one object, as in EventInfo) and their variables.

    It is a mapping from the names of variables to branches, whichever store holds them.
    """

    def __init__(self, tree: Tree, name: str) -> None:
        self.tree = tree
        self.name = name

    @cached_property
    def variables(self) -> dict[str, Branch]:
        """The branch, or member of a branch, of each variable by its usual name.

        A variable in both stores is read from the dynamic one, which is newer.
        """
        static = dict(self._static())
        prefix = self.name + DYNAMIC
        dynamic = {
            branch.name.removeprefix(prefix): branch
            for branch in self.tree.branches
            if branch.name.startswith(prefix) and branch.name != prefix
        }
        return {**static, **dynamic}

    @property
    def is_single(self) -> bool:
        """Whether each event has exactly one object, as in EventInfo, whose store is an AuxInfo."""
        store = self.tree.get(f"/{self.name}{STATIC}")
        return store is not None and "AuxInfo" in store.typename

    def keys(self) -> list[str]:
        """The names of the variables."""
        return list(self.variables)

    def __getitem__(self, variable: str) -> Branch:
        found = self.variables.get(variable)
        if found is None:
            place = f"{self.tree.location}:{self.name}"
            raise KeyInFileError.not_found("variable", variable, self.variables, place)
        return found

    def __contains__(self, variable: object) -> bool:
        return variable in self.variables

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def arrays(
        self,
        variables: str | Iterable[str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        *,
        entries: Any = None,
        threads: int | None = None,
        deadline: float | None = None,
    ) -> Any:
        """Reads several variables at once, as one record per object.

        Args:
            variables: names of variables. Default: all that can be read.
            entry_start: first entry; negative values count from the end. Default: 0.
            entry_stop: end of the range (exclusive); negative values count from the end. Default: all.
            entries: numbers of entries, or a boolean mask, as in :meth:`sapwood.Tree.arrays`.
            threads: threads that decompress and decode. Default: those given when the file was opened.
            deadline: seconds that the call may take. Default: the one given when the file was opened.

        Returns:
            An ``ak.Array`` with a list of records per event; for a container of one object, such as
            EventInfo, with a record per event. Element links are records of ``m_persKey`` (the container) and
            ``m_persIndex`` (the object in it), which :func:`follow` resolves.

        Raises:
            KeyInFileError: there is no such variable; the message suggests similar names.
            UnsupportedTypeError: a variable that you named cannot be read.

        Some variables, such as decorations, are not filled for every object. They do not fit into the
        records: read such a variable on its own, with ``container["name"].array()``.
        """
        import awkward as ak

        if variables is None:
            chosen = {name: branch for name, branch in self.variables.items() if _is_readable(branch)}
        else:
            names = [variables] if isinstance(variables, str) else list(variables)
            chosen = {name: require_readable(self[name]) for name in names}
        selection = Selection(dict(chosen), None, {}, True)
        query = Query(self.tree, selection, library_named("ak"), dict)
        start, stop = entry_range(self.tree.num_entries, entry_start, entry_stop)
        how = {"entries": entries, "threads": threads, "deadline": deadline}
        columns = read_arrays(query, start, stop, **how)
        if not columns:
            length = stop - start if entries is None else len(chosen_entries(entries, start, stop))
            return ak.Array(ak.contents.RecordArray([], [], length))
        lists = not self.is_single and all(column.ndim > 1 for column in columns.values())
        if variables is None and lists:
            columns = self._of_equal_lengths(columns)
        return ak.zip(columns, depth_limit=2 if lists else 1)

    @shows_printable
    def __repr__(self) -> str:
        return f"<Container {self.name!r}: {counted(len(self), 'variable')} in {self.tree.file.file_path!r}>"

    def _of_equal_lengths(self, columns: dict[str, Any]) -> dict[str, Any]:
        """The columns with the most common number of objects; a warning lists the others."""
        import awkward as ak

        shapes: dict[bytes, list[str]] = {}
        for name, column in columns.items():
            shapes.setdefault(np.asarray(ak.num(column)).tobytes(), []).append(name)
        most = max(shapes.values(), key=len, default=[])
        others = (self[name] for name in columns if name not in most)
        warn_skipped(others, f"they are not filled for every object of {self.name}")
        return {name: columns[name] for name in most}

    def _static(self) -> Iterator[tuple[str, Branch]]:
        """(name, branch) of the variables in the static store, split or not."""
        prefix = self.name + STATIC
        store = self.tree.get(f"/{prefix}")
        if store is None:
            return
        if store.branches:
            for branch in store.branches:
                name = branch.name.removeprefix(prefix)
                # "xAOD::AuxContainerBase" is the base class, which has no variables of its own.
                if "::" not in name:
                    yield name, branch
        elif not store.is_group and store.unsupported is None:
            for field in store.fields:
                variable = store.member_at(field)
                if variable is not None and "::" not in field:
                    yield field, variable


def link_names(file: File) -> dict[int, str]:
    """The name of the container for each ``m_persKey`` of an element link, from the metadata of the file.

    Raises:
        KeyInFileError: the file has no ``EventFormat`` in its tree ``MetaData``; skims often lack it.
    """
    if "MetaData" not in file:
        raise KeyInFileError.not_found("tree", "MetaData", file.keys(cycle=False), file.file_path)
    metadata = file.tree_at("MetaData")
    # Newer writers add the name of the stream.
    found = [branch for branch in metadata.branches if branch.name.startswith("EventFormat")]
    event_format = found[0] if found else metadata["EventFormat"]
    parts = [_part(event_format, name) for name in ("m_branchNames", "m_branchHashes")]
    names, keys = (part.array(entry_stop=1)[0].to_list() for part in parts)
    return {key: name for key, name in zip(keys, names, strict=True) if not name.endswith(STATIC)}


def follow(links: Any, name: str, target: Any, names: Mapping[int, str]) -> Any:
    """Resolves element links to the objects of one container.

    Args:
        links: an array of lists (or lists of lists) of records with ``m_persKey`` and ``m_persIndex``.
        name: the name of the container.
        target: the result of its :meth:`Container.arrays` for the same entries.
        names: the result of :func:`link_names`.

    Returns:
        An ``ak.Array`` of the structure of ``links`` with a record of ``target`` for each link; None for
        links to other containers.

    Raises:
        KeyInFileError: ``names`` does not contain the container.
        UsageError: a link points beyond the objects of its entry.
    """
    import awkward as ak

    keys = [key for key, found in names.items() if found == name]
    if not keys:
        raise KeyInFileError.not_found("container", name, names.values(), "the metadata for links")
    index = ak.mask(ak.values_astype(links["m_persIndex"], "int64"), links["m_persKey"] == keys[0])
    sizes = ak.num(target)
    if ak.any(index >= sizes, axis=None):
        raise UsageError(
            f"links point beyond the objects of {name}: read both for the same entries, and without a cut"
        )
    # Lists of lists cannot be used as an index, so index the flattened objects of all entries.
    places = index + (np.cumsum(sizes) - sizes)
    counts = [ak.num(places)]
    while places.ndim > 1:
        places = ak.flatten(places)
        if places.ndim > 1:
            counts.append(ak.num(places))
    found = ak.flatten(target)[places]
    for count in reversed(counts):
        found = ak.unflatten(found, count)
    return found


def _part(branch: Branch, name: str) -> Branch:
    found = branch.get(name) or branch.member_at(name)
    if found is None:
        raise KeyInFileError.not_found("member", name, branch.keys(), branch.location)
    return found


def _container_of(branch: str) -> str | None:
    for suffix in (DYNAMIC, STATIC):
        name, found, _ = branch.partition(suffix)
        if found and name:
            return name
    return None


def _is_readable(branch: Branch) -> bool:
    return branch.unsupported is None and branch.interpretation.form is not None
