"""One run of a chain, in this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ... import _core
from ...errors import KeyInFileError, UsageError
from ...errors.core import core_errors
from ...model.directory import split_cycle
from ...model.file import File
from ...model.tree import Tree
from ...opening.single import open_spec
from ...options.compression import Compression
from ...options.memory import memory_size
from ...options.outputs import FLAT as FLAT_FILE
from ...options.outputs import ROOT, check_dataset, check_output, refuse_inputs
from ...options.paths import is_url, single_file
from ...options.reading import open_options

EMPTY = "empty:"
FLAT = ".pds"
Chain = Literal["read", "full"]


@dataclass(frozen=True)
class ChainReport:
    """What a chain did.

    Attributes:
        events, batches: what went through it.
        columns: branches that have data.
        decoded_columns: those of which the values were deserialised.
        encoded_columns: those of which the values were serialised again; all others are passed on as the
            bytes that they came as. 0 of a chain that only reads.
        read_bytes: compressed bytes of the events, as the source has them.
        entry_bytes: bytes of the serialised events.
        value_bytes: bytes of the values in memory.
        written_bytes, written_objects: what went to the output; a file is one object.
        seconds: from when the first events were asked for until the last ones were in their place.
        decompress_seconds, deserialise_seconds, serialise_seconds, compress_seconds: processor time of
            all threads together.
    """

    events: int
    batches: int
    columns: int
    decoded_columns: int
    encoded_columns: int
    read_bytes: int
    entry_bytes: int
    value_bytes: int
    written_bytes: int
    written_objects: int
    seconds: float
    decompress_seconds: float
    deserialise_seconds: float
    serialise_seconds: float
    compress_seconds: float

    @property
    def events_per_second(self) -> float:
        """Events for each second that it took."""
        return self.events / self.seconds if self.seconds else 0.0


def run(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] = "none",
    *,
    chain: Chain = "full",
    lanes: int = 1,
    threads: int | None = None,
    batch: int = 144,
    stripe_size: int | str | None = None,
    group: bool = True,
    compression: Compression | str | int | None = None,
    entries: int | None = None,
    overwrite: bool = False,
    deadline: float | None = None,
    **options: Any,
) -> ChainReport:
    """Takes events through the chain: read, decompress, deserialise; if it is full, also serialise,
    compress, write.

    What comes out has the bytes that went in: only the events of the tree, nothing that is beside it.

    Args:
        source: a file or URL and the tree in it, a dataset of stripes, a flat file (``.pds``), or
            ``"empty:1000"``: so many events without columns.
        output: ``"none"``, ``"sink"`` (stripes, of which every PUT is accepted and nothing kept), a ROOT file
            (``.root``), a flat file (``.pds``), or where a new dataset of stripes is to be.
        chain: ``"read"`` stops when the values are there; it has no output.
        lanes: batches of events that are worked on at the same time.
        threads: that the lanes share. Default: as in :func:`sapwood.open`.
        batch: events of a batch.
        stripe_size: bytes of the objects of a dataset, as the source has them, such as
            ``"512 kB"``; by default 1 MiB.
        group: whether small products share objects.
        compression: such as ``"zstd:4"``; by default ZSTD, level 5.
        entries: events that are taken at most.
        overwrite: whether an existing file is replaced; a dataset never is.
        deadline: seconds that it may take; by default a year.
        options: those of :func:`sapwood.open`.

    Raises:
        UsageError: the arguments make no sense, the output is the source, or it exists: a file without
            ``overwrite``, or a dataset.
        UnsupportedTypeError: something in the source cannot be carried.
    """
    opened = open_options(deadline, threads, options)
    kind, place = check_place(output, [source, options.get("replicas")], overwrite, opened.deadline)
    if chain not in ("read", "full"):
        raise UsageError(f"chain is 'read' or 'full', not {chain!r}")
    running = _core.ChainOptions(
        full=chain == "full",
        lanes=lanes,
        threads=opened.threads,
        batch=batch,
        entries=entries,
        compression=None if compression is None else Compression.of(compression).code,
        stripe_size=None if stripe_size is None else memory_size(stripe_size),
        group=group,
    )
    text = os.fspath(source)
    kept: Tree | None = None
    if text.startswith(EMPTY):
        core: Any = _events(text)
    elif text.endswith(FLAT):
        core = ("flat", text if is_url(text) else os.path.expanduser(text))
    else:
        kept = _tree(open_spec(single_file(source), opened))
        core = (kept.file._core, split_cycle(kept.object_path)[0])
    try:
        with core_errors():
            done = _core.chain(
                core, (kind, place), running, deadline=opened.deadline, options=opened.for_core()
            )
    finally:
        if kept is not None:
            kept.file.close()
    return ChainReport(**done)


def check_place(
    output: str | os.PathLike[str], inputs: Sequence[Any], overwrite: bool, deadline: float | None
) -> tuple[str, str]:
    """The kind of an output, and where it is; checked, so that no file is lost.

    >>> check_place("none", [], False, None), check_place("s3://bucket/set", [], False, None)
    (('none', ''), ('stripes', 's3://bucket/set'))
    """
    text = os.fspath(output)
    if text in ("none", "sink"):
        return text, ""
    if text.partition(",")[0] in ("none", "sink"):
        raise UsageError(f"an output is one place, not {text!r}: give several one by one")
    if text.endswith((".root", FLAT)):
        kind, what = ("root", ROOT) if text.endswith(".root") else ("flat", FLAT_FILE)
        place = check_output(text, what, inputs=inputs, overwrite=overwrite, remote=True, deadline=deadline)
        return kind, place
    place = check_dataset(text)
    refuse_inputs(place, inputs)
    return "stripes", place


def _events(text: str) -> int:
    number = text.removeprefix(EMPTY)
    if not (number.isascii() and number.isdecimal()):
        raise UsageError(f"an empty source is empty:1000, for 1000 events, not {text!r}")
    return int(number)


def _tree(found: Any) -> Tree:
    """The tree that was named; of a file, its only one."""
    if isinstance(found, Tree):
        return found
    if isinstance(found, File):
        trees = {key.path for key in found.all_keys if key.class_name in ("TTree", "TNtuple", "TNtupleD")}
        if len(trees) == 1:
            return found.tree_at(trees.pop())
        found.close()
        raise KeyInFileError(f"there are {len(trees)} trees in {found.file_path}: name one after a colon")
    raise UsageError(f"{found!r} is no tree")
