"""Verifies whole files: finds damage, and the entries and branches that are lost because of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import _core
from ..display.notebook import notebook_text
from ..display.printable import printable
from ..display.units import counted
from ..errors import SapwoodError, UsageError
from ..errors.core import core_errors, translated
from ..options.checks import check_texts, check_whole_number
from ..options.paths import CATALOGUED, FileSpec, is_url, several_files
from ..options.reading import OpenOptions, open_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options.keywords import OpenKeywords

Ranges = tuple[tuple[int, int], ...]
"""Entry ranges ``(start, stop)``, ascending and disjoint."""


@dataclass(frozen=True)
class Finding:
    """One problem in a file.

    Attributes:
        damage: True if something cannot be read or contradicts its metadata; False for a note about something
            unusual but harmless.
        code: the kind of damage, as the ``code`` of exceptions: ``"corrupt"``, ``"truncated"``,
            ``"checksum"``, …
        message: a description of the problem.
        offset, length: the damaged record's offset and length in the file, in bytes; None if unknown.
        path: the tree, object or directory, with its cycle; empty for the file itself.
        branch, basket: the path of the branch and the number of its basket; None for anything else.
        page: for an RNTuple, the number of the page, in the order of the file; ``branch`` is then the first
            field that needs it.
        entries: the entries ``(start, stop)`` that are lost, or None.
    """

    damage: bool
    code: str
    message: str
    offset: int | None
    length: int | None
    path: str
    branch: str | None
    basket: int | None
    page: int | None
    entries: tuple[int, int] | None

    @property
    def what(self) -> str:
        """The tree, branch and basket or page, or the object, in words."""
        numbers = {"basket": self.basket, "page": self.page}
        parts = [f"{name} {number}" for name, number in numbers.items() if number is not None]
        return " ".join(part for part in [self.path or "the file", self.branch or "", *parts] if part)

    def __str__(self) -> str:
        where = "" if self.offset is None else f" at byte {self.offset}"
        cost = "" if self.entries is None else f" (entries {self.entries[0]} to {self.entries[1]} are lost)"
        return printable(f"{self.what}{where}: {self.message}{cost}")


@dataclass(frozen=True)
class TreeReport:
    """The result for one tree.

    Attributes:
        path, cycle: its path and cycle.
        entries, branches, baskets: the numbers of its entries, of its branches or fields, and of its baskets
            or pages.
        is_rntuple: whether it is an RNTuple.
        lost: ranges of entries that are lost, by path of the branch.
        lost_in_any: ranges of entries that are lost in at least one branch.
        not_decoded: branches whose type sapwood cannot read, with the reason. Their baskets were
            decompressed, but their values were not checked.
    """

    path: str
    cycle: int
    entries: int
    is_rntuple: bool
    branches: int
    baskets: int
    lost: Mapping[str, Ranges]
    lost_in_any: Ranges
    not_decoded: Mapping[str, str]


@dataclass(frozen=True)
class FileReport:
    """The result for one file.

    Attributes:
        file: its path or URL, without passwords, tokens and query values.
        size: size of the file in bytes.
        checked_bytes: bytes that were read and checked: all of them, unless you chose trees.
        checksummed_bytes: the part of ``checked_bytes`` that a checksum in the file covers. Any change in it
            is found; a change elsewhere is found only if it breaks the structure.
        fetched_bytes: bytes that were requested from the disk or server.
        records, baskets: the numbers of records, and of baskets and pages, that were checked.
        findings: the first findings; ``damage_count`` and ``note_count`` count all of them.
        trees: the result for each tree.
        not_decoded: objects whose type sapwood cannot read, with the reason. Their records were
            decompressed, but their content was not checked.
        error: the reason why the file was not checked completely, such as a missing file, a server error or
            a passed deadline; otherwise None.
        seconds: the time that the check took.
    """

    file: str
    size: int = 0
    checked_bytes: int = 0
    checksummed_bytes: int = 0
    fetched_bytes: int = 0
    records: int = 0
    baskets: int = 0
    findings: tuple[Finding, ...] = ()
    damage_count: int = 0
    note_count: int = 0
    trees: tuple[TreeReport, ...] = ()
    not_decoded: Mapping[str, str] = field(default_factory=dict)
    error: SapwoodError | None = None
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the file was checked completely and is not damaged."""
        return self.error is None and self.damage_count == 0

    @property
    def damage(self) -> tuple[Finding, ...]:
        """The findings that are damage."""
        return tuple(finding for finding in self.findings if finding.damage)


