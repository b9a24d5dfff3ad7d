"""One run of a chain, in this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ... import _core
from ...errors import UsageError
from ...errors.core import core_errors
from ...model.directory import split_cycle
from ...model.tree import Tree
from ...opening.only_tree import only_tree
from ...opening.single import open_spec
from ...options.compression import Compression
from ...options.memory import memory_size
from ...options.outputs import FLAT as FLAT_FILE
from ...options.outputs import ROOT, check_dataset, check_output, refuse_inputs
from ...options.paths import is_url, single_file
from ...options.reading import open_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ...options.keywords import OpenKeywords

EMPTY = "empty:"
FLAT = ".pds"
Chain = Literal["read", "full"]


@dataclass(frozen=True)
class ChainReport:
    """The result of one run of a chain.

    Attributes:
        events, batches: numbers of processed events and batches.
        columns: branches that have data.
        decoded_columns: branches whose values were deserialized.
        encoded_columns: branches whose values were serialized again; the bytes of all others are passed on
            unchanged. 0 if the chain only reads.
        read_bytes: compressed bytes of the events in the source.
        entry_bytes: bytes of the serialized events.
        value_bytes: bytes of the values in memory.
        written_bytes, written_objects: size of the output; a file is one object.
        seconds: from the first request until the last events are written.
        decompress_seconds, deserialise_seconds, serialise_seconds, compress_seconds: CPU time, summed over
            all threads.
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
        """Events per second of wall time."""
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
    **options: Unpack[OpenKeywords],
) -> ChainReport:
    """Processes events: read, decompress, deserialize; a full chain also serializes, compresses and writes.

    The output contains the same values as the source, but only those of the tree, not of other objects.

    Args:
        source: a file or URL and the tree in it, a dataset of stripes, a flat file (``.pds``), or
            ``"empty:1000"`` for 1000 events without columns.
        output: ``"none"``, ``"sink"`` (stripes in a store that accepts and discards every object), a ROOT
            file (``.root``), a flat file (``.pds``), or the location of a new dataset of stripes.
        chain: ``"full"``, or ``"read"``, which ends with the values in memory and has no output.
        lanes: batches of events that are processed at the same time.
        threads: number of threads, which the lanes share. Default: as in :func:`sapwood.open`.
        batch: events per batch.
        stripe_size: size of a dataset's objects, in bytes that their content takes in the source, such as
            ``"512 kB"``; by default 1 MiB.
        group: whether small products share objects.
        compression: such as ``"zstd:4"``; by default ZSTD, level 5.
        entries: the most events to process; by default all.
        overwrite: whether an existing file is replaced; a dataset never is.
        deadline: seconds for the whole call; by default a year.
        options: those of :func:`sapwood.open`.

    Raises:
        UsageError: an argument is invalid, the output is the source, or the output exists: a file without
            ``overwrite``, or a dataset.
        UnsupportedTypeError: the output cannot hold a type of the source.
    """
    opened = open_options(deadline, threads, options, run)
    kind, place = check_place(output, [source, options.get("replicas")], overwrite, opened.deadline)
    if chain not in ("read", "full"):
        raise UsageError(f"chain must be 'read' or 'full', not {chain!r}")
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
        kept = only_tree(open_spec(single_file(source), opened))
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
    """The kind of an output and its location, after a check that no file is lost.

    >>> check_place("none", [], False, None), check_place("s3://bucket/set", [], False, None)
    (('none', ''), ('stripes', 's3://bucket/set'))
    """
    text = os.fspath(output)
    if text in ("none", "sink"):
        return text, ""
    if text.partition(",")[0] in ("none", "sink"):
        raise UsageError(f"an output is one place, not {text!r}; repeat the option for several")
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
        raise UsageError(f"an empty source must be empty:N, such as empty:1000, not {text!r}")
    return int(number)
