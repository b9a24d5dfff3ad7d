"""ROOT's compression settings, such as 505 for ZSTD at level 5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._core import compression_algorithms
from ..errors import UsageError

_LEVELS = frozenset("0123456789")
_WRITTEN = {name: (number, level) for name, number, level in compression_algorithms}
_NAMES = {number: name.upper() for name, (number, _) in _WRITTEN.items()} | {0: "default", 3: "old"}


@dataclass(frozen=True)
class Compression:
    """A compression setting: ``code`` is ROOT's number, algorithm * 100 + level.

    >>> print(Compression(505), Compression(0))
    ZSTD-5 none
    """

    code: int

    @classmethod
    def of(cls, setting: Compression | str | int | Any) -> Compression:
        """The setting for a text such as ``"zstd:5"``, ``"lz4"`` or ``"none"``, for ROOT's number, or for an
        object of uproot such as ``uproot.ZSTD(5)``; None means no compression.

        >>> print(Compression.of("zstd:5"), Compression.of("LZMA-9"), Compression.of(404))
        ZSTD-5 LZMA-9 LZ4-4

        Raises:
            UsageError: for an unknown algorithm or level.
        """
        if setting is None or setting == "none":
            return cls(0)
        code = setting if isinstance(setting, int) else getattr(setting, "code", None)
        if isinstance(setting, str):
            name, _, level = setting.strip().lower().replace("-", ":").partition(":")
            number, usual = _WRITTEN.get(name, (-1, 0))
            level = level or str(usual)
            if name in _WRITTEN and level not in _LEVELS:
                hint = f'give a level from 1 to 9, such as "{name}:{usual}"'
                raise UsageError(f"unknown compression {setting!r}: {hint}", hint=hint)
            code = number * 100 + int(level) if level in _LEVELS else None
        if isinstance(code, bool) or not isinstance(code, int) or not _is_written(code):
            raise UsageError(
                f"unknown compression {setting!r}; use {', '.join(_WRITTEN)} or none",
                hint='a level from 1 to 9 may follow a colon, such as "zstd:5"',
            )
        return cls(code)

    @property
    def algorithm(self) -> str:
        """The name of the algorithm: ZLIB, LZMA, LZ4, ZSTD, old (before ROOT 5.30), default, or none."""
        if self.level == 0:
            return "none"
        number = self.code // 100
        # Before ROOT had several algorithms, the setting was only the level of ZLIB.
        return _NAMES.get(number or 1, f"algorithm {number}")

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


def ZLIB(level: int) -> Compression:
    """ZLIB at a level of 1 to 9; 0 means no compression. The name is that of uproot."""
    return Compression.of(f"zlib:{level}")


def LZMA(level: int) -> Compression:
    """LZMA at a level of 1 to 9; 0 means no compression. The name is that of uproot."""
    return Compression.of(f"lzma:{level}")


def LZ4(level: int) -> Compression:
    """LZ4 at a level of 1 to 9; 0 means no compression. The name is that of uproot."""
    return Compression.of(f"lz4:{level}")


def ZSTD(level: int) -> Compression:
    """ZSTD at a level of 1 to 9; 0 means no compression. The name is that of uproot.

    >>> print(ZSTD(5))
    ZSTD-5
    """
    return Compression.of(f"zstd:{level}")


def _is_written(code: int) -> bool:
    return code == 0 or (code // 100 in {number for number, _ in _WRITTEN.values()} and 0 <= code % 100 <= 9)
