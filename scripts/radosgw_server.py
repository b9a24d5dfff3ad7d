"""A temporary Ceph cluster with S3 gateways on free local ports: one monitor, some OSDs, radosgw.

    python scripts/radosgw_server.py [--gateways N] [--ec K,M] [--copies N] [--store bluestore]

Prints one line of JSON when it is ready, {"endpoints": ["http://127.0.0.1:PORT", …], "access_key_id": …,
"secret_access_key": …, "bucket": "data"}, and serves until its standard input ends. scripts/radosgw.sh
installs the packages. It needs no root privileges and listens only on this machine. All data is in a
temporary folder, by default in memory.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import s3_server
from local_server import free_port, parser, serve

READY_SECONDS, REMOVE_SECONDS = 60.0, 600.0
PROGRAMS = ("ceph", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin")
POOLS = (".rgw.root", *(f"default.rgw.{name}" for name in ("control", "meta", "log")))
BUCKET_POOLS = tuple(f"default.rgw.buckets.{name}" for name in ("index", "non-ec", "data"))
GIGABYTES = 8

# The reasons for settings other than the defaults:
# - no authentication in the cluster: it is isolated, and radosgw would insist on encryption and wait forever
# - pools without copies unless requested: everything is on one machine, and nearly full disks do not matter
# - paxos does not wait for other monitors: the setup takes one second instead of three
# - the socket does not delay small answers (tcp_nodelay, at the start of the gateway)
CONFIG = """
[global]
fsid = {fsid}
mon initial members = a
mon host = [v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc secure
ms mon service mode = crc secure
ms mon cluster mode = crc secure
run dir = {folder}
admin socket = {folder}/$name.$pid.asok
log file = {folder}/$name.log
crash dir = {folder}
osd pool default size = {copies}
osd pool default min size = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 2000
mon data avail crit = 1
mon data avail warn = 2
mon osd full ratio = .99
mon osd backfillfull ratio = .985
mon osd nearfull ratio = .98
osd failsafe full ratio = .995
[mon]
mon data = {folder}/mon
mon cluster log file = {folder}/cluster.log
paxos propose interval = 0.05
paxos min wait = 0.01
[osd]
osd data = {folder}/osd.$id
osd objectstore = {store}
osd class update on start = false
memstore device bytes = {bytes}
bluestore block size = {bytes}
bluestore block create = true
osd memory target = 939524096
[client]
rgw data = {folder}
"""


def missing() -> str | None:
    """The missing software, or None."""
    if absent := [name for name in PROGRAMS if shutil.which(name) is None]:
        return f"{', '.join(absent)} not installed (make servers, on Debian and Ubuntu)"
    return None


@dataclass
class Cluster:
    """A running cluster: all gateways serve the bucket ``data``, and on request ``coded``."""

    folder: Path
    gateways: list[s3_server.Server] = field(default_factory=list)
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *command: str) -> None:
        """Starts a daemon; its output goes to a file."""
        with (self.folder / f"{name}.out").open("wb") as log:
            command = (*command, "-c", str(self.folder / "ceph.conf"), "-f")
            self.daemons[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def run(self, *command: str, stdin: str = "", seconds: float = READY_SECONDS) -> str:
        """Runs a program of Ceph, and returns its output."""
        command = (*command, "-c", str(self.folder / "ceph.conf"))
        ended = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=seconds)
        if ended.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {ended.stderr[-1000:]}")
        return ended.stdout

    def ceph(self, *lines: str) -> None:
        """Runs commands, in one process."""
        self.run("ceph", "--connect-timeout", "30", stdin="\n".join(lines) + "\n")

    def admin(self, *arguments: str, seconds: float = READY_SECONDS) -> None:
        """Runs an administration command of the gateway."""
        self.run("radosgw-admin", "-n", "client.rgw0", *arguments, seconds=seconds)

    def remove_bucket(self, name: str) -> None:
        """Removes a bucket and its content."""
        rest = ("--purge-objects", "--bypass-gc")
        self.admin("bucket", "rm", f"--bucket={name}", *rest, seconds=REMOVE_SECONDS)

    def stop(self) -> None:
        """Ends all processes, the last one first. No data is kept."""
        for server in self.gateways:
            server.kill()
        for daemon in reversed(self.daemons.values()):
            daemon.kill()
            daemon.wait()


@contextmanager
def cluster(
    gateways: int = 1, erasure: tuple[int, int] | None = None, store: str = "memstore", copies: int = 1
) -> Iterator[Cluster]:
    """A cluster; with `erasure` = (k, m), it has k + m OSDs, and a bucket ``coded`` that is spread over them.

    Then buckets can also be made without an index, with the location constraint ``:indexless``.

    Everything else has `copies`, each on a different OSD.
    """
    if lack := missing():
        raise RuntimeError(lack)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sapwood-ceph-")))
        made = Cluster(folder)
        stack.callback(made.stop)
        osds = max(copies, sum(erasure) if erasure else 1)
        _start_monitor(made, store, copies)
        _start_osds(made, osds)
        made.ceph(*_pools(erasure))
        _make_user(made, erasure)
        for number in range(gateways):
            _start_gateway(made, number)
        for server in made.gateways:
            _wait(partial(s3_server.answers, server, "/"), made)
        made.gateways[0].make_bucket()
        if erasure:
            made.gateways[0].make_bucket("coded", placement=":ec")
        yield made


def _start_monitor(made: Cluster, store: str, copies: int) -> None:
    fsid, v2, v1 = str(uuid.uuid4()), free_port(), free_port()
    values = {"fsid": fsid, "v2": v2, "v1": v1, "folder": made.folder, "store": store, "copies": copies}
    config = CONFIG.format(**values, bytes=GIGABYTES << 30)
    (made.folder / "ceph.conf").write_text(config)
    monmap = str(made.folder / "monmap")
    addresses = f"[v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]"
    made.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", addresses, monmap)
    made.run("ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap)
    made.start("mon", "ceph-mon", "-i", "a")


def _start_osds(made: Cluster, count: int) -> None:
    ids = [str(uuid.uuid4()) for _ in range(count)]
    for number, one in enumerate(ids):
        (made.folder / f"osd.{number}").mkdir()
        made.ceph(f"osd new {one} {number}")
        made.run("ceph-osd", "--mkfs", "-i", str(number), "--osd-uuid", one)
        made.start(f"osd{number}", "ceph-osd", "-i", str(number))
    _wait(lambda: json.loads(made.run("ceph", "osd", "stat", "-f", "json"))["num_up_osds"] == count, made)


def _pools(erasure: tuple[int, int] | None) -> Sequence[str]:
    """Commands that create the pools, because the gateway would create too many placement groups."""
    lines = []
    for pool in (*POOLS, *BUCKET_POOLS):
        parts = 16 if pool.endswith("data") else 4
        lines += [
            f"osd pool create {pool} {parts} {parts} replicated",
            f"osd pool application enable {pool} rgw",
        ]
    if erasure:
        k, m = erasure
        profile = f"plugin=jerasure technique=reed_sol_van k={k} m={m} crush-failure-domain=osd"
        lines += [f"osd erasure-code-profile set coded {profile}"]
        lines += ["osd pool create default.rgw.ec.data 16 16 erasure coded"]
        lines += ["osd pool application enable default.rgw.ec.data rgw"]
    return lines


def _make_user(made: Cluster, erasure: tuple[int, int] | None) -> None:
    keys = s3_server.Server(0)
    shown = ("--uid=test", "--display-name=test")
    secrets = (f"--access-key={keys.access_key_id}", f"--secret={keys.secret_access_key}")
    made.admin("user", "create", *shown, *secrets)
    if erasure:
        _add_placement(made, "ec", "default.rgw.ec.data", "normal")
        _add_placement(made, "indexless", BUCKET_POOLS[2], "indexless")


def _add_placement(made: Cluster, name: str, pool: str, index: str) -> None:
    """Lets buckets be made with their objects in a pool, and with this type of index."""
    place = ("--placement-id", name)
    made.admin("zonegroup", "placement", "add", "--rgw-zonegroup", "default", *place)
    pools = ("--data-pool", pool, "--index-pool", BUCKET_POOLS[0], "--data-extra-pool", BUCKET_POOLS[1])
    types = (*pools, f"--placement-index-type={index}")
    made.admin("zone", "placement", "add", "--rgw-zone", "default", *place, *types)


def _start_gateway(made: Cluster, number: int) -> None:
    server = s3_server.Server(free_port(), health="/")
    frontend = f"beast endpoint={server.address} tcp_nodelay=1"
    server.command = ("radosgw", "-n", f"client.rgw{number}", "--rgw-frontends", frontend)
    made.start(f"rgw{number}", *server.command)
    server.process = made.daemons[f"rgw{number}"]
    server.command += ("-c", str(made.folder / "ceph.conf"), "-f")
    made.gateways.append(server)


def _wait(ready: Callable[[], bool], made: Cluster) -> None:
    end = time.monotonic() + READY_SECONDS
    while not ready():
        dead = [name for name, daemon in made.daemons.items() if daemon.poll() is not None]
        if dead or time.monotonic() > end:
            output = "".join((made.folder / f"{name}.out").read_text()[-500:] for name in dead)
            raise RuntimeError(f"the Ceph cluster does not start: {', '.join(dead) or 'no answer'} {output}")
        time.sleep(0.1)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--gateways", type=int, default=1, help="number of S3 servers")
    arguments.add_argument("--ec", metavar="K,M", help="also make the bucket 'coded', over K + M OSDs")
    arguments.add_argument("--copies", type=int, default=1, help="copies of data that is not coded")
    arguments.add_argument("--store", default="memstore", help="the OSDs' storage: memstore or bluestore")
    options = arguments.parse_args()
    if (lack := missing()) is not None:
        raise SystemExit(f"radosgw_server: {lack}")
    k, _, m = (options.ec or "").partition(",")
    erasure = (int(k), int(m)) if options.ec else None
    with cluster(options.gateways, erasure, options.store, options.copies) as made:
        first = made.gateways[0]
        keys = {"access_key_id": first.access_key_id, "secret_access_key": first.secret_access_key}
        endpoints = [server.endpoint for server in made.gateways]
        serve({"endpoints": endpoints, **keys, "bucket": first.bucket})


if __name__ == "__main__":
    os.umask(0o077)
    main()
