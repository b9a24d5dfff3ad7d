"""Checks that every crate depends only on crates above it in the table of ARCHITECTURE.md."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def table() -> list[str]:
    """The crate folders of the table, top-down."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `crates/(\w+)`", text, flags=re.MULTILINE)


def workspace() -> dict[str, list[tuple[str, str | None]]]:
    """Crate folder → (crate folder it depends on, kind of dependency: None, "dev" or "build")."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)
    folders = {
        package["name"]: Path(package["manifest_path"]).parent.name for package in metadata["packages"]
    }
    return {
        folders[package["name"]]: [
            (folders[dependency["name"]], dependency["kind"])
            for dependency in package["dependencies"]
            if dependency["name"] in folders
        ]
        for package in metadata["packages"]
    }


def problems(order: list[str], crates: dict[str, list[tuple[str, str | None]]]) -> list[str]:
    """The contradictions to the table, one sentence each."""
    found = [f"crates/{name} is missing from the table" for name in sorted(crates.keys() - set(order))]
    found += [
        f"crates/{name} is in the table, but not in the workspace" for name in order if name not in crates
    ]
    place = {name: index for index, name in enumerate(order)}
    for name, dependencies in crates.items():
        for dependency, kind in dependencies:
            if dependency == "testkit" and kind == "dev":
                continue
            if place.get(dependency, -1) >= place.get(name, len(order)):
                found.append(
                    f"crates/{name} depends on crates/{dependency}, which is not above it in the table"
                )
            if dependency == "testkit":
                found.append(f"crates/{name} depends on crates/testkit, which is for development only")
    return found


def main() -> int:
    found = problems(table(), workspace())
    for problem in found:
        print(f"error: {problem} (ARCHITECTURE.md)", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
