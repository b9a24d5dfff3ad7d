"""Writes a NanoAOD-like file with uproot: more than 300 flat and jagged branches, ZSTD, in clusters."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot
from numpy.typing import NDArray

EVENTS, CLUSTER = 100_000, 10_000

# Mean number per event, and the number of variables in addition to pt, eta, phi, mass and charge.
COLLECTIONS = {
    "Electron": (1.1, 30),
    "FatJet": (0.7, 25),
    "GenJet": (5.0, 4),
    "GenPart": (9.0, 4),
    "Jet": (6.0, 28),
    "Muon": (1.4, 32),
    "Photon": (1.2, 22),
    "SV": (1.0, 12),
    "SoftActivityJet": (2.0, 2),
    "Tau": (0.9, 30),
    "TrigObj": (4.0, 4),
}
TRIGGERS = ["HLT_IsoMu24", "HLT_Ele32_WPTight", *(f"HLT_Path{i}" for i in range(60))]
SUMS = ["MET", "PuppiMET", "RawMET", "TkMET", "CaloMET", "PV", "BeamSpot", "Generator"]


def rounded(values: NDArray[Any]) -> NDArray[np.float32]:
    """Values with 12 bits of mantissa, as in NanoAOD, so that they compress as well."""
    return (values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFF800)).view(np.float32)


def collection(random: np.random.Generator, events: int, mean: float, extra: int) -> Any:
    """Objects of one kind, with a varying number per event."""
    counts = random.poisson(mean, events)
    total = int(counts.sum())
    fields: dict[str, NDArray[Any]] = {
        "pt": rounded(random.exponential(25, total) + 3),
        "eta": rounded(random.normal(0, 1.5, total)),
        "phi": rounded(random.uniform(-np.pi, np.pi, total)),
        "mass": rounded(np.abs(random.normal(5, 3, total))),
        "charge": random.choice(np.array([-1, 1], dtype=np.int32), total),
    }
    for i in range(extra):
        if i % 3 == 0:
            fields[f"id{i}"] = random.geometric(0.4, total).astype(np.int32)
        elif i % 3 == 1:
            fields[f"iso{i}"] = rounded(random.exponential(0.1, total))
        else:
            fields[f"flag{i}"] = random.random(total) < 0.3
    return ak.unflatten(ak.zip(fields), counts)


def cluster(random: np.random.Generator, first: int, events: int) -> dict[str, Any]:
    """All branches of some events."""
    columns: dict[str, Any] = {
        "run": np.full(events, 362_760, dtype=np.uint32),
        "luminosityBlock": (np.arange(first, first + events) // 500).astype(np.uint32),
        "event": np.arange(first, first + events, dtype=np.uint64),
    }
    for name in SUMS:
        columns[f"{name}_pt"] = rounded(random.exponential(30, events))
        columns[f"{name}_phi"] = rounded(random.uniform(-np.pi, np.pi, events))
        columns[f"{name}_sumEt"] = rounded(random.normal(900, 200, events))
    for name in TRIGGERS:
        columns[name] = random.random(events) < 0.05
    for name, (mean, extra) in COLLECTIONS.items():
        columns[name] = collection(random, events, mean, extra)
    return columns


def write(path: Path, events: int = EVENTS) -> None:
    """Writes the file; it appears once it is complete."""
    random = np.random.default_rng(2026)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with uproot.recreate(part, compression=uproot.ZSTD(5)) as file:
        tree = None
        for first in range(0, events, CLUSTER):
            columns = cluster(random, first, min(CLUSTER, events - first))
            if tree is None:
                types = {name: ak.type(ak.Array(values)).content for name, values in columns.items()}
                tree = file.mktree("Events", types, title="like NanoAOD")
            tree.extend(columns)
    os.replace(part, path)
