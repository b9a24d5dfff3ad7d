"""A model of 1,000 and 10,000 workers that read from the storage of one site, from measured constants.

    python bench/clusters.py --markdown build/clusters/model.md

Measured here: requests, round trips, bytes and processor time of opening a file and of reading a chunk of
five columns, through the test server. Taken from docs/benchmarks/results/requests.md: the same counts over
XRootD. Everything else is computed; docs/concepts/clusters.md explains the model.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import results
from remote_servers import running, testkit

import sapwood

REPOSITORY = Path(__file__).resolve().parent.parent
COUNTS = REPOSITORY / "docs" / "benchmarks" / "results" / "requests.md"

WORKERS = (1_000, 10_000)
CHUNKS, ENTRIES = 10, 50_000  # of one file
ANALYSIS_SECONDS = 2.0  # of a chunk, on one core
ROUND_TRIP = 0.02  # seconds
SERVERS, SERVER_BYTES = 20, 10e9 / 8  # of the site, each 10 Gbit/s
SPREAD = 60.0  # seconds
CACHED = 0.8  # share of chunks that a shared cache answers
SLOW_SHARE, SLOW_FACTOR = 0.05, 10.0  # of servers
SEED = 1


@dataclass(frozen=True)
class Cost:
    """What opening a file, or reading a chunk of an open one, costs."""

    requests: float
    round_trips: float
    nbytes: float = 0.0
    seconds: float = 0.0  # of processor time


def measured() -> tuple[Cost, Cost]:
    """Opening a file, and reading one chunk of five columns, over HTTP."""
    random = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.root"
        with sapwood.recreate(path) as file:
            tree = file.mktree("t", {f"x{at}": "float32" for at in range(25)})
            for _ in range(CHUNKS):
                tree.extend({f"x{at}": random.normal(50, 20, ENTRIES).astype("f4") for at in range(25)})
        with serving(path) as url:
            opening, reading = [], []
            for _ in range(5):
                begin = time.process_time()
                with sapwood.open(url, threads=1) as file:
                    tree = file["t"]
                    opened, middle = file.report(), time.process_time()
                    five = [f"x{5 * at}" for at in range(5)]
                    for at in range(CHUNKS):
                        tree.arrays(
                            five, entry_start=at * ENTRIES, entry_stop=(at + 1) * ENTRIES, library="np"
                        )
                    done, end = file.report(), time.process_time()
                opening.append(
                    Cost(opened.requests, opened.round_trips, opened.fetched_bytes, middle - begin)
                )
                reading.append(
                    Cost(
                        (done.requests - opened.requests) / CHUNKS,
                        (done.round_trips - opened.round_trips) / CHUNKS,
                        (done.fetched_bytes - opened.fetched_bytes) / CHUNKS,
                        (end - middle) / CHUNKS,
                    )
                )
    least = [min(costs, key=lambda cost: cost.seconds) for costs in (opening, reading)]
    return least[0], least[1]


@contextmanager
def serving(path: Path) -> Iterator[str]:
    """The URL of a file on the test server."""
    with running([str(testkit()), "serve", "--root", str(path.parent)]) as ready:
        yield f"{ready['url'].rstrip('/')}/{path.name}"


def recorded(protocol: str) -> tuple[Cost, Cost]:
    """The counts of the results of request_counts.py: opening, and five columns less opening."""
    part = COUNTS.read_text().split("## uproot")[0]
    rows = {}
    for pattern in ("open", "5 columns, arrays()"):
        row = re.search(rf"^\| {re.escape(pattern)} \| {re.escape(protocol)} \| (.+) \|$", part, re.MULTILINE)
        if row is None:
            raise SystemExit(f"{COUNTS} has no row {pattern!r} of {protocol!r}")
        requests, _, round_trips, *_ = (int(cell) for cell in row[1].split(" | "))
        rows[pattern] = Cost(requests, round_trips)
    opening, both = rows["open"], rows["5 columns, arrays()"]
    return opening, Cost(both.requests - opening.requests, both.round_trips - opening.round_trips)


@dataclass(frozen=True)
class Way:
    """One way to run a job."""

    title: str
    opening: Cost
    reading: Cost
    opens_per_file: float
    cached: float = 0.0


def load(way: Way, workers: int) -> list[str]:
    """What servers see: opens and requests per second, bytes per second, and what share of their links."""
    trips = way.opening.round_trips * way.opens_per_file / CHUNKS + way.reading.round_trips
    seconds = ANALYSIS_SECONDS + way.reading.seconds + way.opening.seconds * way.opens_per_file / CHUNKS
    # The chunk is read ahead of the analysis only inside a task, so a task waits for its round trips.
    chunks = workers / (seconds + trips * ROUND_TRIP)
    # Links that are full slow everybody down.
    nbytes = (way.reading.nbytes + way.opening.nbytes * way.opens_per_file / CHUNKS) * (1 - way.cached)
    chunks = min(chunks, SERVERS * SERVER_BYTES / nbytes)
    opens = chunks * way.opens_per_file / CHUNKS
    requests = (chunks * way.reading.requests + opens * way.opening.requests) * (1 - way.cached)
    share = chunks * nbytes / (SERVERS * SERVER_BYTES)
    cells = [
        f"{chunks:,.0f}",
        f"{opens:,.0f}",
        f"{requests:,.0f}",
        f"{chunks * nbytes / 1e9:.2f}",
        f"{share:.0%}",
    ]
    return [way.title, f"{workers:,}", *cells]


def starts(opening: Cost, workers: int) -> list[str]:
    """The opens of the first second, without and with a spread."""
    random = np.random.default_rng(SEED)
    at_once = workers
    spread = np.bincount(random.uniform(0, SPREAD, workers).astype(int)).max()
    return [
        f"{workers:,}",
        f"{at_once:,}",
        f"{at_once * opening.requests:,.0f}",
        f"{spread:,}",
        f"{spread * opening.requests:,.0f}",
    ]


def tails(workers: int) -> list[list[str]]:
    """Seconds of reading a chunk if some servers are slow, by the number of replicas that race."""
    random, rows = np.random.default_rng(SEED), []
    base = random.exponential(0.1, (workers * CHUNKS, 2)) + ROUND_TRIP
    slow = np.where(random.random(base.shape) < SLOW_SHARE, SLOW_FACTOR, 1.0)
    one, two = (base * slow)[:, 0], (base * slow).min(axis=1)
    for title, seconds in (("one replica", one), ("the faster of two replicas", two)):
        # A file's worker is done with its last chunk; the job, with its last worker.
        total = seconds.reshape(workers, CHUNKS).sum(axis=1)
        shown = [np.median(seconds), np.quantile(seconds, 0.99), np.median(total), total.max()]
        rows.append([title, f"{workers:,}", *(f"{value:.2f}" for value in shown)])
    return rows


def page(constants: tuple[Cost, Cost]) -> str:
    """The tables."""
    opening, reading = constants
    root_open, root_read = recorded("root")
    root_open = Cost(root_open.requests, root_open.round_trips, opening.nbytes, opening.seconds)
    root_read = Cost(root_read.requests, root_read.round_trips, reading.nbytes, reading.seconds)
    ways = [
        Way("root, open for each chunk and once before", root_open, root_read, CHUNKS + 1),
        Way("root, one open per file", root_open, root_read, 1),
        Way("http, one open per file", opening, reading, 1),
        Way(f"http, and a shared cache that has {CACHED:.0%}", opening, reading, 1, CACHED),
    ]
    measured_rows: Sequence[Sequence[str]] = [
        [
            title,
            f"{cost.requests:.1f}",
            f"{cost.round_trips:.1f}",
            f"{cost.nbytes / 1e6:.2f}",
            f"{1e3 * cost.seconds:.1f}",
        ]
        for title, cost in (
            ("open a file, http", opening),
            ("five columns of a chunk, http", reading),
            ("open a file, root", root_open),
            ("five columns of a chunk, root", root_read),
        )
    ]
    given = (
        f"{CHUNKS} chunks of {ENTRIES:,} entries per file, {ANALYSIS_SECONDS:g} s of analysis per chunk, "
        f"a round trip of {1e3 * ROUND_TRIP:g} ms, {SERVERS} servers with "
        f"{8 * SERVER_BYTES / 1e9:g} Gbit/s each"
    )
    load_head = ["way", "workers", "chunks/s", "opens/s", "requests/s", "GB/s", "of the links"]
    spread = f"spread over {SPREAD:g} s: opens in the worst second"
    start_head = ["workers", "opens in the first second", "requests", spread, "requests"]
    tail_head = [
        "chunks are read from",
        "workers",
        "median chunk, s",
        "99 %",
        "median file, s",
        "slowest file, s",
    ]
    parts = [
        "Constants:", results.table(["", "requests", "round trips", "MB", "processor ms"], measured_rows),
        f"Load of the servers ({given}):",
        results.table(load_head, [load(way, workers) for workers in WORKERS for way in ways]),
        "Starts:", results.table(start_head, [starts(root_open, workers) for workers in WORKERS]),
        f"Slow servers ({SLOW_SHARE:.0%} of reads meet a server that is {SLOW_FACTOR:g} times slower):",
        results.table(tail_head, [row for workers in WORKERS for row in tails(workers)]),
    ]  # fmt: skip
    return "\n\n".join(parts)


def main() -> None:
    arguments = results.parser(__doc__, data=False).parse_args()
    text = page(measured())
    if arguments.markdown:
        arguments.markdown.parent.mkdir(parents=True, exist_ok=True)
        arguments.markdown.write_text(text + "\n")
    else:
        sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
