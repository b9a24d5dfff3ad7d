"""Reads 3 columns of an H1-like tree (283,000 entries, 6.6 MB of baskets of 260 MB) over HTTP, near and far.

    python bench/over_http.py --data DIR [--rtt 0,20,100,240] [--files h1_new,h1_old] [--markdown FILE]

Each run is a fresh process against a fresh loopback server behind a delay line: all is cold. The clients take
turns. Time starts after the imports, before the file is opened, and ends with the arrays in memory.
Turnarounds are waits of one round trip in sequence, counted at the client's end of the delay line; connecting
is not one of them. (At 0 ms they say little: an answer may come before a request sent beside it has left.)
Over-read is all that came beyond the columns' baskets.
"""

# Not called http.py: that would hide the standard library's http from every script of this folder.

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

HERE = Path(__file__).resolve().parent
COLUMNS = ["trk_v0", "dst_v0", "f1"]
CLIENTS = ["sapwood", "uproot", "uproot-HTTPSource", "ROOT"]
COUNTS = ["turnarounds", "requests", "connections", "bytes_sent"]

# What issue and documents promise.
MOST_TURNAROUNDS = 4
LARGEST_RATIO = 0.60
DISTANT_MS = 100

Row = dict[str, Any]


class Setting(NamedTuple):
    """What all clients of a row have in common."""

    rtt_ms: int
    behaviour: str
    runs: int
    timeout: float


def testkit() -> Path:
    """The program `sapwood-testkit`, as cargo built it last."""
    if named := os.environ.get("SAPWOOD_TESTKIT"):
        return Path(named)
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    built = [path for mode in ("release", "debug") if (path := target / mode / "sapwood-testkit").exists()]
    if not built:
        raise SystemExit("sapwood-testkit is not built: cargo build --release -p sapwood-testkit")
    return max(built, key=lambda path: path.stat().st_mtime)


@contextmanager
def served(folder: Path, rtt_ms: int, behaviour: str) -> Iterator[dict[str, str]]:
    """A server of a folder, so far away: its `url`, and `control`, which tells what it counted."""
    command = [str(testkit()), "serve", "--root", str(folder), "--behaviour", behaviour]
    if rtt_ms:
        command += ["--rtt-ms", str(rtt_ms)]
    # It serves until its standard input ends.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())
        server.communicate()


def measure(client: str, path: Path, setting: Setting) -> Row:
    """One cold run: seconds, what the server counted, and sums of the columns to compare."""
    with served(path.parent, setting.rtt_ms, setting.behaviour) as server:
        url = f"{server['url'].rstrip('/')}/{path.name}"
        command = [sys.executable, str(HERE / "http_client.py"), client, url, "h42", *COLUMNS]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=setting.timeout)
        except subprocess.TimeoutExpired:
            return {"error": f"not done after {setting.timeout:.0f} s"}
        if run.returncode:
            return {"error": what_failed(run.stderr)}
        row: Row = json.loads(run.stdout.splitlines()[-1])
        with urlopen(f"{server['control']}/__stats__", timeout=10) as answer:
            counted = json.load(answer)
    return {**row, **{name: counted[name] for name in COUNTS}}


def what_failed(stderr: str) -> str:
    """The line of a client's complaints that says most."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()] or ["failed silently"]
    return next((line for line in lines if line.startswith("Error in")), lines[-1])


def medians(runs: list[Row]) -> Row:
    """The median of each figure."""
    names = ["seconds", *COUNTS]
    return {name: statistics.median(run[name] for run in runs) for name in names}


def basket_bytes(path: Path) -> int:
    """Compressed bytes of the columns' baskets: what any reader must fetch."""
    import uproot

    with uproot.open(f"{path}:h42") as tree:
        return sum(int(tree[name].compressed_bytes) for name in COLUMNS)


