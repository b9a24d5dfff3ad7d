"""Iteration stays within its memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import sapwood
from sapwood.report.touches import Touches

MEASURE = """
    import sapwood
    from sapwood.studies.tune.measure import peak_bytes
    with sapwood.open({path!r} + ":t") as tree:
        next(tree.iterate(step_size=1000, library="np"))
        before = peak_bytes()
        total = steps = 0
        for arrays in tree.iterate(step_size="10 MB", library="np"):
            total += sum(array.nbytes for array in arrays.values())
            steps += 1
        print(peak_bytes() - before, total, steps)
"""


def written(path: Path, columns: int, clusters: int, entries: int, *, compressed: bool = False) -> Path:
    """An uncompressed file of random numbers, or one that holds a tenth of their bytes, and integers."""
    uproot = pytest.importorskip("uproot")
    random = np.random.default_rng(1)
    with uproot.recreate(path, compression=uproot.ZLIB(1) if compressed else None) as file:
        tree = file.mktree("t", {f"x{i}": "f8" for i in range(columns)})
        for _ in range(clusters):
            each = (random.random(entries) for _ in range(columns))
            tree.extend({f"x{i}": np.rint(some) if compressed else some for i, some in enumerate(each)})
    return path


def test_a_long_iteration_stays_small(tmp_path: Path) -> None:
    path = written(tmp_path / "large.root", 10, 20, 125_000)
    code = textwrap.dedent(MEASURE).format(path=str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    growth, total, steps = map(int, done.stdout.split())
    assert total == 20 * 10 * 125_000 * 8 and steps >= 20
    assert growth < 60e6


LOOP = """
    import sapwood
    from sapwood.studies.tune.measure import peak_bytes
    def total(memory, stop):
        loop = sapwood.open({path!r} + ":t").events(caching=sapwood.Caching(memory=memory))
        count = 0
        for chunk in loop.chunks():
            count += sum(chunk[name].nbytes for name in chunk.fields)
            if count >= stop:
                break
        return count
    total("8 MB", 1)
    before = peak_bytes()
    print(total({memory!r}, 1e18), peak_bytes() - before)
"""


@pytest.mark.parametrize(("memory", "most"), [("48 MB", 48e6), ("96 MB", 96e6)])
@pytest.mark.parametrize(
    ("columns", "entries", "compressed", "freed"), [(20, 100_000, False, 8e6), (160, 36_000, True, 48e6)]
)
def test_a_loop_stays_within_its_memory(
    tmp_path: Path, memory: str, most: float, columns: int, entries: int, compressed: bool, freed: float
) -> None:
    """Clusters have 16 and 46 MB. The allocator keeps some freed memory, more of it beside 160 columns."""
    path = written(tmp_path / "large.root", columns, 6, entries, compressed=compressed)
    code = textwrap.dedent(LOOP).format(path=str(path), memory=memory)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    read, growth = map(int, done.stdout.split())
    assert read == 6 * columns * entries * 8
    assert growth < most + freed


def test_a_loop_keeps_few_bytes_of_what_it_touched(tmp_path: Path) -> None:
    """It kept some 200 bytes for each column of each window, so that long loops over wide trees grew."""
    columns, clusters = 200, 60
    path = written(tmp_path / "wide.root", columns, clusters, 100)
    with sapwood.open(f"{path}:t") as tree:
        events = tree.events(caching=sapwood.Caching(memory="1 MB"))
        windows = len(events.windows)
        assert windows >= clusters
        tracemalloc.start()
        try:
            sizes = []
            for number, chunk in enumerate(events.chunks(), start=1):
                assert all(len(chunk[name]) for name in chunk.fields)
                if number in (3, windows):
                    gc.collect()
                    sizes.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
    early, late = sizes
    assert late - early < 20 * columns * windows


def test_touches_are_counted_by_column_and_window() -> None:
    touches: Touches[str] = Touches(5)
    assert (touches.windows, touches.counts(), list(touches)) == (0, {}, [])
    for column, window in [("a", 3), ("a", 3), ("b", 3), ("a", 0)]:
        touches.add(column, window)
    assert (touches.windows, touches.counts()) == (2, {"a": 2, "b": 1})
    assert sorted(touches) == [("a", 0), ("a", 3), ("b", 3)]
    assert (
        ("a", 3) in touches
        and ("a", 1) not in touches
        and ("c", 0) not in touches
        and ("a", 5) not in touches
    )
    renamed = touches.renamed(str.upper)
    assert renamed == {("A", 0), ("A", 3), ("B", 3)} and len(renamed) == 3 and renamed.windows == 2
