"""Reads from a cold disk and from a mount that is far away: `make bench-mounts`.

    python bench/mounts.py --data DIR [--markdown FILE] [--json FILE]

disk: 12 of 1,491 columns, and all columns, of the NanoAOD-like file on the local disk, as it is, and slowed
down by the kernel (control groups, version 1; needs root). "the same bytes" is a program that reads the
baskets of these columns in the order of the file, or the whole file in pieces of 1 MiB, one after the other
as `dd` does, and does nothing with them.

sshfs: 12 columns of the file, mounted with sshfs, whose connection to sshd passes an emulated link: round
trips of 0, 10 and 50 ms. Needs sshfs, sshd and the right to mount through FUSE.

Each run is a process of its own, with all processors; readers take turns, and the kernel forgets the file
before each run. Figures are medians.
"""

from __future__ import annotations

import argparse
import itertools
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
from basketlist import write_list
from measured import measured
from remote import ROOT_DEFAULT, SAPWOOD, UPROOT, Client
from remote_servers import Server
from results import Check, required, table
from rootbuild import HERE

FILE, TREE = "nano_zstd5.root", "Events"
PLAIN = HERE / "readers" / "python_pread.py"
COLUMNS = [
    *("nMuon", "Muon_pt", "Muon_eta", "Muon_phi", "nJet", "Jet_pt", "Jet_eta", "Jet_phi"),
    *("MET_pt", "MET_phi", "run", "event"),
]
ALL, FEW = "all columns", f"{len(COLUMNS)} columns"
BYTES = "the same bytes"
# Times of sapwood, and of the same bytes.
MOST = 1.2
ROUND_TRIPS, MEGABITS = [0, 10, 50], 1000
CLIENTS = [SAPWOOD, UPROOT, ROOT_DEFAULT]
PIECE = 1 << 20
# Most megabytes and reads in a second: as it is, like a solid-state and a spinning disk on a full node.
DISKS = {
    "the disk": (0, 0),
    "a disk of 200 MB/s and 2,000 reads/s": (200, 2000),
    "a disk of 100 MB/s and 200 reads/s": (100, 200),
}
GROUPS = Path("/sys/fs/cgroup/blkio")
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
    """The folder, mounted over the emulated link at this address."""
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


@contextmanager
def slowed(path: Path, megabytes: int, reads: int) -> Iterator[list[str]]:
    """Limits a disk for the commands behind these words."""
    if not reads:
        yield []
        return
    group, device = GROUPS / "sapwood-bench", path.stat().st_dev
    group.mkdir(exist_ok=True)
    limits = {"read_bps_device": megabytes * 10**6, "read_iops_device": reads}
    for name, most in limits.items():
        (group / f"blkio.throttle.{name}").write_text(f"{os.major(device)}:{os.minor(device)} {most}")
    try:
        yield ["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh"]
    finally:
        group.rmdir()


def run(command: list[str], path: Path) -> Record:
    """One run in a process of its own."""
    forget(path)
    return measured(command, None, DEADLINE)


def command(client: Client, what: str, path: Path, build: Path) -> list[str]:
    action, columns = ("columns", COLUMNS) if what == FEW else ("whole", [])
    return client.command(action, build, [str(path), TREE, *columns])


def pieces(path: Path, what: str, folder: Path) -> Path:
    """A list of offsets and sizes of what the columns need, in the order of the file."""
    if what == ALL:
        size = path.stat().st_size
        found = [(start, min(PIECE, size - start)) for start in range(0, size, PIECE)]
    else:
        baskets = folder / "baskets"
        write_list(path, TREE, COLUMNS, baskets)
        lines = (line.split() for line in baskets.read_text().splitlines()[1:])
        found = sorted((int(line[0]), int(line[1])) for line in lines if line[0] != "column")
    out = folder / "pieces"
    out.write_text("".join(f"{offset} {size}\n" for offset, size in found))
    return out


