"""No command destroys a file: every command follows the rules for outputs."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from output_safety import OLD, no_room, unchanged
from typer.main import get_command

from sapwood.cli._app import app
from sapwood.lazy.profile import Profile

READ_IT = "import sapwood, sys; sapwood.open(sys.argv[1]).arrays(['run'])"
TUNE = [
    "--sample",
    "20",
    "--repeats",
    "1",
    "--budget",
    "1s",
    "--dimension",
    "event-skipping",
    "--goal",
    "disk",
]


@dataclass(frozen=True)
class Output:
    """How a command is called that writes a file.

    In ``words``, ``SOURCE`` is the ROOT file that is read, ``DATASET`` a dataset of its events, and ``OUT``
    what is written.
    """

    words: str
    suffix: str
    wrong: str = ".root"
    standard_output: bool = False

    def line(self, source: Path, out: object, *more: str) -> list[str]:
        """The arguments; options go before those of a command that is run."""
        places = {"SOURCE": str(source), "DATASET": str(source.parent / "data"), "OUT": str(out)}
        words = self.words.split()
        for name, value in places.items():
            words = [word.replace(name, value) for word in words]
        if words[0] == "trace":
            return [*words, *more, "--", sys.executable, "-c", READ_IT, f"{source}:Events"]
        return [*words, *(TUNE if words[0] == "tune" else ()), *more]


OUTPUTS = {
    ("convert", "arguments"): Output(
        "convert SOURCE:Events OUT --to csv", ".csv", wrong=".parquet", standard_output=True
    ),
    ("layout", "output"): Output("layout SOURCE:Events OUT", ".svg", standard_output=True),
    ("report", "svg"): Output("report SOURCE:Events run --svg OUT", ".svg"),
    ("example", "target"): Output("example OUT -n 10", ".root", wrong=".svg"),
    ("repack", "target"): Output("repack SOURCE OUT", ".root", wrong=".svg"),
    ("slim", "target"): Output("slim SOURCE OUT --keep run", ".root", wrong=".parquet"),
    ("skim", "target"): Output("skim SOURCE OUT --cut run<10", ".root", wrong=".csv"),
    ("merge", "target"): Output("merge OUT SOURCE", ".root", wrong=".json"),
    ("mix", "target"): Output(
        "mix SOURCE:Events OUT --seed 1 --entries 0:9 --number 2", ".root", wrong=".svg"
    ),
    ("stripe export", "target"): Output("stripe export DATASET OUT", ".root", wrong=".html"),
    ("stripe append", "receipt"): Output("stripe append DATASET --from SOURCE:Events --receipt OUT", ".json"),
    ("trace", "output"): Output("trace -o OUT", ".swt"),
    ("hist", "output"): Output("hist SOURCE:Events run -o OUT", ".svg"),
    ("tune", "output"): Output("tune SOURCE:Events -o OUT", ".html"),
    ("bench chain", "page"): Output(
        "bench chain SOURCE:Events --chain read --most-entries 10 -o OUT", ".html"
    ),
    ("bench chain", "output"): Output(
        "bench chain SOURCE:Events --chain full --most-entries 10 --output OUT", ".root", wrong=".svg"
    ),
}
"""All parameters of commands that name a file which is written."""


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All commands by their names."""
    for name, found in group.commands.items():
        where = f"{path} {name}".strip()
        if hasattr(found, "commands"):
            yield from commands(found, where)
        else:
            yield where, found


ALL = dict(commands(get_command(app)))

KEPT = {
    *((name, "catalog") for name in ALL if name.startswith("catalog ")),
    *((name, "directory") for name in ALL if name.startswith("cache ")),
    ("monitor", "database"),
    *((name, "cache") for name, one in ALL.items() if "cache" in {param.name for param in one.params}),
    ("profile merge", "into"),
    *((name, "dataset") for name in ALL if name.startswith("stripe ")),
    ("stripe copy", "target"),
}
"""Those that name what is kept and changed in place: databases, caches, profiles, datasets."""

