"""Inserts generated tables into a document:  python bench/paste.py docs/conformance.md build/conformance

Each part of the document between `<!-- begin NAME -->` and `<!-- end NAME -->` is replaced by the file
NAME.md in the folder.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def paste(document: str, folder: Path) -> str:
    """The document with its marked parts replaced; parts whose file is missing stay unchanged."""

    def part(match: re.Match[str]) -> str:
        source = folder / f"{match['name']}.md"
        if not source.exists():
            return match[0]
        return (
            f"<!-- begin {match['name']} -->\n\n{source.read_text().strip()}\n\n<!-- end {match['name']} -->"
        )

    return re.sub(r"<!-- begin (?P<name>\w+) -->.*?<!-- end (?P=name) -->", part, document, flags=re.DOTALL)


def main() -> None:
    path, folder = Path(sys.argv[1]), Path(sys.argv[2])
    if not path.exists():
        raise SystemExit(f"{path} is missing; the tables are in {folder}")
    path.write_text(paste(path.read_text(), folder))


if __name__ == "__main__":
    main()
