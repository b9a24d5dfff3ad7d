"""Prints digests of ROOT's values of all objects, as JSON for each file: run by a Python that has ROOT.

    root_digests.py BUILD HEADER TREE FILE...

The classes of bench/objects/HEADER.h are compiled into the folder BUILD.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from rootbuild import compiled, dictionary  # noqa: E402


def main() -> None:
    """Compiles, then reads file by file."""
    build, header, tree, *files = sys.argv[1:]
    program = compiled(BENCH / "objects" / "values.cpp", Path(build))
    classes = dictionary(BENCH / "objects" / f"{header}.h", Path(build))
    for file in files:
        done = subprocess.run([program, file, tree, classes], check=True, stdout=subprocess.PIPE)
        print(json.dumps(json.loads(done.stdout)), flush=True)


if __name__ == "__main__":
    main()
