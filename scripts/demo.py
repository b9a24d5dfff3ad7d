"""`make demo`: twelve columns of a NanoAOD-like file from disk and over a slow network, and with uproot."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import http_server
import nano_like

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "demo"
FILE = FOLDER / "nano.root"
PICTURE = FOLDER / "layout.svg"
ROUND_TRIP_MS = 100
RUNS = 3
COLUMNS = [
    *("nMuon", "Muon_pt", "Muon_eta", "Muon_phi", "Muon_charge"),
    *("nJet", "Jet_pt", "Jet_eta", "Jet_phi"),
    *("MET_pt", "MET_phi", "HLT_IsoMu24"),
]


def main() -> int:
    if not FILE.exists():
        print(f"writing {nano_like.EVENTS:,} NanoAOD-like events with uproot (once) ...", flush=True)
        nano_like.write(FILE)
    print(f"{FILE.relative_to(ROOT)}: {FILE.stat().st_size / 1e6:.0f} MB; reading {len(COLUMNS)} columns\n")

    rows = [(f"{library}, disk", measure(library, str(FILE))) for library in ("sapwood", "uproot")]
    with http_server.serving(FOLDER, rtt_ms=ROUND_TRIP_MS) as (url, control):
        for library in ("sapwood", "uproot"):
            rows.append((f"{library}, HTTP", measure(library, f"{url}/{FILE.name}", lambda: counts(control))))
        draw(f"{url}/{FILE.name}")
    print_table(rows)

    digests = [found["digests"] for _, found in rows]
    if any(other != digests[0] for other in digests):
        print("\nThe arrays differ: this is a bug.", file=sys.stderr)
        return 1
    print(f"\nAll {len(COLUMNS)} arrays are equal in all four.")
    print(f"A picture of the baskets that were read over HTTP: {PICTURE.relative_to(ROOT)}")
    return 0


def measure(
    library: str, file: str, server_counts: Callable[[], dict[str, int]] | None = None
) -> dict[str, Any]:
    """The fastest of several cold reads in separate processes, with the counts of the server if any."""
    script = [sys.executable, str(ROOT / "scripts" / "demo_read.py"), library, f"{file}:Events", *COLUMNS]
    best: dict[str, Any] = {}
    for _ in range(RUNS):
        if server_counts is not None:
            server_counts()
        found = json.loads(subprocess.run(script, check=True, stdout=subprocess.PIPE, timeout=300).stdout)
        if server_counts is not None:
            found |= server_counts()
        if not best or found["seconds"] < best["seconds"]:
            best = found
    return best


def counts(control: str) -> dict[str, int]:
    """The counts of the server since the last call."""
    time.sleep(0.3)  # the last connections of a client are still being closed
    with urllib.request.urlopen(f"{control}/__reset__", timeout=10) as answer:
        found: dict[str, int] = json.load(answer)
    return found


def print_table(rows: list[tuple[str, dict[str, Any]]]) -> None:
    """One line per read."""
    print(f"{'':<15} {'seconds':>8} {'requests':>9} {'round trips':>12} {'MB':>8}")
    for name, found in rows:
        round_trips = found.get("round_trips", "-")
        megabytes = found["bytes_sent"] / 1e6
        line = f"{found['seconds']:>8.2f} {found['requests']:>9} {round_trips:>12} {megabytes:>8.2f}"
        print(f"{name:<15} {line}", flush=True)
    print(f"\nHTTP: a local server with {ROUND_TRIP_MS} ms of added round-trip time; the server's counts.")
    print("Disk: the counts of each library. Each read is cold, in a separate process with the import of")
    print("the library; best of three.")


def draw(url: str) -> None:
    """Draws the layout of the file, with the baskets that were read."""
    import sapwood
    from sapwood.report.layout import draw, layout_of

    with sapwood.open(url).file as file:
        tree = file["Events"]
        assert isinstance(tree, sapwood.Tree)
        PICTURE.write_text(draw(layout_of(tree, COLUMNS)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
