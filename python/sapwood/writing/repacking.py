"""Files out of files: repacked, slimmed, skimmed, merged; whatever is in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from .. import _core
from ..errors import KeyInFileError, UsageError
from ..errors.core import core_errors
from ..integrations.edm.processes import metadata_branch
from ..model.directory import TREE_CLASSES, split_cycle
from ..model.file import File
from ..model.tree import Tree
from ..opening.single import core_input, is_dataset_tree, open_spec
from ..options.compression import Compression
from ..options.memory import memory_size
from ..options.outputs import ROOT, check_output, refuse_inputs
from ..options.paths import several_files, single_file
from ..options.reading import OpenOptions, open_options
from ..query.filters import Filter, text_filter
from .runs import followers, runs_of

CMS_SETS = ("MetaData", "ParameterSets", "Parentage")
"""Trees of CMS files that say how all that is in the file was made: files of one job have the same ones."""

INDEX_NOTE = (
    "CMSSW finds events by the index in the first entry of 'MetaData', which is that of {}: cmsRun would "
    "not process the events of this file rightly, and what it is to read must be written by cmsRun"
)


@dataclass(frozen=True)
class RepackReport:
    """What was written.

    Attributes:
        bytes: size of the new file.
        trees: entries of each tree, by its path.
        copied_baskets: baskets that were copied as they were.
        recompressed_baskets: baskets that were compressed anew, with the same entries.
        cut_baskets: baskets that were cut anew.
        objects: other objects, copied.
        sums: histograms that are sums of several.
        decompress_seconds, compress_seconds: processor time of all threads together for that.
        notes: what is not as one might expect, such as objects of which the first was kept.
    """

    bytes: int
    trees: Mapping[str, int]
    copied_baskets: int
    recompressed_baskets: int
    cut_baskets: int
    objects: int
    sums: int
    decompress_seconds: float
    compress_seconds: float
    notes: tuple[str, ...] = ()


def repack(
    source: Any,
    target: Any,
    *,
    compression: Compression | str | int | None = None,
    basket_size: int | str | None = None,
    cluster_size: int | str | None = None,
    cluster_entries: int | None = None,
    keep: Filter = None,
    drop: Filter = None,
    cut: str | None = None,
    entries: tuple[int | None, int | None] | None = None,
    follow: bool = False,
    tree: str | None = None,
    trees: Sequence[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    deadline: float | None = None,
    **options: Any,
) -> RepackReport:
    """Writes a file or a dataset anew: in another layout, with fewer branches or entries; trees of any class.

    Entries are carried as bytes, so that no branch needs to be understood. Everything else in the file comes
    along. What is not asked for stays as it is: without options, baskets are copied as they are.

    Args:
        source: a path or URL, or an open :class:`sapwood.File`; also that of a dataset, or its open tree: a
            ROOT file comes of it. It must not be the target.
        target: a local path, a URL of an object store, or an object with ``write`` and ``seek``. The file is
            there when it is complete. A run of more than ten seconds that was killed, or failed for a reason
            that may pass, is gone on with by the same call (but not in an object); the notes say so.
        compression: of all baskets, such as ``"zstd:5"``, ``"none"`` or ROOT's number.
        basket_size: bytes of a basket before compression, such as ``"256 KiB"``.
        cluster_size: bytes of a cluster as they are stored in the source, such as ``"20 MB"``.
        cluster_entries: entries of a cluster, instead.
        keep, drop: names, globs or ``"/regex/"`` of branches of ``tree`` to write, and not to write. Branches
            come with those in them and those that count them.
        cut: an expression; entries of ``tree`` are written for which it is true.
        entries: the range of entries of ``tree`` that is written: start and stop, as in a slice.
        follow: with ``cut`` or ``entries`` of a CMS file: write only those entries of the trees ``Runs`` and
            ``LuminosityBlocks`` that chosen entries belong to. Default: all, as sums over what was processed
            need them.
        tree: the path of the tree that these are about. Default: that of the dataset; of a file, the one with
            the most bytes.
        trees: paths of the trees that are written. Default: all.
        overwrite: whether an existing target is replaced, once the new file is complete.
        threads: threads that work. Default: as in :func:`sapwood.open`.
        deadline: seconds that the whole may take. Default: 30 days, and an hour for each step of it.
        options: those of :func:`sapwood.open`.

    Raises:
        UsageError: if the target is the source, exists without ``overwrite``, or has the suffix of another
            format; or if no branch is left.
        UnsupportedTypeError: for what cannot be carried, such as an RNTuple.
    """
    opened = open_options(deadline, threads, options)
    target = _checked(target, [source, options.get("replicas")], overwrite, opened)
    with _opened(source, opened) as file:
        _refuse_sources(target, [file])
        choices = []
        if any(option is not None for option in (keep, drop, cut, entries)):
            path, main = _main_tree(file, tree, trees)
            ranges = ranges_of(main, cut, entries)
            choices = [(path, branches_of(main, keep, drop), None if ranges is None else [ranges])]
            if follow and ranges is not None:
                followed = followers(file, main, path, ranges)
                choices += [
                    (place, None, [own]) for place, own in followed if trees is None or place in trees
                ]
        layout = _layout(compression, basket_size, cluster_size, cluster_entries)
        # A dataset is written as the files that it was made of are merged.
        layout["sets"] = list(CMS_SETS)
        report = _written([file._core], target, choices, layout, trees, opened)
        chosen = any(ranges is not None for _, _, ranges in choices)
        return _told(report, file, "the source") if chosen else report


def merge(
    sources: Any,
    target: Any,
    *,
    compression: Compression | str | int | None = None,
    basket_size: int | str | None = None,
    cluster_size: int | str | None = None,
    cluster_entries: int | None = None,
    schema: Literal["strict", "intersection"] = "strict",
    sets: Sequence[str] = CMS_SETS,
    trees: Sequence[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    deadline: float | None = None,
    **options: Any,
) -> RepackReport:
    """Writes several files, or datasets, into one: trees of the same path are joined, in their order.

    Compression and baskets stay as they are unless something else is asked for. Histograms and profiles of
    the same path and binning are added; of other objects that are in several files, the first is
    kept, and the report says so. Few files are open at the same time.

    Args:
        sources: paths or URLs, or globs of them; also of datasets.
        schema: what to do where the branches of trees differ: ``"strict"`` fails and says where,
            ``"intersection"`` writes those that all have, of the same type, and notes the others.
        sets: paths of trees that describe what was processed: of files that have the same entries in one,
            those of the first are written. Default: those of CMS.
        target, compression, basket_size, cluster_size, cluster_entries: as in :func:`repack`.
        trees, overwrite, threads, deadline, options: as in :func:`repack`.

    Raises:
        UsageError: if the target is one of the sources, exists without ``overwrite``, or has the suffix of
            another format.
        UnsupportedTypeError: if trees differ, or for what cannot be carried.
    """
    if schema not in ("strict", "intersection"):
        raise UsageError(f"schema is 'strict' or 'intersection', not {schema!r}")
    opened = open_options(deadline, threads, options)
    specs = several_files(sources, opened.deadline, opened.for_core())
    target = _checked(target, [*(spec.file for spec in specs), options.get("replicas")], overwrite, opened)
    inputs = [core_input(spec, opened) for spec in specs]
    layout = _layout(compression, basket_size, cluster_size, cluster_entries)
    layout |= {"intersection": schema == "intersection", "sets": list(sets)}
    report = _written(inputs, target, [], layout, trees, opened)
    if len(specs) == 1 or "MetaData" not in report.trees:
        return report
    with _opened(specs[0].file, opened) as first:
        return _told(report, first, "the first file")


def _written(
    inputs: list[Any],
    target: Any,
    choices: list[Any],
    layout: dict[str, Any],
    trees: Sequence[str] | None,
    options: OpenOptions,
) -> RepackReport:
    name = str(getattr(target, "name", "file.root"))
    if isinstance(target, str):
        name = os.path.basename(target)
    with core_errors():
        told = _core.repack(
            inputs,
            target,
            name,
            choices=choices,
            trees=None if trees is None else list(trees),
            threads=options.threads,
            deadline=options.deadline,
            **layout,
        )
    seconds = {f"{work}_seconds": told.pop(f"{work}_ns") / 1e9 for work in ("decompress", "compress")}
    told["trees"], told["notes"] = dict(told["trees"]), tuple(told["notes"])
    return RepackReport(**told, **seconds)


def _told(report: RepackReport, file: File, whose: str) -> RepackReport:
    """The report of what has not the entries of ``file``, of which it has the index that EDM files have."""
    if "MetaData" not in report.trees or metadata_branch(file, "IndexIntoFile") is None:
        return report
    return replace(report, notes=(*report.notes, INDEX_NOTE.format(whose)))


def _layout(
    compression: Compression | str | int | None,
    basket_size: int | str | None,
    cluster_size: int | str | None,
    cluster_entries: int | None,
) -> dict[str, Any]:
    """What is asked for, in the words of the core."""
    layout: dict[str, Any] = {}
    if compression is not None:
        layout["compression"] = Compression.of(compression).code
    if basket_size is not None:
        size = memory_size(basket_size)
        if not 0 < size < 1 << 30:
            raise UsageError(f"a basket of {basket_size} bytes makes no sense: ROOT allows up to 1 GiB")
        layout["basket_size"] = size
    if cluster_size is not None and cluster_entries is not None:
        raise UsageError("give cluster_size or cluster_entries, not both")
    unit, asked = ("bytes", cluster_size) if cluster_entries is None else ("entries", cluster_entries)
    if asked is not None:
        size = memory_size(asked)
        if size < 1:
            raise UsageError(f"a cluster of {asked} {unit} makes no sense")
        layout["cluster"] = (unit, size)
    return layout


class _opened:
    """A context with an open file, which is closed at its end if it was opened here."""

    def __init__(self, source: Any, options: OpenOptions) -> None:
        self._own = not isinstance(source, (File, Tree))
        found: Any = open_spec(single_file(source), options) if self._own else source
        if is_dataset_tree(found):
            found = found.file
        self._file: File = found
        if not isinstance(found, File):
            if self._own:
                found.file.close()
            raise UsageError(
                f"{source!r} is not a file as a whole",
                hint="name the tree with tree=, or trees= for it alone",
            )

    def __enter__(self) -> File:
        return self._file

    def __exit__(self, *_: object) -> None:
        if self._own:
            self._file.close()


def _checked(target: Any, sources: Sequence[Any], overwrite: bool, options: OpenOptions) -> Any:
    """The target, which may be written: a path, a URL, or a file object."""
    if not isinstance(target, (str, os.PathLike)):
        _refuse_sources(target, sources)
        return target
    return check_output(
        target, ROOT, inputs=sources, overwrite=overwrite, remote=True, deadline=options.deadline
    )


def _refuse_sources(target: Any, sources: Sequence[Any]) -> None:
    """Raises a UsageError if the target is a source."""
    name = target if isinstance(target, str) else getattr(target, "name", None)
    if isinstance(name, str):
        refuse_inputs(name, sources)


def _main_tree(file: File, name: str | None, trees: Sequence[str] | None) -> tuple[str, Tree]:
    """The tree of a path; by default, of those that are written, the one with the most bytes."""
    if name is not None:
        path = split_cycle(name)[0]
        return path, file.tree_at(path)
    main = file.dataset_tree
    if main is not None and (trees is None or main in trees):
        return main, file.tree_at(main)
    classes = file.classnames(recursive=True, cycle=False)
    paths = [path for path, class_name in classes.items() if class_name in TREE_CLASSES]
    found = [(path, file.tree_at(path)) for path in paths if trees is None or path in trees]
    if not found:
        raise KeyInFileError(f"there is no tree in {file.file_path}", url=file.file_path)
    return max(found, key=lambda pair: pair[1].compressed_bytes)


def branches_of(tree: Tree, keep: Filter, drop: Filter) -> list[str] | None:
    """Paths of the branches to write, or None for all."""
    if keep is None and drop is None:
        return None
    keeps, drops = text_filter(keep), text_filter(drop)
    paths = []
    for branch in tree.core.branches:
        names = set(_names(branch.path))
        kept = keeps is None or any(map(keeps, names))
        if kept and not (drops is not None and any(map(drops, names))):
            paths.append(branch.path)
    if drops is not None:
        # A branch that loses one of those in it is not asked for as a whole: what is left in it is.
        lost = {branch.path for branch in tree.core.branches} - set(paths)
        paths = [path for path in paths if not any(other.startswith(f"{path}/") for other in lost)]
    if not paths:
        raise UsageError(f"no branch of {tree.object_path!r} is left", hint="see the names with 'sapwood ls'")
    return paths


def _names(path: str) -> Iterator[str]:
    """What a pattern may match of a branch: path and name, of it and of those that it is in."""
    parts = path.split("/")
    for length in range(1, len(parts) + 1):
        yield "/".join(parts[:length])
        yield parts[length - 1]


def ranges_of(
    tree: Tree, cut: str | None, entries: tuple[int | None, int | None] | None
) -> list[tuple[int, int]] | None:
    """The ranges of entries that are written, or None for all."""
    if cut is None and entries is None:
        return None
    start, stop, _ = slice(*(entries or (None, None))).indices(tree.num_entries)
    if cut is None:
        return [(start, max(start, stop))]
    passing = [np.empty(0, np.int64)]
    steps = tree.iterate(
        [cut], step_size="32 MB", entry_start=start, entry_stop=stop, library="np", report=True
    )
    for columns, report in steps:
        values = np.asarray(columns[cut])
        if values.ndim != 1 or values.dtype.kind not in "biuf":
            raise UsageError(f"the cut {cut!r} is not one true or false for each entry")
        passing.append(np.flatnonzero(values) + report.tree_entry_start)
    return runs_of(np.concatenate(passing))
