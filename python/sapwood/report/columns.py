"""The cost of reading each column (:class:`ColumnCost`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..display.units import counted, human_bytes

SHOWN = 5
"""Number of columns in the text of a report."""


@dataclass(frozen=True)
class ColumnCost:
    """The cost of reading one column.

    Attributes:
        tree: path of the tree, without its cycle.
        column: path of the branch; for an RNTuple, of the field.
        baskets: number of baskets that were decoded; for an RNTuple, of pages. Those that two steps need
            count twice.
        wanted_bytes: stored bytes of the baskets that were needed. Those of a shared count branch count for
            each column that needs them.
        fetched_bytes: the part of ``wanted_bytes`` that was fetched for these entries, and not kept from the
            step before.
        decompressed_bytes: bytes of the resulting arrays.
        decompress_seconds: time spent in decompression, summed over all threads.
        decode_seconds: time spent in decoding decompressed bytes into values, summed over all threads.
    """

    tree: str
    column: str
    baskets: int = 0
    wanted_bytes: int = 0
    fetched_bytes: int = 0
    decompressed_bytes: int = 0
    decompress_seconds: float = 0.0
    decode_seconds: float = 0.0

    @classmethod
    def from_core(cls, tree: str, column: str, counters: Mapping[str, int]) -> ColumnCost:
        """The cost for the counters of the core, whose paths of trees have a cycle."""
        times: dict[str, Any] = {
            f"{name}_seconds": counters.get(f"{name}_ns", 0) / 1e9 for name in ("decompress", "decode")
        }
        whole = {name: counters.get(name, 0) for name in _WHOLE}
        return cls(tree.partition(";")[0], column, **whole, **times)

    @property
    def seconds(self) -> float:
        """Time spent in decompression and decoding, summed over all threads."""
        return self.decompress_seconds + self.decode_seconds

    def to_dict(self) -> dict[str, Any]:
        """All attributes by name, fit for JSON."""
        return asdict(self)

    def __add__(self, other: ColumnCost) -> ColumnCost:
        """The sum of the costs of one column in two files."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in (*_WHOLE, *_TIMES)}
        return ColumnCost(self.tree, self.column, **sums)


def summed(costs: Iterable[ColumnCost]) -> tuple[ColumnCost, ...]:
    """The costs by tree and column, each once, in the order of first use."""
    sums: dict[tuple[str, str], ColumnCost] = {}
    for cost in costs:
        name = (cost.tree, cost.column)
        sums[name] = sums[name] + cost if name in sums else cost
    return tuple(sums.values())


def lines(costs: Sequence[ColumnCost]) -> Iterator[str]:
    """A line for each of the columns that took the most time."""
    for cost in sorted(costs, key=lambda cost: (-cost.seconds, cost.column))[:SHOWN]:
        sizes = f"{human_bytes(cost.wanted_bytes)} wanted, {human_bytes(cost.fetched_bytes)} fetched"
        result = f"{human_bytes(cost.decompressed_bytes)} in {cost.seconds:.3g} s"
        yield f"column {cost.tree}/{cost.column}: {counted(cost.baskets, 'basket')}, {sizes}, {result}"
    if len(costs) > SHOWN:
        yield f"and {counted(len(costs) - SHOWN, 'column')} that took less time"


_WHOLE = ("baskets", "wanted_bytes", "fetched_bytes", "decompressed_bytes")
_TIMES = ("decompress_seconds", "decode_seconds")
