"""`sapwood verify`: checks every byte of files, and reports the entries that damage costs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..display.printable import printable
from ..display.units import counted, human_bytes
from ._options import Reading
from ._output import Column, can_show_progress, complain, print_json, print_line, print_table
from ._run import EXIT_CODES, FAILED, UNREADABLE, command

if TYPE_CHECKING:
    from ..report.verifying import FileReport, Finding, TreeReport, VerifyProgress, VerifyReport

_SHOWN = 20


@command
def verify(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE[:TREE]...", help="Files, URLs or globs; after a colon, the only tree to check."
        ),
    ],
    everything: Annotated[
        bool, typer.Option("--all", help="Print all findings, including notes and undecoded objects.")
    ] = False,
    *,
    reading: Reading,
) -> None:
    """Read every byte of files once, and check all of their content.

    \b
    sapwood verify *.root

    Damage is printed with its byte offset and the entries that it costs; the exit code is then 4. For
    datasets, use 'sapwood stripe verify'.
    """
    from ..options.paths import check_exists, is_url
    from ..report.verifying import verify as run
    from ._target import is_directory, split_target

    for name in files:
        if not is_url(name) and is_directory(name):
            check_exists(name)
    with _progress() as progress:
        targets = [split_target(file) for file in files]
        report = run(targets, progress=progress, **reading.open_options)
    if reading.as_json:
        print_json(_document(report))
    else:
        for file in report.files:
            _print(file, everything)
        _summary(report)
    if not report.ok:
        raise typer.Exit(_exit_code(report))


def _exit_code(report: VerifyReport) -> int:
    if any(file.damage_count for file in report.files):
        return UNREADABLE
    codes = [EXIT_CODES.get(file.error.code, FAILED) for file in report.files if file.error is not None]
    return codes[0] if codes else FAILED


def _print(file: FileReport, everything: bool) -> None:
    from ..report.verifying import baskets_and_pages

    if file.ok:
        notes = f", {counted(file.note_count, 'note')}" if file.note_count else ""
        sizes = f"{human_bytes(file.checked_bytes)}, {baskets_and_pages(file)}"
        print_line(f"{file.file}: sound ({sizes}{notes})")
    if file.damage_count:
        print_line(f"{file.file}: DAMAGED ({counted(file.damage_count, 'place')})")
    shown = file.findings if everything else file.damage[:_SHOWN]
    if shown:
        columns = [
            Column("offset", right=True),
            Column("object", last=1, style="bold"),
            Column("entries", right=True),
            Column("problem", last=1),
        ]
        print_table(columns, [_row(finding) for finding in shown])
    if file.damage_count > len(shown) and not everything:
        print_line(f"{file.damage_count - len(shown):,} more; to print all that were recorded, use --all")
    lost = [row for tree in file.trees for row in _lost(tree)]
    if lost:
        print_table([Column("lost", last=1), Column("entries", last=1)], lost)
    if everything:
        _print_not_decoded(file)
    if file.error is not None:
        complain(f"sapwood: {file.file}: the check stopped early: {file.error}")


def _row(finding: Finding) -> list[str]:
    offset = "" if finding.offset is None else str(finding.offset)
    problem = finding.message if finding.damage else f"note: {finding.message}"
    return [offset, finding.what, _range(finding.entries), problem]


def _range(entries: tuple[int, int] | None) -> str:
    return "" if entries is None else f"{entries[0]}:{entries[1]}"


def _lost(tree: TreeReport) -> list[list[str]]:
    """The lost entries of each branch, and those that are lost in any branch."""
    if not tree.lost:
        return []
    name = f"{tree.path};{tree.cycle}"
    branches = [[f"{name} {branch}", _ranges(ranges)] for branch, ranges in tree.lost.items()]
    rows = branches[:_SHOWN]
    if len(branches) > _SHOWN:
        rows.append([f"{name}, {len(branches) - _SHOWN:,} more", ""])
    count = sum(stop - start for start, stop in tree.lost_in_any)
    any_branch = f"{_ranges(tree.lost_in_any)} ({count:,} of {tree.entries:,})"
    return [*rows, [f"{name} in any branch", any_branch]]


def _ranges(ranges: tuple[tuple[int, int], ...]) -> str:
    shown = ", ".join(_range(one) for one in ranges[:_SHOWN])
    return f"{shown}, … ({len(ranges):,} ranges)" if len(ranges) > _SHOWN else shown


def _print_not_decoded(file: FileReport) -> None:
    rows = [[path, why] for path, why in file.not_decoded.items()]
    for tree in file.trees:
        rows += [[f"{tree.path};{tree.cycle} {branch}", why] for branch, why in tree.not_decoded.items()]
    if rows:
        print_table([Column("not decoded", last=1), Column("reason", last=1)], rows)


def _summary(report: VerifyReport) -> None:
    damaged = sum(1 for file in report.files if file.damage_count)
    unchecked = sum(1 for file in report.files if file.error is not None)
    checked = sum(file.checked_bytes for file in report.files)
    covered = sum(file.checksummed_bytes for file in report.files)
    print_line(
        f"{counted(len(report.files), 'file')}, {damaged} damaged, {unchecked} not fully checked; "
        f"{human_bytes(checked)} read, {human_bytes(covered)} of them covered by checksums"
    )


def _document(report: VerifyReport) -> dict[str, Any]:
    return {"ok": report.ok, "files": [_file_document(file) for file in report.files]}


def _file_document(file: FileReport) -> dict[str, Any]:
    from dataclasses import asdict

    from ._run import describe

    error = None if file.error is None else {"code": file.error.code, **describe(file.error)}
    document = {name: value for name, value in vars(file).items() if name not in ("findings", "trees")}
    return document | {
        "ok": file.ok,
        "error": error,
        "findings": [asdict(finding) for finding in file.findings],
        "trees": [asdict(tree) for tree in file.trees],
    }


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[VerifyProgress], None] | None]:
    """A progress bar on standard error with file, bytes, rate and time left, if that is a terminal."""
    if not can_show_progress():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("opening", total=None)
        current = 0

        def advance(now: VerifyProgress) -> None:
            nonlocal current
            if now.number != current:
                current = now.number
                bar.reset(task, total=now.total)
            count = f"[{now.number}/{now.files}] " if now.files > 1 else ""
            damage = f", {counted(now.damage, 'damaged place')}" if now.damage else ""
            name = printable(os.path.basename(now.file.partition("?")[0]))
            bar.update(task, completed=now.done, total=now.total, description=f"{count}{name}{damage}")

        yield advance
