"""`make ecosystem`: runs the test suites of libraries that use uproot, without and with sapwood.

    python scripts/ecosystem.py [--suites uproot,coffea] [--select EXPRESSION]

Installs the clients into an environment of its own, build/clients, and their test suites, from their source
distributions, beside it. Data files are those of SAPWOOD_CORPUS. Writes docs/ecosystem.md, unless only some
tests were selected, and fails if a test passes only without sapwood.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "clients"
PYTHON = PLACE / "bin" / "python"
SOURCES = PLACE / "sources"
DOCUMENT = ROOT / "docs" / "ecosystem.md"

ENVIRONMENT = [
    *(
        "uproot==5.7.7",
        "coffea==2026.9.0",
        "awkward",
        "pandas",
        "awkward-pandas",
        "hist",
        "boost_histogram",
        "vector",
    ),
    *(
        "dask-awkward>=2025.5.0",
        "dask[array,distributed]",
        "graphed[awkward,parquet]",
        "graphed-executors",
        "pyarrow",
    ),
    *("pytest", "pytest-timeout", "pytest-rerunfailures", "rangehttpserver", "requests", "aiohttp", "s3fs"),
    *("deflate", "isal", "numba"),
]


@dataclass(frozen=True)
class Suite:
    """A test suite: of which package, and the arguments of pytest that choose its tests."""

    name: str
    version: str
    arguments: tuple[str, ...]


COFFEA = [
    *("nanoevents", "nanoevents_auto", "nanoevents_delphes", "nanoevents_edm4hep"),
    *("nanoevents_fcc_edm4hep1", "nanoevents_fcc_spring2021", "nanoevents_fcc_winter2023"),
    *("nanoevents_pdune", "nanoevents_pfnano", "nanoevents_physlite", "nanoevents_scoutingnano"),
    *("nanoevents_treemaker", "preloaded", "preloading", "tracing", "buffer_cache", "checkpointing"),
    *("processor", "workitem", "fix823", "dataset_tools_filespec"),
]
"""The tests of coffea that read files; its others take hours."""

SUITES = [
    Suite("uproot", "5.7.7", ("-m", "not network and not distributed and not xrootd", "tests")),
    Suite("coffea", "2026.9.0", tuple(f"tests/test_{name}.py" for name in COFFEA)),
]


@dataclass
class Outcome:
    """The outcome of each test by its name, and what sapwood did in it."""

    tests: dict[str, str] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> set[str]:
        """The names of the tests that passed."""
        return {name for name, outcome in self.tests.items() if outcome == "passed"}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suites", default=",".join(suite.name for suite in SUITES))
    parser.add_argument("--select", help="only the tests that this expression of `pytest -k` selects")
    chosen = parser.parse_args()
    if not (Path(os.environ.get("SAPWOOD_CORPUS", "")) / "files").is_dir():
        print("set SAPWOOD_CORPUS to the folder of the corpus: the suites read its files", file=sys.stderr)
        return 1
    install()
    rows, broken = [], 0
    for suite in SUITES:
        if suite.name in chosen.suites.split(","):
            without, with_sapwood = (run(suite, switch, chosen.select) for switch in ("", "1"))
            rows.append(row(suite, without, with_sapwood))
            broken += show_broken(without, with_sapwood)
    print("\n".join([*HEAD, *rows]))
    if not chosen.select and len(rows) == len(SUITES):
        write(rows)
    return int(broken > 0)


def install() -> None:
    """Makes the environment, and unpacks the suites."""
    if not PYTHON.exists():
        print(f"installing {len(ENVIRONMENT)} packages into {PLACE.relative_to(ROOT)}")
        subprocess.run([sys.executable, "-m", "venv", PLACE], check=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", *ENVIRONMENT], check=True)
    # The checkout itself, with the core that `make build` compiled for every Python.
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([PYTHON, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    (Path(site) / "sapwood-checkout.pth").write_text(f"{ROOT / 'python'}\n", encoding="utf-8")
    SOURCES.mkdir(exist_ok=True)
    for suite in SUITES:
        if not folder(suite).exists():
            wanted = f"{suite.name}=={suite.version}"
            options = ["--quiet", "--no-binary", ":all:", "--no-deps", "--dest", str(SOURCES)]
            subprocess.run([PYTHON, "-m", "pip", "download", *options, wanted], check=True)
            with tarfile.open(f"{folder(suite)}.tar.gz") as archive:
                archive.extractall(SOURCES, filter="data")


def folder(suite: Suite) -> Path:
    """Where the source distribution of a client is."""
    return SOURCES / f"{suite.name}-{suite.version}"


def run(suite: Suite, switch: str, select: str | None) -> Outcome:
    """Runs a suite without sapwood, or with it."""
    results = PLACE / f"{suite.name}{'-sapwood' if switch else ''}.jsonl"
    results.unlink(missing_ok=True)
    helpers = ROOT / "scripts" / "ecosystem"
    environment = {
        **os.environ,
        "PYTHONPATH": str(helpers),
        "ECOSYSTEM_RESULTS": str(results),
        "SAPWOOD_UPROOT": switch,
    }
    options = ["-q", "--tb=short", "-p", "ecosystem_plugin", "-p", "no:cacheprovider", "--timeout=120"]
    options += ["--continue-on-collection-errors"]
    if select:
        options += ["-k", select]
    with open(results.with_suffix(".log"), "w", encoding="utf-8") as log:
        subprocess.run(
            [PYTHON, "-m", "pytest", *options, *suite.arguments],
            cwd=folder(suite),
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return read(results)


def read(results: Path) -> Outcome:
    """The outcome that the plugin wrote."""
    outcome = Outcome()
    for line in results.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        name = record["test"]
        if "counts" in record:
            outcome.counts[name] = record["counts"]
        elif outcome.tests.get(name) != "failed":
            outcome.tests[name] = record["outcome"]
            outcome.texts[name] = record["text"]
    return outcome


def show_broken(without: Outcome, with_sapwood: Outcome) -> int:
    """Prints the tests that pass only without sapwood; returns how many there are."""
    broken = sorted(without.passed - with_sapwood.passed)
    for name in broken:
        print(f"passes only without sapwood: {name}\n{with_sapwood.texts.get(name, 'did not run')}")
    return len(broken)


HEAD = [
    "| client | version | tests | pass without | pass with sapwood | read trees | read by sapwood |",
    "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
]


def row(suite: Suite, without: Outcome, with_sapwood: Outcome) -> str:
    """The line of the table for a suite."""
    opened = Counter[str]()
    for name in with_sapwood.passed:
        counts = with_sapwood.counts.get(name, {})
        opened["read"] += bool(counts.get("trees") or counts.get("trees left"))
        opened["sapwood"] += bool(counts.get("trees"))
    kept = len(without.passed & with_sapwood.passed)
    share = f" = {100 * opened['sapwood'] / opened['read']:.0f} %" if opened["read"] else ""
    cells = [suite.name, suite.version, len(without.tests), len(without.passed), kept, opened["read"]]
    return "| " + " | ".join(map(str, [*cells, f"{opened['sapwood']}{share}"])) + " |"


def write(rows: list[str]) -> None:
    """Replaces the table in the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    begin, end = "<!-- begin ecosystem -->\n", "<!-- end ecosystem -->"
    before, after = text.split(begin)[0], text.split(end)[1]
    DOCUMENT.write_text("\n".join([before + begin, *HEAD, *rows, "", end]) + after, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
