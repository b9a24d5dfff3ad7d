"""Datasets that are written: created, appended to, given products, checked, cleared up, exported."""

from __future__ import annotations

import builtins
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from ..display.printable import shows_printable
from ..errors import UsageError
from ..errors.core import core_errors
from ..history.describe import describe, log, place_of
from ..history.logs import Log, log_of
from ..opening.catalogued import catalogued
from ..opening.single import open as open_file
from ..options.compression import Compression
from ..options.outputs import DATASET, RECEIPT, check_dataset, check_name, check_output
from ..options.paths import CATALOGUED
from ..options.reading import OpenOptions, open_options
from ..options.whole_file import write_whole
from ..query.filters import Filter
from ..writing.repacking import repack
from ._computed import write_product
from ._events import find, select
from ._results import Collected, Consolidated, Exported, Verified, Written, Wrong
from ._sources import Sources, remembered
from ._statistics import Statistics, excluded, statistics
from ._words import function_name, product_names, version_name, writing_options, written

if TYPE_CHECKING:
    from ..catalog import DatabaseLog
    from ..model.tree import Tree


class Dataset:
    """A dataset in an object store or a directory, to be changed and cared for.

    To read it, open it as any file: ``sapwood.open("s3://bucket/ttbar")``, or :meth:`tree`.
    """

    def __init__(self, core: Any, place: str, options: OpenOptions, database: DatabaseLog | None) -> None:
        self._core, self._where, self._options, self._log = core, place, options, database

    @shows_printable
    def __repr__(self) -> str:
        return f"<Dataset {self.url}>"

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        return str(self._core.url)

    def version(self, version: int | str | None = None) -> int:
        """The number of the newest version, or of one with a tag."""
        with core_errors():
            return int(self._core.version(version_name(version)))

    def tree(self, version: int | str | None = None) -> Tree:
        """The tree of a version; by default the newest.

        Raises:
            KeyInFileError: if there is no such version.
        """
        asked: dict[str, Any] = {"threads": self._options.threads, **self._again()}
        if self._log is not None:
            asked["log"] = self._log
        found = open_file(f"{self._where}@{version_name(version)}", **asked)
        return found  # type: ignore[no-any-return]

    def describe(self, version: int | str | None = None, *, sizes: bool = True) -> dict[str, Any]:
        """What a version holds; see :func:`sapwood.stripe.describe`."""
        return describe(self._where, version=version, sizes=sizes, log=self._log, **self._again())

    def statistics(self, product: str, version: int | str | None = None) -> list[Statistics]:
        """What is known of the values of each branch of a product, without reading them: cuts use it.

        Raises:
            KeyInFileError: if there is no such product, or no such version.
        """
        return statistics(self.tree(version), product)

    def excluded(self, cut: str, version: int | str | None = None) -> tuple[int, int]:
        """How many entries, and how many whole batches, a cut passes over by what is known of them."""
        return excluded(self.tree(version), cut)

    def log(self, after: int = 0) -> list[dict[str, Any]]:
        """The entries of the log behind version ``after``; see :func:`sapwood.stripe.log`."""
        return log(self._where, after=after, log=self._log, **self._again())

    def append(
        self,
        sources: Any,
        *,
        receipt: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        **writing: Any,
    ) -> Written:
        """Appends the entries of files, whose trees are like that of the dataset.

        Args:
            sources: as in :func:`create`; the tree is that of the dataset.
            receipt: a file for what was stored, which is not committed then: :meth:`commit` does, for
                many workers at once, within seven days. ``job=("name", attempt)`` says what makes it: of
                all attempts of a job, one is committed, once.
            overwrite: whether an existing receipt is replaced.
            **writing: as in :func:`create`; also ``base``: the URL of another place that the dataset has
                (:meth:`add_base`), where the objects go.

        Raises:
            UnsupportedTypeError: if a tree has other branches, or of other types; it says which.
            ConflictError: if others changed the products meanwhile.
            UsageError: if the receipt exists without ``overwrite``, or is a source.
        """
        if receipt is not None:
            receipt = check_output(receipt, RECEIPT, inputs=[sources, self._where], overwrite=overwrite)
        opened = Sources(sources, self._options)
        inputs = opened.inputs
        if any(chosen := [writing.pop(name, None) for name in ("keep", "drop", "cut")]):
            path = str(describe(self._where, sizes=False, log=self._log, **self._again())["tree"])
            writing["parameters"] = {**remembered(*chosen), **(writing.get("parameters") or {})}
            made = writing_options(self._options, **writing, **opened.chosen(path, *chosen))
        else:
            made = writing_options(self._options, **writing)
        if receipt is None:
            with core_errors():
                return written(self._core.append(inputs, made))
        with core_errors():
            told, text = self._core.write_receipt(inputs, made)
        write_whole(receipt, text, overwrite=overwrite)
        return written(told)

    def commit(self, receipts: Sequence[str | os.PathLike[str]], who: str | None = None) -> Written:
        """Commits what workers have stored, as one version.

        Jobs that were committed before are passed over, so that it may be done again after any failure;
        of several attempts of a job, the first is taken.

        Args:
            receipts: the files that :meth:`append` wrote.
            who: who does it.

        Raises:
            ConflictError: if a receipt is older than seven days, so that what it names may be gone, or
                others changed the products meanwhile.
            UsageError: if a receipt is for another dataset.
        """
        texts = []
        for receipt in receipts:
            with builtins.open(receipt, encoding="utf-8") as file:
                texts.append(file.read())
        with core_errors():
            return written(self._core.commit_receipts(texts, writing_options(self._options, who=who)))

    def consolidate(
        self,
        target: int | str | None = None,
        *,
        products: str | Sequence[str] | None = None,
        dry_run: bool = False,
        **writing: Any,
    ) -> Consolidated:
        """Writes entries that lie in many small objects again, in fewer larger ones: a new version.

        Those of segments are taken whose objects have less than half of the wanted size, on average, where
        that halves the number of objects; segments that follow each other become one. Nothing is lost:
        values, order, and what came with the entries stay, and earlier versions read what they did. If
        there is nothing to gain, there is no new version.

        Of chosen products, only their stripes become fewer: in each segment by itself, as far as its batches
        reach. Segments and all other products stay as they are.

        Args:
            target: bytes of an object, as the source has them; by default 1 MiB.
            products: names of those that are written again; by default all, and what is beside them.
            dry_run: say only what would be done, as far as it is known before.
            writing: as in :func:`create`.

        Raises:
            KeyInFileError: if there is no such product.
            ConflictError: if others changed the same segments meanwhile.
        """
        made = writing_options(self._options, stripe_size=target, **writing)
        with core_errors():
            told = self._core.consolidate(product_names(products), dry_run, made)
        return Consolidated(**{**told, "notes": tuple(told["notes"])})

    def add(
        self,
        source: Any,
        products: str | Sequence[str] | None = None,
        *,
        by_position: bool = False,
        **writing: Any,
    ) -> Written:
        """Adds products of a tree to the entries that are there; a product of the same name is replaced.

        Entries are matched by run, luminosity block and event number, in whatever order they come.

        Args:
            source: a file with the tree, such as ``"new.root:Events"``.
            products: names of the products that are taken; by default all that the tree has.
            by_position: entries belong together by their position, for trees that do not say which
                events they have.
            writing: as in :func:`append`.

        Raises:
            UsageError: if events are missing, there twice, or too many; the numbers are told.
            ConflictError: if others changed the same product meanwhile.
        """
        opened = Sources(source, self._options)
        inputs, tree = opened.inputs, opened.tree
        if len(inputs) != 1:
            raise UsageError(f"{len(inputs)} files were given: products are added from one")
        made = writing_options(self._options, **writing)
        with core_errors():
            tree = tree or str(describe(self._where, sizes=False, log=self._log, **self._again())["tree"])
            told = self._core.add(inputs[0], tree, product_names(products), by_position, made)
        return written(told)

    def add_product(
        self,
        name: str,
        function: Callable[[Any], Mapping[str, Any]],
        columns: Sequence[str],
        *,
        step_size: int | str = "50 MB",
        **writing: Any,
    ) -> Written:
        """Adds a product that is computed from columns; one of the same name is replaced.

        >>> with sapwood.recreate("events.root") as file:
        ...     file["Events"] = {"met": np.array([10.0, 20.0, 30.0])}
        >>> dataset = sapwood.stripe.create("derived", "events.root:Events")
        >>> dataset.add_product("Scaled", lambda events: {"Scaled_met": 2 * events["met"]}, ["met"]).version
        3
        >>> dataset.tree()["Scaled_met"].array(library="np")
        array([20., 40., 60.])

        What it was made of is remembered: the version that was read, the columns, the function's name and
        a checksum of its source.

        Args:
            name: name of the product: what the names of its columns begin with, before ``_``.
            function: is given the columns of some entries as an Awkward array, and returns a dict of arrays
                of as many entries, whose keys are ``name``, or begin with ``name_``.
            columns: what the function reads.
            step_size: memory of the columns of one call, or their entries.
            writing: as in :func:`create`.

        Raises:
            UsageError: if a column is called otherwise.
        """
        version = self.version()
        tree = self.tree(version)
        path = str(self.describe(version, sizes=False)["tree"])
        parameters = {
            "product": name,
            "columns": ",".join(columns),
            "function": function_name(function),
            "from": f"{self.url}@v{version}",
            **writing.pop("parameters", {}),
        }
        with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
            made = os.path.join(folder, "product.root")
            write_product(made, path, name, function, tree, columns, step_size)
            return self.add(f"{made}:{path}", by_position=True, parameters=parameters, **writing)

    def add_base(self, url: str, who: str | None = None) -> int:
        """Makes a version that names another place where objects of the dataset may lie; its number.

        How that place is reached is an option of opening, ``bases``; nothing of it is stored.
        """
        if _core.redact(url) != url:
            raise UsageError(f"the URL {_core.redact(url)} holds secrets, which no dataset keeps")
        with core_errors():
            return int(self._core.add_base(url.rstrip("/"), who))

    def drop(self, *products: str, who: str | None = None) -> int:
        """Makes a version without some products; its number. Earlier versions keep them."""
        with core_errors():
            return int(self._core.drop(list(products), who))

    def restore(self, version: int | str, who: str | None = None) -> int:
        """Makes a version that is as an earlier one was; its number."""
        with core_errors():
            return int(self._core.restore(self.version(version), who))

    def tag(self, name: str, version: int | str | None = None) -> int:
        """Gives a version a name, by which it is kept, too; its number. A name is given once, for ever."""
        with core_errors():
            return int(self._core.tag(name, version_name(version)))

    def untag(self, name: str) -> None:
        """Takes a name away from its version. It is not given again."""
        with core_errors():
            self._core.untag(name)

    def tags(self) -> dict[str, int]:
        """The names of versions, and their numbers."""
        with core_errors():
            return dict(self._core.tags())

    def verify(self, version: int | str | None = None, *, fraction: float = 1.0, seed: int = 0) -> Verified:
        """Reads the objects of a version, and compares all checksums.

        Args:
            version: by default the newest.
            fraction: the part of the objects that is read, by lot.
            seed: for the lot.
        """
        with core_errors():
            objects, size, skipped, wrong = self._core.verify(version_name(version), fraction, seed)
        return Verified(objects, size, skipped, tuple(Wrong(*one) for one in wrong))

    def expire(self, *, newest: int | None = None, days: float | None = None, dry_run: bool = False) -> int:
        """Lets old versions expire; the number of the oldest that is kept. Tags keep versions, too.

        Nothing is deleted before :meth:`gc`.

        Args:
            newest: how many versions are kept.
            days: versions are kept that were the newest within so many days.
            dry_run: say it only.
        """
        with core_errors():
            within = None if days is None else days * 86400
            return int(self._core.expire(newest, within, dry_run))

    def gc(self, *, dry_run: bool = True, grace_days: float | None = None, alone: bool = False) -> Collected:
        """Deletes objects that no version needs: of versions that expired, and of writers that were cut off.

        Args:
            dry_run: say only what would be deleted, which is the default.
            grace_days: objects that are younger stay; by default seven days.
            alone: nobody else reads or writes the dataset, so that a shorter grace is safe.
        """
        with core_errors():
            grace = None if grace_days is None else grace_days * 86400
            objects, size, kept = self._core.gc(grace, dry_run, alone)
        return Collected(tuple(objects), size, kept)

    def select(self, mask: Any, *, version: int | str | None = None) -> list[tuple[int, int]]:
        """The ranges of entries whose luminosity blocks are in a mask; see :func:`sapwood.stripe.select`."""
        return select(self._where, mask, version=version, log=self._log, **self._again())

    def find(self, run: int, lumi: int, event: int, *, version: int | str | None = None) -> list[int]:
        """The entries that have an event; see :func:`sapwood.stripe.find`."""
        wanted = [(run, lumi, event)]
        (entries,) = find(self._where, wanted, version=version, log=self._log, **self._again())
        return entries

    def export(self, target: Any, *, version: int | str | None = None, **chosen: Any) -> Exported:
        """Writes a version to a ROOT file, with all that the files had which it was made of.

        Args:
            target: a local path, a URL in an object store, or an object with ``write`` and ``seek``.
            version: by default the newest.
            **chosen: what of it, and in which layout: ``keep``, ``drop``, ``cut``, ``entries``, ``follow``,
                ``compression``, ``basket_size``, … as in :func:`sapwood.repack`; also ``overwrite``. Default:
                all, as it is.
        """
        tree = self.tree(version)
        with tree.file as file:
            report = repack(file, target, **{"threads": self._options.threads, **chosen})
            return Exported(report.bytes, report.trees[str(file.dataset_tree)], report.notes)

    def copy_to(self, url: str | os.PathLike[str]) -> tuple[int, int]:
        """Copies all versions to another place; the objects and bytes that were not there yet."""
        with core_errors():
            asked = self._options
            other = _core.Stripes(place_of(check_name(url, DATASET)), asked.deadline, asked.for_core(), None)
            objects, size, _ = self._core.copy(other)
        return int(objects), int(size)

    def _again(self) -> dict[str, Any]:
        """The options by which it is opened once more."""
        rules = dict(self._options.storage_rules)
        return {"deadline": self._options.deadline, "storage_rules": rules, **self._options.storage}


