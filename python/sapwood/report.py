"""Where a batch of arrays came from (:class:`Report`), and what reading a file cost (:class:`ReadReport`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .file import File
    from .tree import Tree


@dataclass(frozen=True)
class Report:
    """The entries of one batch of :func:`sapwood.iterate`.

    Attributes:
        tree: the tree that was read.
        tree_entry_start: first entry of the batch, counted in this tree.
        tree_entry_stop: one after its last entry, counted in this tree.
        global_offset: entries in the trees before this one.
    """

    tree: Tree
    tree_entry_start: int
    tree_entry_stop: int
    global_offset: int = 0

    @property
    def source(self) -> Tree:
        """The same as ``tree``."""
        return self.tree

    @property
    def file(self) -> File:
        """The file of the tree."""
        return self.tree.file

    @property
    def file_path(self) -> str:
        """The path or URL of the file, without secrets."""
        return self.tree.file.file_path

    @property
    def global_entry_start(self) -> int:
        """First entry of the batch, counted through all files."""
        return self.tree_entry_start + self.global_offset

    @property
    def global_entry_stop(self) -> int:
        """One after the last entry of the batch, counted through all files."""
        return self.tree_entry_stop + self.global_offset

    @property
    def start(self) -> int:
        """The same as ``global_entry_start``."""
        return self.global_entry_start

    @property
    def stop(self) -> int:
        """The same as ``global_entry_stop``."""
        return self.global_entry_stop

    def to_global(self, global_offset: int) -> Report:
        """The same entries with another global offset."""
        return Report(self.tree, self.tree_entry_start, self.tree_entry_stop, global_offset)

    def __repr__(self) -> str:
        source = f"{self.file_path}:{self.tree.object_path}"
        return f"<Report start={self.start} stop={self.stop} source={source!r}>"


@dataclass(frozen=True)
class ReadReport:
    """What reading a file has cost since it was opened.

    Attributes:
        file_path: path or URL, without secrets.
        requests: messages to the server, or calls to the operating system.
        ranges: byte ranges asked for in them.
        turnarounds: times that a request had to wait for the answer to another.
        wanted_bytes: bytes that were needed.
        fetched_bytes: bytes that were read.
        overread_bytes: bytes that were read and not needed: the price of fewer requests.
        unplanned_reads: reads that no plan had foreseen; always 0.
        baskets: baskets decoded.
        decompressed_bytes: bytes after decompression.
        wait_seconds: time in which nothing could be done but wait for data.
        decode_seconds: processor time in decompression and decoding, all threads together.
    """

    file_path: str
    requests: int
    ranges: int
    turnarounds: int
    wanted_bytes: int
    fetched_bytes: int
    overread_bytes: int
    unplanned_reads: int
    baskets: int
    decompressed_bytes: int
    wait_seconds: float
    decode_seconds: float

    @classmethod
    def from_counters(cls, file_path: str, counters: Mapping[str, int]) -> ReadReport:
        """The report of the core's counters."""
        whole = {name: int(counters.get(name, 0)) for name in _WHOLE}
        return cls(
            file_path=file_path,
            wait_seconds=counters.get("wait_ns", 0) / 1e9,
            decode_seconds=counters.get("decode_ns", 0) / 1e9,
            **whole,
        )

    def to_dict(self) -> dict[str, Any]:
        """The numbers by name, fit for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield self.file_path
        for name, value in self.to_dict().items():
            if name != "file_path":
                number = f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
                yield f"  {name.replace('_', ' '):<19} {number:>15}"


_WHOLE = (
    "requests",
    "ranges",
    "turnarounds",
    "wanted_bytes",
    "fetched_bytes",
    "overread_bytes",
    "unplanned_reads",
    "baskets",
    "decompressed_bytes",
)
