"""Makes a dataset of a tree, or replaces a product of one, in a process of its own; prints a line of JSON.

python stripe_write.py create DATASET FILE TREE
python stripe_write.py add DATASET FILE TREE PRODUCT
"""

from __future__ import annotations

import json
import sys
import time

from sapwood import stripe


def main() -> None:
    what, url, file, tree, *products = sys.argv[1:]
    begin = time.perf_counter()
    if what == "create":
        stripe.create(url, f"{file}:{tree}")
    else:
        stripe.open(url).add(f"{file}:{tree}", products)
    print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)


if __name__ == "__main__":
    main()
