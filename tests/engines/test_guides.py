"""The examples of the guides that need an engine work: blocks marked "py" instead of "python"."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nano_like
import pytest

ROOT = Path(__file__).parents[2]
NEEDED = {
    "tables.md": ["duckdb", "polars"],
    "clusters.md": ["distributed", "graphed", "hist"],
    "lazy.md": ["coffea"],
}
RESULTS = {
    "tables.md": lambda names: names["table"].num_rows,
    "clusters.md": lambda names: names["total"].sum(),
    "lazy.md": lambda names: len(names["events"].Muon.pt),
}
"""What the last example of each page leaves, which is not 0."""


@pytest.mark.parametrize("name", NEEDED)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in NEEDED[name]:
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    nano_like.write(tmp_path / "nano.root", 2000)
    names: dict[str, Any] = {"__name__": "__main__"}
    text = (ROOT / "docs" / "guides" / name).read_text()
    blocks = re.findall(r"^```(?:py|python)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    try:
        for block in blocks:
            if "fsspec" not in block:
                exec(compile(block.replace("https://example.org/", ""), name, "exec"), names)
    finally:
        if "client" in names:
            names["client"].close()
    assert RESULTS[name](names) > 0
