"""Reads or rewrites the events of a file in one of several formats, and prints JSON: for chain_formats.py.

    python python_formats.py convert|read|columns|chain FORMAT SOURCE TARGET THREADS COLUMNS

convert writes the tree Events of SOURCE in the format. read reads all columns, STEP events at a time, and
discards them. columns reads those in COLUMNS, separated by commas, as arrays. chain reads all columns of
SOURCE, STEP events at a time, and writes them to TARGET in the same format. The clock starts after imports.
Each library is used as its manual says.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import awkward as ak
import numpy as np

import sapwood
from sapwood import chain

TREE, STEP, LEVEL = "Events", 10_000, 5
COMPRESSION = f"zstd:{LEVEL}"
Steps = Iterator[Any]


class Tree:
    """A tree: sapwood's iterate and mktree, Awkward arrays."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def convert(self, source: str, target: str) -> None:
        self.chain(source, target)

    def steps(self, source: str, columns: list[str] | None = None) -> Steps:
        with sapwood.open(f"{source}:{TREE}", threads=self.threads) as tree:
            yield from tree.iterate(columns, step_size=STEP, how=dict)

    def write(self, steps: Steps, target: str) -> None:
        with sapwood.recreate(target, compression=COMPRESSION, threads=self.threads) as file:
            tree = file.mktree(TREE, cluster_entries=STEP)
            for step in steps:
                tree.extend(step)

    def read(self, source: str) -> None:
        for _ in self.steps(source):
            pass

    def columns(self, source: str, columns: list[str]) -> dict[str, Any]:
        with sapwood.open(f"{source}:{TREE}", threads=self.threads) as tree:
            return dict(tree.arrays(columns, how=dict))

    def chain(self, source: str, target: str) -> None:
        self.write(self.steps(source), target)


class RNTuple(Tree):
    """An RNTuple: sapwood's iterate and mkrntuple, Awkward arrays."""

    def convert(self, source: str, target: str) -> None:
        self.write(self.steps(source, without_counters(source)), target)

    def write(self, steps: Steps, target: str) -> None:
        with sapwood.recreate(target, compression=COMPRESSION, threads=self.threads) as file:
            ntuple = file.mkrntuple(TREE)
            for step in steps:
                ntuple.extend(step)


class TreeChain(Tree):
    """A tree: sapwood's chain."""

    def read(self, source: str) -> None:
        self.run(f"{source}:{TREE}", "none", chain="read")

    def chain(self, source: str, target: str) -> None:
        self.run(f"{source}:{TREE}", target)

    def run(self, source: str, target: str, **how: Any) -> None:
        how |= {"threads": self.threads, "lanes": self.threads, "batch": STEP}
        chain.run(source, target, compression=COMPRESSION, **how)


class Stripes(TreeChain):
    """A dataset of stripes: sapwood's chain. So are flat files, of which all columns must be read."""

    def convert(self, source: str, target: str) -> None:
        self.run(f"{source}:{TREE}", target)

    def read(self, source: str) -> None:
        self.run(source, "none", chain="read")

    def columns(self, source: str, columns: list[str]) -> dict[str, Any]:
        return dict(sapwood.open(source, threads=self.threads).arrays(columns, how=dict))

    def chain(self, source: str, target: str) -> None:
        self.run(source, target)


class Parquet:
    """Parquet: pyarrow, a row group per step."""

    def __init__(self, threads: int) -> None:
        import pyarrow
        import pyarrow.parquet

        pyarrow.set_cpu_count(threads)
        self.module, self.parallel = pyarrow.parquet, threads > 1

    def convert(self, source: str, target: str) -> None:
        with sapwood.open(f"{source}:{TREE}") as tree:
            self.write(tree.iterate(without_counters(source), step_size=STEP, library="arrow"), target)

    def steps(self, source: str) -> Steps:
        yield from self.module.ParquetFile(source).iter_batches(batch_size=STEP, use_threads=self.parallel)

    def write(self, steps: Steps, target: str) -> None:
        first = next(steps)
        how = {"compression": "zstd", "compression_level": LEVEL}
        with self.module.ParquetWriter(target, first.schema, **how) as writer:
            writer.write(first)
            for step in steps:
                writer.write(step)

    def read(self, source: str) -> None:
        for _ in self.steps(source):
            pass

    def columns(self, source: str, columns: list[str]) -> dict[str, Any]:
        table = self.module.read_table(source, columns=columns, use_threads=self.parallel)
        return {name: table[name] for name in columns}

    def chain(self, source: str, target: str) -> None:
        self.write(self.steps(source), target)


