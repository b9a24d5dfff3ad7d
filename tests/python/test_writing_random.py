"""Random trees read as they were written, for any type, compression, basket and cluster size."""

from __future__ import annotations

import os
import re
import tempfile
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from root_peer import read_by_root

import sapwood

ak = pytest.importorskip("awkward")

NUMBERS = [
    *["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32"],
    *["int64", "uint64", "float32", "float64"],
]
WRAPPED = ["{}", "2 * {}", "2 * 3 * {}", "var * {}", "var * 2 * {}", "var * var * {}", "var * var * var * {}"]
TYPES = [wrapped.format(number) for wrapped in WRAPPED for number in NUMBERS]
TYPES += ["string", "char*", "var * string", "var * var * string", "vector<float>", "vector<bool>"]
TYPES += ["var * {x: float32, y: int16, z: var * int32}", "{a: int32, b: var * float64}"]
RECORDS = ["var * {x: 2 * 3 * uint8, y: bool, z: var * float64}", "{a: string, b: 3 * int64, c: var * bool}"]
COMPRESSIONS = ["none", "zlib:1", "zlib:9", "lzma:1", "lz4:1", "lz4:9", "zstd:1", "zstd:5", "zstd:9"]
EXAMPLES = int(os.environ.get("SAPWOOD_WRITING_EXAMPLES", "40"))

layouts = st.fixed_dictionaries(
    {
        "types": st.lists(st.sampled_from(TYPES + RECORDS), min_size=1, max_size=6),
        "compression": st.sampled_from(COMPRESSIONS),
        "basket_size": st.sampled_from([1000, 4000, 32000, 262144]),
        "cluster": st.sampled_from(
            [{"cluster_entries": n} for n in (1, 7, 100, 10**6)] + [{"cluster_size": n} for n in (1, 5000)]
        ),
        "lengths": st.lists(st.integers(0, 150), min_size=1, max_size=4),
        "seed": st.integers(0, 2**32 - 1),
        "threads": st.sampled_from([1, 2]),
        "records": st.sampled_from(["columns", "split"]),
    }
)


def values(kind: str, length: int, random: np.random.Generator) -> Any:
    """Items of a type in Awkward's words."""
    kind = {"char*": "string", "vector<float>": "var * float32", "vector<bool>": "var * bool"}.get(kind, kind)
    if kind.startswith("var * "):
        counts = random.integers(0, random.integers(1, 6), length)
        return ak.unflatten(values(kind[6:], int(counts.sum()), random), counts)
    if kind.startswith("{"):
        fields = [field.split(": ") for field in kind[1:-1].split(", ")]
        return ak.zip({name: values(field, length, random) for name, field in fields}, depth_limit=1)
    if kind[0].isdigit():
        size, _, inner = kind.partition(" * ")
        content = values(inner, length * int(size), random)
        return _regular(content, int(size), length)
    if kind == "string":
        alphabet = np.array(["", "a", "bc", "ü", "x" * 300])
        return ak.Array([str(word) for word in random.choice(alphabet, length)] + ["-"])[:-1]
    dtype = np.dtype(kind)
    return ak.Array(np.frombuffer(_bytes_of(dtype, length, random), dtype))


def _regular(content: Any, size: int, length: int) -> Any:
    layout = ak.to_layout(content)
    return ak.Array(ak.contents.RegularArray(layout, size, zeros_length=length))


def _bytes_of(dtype: np.dtype[Any], length: int, random: np.random.Generator) -> bytes:
    if dtype.kind == "b":
        return random.integers(0, 2, length).astype("u1").tobytes()
    if dtype.kind == "f":
        # Numbers of all sizes, but no NaN: that equals nothing.
        return (random.normal(size=length) * 10.0 ** random.integers(-20, 20, length)).astype(dtype).tobytes()
    return bytes(random.bytes(length * dtype.itemsize))


def write(path: Path, layout: dict[str, Any]) -> dict[str, list[Any]]:
    """Writes a random tree; gives what its branches hold."""
    random = np.random.default_rng(layout["seed"])
    types = {f"c{place}": kind for place, kind in enumerate(layout["types"])}
    held: dict[str, list[Any]] = {}
    with sapwood.recreate(path, compression=layout["compression"], threads=layout["threads"]) as file:
        records = layout.get("records", "columns")
        settings = {"basket_size": layout["basket_size"], "records": records, **layout["cluster"]}
        tree = file.mktree("Events", types, **settings)
        for length in layout["lengths"]:
            data = {name: values(kind, length, random) for name, kind in types.items()}
            tree.extend(data)
            for name, column in data.items():
                for field in ak.fields(column) or [None]:
                    part = column if field is None else column[field]
                    held.setdefault(branch_name(name, field, part, records), []).extend(ak.to_list(part))
    return held


def branch_name(name: str, field: str | None, part: Any, records: str) -> str:
    """The branch of a column, or of a member of one; ROOT adds dimensions to those of split objects."""
    if field is None:
        return name
    if records == "columns":
        return f"{name}_{field}"
    dims = re.findall(r"(\d+) \* ", str(ak.type(part)).partition(" * ")[2])
    return f"{name}.{field}" + "".join(f"[{dim}]" for dim in dims)


SPLIT: dict[str, Any] = {
    "types": RECORDS,
    "compression": "zstd:5",
    "basket_size": 1000,
    "cluster": {"cluster_entries": 7},
    "lengths": [0, 40, 1],
    "seed": 3,
    "threads": 2,
    "records": "split",
}


@given(layouts)
@example(SPLIT)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_values_read_as_they_were_written(layout: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "out.root"
        held = write(path, layout)
        for package in (sapwood, uproot):
            with package.open(path) as file:
                tree = file["Events"]
                assert tree.num_entries == sum(layout["lengths"])
                for name, expected in held.items():
                    if package is uproot and "][" in name:
                        # Of members of objects in lists, it makes one dimension of several; of ROOT's, too.
                        expected = [[[*chain(*rows)] for rows in objects] for objects in expected]
                    assert ak.to_list(tree[name].array()) == expected, (package.__name__, name)


def test_root_reads_all_types_with_all_settings(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    paths, held = [], []
    for number, compression in enumerate(COMPRESSIONS):
        layout = {
            "types": TYPES,
            "compression": compression,
            "basket_size": [1000, 4000, 32000][number % 3],
            "cluster": [{"cluster_entries": 7}, {"cluster_entries": 100}, {"cluster_size": 5000}][
                number // 3
            ],
            "lengths": [0, 40, 1, 70],
            "seed": int(random.integers(2**32)),
            "threads": 2,
        }
        paths.append(tmp_path / f"{number}.root")
        held.append(write(paths[-1], layout))
    for found, expected in zip(read_by_root(*paths), held, strict=True):
        read = found["Events"]
        for name, entries in expected.items():
            for entry, value in enumerate(entries):
                assert _same(read[name][entry], value), (name, entry)


def _same(read: Any, value: Any) -> bool:
    """Whether ROOT read what was written, but for the shape; numbers of vectors of bytes are modulo 256."""
    return all(
        one == other or (isinstance(one, int) and one == other % 256)
        for one, other in zip(_items(read), _items(value), strict=True)
    )


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        return [value]
    return [item for part in value for item in _items(part)]
