"""Lets ROOT write objects at each split level, and saves what the tests need: run by a Python that has ROOT.

    python tests/conformance/objects/make.py referable
    python tests/conformance/objects/make.py referable --classes FOLDER    only compiles the classes

The classes of NAME.h are compiled with the program NAME.cpp, which writes a file for each level. NAME.root is
the file with unsplit objects; NAME_levels.json.gz is what the records of all files say of the branches, and
digests of the bytes that ROOT stores of each branch at level 99.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "bench")]

TREE = "T"


def digests(path: Path) -> dict[str, str]:
    """Digests of the bytes of all entries, by the path of the branch; equal names get a number."""
    import uproot

    found: dict[str, str] = {}

    def add(branch: Any, above: str) -> None:
        place = f"{above}/{branch.name}"
        if branch.num_baskets:
            digest = hashlib.sha1(usedforsecurity=False)
            for number in range(branch.num_baskets):
                basket = branch.basket(number)
                # Without the table of offsets behind the entries.
                end = None if basket.byte_offsets is None else basket.byte_offsets[-1]
                digest.update(basket.data[:end].tobytes())
                if basket.byte_offsets is not None:
                    digest.update(basket.byte_offsets.tobytes())
            found[place] = digest.hexdigest()
        for below in branch.branches:
            add(below, place)

    with uproot.open(path) as file:
        for branch in file[TREE].branches:
            add(branch, "")
    return found


def main() -> None:
    """Compiles the classes; then, unless a folder for them is named, lets the program write."""
    from rootbuild import compiled, dictionary

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("--classes", type=Path)
    options = parser.parse_args()
    header = HERE / f"{options.name}.h"
    if options.classes:
        # root_objects.py looks for the name of the folder.
        dictionary(header, options.classes).rename(options.classes / f"{options.classes.name}.so")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(header.with_suffix(".cpp"), Path(folder), dictionary(header, Path(folder)))
        subprocess.run([program, folder], check=True)
        save(options.name, Path(folder))


def save(name: str, folder: Path) -> None:
    """Saves what the tests need of the files in a folder."""
    from split_levels import LEVELS, described

    paths = {level: folder / f"{name}_level{level}.root" for level in LEVELS}
    levels = {level: described(path, [TREE]) for level, path in paths.items()}
    saved = {"levels": levels, "bytes": digests(paths[LEVELS[-1]])}
    (HERE / f"{name}_levels.json.gz").write_bytes(gzip.compress(json.dumps(saved).encode(), mtime=0))
    shutil.copy(paths[0], HERE / f"{name}.root")


if __name__ == "__main__":
    main()
