"""`sapwood tune --functions`: the CPU time by function, as perf samples it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sapwood
from sapwood.cli._app import app
from sapwood.errors import UsageError
from sapwood.studies.process import MeasurementError
from sapwood.studies.tune import functions
from sapwood.studies.tune.functions import FunctionTime

pytestmark = pytest.mark.usefixtures("few_layouts")

FAKE = """#!/bin/sh
case $1 in
record)
    while [ "$1" != -- ]; do shift; done
    shift
    exec "$@" ;;
report) printf ' 12.50%%|libz.so      |[.] inflate<fast>\\n\\n 40.00%%|[kernel]|[k] clear_page\\n' ;;
esac
"""
"""A program that samples nothing."""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands in for perf."""
    program = tmp_path / "bin" / "perf"
    program.parent.mkdir()
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    return program


@pytest.fixture
def tree(tmp_path: Path) -> str:
    """A small tree."""
    with sapwood.recreate(tmp_path / "in.root", compression="zlib:5") as file:
        file["t"] = {"x": np.random.default_rng(1).normal(size=20_000)}
    return f"{tmp_path / 'in.root'}:t"


def test_functions_are_parsed_and_sorted() -> None:
    lines = [f" {share}.00%|lib{share}.so|[.] f{share}::<g|h>" for share in range(1, 40)]
    found = functions.parsed("\n".join(["# comment", *lines, ""]))
    assert len(found) == functions.MOST
    assert found[0] == FunctionTime(39.0, "f39::<g|h>", "lib39.so")


def test_functions_without_names_are_one() -> None:
    found = functions.parsed(
        " 1.50|a.so|[.] 0x0001\n 2.00|b.so|[.] f\n 0.25|a.so|[.] 0x0002\n 0.10|c.so|[.] g\n"
    )
    assert found == (FunctionTime(2.0, "f", "b.so"), FunctionTime(1.75, functions.NAMELESS, "a.so"))


def test_the_report_has_reading_and_writing(fake: Path, tree: str, tmp_path: Path) -> None:
    for name in ("out.html", "out.json"):
        options = ["--functions", "--dimension", "basket-size", "--repeats", "1", "-o", str(tmp_path / name)]
        done = CliRunner().invoke(app, ["tune", tree, *options, "--sample", "1000"])
        assert done.exit_code == 0, done.output
    document = json.loads((tmp_path / "out.json").read_text())["functions"]
    assert list(document) == ["writing", "reading"]
    assert document["reading"][0] == {"percent": 40.0, "function": "clear_page", "library": "[kernel]"}
    page = (tmp_path / "out.html").read_text()
    assert "CPU time of reading, by function" in page and "inflate&lt;fast&gt;" in page
    assert not list(tmp_path.glob("out.work/layouts/*"))


def test_without_permission_nothing_is_measured(fake: Path, tree: str, tmp_path: Path) -> None:
    fake.write_text("#!/bin/sh\necho No permission to collect stats >&2\nexit 255\n")
    with pytest.raises(UsageError, match="perf record failed: No permission"):
        sapwood.tune.run(tree, functions=True, work=tmp_path / "work")
    assert not (tmp_path / "work").exists()
    with pytest.raises(MeasurementError, match="No permission"):
        functions.functions(tmp_path / "none")


def test_without_perf_it_is_said(tree: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="perf is not installed"):
        sapwood.tune.run(tree, functions=True)


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_perf_finds_the_compressor(tree: str, tmp_path: Path) -> None:
    try:
        functions.check_profiler()
    except UsageError as error:
        pytest.skip(str(error))
    found = sapwood.tune.run(
        tree, functions=True, dimensions=["basket-size"], repeats=1, work=tmp_path / "work"
    )
    assert {"writing", "reading"} == set(found.functions)
    for times in found.functions.values():
        shares = [one.percent for one in times]
        assert shares == sorted(shares, reverse=True) and 0 < sum(shares) <= 101
