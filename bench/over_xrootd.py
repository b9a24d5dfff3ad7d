"""Reads 3 columns over root://, near and far, next to uproot and ROOT.

    python bench/over_xrootd.py --data DIR [--rtt 0,22,100,240] [--files h1_new,nano_zstd5] [--markdown FILE]

Each run is a fresh process against one Debian xrootd behind a delay line that is fresh, too: all is cold but
the server's page cache. The clients take turns; medians are shown. Time starts after the imports, before the
file is opened, and ends with the arrays in memory (ROOT: with the columns added up). Turnarounds are waits of
one round trip in sequence, as the delay line counts them; it does not see the handshake of TCP, one more.
"""

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
from typing import Any
from urllib.request import urlopen

from over_http import testkit, what_failed

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "scripts"))
import xrootd_server  # noqa: E402

CLIENTS = ["sapwood", "uproot", "ROOT"]
COUNTS = ["turnarounds", "connections", "bytes_sent"]
COLUMNS = {"h1": ("h42", ["trk_v0", "dst_v0", "f1"]), "nano": ("Events", ["Muon_pt", "Muon_eta", "Jet_pt"])}

Row = dict[str, Any]


@contextmanager
def far(port: int, rtt_ms: int) -> Iterator[dict[str, str]]:
    """A delay line before a server: its `address`, and `control`, which tells what it counted."""
    command = [str(testkit()), "proxy", "--server", f"127.0.0.1:{port}", "--rtt-ms", str(rtt_ms)]
    # It serves until its standard input ends.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as line:
        assert line.stdout is not None
        yield json.loads(line.stdout.readline())
        line.communicate()


def measure(client: str, port: int, name: str, rtt_ms: int, timeout: float) -> Row:
    """One cold run: seconds, what the delay line counted, and sums of the columns to compare."""
    tree, columns = COLUMNS[name.split("_")[0]]
    with far(port, rtt_ms) as line:
        url = f"root://{line['address']}//{name}.root"
        command = [sys.executable, str(HERE / "xrootd_client.py"), client, url, tree, *columns]
        environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
        except subprocess.TimeoutExpired:
            return {"error": f"not done after {timeout:.0f} s"}
        if run.returncode or not run.stdout.strip():
            return {"error": what_failed(run.stderr)}
        row: Row = json.loads(run.stdout.splitlines()[-1])
        with urlopen(f"{line['control']}/__stats__", timeout=10) as answer:
            counted = json.load(answer)
    return {**row, **{count: counted[count] for count in COUNTS}}


def bench(name: str, port: int, rtt_ms: int, clients: list[str], runs: int, timeout: float) -> list[Row]:
    """A row for each client, all measured in turn."""
    measured: dict[str, list[Row]] = {client: [] for client in clients}
    for _ in range(runs):
        for client in clients:
            measured[client].append(measure(client, port, name, rtt_ms, timeout))
    rows = []
    for client, results in measured.items():
        row: Row = {"file": name, "rtt_ms": rtt_ms, "client": client}
        if errors := [result["error"] for result in results if "error" in result]:
            rows.append({**row, "error": errors[0]})
            continue
        row["sums"] = results[0]["sums"]
        rows.append(row | {n: statistics.median(run[n] for run in results) for n in ("seconds", *COUNTS)})
    sums = [row["sums"] for row in rows if "sums" in row]
    if any(found != sums[0] for found in sums):
        raise RuntimeError(f"the clients read different values: {sums}")
    return rows


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    own = {(row["file"], row["rtt_ms"]): row.get("seconds") for row in rows if row["client"] == "sapwood"}
    titles = ["file", "round trip", "client", "seconds", "to sapwood", "turnarounds", "connections", "MB"]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for row in rows:
        where = f"| {row['file']} | {row['rtt_ms']} ms | {row['client']}"
        if "error" in row:
            lines.append(f"{where} | failed: {row['error']}{' |' * (len(titles) - 3)}")
            continue
        mine = own.get((row["file"], row["rtt_ms"]))
        ratio = f"{row['seconds'] / mine:.2f}" if mine else ""
        counts = f"{row['turnarounds']:.0f} | {row['connections']:.0f} | {row['bytes_sent'] / 1e6:.2f}"
        lines.append(f"{where} | {row['seconds']:.3f} | {ratio} | {counts} |")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    default = os.environ.get("SAPWOOD_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=default, required=default is None, help="inputs")
    parser.add_argument("--files", default="h1_new,nano_zstd5", help="inputs, made by generate.py")
    parser.add_argument("--rtt", default="0,22,100,240", help="round trips, in milliseconds")
    parser.add_argument("--clients", default=",".join(CLIENTS), help=f"some of {', '.join(CLIENTS)}")
    parser.add_argument("--runs", type=int, default=3, help="runs of each client; medians are shown")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that one run may take")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--markdown", type=Path, help="write the table to this file")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if (lack := xrootd_server.missing()) is not None:
        raise SystemExit(f"over_xrootd: {lack}")
    clients = options.clients.split(",")
    rows: list[Row] = []
    with xrootd_server.data_server(options.data.resolve()) as server:
        for name in options.files.split(","):
            for rtt_ms in map(int, options.rtt.split(",")):
                rows += bench(name, server.port, rtt_ms, clients, options.runs, options.timeout)
                print(table(rows[-len(clients) :]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(table(rows) + "\n")


if __name__ == "__main__":
    main()
