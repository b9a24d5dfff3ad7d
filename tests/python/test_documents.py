"""The examples in the README and the documentation work."""

from __future__ import annotations

import contextlib
import importlib.metadata
import operator
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cli_reference
import pytest
import s3_server
import testkit
import tutorial
import xrootd_server
from typer.main import get_command
from typer.testing import CliRunner

import sapwood
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
ELSEWHERE = ("make", "pip", "export")
"""What other tests run: the Makefile, the wheel, variables of the environment."""
GENERATED = ROOT / "docs" / "reference" / "command-line.md"


@pytest.fixture(scope="module")
def nano(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `sapwood example nano.root` writes."""
    return Path(sapwood.example(tmp_path_factory.mktemp("documents") / "nano.root"))


@pytest.fixture(scope="module")
def hosts(nano: Path) -> Iterator[dict[str, str]]:
    """The hosts that the pages name, and the local servers of the same files that stand in for them."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sapwood-")))
        folder.chmod(0o755)  # XRootD's server reads it as another user
        (folder / "store").mkdir()
        for name in ("nano.root", "store/nano.root"):
            shutil.copyfile(nano, folder / name)
        found = {"https://example.org": stack.enter_context(testkit.serving(folder)).url}
        if xrootd_server.missing() is None and list(Path(sapwood.__file__).parent.glob("_xrdcl*.so")):
            found["root://example.org"] = stack.enter_context(xrootd_server.data_server(folder)).url
        if s3_server.missing() is None:
            server = stack.enter_context(s3_server.s3_server())
            server.bucket = "bucket"
            server.make_bucket()
            server.put("nano.root", nano.read_bytes())
            server.make_public()
            found["https://s3.example.org"] = server.endpoint
        yield found


