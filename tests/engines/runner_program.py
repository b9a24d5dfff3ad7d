"""A program of coffea that runs an analysis on a cluster of two processes, one of which dies in the middle.

    python runner_program.py MARKER URL…

The worker that meets the third chunk of the first file kills itself, unless the file MARKER exists. Prints
the histograms and the seconds as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
from coffea import processor
from coffea.nanoevents import NanoAODSchema

warnings.simplefilter("ignore")
CHUNK, BINS = 1000, np.linspace(0, 200, 41)


class DimuonsAndJets(processor.ProcessorABC):  # type: ignore[misc]
    """The mass of pairs of opposite charge, and the transverse momenta of jets."""

    def __init__(self, marker: str, victim: str) -> None:
        self._marker, self._victim = marker, victim

    def process(self, events: Any) -> dict[str, Any]:
        place = events.metadata["filename"], events.metadata["entrystart"]
        if place == (self._victim, 2 * CHUNK) and not os.path.exists(self._marker):
            Path(self._marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        pairs = events.Muon[ak.num(events.Muon) == 2]
        pairs = pairs[ak.sum(pairs.charge, axis=1) == 0]
        mass = (pairs[:, 0] + pairs[:, 1]).mass
        jets = events.Jet[(events.Jet.pt > 30) & (abs(events.Jet.eta) < 2.4)]
        return {
            "mass": np.histogram(ak.to_numpy(mass), BINS)[0],
            "jets": np.histogram(ak.to_numpy(ak.flatten(jets.pt)), BINS)[0],
            "events": len(events),
        }

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


def main(marker: str, urls: list[str]) -> None:
    from distributed import Client, LocalCluster

    settings = {"processes": True, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(n_workers=2, **settings) as cluster, Client(cluster) as client:
        client.upload_file(__file__)
        begin = time.monotonic()
        run = processor.Runner(
            processor.DaskExecutor(client=client, retries=5, status=False),
            schema=NanoAODSchema,
            chunksize=CHUNK,
            savemetrics=True,
        )
        found, _ = run({"data": {"files": dict.fromkeys(urls, "Events")}}, DimuonsAndJets(marker, urls[0]))
    numbers = {name: np.asarray(value).tolist() for name, value in found.items()}
    print(json.dumps({**numbers, "seconds": time.monotonic() - begin}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