def bench(path: Path, clients: list[str], setting: Setting) -> list[Row]:
    """A row for each client, all measured in turn."""
    measured: dict[str, list[Row]] = {client: [] for client in clients}
    for _ in range(setting.runs):
        for client in clients:
            measured[client].append(measure(client, path, setting))
    failed = {c: run["error"] for c, client_runs in measured.items() for run in client_runs if "error" in run}
    sums = {client: runs[0]["sums"] for client, runs in measured.items() if client not in failed}
    if any(found != next(iter(sums.values())) for found in sums.values()):
        raise RuntimeError(f"the clients read different values: {sums}")
    wanted = basket_bytes(path)
    own = None if "sapwood" not in sums else medians(measured["sapwood"])["seconds"]
    rows = []
    for client, client_runs in measured.items():
        row: Row = {"file": path.stem, "rtt_ms": setting.rtt_ms, "client": client}
        if client in failed:
            rows.append({**row, "error": failed[client]})
            continue
        row |= medians(client_runs)
        row["over_read_bytes"] = row["bytes_sent"] - wanted
        row["ratio"] = row["seconds"] / own if own else None
        rows.append(row)
    return rows


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    titles = ["file", "round trip", "client", "seconds", "to sapwood", *COUNTS[:3], "MB", "over-read MB"]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for row in rows:
        where = f"{row['file']} | {row['rtt_ms']} ms | {row['client']}"
        if "error" in row:
            lines.append(f"| {where} | failed: {row['error']}{' |' * (len(titles) - 3)}")
            continue
        ratio = f"{row['ratio']:.2f}" if row["ratio"] else ""
        counts = " | ".join(f"{row[name]:.0f}" for name in COUNTS[:3])
        sizes = f"{row['bytes_sent'] / 1e6:.2f} | {row['over_read_bytes'] / 1e6:.2f}"
        lines.append(f"| {where} | {row['seconds']:.3f} | {ratio} | {counts} | {sizes} |")
    return "\n".join(lines)


def broken_promises(rows: list[Row]) -> list[str]:
    """What is required and was not reached."""
    own = {(row["file"], row["rtt_ms"]): row for row in rows if row["client"] == "sapwood"}
    broken = [f"{file}, {rtt} ms: {row['error']}" for (file, rtt), row in own.items() if "error" in row]
    for row in (row for row in rows if "error" not in row):
        where = f"{row['file']}, {row['rtt_ms']} ms"
        mine = own.get((row["file"], row["rtt_ms"]), {})
        if row is mine and row["rtt_ms"] > 0 and row["turnarounds"] > MOST_TURNAROUNDS:
            broken.append(
                f"{where}: {row['turnarounds']:.0f} turnarounds, where {MOST_TURNAROUNDS} are allowed"
            )
        elif row is not mine and "seconds" in mine and row["rtt_ms"] >= DISTANT_MS:
            share = mine["seconds"] / row["seconds"]
            if share > LARGEST_RATIO:
                broken.append(f"{where}: {share:.0%} of the time of {row['client']}, not {LARGEST_RATIO:.0%}")
    return broken


def arguments() -> argparse.Namespace:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    default = os.environ.get("SAPWOOD_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=default, required=default is None, help="inputs")
    parser.add_argument("--files", default="h1_new,h1_old", help="inputs, made by generate.py")
    parser.add_argument("--rtt", default="0,20,100,240", help="round trips, in milliseconds")
    parser.add_argument("--clients", default=",".join(CLIENTS), help=f"some of {', '.join(CLIENTS)}")
    parser.add_argument("--runs", type=int, default=3, help="runs of each client; medians are shown")
    parser.add_argument("--behaviour", default="multi", help="kind of server; see sapwood-testkit")
    parser.add_argument("--timeout", type=float, default=300, help="seconds that one run may take")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--markdown", type=Path, help="write the table to this file")
    parser.add_argument("--check", action="store_true", help="fail if what is required was not reached")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    clients = options.clients.split(",")
    rows: list[Row] = []
    for name in options.files.split(","):
        path = options.data / f"{name}.root"
        if not path.exists():
            raise SystemExit(f"{path} is missing: bench/generate.py --out {options.data} --only {name}")
        for rtt_ms in map(int, options.rtt.split(",")):
            setting = Setting(rtt_ms, options.behaviour, options.runs, options.timeout)
            rows += bench(path, clients, setting)
            print(table(rows[-len(clients) :]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(table(rows) + "\n")
    broken = broken_promises(rows)
    print("\n".join(broken) or "All that is required was reached.")
    if broken and options.check:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
