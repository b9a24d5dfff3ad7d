"""Wrote `history`, once, by sapwood 0.1.0; it is read for ever, and never written again.

Version 2 has 50 events, 3 has 100 and the tag "summer", 4 other jets, 5 has no met, 6 has Twice; 7 is as 3.
The values follow from the numbers of the events.
"""

import sys
import tempfile
from pathlib import Path

import sapwood
from sapwood import stripe

sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))
import stripe_faults_work as work

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    dataset = stripe.create(Path(__file__).with_name("history"), work.write(folder, 0), batch=20)
    dataset.append(work.write(folder, 1), batch=20)
    dataset.tag("summer")
    columns = work.columns(work.events_of([0, 1])[::-1])
    with sapwood.recreate(folder / "jets.root") as file:
        file["Events"] = columns | {"Jet_pt": 2 * columns["Jet_pt"]}
    dataset.add(f"{folder}/jets.root:Events", "Jet")
    dataset.drop("met")
    dataset.add_product("Twice", lambda events: {"Twice_pt": 2 * events["Jet_pt"]}, ["Jet_pt"])
    dataset.restore("summer")
