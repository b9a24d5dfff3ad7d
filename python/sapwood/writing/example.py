"""Writes an example file: simulated collisions in the layout of CMS's NanoAOD."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import BuiltColumn
from ..options.checks import check_whole_number
from ..options.outputs import ROOT, check_output
from .file import recreate

EVENTS = 50_000
MUON_MASS = 0.1056584
CLUSTER = 10_000

Floats = NDArray[np.float64]

TITLES = {
    "Muon_pt": "transverse momentum in GeV",
    "Muon_eta": "pseudorapidity",
    "Muon_phi": "azimuth in rad",
    "Muon_pfRelIso04_all": "relative isolation in a cone of 0.4",
    "Muon_tightId": "passes the tight identification",
    "Jet_btagDeepFlavB": "score of the tagger of b quarks",
    "MET_pt": "missing transverse momentum in GeV",
    "HLT_IsoMu24": "trigger: an isolated muon above 24 GeV",
    "genWeight": "weight of the generator",
}


def example(
    path: str | os.PathLike[str] = "nano.root",
    *,
    events: int = EVENTS,
    seed: int = 1,
    overwrite: bool = False,
) -> str:
    """Writes an example file to experiment with: simulated collisions in the layout of CMS's NanoAOD.

    The tree ``Events`` has muons, electrons, jets, missing momentum and triggers. The invariant mass of two
    muons shows the Z boson (91 GeV), the J/psi (3.1 GeV) and the Upsilon (9.5 GeV). The same seed produces
    the same events.

    Args:
        path: a path, or the URL of an object.
        events: number of events; 50,000 events take 5 MB.
        seed: the seed of the random numbers.
        overwrite: True to replace an existing file.

    Returns:
        The path.

    Raises:
        UsageError: the file exists, and ``overwrite`` is false.

    >>> import sapwood
    >>> path = sapwood.example("nano.root", events=1000)
    >>> sapwood.open(path)["Events"].num_entries
    1000
    """
    events, seed = check_whole_number("events", events), check_whole_number("seed", seed)
    path = check_output(path, ROOT, overwrite=overwrite, remote=True)
    columns = _events(np.random.default_rng(seed), events)
    with recreate(path, compression="zstd:5") as file:
        tree = file.mktree("Events", title="simulated events", titles=TITLES, cluster_entries=CLUSTER)
        tree.extend(columns)
        blocks = np.unique(np.stack([columns["run"], columns["luminosityBlock"]]), axis=1)
        file["LuminosityBlocks"] = {"run": blocks[0], "luminosityBlock": blocks[1]}
        runs = blocks[0][:1]
        file["Runs"] = {"run": runs, "genEventCount": np.full(len(runs), events)}
    return path


def _events(random: np.random.Generator, events: int) -> dict[str, Any]:
    number = np.arange(events)
    muons = _muons(random, events)
    electrons = _objects(random, random.poisson(0.3, events), 5, 18)
    jets = _objects(random, random.poisson(3.5, events), 15, 28)
    electrons["charge"] = random.choice(np.array([-1, 1], "i4"), len(electrons["pt"]))
    electrons["cutBased"] = random.integers(0, 5, len(electrons["pt"]), dtype="i4")
    is_b = random.random(len(jets["pt"])) < 0.12
    jets["mass"] = jets["pt"] * random.gamma(6, 0.02, len(is_b))
    jets["btagDeepFlavB"] = np.where(is_b, random.beta(5, 1.2, len(is_b)), random.beta(0.6, 9, len(is_b)))
    jets["jetId"] = random.choice(np.array([0, 2, 6], "i4"), len(is_b), p=[0.02, 0.03, 0.95])

    isolated = (muons["pfRelIso04_all"] < 0.15) & muons["tightId"]
    return {
        "run": np.full(events, 362_760, "u4"),
        "luminosityBlock": (1 + number // 1000).astype("u4"),
        "event": (number + 1).astype("u8"),
        "genWeight": np.where(random.random(events) < 0.05, -1.0, 1.0).astype("f4"),
        "PV_npvs": random.poisson(35, events).astype("i4"),
        "MET_pt": np.hypot(*random.normal(0, 18, (2, events))).astype("f4"),
        "MET_phi": random.uniform(-np.pi, np.pi, events).astype("f4"),
        "HLT_IsoMu24": _any(isolated & (muons["pt"] > 24), muons["event"], events, random, 0.92),
        "HLT_Mu17_Mu8": _any(muons["pt"] > 17, muons["event"], events, random, 0.88)
        & (np.bincount(muons["event"][muons["pt"] > 8], minlength=events) > 1),
        "HLT_Ele32": _any(electrons["pt"] > 32, electrons["event"], events, random, 0.9),
        **_branches("Muon", muons, events),
        **_branches("Electron", electrons, events),
        **_branches("Jet", jets, events),
    }


def _any(
    passes: NDArray[np.bool_],
    event: NDArray[Any],
    events: int,
    random: np.random.Generator,
    efficiency: float,
) -> NDArray[np.bool_]:
    """Which events have an object that passes, after applying the trigger efficiency."""
    return (np.bincount(event[passes], minlength=events) > 0) & (random.random(events) < efficiency)


def _muons(random: np.random.Generator, events: int) -> dict[str, NDArray[Any]]:
    """Pairs of muons from resonances and the continuum, and single muons."""
    kind = random.random(events)
    mass = 2 + random.exponential(22, events)
    for low, high, peak, width in ((0.0, 0.22, 91.19, 2.495), (0.22, 0.32, 3.097, 0), (0.32, 0.35, 9.46, 0)):
        chosen = (low <= kind) & (kind < high)
        # A Cauchy distribution with truncated tails.
        tail = np.tan(np.pi * random.uniform(-0.47, 0.47, events))
        mass = np.where(chosen, peak + width / 2 * tail, mass)
    paired = np.flatnonzero(kind < 0.6)
    singles = np.repeat(np.arange(events), random.poisson(0.25, events))
    first, second = _decays(random, mass[paired])
    charge = random.choice(np.array([-1, 1], "i4"), len(paired))
    pt, eta, phi = np.concatenate([first, second, _spread(random, len(singles), 3, 9)], axis=1)
    pt *= random.normal(1, 0.011, len(pt))
    muons: dict[str, NDArray[Any]] = {
        "event": np.concatenate([paired, paired, singles]),
        "pt": pt,
        "eta": eta,
        "phi": phi,
        "mass": np.full(len(pt), MUON_MASS),
        "charge": np.concatenate([charge, -charge, random.choice(np.array([-1, 1], "i4"), len(singles))]),
        "pfRelIso04_all": random.exponential(np.repeat([0.04, 0.6], [2 * len(paired), len(singles)])),
        "dxy": random.normal(0, 0.003, len(pt)),
        "tightId": random.random(len(pt)) < 0.95,
    }
    seen = (pt > 3) & (np.abs(eta) < 2.4)
    return _by_event({name: values[seen] for name, values in muons.items()})


def _decays(random: np.random.Generator, mass: Floats) -> tuple[Floats, Floats]:
    """Momenta (pt, eta, phi) of the two muons from isotropic decays of particles with these masses."""
    size = len(mass)
    pt, phi = random.exponential(14, size), random.uniform(-np.pi, np.pi, size)
    rapidity = random.normal(0, 1.1, size)
    parent = np.stack([pt * np.cos(phi), pt * np.sin(phi), np.hypot(mass, pt) * np.sinh(rapidity)])
    energy = np.hypot(mass, pt) * np.cosh(rapidity)
    cosine, angle = random.uniform(-1, 1, size), random.uniform(-np.pi, np.pi, size)
    sine = np.sqrt(1 - cosine**2)
    momentum = np.sqrt(np.maximum(mass**2 / 4 - MUON_MASS**2, 0))
    at_rest = momentum * np.stack([sine * np.cos(angle), sine * np.sin(angle), cosine])
    # Lorentz transformation from the rest frame of the particle to the detector frame.
    along = (at_rest * parent).sum(axis=0) / (mass * (energy + mass)) + 0.5
    first = at_rest + parent * along
    second = parent - first
    return _cylindrical(first), _cylindrical(second)


def _cylindrical(momentum: Floats) -> Floats:
    pt = np.hypot(momentum[0], momentum[1])
    return np.stack([pt, np.arcsinh(momentum[2] / pt), np.arctan2(momentum[1], momentum[0])])


def _spread(random: np.random.Generator, size: int, least: float, mean: float) -> Floats:
    """Momenta (pt, eta, phi) with exponentially falling pt above a minimum."""
    pt = least + random.exponential(mean, size)
    return np.stack([pt, random.normal(0, 1.4, size), random.uniform(-np.pi, np.pi, size)])


def _objects(
    random: np.random.Generator, counts: NDArray[Any], least: float, mean: float
) -> dict[str, NDArray[Any]]:
    event = np.repeat(np.arange(len(counts)), counts)
    pt, eta, phi = _spread(random, len(event), least, mean)
    return _by_event({"event": event, "pt": pt, "eta": eta, "phi": phi, "mass": np.zeros(len(event))})


def _by_event(objects: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Sorts objects by event and, within an event, by descending transverse momentum."""
    order = np.lexsort((-objects["pt"], objects["event"]))
    return {name: values[order] for name, values in objects.items()}


def _branches(name: str, objects: dict[str, NDArray[Any]], events: int) -> dict[str, Any]:
    """A branch with lists for each variable of a collection, and the counter branch."""
    counts = np.bincount(objects["event"], minlength=events)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    columns: dict[str, Any] = {f"n{name}": counts.astype("i4")}
    for variable, values in objects.items():
        if variable != "event":
            # As in NanoAOD, keep 12 bits of mantissa: the rest would be noise, which does not compress.
            kept = _rounded(values) if values.dtype == np.float64 else values
            form = ("list", ("primitive", kept.dtype.name))
            columns[f"{name}_{variable}"] = BuiltColumn(form, events, [offsets, kept])
    return columns


def _rounded(values: Floats) -> NDArray[np.float32]:
    return (values.astype("f4").view("u4") + np.uint32(0x400) & np.uint32(0xFFFFF800)).view("f4")
