"""Iterates over 2 GB of decoded arrays in steps of 50 MB, and measures the peak memory.

    python bench/memory.py --data DIR [--markdown FILE]

uproot writes the input once: a tree of flat and jagged columns in ZSTD. Each client reads it in a separate
process, adds up every column, and compares the sums with those of the written values.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import results

STEP_SIZE = "50 MB"
MOST_MB = 400
CLIENTS = ["sapwood", "uproot"]

BATCHES = 160
ENTRIES_PER_BATCH = 62_500
FLAT, JAGGED, MEAN_ITEMS = 24, 4, 6

Row = dict[str, Any]


def write_input(path: Path) -> None:
    """Writes the tree, and a JSON file with its decoded size and the sums of its columns."""
    import awkward as ak
    import numpy as np
    import uproot

    random = np.random.default_rng(2)

    def values(count: int) -> Any:
        # Twelve random bits each, so that sums are exact and compression is about as good as for real data.
        return random.integers(0, 4096, count).astype("f4")

    def batch() -> dict[str, Any]:
        columns: dict[str, Any] = {f"flat{i}": values(ENTRIES_PER_BATCH) for i in range(FLAT)}
        counts = random.poisson(MEAN_ITEMS, ENTRIES_PER_BATCH)
        items = {f"v{i}": ak.unflatten(values(counts.sum()), counts) for i in range(JAGGED)}
        return {**columns, "jagged": ak.zip(items)}

    sums: dict[str, float] = {}
    decoded_bytes = 0
    part = path.with_suffix(".part.root")
    tree: Any = None
    with uproot.recreate(part, compression=uproot.ZSTD(1)) as file:
        for _ in range(BATCHES):
            columns = batch()
            if tree is None:
                tree = file.mktree(
                    "tree", {name: ak.type(column).content for name, column in columns.items()}
                )
            tree.extend(columns)
            flat = {name: column for name, column in columns.items() if name != "jagged"}
            flat |= {f"jagged_{name}": columns["jagged"][name] for name in ak.fields(columns["jagged"])}
            for name, column in flat.items():
                sums[name] = sums.get(name, 0) + column_sum(column)
            decoded_bytes += sum(column.nbytes for column in flat.values())
    noted = {"decoded_bytes": decoded_bytes, "entries": BATCHES * ENTRIES_PER_BATCH, "sums": sums}
    path.with_suffix(".json").write_text(json.dumps(noted))
    part.rename(path)


def column_sum(column: Any) -> float:
    """The exact sum of whole numbers, flat or jagged."""
    import awkward as ak
    import numpy as np

    return float(np.sum(ak.to_numpy(ak.flatten(column, axis=None)), dtype="f8"))


def peak_mb() -> float:
    """The most memory that this process has had resident."""
    # Not getrusage: that starts from the peak of the process which started this one.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise SystemExit("this system does not tell a process's peak memory")


def iterate(client: str, path: Path) -> Row:
    """Reads everything in steps, in this process."""
    noted = json.loads(path.with_suffix(".json").read_text())
    module: Any = __import__(client)
    imported = peak_mb()
    begin = time.perf_counter()
    sums = dict.fromkeys(noted["sums"], 0.0)
    steps = 0
    for arrays in module.iterate(f"{path}:tree", list(sums), step_size=STEP_SIZE, how=dict):
        steps += 1
        for name, column in arrays.items():
            sums[name] += column_sum(column)
    seconds = time.perf_counter() - begin
    if sums != noted["sums"]:
        raise SystemExit(f"{client} read values that differ from the written ones")
    return {
        "client": client,
        "decoded_gb": noted["decoded_bytes"] / 1e9,
        "steps": steps,
        "seconds": seconds,
        "imported_mb": imported,
        "peak_mb": peak_mb(),
    }


def measure(client: str, path: Path) -> Row:
    """The measurement of one client, in a new process."""
    command = [sys.executable, __file__, "--client", client, "--data", str(path.parent)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    row: Row = json.loads(run.stdout.splitlines()[-1])
    return row


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    cells = [
        [
            row["client"],
            f"{row['decoded_gb']:.2f}",
            str(row["steps"]),
            f"{row['seconds']:.1f}",
            f"{row['imported_mb']:.0f}",
            f"{row['peak_mb']:.0f}",
        ]
        for row in rows
    ]
    head = ["client", "decoded GB", "steps", "seconds", "MB after import", "peak MB"]
    return results.table(head, cells)


def main() -> None:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--client", choices=CLIENTS, help="only read, in this process, and print JSON")
    options = parser.parse_args()

    path = options.data / "memory.root"
    if options.client:
        print(json.dumps(iterate(options.client, path)))
        return
    if not path.exists():
        options.data.mkdir(parents=True, exist_ok=True)
        write_input(path)
    rows = [measure(client, path) for client in CLIENTS]
    peak = rows[0]["peak_mb"]
    missed = [f"peak memory: {peak:.0f} MB, less than {MOST_MB} MB"] if peak >= MOST_MB else []
    results.publish(options, {"Memory": table(rows)}, rows, missed)


if __name__ == "__main__":
    main()
