"""Classes of uproot's trees and branches that sapwood answers for, and that uproot parses only when it must."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from functools import cache, cached_property
from threading import RLock
from typing import Any

import uproot

from ..errors import SapwoodError
from ..model.branch import Branch
from ..model.tree import Tree
from ._arrays import Reads, read_array
from ._bytes import own_file
from ._columns import simple
from ._log import COUNTS, left

_FILLING: ContextVar[Any] = ContextVar("filling", default=None)
"""The tree into which uproot reads a record now."""

# What `Model.read` and `postprocess` set; whoever asks for one of these needs the record.
_PARSED = frozenset(
    {"_members", "_bases", "_num_bytes", "_instance_version", "_is_memberwise", "_lookup", "_chunk"}
)
_LOCK = RLock()


class LazyTree(Reads):
    """Comes before a class of uproot's trees, and reads the record when an attribute needs it.

    Everything that uproot's methods need of a tree whose record was not read is an attribute that is missing:
    ``__getattr__`` then lets uproot read the record into this very object.
    """

    def __new__(cls) -> Any:
        filling = _FILLING.get()
        if filling is None:
            return super().__new__(cls)
        _FILLING.set(None)
        return filling

    @classmethod
    def read(
        cls: Any, chunk: Any, cursor: Any, context: Any, file: Any, selffile: Any, parent: Any, concrete: Any = None
    ) -> Any:
        """Keeps what uproot needs to read the record, and opens the tree with sapwood."""
        own = None if concrete is not None else own_tree(file, parent)
        if own is None:
            COUNTS["trees left"] += concrete is None
            tree = super().read(chunk, cursor, context, file, selffile, parent, concrete)
            tree._own_tree = None
            return tree
        COUNTS["trees"] += 1
        tree = object.__new__(cls)
        tree._cursor, tree._file, tree._parent, tree._concrete = cursor.copy(), selffile, parent, concrete
        tree._record = (chunk, cursor.copy(), dict(context), file, selffile, parent)
        tree._own_tree = own
        return tree

    def __getattr__(self: Any, name: str) -> Any:
        if name == "_own_tree":  # of a pickled tree
            self._own_tree = own_tree(self._file, self._parent)
            if self._own_tree is not None:
                _link(self.branches, self._own_tree.branches)
            return self._own_tree
        if name in ("_handles", "_lookup") and "_record" in self.__dict__:
            self._handles = self._lookup = Handles(self, self._own_tree)
            return self._handles
        if name in _PARSED and "_record" in self.__dict__:
            self._parse()
            return getattr(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _parse(self: Any) -> None:
        """Lets uproot read the record into this object, and what was handed out of it."""
        with _LOCK:
            record = self.__dict__.get("_record")
            if record is None:
                return
            handed_out = self.__dict__.pop("_handles", None)
            del self._record
            self.__dict__.pop("_lookup", None)
            chunk, cursor, context, file, selffile, parent = record
            token = _FILLING.set(self)
            try:
                super().read.__func__(type(self), chunk, cursor, context, file, selffile, parent)
            except BaseException:
                self._record, self._handles = record, handed_out
                raise
            finally:
                _FILLING.reset(token)
            if handed_out is not None:
                _replace(self, handed_out)
            _link(self.branches, self._own_tree.branches)

    def __getstate__(self: Any) -> Any:
        if "_record" in self.__dict__:
            self._parse()
        kind, state = super().__getstate__()  # type: ignore[misc]
        return kind, {name: value for name, value in state.items() if name != "_own_tree"}

    @property
    def branches(self: Any) -> Any:
        """The branches of the tree."""
        return self._handles.all if "_record" in self.__dict__ else self.member("fBranches")

    @property
    def name(self: Any) -> str:
        """The name of the tree."""
        return self._own_tree.name if "_record" in self.__dict__ else super().name

    @property
    def title(self: Any) -> str:
        """The title of the tree."""
        return self._own_tree.title if "_record" in self.__dict__ else super().title

    @property
    def num_entries(self: Any) -> int:
        """The number of entries."""
        return self._own_tree.num_entries if "_record" in self.__dict__ else super().num_entries

    @property
    def aliases(self: Any) -> dict[str, str]:
        """The aliases that are stored with the tree."""
        return dict(self._own_tree.aliases) if "_record" in self.__dict__ else super().aliases


class LazyBranch(Reads):
    """Comes before a class of uproot's branches; until the record is read, it knows its branch of sapwood."""

    def __getattr__(self: Any, name: str) -> Any:
        own = self.__dict__.get("_own")
        if self.__dict__.get("_is_handle"):
            if name in ("_handles", "_lookup"):
                self._handles = self._lookup = Handles(self, own)
                return self._handles
            if not name.startswith("__"):
                self.tree._parse()
                if not self.__dict__.get("_is_handle"):
                    return getattr(self, name)
        elif name == "_own":  # of a pickled branch
            _ = self.tree._own_tree
            if "_own" in self.__dict__:
                return self.__dict__["_own"]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self: Any) -> Any:
        if self.__dict__.get("_is_handle"):
            self.tree._parse()
        kind, state = super().__getstate__()  # type: ignore[misc]
        return kind, {name: value for name, value in state.items() if name not in ("_own", "_converters")}

    @property
    def branches(self: Any) -> Any:
        """The branches under this one."""
        return self._handles.all if self.__dict__.get("_is_handle") else self.member("fBranches")

    @property
    def name(self: Any) -> str:
        """The name of the branch."""
        return self._own.name if self.__dict__.get("_is_handle") else super().name

    @property
    def title(self: Any) -> str:
        """The title of the branch."""
        return self._own.title if self.__dict__.get("_is_handle") else super().title

    @property
    def num_entries(self: Any) -> int:
        """The number of entries of the branch."""
        return self._own.num_entries if self.__dict__.get("_is_handle") else super().num_entries

    @property
    def class_version(self: Any) -> Any:
        """The version of the class, which only the record tells."""
        if self.__dict__.get("_is_handle"):
            self.tree._parse()
        return super().class_version

    @property
    def interpretation(self: Any) -> Any:
        """The standard interpretation of the branch."""
        found = self.__dict__.get("_interpretation")
        if found is not None:
            return found
        if self.__dict__.get("_is_handle"):
            known = simple(self._own)
            if known is None:
                self.tree._parse()
            else:
                self._interpretation = known.interpretation
        return super().interpretation

    def array(
        self: Any, interpretation: Any = None, entry_start: Any = None, entry_stop: Any = None, **options: Any
    ) -> Any:
        """As in uproot."""
        if getattr(self.tree, "_own_tree", None) is None:
            return super().array(interpretation, entry_start, entry_stop, **options)  # type: ignore[misc]
        return read_array(self, interpretation, entry_start, entry_stop, **options)


