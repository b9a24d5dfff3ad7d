"""Makes a dataset of a tree, or replaces a product of one, in a process of its own; prints a line of JSON.

python stripe_write.py create DATASET FILE TREE
python stripe_write.py add DATASET FILE TREE PRODUCT
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from sapwood import _core

DEFAULTS: dict[str, Any] = {
    "compression": None,
    "stripe_size": None,
    "batch": None,
    "group": True,
    "pad": 0,
    "threads": None,
    "who": None,
    "job": None,
    "parameters": {},
}


def main() -> None:
    what, url, file, tree, *products = sys.argv[1:]
    begin = time.perf_counter()
    core: Any = _core
    stripes, source = core.Stripes(url), (file, dict[str, Any]())
    if what == "create":
        told = stripes.create(tree, [source], DEFAULTS)
    else:
        told = stripes.add(source, tree, products, False, DEFAULTS)
    print(json.dumps({"seconds": time.perf_counter() - begin, **told}), flush=True)


if __name__ == "__main__":
    main()
