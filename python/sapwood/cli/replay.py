"""`sapwood replay`: the cost of a recorded job over another link or with another policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._options import Json, ServerAccess, duration, quantity
from ._output import Column, numbers, print_json, print_table
from ._run import command

if TYPE_CHECKING:
    from ..report.replaying import Link


@command
def replay(
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="A recording of 'sapwood trace'.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="POLICY",
            help="A name, or settings such as gap=64k,ahead=4. Repeat to compare policies. By default all"
            " named ones: default, unmerged, gap-64k, gap-1M, shallow, blocks, replicas.",
        ),
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Round-trip time, such as 150ms; by default as recorded."),
    ] = None,
    bandwidth: Annotated[
        str | None, typer.Option(metavar="RATE", help="Such as 100MB/s or 1Gbit/s; by default as recorded.")
    ] = None,
    request_cost: Annotated[
        str, typer.Option(metavar="TIME", help="Time that the server needs for each request.")
    ] = "0ms",
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", help="Requests that a server answers at the same time.")
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT=TIME,RATE", help="Another link to one server. Repeatable."),
    ] = None,
    replica: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TIME,RATE",
            help="The link to another replica of each file, for the policy 'replicas'. Repeatable. By"
            " default, there is one more replica, with the same link as the first.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Read this file for real, instead of modelling the recorded one."),
    ] = None,
    as_json: Json = False,
    *,
    access: ServerAccess,
) -> None:
    """Estimate the cost of a recorded job over another link.

    \b
    sapwood replay job.swt --rtt 150ms --bandwidth 100MB/s --policy default --policy unmerged

    The reads are replayed against a model of the link, with several policies. Connection options are those
    for the server of --source.
    """
    from dataclasses import asdict

    from ..report.replaying import PRESETS, Link, Replay
    from ..report.replaying import replay as run

    cost = duration(request_cost)
    others = {}
    for one in server or []:
        name, _, figures = one.rpartition("=")
        others[name] = _link(figures, cost, concurrency)
    further = [_link(one, cost, concurrency) for one in replica or []]
    link = Link(
        None if rtt is None else _round_trip(rtt),
        None if bandwidth is None else _rate(bandwidth),
        cost,
        concurrency,
    )
    policies = policy or [one for one in PRESETS if source is None or one != "replicas"]
    costs: list[Replay] = run(
        recording,
        policies,
        link=link,
        servers=others,
        replicas=further,
        source=source,
        **access.open_options,
    )
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
    titles = numbers("seconds", "waited", "requests", "round trips", "bytes", "over-read")
    print_table([Column("policy"), *titles], rows)


def _link(figures: str, cost: float, concurrency: int | None) -> Link:
    from ..report.replaying import Link

    time, _, rate = figures.partition(",")
    return Link(_round_trip(time), _rate(rate), cost, concurrency)


def _round_trip(text: str) -> float:
    """A round-trip time in seconds. Without a unit, it might be seconds or milliseconds."""
    if text.strip().isdecimal() and int(text):
        raise typer.BadParameter(f"the round-trip time {text!r} has no unit: write {text}ms or {text}s")
    return duration(text)


def _rate(text: str) -> float:
    """A rate in bytes per second: 100MB/s, 1Gbit/s; a plain number is bytes per second."""
    scales = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
    units = {f"{scale}B/s": factor for scale, factor in scales.items()}
    units |= {f"{scale}bit/s": factor / 8 for scale, factor in scales.items()}
    return quantity(text, units | {"": 1.0}, "a rate such as 100MB/s or 1Gbit/s")
