"""Who is told of what was read."""

from __future__ import annotations

from typing import Any

from ._record import FileRecord


class Exporter:
    """Is told of files.

    All but :meth:`opened` is called by one thread; what it raises is logged and forgotten.
    """

    def opened(self) -> Any:
        """A file was opened by this thread: what is returned comes back as ``record.context``."""
        return None

    def tell(self, record: FileRecord) -> None:
        """What was read of a file so far: in all, if ``record.closed``."""
        raise NotImplementedError

    def rest(self) -> None:
        """Nothing more is waiting to be told just now."""

    def close(self) -> None:
        """There will be no more."""
