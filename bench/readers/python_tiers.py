"""Loops over products of events, or skims them, with sapwood, and prints a line of JSON; see ../tiers.py.

python_tiers.py loop FILE:TREE PRODUCT...
python_tiers.py skim FILE OUT CUT

A loop counts the items of the products, which are collections in wrappers.
"""

from __future__ import annotations

import json
import sys

import awkward  # noqa: F401 -- so that its import does not count
from python_objects import Clock

import sapwood


def loop(path: str, products: list[str]) -> int:
    columns = [f"{name}obj" for name in products]
    return sum(len(event[column]) for event in sapwood.events(path) for column in columns)


def main() -> None:
    what, path, *arguments = sys.argv[1:]
    # Neither do the imports behind these.
    sapwood.events, sapwood.repack  # noqa: B018
    clock = Clock()
    if what == "loop":
        found = loop(path, arguments)
    else:
        found = sapwood.repack(path, arguments[0], cut=arguments[1], overwrite=True).trees["Events"]
    print(json.dumps({"found": found, **clock.read()}))


if __name__ == "__main__":
    main()
