"""`sapwood.trace` and `sapwood trace` record a job, and `sapwood replay` replays it."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import nano_like
import numpy as np
import pytest
import testkit
from typer.testing import CliRunner

import sapwood
from sapwood.cli._app import app
from sapwood.errors import FileNotFoundError, SapwoodError, UsageError
from sapwood.report.replaying import PRESETS, Link
from sapwood.report.tracing import VARIABLE, summary

COLUMNS = ["run", "Muon_pt", "Jet_pt"]


@pytest.fixture(scope="module")
def nano(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of the demo's kind: some 3 MB, several clusters."""
    path = tmp_path_factory.mktemp("trace") / "nano.root"
    nano_like.write(path, 20_000)
    return path


@pytest.fixture(scope="module")
def far(nano: Path) -> Iterator[str]:
    """Its URL at a server that is 30 ms away."""
    with testkit.serving(nano.parent, "--rtt-ms", "30", "--mbit", "800") as server:
        yield f"{server.url}/{nano.name}"


def only(document: dict[str, Any]) -> dict[str, Any]:
    """The only process of a recording."""
    (process,) = document["processes"]
    assert isinstance(process, dict)
    return process


def test_what_is_written_and_what_time_is_spent_are_recorded(events_file: Path, tmp_path: Path) -> None:
    began = time.perf_counter()
    with sapwood.trace(tmp_path / "job.swt") as path:
        values = sapwood.open(f"{events_file}:Events").arrays(["met"], library="np")["met"]
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            pass
        with sapwood.recreate(tmp_path / "new.root", compression="lzma:9", threads=1) as file:
            file["t"] = {"x": values, "y": values}
            file["u"] = {"z": np.random.default_rng(1).normal(size=200_000)}
    took = time.perf_counter() - began
    process = only(summary(path))
    [write] = process["writes"]
    assert (write["url"], write["entries"]) == (str(tmp_path / "new.root"), 201_000)
    assert write["size"] == (tmp_path / "new.root").stat().st_size
    wall, cpu = process["wall"], process["cpu"]
    assert wall["writing"] == write["seconds"] > 0
    assert 0.2 < wall["other"] < wall["seconds"] < took
    assert sum(wall.values()) == pytest.approx(2 * wall["seconds"], abs=1e-3)
    # The parts are measured with a clock: while other work takes the processor, they exceed the CPU time.
    known = cpu["decompressing"] + cpu["decoding"] + cpu["compressing"]
    assert cpu["other"] == pytest.approx(max(0.0, cpu["seconds"] - known), abs=1e-3)
    # LZMA is slow, and it ran in the calls of the writer.
    assert 0.02 < cpu["compressing"] < write["seconds"] and cpu["seconds"] > 0.2
    assert 0 < cpu["decompressing"] + cpu["decoding"] < 0.2
    shown = CliRunner().invoke(app, ["trace", "show", str(path)]).output
    assert "% writing" in shown and "% compressing" in shown and "new.root" in shown


def test_a_file_that_is_discarded_is_not_recorded(tmp_path: Path) -> None:
    with sapwood.trace(tmp_path / "job.swt") as path:
        with sapwood.recreate(tmp_path / "kept.root") as file:
            file["t"] = {"x": np.arange(3)}
        with pytest.raises(ZeroDivisionError), sapwood.recreate(tmp_path / "lost.root") as file:
            file["t"] = {"x": np.arange(3)}
            raise ZeroDivisionError
    [write] = only(summary(path))["writes"]
    assert write["url"].endswith("kept.root")


def test_reads_and_requests_are_recorded(events_file: Path, tmp_path: Path) -> None:
    with sapwood.trace(tmp_path / "job.swt") as path:
        tree = sapwood.open(f"{events_file}:Events")
        tree.arrays(["met", "Jet_pt"], entry_start=10, entry_stop=300)
        for _ in tree.iterate(["run"], step_size=500):
            pass
    process = only(summary(path))
    (file,) = process["files"]
    assert (file["url"], file["size"]) == (str(events_file), events_file.stat().st_size)
    read, scan = process["operations"]
    assert (read["kind"], read["columns"]) == ("read", ["met", "Jet_pt"])
    assert read["tree"].split(";")[0] == "Events"
    assert read["entries"] == [[10, 300]]
    assert (scan["kind"], scan["columns"]) == ("scan", ["run"])
    assert scan["entries"] == [[0, 500], [500, 1000]]
    # Two columns in two clusters of 250 entries.
    assert read["baskets"] == 4
    # So small a file comes with opening.
    assert file["opening"]["bytes"] + file["reading"]["bytes"] >= read["bytes"] > 0
    # What is read after the block is not recorded.
    before = path.read_bytes()
    tree.arrays(["weight"])
    time.sleep(0.4)
    assert path.read_bytes() == before


