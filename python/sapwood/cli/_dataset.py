"""Output of the commands about datasets."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..display.units import counted, human_bytes
from ._output import Column, complain, numbers, print_json, print_line, print_table

if TYPE_CHECKING:
    from ..stripe import Written


def print_done(document: dict[str, Any], as_json: bool, line: str = "") -> None:
    """Prints the result of a change: a JSON document, or one line; by default with the same values."""
    if as_json:
        print_json(document)
        return
    for note in document.pop("notes", ()):
        complain(f"sapwood: {note}")
    print_line(line or ", ".join(f"{key} {value}" for key, value in document.items()))


def print_written(done: Written, as_json: bool, receipt: str | None = None) -> None:
    """Prints what was written to a dataset, or stored for a receipt."""
    what = f"{counted(done.entries, 'entry', 'entries')} in {counted(done.objects, 'object')}"
    name = f"version {done.version}" if receipt is None else f"the receipt {receipt}"
    line = f"wrote {name}: {what} ({human_bytes(done.bytes)})"
    if done.already:
        line = f"version {done.version} has the entries of this job already: nothing was written"
    print_done(asdict(done), as_json, line)


def print_version(version: dict[str, Any], as_json: bool, note: str = "") -> None:
    """Prints the content of a version, with a note in its first line."""
    if as_json:
        print_json(version)
        return
    made = version["made"]
    entries = counted(version["entries"], "entry", "entries")
    products = counted(len(version["products"]), "product")
    segments = counted(len(version["segments"]), "segment")
    print_line(f"{version['url']} v{version['version']}: {version['tree']}, {entries}{note}")
    print_line(f"{products}, {segments}, {made['operation']} by {made['tool']}")
    for source in made.get("inputs", ()):
        print_line(f"  from {source}")
    for name, number in (version.get("tags") or {}).items():
        print_line(f"  tag {name}: v{number}")
    if "excluded" in version:
        excluded = version["excluded"]
        skipped = counted(excluded["entries"], "entry", "entries")
        print_line(f"{excluded['cut']}: skips {skipped}, {counted(excluded['batches'], 'batch', 'batches')}")
    if "statistics" in version:
        _print_statistics(version["statistics"])


def _print_statistics(statistics: list[dict[str, Any]]) -> None:
    rows = []
    for one in statistics:
        ends = ["" if one[end] is None else f"{one[end]}" for end in ("least", "greatest")]
        known = [f"{one[name]:,}" if one["known"] else "" for name in ("values", "nans")]
        rows.append([one["branch"], *known, *ends, f"{one['known']} of {one['stripes']}"])
    print_table([Column("branch"), *numbers("values", "NaN", "least", "greatest", "stripes")], rows)