NO_FILE = {
    *("a", "anonymous", "atol", "b", "bins", "endpoint", "expression", "header", "limits", "most_entries"),
    *("rtol", "weight"),
    *("arguments", "attempt", "bandwidth", "base", "basket_size", "batch", "budget", "by_position", "chain"),
    *("cluster_entries", "cluster_size", "columns", "compression", "concurrency", "count", "cut", "days"),
    *("deadline", "delete", "dimension", "drop", "dry_run", "edm", "entries", "everything", "files"),
    *(
        "filter_name",
        "follow",
        "force",
        "fraction",
        "functions",
        "goal",
        "grace_days",
        "groups",
        "job",
        "keep",
        "lanes",
        "listen",
        "long",
        "name",
    ),
    *("names", "newest", "only_tree", "policy", "product", "products", "profile", "profiles", "read"),
    *("really", "receipts", "recording", "recursive", "repeats", "replica", "request_cost", "rows", "rtt"),
    *("sample", "schema", "server", "sort", "source", "sources", "split", "step_size", "study"),
    *("stripe_size",),
    *("threads", "to", "tree", "url", "urls", "variant", "version", "via", "web", "who"),
    *("after", "alone", "as_json", "at_least", "events", "log", "longest", "seed"),
    *("bunches", "mean", "mode", "number", "pool", "prefix", "signal", "signal_filter", "step", "tree_name"),
}
"""Names of parameters that are read, or are no files. 'log' and 'database' name the log of a dataset."""
SIZES = {("stripe consolidate", "target"), ("bench chain", "target"), ("stripe log", "database")}
SIZES |= {(name, "format") for name in ("repack", "skim", "merge", "stripe export")}


def test_every_parameter_that_may_name_an_output_is_listed() -> None:
    parameters = {(name, one.name) for name, command in commands(get_command(app)) for one in command.params}
    unknown = {one for one in parameters - set(OUTPUTS) - KEPT - SIZES if one[1] not in NO_FILE}
    assert not unknown, "say here whether these name a file that is written, and test it"
    assert not (set(OUTPUTS) | KEPT) - parameters


def test_every_command_that_writes_a_file_has_force() -> None:
    with_force = {
        name
        for name, command in commands(get_command(app))
        if "force" in {one.name for one in command.params}
    }
    assert with_force == {name for name, _ in OUTPUTS}


@pytest.fixture
def source(path: Path, tmp_path: Path, sapwood: Callable[..., Any], request: pytest.FixtureRequest) -> Path:
    """The file that is read, in a folder of its own, with a dataset of its events."""
    source = tmp_path / "in" / "nano.root"
    source.parent.mkdir()
    shutil.copy(path, source)
    case = request.node.callspec.params.get("case") if hasattr(request.node, "callspec") else None
    if case is None or "DATASET" in case.words:
        assert sapwood("stripe", "create", source.parent / "data", "--from", f"{source}:Events").code == 0
    return source


each = pytest.mark.parametrize("case", OUTPUTS.values(), ids=[" ".join(names) for names in OUTPUTS])


