"""Monitoring: the event log of sources, the logger, and exporters of figures."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import logging
import math
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import http_fake as web
import numpy as np
import pytest

import sapwood
from sapwood import errors, monitoring
from sapwood.errors.log import SourceEvent, log_lines
from sapwood.monitoring._hub import HUB
from sapwood.monitoring._prometheus import Metrics
from sapwood.monitoring._record import FileRecord
from sapwood.monitoring._udp import Packets, host_and_port, logical_name
from sapwood.report.sources import SourceUse, as_json

ENTRIES = 200_000
"""Its first column lies outside the largest tail that opening reads, so that reading it costs a request."""
SECRET = "hush"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    uproot = pytest.importorskip("uproot")
    path: Path = tmp_path_factory.mktemp("monitoring") / "f.root"
    with uproot.recreate(path, compression=None) as file:
        file.mktree("t", {"x": "f8", "y": "f8"}).extend({name: np.arange(ENTRIES * 1.0) for name in "xy"})
    return path


@pytest.fixture
def server(path: Path) -> Iterator[web.FakeServer]:
    with web.FakeServer(path.read_bytes()) as server:
        yield server


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    monitoring.stop()


@pytest.fixture
def collector() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(20)
        yield listener


def place(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1]}"


def read(where: object) -> sapwood.ReadReport:
    with sapwood.open(where) as file:
        assert len(file["t"]["x"].array(library="np")) == ENTRIES
        return file.report()


def fail_once(server: web.FakeServer) -> None:
    """Breaks the connection of the first request for columns; those of opening go well."""
    left = iter(range(1))

    def behave(request: web.Request) -> web.Misdeed | None:
        first, _, last = request.headers.get("range", "").removeprefix("bytes=").partition("-")
        is_of_opening = first in ("", "0") or not last.isdigit()
        return web.reset if not is_of_opening and next(left, None) is not None else None

    server.behave = behave


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


class TestStory:
    def test_an_error_tells_what_happened_before(self, server: web.FakeServer) -> None:
        with sapwood.open(f"{server.url}/f.root?token={SECRET}", deadline=30) as file:
            tree = file["t"]
            server.behave = lambda request: web.reset
            with pytest.raises(errors.NetworkError) as failure:
                tree["x"].array()
        log = failure.value.log
        assert {event.event for event in log} == {"opened", "retried"}
        assert sum(event.times for event in log if event.event == "retried") >= 3
        assert {event.server for event in log} == {f"127.0.0.1:{server.port}"}
        (note,) = failure.value.__notes__
        assert note.startswith("Events at the sources:\n  0.") and "retried" in note
        assert SECRET not in note + repr(log) + str(failure.value)

    def test_a_report_tells_it_too(self, server: web.FakeServer) -> None:
        with sapwood.open(f"{server.url}/f.root:t", deadline=30) as tree:
            fail_once(server)
            tree["x"].array(library="np")
            report = tree.file.report()
        assert [event.event for event in report.log] == ["opened", "retried"]
        (source,) = report.sources
        assert source.failures == report.retries == 1
        assert source.fetched_bytes == sum(one.nbytes for one in report.timeline)
        assert "retried 1 time" in str(report)
        document = json.loads(report.to_json())
        assert document["servers"][source.server]["events"] == {"opened": 1, "retried": 1}
        assert document["log"][1]["event"] == "retried"

    def test_an_error_without_a_log_has_no_note(self, tmp_path: Path) -> None:
        with pytest.raises(errors.FileNotFoundError) as failure:
            sapwood.open(tmp_path / "none.root")
        assert failure.value.log == () and not hasattr(failure.value, "__notes__")

    def test_a_long_log_is_cut(self) -> None:
        log = [SourceEvent(i, "h:1", "retried", f"number {i}") for i in range(64)]
        kept = log_lines(log)
        assert len(kept) == 20
        assert kept[0] == "0.0 s: h:1 retried: number 0" and kept[-1].endswith("number 63")
        assert kept[6] == "… 45 more …"


class TestLogger:
    def test_messages_come_while_a_call_is_running(self, server: web.FakeServer) -> None:
        heard = threading.Event()

        class Handler(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                heard.set()

        logger, handler = logging.getLogger("sapwood.source"), Handler()
        logger.addHandler(handler)
        try:
            with sapwood.open(f"{server.url}/f.root:t", deadline=30) as tree:
                # It fails until the message arrives, so that only a message in time lets the call succeed.
                busy = web.answer("503 Busy", Retry_After="1")
                server.behave = lambda request: None if heard.is_set() else busy
                assert len(tree["x"].array(library="np")) == ENTRIES
        finally:
            logger.removeHandler(handler)
        assert heard.is_set()

    @pytest.mark.parametrize("setting", ["", "off"])
    def test_one_setting_turns_it_off(self, server: web.FakeServer, setting: str) -> None:
        fail_once(server)
        code = f"import sapwood; sapwood.open('{server.url}/f.root')['t']['x'].array(library='np')"
        done = run(code, SAPWOOD_LOG=setting)
        said = [line for line in done.stderr.splitlines() if "retry 1 of 3" in line]
        assert len(said) == (0 if setting else 1)


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    everything = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], env=everything, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done


class TestJsonLines:
    def test_a_file_is_exported_when_it_is_closed(self, server: web.FakeServer, tmp_path: Path) -> None:
        monitoring.jsonl(tmp_path / "log.jsonl")
        report = read(f"{server.url}/f.root?token={SECRET}")
        read(f"{server.url}/f.root")
        assert monitoring.flush(20)
        text = (tmp_path / "log.jsonl").read_text()
        first, second = lines(text)
        assert SECRET not in text
        assert first["event"] == "closed" and first["file"] == f"{server.url}/f.root?token=…"
        assert first["fetched_bytes"] == report.fetched_bytes
        assert first["size"] == len(server.content)
        (source,) = first["sources"]
        (reported,) = report.sources
        assert source.pop("busy_seconds") == pytest.approx(reported.busy_seconds)
        expected = {"server": reported.server, **as_json(reported)}
        assert source == {name: value for name, value in expected.items() if name != "busy_seconds"}
        assert source["server"] == f"127.0.0.1:{server.port}"
        assert first["start"] <= first["end"] <= second["end"]
        assert first["unique_id"] != second["unique_id"]

    def test_an_unreferenced_file_is_exported(self, path: Path) -> None:
        text = io.StringIO()
        monitoring.jsonl(text)
        file = sapwood.open(path)
        assert file.keys() == ["t;1"]
        del file
        gc.collect()
        assert monitoring.flush(20)
        assert [one["event"] for one in lines(text.getvalue())] == ["closed"]

    def test_files_that_are_never_closed_are_exported_at_exit(self, path: Path, tmp_path: Path) -> None:
        log = tmp_path / "log.jsonl"
        code = f"import sapwood; a = sapwood.open({str(path)!r}); b = sapwood.open({str(path)!r})"
        done = run(code, SAPWOOD_MONITORING=f"jsonl:{log}, nonsense:1, udp://127.0.0.1:1")
        assert [one["event"] for one in lines(log.read_text())] == ["closed", "closed"]
        assert "SAPWOOD_MONITORING: nonsense:1: expected udp://" in done.stderr

    @pytest.mark.parametrize("method", ["fork", "spawn"])
    def test_processes_tell_of_their_own_files(self, path: Path, tmp_path: Path, method: str) -> None:
        log, script = tmp_path / "log.jsonl", tmp_path / "job.py"
        script.write_text(f"""
