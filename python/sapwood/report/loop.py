"""What a loop over many files has done (:class:`LoopReport`), and the entries that it lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..display.notebook import notebook_table
from ..display.printable import printable, shows_printable
from ..display.units import counted, human_bytes, human_seconds


@dataclass(frozen=True)
class LostFile:
    """A file that a loop skipped, or whose rest it skipped, because of an error.

    Attributes:
        file_path: its path or URL, without passwords, tokens and query values.
        entries: number of entries that were lost; None if the file was never open, so the number is unknown.
        code: the code of the error, such as "corrupt" or "timeout": see :mod:`sapwood.errors`.
        message: the message of the error.
    """

    file_path: str
    entries: int | None
    code: str
    message: str

    @shows_printable
    def __str__(self) -> str:
        lost = "an unknown number of entries" if self.entries is None else _entries(self.entries)
        return f"{self.file_path}: lost {lost} ({self.code}: {self.message})"


@dataclass(frozen=True)
class LoopReport:
    """What a loop over many files has done so far. If it was resumed, earlier runs are included, except in
    bytes and times.

    Attributes:
        files: number of files that the loop is over.
        done_files: number of files that it has left, in whatever way.
        missing_files: number of those that it skipped because they lack the tree or a column
            (``allow_missing=True``).
        entries: number of entries that the loop's body has finished.
        lost: the files that were skipped (``on_error="skip"``).
        schemas: for loops that read columns as they are touched, the number of files by the name of the tree
            and the schema: the names and types of its branches.
        differences: how trees of another schema differ from the first, in words.
        fetched_bytes: bytes that were read.
        seconds: time since the loop began.
        wait_seconds: the part of it in which the loop's body waited for entries.
    """

    files: int
    done_files: int = 0
    missing_files: int = 0
    entries: int = 0
    lost: tuple[LostFile, ...] = ()
    schemas: Mapping[tuple[str, str], int] | None = None
    differences: tuple[str, ...] = ()
    fetched_bytes: int = 0
    seconds: float = 0.0
    wait_seconds: float = 0.0

    @property
    def lost_entries(self) -> int:
        """The number of entries that are known to be lost. Those of files that never opened are not."""
        return sum(one.entries or 0 for one in self.lost)

    @property
    def unknown_files(self) -> int:
        """The number of lost files whose number of entries is unknown."""
        return sum(one.entries is None for one in self.lost)

    def to_dict(self) -> dict[str, Any]:
        """All figures by name, fit for JSON."""
        document = {name: value for name, value in vars(self).items() if name not in ("lost", "schemas")}
        schemas = [
            {"tree": tree, "schema": schema, "files": files}
            for (tree, schema), files in (self.schemas or {}).items()
        ]
        return document | {
            "differences": list(self.differences),
            "lost": [asdict(one) for one in self.lost],
            "lost_entries": self.lost_entries,
            "unknown_files": self.unknown_files,
            "schemas": schemas,
        }

    def _repr_html_(self) -> str:
        rows = [
            ("files", f"{self.done_files:,} of {self.files:,}"),
            ("files without the tree or a column", f"{self.missing_files:,}"),
            ("entries", f"{self.entries:,}"),
            ("lost entries", f"{self.lost_entries:,}"),
            ("bytes read", human_bytes(self.fetched_bytes)),
            ("time", human_seconds(self.seconds)),
            ("waiting", human_seconds(self.wait_seconds)),
            *(("lost", str(one)) for one in self.lost),
            *(("schema", one) for one in self.differences),
        ]
        return notebook_table("Loop over files", ["measure", "value"], rows)

    def __str__(self) -> str:
        lines = [
            f"{_entries(self.entries)} of {self.done_files:,} of {counted(self.files, 'file')}, "
            f"{human_bytes(self.fetched_bytes)} in {human_seconds(self.seconds)}, "
            f"of which {human_seconds(self.wait_seconds)} waiting"
        ]
        if self.missing_files:
            lines.append(f"{counted(self.missing_files, 'file')} skipped: no such tree or column")
        if self.lost:
            unknown = f", and those of {counted(self.unknown_files, 'file')}" if self.unknown_files else ""
            lines.append(f"lost {_entries(self.lost_entries)}{unknown}:")
            lines += [f"  {one}" for one in self.lost]
        if len(self.schemas or ()) > 1:
            lines.append(f"{len(self.schemas or ())} schemas:")
            lines += [f"  {one}" for one in self.differences]
        return "\n".join(map(printable, lines))


def _entries(number: int) -> str:
    return counted(number, "entry", "entries")