def _user(home: Path, hosts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whose only credentials are three profiles for the object store."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "S3_", "BEARER_TOKEN", "X509_", "XDG_", "SAPWOOD_CA")):
            monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    keys = f"aws_access_key_id = {s3_server.Server.access_key_id}\n"
    keys += f"aws_secret_access_key = {s3_server.Server.secret_access_key}\nregion = {s3_server.REGION}\n"
    keys += f"endpoint_url = {hosts.get('https://s3.example.org', 'http://127.0.0.1:1')}\n"
    (home / ".aws").mkdir()
    text = "".join(f"[{name}]\n{keys}" for name in ("default", "lab", "tape"))
    (home / ".aws" / "credentials").write_text(text)


def _run(line: str) -> None:
    """Runs one line of a shell: a command of sapwood, or one that other tests cover."""
    # A run that uses all of its budget is not for a test.
    words = shlex.split(line.replace("--budget 10m", "--budget 1s --sample 500"), comments=True)
    if words[:1] == ["sapwood"]:
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, f"{line}: {done.output}"
    else:
        assert not words or words[0] in ELSEWHERE, f"nothing tests {line!r}"


@pytest.mark.usefixtures("few_layouts")
@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(
    page: Path, nano: Path, hosts: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As typed, except that the hosts of the pages are local servers."""
    monkeypatch.chdir(tmp_path)
    _user(tmp_path, hosts, monkeypatch)
    monkeypatch.delenv("SAPWOOD_CATALOG", raising=False)
    monkeypatch.setenv("MATPLOTLIBRC", str(ROOT / "docs" / "tutorial" / "matplotlibrc"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = page.read_text()
    if "\nsapwood example nano.root\n" not in text:
        (tmp_path / "nano.root").symlink_to(nano)
    for name, target in EXPERIMENTS.items():
        # Pages that say "*.root" mean files like nano.root.
        if name in text:
            (tmp_path / name).symlink_to(ROOT / "tests" / "data" / target)
    names: dict[str, Any] = {}
    for language, block in BLOCKS.findall(text):
        for host, stand_in in hosts.items():
            block = block.replace(host, stand_in)
        if "root://example.org" in block or "https://s3.example.org" in block:
            pytest.skip(f"{page.name} names a host for which there is no server here (make servers)")
        if language == "python":
            exec(compile(block, f"{page.name}", "exec"), names)
            continue
        for line in block.splitlines():
            _run(line)
    if page == tutorial.PAGE:
        picture = page.with_suffix(".svg").read_bytes()
        version = importlib.metadata.version("matplotlib")
        # Another version of Matplotlib draws it differently.
        assert f"Matplotlib v{version}".encode() not in picture or (
            (tmp_path / "dimuon.svg").read_bytes() == picture
        )


def test_the_notebook_is_made_from_the_page_and_has_no_outputs() -> None:
    nbformat = pytest.importorskip("nbformat")
    made = tutorial.notebook(tutorial.PAGE.read_text(encoding="utf-8"))
    assert nbformat.read(tutorial.NOTEBOOK, as_version=4) == made
    assert not any(cell.get("outputs") for cell in made.cells)


def test_every_page_is_in_the_navigation_and_in_the_index() -> None:
    pages = {str(page.relative_to(ROOT / "docs")) for page in [*PAGES[1:], GENERATED]} - {"index.md"}
    pages = {page for page in pages if not page.startswith("benchmarks/results/")}
    listed = re.findall(r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(pages)
    linked = set(re.findall(r"\]\(([^)#:]+\.md)", (ROOT / "docs" / "index.md").read_text()))
    assert linked == pages


def test_the_reference_lists_every_public_name() -> None:
    listed = set(
        re.findall(r"^::: (\S+)$", (ROOT / "docs" / "reference" / "python.md").read_text(), re.MULTILINE)
    )
    modules = [name for name in sapwood.__all__ if hasattr(getattr(sapwood, name), "__all__")] + ["catalog"]
    assert {"stripe", "tune", "edm"} <= set(modules)
    public = {f"sapwood.{name}" for name in sapwood.__all__ if name != "__version__"}
    for module in modules:
        if f"sapwood.{module}" not in listed:
            public -= {f"sapwood.{module}"}
            public |= {f"sapwood.{module}.{name}" for name in getattr(sapwood, module).__all__}
    assert sorted(public - listed) == []


def test_the_reference_of_commands_lists_every_option() -> None:
    sections = cli_reference.reference().split("\n## sapwood ")
    texts = {section.partition("\n")[0]: section for section in sections}
    waiting = [("", get_command(app))]
    seen = 0
    while waiting:
        name, command = waiting.pop()
        if hasattr(command, "commands"):
            waiting += [(f"{name} {one}".strip(), below) for one, below in command.commands.items()]
            continue
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                seen += 1
                assert all(option in texts[name] for option in parameter.opts), (name, parameter.opts)
    assert seen > 300


def test_the_glossary_names_what_is_there(nano: Path, tmp_path: Path) -> None:
    """Names in Python, commands and their options, and variables of the page about the environment."""
    text = (ROOT / "docs" / "reference" / "glossary.md").read_text()
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0].strip() != "term"]
    assert len(rows) > 30 and all(len(row) == 3 for row in rows)
    variables = (ROOT / "docs" / "reference" / "environment.md").read_text()
    commands = {section.partition("\n")[0] for section in cli_reference.reference().split("\n## ")}
    options = set(re.findall(r"--[a-z-]+", cli_reference.reference()))
    dataset = sapwood.stripe.create(tmp_path / "data", f"{nano}:Events", cut="nMuon > 5")
    with sapwood.open(f"{nano}:Events") as tree:
        report = tree.file.report()
        objects = {"tree": tree, "branch": tree["Muon_pt"], "report": report, "dataset": dataset}
        for name in re.findall(r"`([^`]+)`", " ".join(row[2] for row in rows)):
            if name.startswith("sapwood "):
                assert name in commands, name
            elif name.startswith("--"):
                assert name in options, name
            elif name.isupper():
                assert f"`{name}`" in variables, name
            else:
                first, _, rest = name.partition(".")
                operator.attrgetter(rest)({"sapwood": sapwood, **objects}[first])


def test_the_glossary_explains_what_a_report_counts(nano: Path) -> None:
    text = (ROOT / "docs" / "reference" / "glossary.md").read_text()
    with sapwood.open(f"{nano}:Events") as tree:
        lines = str(tree.file.report()).splitlines()
    labels = {line.strip().rpartition("  ")[0].strip().replace(" ", "_") for line in lines}
    assert {"requests", "round_trips", "overread_bytes", "baskets", "wait_seconds"} <= labels
    explained = set(re.findall(r"`report\.(\w+)`", text)) - {"log", "sources"}
    assert explained <= labels


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
