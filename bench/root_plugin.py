"""ROOT with sapwood's plugin next to ROOT with its own: run it after `make root-plugin`.

Eight of 40 columns of 1,200,000 entries: of a TTree by RDataFrame and by a loop with a TTreeCache of 10 MB,
and of an RNTuple by RDataFrame, over http, root and s3 at round trips of 0 and 100 ms. Then two replicas, the
first of which falls silent in the middle. Servers are real, behind an emulated link. Each run is a process of
its own; readers take turns, figures are medians. Time starts after ROOT has compiled what it compiles, before
the file is opened.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from remote_servers import HERE, missing, running, serve, testkit

PLUGIN = HERE.parent / "build" / "root-plugin"
PYTHON = os.environ.get("SAPWOOD_BENCH_PYTHON") or str(HERE.parent / "build" / "cern-root" / "bin" / "python")
COLUMNS = [f"b{number}" for number in range(0, 40, 5)]
ROUND_TRIPS = [0, 100]
LIMIT = 60
"""Seconds after which a run is given up."""
MAKE = """
import ROOT, sys
data = ROOT.RDataFrame(1_200_000)
ROOT.gRandom.SetSeed(26)
for n in range(40):
    data = data.Define(f"b{n}", "float(gRandom->Gaus())")
names = [f"b{n}" for n in range(40)]
data.Snapshot("t", sys.argv[1] + "/tree.root", names)
options = ROOT.RDF.RSnapshotOptions()
options.fOutputFormat = ROOT.RDF.ESnapshotOutputFormat.kRNTuple
ROOT.RDataFrame("t", sys.argv[1] + "/tree.root").Snapshot("n", sys.argv[1] + "/ntuple.root", names, options)
"""

Row = dict[str, Any]


def environment(home: Path, variables: dict[str, str]) -> dict[str, str]:
    """The environment of a run, without this package."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "HOME": str(home), "NO_PROXY": "127.0.0.1", "SAPWOOD_LOG": "off", **variables}


def read(what: str, warm: Path, url: str, variables: dict[str, str]) -> Row | str:
    """What a reader prints, or why it printed nothing."""
    program = HERE / "readers" / "python_root.py"
    command = [PYTHON, "-W", "ignore", str(program), str(warm), what, url, *COLUMNS]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LIMIT + 30, env=variables
        )
    except subprocess.TimeoutExpired:
        return f"> {LIMIT} s"
    if done.returncode != 0:
        return "fails"
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


@dataclass(frozen=True, eq=False)
class Bench:
    """The local files, the home of each reader, and how often each reads."""

    data: Path
    homes: dict[str, Path]
    times: int

    @cache  # noqa: B019 (one for the whole run)
    def right(self, what: str) -> list[float]:
        """The sums that ROOT finds in the local file."""
        file = str(self.file(what))
        found = read(what, Path(file), file, environment(self.homes["ROOT"], {}))
        assert not isinstance(found, str), found
        sums: list[float] = found["sums"]
        return sums

    def file(self, what: str) -> Path:
        """The local file for a way to read."""
        return self.data / ("ntuple.root" if what == "ntuple" else "tree.root")

    def median(self, what: str, urls: dict[str, str], variables: dict[str, str]) -> Row:
        """The median time of each reader, whose sums must be right; or why there is none."""
        seconds: dict[str, list[float]] = {name: [] for name in self.homes}
        failed: dict[str, str] = {}
        for _ in range(self.times):
            for name, home in self.homes.items():
                if name in failed:
                    continue
                found = read(what, self.file(what), urls[name], environment(home, variables))
                if isinstance(found, str):
                    failed[name] = found
                    continue
                both = zip(found["sums"], self.right(what), strict=True)
                assert all(math.isclose(one, other, rel_tol=1e-6) for one, other in both), (name, urls)
                seconds[name].append(found["seconds"])
        return {name: failed.get(name) or round(statistics.median(seconds[name]), 3) for name in self.homes}


@contextmanager
def homes() -> Iterator[dict[str, Path]]:
    """A home for each reader, with its settings of ROOT."""
    with tempfile.TemporaryDirectory() as name:
        found = {"ROOT": Path(name) / "own", "sapwood's plugin": Path(name) / "plugin"}
        for home in found.values():
            home.mkdir()
            # Servers on the same machine are not to be bypassed.
            (home / ".rootrc").write_text("Path.ForceRemote: 1\n")
        with (found["sapwood's plugin"] / ".rootrc").open("a") as settings:
            settings.write(f"Root.PluginPath: {PLUGIN}/plugins\n")
        yield found


def links(bench: Bench) -> Iterator[Row]:
    """A row for each protocol, round trip and way to read."""
    for protocol in ("http", "root", "s3"):
        if (lack := missing(protocol)) is not None:
            print(f"skipped, {protocol}://: {lack}")
            continue
        with serve(protocol, bench.data) as server:
            for rtt in ROUND_TRIPS:
                for what in ("frame", "loop", "ntuple"):
                    with server.far(rtt, 0) as far:
                        url = far.url(bench.file(what).name)
                        inside = f"https://sapwood/{url}" if protocol == "s3" and what == "ntuple" else url
                        urls = {"ROOT": url, "sapwood's plugin": inside}
                        row = {"protocol": protocol, "rtt_ms": rtt, "what": what}
                        yield row | bench.median(what, urls, far.variables)


def hanging(bench: Bench) -> Iterator[Row]:
    """Rows for two replicas, the first of which sends 6 MB on each connection and then nothing more."""
    for protocol in ("http", "root"):
        if missing(protocol) is not None:
            continue
        with serve(protocol, bench.data) as server, server.far(0, 0) as good:
            command = [str(testkit()), "proxy", "--server", f"127.0.0.1:{server.port}"]
            with running([*command, "--stall-after", "6000000"]) as proxy:
                separator = "//" if protocol == "root" else "/"
                bad = f"{protocol}://{proxy['address']}{separator}tree.root"
                # ROOT itself goes on to the second URL only where the first cannot be opened.
                urls = {
                    "ROOT": f"{bad}|{good.url('tree.root')}",
                    "sapwood's plugin": f"sapwood:{bad}::{good.url('tree.root')}",
                }
                row = {"protocol": protocol, "rtt_ms": 0, "what": "frame, one of two replicas hangs"}
                yield row | bench.median("frame", urls, good.variables)


def table(rows: list[Row], readers: list[str]) -> str:
    """The rows as Markdown."""
    lines = [f"| protocol | round trip | {' | '.join(['read by', *readers, 'ratio'])} |", "|" + "---|" * 6]
    for row in rows:
        own, plugin = (row[name] for name in readers)
        both = isinstance(own, float) and isinstance(plugin, float)
        ratio = f"{plugin / own:.2f}" if both else "-"
        shown = [f"{one:.2f} s" if isinstance(one, float) else one for one in (own, plugin)]
        lines.append(
            f"| {row['protocol']} | {row['rtt_ms']} ms | {row['what']} | {' | '.join(shown)} | {ratio} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=3, help="runs of each reader")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if not (PLUGIN / "libSapwoodROOT.so").exists():
        raise SystemExit("there is no plugin: make root-plugin")
    with tempfile.TemporaryDirectory(prefix="sapwood-") as name, homes() as readers:
        data = Path(name)
        data.chmod(0o755)
        subprocess.run([PYTHON, "-W", "ignore", "-c", MAKE, name], check=True)
        rows: list[Row] = []
        for part in (links, hanging):
            for row in part(Bench(data, readers, arguments.times)):
                print(row, flush=True)
                rows.append(row)
    text = table(rows, list(readers))
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text + "\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
