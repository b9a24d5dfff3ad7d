"""Wrote `planes`, once, by sapwood 0.1.0; it is read for ever, and never written again."""

import tempfile
from pathlib import Path

import awkward as ak
import numpy as np

import sapwood
from sapwood import stripe

with tempfile.TemporaryDirectory() as name:
    events = np.arange(2000)
    jets = ak.unflatten(np.sqrt(np.arange(3000)).astype("f4"), events % 4)
    with sapwood.recreate(Path(name, "in.root")) as file:
        file["Events"] = {
            "pt": np.sqrt(events).astype("f4"),
            "mass": np.sqrt(events + 0.5),
            "charge": (events % 3 - 1).astype("i4"),
            "hits": (500 * np.sin(events)).astype("i2"),
            "Jet_pt": jets,
        }
    stripe.create(Path(__file__).with_name("planes"), Path(name, "in.root"), tree="Events", batch=2000)
