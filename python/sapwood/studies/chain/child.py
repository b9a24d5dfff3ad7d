"""One run of a chain, in a process of its own: what it is to do comes as JSON, and so goes what it did."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from .running import run


def main() -> None:
    """Reads a task, and prints the report."""
    print(json.dumps(asdict(run(**json.load(sys.stdin))), allow_nan=False))


if __name__ == "__main__":
    main()