def test_lazy_touches_are_recorded(far: str, tmp_path: Path) -> None:
    with sapwood.trace(tmp_path / "job.swt") as path, sapwood.open(f"{far}:Events") as tree:
        for chunk in tree.lazy():
            chunk["Muon_pt"]
    process = only(summary(path))
    assert "lazy" in {operation["kind"] for operation in process["operations"]}
    (cost,) = sapwood.replay(path)
    assert cost.bytes >= process["files"][0]["reading"]["bytes"] > 0


def test_forks_and_their_parent_share_the_recording(events_file: Path, tmp_path: Path) -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    code = f"""
import multiprocessing, sapwood
def work(_):
    return len(sapwood.open({str(events_file)!r} + ":Events").arrays(["met"]))
if __name__ == "__main__":
    sapwood.open({str(events_file)!r} + ":Events").arrays(["run"])
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, range(4), chunksize=1) == [1000] * 4
        pool.close()
        pool.join()
"""
    recording = tmp_path / "job.swt"
    command = ["trace", "-o", str(recording), "--", sys.executable, "-W", "ignore", "-c", code]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    processes = summary(recording)["processes"]
    columns = sorted(operation["columns"] for one in processes for operation in one["operations"])
    assert columns == [["met"]] * 4 + [["run"]]
    assert len(processes) >= 2


def test_spawned_processes_record_to_the_same_file(events_file: Path, tmp_path: Path) -> None:
    with sapwood.trace(tmp_path / "job.swt") as path:
        code = f"import sapwood; sapwood.open({str(events_file)!r} + ':Events').arrays(['run'])"
        subprocess.run([sys.executable, "-c", code], check=True)
        sapwood.open(f"{events_file}:Events").arrays(["met"])
    columns = [one["operations"][0]["columns"] for one in summary(path)["processes"]]
    assert sorted(columns) == [["met"], ["run"]]
    assert VARIABLE not in os.environ


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_the_recording_of_a_killed_job_is_readable(events_file: Path, tmp_path: Path) -> None:
    recording = tmp_path / "job.swt"
    code = f"""
import sapwood, time
tree = sapwood.open({str(events_file)!r} + ":Events")
tree.arrays(["met"])
print("read", flush=True)
while True:
    time.sleep(0.1)
"""
    environment = os.environ | {VARIABLE: str(recording)}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == "read\n"
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            time.sleep(0.1)
            if recording.stat().st_size and only(summary(recording))["operations"]:
                break
        job.send_signal(signal.SIGKILL)
    with recording.open("ab") as file:
        file.write(b"SWT1 and what the system had not written yet")
    document = summary(recording)
    assert [one["columns"] for one in only(document)["operations"]] == [["met"]]
    assert document["unreadable_bytes"] == 44
    assert sapwood.replay(recording, ["default"])[0].requests > 0


def test_no_secret_is_recorded(far: str, tmp_path: Path) -> None:
    secret = far.replace("http://", "http://me:hunter2@") + "?token=hunter2"
    with sapwood.trace(tmp_path / "job.swt") as path, sapwood.open(f"{secret}", headers={"X": "hunter2"}):
        pass
    (file,) = only(summary(path))["files"]
    assert "hunter2" not in file["url"]
    assert "token=" in file["url"]
    assert "hunter2" not in json.dumps(summary(path))


def test_errors_are_recorded(far: str, tmp_path: Path) -> None:
    with sapwood.trace(tmp_path / "job.swt") as path:
        with pytest.raises(SapwoodError):
            sapwood.open(f"{far}.missing")
        sapwood.open(f"{far}:Events").arrays(["run"])
    assert len(only(summary(path))["files"]) == 1


def test_a_recording_in_a_recording_is_refused(tmp_path: Path) -> None:
    with sapwood.trace(tmp_path / "a.swt"), pytest.raises(UsageError), sapwood.trace(tmp_path / "b.swt"):
        pass
    assert not (tmp_path / "b.swt").exists()


def test_other_files_than_recordings_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"no recording at all")
    with pytest.raises(SapwoodError, match="not a recording"):
        summary(other)
    for read in (summary, sapwood.replay):
        with pytest.raises(FileNotFoundError, match=r"no such file: '.*missing\.swt' \(looked in"):
            read(tmp_path / "missing.swt")


def test_a_replay_makes_the_requests_of_the_job(far: str, tmp_path: Path) -> None:
    """The requests exactly; the time, on a machine that does other things, within a factor."""
    with sapwood.trace(tmp_path / "job.swt") as path, sapwood.open(f"{far}:Events") as tree:
        tree.arrays(COLUMNS)
        tree.arrays(["Muon_eta", "Muon_phi"])
        counts = tree.file.report()
    document = summary(path)
    (cost,) = sapwood.replay(path, link=Link(rtt=0.03, bandwidth=100e6))
    assert cost.requests == only(document)["requests"] == counts.requests
    assert cost.bytes == only(document)["bytes"]
    assert 0.03 < cost.seconds < 3 * document["seconds"]