@each
@pytest.mark.usefixtures("few_layouts")
def test_an_existing_file_needs_force(
    sapwood: Callable[..., Any], case: Output, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / f"out{case.suffix}"
    out.write_bytes(OLD)
    with unchanged(source, out):
        done = sapwood(*case.line(source, out))
    assert done.code == 2 and "--force" in done.err and str(out) in done.err
    with unchanged(source):
        done = sapwood(*case.line(source, out, "--force"))
    assert done.code == 0, done.err
    assert out.stat().st_size and out.read_bytes() != OLD
    # Nothing lies beside it, but for what 'tune' keeps for a further run.
    assert {one.name for one in tmp_path.iterdir()} - {"out.work"} == {"in", out.name}


@each
def test_an_input_is_never_the_output(
    sapwood: Callable[..., Any],
    case: Output,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if case.words.startswith("example "):
        pytest.skip("it has no input")
    monkeypatch.chdir(source.parent)
    link, hard = tmp_path / f"link{case.suffix}", tmp_path / f"hard{case.suffix}"
    link.symlink_to(source)
    hard.hardlink_to(source)
    names = [
        source,
        "nano.root",
        "../in/nano.root",
        f"{source}:Events",
        source.as_uri(),
        link,
        hard,
        hard.as_uri(),
    ]
    if "DATASET" in case.words:
        names = [source.parent / "data" / f"inside{case.suffix}", source.parent / "data" / "fmt"]
    for name in names:
        with unchanged(source):
            done = sapwood(*case.line(source, name, "--force"))
        assert done.code == 2, (name, done)
    if "DATASET" not in case.words:
        assert link.is_symlink() and hard.samefile(source)


@each
def test_a_suffix_of_another_format_is_refused(
    sapwood: Callable[..., Any], case: Output, source: Path, tmp_path: Path
) -> None:
    for suffix in (case.wrong, ".gz", ".py"):
        out = tmp_path / f"out{suffix}"
        assert sapwood(*case.line(source, out, "--force")).code == 2
        assert not out.exists()


@each
def test_a_dash_is_standard_output_or_refused(
    sapwood: Callable[..., Any],
    case: Output,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = sapwood(*case.line(source, "-"))
    assert done.code == (0 if case.standard_output else 2)
    assert bool(done.out) == case.standard_output
    assert [one.name for one in tmp_path.iterdir()] == ["in"]


@each
def test_a_full_disk_leaves_the_old_file(
    sapwood: Callable[..., Any], case: Output, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / f"out{case.suffix}"
    out.write_bytes(OLD)
    with unchanged(source, out), no_room():
        done = sapwood(*case.line(source, out, "--force"))
    assert done.code == 1
    # Of a recording, what there is of it is of use.
    left = [one for one in tmp_path.iterdir() if one.name.endswith(".part")]
    assert len(left) == ("trace" in case.words)


BEGIN = """
import os, signal, sys
from pathlib import Path
kill = lambda: os.kill(os.getpid(), signal.SIGKILL)
"""
KILLED = {
    "a text that is half written": (
        "layout SOURCE:Events OUT",
        ".svg",
        """
def half(self, text, **_):
    self.write_bytes(text[:99].encode())
    kill()
Path.write_text = half
""",
    ),
    "a table that is half written": (
        "convert SOURCE:Events OUT --step-size 250",
        ".csv",
        """
from sapwood.cli._writers import _CsvWriter
write, tables = _CsvWriter.write, []
def second(self, table):
    write(self, table)
    tables.append(table)
    len(tables) < 2 or kill()
_CsvWriter.write = second
""",
    ),
    "a complete file that is not in its place yet": (
        "convert SOURCE:Events OUT",
        ".parquet",
        "os.replace = lambda *_: kill()",
    ),
    "a ROOT file that is half written": (
        f"merge OUT {'SOURCE ' * 200} --compression lzma:9",
        ".root",
        """
import threading, time
def watch(folder=Path(sys.argv[1])):
    while not any(folder.glob("*.part")):
        time.sleep(0.001)
    kill()
threading.Thread(target=watch, daemon=True).start()
""",
    ),
    "a recording": (
        f"trace -o OUT -- {sys.executable} -c __import__('os').kill(__import__('os').getppid(),9)",
        ".swt",
        "",
    ),
}
"""What a process writes when it is killed: a command, and how it comes to its end."""


@pytest.mark.parametrize(("words", "suffix", "end"), KILLED.values(), ids=KILLED.keys())
def test_a_process_that_is_killed_leaves_the_old_file(
    words: str, suffix: str, end: str, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / f"out{suffix}"
    out.write_bytes(OLD)
    line = [word.replace("SOURCE", str(source)).replace("OUT", str(out)) for word in words.split()]
    line.insert(1, "--force")
    code = f"{BEGIN}\n{end}\nfrom sapwood.cli._app import app\napp({line!r})"
    with unchanged(source, out):
        command = [sys.executable, "-c", code, str(tmp_path)]
        done = subprocess.run(command, timeout=60, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    beside = {one.name for one in tmp_path.iterdir()} - {"in", out.name}
    assert all(name.endswith(".part") for name in beside), beside


def test_common_mistakes(
    sapwood: Callable[..., Any], source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands that were tried on a file that was all there was."""
    monkeypatch.chdir(source.parent)
    shutil.copy(source, "second.root")
    before = {one: one.read_bytes() for one in (source, Path("second.root"))}
    for line in (
        "merge nano.root second.root",
        "merge second.root *.root --force",
        "layout nano.root:Events second.root --force",
        "convert nano.root:Events second.root --to csv --force",
        "convert nano.root:Events nano.root:Events --to csv --force",
        "trace --force -o nano.root -- cat second.root",
        "trace --force -o ./data/fmt -- cat ./data/fmt",
        "repack data data/fmt --force",
        "stripe create nano.root --from second.root:Events",
        "stripe copy data nano.root",
        "profile forget ./nano.root",
        "profile merge ./nano.root --into ./second.root",
        "monitor --database nano.root",
        "catalog ls --catalog nano.root",
        "catalog ls --catalog -",
        "stripe create - --from nano.root:Events",
    ):
        assert sapwood(*line.split()).code == 2, line
    assert {one: one.read_bytes() for one in before} == before
    assert not Path("-").exists()


def test_only_profiles_are_forgotten(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    other, profile = tmp_path / "limits.json", Profile(tmp_path / "mine.json")
    other.write_text("{}")
    profile.add("Events", "0f2e41bd", {"Muon_pt": (1, 1)})
    profile.save()
    assert profile.path is not None
    with unchanged(other, profile.path):
        assert sapwood("profile", "forget", profile.path, other).code == 2
        assert sapwood("profile", "merge", profile.path, "--into", other).code == 2
        assert sapwood("profile", "merge", profile.path, "--into", profile.path).code == 2
    assert sapwood("profile", "forget", profile.path).code == 0
    assert not profile.path.exists()


def test_the_monitor_leaves_the_databases_of_others(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    other, text = tmp_path / "other.sqlite", tmp_path / "text.db"
    with contextlib.closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE runs (number INTEGER)")
        database.commit()
    text.write_bytes(OLD * 100)
    for place in (other, text):
        with unchanged(place):
            done = sapwood("monitor", "--database", place, "--listen", "127.0.0.1:0", "--web", "127.0.0.1:0")
        assert done.code == 2 and "not a database of 'sapwood monitor'" in done.err


def test_folders_of_others_stay(sapwood: Callable[..., Any], source: Path, tmp_path: Path) -> None:
    """What 'tune' removes from its folder is what it put there."""
    mine = tmp_path / "report.work" / "samples" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(OLD)
    done = sapwood("tune", f"{source}:Events", "-o", tmp_path / "report.html", *TUNE)
    assert done.code == 2 and "was not made by 'sapwood tune'" in done.err
    (tmp_path / "report.work" / "journal.jsonl").write_text("the journal of my detector\n")
    assert sapwood("tune", f"{source}:Events", "-o", tmp_path / "report.html", *TUNE).code == 2
    assert mine.read_bytes() == OLD


def test_links_and_permissions_stay(sapwood: Callable[..., Any], source: Path, tmp_path: Path) -> None:
    for words, suffix in (("layout SOURCE:Events OUT", ".svg"), ("repack SOURCE OUT", ".root")):
        real, link = tmp_path / f"real{suffix}", tmp_path / f"link{suffix}"
        real.write_bytes(OLD)
        real.chmod(0o640)
        link.symlink_to(real)
        assert sapwood(*Output(words, suffix).line(source, link, "--force")).code == 0
        assert link.is_symlink() and real.read_bytes() != OLD
        assert real.stat().st_mode & 0o777 == 0o640
        real.chmod(0o440)
        with unchanged(real):
            assert sapwood(*Output(words, suffix).line(source, link, "--force")).code == 1


def test_devices_and_directories_are_no_files(
    sapwood: Callable[..., Any], source: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for out in ("/dev/null", tmp_path / "pipe", tmp_path, tmp_path / "none" / "out"):
        for words in ("convert SOURCE:Events OUT --to csv --force", "merge OUT SOURCE --force"):
            done = sapwood(*Output(words, "").line(source, out))
            assert done.code == (3 if "none" in str(out) else 2), done.err
    assert Path("/dev/null").is_char_device()


def test_tables_go_to_standard_output(path: Path) -> None:
    """Also those that are no text, into a pipe."""
    parquet = pytest.importorskip("pyarrow.parquet")
    command = [sys.executable, "-c", "from sapwood.cli.main import main; main()"]
    command += ["convert", f"{path}:Events", "-", "run"]
    done = subprocess.run([*command, "--to", "parquet"], capture_output=True, timeout=60, check=True)
    assert parquet.read_table(io.BytesIO(done.stdout)).column("run").to_pylist() == list(range(1000))
    done = subprocess.run([*command, "--to", "csv"], capture_output=True, timeout=60, check=True)
    assert done.stdout.decode().splitlines()[:3] == ['"run"', "0", "1"]


def test_a_recording_of_a_job_that_fails_is_kept(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "job.swt"
    code = f"{READ_IT}; import os, time; time.sleep(0.6); os._exit(9)"
    done = sapwood("trace", "-o", out, "--", sys.executable, "-c", code, f"{path}:Events")
    assert done.code == 9
    assert "Events" in sapwood("trace", "show", out).out


def test_a_command_that_is_not_found_replaces_nothing(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "job.swt"
    out.write_bytes(OLD)
    with unchanged(out):
        assert sapwood("trace", "--force", "-o", out, "--", "no-such-command").code == 1
    assert list(tmp_path.iterdir()) == [out]