class Hdf5:
    """HDF5: h5py, a dataset per column, with gzip and shuffle, which every HDF5 library has.

    The values of all lists of a column are one dataset; an attribute names the column with their lengths.
    """

    def __init__(self, threads: int) -> None:
        import h5py

        self.module = h5py

    def convert(self, source: str, target: str) -> None:
        with sapwood.open(f"{source}:{TREE}") as tree:
            counters = {branch.name: branch.count_branch for branch in tree.branches}
            names = {name: counter.name for name, counter in counters.items() if counter is not None}
            steps = tree.iterate(step_size=STEP, how=dict)
            self.write(({name: flat(array) for name, array in step.items()} for step in steps), target, names)

    def write(self, steps: Steps, target: str, counters: dict[str, str]) -> None:
        with self.module.File(target, "w") as file:
            for step in steps:
                for name, values in step.items():
                    if name in file:
                        begin = len(file[name])
                        file[name].resize(begin + len(values), axis=0)
                        file[name][begin:] = values
                    else:
                        how = {"maxshape": (None,), "chunks": (max(len(values), STEP),), "shuffle": True}
                        file.create_dataset(name, data=values, compression="gzip", **how)
            for name, counter in counters.items():
                file[name].attrs["counter"] = counter

    def steps(self, file: Any, counters: dict[str, str]) -> Steps:
        offsets = {name: self.offsets(file[name]) for name in set(counters.values())}
        entries = next(len(file[name]) for name in file if name not in counters)
        for start in range(0, entries, STEP):
            stop = min(start + STEP, entries)
            step = {}
            for name, column in file.items():
                begin, end = offsets[counters[name]][[start, stop]] if name in counters else (start, stop)
                step[name] = column[begin:end]
            yield step

    def offsets(self, lengths: Any) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(lengths[:], dtype="i8")])

    def counters(self, file: Any) -> dict[str, str]:
        return {name: column.attrs["counter"] for name, column in file.items() if column.attrs}

    def read(self, source: str) -> None:
        with self.module.File(source) as file:
            for _ in self.steps(file, self.counters(file)):
                pass

    def columns(self, source: str, columns: list[str]) -> dict[str, Any]:
        with self.module.File(source) as file:
            found = {name: file[name][:] for name in columns}
            counters = {file[name].attrs.get("counter") for name in columns} - {None}
            return {f"offsets: {name}": self.offsets(file[name]) for name in sorted(counters)} | found

    def chain(self, source: str, target: str) -> None:
        with self.module.File(source) as file:
            counters = self.counters(file)
            self.write(self.steps(file, counters), target, counters)


def without_counters(source: str) -> list[str]:
    """The columns of a tree but the lengths of lists, which lists of other formats have themselves."""
    with sapwood.open(f"{source}:{TREE}") as tree:
        counters = {branch.count_branch.name for branch in tree.branches if branch.count_branch is not None}
        return [branch.name for branch in tree.branches if branch.name not in counters]


def flat(array: ak.Array) -> np.ndarray:
    """The values of a column, without the borders of lists."""
    return np.asarray(ak.to_numpy(ak.flatten(array, axis=None)))


FORMATS: dict[str, Callable[[int], Any]] = {
    "TTree": Tree,
    "TTree, chain": TreeChain,
    "RNTuple": RNTuple,
    "stripes, chain": Stripes,
    "flat, chain": Stripes,
    "Parquet": Parquet,
    "HDF5": Hdf5,
}


def total(column: Any) -> float:
    """The sum of the values of a column."""
    if isinstance(column, np.ndarray):
        return float(column.sum(dtype="f8"))
    if isinstance(column, ak.Array):
        return float(flat(column).sum(dtype="f8"))
    flattened = column.combine_chunks()
    while hasattr(flattened, "flatten") and hasattr(flattened.type, "value_type"):
        flattened = flattened.flatten()
    return float(flattened.to_numpy(zero_copy_only=False).sum(dtype="f8"))


def used() -> float:
    """CPU seconds of all threads."""
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime


def main() -> None:
    action, name, source, target, threads, listed = sys.argv[1:]
    columns, form = listed.split(","), FORMATS[name](int(threads))
    work: Callable[[], Any] = {
        "convert": lambda: form.convert(source, target),
        "read": lambda: form.read(source),
        "columns": lambda: form.columns(source, columns),
        "chain": lambda: form.chain(source, target),
    }[action]
    begin, before = time.perf_counter(), used()
    arrays = work()
    found: dict[str, Any] = {"wall": time.perf_counter() - begin, "cpu": used() - before}
    if action == "columns":
        found["sums"] = {column: total(arrays[column]) for column in columns}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
