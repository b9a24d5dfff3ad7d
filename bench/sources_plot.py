"""Draws a read from several replicas: ranges and rates over time, with a color for each replica.

    python bench/sources_plot.py build/bench/sources.json docs/images/sources.svg

It is the read over http://, s3:// and root:// during which one replica is killed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import figures
import matplotlib.pyplot as plt
from matplotlib.collections import PatchCollection
from matplotlib.patches import Patch, Rectangle

COLOURS = {"http": "#1f6fb3", "s3": "#d1892a", "root": "#2c7a3f"}
FAILURE = "#b3401f"
BUCKET = "data"
# The time step of the lower panel.
STEP_SECONDS = 0.3
# The least height of a range, as a share of the file.
THINNEST = 0.0006

Fetched = tuple[float, float, int, int, int, str | None]
Steps = tuple[list[float], list[float]]


def rates(samples: list[tuple[float, list[int]]], begin: float, place: int) -> Steps:
    """The times of steps, and the rate of a link in MB/s during each."""
    moments, speeds, passed = [], [], 0
    last = begin
    for moment, counts in samples:
        if moment - last >= STEP_SECONDS:
            moments.append(last - begin)
            speeds.append((counts[place] - passed) / 1e6 / (moment - last))
            last, passed = moment, counts[place]
    return moments, speeds


def draw(record: dict[str, Any], path: Path) -> None:
    """Draws one run with a fault."""
    (run,) = record["runs"]
    fetched: list[Fetched] = [tuple(one) for one in run["report"]["trace"]]
    protocols = dict(zip(run["ports"], record["protocols"], strict=True))
    end, failed = max(one[1] for one in fetched), run["failed"] - run["begin"]
    size = max(one[2] + one[3] for one in fetched) / 1e6
    figure, (upper, lower) = plt.subplots(
        2, 1, figsize=(8.6, 5.6), sharex=True, layout="constrained", height_ratios=[3, 1]
    )
    handles, colours = [], {}
    for place, (port, protocol) in enumerate(protocols.items()):
        # For an object store, reports name the bucket.
        server = BUCKET if protocol == "s3" else f"127.0.0.1:{port}"
        colours[server] = COLOURS[protocol]
        moments, speeds = rates(run["samples"], run["begin"], place)
        lower.step(moments, speeds, where="post", color=COLOURS[protocol])
        moved = sum(one[3] for one in fetched if one[5] == server) / 1e6
        handles.append(Patch(color=COLOURS[protocol], label=f"{protocol}://, {moved:.0f} MB"))
    drawn = [one for one in fetched if one[5] in colours]
    boxes = [
        Rectangle((asked, offset / 1e6), answered - asked, max(nbytes / 1e6, THINNEST * size))
        for asked, answered, offset, nbytes, _, _ in drawn
    ]
    faces = [colours[str(one[5])] for one in drawn]
    upper.add_collection(PatchCollection(boxes, facecolor=faces, edgecolor="none", alpha=0.8))
    for axes in (upper, lower):
        axes.axvline(failed, color=FAILURE, linewidth=1.2, linestyle="--")
        figures.style(axes)
    dead = protocols[run["failed_port"]]
    upper.text(failed, size, f" {dead}:// is killed", color=FAILURE, va="bottom")
    upper.set_ylim(0, size)
    upper.set_xlim(0, end)
    upper.set_ylabel("offset in the file, MB")
    lower.set_ylabel("MB/s")
    lower.set_ylim(0)
    lower.set_xlabel("seconds since opening began")
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    figures.save(figure, path)


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    records = json.loads(source.read_text())["records"]
    traced = [each for each in records if "trace" in each["runs"][0].get("report", {})]
    if traced:
        draw(traced[0], target)
    else:
        print("there is no picture, because no read with a failure was traced", file=sys.stderr)


if __name__ == "__main__":
    main()
