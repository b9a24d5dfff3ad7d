"""No function destroys a file: every public function that writes follows the rules for outputs."""

from __future__ import annotations

import inspect
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from output_safety import OLD, no_room, unchanged

import sapwood
import sapwood.catalog
from sapwood import chain, monitoring, stripe, tune
from sapwood.errors import FileNotFoundError, PermissionError, ReadError, SapwoodError, UsageError
from sapwood.report.cost import ReadReport
from sapwood.report.lazy_use import LazyUse

uproot = pytest.importorskip("uproot")

Write = Callable[..., Any]


def recorded(source: Path, out: Path, **options: bool) -> None:
    with sapwood.trace(out, **options), sapwood.open(f"{source}:Events") as tree:
        tree.arrays(["x"])


def made(function: Write) -> Write:
    def write(_: Path, out: Path) -> None:
        with function(out) as file:
            file["Events"] = {"x": np.arange(1000)}

    return write


def read_report(source: Path) -> ReadReport:
    with sapwood.open(f"{source}:Events") as tree:
        tree.arrays(["x"])
    return tree.file.report()


def lazy_use(source: Path) -> LazyUse:
    with sapwood.open(f"{source}:Events") as tree:
        for event in tree.events():
            assert event.x >= 0
    return tree.file.report().lazy[0]


WRITERS: dict[str, tuple[str, Write]] = {
    "sapwood.repack": (".root", sapwood.repack),
    "sapwood.merge": (".root", lambda source, out, **options: sapwood.merge([source], out, **options)),
    "sapwood.trace": (".swt", recorded),
    "sapwood.ReadReport.save": (
        ".svg",
        lambda source, out, **options: read_report(source).save(out, **options),
    ),
    "sapwood.lazy_use.LazyUse.save": (
        ".svg",
        lambda source, out, **options: lazy_use(source).save(out, **options),
    ),
    "sapwood.chain.run": (
        ".root",
        lambda source, out, **options: chain.run(f"{source}:Events", out, **options),
    ),
    "sapwood.chain.measure": (
        ".pds",
        lambda source, out, **options: chain.measure(
            [f"{source}:Events"], [str(out)], chains=["full"], **options
        ),
    ),
    "sapwood.chain.save": (
        ".html",
        lambda source, out, **options: chain.save(
            chain.measure([f"{source}:Events"], chains=["read"], entries=10), out, **options
        ),
    ),
    "sapwood.stripe.Dataset.export": (
        ".root",
        lambda source, out, **options: dataset(source).export(out, **options),
    ),
    "sapwood.stripe.Dataset.append": (
        ".json",
        lambda source, out, **options: dataset(source).append(f"{source}:Events", receipt=out, **options),
    ),
}
"""Functions that write a file, which have ``overwrite``: the suffix of it, and how they are called."""

OTHERS = {
    *("sapwood.create", "sapwood.recreate", "sapwood.update", "sapwood.WritableFile"),
    *("sapwood.tune.run", "sapwood.tune.save", "sapwood.monitoring.jsonl", "sapwood.monitoring.textfile"),
    *("sapwood.Profile", "sapwood.example"),
}
"""Those with tests of their own here and in test_cli."""

READERS = {
    *("sapwood.open", "sapwood.replay", "sapwood.Directory", "sapwood.Tree"),
    *("sapwood.File.item_at", "sapwood.File.tree_at", "sapwood.File.highest_cycle"),
    *("sapwood.Branch.member_at", "sapwood.WritableDirectory.mktree", "sapwood.WritableDirectory.mkdir"),
    *(
        "sapwood.WritableDirectory",
        "sapwood.WritableDirectory.mkrntuple",
        "sapwood.WritableRNTuple",
        "sapwood.WritableTree",
    ),
    *("sapwood.WritableTree.reopen", "sapwood.chain.ChainPoint"),
    *("sapwood.tune.Point.command", "sapwood.edm.open"),
    *("sapwood.xaod.follow",),
}
"""Those whose parameters name what is read, a place in a file, or a size."""


def dataset(source: Path) -> stripe.Dataset:
    place = source.parent / "data"
    return stripe.open(place) if place.exists() else stripe.create(place, f"{source}:Events")


def public(path: str, module: ModuleType) -> Iterator[tuple[str, Any]]:
    """All that can be called in a module, by the name that users write."""
    for name in module.__all__:
        found = getattr(module, name)
        if inspect.ismodule(found):
            continue
        yield f"{path}.{name}", found
        if inspect.isclass(found):
            for member, function in vars(found).items():
                if not member.startswith("_") and callable(getattr(function, "__func__", function)):
                    yield f"{path}.{name}.{member}", getattr(function, "__func__", function)


