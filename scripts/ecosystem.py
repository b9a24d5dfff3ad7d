"""`make ecosystem`: runs tests of libraries that use uproot, without and with sapwood, and those of engines.

    python scripts/ecosystem.py [--suites uproot,coffea,engines] [--select EXPRESSION]

Installs the clients into environments of their own, in build, and their test suites, from their source
distributions, beside them. For clients whose distribution has no tests, those in scripts/ecosystem call what
reads files in them. A client that the package index cannot give is in a folder of its name in
SAPWOOD_CHECKOUTS, or is left out. Data files are those of SAPWOOD_CORPUS. Writes docs/ecosystem.md,
unless only some tests were selected, and fails if a test passes only without sapwood.
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
BUILD = ROOT / "build"
SOURCES = BUILD / "clients" / "sources"
HELPERS = ROOT / "scripts" / "ecosystem"
DOCUMENT = ROOT / "docs" / "ecosystem.md"

TOOLS = ["uproot==5.7.7", "awkward", "pandas", "pytest", "pytest-timeout"]
ENVIRONMENTS = {
    "clients": [
        *TOOLS,
        *("coffea==2026.9.0", "awkward-pandas", "hist", "boost_histogram", "vector"),
        *(
            "dask-awkward>=2025.5.0",
            "dask[array,distributed]",
            "graphed[awkward,parquet]",
            "graphed-executors",
        ),
        *("pyarrow", "pytest-rerunfailures", "rangehttpserver", "requests", "aiohttp", "s3fs"),
        *("deflate", "isal", "numba", "cabinetry==0.6.0", "pyhf[xmlio]==0.7.6"),
        *("pytest-cov", "typeguard"),  # of cabinetry's tests
        *("law", "order", "scinum"),  # of columnflow
        *("parsl", "rucio-clients"),  # of PocketCoffea
    ],
    "zfit": [
        *(*TOOLS, "zfit==0.28.0", "awkward-pandas"),
        *("matplotlib", "pytest-helpers-namespace"),  # of its tests
    ],
}
"""What is installed, by environment."""
ALONE = {"clients": ["weaver-core==0.5.3", "pocket-coffea==0.9.13"]}
"""What is installed without what it requires: more than it needs to read files, or an older coffea."""
CHECKOUTS = os.environ.get("SAPWOOD_CHECKOUTS", "")


@dataclass(frozen=True)
class Suite:
    """Tests of a client, and the arguments of pytest that choose them; our own where it publishes none."""

    name: str
    version: str
    arguments: tuple[str, ...]
    environment: str = "clients"
    is_own: bool = False
    checkout: str = ""
    """The folder of its sources in SAPWOOD_CHECKOUTS, if they cannot be installed."""

    @property
    def folder(self) -> Path:
        """Where the tests are."""
        return HELPERS if self.is_own else SOURCES / f"{self.client}-{self.version}"

    @property
    def client(self) -> str:
        """The client, without the name of a part of its tests."""
        return self.name.split(" (")[0]

    @property
    def paths(self) -> list[Path]:
        """Where Python finds what is not installed."""
        return [HELPERS, *([Path(CHECKOUTS) / self.checkout] if self.checkout else [])]

    @property
    def shown_version(self) -> str:
        """The version; that of a checkout is in its package."""
        if not self.checkout:
            return self.version
        text = (self.paths[-1] / self.name / "__version__.py").read_text(encoding="utf-8")
        return next(line.split('"')[1] for line in text.splitlines() if line.startswith("__version__"))

    @property
    def is_there(self) -> bool:
        """Whether its sources can be had."""
        return not self.checkout or bool(CHECKOUTS and self.paths[-1].is_dir())


COFFEA = [
    *("nanoevents", "nanoevents_auto", "nanoevents_delphes", "nanoevents_edm4hep"),
    *("nanoevents_fcc_edm4hep1", "nanoevents_fcc_spring2021", "nanoevents_fcc_winter2023"),
    *("nanoevents_pdune", "nanoevents_pfnano", "nanoevents_physlite", "nanoevents_scoutingnano"),
    *("nanoevents_treemaker", "preloaded", "preloading", "tracing", "buffer_cache", "checkpointing"),
    *("processor", "workitem", "fix823", "dataset_tools_filespec"),
]
"""The tests of coffea that read files, but for those that run whole analyses."""

SUITES = [
    Suite("uproot", "5.7.7", ("-m", "not network and not distributed and not xrootd", "tests")),
    Suite("coffea", "2026.9.0", tuple(f"tests/test_{name}.py" for name in COFFEA)),
    Suite("coffea (runs)", "2026.9.0", ("tests/test_local_executors.py", "tests/test_dataset_tools.py")),
    Suite("cabinetry", "0.6.0", ("tests/templates", "tests/contrib", "tests/test_integration.py")),
    Suite("cabinetry (trees)", "0.6.0", ("test_cabinetry.py",), is_own=True),
    Suite("pyhf", "0.7.6", ("test_pyhf.py",), is_own=True),
    Suite("weaver-core", "0.5.3", ("test_weaver.py",), is_own=True),
    Suite("PocketCoffea", "0.9.13", ("test_pocket_coffea.py",), is_own=True),
    Suite("columnflow", "", ("test_columnflow.py",), is_own=True, checkout="columnflow"),
    Suite("zfit", "0.28.0", ("tests/test_data.py",), environment="zfit"),
    Suite("zfit (trees)", "0.28.0", ("test_zfit.py",), environment="zfit", is_own=True),
]
ENGINES = "engines"


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
    parser.add_argument("--suites", default=",".join([*(suite.name for suite in SUITES), ENGINES]))
    parser.add_argument("--select", help="only the tests that this expression of `pytest -k` selects")
    chosen = parser.parse_args()
    if not (Path(os.environ.get("SAPWOOD_CORPUS", "")) / "files").is_dir():
        print("set SAPWOOD_CORPUS to the folder of the corpus: the suites read its files", file=sys.stderr)
        return 1
    names = chosen.suites.split(",")
    rows, broken = {}, 0
    for suite in SUITES:
        if suite.name in names and not suite.is_there:
            print(
                f"left out: SAPWOOD_CHECKOUTS names no folder with a folder {suite.checkout}", file=sys.stderr
            )
        elif suite.name in names:
            install(suite)
            without, with_sapwood = (run(suite, switch, chosen.select) for switch in ("", "1"))
            rows[suite.name] = row(suite, without, with_sapwood)
            broken += show_broken(without, with_sapwood)
    print("\n".join([*HEAD, *rows.values()]))
    if not chosen.select:
        write(rows)
    if ENGINES in names:
        engines = ["sh", str(ROOT / "scripts" / "ecosystem_engines.sh"), sys.executable]
        broken += subprocess.run(engines, check=False).returncode
    return int(broken > 0)


def python_of(suite: Suite) -> Path:
    """The interpreter of an environment."""
    return BUILD / suite.environment / "bin" / "python"


def install(suite: Suite) -> None:
    """Makes the environment of a suite, and unpacks its tests."""
    python = python_of(suite)
    if not python.exists():
        packages = ENVIRONMENTS[suite.environment]
        print(f"installing {len(packages)} packages into build/{suite.environment}")
        subprocess.run([sys.executable, "-m", "venv", BUILD / suite.environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        for alone in ALONE.get(suite.environment, ()):
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", alone], check=True)
    # The checkout itself, with the core that `make build` compiled for every Python.
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    (Path(site) / "sapwood-checkout.pth").write_text(f"{ROOT / 'python'}\n", encoding="utf-8")
    if not suite.folder.exists():
        SOURCES.mkdir(parents=True, exist_ok=True)
        wanted = f"{suite.client}=={suite.version}"
        options = ["--quiet", "--no-binary", ":all:", "--no-deps", "--dest", str(SOURCES)]
        subprocess.run([python, "-m", "pip", "download", *options, wanted], check=True)
        with tarfile.open(f"{suite.folder}.tar.gz") as archive:
            archive.extractall(SOURCES, filter="data")


def run(suite: Suite, switch: str, select: str | None) -> Outcome:
    """Runs a suite without sapwood, or with it."""
    results = SOURCES.parent / f"{suite.name}{'-sapwood' if switch else ''}.jsonl"
    results.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, suite.paths)),
        "ECOSYSTEM_RESULTS": str(results),
        "SAPWOOD_UPROOT": switch,
    }
    options = ["-q", "--tb=short", "-p", "ecosystem_plugin", "-p", "no:cacheprovider", "--timeout=120"]
    options += ["--continue-on-collection-errors"]
    if suite.is_own:
        options += ["-o", "filterwarnings=default"]
    if select:
        options += ["-k", select]
    with open(results.with_suffix(".log"), "w", encoding="utf-8") as log:
        subprocess.run(
            [python_of(suite), "-m", "pytest", *options, *suite.arguments],
            cwd=suite.folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if not results.exists():
        raise SystemExit(f"no test of {suite.name} ran: see {results.with_suffix('.log').relative_to(ROOT)}")
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
    cells = [suite.name, suite.shown_version, len(without.tests), len(without.passed), kept, opened["read"]]
    return "| " + " | ".join(map(str, [*cells, f"{opened['sapwood']}{share}"])) + " |"


def write(rows: dict[str, str]) -> None:
    """Replaces the rows of these clients in the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    begin, end = "<!-- begin ecosystem -->\n", "<!-- end ecosystem -->"
    before, table, after = text.split(begin)[0], text.split(begin)[1].split(end)[0], text.split(end)[1]
    known = {line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("|")}
    rows = {**known, **rows}
    lines = [rows[suite.name] for suite in SUITES if suite.name in rows]
    DOCUMENT.write_text("\n".join([before + begin, *HEAD, *lines, "", end]) + after, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
