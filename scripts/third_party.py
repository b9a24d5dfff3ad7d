"""Adds the licenses of the compiled-in crates to an unpacked wheel:  third_party.py DIST_INFO TARGET"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


FILE = "THIRDPARTY.txt"


def main(dist_info: Path, target: str) -> None:
    (dist_info / "licenses" / FILE).write_text(report(target))
    metadata = dist_info / "METADATA"
    own = "License-File: LICENSE\n"
    metadata.write_text(metadata.read_text().replace(own, f"{own}License-File: {FILE}\n", 1))


def report(target: str) -> str:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    crates = linked(metadata, "sapwood-python")
    lines = ["Sapwood's extension module is compiled from these crates, under these licences:", ""]
    texts: dict[str, list[str]] = defaultdict(list)
    for crate in crates:
        title = f"{crate['name']} {crate['version']}"
        lines.append(f"{title}: {crate['license'] or crate['license_file']}")
        for path in licences(Path(crate["manifest_path"]).parent):
            texts[path.read_text(errors="replace").strip()].append(title)
    for text, titles in texts.items():
        lines += ["", "=" * 100, ", ".join(dict.fromkeys(titles)), "=" * 100, "", text]
    return "\n".join(lines) + "\n"


def linked(metadata: dict[str, Any], root: str) -> list[dict[str, Any]]:
    """The crates of others that `root` is linked with, which excludes those that only build or test it."""
    packages = {package["id"]: package for package in metadata["packages"]}
    edges = {
        node["id"]: [
            dependency["pkg"]
            for dependency in node["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    waiting = [package["id"] for package in packages.values() if package["name"] == root]
    found: set[str] = set()
    while waiting:
        package = waiting.pop()
        if package not in found:
            found.add(package)
            waiting += edges[package]
    others = (packages[package] for package in found if packages[package]["source"])
    return sorted(others, key=lambda crate: (crate["name"], crate["version"]))


def licences(folder: Path) -> list[Path]:
    """The licenses of a crate, and of the libraries in C that it brings along."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in ("", ".md", ".txt") and path.stem.upper().startswith(NAMES)
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
