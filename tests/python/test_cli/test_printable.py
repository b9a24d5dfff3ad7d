"""No command lets names from a file reach a terminal other than as visible text."""

from __future__ import annotations

import ast
import contextlib
import inspect
import json
import os
import pty
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from hostile_names import EVIL, EVIL_FILE, PROOFS, SHORT, harmful, of_terminal, tuning, write
from http_fake import FakeServer
from typer.testing import CliRunner

import sapwood
from sapwood import Profile, cli, stripe
from sapwood.catalog import Catalog
from sapwood.cli._app import app
from sapwood.report.tracing import VARIABLE
from sapwood.studies.tune import Progress
from sapwood.studies.tune.tuning import Tuning

TREE = f"tree{EVIL}"
BRANCH = f"x{EVIL}"
EDM = Path(__file__).parents[2] / "data" / "edm" / "edm.root"


@dataclass(frozen=True)
class World:
    """A folder of its own for every call, in which all that commands take has hostile names."""

    folder: Path

    @property
    def file(self) -> str:
        return str(self.folder / "files" / f"{EVIL_FILE}.root")

    @property
    def unreadable(self) -> str:
        """As the file, but with branches of an unknown class."""
        return str(self.folder / "more" / f"{EVIL_FILE}.root")

    @property
    def edm(self) -> str:
        """A CMS file, with products and releases of such names."""
        return str(self.folder / f"edm{EVIL_FILE}.root")

    @property
    def dataset(self) -> str:
        return str(self.folder / f"dataset{EVIL_FILE}")

    @property
    def catalog(self) -> str:
        return str(self.folder / "catalog.sqlite")

    def new(self, end: str = "") -> str:
        """The name of a file that is not there yet."""
        return str(self.folder / f"new{EVIL_FILE}{end}")


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = World(tmp_path_factory.mktemp("names"))
    file = write(Path(world.file))
    write(Path(world.unreadable), readable=False)
    _write_edm(Path(world.edm))
    stripe.create(world.dataset, [f"{file}:{TREE}"], who=f"who{EVIL}")
    with Catalog(world.catalog) as catalog:
        catalog.add(world.dataset, name=f"dataset{EVIL}")
    profile = Profile(world.folder / f"profile{EVIL_FILE}.json")
    profile.add(TREE, "0f2e41bd", {BRANCH: (1, 2)})
    profile.save()
    code = f"import sapwood; sapwood.open({str(file)!r})[{TREE!r}].arrays(library='np')"
    environment = os.environ | {VARIABLE: str(world.folder / "job.swt")}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)
    with FakeServer(file.read_bytes()) as server:
        url = f"{server.url}/far\u202e{EVIL_FILE[-3:]}.root"
        with sapwood.open(url, cache=world.folder / "cache") as far:
            far[TREE].arrays(library="np")
    return world.folder


