"""The format of datasets is as docs/specs/stripe.md says: a reader that knows only this text reads them."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import stripe_reader

GOLDEN = Path(__file__).parents[1] / "data" / "stripe-v1"


def record(product: str, branch: int, stripe: int) -> bytes:
    return (
        f"{product}, branch {branch}, stripe {stripe}; ".encode() * (branch + stripe + 1) if branch else b""
    )


def test_stripes_are_as_specified() -> None:
    for stripe in range(2):
        members = stripe_reader.directory((GOLDEN / f"stripe-{stripe}").read_bytes())
        assert members == [
            (product, 1000 * stripe, 1000, [record(product, branch, stripe) for branch in range(branches)])
            for product, branches in (("Muon", 3), ("Jet", 2))
        ]


def test_snapshots_and_lists_are_as_specified() -> None:
    description, schemas = stripe_reader.snapshot((GOLDEN / "snapshot").read_bytes())
    assert schemas == [b"root, in the place of a file " * 20]
    assert [product["name"] for product in description["products"]] == ["Muon", "Jet"]
    [segment] = description["segments"]
    place = segment["lists"]["1"]
    listed = (GOLDEN / "list").read_bytes()
    stripe_reader.content(listed, 3)
    section = listed[place["offset"] : place["offset"] + place["len"]]
    assert stripe_reader.checksum(section) == place["checksum"]
    found = list(stripe_reader.stripes(section))
    assert [entries for entries, *_ in found] == [1000, 1000, 500]
    for stripe, (_, base, name, offset, lengths, sums) in enumerate(found):
        assert name == (f"{'a' + str(stripe):0>20}" if stripe < 2 else "")
        thing = base if isinstance(base, bytes) else (GOLDEN / f"stripe-{stripe}").read_bytes()
        for branch in range(3):
            start = offset + sum(lengths[:branch])
            basket = thing[start : start + lengths[branch]]
            assert basket == record("Muon", branch, stripe)
            assert stripe_reader.checksum(basket) == sums[branch]


def test_indexes_of_events_are_as_specified() -> None:
    runs, lumis, events = stripe_reader.events((GOLDEN / "events").read_bytes())
    entries = np.arange(2500)
    np.testing.assert_array_equal(runs, 273_158 + entries // 1000)
    np.testing.assert_array_equal(lumis, 1 + entries % 1000 // 100)
    np.testing.assert_array_equal(events, entries * 7919 % 65_537 + (1 << 33))
