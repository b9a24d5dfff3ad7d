"""Reads one file from one replica or several with sapwood or uproot, and prints a line of JSON.

    python python_sources.py '{"client": "sapwood", "urls": ["http://…", "root://…"], "tree": "Events", …}'

The job may also have "options" for opening, "every" (read every n-th column), "reads" (number of reads of one
random entry and a few columns each), "stop" (entries), "check" (add a checksum of all arrays), "record" (a
file for the recording), and "trace" (add the times and servers of requests). uproot takes the first URL, and
reads everything. Times are those of the machine's monotonic clock, and start after imports, before opening.
"""

from __future__ import annotations

import json
import logging
import random
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import awkward as ak

STEP = 10_000
FEW = ["nMuon", "Muon_pt", "Jet_pt"]

Batch = dict[str, Any]


def checksum(batch: Batch, before: int) -> int:
    """The checksum of all buffers of all arrays, in the order of their names."""
    for name in sorted(batch):
        _, _, buffers = ak.to_buffers(ak.to_packed(batch[name]))
        for each in buffers.values():
            before = zlib.crc32(each, before)
    return before


class Sapwood:
    """Reads the file from all replicas."""

    def __init__(self, job: dict[str, Any]) -> None:
        import sapwood

        first, *others = job["urls"]
        options = {"replicas": others} if others else {}
        self.open: Callable[[], Any] = partial(
            sapwood.open, {first: job["tree"]}, **options, **job.get("options", {})
        )

    def batches(self, stop: int | None, every: int, reads: int) -> Iterator[Batch]:
        self.tree = self.open()
        for entry in random.Random(1).sample(range(self.tree.num_entries), reads):
            yield self.tree.arrays(FEW, entry_start=entry, entry_stop=entry + 1, how=dict)
        if reads:
            return
        columns = self.tree.keys()[::every] if every > 1 else None
        yield from self.tree.iterate(columns, entry_stop=stop, step_size=STEP, how=dict)

    def report(self, trace: bool) -> dict[str, Any]:
        """The report at the end."""
        report = self.tree.file.report()
        found: dict[str, Any] = report.to_dict()
        if trace:
            found["trace"] = [list(one) for one in report.timeline]
        return found


class Uproot:
    """Reads the file from the first replica, with all defaults."""

    def __init__(self, job: dict[str, Any]) -> None:
        import uproot

        self.open: Callable[[], Any] = partial(uproot.open, {job["urls"][0]: job["tree"]})

    def batches(self, stop: int | None, every: int, reads: int) -> Iterator[Batch]:
        yield from self.open().iterate(entry_stop=stop, step_size=STEP, how=dict)

    def report(self, trace: bool) -> dict[str, Any]:
        """An empty report."""
        return {}


def recording(path: str | None) -> AbstractContextManager[Any]:
    """Records all reads, if there is a path for the recording."""
    if path is None:
        return nullcontext()
    import sapwood

    return sapwood.trace(path)


def read(job: dict[str, Any]) -> dict[str, Any]:
    """Reads the file, and returns the result."""
    client = Sapwood(job) if job["client"] == "sapwood" else Uproot(job)
    begin, entries, check, error = time.monotonic(), 0, 0, None
    try:
        with recording(job.get("record")):
            for batch in client.batches(job.get("stop"), job.get("every", 1), job.get("reads", 0)):
                entries += len(next(iter(batch.values())))
                if job.get("check"):
                    check = checksum(batch, check)
    except Exception as caught:  # any error is a valid result
        error = f"{type(caught).__name__}: {caught}"
    found = {"begin": begin, "seconds": time.monotonic() - begin, "entries": entries, "checksum": check}
    if error is not None:
        return {**found, "error": error}
    return {**found, "report": client.report(bool(job.get("trace")))}


def main() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    print(json.dumps(read(json.loads(sys.argv[1]))), flush=True)
    sys.stdin.read()  # keep the file open until the counters of the links have been read


if __name__ == "__main__":
    main()
