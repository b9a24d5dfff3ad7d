"""Exports records as lines of JSON."""

from __future__ import annotations

import json
import os
from typing import IO

from ..options.outputs import Format, check_name
from ._exporter import Exporter
from ._record import FileRecord


class JsonLines(Exporter):
    """Writes each record as one line of JSON."""

    def __init__(self, path: str | os.PathLike[str] | IO[str]) -> None:
        if isinstance(path, (str, os.PathLike)):
            path = check_name(path, Format("lines of JSON", (".jsonl", ".json")))
        self._path = path

    def tell(self, record: FileRecord) -> None:
        line = json.dumps(record.to_dict(), allow_nan=False) + "\n"
        if isinstance(self._path, (str, os.PathLike)):
            # A single write in append mode, so that lines of several processes do not mix.
            with open(self._path, "ab", buffering=0) as file:
                file.write(line.encode())
        else:
            self._path.write(line)
            self._path.flush()

    def __str__(self) -> str:
        return f"jsonl:{self._path if isinstance(self._path, (str, os.PathLike)) else 'file object'}"
