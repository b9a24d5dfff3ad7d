"""Reads signal events with 40 and 200 background events each, near and far: `make bench-mix`.

    python bench/mix.py --data DIR [--plot FILE.svg] [--markdown FILE] [--json FILE]

The pool has 80,000 events in eight files, with a cluster every 500 events; all 14 branches are read. The
server is real (xrootd, or nginx for http), behind an emulated link; each run is a separate process with its
own emulated link. ROOT draws entries one by one, or reads on from a random entry. Slow readers are stopped,
and their figures are extrapolated from the completed share.

The statistical price is counted on local files: how often events are used again, and how much the background
of two signal events has in common.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import results
from generate import POOL
from machine import load_file
from measured import measured
from numpy.typing import NDArray
from remote_servers import Far, Server, missing, serve
from results import Check, found, required, table
from rootbuild import HERE, compiled

ROUND_TRIPS = [0, 22, 100]
NUMBERS = [40, 200]
SIGNALS, SEED, TREE = 400, 7, "Events"
FILES = [f"{name}.root" for name in POOL if name != "signal"]
# Seconds: readers stop themselves after LIMIT, and are killed after DEADLINE.
LIMIT, DEADLINE = 8.0, 90.0
# The signal events over which the use of events is counted.
SAMPLE = 2000
AT_ONCE = 4000
LEAST_FACTOR = 10
FAR_MS = 22

Record = dict[str, Any]


class Client(NamedTuple):
    """A way to read: the order of events and, for ROOT, its cache in bytes (-1: its default)."""

    name: str
    order: str
    cache: int | None = None


OWN = Client("sapwood, random clusters", "random-clusters")
PEER = Client("ROOT, random entries", "random", -1)
CLIENTS = [
    OWN,
    Client("sapwood, sequential", "sequential"),
    Client("sapwood, random entries", "random"),
    PEER,
    Client("ROOT, random entries, no cache", "random", 0),
    Client("ROOT, sequential", "sequential", -1),
]


def run(client: Client, far: Far, number: int, data: Path) -> Record:
    """One run: the measurements of the reader, and the counters of the emulated link."""
    task = [str(LIMIT), str(SIGNALS), str(number), str(SEED), TREE]
    task += [far.url(name) for name in ("signal.root", *FILES)]
    if client.cache is None:
        call = [sys.executable, str(HERE / "readers" / "python_mix.py"), client.order, *task]
    else:
        program = compiled(HERE / "readers" / "root_mix.cpp", data / "build")
        call = [str(program), client.order, str(client.cache), *task]
    environment = {**os.environ, **far.variables}
    found = measured(call, environment, DEADLINE)
    if "error" in found:
        return found
    counted = far.counts()
    signals = max(found["share"], 1e-9) * SIGNALS
    each = {name: counted[name] / signals for name in ("round_trips", "bytes_sent")}
    each["requests"] = found["requests"] / signals
    return {**found, **each, "milliseconds": found["seconds"] / signals * 1e3}


def reading(server: Server, options: argparse.Namespace) -> Iterator[Record]:
    """Runs each reader at each round-trip time."""
    for number in options.numbers:
        for rtt_ms in options.rtt:
            for client in CLIENTS:
                with server.far(rtt_ms, 0) as far:
                    found = run(client, far, number, options.data)
                where = {"number": number, "rtt_ms": rtt_ms, "client": client.name}
                yield {**where, **found, "protocol": server.protocol}


def use(number: int, data: Path) -> Iterator[Record]:
    """How events of the pool are used by SAMPLE signal events, by the way to take them."""
    import sapwood

    pool = [f"{data / name}:{TREE}" for name in FILES]
    size = sum(entries for *_, entries in sapwood.num_entries(pool))
    drawn = np.random.RandomState(SEED).randint(size, size=(SAMPLE, number))
    yield {"way": "random entries", "number": number, **used(drawn, size)}
    for mode in ("random-clusters", "sequential"):
        for way, primaries in (("one job", SAMPLE), ("numbered", range(SAMPLE))):
            with sapwood.Background(pool, ["event"], seed=SEED, mode=mode, library="np") as background:
                lists = background.overlay(primaries, number=number)["event"]
            taken = np.stack(list(lists))
            yield {"way": f"{mode}, {way}", "number": number, **used(taken, size)}


def used(taken: NDArray[np.int64], size: int) -> Record:
    """Counts the uses of events; ``taken`` has the numbers of the background events of each signal event."""
    uses = np.bincount(taken.ravel(), minlength=size)
    common = np.zeros((len(taken), len(taken)), np.float32)
    # Each event of the pool, and the signal event that uses it, in the order of the pool.
    order = np.argsort(taken.ravel(), kind="stable")
    events, rows = taken.ravel()[order], order // taken.shape[1]
    for start in range(0, size, AT_ONCE):
        inside = slice(*np.searchsorted(events, (start, start + AT_ONCE)))
        places = rows[inside] * AT_ONCE + events[inside] - start
        matrix = np.bincount(places, minlength=len(taken) * AT_ONCE).reshape(len(taken), AT_ONCE)
        matrix = matrix.astype(np.float32)
        common += matrix @ matrix.T
    pairs = common[np.triu_indices(len(taken), 1)]
    return {
        "mean_uses": float(uses.mean()),
        "unused": float((uses == 0).mean()),
        "most_uses": int(uses.max()),
        "variance": float((uses**2).sum() / uses.sum()),
        "pairs_in_common": float((pairs > 0).mean()),
        "most_in_common": int(pairs.max()),
    }


def reading_table(records: list[Record], number: int) -> str:
    """Time, round trips and bytes for each signal event."""
    trips = sorted({one["rtt_ms"] for one in records if "rtt_ms" in one})
    rows = []
    for client in CLIENTS:
        runs = [found(records, number=number, rtt_ms=trip, client=client.name) for trip in trips]
        cells = [
            "-" if one is None else f"{'~' * (one['share'] < 1)}{one['milliseconds']:.3g}" for one in runs
        ]
        own = [found(records, number=number, rtt_ms=trip, client=OWN.name) for trip in trips]
        last = next((one for one in reversed(runs) if one is not None), None)
        factor = (
            ""
            if runs[-1] is None or own[-1] is None
            else f"{runs[-1]['milliseconds'] / own[-1]['milliseconds']:.1f}"
        )
        names = {"round_trips": 1.0, "requests": 1.0, "bytes_sent": 1e6}
        costs = ["" if last is None else f"{last[name] / unit:.3g}" for name, unit in names.items()]
        rows.append([client.name, *cells, factor, *costs])
    head = [f"signal + {number}", *(f"{trip:g} ms: ms" for trip in trips), f"x {OWN.name}"]
    return table([*head, "round trips", "requests", "MB"], rows)


def use_table(records: list[Record], number: int) -> str:
    """How often events are used again."""
    rows = [
        [
            one["way"],
            f"{one['mean_uses']:.2f}",
            f"{one['unused']:.1%}",
            f"{one['most_uses']}",
            f"{one['variance']:.2f}",
            f"{one['pairs_in_common']:.2%}",
            f"{one['most_in_common']}",
        ]
        for one in records
        if "way" in one and one["number"] == number
    ]
    head = [
        f"{SAMPLE:,} x {number}",
        "uses of an event",
        "never used",
        "most uses",
        "variance",
        "pairs in common",
    ]
    return table([*head, "most in common"], rows)


def checks(records: list[Record]) -> list[Check]:
    """The requirements."""
    result: list[Check] = []
    for number in sorted({one["number"] for one in records}):
        for trip in sorted({one["rtt_ms"] for one in records if "rtt_ms" in one}):
            own, peer = (found(records, number=number, rtt_ms=trip, client=one.name) for one in (OWN, PEER))
            if own is None or peer is None:
                continue
            least = LEAST_FACTOR if trip >= FAR_MS else 1
            for name, what in {"milliseconds": "times faster", "bytes_sent": "times fewer bytes"}.items():
                times = peer[name] / own[name]
                line = f"signal + {number}, {trip:g} ms: {what} than {PEER.name}"
                result.append((line, f"{times:.3g}", f"at least {least}", times >= least))
    return result


def tables(records: list[Record]) -> dict[str, str]:
    """All tables by title."""
    numbers = sorted({one["number"] for one in records})
    made = {}
    if any("client" in one for one in records):
        made["Required"] = required(checks(records))
        made["For each signal event"] = "\n\n".join(reading_table(records, number) for number in numbers)
    if any("way" in one for one in records):
        made["Events that are used again"] = "\n\n".join(use_table(records, number) for number in numbers)
    return made


def draw(records: list[Record], path: Path) -> None:
    """Draws the time for a signal event by the round trip, with 40 and with 200 background events."""
    import figures
    import matplotlib.pyplot as plt

    numbers = sorted({one["number"] for one in records if "client" in one})
    figure, panels = plt.subplots(1, len(numbers), figsize=(8.6, 3.6), sharey=True, layout="constrained")
    width = 0.8 / len(CLIENTS)
    for axes, number in zip(np.atleast_1d(panels), numbers, strict=True):
        trips = sorted({one["rtt_ms"] for one in records if "rtt_ms" in one})
        for place, client in enumerate(CLIENTS):
            runs = [found(records, number=number, rtt_ms=trip, client=client.name) for trip in trips]
            at = [index + (place - (len(CLIENTS) - 1) / 2) * width for index in range(len(trips))]
            heights = [0.0 if one is None else one["milliseconds"] for one in runs]
            axes.bar(at, heights, width, label=client.name)
        axes.set_yscale("log")
        axes.set_xticks(range(len(trips)), [f"{trip:g} ms" for trip in trips])
        axes.set_xlabel("round trip")
        axes.set_title(f"signal + {number} background events")
        figures.style(axes)
    np.atleast_1d(panels)[0].set_ylabel("milliseconds for each signal event")
    figure.legend(*np.atleast_1d(panels)[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figures.save(figure, path)


def line(record: Record) -> str:
    """One line of progress."""
    if "way" in record:
        return f"{record['way']}, {record['number']}: {record['most_uses']} uses at most"
    what = f"{record['client']}, {record['number']}, {record['rtt_ms']:g} ms"
    return f"{what}: {record.get('error') or format(record['milliseconds'], '.3g') + ' ms'}"


def measure(options: argparse.Namespace) -> Iterator[Record]:
    """All measurements."""
    for name in ("signal.root", *FILES):
        load_file(options.data / name)
    if "reading" in options.only:
        protocol = options.protocol or ("root" if missing("root") is None else "http")
        with serve(protocol, options.data) as server:
            yield from reading(server, options)
    if "use" in options.only:
        for number in options.numbers:
            yield from use(number, options.data)


def several(text: str) -> list[int]:
    """Whole numbers between commas."""
    return [int(one) for one in text.split(",")]


def arguments() -> argparse.Namespace:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--rtt", type=several, default=ROUND_TRIPS, help="round trips in milliseconds")
    parser.add_argument("--numbers", type=several, default=NUMBERS, help="background events for each signal")
    parser.add_argument("--protocol", choices=["root", "http"], help="by default root, if xrootd is there")
    parser.add_argument("--only", default="reading,use", help="reading, use or both")
    parser.add_argument("--plot", type=Path, help="draw the times into this file")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    records = results.collect(measure(options), line)
    if options.plot and "reading" in options.only:
        draw(records, options.plot)
    results.report(options, records, tables(records), checks(records))


if __name__ == "__main__":
    main()
