"""Inserts generated tables into a document:  python bench/paste.py docs/conformance.md build/conformance

Each part of the document between `<!-- begin NAME -->` and `<!-- end NAME -->` is replaced by the file
NAME.md in the folder.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path


def paste(document: str, tables: Mapping[str, str]) -> str:
    """The document with its marked parts replaced; parts without a table stay unchanged."""

    def part(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in tables:
            return match[0]
        return f"<!-- begin {name} -->\n\n{tables[name]}\n\n<!-- end {name} -->"

    return re.sub(r"<!-- begin (?P<name>\w+) -->.*?<!-- end (?P=name) -->", part, document, flags=re.DOTALL)


def main() -> None:
    path, folder = Path(sys.argv[1]), Path(sys.argv[2])
    if not path.exists():
        raise SystemExit(f"{path} is missing; the tables are in {folder}")
    tables = {source.stem: source.read_text().strip() for source in folder.glob("*.md")}
    path.write_text(paste(path.read_text(), tables))


if __name__ == "__main__":
    main()
