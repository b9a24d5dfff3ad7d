"""Draws seconds against round-trip time: a panel for each protocol and layout, a line for each reader.

python bench/remote_plot.py build/bench/remote.json docs/images/remote.svg
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import figures
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullLocator
from remote_report import LAYOUTS, Table, column_tables

COLOURS = {
    "sapwood": "#b3401f",
    "uproot": "#1f6fb3",
    "uproot-HTTPSource": "#7fb2dd",
    "uproot-XRootDSource": "#7fb2dd",
    "ROOT, 10 MB": "#2c7a3f",
    "ROOT, 64 kB": "#79b98a",
    "ROOT, no cache": "#b9b9b9",
}
SECONDS = [0.1, 1, 10, 100, 1000]


def panel(axes: Any, table: Table) -> None:
    """The readers over one protocol; dotted: extrapolated from a part of the run, triangle: stopped."""
    for client in dict.fromkeys(point.client for point in table.points):
        points = [each for each in table.points if each.client == client and each.rtt_ms and each.seconds]
        points.sort(key=lambda each: each.rtt_ms)
        style = {"color": COLOURS.get(client, "#555555"), "linewidth": 2.2 if client == "sapwood" else 1.3}
        for before, after in pairwise(points):
            part = any("scaled" in run for run in after.runs)
            places = [before.rtt_ms, after.rtt_ms], [before.seconds, after.seconds]
            axes.plot(*places, **style, linestyle=":" if part else "-")
        places = ([each.rtt_ms for each in points], [each.seconds for each in points])
        dots = {"color": style["color"], "linestyle": "", "markersize": 3.5}
        axes.plot(*places, **dots, marker="o", label=client)
        stopped = [
            (each.rtt_ms, each.at_least)
            for each in table.points
            if each.client == client and each.rtt_ms and each.at_least != each.seconds
        ]
        limits = [place[0] for place in stopped], [place[1] for place in stopped]
        axes.plot(*limits, **dots, marker="^")
    axes.set_title(f"{table.protocol}://, {LAYOUTS.get(table.file, table.file)}", fontsize=9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([each for each in table.round_trips if each])
    axes.set_yticks(SECONDS)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
    figures.style(axes)


def draw(records: list[dict[str, Any]], path: Path) -> None:
    """Draws all points over links without a bandwidth limit."""
    tables = [each for each in column_tables(records) if not each.megabits]
    files = list(dict.fromkeys(each.file for each in tables))
    protocols = list(dict.fromkeys(each.protocol for each in tables))
    size = (3.9 * len(protocols), 3.3 * len(files))
    figure, grid = plt.subplots(
        len(files), len(protocols), figsize=size, squeeze=False, sharey=True, layout="constrained"
    )
    for table in tables:
        axes = grid[files.index(table.file)][protocols.index(table.protocol)]
        panel(axes, table)
        if table.protocol == protocols[0]:
            axes.set_ylabel("seconds")
        if table.file == files[-1]:
            axes.set_xlabel("round trip, ms")
    legend: dict[str, Any] = {}
    for axes in grid.flat:
        handles, labels = axes.get_legend_handles_labels()
        legend |= zip(labels, handles, strict=True)
    order = [name for name in COLOURS if name in legend]
    figure.legend(
        [legend[name] for name in order], order, loc="outside lower center", ncols=len(order), frameon=False
    )
    figures.save(figure, path)


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    draw(json.loads(source.read_text())["records"], target)


if __name__ == "__main__":
    main()