import multiprocessing, sapwood

def work():
    file = sapwood.open({str(path)!r})
    file.keys()

if __name__ == "__main__":
    processes = [multiprocessing.get_context({method!r}).Process(target=work) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    work()
""")
        environment = {**os.environ, "SAPWOOD_MONITORING": f"jsonl:{log}"}
        subprocess.run([sys.executable, str(script)], env=environment, check=True, timeout=60)
        records = lines(log.read_text())
        assert [one["event"] for one in records] == ["closed"] * 3
        assert len({one["pid"] for one in records}) == 3

    def test_open_files_are_exported_on_request(self, path: Path) -> None:
        text, exported = io.StringIO(), threading.Event()

        class Both(monitoring.Exporter):
            def tell(self, record: FileRecord) -> None:
                if not record.closed:
                    exported.set()

        monitoring.jsonl(text)
        monitoring.add(Both())
        monitoring.every(0.02)
        with sapwood.open(path):
            assert exported.wait(20)
        assert monitoring.flush(20)
        events = [one["event"] for one in lines(text.getvalue())]
        assert events[0] == "open" and events[-1] == "closed" and events.count("closed") == 1

    def test_nothing_is_exported_after_stop(self, path: Path) -> None:
        text = io.StringIO()
        exporter = monitoring.jsonl(text)
        monitoring.stop(exporter)
        read(path)
        assert monitoring.flush(20)
        assert text.getvalue() == ""


NAMES = {
    "user_dn": str,
    "client_host": str,
    "client_domain": str,
    "server_host": str,
    "server_domain": str,
    "unique_id": str,
    "file_lfn": str,
    "file_size": int,
    "cmssw_version": str,
    "read_type": str,
    "read_bytes": int,
    "read_bytes_at_close": int,
    "read_single_operations": int,
    "read_single_bytes": int,
    "read_vector_operations": int,
    "read_vector_bytes": int,
    "start_time": int,
    "end_time": int,
}
"""The fields that every packet of CMSSW has."""


def use(server: str, *requests: list[int], **events: int) -> SourceUse:
    return SourceUse.of(server, requests, 0.5 * len(requests), events)


def record(*sources: SourceUse, before: FileRecord | None = None, end: float = 20.0) -> FileRecord:
    figures = dict.fromkeys(
        (
            "wanted_bytes",
            "overread_bytes",
            "retries",
            "decompressed_bytes",
            "wait_seconds",
            "decompress_seconds",
            "decode_seconds",
        ),
        1,
    )
    return FileRecord(
        "https://a.b.example/store/x.root", 1000, 7, 10.0, end, True, figures, sources, (), before
    )


class TestPackets:
    def test_a_file_that_is_read(self, server: web.FakeServer, collector: socket.socket) -> None:
        monitoring.udp(place(collector))
        report = read(f"{server.url}/store/f.root?token={SECRET}")
        datagram = collector.recv(1 << 16)
        packet = json.loads(datagram)
        assert SECRET.encode() not in datagram
        assert {name: type(packet.get(name)) for name in NAMES} == NAMES
        assert packet["read_bytes"] == report.sources[0].fetched_bytes
        assert packet["read_bytes"] == packet["read_single_bytes"] + packet["read_vector_bytes"]
        assert packet["file_lfn"] == "/store/f.root"
        assert packet["server_host"] == "127.0.0.1" and packet["server_port"] == server.port
        assert packet["user_dn"] == "not reported"
        assert len(datagram) < 1400

    def test_one_for_each_server_with_its_own_figures(self) -> None:
        packets = Packets("h:1", user="me", site="T2_X", extra=True)
        one = use("xrd.a.example:1094", [10], [30], [5, 7, 9], [1, 2], retried=2)
        first, second = packets.packets(record(one, use("[::1]:80", [100])))
        assert first["site_name"] == "T2_X" and first["user_dn"] == "me"
        assert (first["server_host"], first["server_domain"]) == ("xrd", "a.example")
        assert first["read_single_operations"] == 2 and first["read_single_average"] == 20
        assert first["read_single_sigma"] == np.std([10, 30])
        assert first["read_vector_operations"] == 2 and first["read_vector_bytes"] == 24
        assert first["read_vector_average"] == np.mean([21, 3])
        assert first["read_vector_sigma"] == np.std([21, 3])
        assert first["read_vector_count_average"] == 2.5 and first["read_vector_count_sigma"] == 0.5
        assert first["read_errors"] == 2 and first["read_seconds"] == 2.0
        assert "fallback" not in first and second["fallback"] is True
        assert (second["server_host"], second["server_domain"]) == ("::1", "unknown")
        assert "read_vector_average" not in second
        assert first["unique_id"] != second["unique_id"] and first["file_id"] == second["file_id"]

    def test_what_a_file_is_to_the_job(self, tmp_path: Path, collector: socket.socket) -> None:
        for name in ("main", "friend"):
            with sapwood.recreate(tmp_path / f"{name}.root") as file:
                file["Events"] = {name: np.arange(3)}
        monitoring.udp(place(collector))
        kinds: dict[str, set[str]] = {}
        with sapwood.open(tmp_path / "main.root") as main:
            main.beside("friend.root").close()
        with sapwood.Background(f"{tmp_path}/friend.root:Events", seed=1) as pool:
            pool.take(1)
        assert monitoring.flush(20)
        collector.settimeout(0.5)
        with contextlib.suppress(TimeoutError):
            while True:
                packet = json.loads(collector.recv(1 << 16))
                kinds.setdefault(Path(packet["file_lfn"]).stem, set()).add(packet["read_type"])
        assert kinds == {"main": {"primary"}, "friend": {"secondary", "embedded"}}

    def test_the_version_of_the_application(self, monkeypatch: pytest.MonkeyPatch) -> None:
        packets = Packets("h:1", user=False, site=None, extra=False)
        monkeypatch.delenv("CMSSW_VERSION", raising=False)
        (packet,) = packets.packets(record(use("a:1", [10])))
        assert packet["cmssw_version"] == f"sapwood/{sapwood.__version__}"
        monkeypatch.setenv("CMSSW_VERSION", "CMSSW_14_0_0")
        (packet,) = packets.packets(record(use("a:1", [10])))
        assert packet["cmssw_version"] == "CMSSW_14_0_0"

    def test_packets_of_one_file_add_up(self) -> None:
        packets = Packets("h:1", user=False, site=None, extra=False)
        early = record(use("a:1", [10], [1, 2]), end=15.0)
        late = record(use("a:1", [10], [1, 2], [70]), use("b:1", [5]), before=early)
        nothing = record(*late.sources, before=late)
        sent = [*packets.packets(early), *packets.packets(late), *packets.packets(nothing)]
        assert [(one["server_host"], one["read_bytes"]) for one in sent] == [("a", 13), ("a", 70), ("b", 5)]
        assert [(one["start_time"], one["end_time"]) for one in sent] == [(10, 15), (15, 20), (15, 20)]
        assert not {"read_seconds", "app"} & sent[0].keys()

    def test_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert logical_name("root://h:1094//store/mc/x.root") == "/store/mc/x.root"
        assert logical_name("s3://b/x.root") == "s3://b/x.root"
        assert len(logical_name("/" + 5000 * "x")) == 1024
        assert host_and_port("udp://h", 3334) == ("h", 3334)
        assert host_and_port("[::1]:5", 3334) == ("::1", 5)
        for wrong in ("", "h:x", "h:1/path"):
            with pytest.raises(errors.UsageError):
                host_and_port(wrong, 1)
        monkeypatch.setenv("CRAB_UNIQUE_JOB_ID", "job 1")
        monkeypatch.setenv("SAPWOOD_SITE", "T3_Y")
        (packet,) = Packets("h:1", user=True, site=None, extra=True).packets(record(use("a:1", [1])))
        assert packet["app_info"] == "job 1" and packet["site_name"] == "T3_Y"
        assert packet["user_dn"] not in ("", "not reported")


class TestWhoDoesNotListen:
    def test_a_dead_collector_breaks_nothing(
        self, path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
            gone.bind(("127.0.0.1", 0))
            dead = place(gone)
        monitoring.udp(dead)
        monitoring.udp("no-such-host.invalid:1")
        monitoring.jsonl(tmp_path / "no such directory" / "log.jsonl")
        monitoring.textfile(tmp_path / "no such directory" / "x.prom")
        text = io.StringIO()
        monitoring.jsonl(text)
        for _ in range(3):
            read(path)
        assert monitoring.flush(60)
        assert len(lines(text.getvalue())) == 3
        said = [one.getMessage() for one in caplog.records if one.name == "sapwood.monitoring"]
        assert sum("no such directory/log" in one for one in said) == 1

    def test_one_that_hangs_delays_nothing(self, path: Path) -> None:
        free, begun = threading.Event(), threading.Event()

        class Hangs(monitoring.Exporter):
            def tell(self, record: FileRecord) -> None:
                begun.set()
                free.wait(60)

        monitoring.add(Hangs())
        read(path)
        assert begun.wait(20)
        for _ in range(3):
            read(path)
        assert not monitoring.flush(0.01)
        free.set()
        assert monitoring.flush(20)


class TestPrometheus:
    def test_text(self, path: Path) -> None:
        monitoring.prometheus()
        before = samples(monitoring.prometheus())
        report = read(path)
        with sapwood.open(path):
            after = samples(monitoring.prometheus())
        name = 'sapwood_source_fetched_bytes_total{server="local"}'
        both = after[name] - before.get(name, 0)
        assert report.fetched_bytes < both <= 2 * report.fetched_bytes
        assert after["sapwood_files_opened_total"] - before["sapwood_files_opened_total"] == 2
        assert after["sapwood_files_open"] - before["sapwood_files_open"] == 1

    def test_sums_labels_and_bounds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        metrics = Metrics()
        early = record(use("a:1", [10]))
        metrics.tell(early)
        metrics.tell(record(use("a:1", [10], [1, 2], left=1), use('q"\\', [3]), before=early))
        found = samples(metrics.now())
        assert found['sapwood_source_fetched_bytes_total{server="a:1"}'] == 13
        assert found['sapwood_source_reads_total{server="a:1",kind="vector"}'] == 1
        assert found['sapwood_source_events_total{server="a:1",event="left"}'] == 1
        assert found['sapwood_source_fetched_bytes_total{server="q\\"\\\\"}'] == 3
        assert found["sapwood_retries_total"] == 1
        monkeypatch.setattr("sapwood.monitoring._prometheus.MOST_SERVERS", 2)
        for number in range(5):
            metrics.tell(record(use(f"new{number}:1", [2])))
        assert samples(metrics.now())['sapwood_source_fetched_bytes_total{server="other"}'] == 10

    def test_a_file_and_a_server(self, path: Path, tmp_path: Path) -> None:
        monitoring.textfile(tmp_path / "{pid}.prom")
        server = monitoring.serve(0)
        read(path)
        assert monitoring.flush(20)
        # What is exported last is written when nothing more waits.
        assert monitoring.flush(20)
        text = (tmp_path / f"{os.getpid()}.prom").read_text()
        assert samples(text)["sapwood_files_opened_total"] >= 1
        assert [one.name for one in tmp_path.iterdir()] == [f"{os.getpid()}.prom"]
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=20) as answer:  # type: ignore[attr-defined]
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert samples(answer.read().decode()).keys() == samples(text).keys()


def samples(text: str) -> dict[str, float]:
    assert text.endswith("\n")
    found = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    assert all(name.startswith("sapwood_") for name, _ in found)
    return {name: float(value) for name, value in found}


def test_spans_of_opentelemetry(server: web.FakeServer) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    monitoring.opentelemetry()
    fail_once(server)
    with provider.get_tracer("job").start_as_current_span("analysis"):
        report = read(f"{server.url}/f.root?token={SECRET}")
    assert monitoring.flush(20)
    spans = {span.name: span for span in kept.get_finished_spans()}
    file, source, job = spans["sapwood.file"], spans["sapwood.source"], spans["analysis"]
    assert file.parent.span_id == job.context.span_id
    assert source.parent.span_id == file.context.span_id
    assert source.attributes["server.port"] == server.port
    assert source.attributes["sapwood.fetched_bytes"] == report.sources[0].fetched_bytes
    assert not source.status.is_ok
    assert [event.name for event in file.events] == ["opened", "retried"]
    assert file.start_time < file.end_time
    assert SECRET not in file.to_json() + source.to_json()


def test_nothing_is_watched_unless_asked(path: Path) -> None:
    assert HUB.exporters == []
    with sapwood.open(path):
        assert not HUB._open
    assert math.isfinite(read(path).elapsed_seconds)
