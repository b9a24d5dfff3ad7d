"""Creates a dataset from a tree, appends to it, or replaces a product, and prints JSON.

python stripe_write.py create|append DATASET FILE TREE
python stripe_write.py add DATASET FILE TREE PRODUCT
"""

from __future__ import annotations

import json
import sys
import time

from sapwood import stripe


def main() -> None:
    what, url, file, tree, *products = sys.argv[1:]
    begin, source = time.perf_counter(), f"{file}:{tree}"
    if what == "create":
        version = stripe.create(url, source).version()
    elif what == "append":
        version = stripe.open(url).append(source).version
    else:
        version = stripe.open(url).add(source, products).version
    print(json.dumps({"seconds": time.perf_counter() - begin, "version": version}), flush=True)


if __name__ == "__main__":
    main()
