"""Rewrites files: repacks, slims, skims and merges them, whatever they contain."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

from .. import _core
from ..display.notebook import notebook_table
from ..errors import KeyInFileError, UsageError
from ..errors.core import core_errors
from ..integrations.edm.processes import metadata_branch
from ..model.directory import TREE_CLASSES, split_cycle
from ..model.file import File
from ..model.tree import Tree
from ..opening.single import core_input, is_dataset_tree, open_with_file
from ..options.compression import Compression
from ..options.memory import memory_size
from ..options.outputs import ROOT, check_output, refuse_inputs
from ..options.paths import FileSpec, several_files, single_file
from ..options.reading import OpenOptions, open_options
from ..query.filters import Filter
from ..query.reading import passing_entries
from ..query.steps import entry_range
from .runs import followed_entries, runs_of
from .selecting import branches_of

CMS_SETS = ("MetaData", "ParameterSets", "Parentage")
"""Trees of CMS files with provenance of the whole file, which are identical in all files of a job."""

INDEX_NOTE = (
    "cmsRun would not process this file correctly: CMSSW finds events by the index in the first entry of "
    "'MetaData', which describes {}. Use cmsRun itself to write files that cmsRun reads"
)


@dataclass(frozen=True)
class RepackReport:
    """The result of :func:`repack` or :func:`merge`.

    Attributes:
        bytes: size of the new file.
        trees: number of entries of each tree, by path.
        copied_baskets: baskets and pages that were copied unchanged.
        recompressed_baskets: baskets and pages that were recompressed with the same entries.
        cut_baskets: baskets that were re-split, with other entries than in the source; pages that were made
            from values.
        objects: other objects that were copied.
        sums: histograms that were added up.
        decompress_seconds, compress_seconds: CPU time, summed over all threads.
        notes: anything unexpected, such as objects of which only the first was kept.
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

    def _repr_html_(self) -> str:
        rows = [
            (name.replace("_", " "), f"{value:,}" if isinstance(value, int) else f"{value:,.3f}")
            for name, value in vars(self).items()
            if isinstance(value, (int, float))
        ]
        rows += [(f"entries of {path}", f"{entries:,}") for path, entries in self.trees.items()]
        return notebook_table("New file", ["measure", "value"], rows, "; ".join(self.notes))