def create(
    url: str | os.PathLike[str],
    sources: Any,
    *,
    tree: str | None = None,
    keep: Filter = None,
    drop: Filter = None,
    cut: str | None = None,
    log: Log = None,
    deadline: float | None = None,
    threads: int | None = None,
    compression: Compression | str | int | None = None,
    stripe_size: int | str | None = None,
    batch: int | None = None,
    group: bool = True,
    pad: int = 0,
    statistics: bool = True,
    who: str | None = None,
    job: tuple[str, int] | None = None,
    parameters: Mapping[str, str] | None = None,
    **options: Any,
) -> Dataset:
    """Makes a dataset of the trees of files, in their order; each file becomes a segment.

    >>> with sapwood.recreate("events.root") as file:
    ...     file["Events"] = {"met": np.array([10.0, 20.0, 30.0])}
    >>> dataset = sapwood.stripe.create("ttbar", "events.root:Events")
    >>> sapwood.open("ttbar").num_entries
    3

    Args:
        url: a directory, or a place in a bucket such as ``"s3://bucket/ttbar"``.
        sources: a path or URL, such as ``"nano.root:Events"``, a glob, or a list of them; also other
            datasets, each segment of which becomes one.
        tree: the path of the tree, if the sources do not name it.
        keep, drop: names, globs or ``"/regex/"`` of branches that are written, and that are not. Branches
            come with those in them and those that count them.
        cut: an expression; entries are written for which it is true. What is beside the tree comes along
            whole.
        log: where the log is to be, if not beside the objects.
        deadline: seconds that it may take; by default an hour.
        threads: threads that work. Default: as in :func:`sapwood.open`.
        compression: of all baskets, such as ``"zstd:5"``, which is the default.
        stripe_size: bytes that an object is to have, as the source has them; by default ``"1 MiB"``.
        batch: entries at whose borders all products begin anew; by default about 32 MB, in whole clusters.
        group: whether small products share objects.
        pad: what the store fills objects up to, in bytes.
        statistics: whether it is noted of each stripe which values are in it, so that cuts pass over some.
        who: who writes it, to be remembered.
        job: name and attempt of a job: what it has committed, it does not commit again.
        parameters: what else is to be remembered.
        options: for the sources and the store, as of :func:`sapwood.open`.

    Raises:
        UsageError: if there is a dataset with entries already, or no tree is named.
        UnsupportedTypeError: if the trees differ, or cannot be cut; or if the store cannot hold a dataset.
    """
    asked, place = open_options(deadline, threads, options), place_of(check_dataset(url))
    opened = Sources(sources, asked)
    path = tree or opened.tree or opened.first().dataset_tree
    if path is None:
        raise UsageError("the tree is not named: write 'file.root:Events', or give tree=")
    if isinstance(log, (str, os.PathLike)):
        # Its name in the database is written first: for a tree that is there.
        with core_errors():
            opened.first().item(path)
    database = log_of(log, place, asked, tree=path)
    dataset = open(url, log=database, deadline=deadline, threads=threads, _exists=False, **options)
    writing = writing_options(
        dataset._options,
        compression=compression,
        stripe_size=stripe_size,
        batch=batch,
        group=group,
        pad=pad,
        statistics=statistics,
        who=who,
        job=job,
        parameters={**remembered(keep, drop, cut), **(parameters or {})},
        **(opened.chosen(path, keep, drop, cut) if any((keep, drop, cut)) else {}),
    )
    with core_errors():
        dataset._core.create(path, opened.inputs, writing)
    return dataset


def open(
    url: str | os.PathLike[str],
    *,
    log: Log = None,
    deadline: float | None = None,
    threads: int | None = None,
    _exists: bool = True,
    **options: Any,
) -> Dataset:
    """A dataset that is there, to be changed and cared for; :func:`sapwood.open` reads it.

    One that is in the catalogue of this user may be named: ``"catalog:ttbar"``.

    Raises:
        FileNotFoundError: if there is none.
    """
    asked = open_options(deadline, threads, options)
    if isinstance(url, str) and url.startswith(CATALOGUED):
        url, known = catalogued(url)
        log = log or known
    place = place_of(url)
    database = log_of(log, place, asked)
    with core_errors():
        core = _core.Stripes(place, asked.deadline, asked.for_core(), database)
        if _exists:
            core.version("latest")
    return Dataset(core, place, asked, database)