@dataclass(frozen=True)
class VerifyReport:
    """The result of :func:`sapwood.verify`: one report per file."""

    files: tuple[FileReport, ...]

    @property
    def ok(self) -> bool:
        """Whether all files were checked completely and none is damaged."""
        return all(file.ok for file in self.files)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The damage in all files."""
        return tuple(finding for file in self.files for finding in file.damage)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return "\n".join(printable(line) for file in self.files for line in _lines(file))

    def _repr_html_(self) -> str:
        return notebook_text(str(self))


@dataclass(frozen=True)
class VerifyProgress:
    """The progress of a verification.

    Attributes:
        file: the file that is being checked.
        number, files: the number of this file, counted from 1, and the number of all files.
        done, total: the bytes of this file that are checked, and its size.
        damage: the number of findings of damage in it so far.
    """

    file: str
    number: int
    files: int
    done: int
    total: int
    damage: int


def verify(
    files: Any,
    *,
    trees: str | Sequence[str] | None = None,
    threads: int | None = None,
    deadline: float | None = None,
    progress: Callable[[VerifyProgress], None] | None = None,
    most_findings: int = 1000,
    **options: Unpack[OpenKeywords],
) -> VerifyReport:
    """Reads every byte of files once, and checks their structure, checksums and values in bounded memory.

    Damage does not raise an exception. The report lists it, with the offset and the lost entries.

    Args:
        files: a path or URL, a glob, a dict ``{path: tree}``, or a list of these. ``"file.root:Events"``
            checks only that tree.
        trees: paths of the trees to check in every file. Default: whole files.
        threads: number of threads that decompress and decode, as in :func:`sapwood.open`.
        deadline: seconds that one step may take: opening a file, or fetching the next bytes.
        progress: a function that is called with a :class:`VerifyProgress` about ten times a second.
        most_findings: maximum number of findings to keep per file; all findings are counted. Default: 1000.
        options: as in :func:`sapwood.open`.

    Returns:
        A :class:`VerifyReport`, which is true if all files are undamaged. If a file cannot be reached, its
        report has an ``error``.

    Raises:
        UsageError: if a file is a dataset or a file object, or an argument is invalid.

    >>> with sapwood.recreate("checked.root", compression="lz4") as file:
    ...     file["t"] = {"x": np.arange(1000)}
    >>> report = sapwood.verify("checked.root")
    >>> report.ok, report.files[0].trees[0].entries
    (True, 1000)
    >>> with open("checked.root", "r+b") as file:
    ...     _ = file.seek(1000), file.write(bytes(50))
    >>> for finding in sapwood.verify("checked.root").findings:
    ...     print(finding.what, finding.entries)
    t;1 x basket 0 (0, 1000)
    """
    settings = open_options(deadline, threads, options, verify)
    specs = several_files(files, settings.deadline, settings.for_core())
    named = None if trees is None else check_texts("trees", trees)
    most_findings = check_whole_number("most_findings", most_findings)
    reports = []
    for number, spec in enumerate(specs, 1):
        if not isinstance(spec.file, str) or spec.file.startswith(CATALOGUED):
            raise UsageError(
                "verify takes paths and URLs of files; to check a dataset, run 'sapwood stripe verify'"
            )
        callback = None if progress is None else _callback(progress, spec.file, number, len(specs))
        chosen = named if spec.object_path is None else [spec.object_path]
        reports.append(_verify_file(spec, chosen, settings, most_findings, callback))
    return VerifyReport(tuple(reports))


def _callback(
    progress: Callable[[VerifyProgress], None], file: str, number: int, files: int
) -> Callable[[int, int, int], None]:
    """The core's callback for one file."""
    shown = _core.redact(file)
    return lambda done, total, damage: progress(VerifyProgress(shown, number, files, done, total, damage))


def _verify_file(
    spec: FileSpec,
    trees: list[str] | None,
    settings: OpenOptions,
    most_findings: int,
    progress: Callable[[int, int, int], None] | None,
) -> FileReport:
    where = spec.file if is_url(spec.file) else os.path.expanduser(spec.file)
    began = time.monotonic()
    try:
        with core_errors():
            found = _core.verify(
                where,
                trees=trees,
                threads=settings.threads,
                longest=settings.deadline,
                most_findings=most_findings,
                progress=progress,
                options=settings.for_core(settings.replicas_of(where)),
            )
    except UsageError:
        raise
    except SapwoodError as error:
        return FileReport(_core.redact(where), error=error, seconds=time.monotonic() - began)
    return FileReport(
        file=found["url"],
        findings=tuple(Finding(**finding) for finding in found["findings"]),
        trees=tuple(_tree_report(tree) for tree in found["trees"]),
        not_decoded=dict(found["not_decoded"]),
        error=None if found["error"] is None else translated(found["error"]),
        seconds=time.monotonic() - began,
        **{name: found[name] for name in _COUNTS},
    )


_COUNTS = (
    "size",
    "checked_bytes",
    "checksummed_bytes",
    "fetched_bytes",
    "records",
    "baskets",
    "damage_count",
    "note_count",
)


def _tree_report(tree: dict[str, Any]) -> TreeReport:
    return TreeReport(
        **{name: tree[name] for name in ("path", "cycle", "entries", "is_rntuple", "branches", "baskets")},
        lost={branch: tuple(ranges) for branch, ranges in tree["lost"].items()},
        lost_in_any=tuple(tree["lost_in_any"]),
        not_decoded=dict(tree["not_decoded"]),
    )


def baskets_and_pages(file: FileReport) -> str:
    """Their numbers, in words."""
    pages = sum(tree.baskets for tree in file.trees if tree.is_rntuple)
    numbers = {"basket": file.baskets - pages, "page": pages}
    shown = [counted(number, name) for name, number in numbers.items() if number]
    return ", ".join(shown) or counted(0, "basket")


def _lines(file: FileReport) -> Iterator[str]:
    if file.error is not None:
        yield f"{file.file}: {file.error}"
    elif file.ok:
        size = f"{counted(file.checked_bytes, 'byte')}, {baskets_and_pages(file)}"
        yield f"{file.file}: undamaged ({size})"
    if file.damage_count:
        yield f"{file.file}: damaged ({counted(file.damage_count, 'finding')})"
        yield from (f"  {finding}" for finding in file.damage)