def repack(
    source: Any,
    target: Any,
    *,
    compression: Compression | str | int | None = None,
    basket_size: int | str | None = None,
    cluster_size: int | str | None = None,
    cluster_entries: int | None = None,
    split: int | None = None,
    format: Literal["rntuple", "ttree"] | None = None,
    keep: Filter = None,
    drop: Filter = None,
    cut: str | None = None,
    entry_start: int | None = None,
    entry_stop: int | None = None,
    follow: bool = False,
    tree: str | None = None,
    trees: Sequence[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    deadline: float | None = None,
    **options: Any,
) -> RepackReport:
    """Copies a file or a dataset to a new file, optionally with another layout, fewer branches or entries.

    Entries are copied as bytes, so branches of any type can be repacked. All other objects are copied as
    well. Without options, baskets and pages are copied unchanged.

    RNTuples stay RNTuples, with the types of their fields. Pages are copied where a cluster is selected as a
    whole and keeps its compression; other entries are read, and written to new pages.

    >>> sapwood.repack("in.root", "out.root", keep=["Muon_*"], cut="nMuon >= 2")          # doctest: +SKIP

    Args:
        source: a path or URL, or an open :class:`sapwood.File`. If it is a dataset, or the open tree of one,
            the result is a ROOT file with its content.
        target: a local path, the URL of an object, or an object with ``write`` and ``seek``; not the source.
            The file appears once it is complete. To resume a run that was killed or failed temporarily after
            more than ten seconds, make the same call again; the notes then say so. (A run that writes
            to a Python object, or changes the format or the split level, cannot be resumed.)
        compression: compression of all baskets, such as ``"zstd:5"``, ``"none"`` or ROOT's number. Default:
            unchanged.
        basket_size: bytes of a basket or of a page of an RNTuple, before compression, such as ``"256 KiB"``.
            Default: unchanged; 1 MiB for new pages.
        cluster_size: bytes of a cluster, as compressed in the source, such as ``"20 MB"``; in RNTuples as
            written. Default: unchanged; 128 MiB for new clusters of RNTuples.
        cluster_entries: entries of a cluster, instead of ``cluster_size``.
        split: ROOT's split level of the objects in trees, 0 to 99. With 0, each object is one branch; with 1,
            each of its members; with 99, also the members of its members and of the items of its
            collections. Bytes are moved without being decoded. The new branches come after those that stay.
            Objects that hold pointers, or that nothing describes, keep their branches, and the notes say so.
            Default: unchanged.
        format: ``"rntuple"`` to write trees as RNTuples: their values are read, and become fields of the same
            types. ``"ttree"`` to write RNTuples as trees. Default: unchanged.
        keep, drop: names, globs or ``"/regex/"`` of branches of ``tree`` to copy, and to drop. A branch
            includes its sub-branches and its counter. A projection in an RNTuple gets values of its own if
            its collection is not copied.
        cut: an expression; only entries of ``tree`` for which it is true are copied.
        entry_start, entry_stop: the range of entries of ``tree`` to copy; negative values count from the end.
            Default: all.
        follow: for CMS files with ``cut`` or a range of entries: copy only the entries of the trees ``Runs``
            and ``LuminosityBlocks`` to which selected entries belong. Default: copy all, because they contain
            sums over all processed events.
        tree: the path of the tree to which these options apply. Default: the tree of a dataset; in a file,
            the tree with the most bytes.
        trees: paths of the trees to copy. Default: all.
        overwrite: True to replace an existing target once the new file is complete.
        threads: number of threads. Default: as in :func:`sapwood.open`.
        deadline: seconds that the call may take. Default: 30 days in all, and one hour for each step.
        options: those of :func:`sapwood.open`.

    Raises:
        UsageError: the target is the source, exists (without ``overwrite``), or has the suffix of another
            format; or no branch is left, or a name or glob in ``keep`` or ``drop`` matches none.
        KeyInFileError: the source has no such ``tree``.
        UnsupportedTypeError: the file contains something that cannot be copied, or a field that no tree can
            hold.
        DeadlineError: the deadline passed.
    """
    opened = open_options(deadline, threads, options, repack)
    target = _check_target(target, [source, options.get("replicas")], overwrite, opened)
    with _open_file(source, opened) as file:
        _refuse_sources(target, [file])
        choices = []
        if any(option is not None for option in (keep, drop, cut, entry_start, entry_stop, tree)):
            path, main = _main_tree(file, tree, trees)
            ranges = ranges_of(main, cut, entry_start, entry_stop)
            choices = [(path, branches_of(main, keep, drop), None if ranges is None else [ranges])]
            if follow and ranges is not None:
                followed = followed_entries(file, main, path, ranges)
                choices += [
                    (place, None, [own]) for place, own in followed if trees is None or place in trees
                ]
        layout = _layout(compression, basket_size, cluster_size, cluster_entries, split, format)
        # Exporting a dataset equals merging the files from which it was made.
        layout["sets"] = list(CMS_SETS)
        report = _write([file._core], target, choices, layout, trees, opened)
        is_selection = any(ranges is not None for _, _, ranges in choices)
        return _with_index_note(report, file, "the source") if is_selection else report


def merge(
    sources: Any,
    target: Any,
    *,
    compression: Compression | str | int | None = None,
    basket_size: int | str | None = None,
    cluster_size: int | str | None = None,
    cluster_entries: int | None = None,
    split: int | None = None,
    format: Literal["rntuple", "ttree"] | None = None,
    schema: Literal["strict", "intersection"] = "strict",
    sets: Sequence[str] = CMS_SETS,
    trees: Sequence[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    deadline: float | None = None,
    **options: Any,
) -> RepackReport:
    """Merges several files or datasets into one file: trees with the same path are concatenated, in order.

    By default, compression, baskets and pages stay unchanged. Histograms and profiles with the same path and
    binning are added. If other objects have the same path, the first is kept, and the report says so. Only a
    few files are open at a time.

    >>> sapwood.merge(["a.root", "b.root"], "all.root", compression="zstd:5")          # doctest: +SKIP

    Args:
        sources: paths, URLs or globs of files; also paths or URLs of datasets.
        schema: how to treat trees with different branches: ``"strict"`` raises an error that names the
            difference; ``"intersection"`` copies the branches that all trees have with the same type, and
            lists the others in the notes.
        sets: paths of trees with provenance; entries that several files share are copied once. Default:
            those of CMS.
        target, compression, basket_size, cluster_size, cluster_entries, split, format: as in :func:`repack`.
        trees, overwrite, threads, deadline, options: as in :func:`repack`.

    Raises:
        UsageError: the target is a source, exists (without ``overwrite``), or has the suffix of another
            format.
        UnsupportedTypeError: the trees differ, or a file contains something that cannot be copied.
        DeadlineError: the deadline passed.
    """
    if schema not in ("strict", "intersection"):
        raise UsageError(f"schema must be 'strict' or 'intersection', not {schema!r}")
    opened = open_options(deadline, threads, options, merge)
    specs = several_files(sources, opened.deadline, opened.for_core())
    for spec in specs:
        _require_whole(spec, opened)
    target = _check_target(
        target, [*(spec.file for spec in specs), options.get("replicas")], overwrite, opened
    )
    inputs = [core_input(spec, opened) for spec in specs]
    layout = _layout(compression, basket_size, cluster_size, cluster_entries, split, format)
    layout |= {"intersection": schema == "intersection", "sets": list(sets)}
    report = _write(inputs, target, [], layout, trees, opened)
    if len(specs) == 1 or "MetaData" not in report.trees:
        return report
    with _open_file(specs[0].file, opened) as first:
        return _with_index_note(report, first, "the first file")


def _write(
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
        written = _core.repack(
            inputs,
            target,
            name,
            choices=choices,
            trees=None if trees is None else list(trees),
            threads=options.threads,
            deadline=options.deadline,
            **layout,
        )
    seconds = {f"{work}_seconds": written.pop(f"{work}_ns") / 1e9 for work in ("decompress", "compress")}
    written["trees"], written["notes"] = dict(written["trees"]), tuple(written["notes"])
    return RepackReport(**written, **seconds)


def _with_index_note(report: RepackReport, file: File, whose: str) -> RepackReport:
    """Adds a note if the new file contains the EDM index of ``file``, but other entries."""
    if "MetaData" not in report.trees or metadata_branch(file, "IndexIntoFile") is None:
        return report
    return replace(report, notes=(*report.notes, INDEX_NOTE.format(whose)))


def _layout(
    compression: Compression | str | int | None,
    basket_size: int | str | None,
    cluster_size: int | str | None,
    cluster_entries: int | None,
    split: int | None,
    format: str | None,
) -> dict[str, Any]:
    """The layout options as keyword arguments of the core."""
    if format not in (None, "rntuple", "ttree"):
        raise UsageError(f"format must be 'rntuple' or 'ttree', not {format!r}")
    if split is not None and not 0 <= split <= 99:
        raise UsageError(f"split must be 0 to 99, not {split}")
    if split is not None and format == "rntuple":
        raise UsageError(
            "the fields of RNTuples have no split level: give split or format='rntuple', not both"
        )
    layout: dict[str, Any] = {"format": format, "split": split}
    if compression is not None:
        layout["compression"] = Compression.of(compression).code
    if basket_size is not None:
        size = memory_size(basket_size)
        if not 0 < size < 1 << 30:
            raise UsageError(f"basket_size must be 1 byte to 1 GiB, not {basket_size}")
        layout["basket_size"] = size
    if cluster_size is not None and cluster_entries is not None:
        raise UsageError("give cluster_size or cluster_entries, not both")
    unit, asked = ("bytes", cluster_size) if cluster_entries is None else ("entries", cluster_entries)
    if asked is not None:
        size = memory_size(asked)
        if size < 1:
            raise UsageError(f"a cluster must have at least one entry or byte, not {asked}")
        layout["cluster"] = (unit, size)
    return layout


@contextmanager
def _open_file(source: Any, options: OpenOptions) -> Iterator[File]:
    """The file of a source, which is closed at the end if it was opened here."""
    is_open = isinstance(source, (File, Tree))
    file, found = (source.file, source) if is_open else open_with_file(single_file(source), options)
    try:
        if not (found is file or is_dataset_tree(found)):
            raise UsageError(
                f"{source!r} is an object in a file, but a whole file is required",
                hint="give the file; --tree and --only-tree (tree= and trees= in Python) name its trees",
            )
        yield file
    finally:
        if not is_open:
            file.close()


def _require_whole(spec: FileSpec, options: OpenOptions) -> None:
    """Refuses an object in a file, or some of its entries, in place of a whole file or dataset."""
    if spec.steps is not None:
        raise UsageError(f"'steps' are only for iterate and concatenate (for {spec.file!r})")
    if spec.object_path is not None:
        with _open_file({spec.file: spec.object_path}, options):
            pass


def _check_target(target: Any, sources: Sequence[Any], overwrite: bool, options: OpenOptions) -> Any:
    """The target (a path, a URL, or a file object), after checking that it may be written."""
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
    """The path and the tree to which options apply; by default, of the trees to copy, the largest."""
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
        raise KeyInFileError(f"{file.file_path} has no trees to copy", url=file.file_path)
    return max(found, key=lambda pair: pair[1].compressed_bytes)


@contextmanager
def main_tree(source: Any, name: str | None, **options: Any) -> Iterator[Tree]:
    """The tree of a file to which options apply, as in :func:`repack`, which is closed at the end."""
    with _open_file(source, open_options(None, None, options, repack)) as file:
        yield _main_tree(file, name, None)[1]


def ranges_of(
    tree: Tree, cut: str | None, entry_start: int | None = None, entry_stop: int | None = None
) -> list[tuple[int, int]] | None:
    """The ranges of entries to copy, or None for all."""
    if cut is None and entry_start is None and entry_stop is None:
        return None
    start, stop = entry_range(tree.num_entries, entry_start, entry_stop)
    if cut is None:
        return [(start, stop)]
    return runs_of(passing_entries(tree, cut, start, stop))