def own_tree(file: Any, key: Any) -> Tree | None:
    """The tree of a key, opened by sapwood; None if that is left to uproot."""
    if not isinstance(key, uproot.reading.ReadOnlyKey):
        return None
    try:
        _require(isinstance(key.parent, uproot.reading.ReadOnlyDirectory), "it is not in a directory")
        path = (*key.parent.path, key.fName)
        _require(not any("/" in name or ";" in name for name in path), "its path has unusual names")
        classes = file.custom_classes
        _require(
            classes is None or all(classes.get(name) is uproot.classes[name] for name in BRANCH_CLASSES),
            "the file has custom classes of branches",
        )
        tree = own_file(file).tree_at("/".join(path), key.fCycle)
        unknown = {branch.class_name for branch in tree.all_branches} - set(BRANCH_CLASSES)
        _require(not unknown, f"it has branches of {unknown}")
        return tree
    except (SapwoodError, NotImplementedError) as error:
        left(f"the tree {key.fName!r} of {file.file_path}", error)
        return None


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise NotImplementedError(reason)


class Handles:
    """The branches under a tree or a branch whose record was not read; each is made when it is asked for."""

    def __init__(self, parent: Any, own: Tree | Branch) -> None:
        self._parent = parent
        self.owns = own.branches
        self._made: dict[int, Any] = {}
        self._indices: dict[str, int] = {}
        for index, branch in enumerate(self.owns):
            self._indices.setdefault(branch.name, index)

    def get(self, name: str) -> Any:
        """The first branch of this name, or None."""
        index = self._indices.get(name)
        return None if index is None else self._at(index)

    @cached_property
    def all(self) -> list[Any]:
        """All branches."""
        return [self._at(index) for index in range(len(self.owns))]

    @property
    def made(self) -> dict[int, Any]:
        """Those that were asked for, by their positions."""
        return self._made

    def _at(self, index: int) -> Any:
        handle = self._made.get(index)
        if handle is None:
            own, parent = self.owns[index], self._parent
            handle = self._made[index] = object.__new__(_newest(own.class_name))
            handle.__dict__.update(
                _parent=parent,
                _file=parent._file,
                _own=own,
                _index=index,
                _is_handle=True,
                _interpretation=None,
                _cache_key=None,
            )
        return handle


