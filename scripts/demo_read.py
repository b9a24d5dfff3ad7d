"""Reads columns of a tree with one library, and prints the cost as JSON.

demo_read.py LIBRARY URL:TREE COLUMN...
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import time
from typing import Any

import awkward as ak
import numpy as np


def digest(array: Any) -> str:
    """A digest of all numbers of an array and of their grouping."""
    found = hashlib.sha256()
    while array.ndim > 1:
        found.update(ak.to_numpy(ak.num(array)).astype(np.int64).tobytes())
        array = ak.flatten(array)
    values = ak.to_numpy(array)
    found.update(str(values.dtype).encode() + values.tobytes())
    return found.hexdigest()


def counted(library: str, file: Any) -> dict[str, int]:
    """The library's own counts."""
    if library == "sapwood":
        report = file.report()
        return {"requests": report.requests, "bytes_sent": report.fetched_bytes}
    return {"requests": file.source.num_requested_chunks, "bytes_sent": file.source.num_requested_bytes}


def main() -> None:
    library, target, *columns = sys.argv[1:]
    # Sapwood imports most of itself when a file is opened, uproot when it is imported: both count.
    begin = time.perf_counter()
    module = importlib.import_module(library)
    with module.open(target) as tree:
        arrays = tree.arrays(columns)
        seconds = time.perf_counter() - begin
        found = {"seconds": seconds, **counted(library, tree.file)}
    print(json.dumps(found | {"digests": [digest(arrays[name]) for name in columns]}))


if __name__ == "__main__":
    main()
