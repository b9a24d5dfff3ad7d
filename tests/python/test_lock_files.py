"""Lock files outside the workspace, which no build of the project uses, name what its crates depend on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

tomllib = pytest.importorskip("tomllib", reason="tomllib is in Python 3.11 and newer")
ROOT = Path(__file__).parents[2]
LOCKS = ["bench/limit/Cargo.lock", "fuzz/Cargo.lock"]


def required(manifest: dict[str, Any]) -> Iterator[str]:
    """The packages that a crate needs on every platform and with any features."""
    for name, how in {**manifest.get("dependencies", {}), **manifest.get("build-dependencies", {})}.items():
        if isinstance(how, str) or not how.get("optional"):
            yield how.get("package", name) if isinstance(how, dict) else name


@pytest.mark.parametrize("path", LOCKS)
def test_lock_files_name_the_dependencies_of_the_crates(path: str) -> None:
    crates = {}
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        content = tomllib.loads(manifest.read_text())
        crates[content["package"]["name"]] = content
    locked = tomllib.loads((ROOT / path).read_text())["package"]
    own = [package for package in locked if package["name"] in crates]
    for package in own:
        names = {dependency.split()[0] for dependency in package.get("dependencies", [])}
        missing = set(required(crates[package["name"]])) - names
        assert not missing, f"{path}: {package['name']} needs {missing}; `cargo metadata` there adds them"
    assert own or path == "bench/limit/Cargo.lock"
