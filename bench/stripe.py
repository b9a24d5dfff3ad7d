"""Datasets of product stripes in object stores, compared with a ROOT file: `make bench-stripe`.

    python bench/stripe.py --data DIR [--stores radosgw,versitygw] [--markdown FILE] [--json FILE]

reading: all products of 100,000 NanoAOD-like events at low latency: stripes in a store, the file over root://
    and from disk, with sapwood and ROOT; and the rate at which the store can send the same objects over as
    many connections.
far: everything at 1 Gbit/s; three columns and everything at a round-trip time of 100 ms.
requests: the requests of opening, and of reading one product of the first entries.
sizes: the objects of a dataset compared with the file, and their size on an erasure-coded pool of six disks.
changes: replacing the largest product and one of 1 %, compared with rewriting the file.
writers: eight writers append parts of the file to one dataset, concurrently and one after the other.

The stores are real (Ceph's gateway with a cluster in memory, versitygw with a folder). They run on the same
machine, so they share its processors with the readers. Each run is a separate process; readers take turns;
figures are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import results
import stripe_report
from machine import touch_memory
from remote_servers import Far, Server, serve
from rootbuild import HERE, compiled
from stripe_servers import ObjectStore, missing, object_store

import sapwood

NAME, TREE, DATASET = "nano_zstd5", "Events", "ttbar"
COLUMNS = ["Jet_pt", "Jet_eta", "Jet_phi"]
PRODUCTS = {"the largest product, of 19 %,": "Jet", "a product of 1 %": "SoftActivityJet"}
WRITERS, WRITTEN = 8, 5_000
CONNECTIONS = 32
# Links to a server: round-trip time in ms, 10⁶ bits per second (0 for no limit), and the modes of reading.
LINKS = {"1 Gbit/s": (0, 1000, ["whole"]), "100 ms": (100, 0, ["columns", "whole"])}
RUN_SECONDS = 300.0
# At high latency, ROOT is stopped early, and its time is extrapolated from the share that it has read.
EARLY_SECONDS = 15

Run = dict[str, Any]
Record = dict[str, Any]


def run(command: Sequence[str], variables: dict[str, str], far: Far | None = None) -> Run:
    """The measurements that a reader reports, with its CPU seconds and the counters of the link."""
    pipe, environment = subprocess.PIPE, {**os.environ, **variables}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        counted = far.counts() if far else {}
        process.communicate(timeout=RUN_SECONDS)
    if process.returncode or not said.startswith("{"):
        raise SystemExit(f"failed: {' '.join(command)}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": spent, **json.loads(said), **counted}


def sapwood_reader(url: str, mode: str, *columns: str) -> list[str]:
    return [sys.executable, str(HERE / "readers" / "stripe_read.py"), url, TREE, mode, *columns]


def root_reader(url: str, mode: str, *columns: str, build: Path, seconds: int = 0) -> list[str]:
    program = compiled(HERE / "readers" / "root_remote.cpp", build)
    return [str(program), "-1", str(seconds), mode, url, TREE, *columns]


def stripe_writer(what: str, url: str, *arguments: str) -> list[str]:
    return [sys.executable, str(HERE / "writers" / "stripe_write.py"), what, url, *arguments]


def described(url: str, variables: dict[str, str]) -> Run:
    """The description of the dataset."""
    program = (
        "import json, sys; from sapwood.stripe import describe; print(json.dumps(describe(sys.argv[1])))"
    )
    return run([sys.executable, "-c", program, url], variables)


def repacked(file: Path, target: Path) -> Run:
    """Rewrites the file with copied baskets."""
    program = (
        "import sys, time, sapwood; begin = time.perf_counter(); "
        "sapwood.repack(sys.argv[1], sys.argv[2], overwrite=True); "
        "print('{\"seconds\": %f}' % (time.perf_counter() - begin))"
    )
    return run([sys.executable, "-c", program, str(file), str(target)], {})


def turns(repeats: int, readers: Mapping[str, Callable[[], Run]]) -> dict[str, list[Run]]:
    """Runs the readers in turns."""
    runs: dict[str, list[Run]] = {name: [] for name in readers}
    for _ in range(repeats):
        for name, read in readers.items():
            touch_memory()
            runs[name].append(read())
    return runs


def reading(store: ObjectStore, xrootd: Server, options: argparse.Namespace) -> Iterator[Record]:
    """Reads everything at low latency."""
    paths = [f"{DATASET}/{key}" for key in store.objects(DATASET) if key.startswith("d/")]
    yield {"part": "best", "store": store.name, **store.best(paths, CONNECTIONS, options.build)}
    file, url = options.data / f"{NAME}.root", f"root://localhost:{xrootd.port}//{NAME}.root"
    variables = store.server.variables
    readers = {
        "stripes, sapwood": lambda: run(sapwood_reader(f"s3://data/{DATASET}", "whole"), variables),
        "file over root://, sapwood": lambda: run(sapwood_reader(url, "whole"), {}),
        "file over root://, ROOT": lambda: run(root_reader(url, "whole", build=options.build), {}),
        "file on disk, sapwood": lambda: run(sapwood_reader(str(file), "whole"), {}),
    }
    for name, runs in turns(options.repeats, readers).items():
        yield {"part": "reading", "store": store.name, "reader": name, "runs": runs}


def through(server: Server, link: str, command: Callable[[Far], list[str]]) -> Run:
    """A run over a link; the seconds of an incomplete one are extrapolated."""
    round_trip, megabits, _ = LINKS[link]
    with server.far(round_trip, megabits) as far:
        found = run(command(far), far.variables, far)
    return {**found, "seconds": found["seconds"] / (found.get("share") or 1)}


def distant(store: ObjectStore, xrootd: Server, options: argparse.Namespace) -> Iterator[Record]:
    """Reads three columns, and everything, over a link."""
    for link, mode in ((link, mode) for link, (_, _, modes) in LINKS.items() for mode in modes):
        columns = COLUMNS if mode == "columns" else []

        def by_sapwood(far: Far, mode: str = mode, columns: Sequence[str] = columns) -> list[str]:
            name = DATASET if far.protocol == "s3" else f"{NAME}.root"
            return sapwood_reader(far.url(name), mode, *columns)

        def by_root(far: Far, mode: str = mode, columns: Sequence[str] = columns) -> list[str]:
            url = far.url(f"{NAME}.root")
            return root_reader(url, mode, *columns, build=options.build, seconds=EARLY_SECONDS)

        readers = {
            "stripes, sapwood": partial(through, store.remote, link, by_sapwood),
            "file over root://, sapwood": partial(through, xrootd, link, by_sapwood),
        }
        found = turns(options.repeats, readers)
        found |= turns(1, {"file over root://, ROOT": partial(through, xrootd, link, by_root)})
        for name, runs in found.items():
            record = {"part": "far", "link": link, "mode": mode, "store": store.name}
            yield {**record, "reader": name, "runs": runs}


def requests(store: ObjectStore) -> Iterator[Record]:
    """Counts the requests of a reader."""
    # Connections that are opened ahead of need are not counted here.
    variables = {**store.server.variables, "SAPWOOD_CONNECTIONS_AHEAD": "0"}
    for mode, columns in (("open", []), ("batch", COLUMNS[:1]), ("columns", COLUMNS[:1])):
        found = run(sapwood_reader(f"s3://data/{DATASET}", mode, *columns), variables)
        yield {"part": "requests", "store": store.name, "mode": mode, "runs": [found]}


def changes(store: ObjectStore, options: argparse.Namespace) -> Iterator[Record]:
    """Replaces one product, and lists new and changed objects; then rewrites the file."""
    file, variables = options.data / f"{NAME}.root", store.server.variables
    url = f"s3://data/{DATASET}"
    for what, product in PRODUCTS.items():
        before = store.objects(DATASET)
        added = run(stripe_writer("add", url, str(file), TREE, product), variables)
        after = store.objects(DATASET)
        new = {key: size for key, (size, _) in after.items() if key not in before}
        changed = [key for key, each in before.items() if after.get(key) != each]
        record = {"new": new, "changed": changed, "seconds": added["seconds"], "cpu": added["cpu"]}
        yield {"part": "changes", "store": store.name, "what": what, **record}
    with tempfile.TemporaryDirectory(dir=options.data) as folder:
        target = Path(folder, "again.root")
        written = repacked(file, target)
        size = target.stat().st_size
    yield {"part": "rewritten", "store": store.name, "bytes": size, **written}


def writers(store: ObjectStore, options: argparse.Namespace) -> Iterator[Record]:
    """Appends eight parts of the file to a dataset: one after the other, and all at once."""
    file, variables = options.data / f"{NAME}.root", store.server.variables
    with tempfile.TemporaryDirectory(dir=options.data) as folder:
        parts = [Path(folder, f"{number}.root") for number in range(WRITERS + 1)]
        for number, part in enumerate(parts):
            first = number * WRITTEN
            sapwood.repack(file, part, entry_start=first, entry_stop=first + WRITTEN, trees=[TREE])
        for manner in ("one after the other", "at once"):
            url = f"s3://data/{manner.replace(' ', '-')}"
            run(stripe_writer("create", url, str(parts[0]), TREE), variables)
            begin = time.perf_counter()
            commands = [stripe_writer("append", url, str(part), TREE) for part in parts[1:]]
            with ThreadPoolExecutor(WRITERS if manner == "at once" else 1) as pool:
                waiting = [pool.submit(run, command, variables) for command in commands]
                ended = [one.result()["version"] for one in waiting]
            seconds = time.perf_counter() - begin
            shown = described(url, variables)
            # Version 1 is empty, version 2 contains the first part.
            lost = sorted(ended) != list(range(3, WRITERS + 3)) or shown["entries"] != WRITTEN * (WRITERS + 1)
            record = {"manner": manner, "seconds": seconds, "entries": WRITTEN * WRITERS, "lost": lost}
            yield {"part": "writers", "store": store.name, **record}


def measure(name: str, xrootd: Server, options: argparse.Namespace) -> Iterator[Record]:
    """Measures everything with one store."""
    file = options.data / f"{NAME}.root"
    with object_store(name) as store:
        url, variables = f"s3://data/{DATASET}", store.server.variables
        made = run(stripe_writer("create", url, str(file), TREE), variables)
        objects = {key: size for key, (size, _) in store.objects(DATASET).items()}
        shown = described(url, variables)
        record = {"file_bytes": file.stat().st_size, "seconds": made["seconds"], "cpu": made["cpu"]}
        numbers = {"entries": shown["entries"], "products": len(shown["products"])}
        yield {"part": "sizes", "store": name, "objects": objects, **record, **numbers}
        yield from requests(store)
        yield from reading(store, xrootd, options)
        yield from distant(store, xrootd, options)
        yield from changes(store, options)
        yield from writers(store, options)


def arguments() -> argparse.Namespace:
    parser = results.parser(__doc__)
    parser.add_argument("--stores", default="radosgw,versitygw", help="object stores")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each reader")
    options = parser.parse_args()
    options.build = options.data / "build"
    wanted = options.stores.split(",")
    for name in wanted:
        if lack := missing(name):
            print(f"skipped, {name}: {lack}", file=sys.stderr)
    options.stores = [name for name in wanted if not missing(name)]
    return options


def main() -> None:
    options = arguments()
    with serve("root", options.data) as xrootd:
        stores = (record for name in options.stores for record in measure(name, xrootd, options))
        records = results.collect(stores, stripe_report.line)
    results.report(options, records, stripe_report.tables(records))


if __name__ == "__main__":
    main()
