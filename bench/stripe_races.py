"""Races of many writers for one dataset, and long runs of its state machine: no data lost, no gaps in logs.

    python bench/stripe_races.py [--rounds 1000] [--markdown races.md] [--json races.json]

In each round, sixteen writers create the same entry of a log, or the same object. Exactly one of them must
succeed, and its content must be stored. Logs are in databases; objects are in memory, in a directory, and
behind gateways of real servers, where these are installed. These tests are too long for `make test`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import results

from sapwood.catalog import DatabaseLog

sys.path.append(str(Path(__file__).resolve().parents[1] / "scripts"))
import postgres_server
import radosgw_server
import s3_server

REPOSITORY = Path(__file__).resolve().parents[1]

WRITERS = 16
LONGEST_SECONDS = 3600
"""The time limit of each test."""
VERSITYGW = "versitygw: 16 writers race for one object"
RADOSGW = "radosgw, two gateways: the same"
CARGO = (
    (
        "16 writers: 1,000 races for one entry, 1,050 rounds of commits",
        "stripe",
        "it",
        "a_thousand_races",
    ),
    ("state machine with crashes: 200 runs of 100 steps", "stripe", "it", "reads_back_exactly_for_long"),
    (VERSITYGW, "store", "it", "a_real_server_keeps_the_contract"),
    (RADOSGW, "store", "it", "ceph_keeps_the_contract"),
)
MISSING = {VERSITYGW: s3_server.missing, RADOSGW: radosgw_server.missing}
"""For the tests that pass without their server: what says that it is not installed."""
RUNS, STEPS = 5, 60
MACHINES = {
    "objects": "in a directory",
    "sqlite": "log in SQLite",
    "postgresql": "log in PostgreSQL",
    "s3": "on versitygw",
}
PYTHON = REPOSITORY / ".venv" / "bin" / "python"
"""The Python of `make test`."""


def race(url: str, rounds: int) -> None:
    """All writers create the same entry; checks that exactly one succeeds, and that its entry is stored."""
    with ExitStack() as stack:
        logs = [stack.enter_context(DatabaseLog(url, "races")) for _ in range(WRITERS)]
        pool = stack.enter_context(ThreadPoolExecutor(WRITERS))
        for number in range(1, rounds + 1):
            barrier = threading.Barrier(WRITERS)

            def create(writer: int, number: int = number, barrier: threading.Barrier = barrier) -> bool:
                barrier.wait(60)
                return logs[writer].create(number, b"writer %d" % writer)

            created = list(pool.map(create, range(WRITERS)))
            if created.count(True) != 1:
                raise SystemExit(f"{created.count(True)} writers created entry {number}")
            if logs[0].read(number) != b"writer %d" % created.index(True):
                raise SystemExit(f"entry {number} is not that of the successful writer")
        if logs[0].newest() != (rounds, logs[0].read(rounds)):
            raise SystemExit("the log has the wrong length")


def databases(rounds: int) -> Iterator[tuple[str, float]]:
    """Races for logs in databases, with their seconds."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        race(f"{folder}/log.sqlite", rounds)
        yield f"log in SQLite: 16 writers, {rounds:,} races for one entry", time.monotonic() - begin
    if lack := postgres_server.missing():
        print(f"skipped: {lack}", file=sys.stderr)
        return
    with postgres_server.postgres_server() as server, server.database() as url:
        begin = time.monotonic()
        race(url, rounds)
        yield f"log in PostgreSQL: 16 writers, {rounds:,} races for one entry", time.monotonic() - begin


def tests(rounds: int) -> Iterator[tuple[str, float]]:
    """The long tests of the crates, with their seconds."""
    environment = {**os.environ, "SAPWOOD_TEST_ROUNDS": str(rounds)}
    for name, crate, target, test in CARGO:
        if name in MISSING and (lack := MISSING[name]()):
            print(f"skipped: {lack}", file=sys.stderr)
            continue
        command = ["cargo", "--locked", "test", "--quiet", "-p", f"sapwood-{crate}", "--test", target]
        subprocess.run([*command, "--no-run"], check=True, cwd=REPOSITORY)
        begin = time.monotonic()
        chosen = [*command, "--", test, "--include-ignored"]
        done = subprocess.run(
            chosen,
            check=True,
            cwd=REPOSITORY,
            env=environment,
            timeout=LONGEST_SECONDS,
            stdout=subprocess.PIPE,
            text=True,
        )
        if "running 1 test" not in done.stdout:
            raise SystemExit(f"{crate} has no test {test}:\n{done.stdout}")
        yield name, time.monotonic() - begin


def machines(rounds: int) -> Iterator[tuple[str, float]]:
    """The state machine of whole datasets, and all faults of its operations, with their seconds."""
    how = "through the package, with processes that are killed"
    for where, words in MACHINES.items():
        begin = time.monotonic()
        script = str(REPOSITORY / "tests" / "python" / "stripe_machine.py")
        command = [str(PYTHON), script, where, "--runs", str(RUNS), "--steps", str(STEPS)]
        subprocess.run(command, check=True, timeout=LONGEST_SECONDS, stdout=subprocess.DEVNULL)
        yield f"state machine {how}, {words}: {RUNS} runs of {STEPS} steps", time.monotonic() - begin
    begin = time.monotonic()
    command = [str(PYTHON), "-m", "pytest", "--quiet", "tests/python/test_stripe_machine.py"]
    environment = {**os.environ, "SAPWOOD_TEST_LONG": "1"}
    subprocess.run(command, check=True, cwd=REPOSITORY, env=environment, timeout=LONGEST_SECONDS)
    yield (
        "each operation: each call of both databases fails; killed after each change of a file",
        time.monotonic() - begin,
    )


def main() -> None:
    parser = results.parser(__doc__, data=False)
    parser.add_argument("--rounds", type=int, default=1000, help="races for one entry or object")
    options = parser.parse_args()
    rows: list[tuple[str, float]] = []
    for part in (databases, tests, machines):
        for name, seconds in part(options.rounds):
            print(f"{seconds:8.1f} s  {name}", flush=True)
            rows.append((name, seconds))
    cells = [[name, f"{seconds:.0f}"] for name, seconds in rows]
    tables = {"Races": results.table(["passed: nothing lost, no gap, one winner each", "s"], cells)}
    results.publish(options, tables, dict(rows))


if __name__ == "__main__":
    main()
