"""Compares a tree and an RNTuple with the same entries, for NanoAOD-, MiniAOD- and xAOD-like files.

    python bench/formats.py --data DIR [--inputs nano_zstd5,…] [--markdown FILE] [--json FILE]

sapwood writes both from the same input, at ZSTD-5: RNTuples with clusters and pages of the default sizes,
trees with the entries that their baskets have in the input. Branches that no RNTuple can hold are left out of
both. Each read is a process of its own; figures are medians. Far away is an HTTP server at 22 ms.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import local
import remote
import repack
import results
from machine import load_file
from remote_servers import serve
from results import median_of
from rootbuild import HERE

FORMATS = ("tree", "RNTuple")
INPUTS = {
    "nano_zstd5": ("NanoAOD-like", "Events"),
    "edm_split": ("MiniAOD-like", "Events"),
    "xaod_zlib5": ("xAOD-like", "CollectionTree"),
}
COMPRESSION = "zstd:5"
RTT_MS = 22
LISTS = ("std::vector<float>", "ROOT::VecOps::RVec<float>")

Record = dict[str, Any]


def impossible(source: Path, tree: str, scratch: Path) -> list[str]:
    """Patterns of the branches that no RNTuple can hold."""
    import sapwood

    with sapwood.open(f"{source}:{tree}") as table:
        fields = {branch.name.rstrip(".").replace(".", "_"): branch.name for branch in table.branches}
    found: list[str] = []
    while True:
        try:
            sapwood.repack(
                source,
                scratch,
                trees=[tree],
                format="rntuple",
                drop=found or None,
                entry_stop=1,
                overwrite=True,
            )
            return found
        except sapwood.errors.UnsupportedTypeError as error:
            of_it = [field for field in fields if str(error.branch).startswith(field)]
            if not of_it:
                raise
            found.append(f"{fields[max(of_it, key=len)]}*")


def written(source: Path, tree: str, target: Path, form: str, drop: list[str], entries: int | None) -> None:
    """Writes the tree of a file in a format."""
    import sapwood

    sapwood.repack(
        source,
        target,
        trees=[tree],
        compression=COMPRESSION,
        drop=drop or None,
        entry_stop=entries,
        format="rntuple" if form == "RNTuple" else None,
    )


def columns(paths: dict[str, Path], tree: str) -> dict[str, dict[str, list[str]]]:
    """For each format: all columns that can be read, and three that both have, preferably of lists."""
    import sapwood

    readable: dict[str, dict[str, str]] = {}
    for form, path in paths.items():
        with sapwood.open(f"{path}:{tree}") as table:
            branches = [branch for branch in table.branches if not branch.name.startswith("_collection")]
            found = {}
            for branch in branches:
                try:
                    branch.array(entry_stop=1)
                except sapwood.errors.UnsupportedTypeError:
                    continue
                found[branch.name.rstrip(".").replace(".", "_")] = branch.name
            lists = [branch.name for branch in branches if branch.typename in LISTS]
            readable[form] = found
    common = [name for name in readable["RNTuple"] if name in readable["tree"]]
    preferred = [name for name in common if name in lists] or common
    three = preferred[:: max(len(preferred) // 3, 1)][:3]
    return {
        form: {"all": list(found.values()), "three": [found[name] for name in three]}
        for form, found in readable.items()
    }


def near(path: Path, tree: str, names: list[str], reader: str, repeats: int) -> list[dict[str, float]]:
    """Reads columns on one thread."""
    with tempfile.NamedTemporaryFile("w") as listed:
        listed.write("\n".join(names) + "\n")
        listed.flush()
        threads = 1 if reader == "sapwood" else 0
        how = local.Reader(reader, reader, "", threads)
        program = str(HERE / "readers" / "python_read.py")
        command = [sys.executable, program, reader, str(path), tree, str(threads), listed.name]
        return [local.run(how, command) for _ in range(repeats)]


def measure(options: argparse.Namespace) -> Iterator[Record]:
    with tempfile.TemporaryDirectory(dir=options.data) as name:
        folder = Path(name)
        folder.chmod(0o755)
        for source in options.inputs:
            what, tree = INPUTS[source]
            paths = {form: folder / f"{source}-{form}.root" for form in FORMATS}
            origin = options.data / f"{source}.root"
            drop = repack.apart(impossible, origin, tree, folder / "scratch.root")
            for form, path in paths.items():
                repack.apart(written, origin, tree, path, form, drop, options.entries)
                load_file(path)
            chosen = repack.apart(columns, paths, tree)
            with serve("http", folder) as server:
                for form, path in paths.items():
                    found: Record = {"input": what, "format": form, "MB": path.stat().st_size / 1e6}
                    for selection, names in chosen[form].items():
                        found[selection] = near(path, tree, names, "sapwood", options.repeats)
                    found["far"] = []
                    for _ in range(options.repeats):
                        with server.far(RTT_MS, 0) as far:
                            arguments = [far.url(path.name), tree, *chosen[form]["three"]]
                            one = remote.run(remote.SAPWOOD, far, "columns", arguments, options)
                            found["far"].append(one)
                    found["columns"] = {selection: len(names) for selection, names in chosen[form].items()}
                    yield found


def line(record: Record) -> str:
    """A line of progress."""
    return f"{record['input']}, {record['format']}: {record['MB']:.1f} MB"


def markdown(records: list[Record]) -> str:
    """A row for each file."""
    rows = []
    for record in records:
        far = "fails" if any("seconds" not in one for one in record["far"]) else None
        cells = [
            str(record["columns"]["all"]),
            f"{record['MB']:.1f}",
            f"{1000 * median_of(record['all'], 'open'):.0f}",
            f"{median_of(record['all'], 'cpu'):.2f}",
            f"{1000 * median_of(record['three'], 'wall'):.0f}",
            far or f"{1000 * median_of(record['far'], 'seconds'):.0f}",
            far or f"{median_of(record['far'], 'round_trips'):.0f}",
        ]
        rows.append([f"{record['input']}, {record['format']}", *cells])
    head = ["file", "columns", "MB", "open ms", "all columns, CPU s", "3 columns, ms"]
    return results.table([*head, f"3 columns at {RTT_MS} ms, ms", "round trips"], rows)


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--inputs", default=",".join(INPUTS), help="names of files, without .root")
    parser.add_argument("--entries", type=int, help="most entries of each input; by default all")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    options.inputs = options.inputs.split(",")
    records = results.collect(measure(options), line)
    results.report(options, records, {"The same entries in both formats": markdown(records)})


if __name__ == "__main__":
    main()
