"""coffea's Runner on a cluster that loses a worker: the same histograms, few opens, few requests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import nano_like
import pytest
import testkit

from sapwood import startup

pytest.importorskip("coffea")
pytest.importorskip("distributed")

FILES, CHUNKS, ROUND_TRIP = int(os.environ.get("SAPWOOD_RUNNER_FILES", 3)), 4, 30
COLUMNS = 10
"""Counters and members of muons and jets that the program uses."""
AT_OPENING = 3
"""Requests until a file at a new server is open: head, tail, and a probe."""
COUNTING = """
import os, sapwood.model.file as model
opened = model.File.__init__
def count(self, where, options):
    with open(os.environ["OPENED"], "a") as log:
        log.write(f"{os.getpid()} {where}\\n")
    opened(self, where, options)
model.File.__init__ = count
"""


@pytest.fixture(scope="module")
def nano(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of four clusters, in as many chunks."""
    path = tmp_path_factory.mktemp("runner") / "nano.root"
    nano_like.CLUSTER, cluster = 1000, nano_like.CLUSTER
    nano_like.write(path, CHUNKS * 1000)
    nano_like.CLUSTER = cluster
    return path


def run(nano: Path, folder: Path, switch: str) -> tuple[dict[str, Any], list[dict[str, int]], list[str]]:
    """What the program prints, the counts of each file's server, and the opens by process."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(startup.START_LINE + (COUNTING if switch else ""))
    (folder / "opened").touch()
    places = [str(folder), str(Path(startup.__file__).parents[1])]
    with ExitStack() as stack:
        servers = []
        for number in range(FILES):
            (folder / str(number)).mkdir()
            shutil.copy(nano, folder / str(number) / "nano.root")
            serving = testkit.serving(folder / str(number), "--rtt-ms", str(ROUND_TRIP))
            servers.append(stack.enter_context(serving))
        done = subprocess.run(
            [
                *(sys.executable, str(Path(__file__).with_name("runner_program.py")), str(folder / "marker")),
                *(f"{server.url}/nano.root" for server in servers),
            ],
            env={
                **os.environ,
                "SAPWOOD_UPROOT": switch,
                "PYTHONPATH": os.pathsep.join(places),
                "OPENED": str(folder / "opened"),
                # They are requests, too, and each file has a server of its own here.
                "SAPWOOD_CONNECTIONS_AHEAD": "0",
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        counts = [server.counts() for server in servers]
    assert done.returncode == 0, done.stderr[-3000:]
    assert (folder / "marker").exists(), "no worker died"
    return json.loads(done.stdout), counts, (folder / "opened").read_text().splitlines()


@testkit.needs_testkit
def test_a_worker_dies_and_files_are_opened_once_per_process(nano: Path, tmp_path: Path) -> None:
    expected, others, _ = run(nano, tmp_path / "uproot", "")
    found, counts, opened = run(nano, tmp_path / "sapwood", "1")
    seconds = [one.pop("seconds") for one in (expected, found)]
    assert found == expected and found["events"] == FILES * CHUNKS * 1000
    assert sum(found["mass"]) > 10 and sum(found["jets"]) > 100
    by_process = Counter(opened)
    assert set(by_process.values()) == {1}, by_process
    # Until a process has learned its columns, it fetches them one by one.
    processes = len({line.split()[0] for line in opened})
    requests = sum(one["requests"] for one in counts)
    most = AT_OPENING * len(opened) + processes * COLUMNS + 2 * FILES * CHUNKS
    assert requests <= most
    numbers = (requests, sum(one["requests"] for one in others), len(opened), most)
    print("requests with and without sapwood, opens, bound:", *numbers, "seconds:", *seconds)
