"""`sapwood replay`: what a recorded job would cost over another link, or by another policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._options import Json
from ._output import Column, print_json, print_table
from ._run import command

if TYPE_CHECKING:
    from ..report.replaying import Line


@command
def replay(
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="What 'sapwood trace' made.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="POLICY",
            help="A name or settings such as gap=64k,ahead=4; several times to compare. By default all names:"
            " default, unmerged, gap-64k, gap-1M, shallow, blocks, replicas.",
        ),
    ] = None,
    rtt: Annotated[
        str | None, typer.Option(metavar="TIME", help="Round trip, such as 150ms; by default as recorded.")
    ] = None,
    bandwidth: Annotated[
        str | None, typer.Option(metavar="RATE", help="Such as 100MB/s or 1Gbit/s; by default as recorded.")
    ] = None,
    request_cost: Annotated[
        str, typer.Option(metavar="TIME", help="What the server takes for each request.")
    ] = "0ms",
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", help="Requests that a server answers at the same time.")
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT=TIME,RATE", help="Another line for one server; may be given several times."
        ),
    ] = None,
    replica: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TIME,RATE",
            help="The way to a further place of each file, for the policy 'replicas'; may be given several"
            " times. By default there is one more place, as far as the first.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Really read this file, in place of that of the recording."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Replay a recorded job against a model of the link, by several policies.

    \b
    sapwood replay job.swt --rtt 150ms --bandwidth 100MB/s --policy default --policy unmerged
    """
    from dataclasses import asdict

    from ..report.replaying import PRESETS, Line, Replay
    from ..report.replaying import replay as run

    cost = _seconds(request_cost)
    others = {}
    for one in server or []:
        name, _, figures = one.rpartition("=")
        others[name] = _line(figures, cost, concurrency)
    further = [_line(one, cost, concurrency) for one in replica or []]
    line = Line(
        None if rtt is None else _seconds(rtt),
        None if bandwidth is None else _rate(bandwidth),
        cost,
        concurrency,
    )
    policies = policy or [one for one in PRESETS if source is None or one != "replicas"]
    costs: list[Replay] = run(recording, policies, line=line, servers=others, replicas=further, source=source)
    if as_json:
        print_json({"policies": [asdict(one) for one in costs]})
        return
    rows = [
        [
            one.policy,
            f"{one.seconds:.2f}",
            f"{one.waited:.2f}",
            f"{one.requests:,}",
            f"{one.round_trips:,}",
            f"{one.bytes:,}",
            f"{one.overread:,}",
        ]
        for one in costs
    ]
    names = ["seconds", "waited", "requests", "round trips", "bytes", "over-read"]
    print_table([Column("policy"), *(Column(name, right=True) for name in names)], rows)


def _line(figures: str, cost: float, concurrency: int | None) -> Line:
    from ..report.replaying import Line

    time, _, rate = figures.partition(",")
    return Line(_seconds(time), _rate(rate), cost, concurrency)


def _seconds(text: str) -> float:
    """A time: 150ms, 0.15s, 20us; a plain number is seconds."""
    return _number(text, {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0}, "150ms or 0.15s")


def _rate(text: str) -> float:
    """A rate in bytes per second: 100MB/s, 1Gbit/s; a plain number is bytes per second."""
    scales = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
    units = {f"{scale}B/s": factor for scale, factor in scales.items()}
    units |= {f"{scale}bit/s": factor / 8 for scale, factor in scales.items()}
    return _number(text, units | {"": 1.0}, "100MB/s or 1Gbit/s")


def _number(text: str, units: dict[str, float], such_as: str) -> float:
    import re

    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([A-Za-z/]*)\s*", text)
    if found is None or found[2] not in units:
        raise typer.BadParameter(f"{text!r} is not a value such as {such_as}")
    return float(found[1]) * units[found[2]]
