"""The examples in the README and the documentation work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import nano_like
import pytest
from typer.testing import CliRunner

from sapwood.cli._app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITH_EXAMPLES = [page for page in PAGES if BLOCKS.search(page.read_text())]
EXPERIMENTS = {
    "miniaod.root": "edm/edm.root",
    "xaod.root": "xaod/xaod.root",
    "objects.root": "objects/objects.root",
    "plots.root": "objects/histograms.root",
    "split.root": "trees/split.root",
}
GENERATED = ROOT / "docs" / "reference" / "command-line.md"


@pytest.fixture(scope="module")
def nano(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the demo, with fewer events."""
    path = tmp_path_factory.mktemp("documents") / "nano.root"
    nano_like.write(path, 2000)
    return path


@pytest.mark.parametrize(
    "page", [page for page in PAGES if BLOCKS.search(page.read_text())], ids=lambda p: p.name
)
def test_examples_run(page: Path, nano: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("SAPWOOD_CATALOG", raising=False)
    (tmp_path / "nano.root").symlink_to(nano)
    for name, target in EXPERIMENTS.items():
        # Pages that say "*.root" mean files like nano.root.
        if name in page.read_text():
            (tmp_path / name).symlink_to(ROOT / "tests" / "data" / target)
    names: dict[str, Any] = {}
    for language, block in BLOCKS.findall(page.read_text()):
        text = re.sub("(https|root|s3)://(example.org|bucket)/+", "", block)
        if language == "python":
            exec(compile(text, f"{page.name}", "exec"), names)
            continue
        for line in text.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["sapwood"]:
                done = CliRunner().invoke(app, words[1:])
                assert done.exit_code == 0, f"{line}: {done.output}"


def test_links_within_the_repository_lead_somewhere() -> None:
    for page in [*PAGES, *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if "://" not in target and not target.startswith("mailto:"):
                # The one page that is made when the documents are built.
                assert (page.parent / target).exists() or target.endswith("reference/command-line.md"), (
                    page,
                    target,
                )


def test_the_makefile_is_short_and_lists_what_the_readme_names() -> None:
    text = (ROOT / "Makefile").read_text()
    assert text.count("\n") <= 100
    targets = set(re.findall(r"^([a-z-]+):.*## ", text, flags=re.MULTILINE))
    readme = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"^make ([a-z-]+)", readme, flags=re.MULTILINE))
    assert {"demo", "test"} <= named <= targets