@pytest.fixture
def world(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    # What waits for Ctrl-C gets it at once.
    monkeypatch.setattr(time, "sleep", _interrupted(time.sleep))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr("sapwood.tune.run", _tuned)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("NO_COLOR", raising=False)
    # The place in the catalogue is that of the original, and it is only read there.
    return World(tmp_path)


def _write_edm(path: Path) -> None:
    sapwood.repack(EDM, path, compression="none")
    content = path.read_bytes()
    for name in (b"slimmedMuons", b"CMSSW_14_0_"):
        assert name in content
        content = content.replace(name, SHORT.ljust(len(name), b"x"))
    path.write_bytes(content)


def _tuned(source: str, *, tell: Callable[[Progress], None], **_: Any) -> Tuning:
    tell(Progress(1, 2, f"compression{EVIL}", 60.0))
    return tuning(source)


def _interrupted(sleep: Callable[[float], None]) -> Callable[[float], None]:
    def sleep_or_end(seconds: float) -> None:
        if seconds >= 1000:
            raise KeyboardInterrupt
        sleep(seconds)

    return sleep_or_end


Arguments = Callable[[World], list[str]]
SILENT = {
    "bench chain",
    "cache verify",
    "cache clear",
    "convert",
    "diff",
    "layout",
    "monitor",
    "replay",
    "repack",
}
SILENT |= {"slim", "skim", "merge", "mix", "trace", "catalog forget", "catalog serve", "profile forget"}
SILENT |= {"profile ls", "cache ls"}
SILENT |= {f"stripe {name}" for name in ("append", "commit", "consolidate", "add", "verify", "base", "drop")}
SILENT |= {f"stripe {name}" for name in ("expire", "gc", "restore", "copy", "tag")}
"""Commands that print no names, or only to a terminal."""

CALLS: dict[str, list[Arguments]] = {
    "verify": [lambda w: [w.file], lambda w: ["--all", w.file, w.unreadable]],
    "ls": [
        lambda w: [w.file],
        lambda w: ["-l", "-r", w.file],
        lambda w: [str(Path(w.file).parent)],
        lambda w: [f"{w.file}:{TREE}"],
        lambda w: [w.dataset],
    ],
    "show": [
        lambda w: [w.file],
        lambda w: [w.unreadable, "--sort", "size"],
        lambda w: [f"{w.file}:{TREE}/record{EVIL}"],
        lambda w: [f"{w.unreadable}:{TREE}/record{EVIL}"],
        lambda w: [f"{w.file}:histogram{EVIL}"],
        lambda w: ["--edm", w.edm],
    ],
    "hist": [lambda w: [f"{w.file}:histogram{EVIL}"]],
    "diff": [lambda w: [w.file, w.file], lambda w: [w.dataset, w.dataset]],
    "head": [lambda w: [w.file], lambda w: [w.unreadable, "-n", "1"], lambda w: [w.dataset]],
    "convert": [
        lambda w: [w.file, w.new(".parquet")],
        lambda w: [w.file, w.new(".csv")],
        lambda w: [w.unreadable, w.new(".feather")],
    ],
    "example": [lambda w: [w.new(".root"), "-n", "10"]],
    "repack": [lambda w: [w.file, w.new(".root")], lambda w: [w.unreadable, w.new(".root")]],
    "slim": [lambda w: [w.file, w.new(".root"), "--keep", "x*"]],
    "skim": [lambda w: [w.file, w.new(".root"), "--entries", ":2", "--cut", "1 < 2"]],
    "merge": [lambda w: [w.new(".root"), w.file, w.file]],
    "mix": [lambda w: [w.file, w.new(".root"), "--seed", "1", "--number", "1", "--entries", "0:2"]],
    "layout": [lambda w: [w.file, w.new(".svg"), "--read", BRANCH]],
    "report": [lambda w: [w.file, "--svg", w.new(".svg")]],
    "doctor": [lambda w: [w.file]],
    "monitor": [lambda w: ["--listen", "127.0.0.1:0", "--web", "127.0.0.1:0", "--database", w.new()]],
    "trace": [
        lambda w: ["show", "job.swt"],
        lambda w: ["-o", w.new(".swt"), "--", sys.executable, "-c", ""],
    ],
    "replay": [lambda w: ["job.swt", "--policy", "default"]],
    "tune": [lambda w: [w.file, "-o", w.new(".html")]],
    "bench chain": [lambda w: [w.file, "--chain", "read", "-o", w.new(".html")]],
    "cache ls": [lambda w: ["--directory", "cache"]],
    "cache verify": [lambda w: ["--directory", "cache"]],
    "cache clear": [lambda w: ["--directory", "cache"]],
    "catalog add": [lambda w: [w.dataset, "--catalog", w.new(), "--name", f"x{EVIL}"]],
    "catalog refresh": [lambda w: ["--catalog", w.catalog]],
    "catalog ls": [lambda w: ["--catalog", w.catalog]],
    "catalog search": [
        lambda w: ["data", "--catalog", w.catalog],
        lambda w: ["--product", "*", "--catalog", w.catalog],
    ],
    "catalog show": [lambda w: [f"dataset{EVIL}", "--catalog", w.catalog]],
    "catalog lineage": [lambda w: [f"dataset{EVIL}", "--catalog", w.catalog]],
    "catalog forget": [lambda w: [f"dataset{EVIL}", "--catalog", w.catalog]],
    "catalog serve": [lambda w: ["--web", "127.0.0.1:0", "--catalog", w.catalog]],
    "profile show": [lambda w: [f"profile{EVIL_FILE}.json"]],
    "profile ls": [lambda w: []],
    "profile merge": [lambda w: [f"profile{EVIL_FILE}.json", "--into", w.new(".json")]],
    "profile forget": [lambda w: [f"profile{EVIL_FILE}.json"]],
    "stripe create": [lambda w: [w.new(), "--from", f"{w.file}:{TREE}"]],
    "stripe append": [lambda w: [w.dataset, "--from", f"{w.file}:{TREE}"]],
    "stripe commit": [lambda w: [w.dataset, _receipt(w)]],
    "stripe consolidate": [lambda w: [w.dataset]],
    "stripe add": [lambda w: [w.dataset, f"{w.file}:{TREE}", "--by-position"]],
    "stripe ls": [lambda w: [w.dataset]],
    "stripe show": [lambda w: [w.dataset, "--product", f"x{EVIL}", "--cut", "1 < 2"]],
    "stripe log": [lambda w: [w.dataset]],
    "stripe verify": [lambda w: [w.dataset]],
    "stripe tag": [lambda w: [w.dataset, "gold"]],
    "stripe base": [lambda w: [w.dataset, w.new()]],
    "stripe drop": [lambda w: [w.dataset, f"x{EVIL}"]],
    "stripe expire": [lambda w: [w.dataset, "--newest", "1"]],
    "stripe gc": [lambda w: [w.dataset]],
    "stripe export": [lambda w: [w.dataset, w.new(".root")]],
    "stripe restore": [lambda w: [w.dataset, "v2"]],
    "stripe copy": [lambda w: [w.dataset, w.new()]],
}
"""How each command is called."""

FAILURES: list[Arguments] = [
    lambda w: [EVIL],
    lambda w: [f"--{EVIL}"],
    lambda w: ["ls", w.file, EVIL],
    lambda w: ["ls", f"--{EVIL}"],
    lambda w: ["ls", w.new(".root")],
    lambda w: ["ls", f"{w.file}:nothing{EVIL}"],
    lambda w: ["ls", _damaged(w)],
    lambda w: ["show", f"{w.file}:{TREE}/y{EVIL}"],
    lambda w: ["show", "--edm", w.file],
    lambda w: ["head", w.file, f"y{EVIL}"],
    lambda w: ["hist", f"{w.file}:{TREE}", f"y{EVIL}"],
    lambda w: ["diff", w.file, f"{w.file}:nothing{EVIL}"],
    lambda w: ["doctor", w.file, "--header", EVIL],
    lambda w: ["head", w.file, "--cut", f"'{EVIL}'"],
    lambda w: ["head", w.file, "--cut", f"f{EVIL}("],
    lambda w: ["head", w.unreadable, f"record{EVIL}/record{EVIL}.a"],
    lambda w: ["convert", w.file, w.new(f".{EVIL_FILE}")],
    lambda w: ["convert", w.file, w.new(".csv"), "--to", EVIL],
    lambda w: ["convert", w.file, w.file, "--to", "csv"],
    lambda w: ["convert", w.file, w.new(".csv"), "--step-size", EVIL],
    lambda w: ["layout", w.file, w.new(".svg"), "--entries", EVIL],
    lambda w: ["repack", w.file, w.new(".root"), "--compression", EVIL],
    lambda w: ["repack", w.file, w.file],
    lambda w: ["slim", w.file, w.new(".root"), "--keep", f"y{EVIL}"],
    lambda w: ["doctor", w.new(".root")],
    lambda w: ["trace", "show", w.file],
    lambda w: ["replay", w.file],
    lambda w: ["tune", w.file, "--variant", EVIL_FILE],
    lambda w: ["bench", "chain", w.file, "--lanes", EVIL],
    lambda w: ["catalog", "show", EVIL, "--catalog", w.catalog],
    lambda w: ["catalog", "ls", "--catalog", w.file],
    lambda w: ["profile", "show", EVIL_FILE],
    lambda w: ["stripe", "show", w.new()],
    lambda w: ["stripe", "drop", w.dataset, f"y{EVIL}"],
    lambda w: ["stripe", "restore", w.dataset, EVIL],
    lambda w: ["stripe", "tag", w.dataset, EVIL],
    lambda w: ["stripe", "add", w.dataset, f"{w.file}:{TREE}", "--product", f"y{EVIL}"],
]
"""Calls that fail, and say something of what they were given."""


def _receipt(world: World) -> str:
    path = world.folder / f"receipt{EVIL_FILE}"
    stripe.open(world.dataset).append([f"{world.file}:{TREE}"], receipt=path)
    return str(path)


def _damaged(world: World) -> str:
    """The file with its tree's record overwritten, but for the names."""
    whole = Path(world.file).read_bytes()
    Path(world.file).write_bytes(whole[: len(whole) // 3])
    return world.file


def in_a_pipe(arguments: list[str]) -> tuple[int, str]:
    """Exit code, and what was written."""
    done = CliRunner().invoke(app, arguments, prog_name="sapwood")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def on_a_terminal(arguments: list[str]) -> tuple[int, str]:
    """The same with a terminal for both streams, without what Rich wrote to it."""
    ours, theirs = pty.openpty()
    written = bytearray()

    def listen() -> None:
        # Linux answers with an error when the other side of a terminal is gone.
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 4096):
                written.extend(piece)

    listener = threading.Thread(target=listen)
    listener.start()
    code: object = None
    with (
        os.fdopen(theirs, "w", encoding="utf-8") as terminal,
        contextlib.redirect_stdout(terminal),
        contextlib.redirect_stderr(terminal),
    ):
        try:
            app(arguments, prog_name="sapwood")
        except SystemExit as end:
            code = end.code
    listener.join(timeout=60)
    os.close(ours)
    assert isinstance(code, int)
    return code, of_terminal(written.decode())


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from _commands(found, f"{before}{name} ")
        else:
            yield before + name, found


COMMANDS = dict(_commands(typer.main.get_command(app)))
SUCCESSES = [(name, number) for name, calls in CALLS.items() for number in range(len(calls))]


def test_every_command_is_called_here() -> None:
    assert set(CALLS) == set(COMMANDS) and set(CALLS) > SILENT


@pytest.mark.parametrize(("name", "number"), SUCCESSES)
@pytest.mark.parametrize("run", [in_a_pipe, on_a_terminal])
def test_a_command_shows_names_as_visible_text(
    world: World, name: str, number: int, run: Callable[[list[str]], tuple[int, str]]
) -> None:
    code, shown = run([*name.split(), *CALLS[name][number](world)])
    assert code == 0, shown
    assert not harmful(shown)
    if name not in SILENT and run is in_a_pipe:
        assert any(one in shown for one in PROOFS), "no hostile name was shown: what does this call test?"


@pytest.mark.parametrize("number", range(len(FAILURES)))
@pytest.mark.parametrize("run", [in_a_pipe, on_a_terminal])
def test_a_failure_shows_names_as_visible_text(
    world: World, number: int, run: Callable[[list[str]], tuple[int, str]]
) -> None:
    code, shown = run(FAILURES[number](world))
    assert code != 0 and shown
    assert not harmful(shown)


@pytest.mark.parametrize("name", [name for name, found in COMMANDS.items() if "as_json" in str(found.params)])
def test_json_has_the_exact_names_in_ascii(world: World, name: str) -> None:
    code, shown = in_a_pipe([*name.split(), *CALLS[name][0](world), "--json"])
    assert code == 0 and shown.isascii() and not harmful(shown)
    json.loads(shown)
    exact = [json.dumps(one)[1:-1] for one in (EVIL, EVIL_FILE)]
    if name in ("ls", "show", "head", "report", "profile show", "stripe ls", "catalog ls"):
        assert any(one in shown for one in exact)


def test_names_of_files_that_are_no_text_are_listed(world: World) -> None:
    folder = world.folder / "bytes"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\x1b.root")).touch()
    assert in_a_pipe(["ls", str(folder)]) == (0, "\\udcff\\x1b.root\n")


def test_values_are_exact_where_they_are_converted(world: World) -> None:
    from pyarrow import parquet

    assert in_a_pipe(["convert", world.file, world.new(".parquet")])[0] == 0
    table = parquet.read_table(world.new(".parquet"))
    assert BRANCH in table.column_names
    assert table.column(f"text{EVIL}").to_pylist()[0] == f"value{EVIL}"


def test_nothing_is_printed_but_by_the_module_that_makes_it_printable() -> None:
    """`_output` prints; `main` says what is not installed, before that could be imported."""
    offenders = []
    for path in Path(inspect.getfile(cli)).parent.glob("*.py"):
        if path.name in ("_output.py", "main.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write"):
                offenders.append(f"{path.name}:{node.lineno}")  # type: ignore[attr-defined]
    assert not offenders


def test_a_mistake_of_sapwood_shows_visible_text_too() -> None:
    code = (
        "import sys, sapwood.cli.ls as ls; sys.argv = ['sapwood', 'ls', '.']\n"
        "def fail(*_): raise RuntimeError('\\x1b[2J \\u202e')\n"
        "import sapwood.cli._target as target; target.is_directory = fail\n"
        "from sapwood.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and r"RuntimeError: \x1b[2J \u202e" in done.stderr
    assert not harmful(done.stderr)
