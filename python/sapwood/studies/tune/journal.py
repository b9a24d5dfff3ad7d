"""The journal of measurements: a file of JSON lines, from which an interrupted run resumes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ...options.whole_file import write_whole

Record = dict[str, Any]
"""One measurement: its key, its subject, and the result or the error."""


class Journal:
    """Measurements by key, stored in a file of JSON lines.

    The first line names their subject. A journal of another subject is overwritten. An incomplete last line,
    left by a killed run, and failed measurements are dropped, so that they are measured again.
    """

    def __init__(self, path: Path, subject: Record) -> None:
        self.path = path
        self.records: dict[str, Record] = {}
        head = {"subject": subject}
        lines = _lines(path)
        if path.exists() and path.stat().st_size and not (lines and "subject" in lines[0]):
            raise UsageError(f"{path} is not a journal of 'sapwood tune'; choose another work folder")
        if lines and lines[0] == head:
            self.records = {line["key"]: line for line in lines[1:] if "result" in line}
        self._rewrite([head, *self.records.values()])

    def add(self, record: Record) -> None:
        """Stores a measurement, in memory and in the file."""
        self.records[record["key"]] = record
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")

    def __contains__(self, key: str) -> bool:
        return key in self.records

    def _rewrite(self, lines: list[Record]) -> None:
        write_whole(self.path, "".join(json.dumps(line) + "\n" for line in lines))


def _lines(path: Path) -> list[Record]:
    """The complete lines of a journal; none if there is no such file."""
    if not path.exists():
        return []
    found = []
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            break
        if not isinstance(line, dict):
            break
        found.append(line)
    return found
