"""Objects that a ``with`` block closes, whether or not it fails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


class ClosingContext(ABC):
    """An object that calls its :meth:`close` at the end of a ``with`` block."""

    @abstractmethod
    def close(self) -> None:
        """Releases what the object holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