def test_every_function_that_may_write_a_file_is_listed() -> None:
    modules = {
        "sapwood": sapwood,
        "sapwood.catalog": sapwood.catalog,
        "sapwood.chain": chain,
        "sapwood.edm": sapwood.edm,
        "sapwood.monitoring": monitoring,
        "sapwood.stripe": stripe,
        "sapwood.tune": tune,
        "sapwood.xaod": sapwood.xaod,
    }
    names = {"path", "target", "output", "outputs", "receipt", "work"}
    found = set()
    for path, module in modules.items():
        for name, function in public(path, module):
            try:
                parameters = set(inspect.signature(function).parameters)
            except (TypeError, ValueError):
                continue
            if parameters & names:
                found.add(name)
                assert name not in WRITERS or "overwrite" in parameters or "chosen" in parameters, name
    known = set(WRITERS) | OTHERS | READERS
    assert not found - known, "say here whether these write a file, and test it"
    assert not {name for name in known - found if ".lazy_use." not in name}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small file in a folder of its own."""
    path = tmp_path / "in" / "nano.root"
    path.parent.mkdir()
    with uproot.recreate(path) as file:
        file.mktree("Events", {"x": "int64"}).extend({"x": np.arange(2000)})
    return path


each = pytest.mark.parametrize(("suffix", "write"), WRITERS.values(), ids=WRITERS)


@each
def test_an_existing_file_is_replaced_on_demand_only(
    suffix: str, write: Write, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / f"out{suffix}"
    out.write_bytes(OLD)
    with unchanged(source, out), pytest.raises(UsageError, match="overwrite=True"):
        write(source, out, overwrite=False)
    if write is not recorded:
        with unchanged(source, out), pytest.raises(UsageError, match="overwrite=True"):
            write(source, out)
    with unchanged(source):
        write(source, out, overwrite=True)
    assert out.read_bytes() not in (b"", OLD)
    assert {one.name for one in tmp_path.iterdir()} == {"in", out.name}


@each
def test_an_input_is_never_replaced(
    suffix: str, write: Write, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(source.parent)
    link, hard = tmp_path / f"link{suffix}", tmp_path / f"hard{suffix}"
    link.symlink_to(source)
    hard.hardlink_to(source)
    for name in (source, Path("nano.root"), str(source), source.as_uri(), f"{source}:Events", link, hard):
        if name == hard and write in (recorded, WRITERS["sapwood.lazy_use.LazyUse.save"][1]):
            # They know of no input; the other name of the file keeps its bytes.
            continue
        if write is WRITERS["sapwood.stripe.Dataset.export"][1]:
            # The file is no input of it, but the dataset is.
            name = str(source.parent / "data" / "fmt")
            dataset(source)
        with unchanged(source), pytest.raises(UsageError):
            write(source, name, overwrite=True)
    assert link.is_symlink() and hard.samefile(source)


@each
def test_a_suffix_of_another_format_is_refused(
    suffix: str, write: Write, source: Path, tmp_path: Path
) -> None:
    for wrong in (".parquet", ".svg" if suffix != ".svg" else ".root", ".py"):
        with pytest.raises(UsageError):
            write(source, tmp_path / f"out{wrong}", overwrite=True)
        assert not (tmp_path / f"out{wrong}").exists()


@each
def test_there_is_no_file_called_dash(
    suffix: str, write: Write, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        write(source, "-")
    assert [one.name for one in tmp_path.iterdir()] == ["in"]


@each
def test_a_full_disk_leaves_the_old_file(suffix: str, write: Write, source: Path, tmp_path: Path) -> None:
    out = tmp_path / f"out{suffix}"
    out.write_bytes(OLD)
    dataset(source)
    with unchanged(source, out), no_room():
        if write is WRITERS["sapwood.chain.measure"][1]:
            assert write(source, out, overwrite=True).measurements[0].error
        else:
            with pytest.raises((OSError, SapwoodError)):
                write(source, out, overwrite=True)
    left = [one for one in tmp_path.iterdir() if one.name.endswith(".part")]
    assert len(left) == (write is recorded)


def test_recreate_replaces_a_file_but_none_that_is_open(source: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.root"
    link.symlink_to(source)
    write = made(sapwood.recreate)
    with sapwood.open(source):
        for name in (source, link, source.as_uri()):
            with unchanged(source), pytest.raises(UsageError, match="close it"):
                write(source, name)
    for _ in sapwood.iterate(f"{source}:Events", ["x"]):
        with unchanged(source), pytest.raises(UsageError, match="close it"):
            write(source, source)
    # Nobody holds this one any more.
    assert sapwood.open(f"{source}:Events").num_entries == 2000
    write(source, link)
    assert link.is_symlink()
    assert sapwood.open(f"{source}:Events").num_entries == 1000
    with unchanged(source), no_room(), pytest.raises(ReadError):
        write(source, source)


def test_create_refuses_a_file_and_recreate_a_suffix(source: Path, tmp_path: Path) -> None:
    with unchanged(source), pytest.raises(UsageError, match=r"use sapwood\.recreate"):
        made(sapwood.create)(source, source)
    dangling = tmp_path / "dangling.root"
    dangling.symlink_to(tmp_path / "none.root")
    with pytest.raises(UsageError, match="exists"):
        made(sapwood.create)(source, dangling)
    for function in (sapwood.create, sapwood.recreate):
        for name in ("out.svg", "out.csv", "out.json", "out.root.gz", "out.root:Events", "-"):
            with pytest.raises(UsageError):
                made(function)(source, tmp_path / name)
    assert {one.name for one in tmp_path.iterdir()} == {"in", dangling.name}
    made(sapwood.create)(source, (tmp_path / "a b.root").as_uri())
    assert (tmp_path / "a b.root").exists()


def test_a_killed_process_leaves_the_file_that_it_recreates(source: Path) -> None:
    code = (
        "import os, signal, sys, numpy as np, sapwood\n"
        "with sapwood.recreate(sys.argv[1], compression='none') as file:\n"
        "    file['Events'] = {'x': np.arange(1_000_000)}\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    with unchanged(source):
        done = subprocess.run([sys.executable, "-c", code, str(source)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert all(one == source or one.suffix == ".part" for one in source.parent.iterdir())


def test_places_that_cannot_be_written_are_refused_at_once(source: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="create it first"):
        sapwood.repack(source, tmp_path / "none" / "out.root")
    with pytest.raises(UsageError, match="local path"):
        read_report(source).save("s3://bucket/out.svg")
    protected = tmp_path / "protected.root"
    protected.write_bytes(OLD)
    protected.chmod(0o444)
    with unchanged(protected), pytest.raises(PermissionError, match="write-protected"):
        sapwood.repack(source, protected, overwrite=True)


def test_an_input_is_found_in_globs_lists_and_open_files(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(source.parent)
    shutil.copy(source, "second.root")
    for sources in ("*.root", [source, "second.root"], {"second.root": None}, [Path("second.root")]):
        with unchanged(Path("second.root")), pytest.raises(UsageError, match="is an input"):
            sapwood.merge(sources, "../in/second.root", overwrite=True)
    with sapwood.open("second.root") as file, unchanged(Path("second.root")):
        with pytest.raises(UsageError, match="is an input"):
            sapwood.repack(file, source.parent / "second.root", overwrite=True)
        with open("second.root", "r+b") as target, pytest.raises(UsageError, match="is an input"):
            sapwood.repack(file, target)
    with pytest.raises(UsageError, match="is an input"):
        sapwood.repack(source, "second.root", replicas=["second.root"], overwrite=True)


def test_monitors_and_recordings_are_not_appended_to_other_files(source: Path, tmp_path: Path) -> None:
    for function in (monitoring.jsonl, monitoring.textfile):
        for name in (source, "-"):
            with pytest.raises(UsageError):
                function(name)
    environment = {**os.environ, "SAPWOOD_TRACE": str(source)}
    code = "import sapwood, sys; sapwood.open(sys.argv[1] + ':Events').arrays()"
    with unchanged(source):
        command = [sys.executable, "-c", code, str(source)]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=60
        )
    assert "not a recording" in done.stderr


def test_a_dataset_is_not_called_as_a_file(source: Path, tmp_path: Path) -> None:
    for name in ("data.root", "data.json", "-"):
        with pytest.raises(UsageError):
            stripe.create(tmp_path / name, f"{source}:Events")
        with pytest.raises(UsageError):
            dataset(source).copy_to(tmp_path / name)
    assert [one.name for one in tmp_path.iterdir()] == ["in"]
    with pytest.raises(UsageError):
        chain.run(source.parent / "data", source.parent / "data" / "again")


def test_a_dataset_is_not_made_among_files_of_its_names(source: Path, tmp_path: Path) -> None:
    """They would be replaced, or collected one day as what no version refers to."""
    for name in ("hint", "log/job.txt", "d/run1/nano.root"):
        place = tmp_path / name.partition("/")[0]
        mine = place / name
        mine.parent.mkdir(parents=True)
        mine.write_bytes(OLD)
        with unchanged(mine), pytest.raises(UsageError, match="not part of a dataset"):
            stripe.create(place, f"{source}:Events")
        with unchanged(mine), pytest.raises(UsageError, match="not part of a dataset"):
            chain.run(f"{source}:Events", place)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "README").write_bytes(OLD)
    assert stripe.create(tmp_path / "notes", f"{source}:Events").tree().num_entries == 2000