def _first_of_each_name(branches: Any) -> dict[str, Any]:
    return {branch.name: branch for branch in reversed(list(branches))}


def _replace(parent: Any, handed_out: Handles) -> None:
    """Turns handles into the branches that uproot read, and puts them in their places."""
    branches = parent.member("fBranches")
    if [own.name for own in handed_out.owns] != [branch.name for branch in branches]:
        raise RuntimeError(f"sapwood and uproot disagree about the branches of {parent.name!r}")
    for index, handle in handed_out.made.items():
        branch, deeper = branches[index], handle.__dict__.pop("_handles", None)
        interpretation = handle._interpretation
        handle.__class__ = type(branch)
        handle.__dict__.clear()
        handle.__dict__.update(branch.__dict__)
        handle._interpretation, handle._index = interpretation, index
        parts = [*_bases(handle), *handle.member("fBranches"), *handle.member("fLeaves")]
        for part in [*parts, *(handle._embedded_baskets or ())]:
            if part._parent is branch:
                part._parent = handle
            if part._concrete is branch:
                part._concrete = handle
        branches._data[index] = handle
        if deeper is not None:
            _replace(handle, deeper)
    parent._lookup = _first_of_each_name(branches)


def _bases(model: Any) -> list[Any]:
    """The parts of an object that belong to its base classes, at any depth."""
    return [part for base in model._bases for part in (base, *_bases(base))]


def _link(branches: Any, owns: list[Branch]) -> None:
    """Tells parsed branches which branches of sapwood they are."""
    for branch, own in zip(branches, owns, strict=True):
        branch._own = own
        if own.branches:
            _link(branch.branches, own.branches)


BRANCH_CLASSES = ("TBranch", "TBranchElement", "TBranchObject")


def _lazy_class(original: Any, mixin: type) -> Any:
    """The class of uproot that dispatches by version, with a class of sapwood before each version."""
    module = sys.modules[__name__]
    versions = {}
    for version, known in original.known_versions.items():
        lazy = type(known.__name__, (mixin, known), {"__module__": __name__, "__doc__": known.__doc__})
        versions[version] = lazy
        setattr(module, known.__name__, lazy)  # where pickle looks for it
    return type(original.__name__, (original,), {"known_versions": versions, "__module__": __name__})


@cache
def lazy_classes(models: Any = None) -> dict[str, Any]:
    """The classes of trees and branches, by the names of their C++ classes."""
    trees, branches = uproot.models.TTree, uproot.models.TBranch
    found = {name: _lazy_class(getattr(branches, f"Model_{name}"), LazyBranch) for name in BRANCH_CLASSES}
    return {"TTree": _lazy_class(trees.Model_TTree, LazyTree), **found}


@cache
def _newest(class_name: str) -> Any:
    versions = lazy_classes()[class_name].known_versions
    return versions[max(versions)]
