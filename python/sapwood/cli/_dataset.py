"""What the commands about datasets print."""

from __future__ import annotations

from typing import Any

from ._output import Column, complain, print_json, print_line, print_table


def print_done(document: dict[str, Any], as_json: bool) -> None:
    """Prints what was done: a line for a terminal or a pipe."""
    if as_json:
        print_json(document)
        return
    for note in document.pop("notes", ()):
        complain(f"sapwood: {note}")
    print_line(", ".join(f"{key} {value}" for key, value in document.items()))


def print_version(told: dict[str, Any], as_json: bool) -> None:
    """Prints what a version holds."""
    if as_json:
        print_json(told)
        return
    made, products = told["made"], told["products"]
    print_line(f"{told['url']} v{told['version']}: {told['tree']}, {told['entries']:,} entries")
    print_line(
        f"{len(products)} products, {len(told['segments'])} segments, {made['operation']} by {made['tool']}"
    )
    for source in made.get("inputs", ()):
        print_line(f"  from {source}")
    for name, number in (told.get("tags") or {}).items():
        print_line(f"  tag {name}: v{number}")
    if "excluded" in told:
        passed = told["excluded"]
        print_line(
            f"{passed['cut']}: passes over {passed['entries']:,} entries, {passed['batches']:,} batches"
        )
    if "statistics" in told:
        _print_statistics(told["statistics"])


def _print_statistics(statistics: list[dict[str, Any]]) -> None:
    titles = [Column("branch"), Column("values", right=True), Column("NaN", right=True)]
    titles += [Column("least", right=True), Column("greatest", right=True), Column("stripes", right=True)]
    rows = []
    for one in statistics:
        ends = ["" if one[end] is None else f"{one[end]}" for end in ("least", "greatest")]
        known = [f"{one[name]:,}" if one["known"] else "" for name in ("values", "nans")]
        rows.append([one["branch"], *known, *ends, f"{one['known']} of {one['stripes']}"])
    print_table(titles, rows)
