"""`sapwood hist`: a histogram of a column, or one from a file, in the terminal or as a picture."""

from __future__ import annotations

import math
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from ..display.units import counted
from ._options import Cut, Entries, Force, Reading, entry_range
from ._output import plain, print_json, print_line
from ._run import command
from ._several import expanded, trees, trees_and_columns

MOST_LABELS = 200
"""The most characters of the labels of bins."""
WIDTH = 80
"""The width of a drawing in a pipe."""


@dataclass(frozen=True)
class Drawing:
    """What is drawn: bins with one or two axes, a title, and a line of numbers about them."""

    title: str
    labels: tuple[str, ...]
    values: Any
    edges: tuple[Any, ...]
    note: str
    document: dict[str, Any]
    averaged: bool = False
    """Whether bins hold means, as those of a profile do."""


@command
def hist(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE[:PATH]... [EXPRESSION]",
            help="Files, URLs or globs, and the tree or histogram inside; you can omit the only tree. After "
            "the first argument, names with .root and URLs are files. For trees, a branch or an expression.",
        ),
    ],
    cut: Cut = None,
    bins: Annotated[
        int | None, typer.Option("--bins", "-b", metavar="N", min=1, max=100_000, help="Bins; by default 50.")
    ] = None,
    limits: Annotated[
        str | None,
        typer.Option(
            "--range", metavar="LOW:HIGH", help="The range of the axis; by default that of the values."
        ),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="The weight of each entry; by default 1.")
    ] = None,
    entries: Entries = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT.svg", help="A picture: OUT.svg, OUT.png or OUT.pdf."),
    ] = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Draw a histogram of a column, or one from a file.

    \b
    sapwood hist nano.root:Events Muon_pt --range 0:100
    sapwood hist nano.root:Events MET_pt --cut 'nMuon >= 2' -o met.svg
    sapwood hist plots.root:dir/mass

    Every item of a list counts. Files are read in steps; without --range, large ones are read twice.
    """
    from ..errors import UsageError

    sources, columns = trees_and_columns(arguments)
    if len(columns) > 1:
        raise UsageError(f"a histogram is of one expression, not of {len(columns)}: put it in quotes")
    expression = columns[0] if columns else None
    if output is not None:
        _check_picture(output, [sources, reading.replica], force)
    span = None if limits is None else _limits(limits)
    if expression is None:
        for name, given in {
            "--cut": cut,
            "--bins": bins,
            "--range": limits,
            "--weight": weight,
            "--entries": entries,
        }.items():
            if given is not None:
                raise UsageError(f"{name} needs an expression: sapwood hist FILE:TREE EXPRESSION")
        drawing = _stored(sources, reading)
    else:
        drawing = _filled(sources, expression, cut, weight, bins, span, entry_range(entries), reading)
    if reading.as_json:
        print_json(plain(drawing.document))
    if output is not None:
        _save(drawing, output, force)
    elif not reading.as_json:
        _draw(drawing)


def _filled(
    sources: list[str],
    expression: str,
    cut: str | None,
    weight: str | None,
    bins: int | None,
    limits: tuple[float, float] | None,
    entries: tuple[int | None, int | None],
    reading: Reading,
) -> Drawing:
    """A histogram of an expression over the trees of files."""
    from ..studies.filling import fill, flat_pairs

    names = [expression] if weight is None else [expression, weight]

    def read() -> Iterator[Any]:
        for tree, start, stop in trees(sources, reading, entries):
            within = {"entry_start": start, "entry_stop": stop, "step_size": "50 MB"}
            for columns in tree.iterate(list(dict.fromkeys(names)), cut, how=dict, **within):
                given = None if weight is None else columns[weight]
                yield flat_pairs(columns[expression], given, repr(expression))

    found = fill(read, bins, limits)
    moments = (("mean", found.mean), ("std", found.std))
    parts = [counted(found.entries, "value")]
    parts += [f"{name} {number:.5g}" for name, number in moments if math.isfinite(number)]
    parts += [
        f"{name} {count:,.0f}" if float(count).is_integer() else f"{name} {count:,.6g}"
        for name, count in (("below", found.below), ("above", found.above), ("NaN or infinite", found.nan))
        if count
    ]
    title = expression + (f"  [{cut}]" if cut else "")
    document = {
        "source": " ".join(sources),
        "expression": expression,
        "cut": cut,
        "weight": weight,
        "edges": [found.edges.tolist()],
        "values": found.values.tolist(),
        "entries": found.entries,
        "below": found.below,
        "above": found.above,
        "nan": found.nan,
    }
    return Drawing(title, (expression,), found.values, (found.edges,), ", ".join(parts), document)


def _stored(sources: list[str], reading: Reading) -> Drawing:
    """A histogram from a file; from several files, the sum."""
    from ..errors import UnsupportedTypeError, UsageError
    from ._target import column_of_tree, is_branch, open_tree_or_object
    from .head import shorten

    total: Any = None
    for name in expanded(sources, reading):
        found = open_tree_or_object(name, reading)
        if hasattr(found, "num_entries"):
            kind, whole = (
                ("branch", column_of_tree(found)) if is_branch(found) else ("tree", f"{name} COLUMN")
            )
            raise UsageError(f"{name} is a {kind}: name what to draw, as in 'sapwood hist {whole}'")
        if not hasattr(found, "axes") or not hasattr(found, "values"):
            kind = getattr(found, "class_name", type(found).__name__)
            raise UsageError(f"{name} is of class {kind}, not a histogram; 'sapwood show' prints it")
        if len(found.axes) > 2:
            raise UnsupportedTypeError(
                f"{name} has {len(found.axes)} axes: histograms with one or two can be drawn"
            )
        if total is None:
            total, first = found.values().astype(float), found
        else:
            total = total + _values_in_bins_of(first, found, name)
    edges = tuple(axis.edges() for axis in first.axes)
    titles = tuple(axis.title or letter for axis, letter in zip(first.axes, "xy", strict=False))
    noted = f"sum of bins {total.sum():,.6g}" if first.kind == "COUNT" else "means"
    for axis, letter in zip(first.axes, "xy", strict=False):
        if labels := axis.labels():
            noted += f"; {letter}: {shorten(' '.join(labels), MOST_LABELS)}"
        elif axis.variable:
            noted += f"; bins of {letter} have different widths, and are drawn equally wide in a terminal"
    document = {
        "source": " ".join(sources),
        "class": first.class_name,
        "title": first.title,
        "edges": [one.tolist() for one in edges],
        "values": total.tolist(),
    }
    title = f"{first.name}: {first.title}" if first.title and first.title != first.name else first.name
    return Drawing(
        title, titles, total, edges, f"{first.class_name}, {noted}", document, first.kind != "COUNT"
    )


def _values_in_bins_of(first: Any, found: Any, name: str) -> Any:
    """The values of a histogram in the order of the bins of the first one.

    Raises:
        UsageError: they have other bins, or one of them is a profile, whose means cannot be added.
    """
    import numpy as np

    from ..errors import UsageError

    edges, wanted = ([axis.edges() for axis in one.axes] for one in (found, first))
    if len(edges) != len(wanted) or not all(map(np.array_equal, edges, wanted)):
        raise UsageError(f"{name} has other bins than the first file: these histograms cannot be added")
    if {first.kind, found.kind} != {"COUNT"}:
        raise UsageError(f"{name} or the first file is a profile: these cannot be drawn together")
    orders = [_order(*pair, name) for pair in zip(first.axes, found.axes, strict=True)]
    return found.values()[np.ix_(*orders)]


def _order(first: Any, found: Any, name: str) -> list[int]:
    """The bins of an axis in the order of the labels of the first one, as filling decides their order."""
    from ..errors import UsageError

    wanted, labels = (axis.labels() or [""] * axis.num_bins for axis in (first, found))
    if labels == wanted:
        return list(range(len(labels)))
    places = {label: place for place, label in enumerate(labels) if label}
    counts, found_counts = Counter(wanted), Counter(labels)
    for label in [*wanted, *labels]:
        if label and not counts[label] == found_counts[label] == 1:
            problem = f"{label!r} is not the label of one bin in each"
            raise UsageError(
                f"{name} has other labels than the first file: {problem}, so they cannot be added"
            )
    # A bin without a label is known by its place only.
    if any(bool(one) != bool(other) for one, other in zip(wanted, labels, strict=True)):
        raise UsageError(f"{name} has labels for other bins than the first file, so they cannot be added")
    return [places.get(label, place) for place, label in enumerate(wanted)]


def _draw(drawing: Drawing) -> None:
    from ..display.bars import bars, characters_for, shades

    width = shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH
    draw: Any = bars if len(drawing.edges) == 1 else shades
    edges = [one.tolist() for one in drawing.edges]
    print_line(drawing.title)
    for line in draw(
        drawing.values.tolist(),
        *edges,
        width=width,
        characters=characters_for(sys.stdout.encoding),
        averaged=drawing.averaged,
    ):
        print_line(line)
    print_line(drawing.note)


def _check_picture(output: str, inputs: list[Any], force: bool) -> None:
    from ..errors import UsageError
    from ..options.outputs import PICTURE, check_output

    if not output.lower().endswith(PICTURE.suffixes):
        raise UsageError(f"{output!r} must end with one of {', '.join(PICTURE.suffixes)}")
    check_output(output, PICTURE, inputs=inputs, overwrite=force)
    if not output.lower().endswith(".svg"):
        _matplotlib()


def _matplotlib() -> Any:
    try:
        from matplotlib.figure import Figure  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise ImportError(
            "pictures other than .svg need matplotlib: pip install matplotlib, or use -o OUT.svg"
        ) from None
    return Figure


def _save(drawing: Drawing, output: str, force: bool) -> None:
    from ..display.plots import histogram_picture, map_picture
    from ..options.whole_file import whole_file, write_whole

    edges = [one.tolist() for one in drawing.edges]
    if output.lower().endswith(".svg"):
        if len(edges) == 1:
            text = histogram_picture(drawing.title, drawing.labels[0], drawing.values.tolist(), edges[0])
        else:
            pair = drawing.labels[0], drawing.labels[1]
            text = map_picture(drawing.title, pair, drawing.values.tolist(), *edges)
        write_whole(output, text, overwrite=force)
        return
    figure = _matplotlib()(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    if len(edges) == 1:
        axes.stairs(drawing.values, edges[0], fill=True, alpha=0.5)
        axes.stairs(drawing.values, edges[0], color="C0")
    else:
        figure.colorbar(axes.pcolormesh(*edges, drawing.values.T), ax=axes)
        axes.set_ylabel(_literal(drawing.labels[1]))
    axes.set_title(_literal(drawing.title))
    axes.set_xlabel(_literal(drawing.labels[0]))
    with whole_file(output, overwrite=force) as part:
        figure.savefig(part, format=output.rpartition(".")[2].lower())


def _literal(text: str) -> str:
    """A text without the signs of mathematics, which matplotlib would set and may reject."""
    from ..display.printable import printable

    return printable(text).replace("$", r"\$")


def _limits(text: str) -> tuple[float, float]:
    """LOW:HIGH as two numbers.

    >>> _limits("-2.5:1e3")
    (-2.5, 1000.0)
    """
    low, colon, high = text.partition(":")
    try:
        found = float(low), float(high)
    except ValueError:
        found = 0.0, 0.0
    if not colon or not all(map(math.isfinite, found)) or not found[0] < found[1]:
        raise typer.BadParameter(
            f"a range must be LOW:HIGH, such as 0:100, not {text!r}", param_hint="--range"
        )
    return found