def test_policies_differ_as_they_should(nano: Path, tmp_path: Path) -> None:
    """A job that read a local file, replayed at high latency."""
    with sapwood.trace(tmp_path / "job.swt") as path:
        for _ in sapwood.iterate(f"{nano}:Events", COLUMNS, step_size=5_000):
            pass
    link = Link(rtt=0.5, bandwidth=1e6)
    costs = {one.policy: one for one in sapwood.replay(path, PRESETS, link=link)}
    assert list(costs) == list(PRESETS)
    baskets = sum(one["baskets"] for one in only(summary(path))["operations"])
    assert costs["unmerged"].requests > costs["default"].requests
    assert costs["unmerged"].requests <= baskets + 1
    assert costs["unmerged"].overread == costs["default"].overread == 0
    assert costs["gap-1M"].requests <= costs["default"].requests
    # What opening brought need not be fetched again.
    assert costs["default"].bytes <= costs["default"].wanted + opening(path)
    twice = sapwood.replay(path, ["default"], link=Link(rtt=1.0, bandwidth=1e6))[0]
    assert twice.seconds > costs["default"].seconds
    fewer = sapwood.replay(path, ["unmerged,concurrency=1"], link=link)[0]
    assert fewer.seconds > costs["unmerged"].seconds


def test_a_file_may_be_at_several_places(nano: Path, tmp_path: Path) -> None:
    with sapwood.trace(tmp_path / "job.swt") as path:
        sapwood.open(f"{nano}:Events").arrays()
    slow = Link(rtt=0.01, bandwidth=nano.stat().st_size / 10)
    alone, two = sapwood.replay(path, ["default", "replicas"], link=slow)
    assert alone.seconds > 9 and two.seconds < 0.8 * alone.seconds
    (unequal,) = sapwood.replay(path, ["replicas"], link=slow, replicas=[Link(rtt=0.01, bandwidth=1e4)])
    assert two.seconds < unequal.seconds < alone.seconds + 5
    with pytest.raises(SapwoodError, match="several replicas"):
        sapwood.replay(path, ["replicas"], source=str(nano))


def opening(path: Path) -> int:
    """Bytes that opening brought."""
    return sum(file["opening"]["bytes"] for file in only(summary(path))["files"])


def test_a_replay_may_read_a_real_source(nano: Path, far: str, tmp_path: Path) -> None:
    with sapwood.trace(tmp_path / "job.swt") as path:
        sapwood.open(f"{nano}:Events").arrays(COLUMNS)
    (cost,) = sapwood.replay(path, source=far)
    assert cost.requests >= 2
    assert cost.seconds >= 0.03
    with urlopen(far, timeout=10) as answer:
        assert int(answer.headers["Content-Length"]) == nano.stat().st_size


def test_the_commands(nano: Path, tmp_path: Path) -> None:
    recording = tmp_path / "job.swt"
    code = f"import sapwood; sapwood.open({str(nano)!r} + ':Events').arrays(['run'])"
    runner = CliRunner()
    done = runner.invoke(app, ["trace", "-o", str(recording), "--", sys.executable, "-c", code])
    assert done.exit_code == 0, done.output
    shown = runner.invoke(app, ["trace", "show", str(recording)])
    assert shown.exit_code == 0, shown.output
    assert "Events" in shown.output
    assert nano.name in shown.output
    document = json.loads(runner.invoke(app, ["trace", "show", str(recording), "--json"]).output)
    assert only(document)["operations"][0]["columns"] == ["run"]
    command = ["replay", str(recording), "--rtt", "150ms", "--bandwidth", "100MB/s"]
    table = runner.invoke(app, command)
    assert table.exit_code == 0, table.output
    assert [line.split()[0] for line in table.output.splitlines()] == ["policy", *PRESETS]
    command += ["--replica", "20ms,2MB/s", "--policy", "gap=4k,ahead=2", "--json"]
    (cost,) = json.loads(runner.invoke(app, command).output)["policies"]
    assert cost["policy"] == "gap=4k,ahead=2"
    for wrong in (["--policy", "fastest"], ["--rtt", "soon"], ["--rtt", "100"], ["--bandwidth", "100 km"]):
        assert runner.invoke(app, ["replay", str(recording), *wrong]).exit_code == 2
    assert runner.invoke(app, ["trace", "job.swt"]).exit_code == 2
    code = "raise SystemExit(7)"
    before = recording.read_bytes()
    done = runner.invoke(app, ["trace", "--force", "-o", str(recording), "--", sys.executable, "-c", code])
    assert done.exit_code == 7
    assert "read nothing" in done.stderr
    assert recording.read_bytes() == before
