"""The base class of exporters."""

from __future__ import annotations

from typing import Any

from ._record import FileRecord


class Exporter:
    """Receives records of files. Subclass it and pass an object to :func:`sapwood.monitoring.add`.

    One background thread calls all methods except :meth:`opened`. Exceptions are logged once and ignored.
    """

    def opened(self) -> Any:
        """Called by the thread that opens a file. The result is passed on as ``record.context``."""
        return None

    def tell(self, record: FileRecord) -> None:
        """Called with what was read from a file so far; the record is final if ``record.closed``."""
        raise NotImplementedError

    def rest(self) -> None:
        """Called when no more records are pending."""

    def close(self) -> None:
        """Called when the exporter is removed; no more records will follow."""
