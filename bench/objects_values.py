"""Compares the values of all products in sapwood with those that ROOT has in memory.

    python bench/objects_values.py FILE TREE HEADER [--save DIGESTS.json.gz | --against DIGESTS.json.gz]

The digests of ROOT's values come from the program objects/values.cpp, which defines them, or from a file with
its output. Exits with 1 if a product differs or cannot be read.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
from rootbuild import HERE, compiled, dictionary

import sapwood
from sapwood.errors import SapwoodError

# Path: the number of values, and their MD5.
Digests = dict[str, list[Any]]


def of_root(file: Path, tree: str, header: str, build: Path) -> dict[str, Digests]:
    """ROOT's digests of every top-level branch, with the dictionary of `objects/HEADER.h`."""
    program = compiled(HERE / "objects" / "values.cpp", build)
    library = dictionary(HERE / "objects" / f"{header}.h", build)
    done = subprocess.run([program, file, tree, library], check=True, stdout=subprocess.PIPE)
    found: dict[str, Digests] = json.loads(done.stdout)
    return found


def parts(layout: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every path below a column, with its values of all entries, in their order."""
    if layout.is_record:
        for index, field in enumerate(layout.fields):
            name = ("first", "second")[index] if layout.is_tuple else field
            yield from parts(layout.content(index), f"{path}.{name}" if path else name)
    elif layout.is_option or layout.is_union:
        yield f"{path}?", ~is_null(layout)
        yield from pointed(layout, path)
    elif layout.is_regular:
        yield from parts(layout.content[: len(layout) * layout.size], path)
    elif layout.is_list:
        layout = layout.to_ListOffsetArray64(True)
        yield f"{path}#", np.diff(layout.offsets.data)
        content = layout.content[: layout.offsets[-1]]
        if layout.parameter("__array__") in ("string", "bytestring"):
            yield path, ak.to_numpy(ak.without_parameters(content)).view("S1")
        else:
            yield from parts(content, f"{path}[]")
    elif layout.is_indexed:
        yield from parts(layout.project(), path)
    else:
        yield path, ak.to_numpy(layout).ravel()


def is_null(layout: Any) -> Any:
    """A mask of the items that are null pointers. If there are several classes, each may have some."""
    return ak.to_numpy(ak.is_none(layout))


def pointed(layout: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The objects behind pointers, by class."""
    if layout.is_option:
        yield from pointed(layout.project(), path)
    elif layout.is_union:
        for tag in range(len(layout.contents)):
            yield from pointed(layout.project(tag), path)
    else:
        yield from parts(layout, f"{path}<{layout.purelist_parameter('__record__')}>")


def digests(array: ak.Array) -> Digests:
    """The digests of an array, as in objects/values.cpp."""
    found: Digests = {}
    for path, values in parts(ak.to_layout(array), ""):
        raw = values if values.dtype.kind == "S" else values.astype("<f8")
        if len(values):
            found[path] = [len(values), hashlib.md5(raw.tobytes()).hexdigest()]
    return found


def compare(file: Path, tree: str, root: dict[str, Digests]) -> dict[str, str]:
    """The error of each product; "" if all values are equal."""
    opened = sapwood.open(f"{file}:{tree}")
    return {name: difference(opened[f"/{name}"], expected) for name, expected in root.items()}


def difference(branch: sapwood.Branch, expected: Digests) -> str:
    try:
        found = digests(branch.array())
    except SapwoodError as error:
        return f"{type(error).__name__}: {error}"
    wrong = sorted(path for path in found.keys() | expected.keys() if found.get(path) != expected.get(path))
    return f"differs in {', '.join(wrong[:8])}" if wrong else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("tree")
    parser.add_argument("header", help="of the classes: edm or xaod")
    parser.add_argument("--build", type=Path, default=HERE.parent / "build/bench/data/build")
    parser.add_argument("--save", type=Path, help="only write ROOT's digests to this file")
    parser.add_argument("--against", type=Path, help="ROOT's digests, saved before")
    options = parser.parse_args()
    if options.against:
        root = json.loads(gzip.decompress(options.against.read_bytes()))
    else:
        root = of_root(options.file, options.tree, options.header, options.build)
    if options.save:
        options.save.write_bytes(gzip.compress(json.dumps(root).encode(), mtime=0))
        return
    compared = compare(options.file, options.tree, root)
    for name, wrong in compared.items():
        print(f"{name}: {wrong or 'equal'}")
    unequal = sum(map(bool, compared.values()))
    print(f"{len(compared) - unequal} of {len(compared)} products are equal")
    raise SystemExit(unequal > 0)


if __name__ == "__main__":
    main()
