"""Checks the length of source files: a warning above 500 lines, an error above 800."""

import subprocess
import sys
from pathlib import Path

WARN, FAIL = 500, 800
SUFFIXES = {".rs", ".py", ".pyi", ".sh", ".md"}


def main() -> int:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        check=True,
        capture_output=True,
        text=True,
    )
    too_long = False
    for name in filter(None, listed.stdout.split("\0")):
        path = Path(name)
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > WARN:
            print(f"{'error' if lines > FAIL else 'warning'}: {name} has {lines} lines", file=sys.stderr)
        too_long |= lines > FAIL
    return int(too_long)


if __name__ == "__main__":
    sys.exit(main())
