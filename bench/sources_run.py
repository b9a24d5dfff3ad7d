"""One run of a reader in a separate process: its output, the counters of its links, and the fault."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sources_servers import Federation, Place

SAMPLE_SECONDS = 0.1
# The number of last samples that show how much a link is used.
RECENT = 10
# The bytes that count as progress: about a second of a link.
PROGRESS_BYTES = 30_000_000
# The number of last lines of error output that are kept.
LOG_LINES = 20

Run = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """The fault of the replica that sends most, after this many bytes from all replicas."""

    kind: str
    after_bytes: int


class Watch:
    """Observes the links of a reader, and triggers the fault."""

    def __init__(self, places: Federation, fault: Fault | None) -> None:
        self.places, self.fault = places, fault
        self.moments: list[float] = []
        self.samples: list[list[int]] = []
        self.failed: tuple[float, Place] | None = None
        self.moved = (time.monotonic(), 0)

    def look(self) -> bool:
        """Takes a sample; returns whether the fault happens now."""
        self.moments.append(time.monotonic())
        self.samples.append([each["bytes_sent"] for each in self.places.counts()])
        if sum(self.samples[-1]) > self.moved[1] + PROGRESS_BYTES:
            self.moved = (time.monotonic(), sum(self.samples[-1]))
        if self.fault is None or self.failed or sum(self.samples[-1]) < self.fault.after_bytes:
            return False
        recent = [new - old for new, old in zip(self.samples[-1], self.samples[-RECENT:][0], strict=True)]
        place = self.places.places[recent.index(max(recent))]
        place.suffer(self.fault.kind)
        self.failed = (time.monotonic(), place)
        return True

    def is_over(self, begin: float, limit: float, patience: float) -> bool:
        """Whether the reader must be stopped."""
        now = time.monotonic()
        return now > begin + limit or (self.failed is not None and now > self.moved[0] + patience)


def run(
    program: list[str],
    job: dict[str, Any],
    places: Federation,
    limit: float,
    fault: Fault | None = None,
    patience: float = math.inf,
    failed: Callable[[], object] = lambda: None,
) -> Run:
    """Runs a reader, and returns its output. It is stopped at its limit, or when it makes no progress for
    longer than its patience after the fault. `failed` is called after the fault, or at the end.
    """
    is_python = "client" in job
    arguments = [json.dumps(job)] if is_python else [job["urls"][0], job["tree"], str(job["stop"])]
    pipe, environment = subprocess.PIPE, {**os.environ, **places.variables}
    watch = Watch(places, fault)
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(
            [*program, *arguments], stdin=pipe, stdout=pipe, stderr=complaints, text=True, env=environment
        ) as process,
    ):
        said: list[str] = []
        begin = time.monotonic()
        listening = threading.Thread(target=_listen, args=(process, said))
        listening.start()
        stopped = False
        while not said and not (stopped := watch.is_over(begin, limit, patience)):
            if watch.look():
                failed()
            listening.join(SAMPLE_SECONDS)
        watch.look()
        if stopped:
            process.kill()
        process.communicate()
        listening.join()
        complaints.seek(0)
        log = complaints.read()
    if watch.failed is None:
        failed()
    found: Run = {"bytes": list(watch.samples[-1]), "ports": [each.proxy.port for each in places.places]}
    if watch.failed is not None:
        moment, place = watch.failed
        found |= {"failed": moment, "failed_port": place.proxy.port}
    if job.get("trace"):
        found["samples"] = list(zip(watch.moments, watch.samples, strict=True))
    found["log"] = log.splitlines()[-LOG_LINES:]
    if stopped:
        return {**found, "stopped": time.monotonic() - begin}
    if not said[0].startswith("{"):
        return {**found, "error": (found["log"] or ["failed silently"])[-1][:300]}
    return {**found, **json.loads(said[0])}


def _listen(process: subprocess.Popen[str], said: list[str]) -> None:
    assert process.stdout is not None
    said.append(process.stdout.readline())
