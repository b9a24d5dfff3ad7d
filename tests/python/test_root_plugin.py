"""ROOT with sapwood's plugin: unmodified programs read the same values from all protocols and replicas."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import s3_server
import testkit
import xrootd_server
from root_peer import needs_root
from timing import within

import sapwood

REPOSITORY = Path(__file__).parents[2]
PLUGIN = REPOSITORY / "build" / "root-plugin"
ENTRIES = 400_000
CACHE = 1_000_000

Ask = Callable[..., list[Any]]

pytestmark = pytest.mark.skipif(
    not (PLUGIN / "libSapwoodROOT.so").exists(), reason="no plugin for ROOT (make root-plugin)"
)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A tree in twenty clusters, and an RNTuple, where servers of any user can read them."""
    uproot = pytest.importorskip("uproot")
    with tempfile.TemporaryDirectory(prefix="sapwood-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        values = np.random.default_rng(26).normal(size=(3, ENTRIES))
        with uproot.recreate(folder / "tree.root", compression=None) as file:
            tree = file.mktree("t", {"x": "f8", "y": "f8", "z": "f8"})
            for part in np.split(values, 20, axis=1):
                tree.extend(dict(zip("xyz", part, strict=True)))
        with sapwood.recreate(folder / "ntuple.root") as new:
            new.mkrntuple("n", {"x": values[0][:5000], "y": values[1][:5000]})
        yield folder


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, float]:
    """The sums of the columns."""
    with sapwood.open(f"{folder}/tree.root:t") as tree:
        sums = {name: float(values.sum()) for name, values in tree.arrays(library="np").items()}
    with sapwood.open(f"{folder}/ntuple.root:n") as table:
        return {**sums, "ntuple": float(table.arrays(["x"], library="np")["x"].sum())}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the line that turns the plugin on."""
    home = tmp_path_factory.mktemp("home")
    # Servers on the same machine are not to be bypassed.
    (home / ".rootrc").write_text(f"Root.PluginPath: {PLUGIN}/plugins\nPath.ForceRemote: 1\n")
    return home


@pytest.fixture
def ask(home: Path) -> Ask:
    """Lets ROOT do tasks of `root_plugin.py`; gives its answers."""
    return lambda *tasks, **variables: _asked(home, tasks, variables)[0]


def _asked(home: Path, tasks: Sequence[list[Any]], variables: dict[str, str]) -> tuple[list[Any], str]:
    """The answers of ROOT, and what it wrote to standard error."""
    command = [
        needs_root(),
        "-W",
        "ignore",
        str(Path(__file__).with_name("root_plugin.py")),
        json.dumps(tasks),
    ]
    environment = _environment(home, variables)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    answers: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answers, done.stderr


def _environment(home: Path, variables: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "HOME": str(home), "NO_PROXY": "127.0.0.1,localhost", **variables}


def _check(answers: list[Any], expected: dict[str, float]) -> None:
    """The answers to `_tasks`."""
    sum_of_x, looped = answers
    assert sum_of_x == pytest.approx(expected["x"], rel=1e-9)
    assert looped["class"] == "TSapwoodFile"
    assert looped["sums"] == pytest.approx({name: expected[name] for name in "yz"}, rel=1e-9)


@contextlib.contextmanager
def _far(folder: Path, milliseconds: int) -> Iterator[str]:
    """The URL of a distant server of a folder."""
    with (
        testkit.serving(folder) as server,
        testkit.proxying(server.url.partition("//")[2], "--rtt-ms", str(milliseconds)) as far,
    ):
        yield f"http://{far.url}"


def _tasks(url: str) -> list[list[Any]]:
    return [["total", "t", url, "x"], ["loop", "t", url, ["y", "z"], CACHE]]


def test_trees_over_http_are_read_with_one_vector_read_per_window(
    ask: Ask, folder: Path, expected: dict[str, float]
) -> None:
    with _far(folder, 50) as url:
        answers = ask(*_tasks(f"{url}/tree.root"))
    _check(answers, expected)
    looped = answers[1]
    # Two of three columns of 3.2 MB each, in windows of whole clusters.
    assert 4 <= looped["reads"] <= 20
    # One round trip for each, and those of opening.
    assert looped["report"]["round_trips"] <= looped["reads"] + 3
    assert looped["report"]["unplanned_reads"] == 0


def test_windows_are_read_ahead(ask: Ask, folder: Path, home: Path, expected: dict[str, float]) -> None:
    task = ["loop", "t", "", ["x", "y", "z"], CACHE]
    times = []
    for setting in ("0", "1"):
        own = home / setting
        own.mkdir()
        (own / ".rootrc").write_text(f"{(home / '.rootrc').read_text()}Sapwood.ReadAhead: {setting}\n")
        with _far(folder, 300) as url:
            task[2] = f"{url}/tree.root"
            (looped,) = ask(task, HOME=str(own))
        assert looped["sums"] == pytest.approx({name: expected[name] for name in "xyz"}, rel=1e-9)
        assert looped["reads"] >= 6
        times.append(looped["seconds"])
    assert times[1] < 0.8 * times[0]


@pytest.mark.skipif(xrootd_server.missing() is not None, reason=f"no root://: {xrootd_server.missing()}")
def test_trees_over_root_are_read(ask: Ask, folder: Path, expected: dict[str, float]) -> None:
    with xrootd_server.data_server(folder) as server:
        _check(ask(*_tasks(f"{server.url}//tree.root")), expected)


@pytest.mark.skipif(s3_server.missing() is not None, reason=f"no s3://: {s3_server.missing()}")
def test_trees_and_rntuples_over_s3_are_read(ask: Ask, folder: Path, expected: dict[str, float]) -> None:
    with s3_server.s3_server() as server:
        for path in folder.iterdir():
            server.put(path.name, path.read_bytes())
        *answers, whole, anchored = ask(
            *_tasks("s3://data/tree.root"),
            ["total", "n", "https://sapwood/s3://data/ntuple.root", "x"],
            ["anchored", "n", "s3://data/ntuple.root", "x"],
            **server.variables,
        )
    _check(answers, expected)
    assert [whole, anchored] == pytest.approx([expected["ntuple"]] * 2, rel=1e-9)


def test_rntuples_over_http_are_read_by_vector_reads(
    ask: Ask, folder: Path, expected: dict[str, float]
) -> None:
    with testkit.serving(folder) as server:
        url = f"{server.url}/ntuple.root"
        assert ask(["total", "n", url, "x"]) == [pytest.approx(expected["ntuple"], rel=1e-9)]
        # RDataFrame opens the file twice: as a TFile to see what is in it, and as a raw file.
        assert server.counts()["requests"] <= 8
        assert ask(["anchored", "n", f"sapwood:{url}", "x"]) == [pytest.approx(expected["ntuple"], rel=1e-9)]


def test_a_replica_that_hangs_is_replaced(ask: Ask, folder: Path, expected: dict[str, float]) -> None:
    with (
        testkit.serving(folder) as server,
        testkit.proxying(server.url.partition("//")[2], "--stall-after", "300000") as line,
        within(90),
    ):
        url = f"sapwood:http://{line.url}/tree.root::{server.url}/tree.root"
        # Left alone, the hang would last longer than the test may.
        (looped,) = ask(["loop", "t", url, ["x", "y", "z"], CACHE], SAPWOOD_OPTIONS="read_timeout=200")
    assert looped["sums"] == pytest.approx({name: expected[name] for name in "xyz"}, rel=1e-9)
    served = {source["server"]: source["fetched_bytes"] for source in looped["report"]["sources"]}
    assert served[server.url.partition("//")[2]] > 3_000_000
    assert any(event["event"] in ("left", "duplicated") for event in looped["report"]["log"])


def test_a_rule_in_the_environment_names_replicas(ask: Ask, folder: Path, expected: dict[str, float]) -> None:
    with testkit.serving(folder) as server:
        url = "https://gone.invalid/data/tree.root"
        options = f"replica=https://gone.invalid/data/=>{server.url}/ deadline=60"
        answers = ask(["total", "t", url, "x"], SAPWOOD_OPTIONS=options, SAPWOOD_LOG="off")
    assert answers == [pytest.approx(expected["x"], rel=1e-9)]


def test_blocks_are_kept_on_the_disk(
    ask: Ask, folder: Path, expected: dict[str, float], tmp_path: Path
) -> None:
    with testkit.serving(folder) as server:
        for _ in range(2):
            answers = ask(["total", "t", f"{server.url}/tree.root", "x"], SAPWOOD_CACHE=str(tmp_path / "c"))
            assert answers == [pytest.approx(expected["x"], rel=1e-9)]
            sent = server.counts_since()["bytes_sent"]
    assert sent < 100_000


def test_what_was_read_is_exported(ask: Ask, folder: Path, tmp_path: Path) -> None:
    lines = tmp_path / "reads.jsonl"
    with testkit.serving(folder) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as collector:
        collector.bind(("127.0.0.1", 0))
        collector.settimeout(10)
        to = f"jsonl:{lines}, udp://127.0.0.1:{collector.getsockname()[1]}"
        ask(["loop", "t", f"{server.url}/tree.root?token=secret", ["x"], CACHE], SAPWOOD_MONITORING=to)
        packet = json.loads(collector.recv(65536))
    (record,) = map(json.loads, lines.read_text().splitlines())
    assert record["event"] == "closed" and "secret" not in lines.read_text()
    (source,) = record["sources"]
    assert record["fetched_bytes"] >= source["fetched_bytes"] > 3_000_000
    assert packet["read_bytes_at_close"] == source["fetched_bytes"]
    # The records of files that sapwood opens itself have the same fields.
    with testkit.serving(folder) as server:
        exporter = sapwood.monitoring.jsonl(tmp_path / "own.jsonl")
        with sapwood.open(f"{server.url}/tree.root:t") as tree:
            tree.arrays(["x"])
        sapwood.monitoring.stop(exporter)
    own = json.loads((tmp_path / "own.jsonl").read_text())
    assert own["sources"][0].keys() == source.keys()
    assert {"event", "file", "size", "unique_id", "client", "sources", "log"} <= own.keys() & record.keys()


def test_files_are_merged_by_hadd(folder: Path, home: Path, tmp_path: Path) -> None:
    program = _program("hadd")
    with testkit.serving(folder) as server:
        urls = [f"{server.url}/tree.root"] * 2
        done = subprocess.run(
            [program, str(tmp_path / "out.root"), *urls],
            capture_output=True, text=True, check=False, timeout=120, env=_environment(home, {}),
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    with sapwood.open(f"{tmp_path}/out.root:t") as tree:
        assert tree.num_entries == 2 * ENTRIES


def _program(name: str) -> str:
    """A program of the ROOT that the plugin was built for."""
    own = (PLUGIN / "plugins" / "TFile" / "P010_TWebFile.C").resolve().parents[3] / "bin" / name
    found = str(own) if own.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"no {name}")
    return found


def test_the_example_in_c_reads_a_file(folder: Path, tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc")) or pytest.skip("no C compiler")
    guide = (REPOSITORY / "docs" / "guides" / "root-plugin.md").read_text()
    example = guide.partition("```c\n")[2].partition("```")[0]
    body = example.replace("https://example.org/nano.root", str(folder / "tree.root"))
    source = tmp_path / "example.c"
    source.write_text(
        f"#include <sapwood.h>\n#include <stdio.h>\nint main(void) {{\n{body}\n"
        "return fwrite(head, 1, 4, stdout) != 4;\n}\n"
    )
    program = tmp_path / "example"
    include = REPOSITORY / "crates" / "c" / "include"
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    libraries = [f"-L{PLUGIN}", "-lsapwood", f"-Wl,-rpath,{PLUGIN}"]
    subprocess.run([compiler, *strict, f"-I{include}", source, "-o", program, *libraries], check=True)
    assert subprocess.run([program], check=True, capture_output=True).stdout == b"root"


def test_failures_say_what_happened(folder: Path, home: Path) -> None:
    with testkit.serving(folder) as server:
        tasks = [
            ["opened", f"{server.url}/none.root?token=secret", "READ"],
            ["opened", f"{server.url}/tree.root", "RECREATE"],
            ["opened", "sapwood:nothing://host/f.root", "READ"],
        ]
        answers, said = _asked(home, tasks, {})
    assert all("Failed to open file" in answer for answer in answers)
    lines = [line for line in said.splitlines() if "TSapwoodFile" in line]
    assert len(lines) == 3, said
    assert "none.root" in lines[0] and "secret" not in lines[0]
    assert "only reads" in lines[1] and "nothing://" in lines[2]


@pytest.mark.skipif(xrootd_server.missing() is not None, reason=f"no root://: {xrootd_server.missing()}")
def test_files_are_written_by_the_plugin_of_root(ask: Ask) -> None:
    with tempfile.TemporaryDirectory(prefix="sapwood-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        with xrootd_server.data_server(folder) as server:
            answers = ask(["opened", f"{server.url}//new.root", "RECREATE"])
            assert answers == ["TNetXNGFile"]
            assert (folder / "new.root").exists()