def from_disk(options: argparse.Namespace) -> Iterator[Record]:
    path = options.data / FILE
    disks = DISKS if GROUPS.is_dir() and os.access(GROUPS, os.W_OK) else {"the disk": DISKS["the disk"]}
    with tempfile.TemporaryDirectory() as folder:
        for (disk, limits), what in itertools.product(disks.items(), (FEW, ALL)):
            wanted = pieces(path, what, Path(folder))
            commands = {BYTES: [sys.executable, str(PLAIN), str(path), str(wanted)]}
            commands |= {one.name: command(one, what, path, options.data / "build") for one in CLIENTS}
            with slowed(path, *limits) as words:
                turns = [
                    (name, run([*words, *each], path))
                    for _ in range(options.runs)
                    for name, each in commands.items()
                ]
            for name in commands:
                yield {
                    "place": f"{what} from {disk}",
                    "client": name,
                    "runs": [one for of, one in turns if of == name],
                }


def from_mounts(options: argparse.Namespace) -> Iterator[Record]:
    with tempfile.TemporaryDirectory() as folder, ssh_server(Path(folder)) as (port, key):
        for rtt_ms in ROUND_TRIPS:
            with (
                Server("ssh", "sshd", port).far(rtt_ms, MEGABITS) as far,
                mounted(options.data, far.address, key) as place,
            ):
                for client in CLIENTS:
                    words = command(client, FEW, place / FILE, options.data / "build")
                    runs = [run(words, place / FILE) for _ in range(options.runs)]
                    yield {
                        "place": f"{FEW} through sshfs at {rtt_ms} ms",
                        "client": client.name,
                        "runs": runs,
                    }


def measure(options: argparse.Namespace) -> Iterator[Record]:
    yield from from_disk(options)
    yield from from_mounts(options)


def seconds(record: Record) -> float | None:
    """The median; for a run that was stopped early, extrapolated from its share."""
    times = [one["seconds"] / one.get("share", 1) for one in record["runs"] if "error" not in one]
    return median(times) if times else None


def checks(records: list[Record]) -> list[Check]:
    found: list[Check] = []
    for place in dict.fromkeys(one["place"] for one in records):
        taken = {one["client"]: seconds(one) for one in records if one["place"] == place}
        own, plain = taken.pop(SAPWOOD.name, None), taken.pop(BYTES, None)
        if not own:
            continue
        if plain:
            share = own / plain
            found.append((f"{place}: sapwood / {BYTES}", f"{share:.2f}", f"at most {MOST:g}", share <= MOST))
        least = LEAST if place == f"{FEW} through sshfs at {FAR_MS} ms" else 1.0 if plain else None
        for name, peer in taken.items():
            if least and peer:
                ratio = peer / own
                found.append(
                    (f"{place}: {name} / sapwood", f"{ratio:.1f}", f"at least {least:g}", ratio >= least)
                )
    return found


def tables(records: list[Record]) -> dict[str, str]:
    names = [BYTES, *(client.name for client in CLIENTS)]
    rows = []
    for place in dict.fromkeys(one["place"] for one in records):
        cells = {one["client"]: seconds(one) for one in records if one["place"] == place}
        shown = [cells.get(name) for name in names]
        rows.append([place, *("-" if taken is None else f"{taken:.2f}" for taken in shown)])
    return {"Required": required(checks(records)), "Seconds": table(["columns, source", *names], rows)}


def line(record: Record) -> str:
    errors = {one["error"] for one in record["runs"] if "error" in one}
    return f"{record['place']}, {record['client']}: {seconds(record)} {' '.join(errors)}"


def main() -> None:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--runs", type=int, default=3, help="runs of each reader")
    options = parser.parse_args()
    for program in ("sshfs", "ssh-keygen", "fusermount3"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is not installed")
    records = results.collect(measure(options), line)
    results.report(options, records, tables(records), checks(records))


if __name__ == "__main__":
    main()
