"""Reads pieces of a file, one after the other, and prints a line of JSON with the seconds that this takes.

    python python_pread.py FILE PIECES

PIECES is a file with an offset and a size in each line.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    path, pieces = sys.argv[1:]
    wanted = [tuple(map(int, line.split())) for line in Path(pieces).read_text().splitlines()]
    with Path(path).open("rb", buffering=0) as file:
        begin = time.perf_counter()
        for offset, size in wanted:
            if len(os.pread(file.fileno(), size, offset)) != size:
                raise SystemExit("the file is shorter than expected")
        print(json.dumps({"seconds": time.perf_counter() - begin}))


if __name__ == "__main__":
    main()
