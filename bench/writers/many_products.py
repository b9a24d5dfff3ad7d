"""Writes a dataset of many products whose values take few bytes: for stripe_metadata.py.

    python many_products.py FOLDER PRODUCTS BRANCHES EVENTS BATCH OBJECTS

A ROOT file, and a dataset of its events: batches of BATCH entries, each in about OBJECTS objects. The numbers
of the event are three more products. As in real data, the lengths and the maxima of baskets differ: 1 % of
the values are not 0, and these fall off exponentially.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import sapwood
from sapwood import stripe

POOL, PER_BLOCK = 1 << 22, 2000


def main() -> None:
    folder, (products, branches, events, batch, objects) = Path(sys.argv[1]), map(int, sys.argv[2:])
    generator = np.random.default_rng(1)
    filled = generator.random(POOL) < 0.01
    pool = np.where(filled, generator.exponential(15, POOL), 0).clip(0, 127).astype("i1")
    names = [f"P{product:03}_{branch}" for product in range(products) for branch in range(branches)]
    source, step = folder / "events.root", 12 * batch
    with sapwood.recreate(source, compression="lz4:1") as file:
        tree = file.mktree("Events", cluster_entries=step)
        for start in range(0, events, step):
            block = np.arange(start, min(start + step, events)) // PER_BLOCK
            number = 4_000_000 * block + generator.integers(4_000_000, size=len(block))
            columns = {"run": np.full(len(block), 380_000, "u4"), "luminosityBlock": block.astype("u4")}
            places = generator.integers(POOL - step, size=len(names))
            columns |= {name: pool[at : at + len(block)] for name, at in zip(names, places, strict=True)}
            tree.extend({**columns, "event": number.astype("u8")})
    of_batch = source.stat().st_size * min(1, batch / events)
    size = max(int(of_batch / objects), 1)
    stripe.create(folder / "dataset", f"{source}:Events", batch=batch, stripe_size=size)
    print(json.dumps({"bytes of the file": source.stat().st_size}))


if __name__ == "__main__":
    main()
