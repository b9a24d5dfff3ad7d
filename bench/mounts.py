"""Reads 12 of 1,491 columns from a mount that is far away: `make bench-mounts`.

    python bench/mounts.py --data DIR [--markdown FILE] [--json FILE]

The NanoAOD-like file is mounted with sshfs, whose connection to sshd passes a delay line: round trips of 0,
10 and 50 ms. Each run is a process of its own; the kernel forgets the file before it. Needs sshfs, sshd and
the right to mount through FUSE.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import results
from measured import measured
from remote import ROOT_DEFAULT, SAPWOOD, UPROOT, Client
from remote_servers import Server
from results import Check, required, table

FILE, TREE = "nano_zstd5.root", "Events"
COLUMNS = [
    *("nMuon", "Muon_pt", "Muon_eta", "Muon_phi", "nJet", "Jet_pt", "Jet_eta", "Jet_phi"),
    *("MET_pt", "MET_phi", "run", "event"),
]
ROUND_TRIPS, MEGABITS = [0, 10, 50], 1000
CLIENTS = [SAPWOOD, UPROOT, ROOT_DEFAULT]
DEADLINE, START_SECONDS = 300.0, 15.0
# At this round trip, peers take at least this many times longer.
FAR_MS, LEAST = 10, 5.0

Record = dict[str, Any]


@contextmanager
def ssh_server(folder: Path) -> Iterator[tuple[int, Path]]:
    """sshd for this user alone; its port, and the key that it accepts."""
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    shutil.copy(folder / "user.pub", folder / "accepted")
    port = 22022
    settings = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "accepted",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "Subsystem": "sftp internal-sftp",
    }
    config = folder / "sshd_config"
    config.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    Path("/run/sshd").mkdir(exist_ok=True)
    sshd = shutil.which("sshd") or "/usr/sbin/sshd"
    with subprocess.Popen([sshd, "-D", "-f", config, "-E", folder / "log"]) as server:
        try:
            yield port, folder / "user"
        finally:
            server.terminate()


@contextmanager
def mounted(data: Path, address: str, key: Path) -> Iterator[Path]:
    """The folder, mounted over the delay line at this address."""
    port = address.rpartition(":")[2]
    options = f"IdentityFile={key},StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null,port={port}"
    with tempfile.TemporaryDirectory(prefix="sapwood-mount-") as place:
        end = time.monotonic() + START_SECONDS
        command = ["sshfs", "-o", options, f"{os.environ.get('USER', 'root')}@127.0.0.1:{data}", place]
        while subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
            if time.monotonic() > end:
                raise SystemExit("sshfs cannot mount the folder")
            time.sleep(0.5)
        try:
            yield Path(place)
        finally:
            subprocess.run(["fusermount3", "-u", place], check=True)


def forget(path: Path) -> None:
    """Drops the pages of a file from the page cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run(client: Client, what: str, path: Path, build: Path) -> Record:
    """One run in a process of its own."""
    columns = COLUMNS if what == "columns" else []
    forget(path)
    command = client.command(what, build, [str(path), TREE, *columns])
    return measured(command, None, DEADLINE)


def measure(options: argparse.Namespace) -> Iterator[Record]:
    with tempfile.TemporaryDirectory() as folder, ssh_server(Path(folder)) as (port, key):
        for rtt_ms in ROUND_TRIPS:
            with (
                Server("ssh", "sshd", port).far(rtt_ms, MEGABITS) as far,
                mounted(options.data, far.address, key) as place,
            ):
                for client in CLIENTS:
                    runs = [
                        run(client, "columns", place / FILE, options.data / "build")
                        for _ in range(options.runs)
                    ]
                    yield {"rtt_ms": rtt_ms, "client": client.name, "runs": runs}


def seconds(record: Record) -> float | None:
    """The median; for a run that was stopped early, extrapolated from its share."""
    times = [one["seconds"] / one.get("share", 1) for one in record["runs"] if "error" not in one]
    return median(times) if times else None


def checks(records: list[Record]) -> list[Check]:
    found: list[Check] = []
    far = {one["client"]: seconds(one) for one in records if one["rtt_ms"] == FAR_MS}
    own = far.get(SAPWOOD.name)
    for name, taken in far.items():
        if name != SAPWOOD.name and own and taken:
            what = f"sshfs at {FAR_MS} ms, {len(COLUMNS)} columns: {name} / sapwood"
            found.append((what, f"{taken / own:.1f}", f"at least {LEAST:g}", taken / own >= LEAST))
    return found


def tables(records: list[Record]) -> dict[str, str]:
    rows = []
    for rtt_ms in ROUND_TRIPS:
        cells = {one["client"]: seconds(one) for one in records if one["rtt_ms"] == rtt_ms}
        shown = [cells.get(client.name) for client in CLIENTS]
        rows.append([f"{rtt_ms} ms", *("fails" if taken is None else f"{taken:.2f} s" for taken in shown)])
    head = ["round trip", *(client.name for client in CLIENTS)]
    return {
        "Required": required(checks(records)),
        f"{len(COLUMNS)} columns of 1,491 through sshfs": table(head, rows),
    }


def line(record: Record) -> str:
    errors = {one["error"] for one in record["runs"] if "error" in one}
    return f"{record['rtt_ms']} ms, {record['client']}: {seconds(record)} {' '.join(errors)}"


def main() -> None:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--runs", type=int, default=3, help="runs of each reader")
    options = parser.parse_args()
    for program in ("sshfs", "ssh-keygen", "fusermount3"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is not installed")
    records = results.collect(measure(options), line)
    results.publish(options, tables(records), results.document(records), results.missed(checks(records)))


if __name__ == "__main__":
    main()
