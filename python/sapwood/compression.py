"""ROOT's compression settings, such as 505 for ZSTD at level 5."""

from __future__ import annotations

from dataclasses import dataclass

_ALGORITHMS = {0: "default", 1: "ZLIB", 2: "LZMA", 3: "old", 4: "LZ4", 5: "ZSTD"}


@dataclass(frozen=True)
class Compression:
    """A setting: ``code`` is algorithm * 100 + level, as ROOT counts.

    >>> print(Compression(505), Compression(0))
    ZSTD-5 none
    """

    code: int

    @property
    def algorithm(self) -> str:
        """The name of the algorithm: ZLIB, LZMA, LZ4, ZSTD, old (before ROOT 5.30), default, or none."""
        if self.level == 0:
            return "none"
        number = self.code // 100
        # Before algorithms could be chosen, the setting was the level of ZLIB alone.
        return _ALGORITHMS.get(number or 1, f"algorithm {number}")

    @property
    def name(self) -> str:
        """The same as ``algorithm``."""
        return self.algorithm

    @property
    def level(self) -> int:
        """0 (none) to 9 (smallest)."""
        return self.code % 100 if self.code > 0 else 0

    def __str__(self) -> str:
        return self.algorithm if self.level == 0 else f"{self.algorithm}-{self.level}"
