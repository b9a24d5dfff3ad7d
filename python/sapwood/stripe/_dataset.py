"""Changes to datasets: creation, appending, new products, checks, clean-up and export."""

from __future__ import annotations

import builtins
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from ..display.notebook import notebook_table, table_or_text
from ..display.printable import shows_printable
from ..display.units import counted
from ..errors import FileNotFoundError, SapwoodError, UsageError
from ..errors.core import core_errors
from ..history.describe import describe, log, place_of
from ..history.logs import Log, log_of
from ..opening.catalogued import catalogued
from ..opening.single import open as open_file
from ..options.checks import check_number, check_text, check_texts
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
from ._sources import Sources, recorded_selection
from ._statistics import Statistics, excluded, statistics
from ._words import checked_parameters, function_name, product_names, version_name, writing_options, written

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..catalog import DatabaseLog
    from ..model.tree import Tree
    from ..options.keywords import DatasetKeywords
    from ._words import ConsolidateKeywords, WritingKeywords


class Dataset:
    """A dataset in an object store or a directory, open for changes and maintenance.

    To read it, open it like a file with ``sapwood.open("s3://bucket/ttbar")``, or call :meth:`tree`.
    """

    def __init__(self, core: Any, place: str, options: OpenOptions, database: DatabaseLog | None) -> None:
        self._core, self._where, self._options, self._log = core, place, options, database

    @shows_printable
    def __repr__(self) -> str:
        return f"<Dataset {self.url}>"

    def _repr_html_(self) -> str:
        def table() -> str:
            content = self.describe(sizes=False)
            rows = [
                (one["name"], one["branches"], one["entries"], f"v{one['version']}")
                for one in content["products"]
            ]
            entries = counted(content["entries"], "entry", "entries")
            note = f"v{content['version']}: {content['tree']}, {entries}"
            return notebook_table(self.url, ["product", "branches", "entries", "since"], rows, note)

        return table_or_text(self, table, SapwoodError)

    @property
    def url(self) -> str:
        """The location of the dataset, without secrets."""
        return str(self._core.url)

    def version(self, version: int | str | None = None) -> int:
        """The number of the newest version, or of a tagged one."""
        with core_errors():
            return int(self._core.version(version_name(version)))

    def tree(self, version: int | str | None = None) -> Tree:
        """The tree of a version; by default the newest.

        Raises:
            KeyInFileError: if there is no such version.
        """
        options: dict[str, Any] = {"threads": self._options.threads, **self._reopen_options()}
        if self._log is not None:
            options["log"] = self._log
        found = open_file(f"{self._where}@{version_name(version)}", **options)
        return found  # type: ignore[no-any-return]

    def describe(self, version: int | str | None = None, *, sizes: bool = True) -> dict[str, Any]:
        """The content of a version; see :func:`sapwood.stripe.describe`."""
        return describe(self._where, version=version, sizes=sizes, log=self._log, **self._reopen_options())

    def statistics(self, product: str, version: int | str | None = None) -> list[Statistics]:
        """The statistics of each branch of a product, which cuts use to skip entries without reading them.

        Raises:
            KeyInFileError: if there is no such product or version.
        """
        return statistics(self.tree(version), check_text("product", product))

    def excluded(self, cut: str, version: int | str | None = None) -> tuple[int, int]:
        """The numbers of entries and of whole batches that a cut skips by their statistics."""
        return excluded(self.tree(version), cut)

    def log(self, after: int = 0) -> list[dict[str, Any]]:
        """The entries of the log after version ``after``; see :func:`sapwood.stripe.log`."""
        return log(self._where, after=after, log=self._log, **self._reopen_options())

    def append(
        self,
        sources: Any,
        *,
        keep: Filter = None,
        drop: Filter = None,
        cut: str | None = None,
        receipt: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        **writing: Unpack[WritingKeywords],
    ) -> Written:
        """Appends the entries of files whose trees match that of the dataset.

        Args:
            sources, keep, drop, cut: as in :func:`create`; the tree must be that of the dataset.
            receipt: a file that records the stored objects, instead of a commit. Within seven days,
                :meth:`commit` commits the receipts of many workers at once. Name the worker's job with
                ``job=("name", attempt)``: of all attempts of a job, only one is committed.
            overwrite: whether an existing receipt is replaced.
            **writing: as in :func:`create`; also ``base``: the URL of another location of the dataset
                (:meth:`add_base`) for the objects.

        Raises:
            UnsupportedTypeError: if a tree has other branches or types; the message names them.
            ConflictError: if another writer changed the products in the meantime.
            UsageError: if the receipt exists without ``overwrite``, or is a source.
        """
        if receipt is not None:
            receipt = check_output(receipt, RECEIPT, inputs=[sources, self._where], overwrite=overwrite)
        opened = Sources(sources, self._options)
        inputs = opened.inputs
        chosen: dict[str, Any] = {}
        if cut is not None or keep or drop:
            writing["parameters"] = {
                **recorded_selection(keep, drop, cut),
                **(writing.get("parameters") or {}),
            }
            chosen = opened.chosen(self._tree_path(), keep, drop, cut)
        options = writing_options(self._options, **{**writing, **chosen})
        if receipt is None:
            with opened.core_errors():
                return written(self._core.append(inputs, options))
        with opened.core_errors():
            result, text = self._core.write_receipt(inputs, options)
        write_whole(receipt, text, overwrite=overwrite)
        return written(result)

    def commit(self, receipts: Sequence[str | os.PathLike[str]], who: str | None = None) -> Written:
        """Commits the results of many workers as one version.

        Jobs that were committed before are skipped, so you can repeat the call after any failure. If a job
        has several attempts, the first is taken.

        Args:
            receipts: the files that :meth:`append` wrote.
            who: the author, which the version records.

        Raises:
            FileNotFoundError: if there is no such receipt.
            ConflictError: if a receipt is older than seven days, so that its objects may have been deleted,
                or another writer changed the products in the meantime.
            UsageError: if a receipt is for another dataset.
        """
        texts = []
        for receipt in receipts:
            name = check_name(receipt, RECEIPT)
            try:
                with builtins.open(name, encoding="utf-8") as file:
                    texts.append(file.read())
            except builtins.FileNotFoundError:
                raise FileNotFoundError(f"no receipt {name!r}", url=name) from None
        with core_errors():
            return written(self._core.commit_receipts(texts, writing_options(self._options, who=who)))

    def consolidate(
        self,
        stripe_size: int | str | None = None,
        *,
        products: str | Sequence[str] | None = None,
        dry_run: bool = False,
        **writing: Unpack[ConsolidateKeywords],
    ) -> Consolidated:
        """Rewrites entries that are spread over many small objects into fewer, larger ones: a new version.

        It rewrites segments whose objects have, on average, less than half of this size, if that halves the
        number of objects; adjacent segments become one. Values, their order and the objects that came
        with the entries are preserved, and earlier versions stay readable. If there is nothing to gain, there
        is no new version.

        If you name products, only their stripes are merged, within each segment. Segments and all other
        products stay unchanged.

        Args:
            stripe_size: as in :func:`create`.
            products: names of the products to rewrite; by default all, and the objects beside the tree.
            dry_run: only report what would be done, as far as that can be predicted.
            writing: as in :func:`create`.

        Raises:
            KeyInFileError: if there is no such product.
            ConflictError: if another writer changed the same segments in the meantime.
        """
        options = writing_options(self._options, stripe_size=stripe_size, **writing)
        with core_errors():
            result = self._core.consolidate(product_names(products), dry_run, options)
        return Consolidated(**{**result, "notes": tuple(result["notes"])})

    def add(
        self,
        source: Any,
        products: str | Sequence[str] | None = None,
        *,
        by_position: bool = False,
        **writing: Unpack[WritingKeywords],
    ) -> Written:
        """Adds products of a tree to the existing entries; a product with the same name is replaced.

        Entries are matched by run, luminosity block and event number; their order does not matter.

        Args:
            source: a file with the tree, such as ``"new.root:Events"``.
            products: names of the products to add; by default all products of the tree.
            by_position: match entries by position, for trees without event numbers.
            writing: as in :func:`append`.

        Raises:
            UsageError: if events are missing, duplicate or unknown; the message counts them.
            ConflictError: if another writer changed the same product in the meantime.
        """
        opened = Sources(source, self._options)
        inputs, tree = opened.inputs, opened.tree
        if len(inputs) != 1:
            raise UsageError(f"products are added from one file, not from {len(inputs)}")
        options = writing_options(self._options, **writing)
        path, names = tree or self._tree_path(), product_names(products)
        with opened.core_errors():
            return written(self._core.add(inputs[0], path, names, by_position, options))

    def add_product(
        self,
        name: str,
        function: Callable[[Any], Mapping[str, Any]],
        columns: Sequence[str],
        *,
        step_size: int | str = "50 MB",
        **writing: Unpack[WritingKeywords],
    ) -> Written:
        """Adds a product that is computed from columns; a product with the same name is replaced.

        >>> with sapwood.recreate("events.root") as file:
        ...     file["Events"] = {"met": np.array([10.0, 20.0, 30.0])}
        >>> dataset = sapwood.stripe.create("derived", "events.root:Events")
        >>> dataset.add_product("Scaled", lambda events: {"Scaled_met": 2 * events["met"]}, ["met"]).version
        3
        >>> dataset.tree()["Scaled_met"].array(library="np")
        array([20., 40., 60.])

        The version records its provenance: the version that was read, the columns, the function's name and
        a checksum of its source.

        Args:
            name: name of the product. The names of its columns are ``name``, or begin with ``name_``.
            function: takes the columns of some entries as an Awkward array, and returns a dict of arrays,
                one for each new column, with as many entries.
            columns: the columns that the function takes.
            step_size: memory of the columns in one call, or a number of entries.
            writing: as in :func:`create`.

        Raises:
            UsageError: if a column has another name.
        """
        columns = check_texts("columns", columns)
        version = self.version()
        tree = self.tree(version)
        path = str(self.describe(version, sizes=False)["tree"])
        writing["parameters"] = {
            "product": name,
            "columns": ",".join(columns),
            "function": function_name(function),
            "from": f"{self.url}@v{version}",
            **(writing.get("parameters") or {}),
        }
        with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
            made = os.path.join(folder, "product.root")
            write_product(made, path, name, function, tree, columns, step_size)
            return self.add(f"{made}:{path}", by_position=True, **writing)

    def add_base(self, url: str, who: str | None = None) -> int:
        """Makes a version with another location for objects of the dataset; returns its number.

        The option ``bases`` of opening says how to access that location; no credentials are stored.
        """
        if _core.redact(check_text("url", url)) != url:
            raise UsageError(f"the URL {_core.redact(url)} contains secrets, which a dataset never stores")
        with core_errors():
            return int(self._core.add_base(url.rstrip("/"), who))

    def drop(self, *products: str | Sequence[str], who: str | None = None) -> int:
        """Makes a version without some products, given by name or in lists; returns its number.

        Earlier versions keep them.

        Raises:
            KeyInFileError: if there is no such product.
            ConflictError: if another writer changed the same product in the meantime.
        """
        names = [name for one in products for name in check_texts("products", one)]
        with core_errors():
            return int(self._core.drop(names, who))

    def restore(self, version: int | str, who: str | None = None) -> int:
        """Makes a new version with the content of an earlier one; returns its number."""
        with core_errors():
            return int(self._core.restore(self.version(version), who))

    def tag(self, name: str, version: int | str | None = None) -> int:
        """Gives a version a name, and returns its number. It does not expire; a name is never reused."""
        with core_errors():
            return int(self._core.tag(name, version_name(version)))

    def untag(self, name: str) -> None:
        """Deletes a tag. Its name cannot be used again."""
        with core_errors():
            self._core.untag(name)

    def tags(self) -> dict[str, int]:
        """The tags, and the numbers of their versions."""
        with core_errors():
            return dict(self._core.tags())

    def verify(self, version: int | str | None = None, *, fraction: float = 1.0, seed: int = 0) -> Verified:
        """Reads the objects of a version, and compares all checksums.

        Args:
            version: by default the newest.
            fraction: the fraction of objects that is read, drawn at random.
            seed: for the random draw.
        """
        with core_errors():
            objects, size, skipped, wrong = self._core.verify(version_name(version), fraction, seed)
        return Verified(objects, size, skipped, tuple(Wrong(*one) for one in wrong))

    def expire(self, *, newest: int | None = None, days: float | None = None, dry_run: bool = False) -> int:
        """Expires old versions, and returns the number of the oldest remaining one.

        Tagged versions do not expire. Nothing is deleted before :meth:`gc`.

        Args:
            newest: the number of versions to keep.
            days: keep the versions that were the newest within this many days.
            dry_run: only return the number.
        """
        if newest is None and days is None:
            hint = "give --newest N or --days N (newest= or days= in Python)"
            raise UsageError(f"say which versions to keep: {hint}", hint=hint)
        within = None if days is None else check_number("days", days) * 86400
        with core_errors():
            return int(self._core.expire(newest, within, dry_run))

    def gc(self, *, dry_run: bool = True, grace_days: float | None = None, alone: bool = False) -> Collected:
        """Deletes objects that no version needs: those of expired versions and of interrupted writers.

        Args:
            dry_run: only report what would be deleted; this is the default.
            grace_days: younger objects are kept; by default seven days.
            alone: asserts that no other process is using the dataset, so that a shorter grace is safe.
        """
        grace = None if grace_days is None else check_number("grace_days", grace_days) * 86400
        with core_errors():
            objects, size, kept = self._core.gc(grace, dry_run, alone)
        return Collected(tuple(objects), size, kept)

    def select(self, mask: Any, *, version: int | str | None = None) -> list[tuple[int, int]]:
        """The ranges of entries whose luminosity blocks are in a mask; see :func:`sapwood.stripe.select`."""
        return select(self._where, mask, version=version, log=self._log, **self._reopen_options())

    def find(self, run: int, lumi: int, event: int, *, version: int | str | None = None) -> list[int]:
        """The entries of an event; see :func:`sapwood.stripe.find`."""
        wanted = [(run, lumi, event)]
        (entries,) = find(self._where, wanted, version=version, log=self._log, **self._reopen_options())
        return entries

    def export(self, target: Any, *, version: int | str | None = None, **chosen: Any) -> Exported:
        """Writes a version to a ROOT file, with all objects of the files that it was made from.

        Args:
            target: a local path, a URL in an object store, or an object with ``write`` and ``seek``.
            version: by default the newest.
            **chosen: the selection and the layout: ``keep``, ``drop``, ``cut``, ``entry_start``,
                ``follow``, ``compression``, … as in :func:`sapwood.repack`; also ``overwrite``. Default:
                everything, unchanged.
        """
        tree = self.tree(version)
        with tree.file as file:
            report = repack(file, target, **{"threads": self._options.threads, **chosen})
            return Exported(report.bytes, report.trees[str(file.dataset_tree)], report.notes)

    def copy_to(self, url: str | os.PathLike[str]) -> tuple[int, int]:
        """Copies all versions to another location; returns the copied objects and bytes."""
        with core_errors():
            opened = self._options
            place = place_of(check_name(url, DATASET))
            other = _core.Stripes(place, opened.deadline, opened.for_core(), None)
            objects, size, _ = self._core.copy(other)
        return int(objects), int(size)

    def _tree_path(self) -> str:
        """The path of the dataset's tree."""
        return str(self.describe(sizes=False)["tree"])

    def _reopen_options(self) -> dict[str, Any]:
        """The options for opening the dataset again."""
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
    """Creates a dataset from the trees of files, in their order; each file becomes a segment.

    >>> with sapwood.recreate("events.root") as file:
    ...     file["Events"] = {"met": np.array([10.0, 20.0, 30.0])}
    >>> dataset = sapwood.stripe.create("ttbar", "events.root:Events")
    >>> sapwood.open("ttbar").num_entries
    3

    Args:
        url: a directory, or a prefix in a bucket such as ``"s3://bucket/ttbar"``.
        sources: a path or URL, such as ``"nano.root:Events"``, a glob, or a list of them; also other
            datasets, whose segments are copied one by one. RNTuples become trees first, in a temporary file.
        tree: the path of the tree, if the sources do not name it.
        keep, drop: names, globs or ``"/regex/"`` of branches to write, and of branches not to write.
            A branch includes its sub-branches and its counter.
        cut: an expression; only entries for which it is true are written. All other objects are copied.
        log: the location of the log, if it should not be beside the objects.
        deadline: seconds for the whole call; by default an hour.
        threads: number of threads. Default: as in :func:`sapwood.open`.
        compression: of all baskets; by default ``"zstd:5"``.
        stripe_size: size of an object, in bytes that its content takes in the source; by default ``"1 MiB"``.
        batch: entries of a batch, at whose borders all products start a new stripe; by default about 32 MB,
            in whole clusters.
        group: whether small products share objects.
        pad: the size to which the store rounds objects up, in bytes.
        statistics: whether each stripe records the range of its values, so that cuts can skip it.
        who: the author, which the version records.
        job: name and attempt of a job; a job is committed only once.
        parameters: other information for the version to record.
        options: for the sources and the store, as in :func:`sapwood.open`.

    Raises:
        UsageError: if there already is a dataset with entries, or no tree is named.
        UnsupportedTypeError: if the trees differ or cannot be split, or the store cannot hold a dataset.
    """
    opening, place = open_options(deadline, threads, options, create), place_of(check_dataset(url))
    opened = Sources(sources, opening)
    path = tree or opened.tree or opened.first().dataset_tree
    if not isinstance(path, str):
        raise UsageError("no tree is named: write 'file.root:Events' (or give tree= in Python)")
    if isinstance(log, (str, os.PathLike)):
        # The database records the name of the dataset first, so make sure that the tree exists.
        with opened.core_errors():
            opened.first().item(path)
    database = log_of(log, place, opening, tree=path)
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
        parameters={**recorded_selection(keep, drop, cut), **checked_parameters(parameters)},
        **(opened.chosen(path, keep, drop, cut) if cut is not None or any((keep, drop)) else {}),
    )
    with opened.core_errors():
        dataset._core.create(path, opened.inputs, writing)
    return dataset


def open(
    url: str | os.PathLike[str],
    *,
    log: Log = None,
    deadline: float | None = None,
    threads: int | None = None,
    _exists: bool = True,
    **options: Unpack[DatasetKeywords],
) -> Dataset:
    """Opens an existing dataset for changes and maintenance; to read it, use :func:`sapwood.open`.

    A dataset in your catalogue can be given by name: ``"catalog:ttbar"``.

    Raises:
        FileNotFoundError: if there is no dataset.
    """
    opening = open_options(deadline, threads, options)
    if isinstance(url, str) and url.startswith(CATALOGUED):
        url, known = catalogued(url)
        log = log or known
    place = place_of(url)
    database = log_of(log, place, opening)
    with core_errors():
        core = _core.Stripes(place, opening.deadline, opening.for_core(), database)
        if _exists:
            core.version("latest")
    return Dataset(core, place, opening, database)
