"""Classes of uproot's trees and branches that sapwood answers for; uproot parses them only when it must."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from functools import cache, cached_property
from threading import RLock
from typing import Any

import uproot
from uproot.interpretation.objects import AsObjects
from uproot.model import DispatchByVersion

from ..errors import SapwoodError
from ..model.branch import Branch
from ..model.tree import Tree
from ._arrays import Reads, has_own_executor, read_array
from ._baskets import measure_baskets
from ._bytes import own_file
from ._columns import simple
from ._log import COUNTS, left

_FILLING: ContextVar[Any] = ContextVar("filling", default=None)
"""The tree into which uproot reads a record now."""
_AGAIN: ContextVar[bool] = ContextVar("again", default=False)
"""Whether a tree is being read because its record does not match uproot's own description of the class."""
_LOCK = RLock()


class Lazy(Reads):
    """Comes before a class of uproot's trees or branches.

    Everything that uproot's methods need of an object whose record was not read is an attribute that is
    missing: ``__getattr__`` then lets uproot read the record.

    Attributes:
        _own: the tree or branch of sapwood; None if it is left to uproot.
        _unread: in an object whose record was not read, what is needed to read it.
    """

    _own: Any = None

    @property
    def _is_unread(self) -> bool:
        return "_unread" in self.__dict__

    def __getattr__(self, name: str) -> Any:
        if self._is_unread and not name.startswith("__"):
            if name in ("_handles", "_lookup"):
                self._handles = self._lookup = Handles(self, self._own)
                return self._handles
            self.tree._parse()
            return getattr(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def branches(self) -> Any:
        """As in uproot."""
        return self._handles.all if self._is_unread else self.member("fBranches")

    @property
    def name(self) -> Any:
        """As in uproot."""
        return self._own.name if self._is_unread else super().name

    @property
    def title(self) -> Any:
        """As in uproot."""
        return self._own.title if self._is_unread else super().title

    @property
    def num_entries(self) -> Any:
        """As in uproot."""
        return self._own.num_entries if self._is_unread else super().num_entries


class LazyTree(Lazy):
    """Comes before a class of uproot's trees."""

    def __new__(cls) -> Any:
        filling = _FILLING.get()
        if filling is None:
            return super().__new__(cls)
        _FILLING.set(None)
        return filling

    @classmethod
    def read(cls, chunk: Any, cursor: Any, context: Any, file: Any, *rest: Any, concrete: Any = None) -> Any:
        """Keeps what uproot needs to read the record, and opens the tree with sapwood."""
        selffile, parent = rest
        own = None if concrete is not None or _AGAIN.get() else own_tree(file, parent)
        if own is None:
            COUNTS["trees left"] += concrete is None
            return super().read(chunk, cursor, context, file, *rest, concrete=concrete)
        COUNTS["trees"] += 1
        tree = object.__new__(cls)
        tree._cursor, tree._file, tree._parent, tree._concrete = cursor.copy(), selffile, parent, concrete
        tree._unread = (chunk, tree._cursor, dict(context), file, *rest)
        tree._own = own
        return tree

    def _parse(self) -> None:
        """Lets uproot read the record into this object, and into the branches that were handed out."""
        with _LOCK:
            if not self._is_unread:
                return
            attributes = dict(self.__dict__)
            chunk, cursor, context, *rest = self.__dict__.pop("_unread")
            handed_out = self.__dict__.pop("_handles", None)
            self.__dict__.pop("_lookup", None)
            token = _FILLING.set(self)
            try:
                super().read.__func__(type(self), chunk, cursor.copy(), dict(context), *rest)
            except uproot.deserialization.DeserializationError as error:
                self.__dict__.update(attributes)
                left(f"the tree {self.name!r}", self.file.file_path, error)
                _FILLING.set(None)
                _read_again(self)
            except BaseException:
                self.__dict__.update(attributes)
                raise
            finally:
                _FILLING.reset(token)
            if handed_out is not None:
                _replace(self, handed_out)
            _link(self, attributes["_own"])

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles where the tree is, not what is in its record; what is left to uproot, as uproot does."""
        if self._own is not None:
            return _tree_of, (self._parent,)
        return object.__new__, (type(self).__bases__[-1],), self.__getstate__()

    @property
    def aliases(self) -> Any:
        """As in uproot."""
        return dict(self._own.aliases) if self._is_unread else super().aliases


class LazyBranch(Lazy):
    """Comes before a class of uproot's branches."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles where the branch is."""
        if self._own is not None:
            return _branch_of, (self._parent, self.index)
        return super().__reduce_ex__(protocol)

    @property
    def class_version(self) -> Any:
        """As in uproot; only the record has it."""
        if self._is_unread:
            self.tree._parse()
        return super().class_version

    def basket_uncompressed_bytes(self, basket_num: int) -> Any:
        """As in uproot; the sizes of all baskets are read together."""
        if self._own is not None and basket_num not in self.__dict__.get("_basket_sizes", ()):
            measure_baskets([self], 0, self.num_entries)
        size = self.__dict__.get("_basket_sizes", {}).get(basket_num)
        return super().basket_uncompressed_bytes(basket_num) if size is None else size

    @property
    def interpretation(self) -> Any:
        """As in uproot."""
        found = self.__dict__.get("_interpretation")
        if found is None and self._is_unread:
            known = simple(self._own)
            if known is not None:
                found = self._interpretation = known.interpretation
            else:
                self.tree._parse()
        return super().interpretation if found is None else found

    def array(
        self, interpretation: Any = None, entry_start: Any = None, entry_stop: Any = None, **options: Any
    ) -> Any:
        """As in uproot."""
        # A caller that passes an interpretation of objects back may look at what uproot keeps in it.
        is_kept = isinstance(interpretation, AsObjects)
        if is_kept or getattr(self.tree, "_own", None) is None or has_own_executor(options):
            return super().array(interpretation, entry_start, entry_stop, **options)
        return read_array(self, interpretation, entry_start, entry_stop, **options)


def _tree_of(key: Any) -> Any:
    return key.get()


def _branch_of(parent: Any, index: int) -> Any:
    return parent.branches[index]


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
        opened, place = own_file(file), "/".join(path)
        kept = f"{place};{key.fCycle}"
        tree = opened.kept_trees.get(kept)
        if tree is None:
            tree = opened.kept_trees[kept] = opened.tree_at(place, key.fCycle)
        unknown = {branch.class_name for branch in tree.all_branches} - set(BRANCH_CLASSES)
        _require(not unknown, f"it has branches of {unknown}")
        return tree
    except (SapwoodError, NotImplementedError) as error:
        left(f"the tree {key.fName!r}", file.file_path, error)
        return None


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise NotImplementedError(reason)


class Handles:
    """The branches under a tree or a branch whose record was not read; each is made on first use."""

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
                _unread=True,
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
        deeper, interpretation = handle.__dict__.get("_handles"), handle._interpretation
        _adopt(handle, branches[index])
        handle._interpretation, handle._index = interpretation, index
        branches._data[index] = handle
        if deeper is not None:
            _replace(handle, deeper)
    parent._lookup = _first_of_each_name(branches)


def _adopt(unread: Any, read: Any) -> None:
    """Makes an object that uproot read of one whose record was not read."""
    unread.__class__ = type(read)
    unread.__dict__.clear()
    unread.__dict__.update(read.__dict__)
    parts = [*_bases(unread), *unread.member("fBranches"), *unread.member("fLeaves")]
    for part in [*parts, *(getattr(unread, "_embedded_baskets", None) or ())]:
        if part._parent is read:
            part._parent = unread
        if part._concrete is read:
            part._concrete = unread


def _read_again(tree: Any) -> None:
    """Lets uproot read a tree at once; it tries the file's own descriptions of classes then."""
    key = tree._parent
    cache = key.file.object_cache
    if cache is not None:
        cache.pop(key.cache_key, None)
    token = _AGAIN.set(True)
    try:
        _adopt(tree, key.get())
    finally:
        _AGAIN.reset(token)
        if cache is not None:
            cache[key.cache_key] = tree


def _bases(model: Any) -> list[Any]:
    """The parts of an object that belong to its base classes, at any depth."""
    return [part for base in model._bases for part in (base, *_bases(base))]


def _link(parent: Any, own: Tree | Branch) -> None:
    """Links the branches below a parsed tree or branch to those of sapwood."""
    for branch, below in zip(parent.branches, own.branches, strict=True):
        branch._own = below
        _link(branch, below)


BRANCH_CLASSES = ("TBranch", "TBranchElement", "TBranchObject")
NTUPLE_CLASSES = ("TNtuple", "TNtupleD")


def _lazy_class(original: Any, mixin: type) -> Any:
    """The class of uproot that dispatches by version, with a class of sapwood before each version."""
    versions = {version: _mixed(mixin, known) for version, known in original.known_versions.items()}
    return _named(type(original.__name__, (original,), {"known_versions": versions}))


def _mixed(mixin: type, known: Any) -> Any:
    return _named(type(known.__name__, (mixin, known), {"__doc__": known.__doc__}))


def _named(made: Any) -> Any:
    """Puts a class where pickle looks for it."""
    made.__module__ = __name__
    setattr(sys.modules[__name__], made.__name__, made)
    return made


class LazyNtuple(DispatchByVersion):  # type: ignore[misc]
    """Classes of trees that uproot makes from the descriptions in a file, with one of sapwood before each."""

    @classmethod
    def new_class(cls, file: Any, version: int) -> Any:
        """As in uproot."""
        known = super().new_class(file, version)
        if not issubclass(known, uproot.TTree):
            return known
        lazy = cls.known_versions[known.class_streamer.class_version] = _mixed(LazyTree, known)
        return lazy


@cache
def lazy_classes() -> dict[str, Any]:
    """The classes of trees and branches, by the names of their C++ classes."""
    trees, branches = uproot.models.TTree, uproot.models.TBranch
    found = {name: _lazy_class(getattr(branches, f"Model_{name}"), LazyBranch) for name in BRANCH_CLASSES}
    for name in NTUPLE_CLASSES:
        found[name] = _named(type(f"Model_{name}", (LazyNtuple,), {"known_versions": {}}))
    return {"TTree": _lazy_class(trees.Model_TTree, LazyTree), **found}


def forget_classes() -> None:
    """Makes new classes on their next use, because uproot has replaced its own."""
    lazy_classes.cache_clear()
    _newest.cache_clear()


@cache
def _newest(class_name: str) -> Any:
    versions = lazy_classes()[class_name].known_versions
    return versions[max(versions)]
