"""The branches of the objects in a file, as its record describes them.

    python tests/conformance/split_levels.py FOLDER --save objects/edm_levels.json.gz

The folder holds `edm_level0.root`, `edm_level1.root` and `edm_level99.root`, see objects/README.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LEVELS = (0, 1, 99)
TREES = ("Events", "LuminosityBlocks", "Runs", "MetaData")

Described = list[list[Any]]
SPLIT_LEVEL = 11
"""The place of the split level in a line."""


def described(path: Path, trees: Sequence[str] = TREES) -> dict[str, Described]:
    """What the record of each tree says of each object: one line for each branch, parents first.

    Left out is what depends on where the objects were in memory, on the sizes of baskets and on compression.
    """
    import uproot

    with uproot.open(path) as file:
        return {
            f"{name}/{branch.name}": list(lines(branch, 0))
            for name in trees
            for branch in file[name].branches
            if branch.has_member("fStreamerType")
        }


def lines(branch: Any, depth: int) -> Any:
    """The branch, and those below it."""
    counts = branch.member("fBranchCount")
    yield [
        depth,
        *(
            str(branch.member(name))
            for name in ("fName", "fTitle", "fClassName", "fParentName", "fClonesName")
        ),
        *(
            int(branch.member(name))
            for name in ("fCheckSum", "fClassVersion", "fID", "fType", "fStreamerType")
        ),
        *(int(branch.member(name)) for name in ("fSplitLevel", "fEntries", "fMaximum")),
        int(branch.member("fEntryOffsetLen")) > 0,
        None if counts is None else counts.member("fName"),
        [leaf(one) for one in branch.member("fLeaves")],
    ]
    for below in branch.branches:
        yield from lines(below, depth + 1)


def leaf(one: Any) -> list[Any]:
    """The leaf of a branch."""
    counts = one.member("fLeafCount")
    return [
        one.member("fName"),
        one.member("fTitle"),
        *(int(one.member(name)) for name in ("fLenType", "fID", "fType")),
        bool(one.member("fIsUnsigned")),
        None if counts is None else counts.member("fName"),
    ]


def main() -> None:
    """Saves what ROOT wrote at each level."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--save", type=Path, required=True)
    options = parser.parse_args()
    found = {level: described(options.folder / f"edm_level{level}.root") for level in LEVELS}
    options.save.write_bytes(gzip.compress(json.dumps(found).encode(), mtime=0))


if __name__ == "__main__":
    main()
