"""Datasets while servers die and answers are cut: nothing is lost, and nothing is duplicated."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import radosgw_server
import s3_server
import stripe_faults_work as work
import testkit

from sapwood import errors, stripe

pytest.importorskip("awkward")
RADOSGW = os.environ.get("SAPWOOD_RADOSGW") != "0" and radosgw_server.missing() is None


@pytest.fixture(autouse=True)
def no_other_servers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "S3_", "BEARER_TOKEN", "X509_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture(
    params=[
        pytest.param(
            "versitygw", marks=pytest.mark.skipif(s3_server.missing() is not None, reason="no S3 server")
        ),
        pytest.param("radosgw", marks=pytest.mark.skipif(not RADOSGW, reason="Ceph is missing or unwanted")),
    ]
)
def gateways(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[s3_server.Server]]:
    """Two servers for the same objects; the environment names the first."""
    with contextlib.ExitStack() as stack:
        if request.param == "radosgw":
            both = stack.enter_context(radosgw_server.cluster(gateways=2)).gateways
        else:
            first = stack.enter_context(s3_server.s3_server())
            both = [first, stack.enter_context(s3_server.another_gateway(first))]
        for name, value in both[0].variables.items():
            monkeypatch.setenv(name, value)
        yield both


class TestKilledServers:
    def test_a_server_that_is_killed_again_and_again_loses_nothing(
        self, gateways: list[s3_server.Server], tmp_path: Path
    ) -> None:
        place, jobs = "s3://data/sets/ttbar", list(range(1, 9))
        stripe.create(place, work.write(tmp_path, 0), batch=20)
        with work.writers(place, [jobs[::2], jobs[1::2]]) as processes:
            # After each job that is done, while the other process is in the midst of something.
            for _ in jobs[::2]:
                processes[0].stdout.readline()
                gateways[0].kill()
                gateways[0].start()
        work.check(place, [0, *jobs])

    def test_reads_while_servers_are_killed_are_right_or_an_error(
        self, gateways: list[s3_server.Server], tmp_path: Path
    ) -> None:
        place = "s3://data/sets/ttbar"
        stripe.create(place, work.write(tmp_path, 0), batch=20)
        for job in range(1, 4):
            work.append(place, "", tmp_path, job)
        done = threading.Event()

        def kill() -> None:
            while not done.wait(0.1):
                gateways[0].kill()
                gateways[0].start()

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            for _ in range(10):
                with contextlib.suppress(errors.NetworkError, errors.ServerError, errors.DeadlineError):
                    assert work.jobs_of(place) == [0, 1, 2, 3]
        finally:
            done.set()
            killer.join()
        assert work.jobs_of(place) == [0, 1, 2, 3]

    def test_a_creation_that_was_cut_off_is_taken_up(
        self, gateways: list[s3_server.Server], tmp_path: Path
    ) -> None:
        place, source = "s3://data/sets/ttbar", work.write(tmp_path, 0)
        done = threading.Event()

        def kill() -> None:
            while not done.wait(0.2):
                gateways[0].kill()
                gateways[0].start()

        def create() -> None:
            stripe.create(place, source, batch=20, job=("first", 1), deadline=60)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            with contextlib.suppress(*work.PASSING):
                create()
        finally:
            done.set()
            killer.join()
        with contextlib.suppress(errors.UsageError):
            create()
        work.check(place, [0])


class Unconditional(http.server.BaseHTTPRequestHandler):
    """Passes requests on without their conditions, as some proxies and servers do."""

    protocol_version = "HTTP/1.1"
    gateway: s3_server.Server

    def do_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        # The condition is signed, too: what passes it on has keys of its own.
        path, _, query = self.path.partition("?")
        query = "&".join(sorted(part if "=" in part else f"{part}=" for part in query.split("&") if part))
        names = ("content-md5", "content-type", "x-amz-checksum-sha256", "range")
        kept = {name: self.headers[name] for name in names if name in self.headers}
        headers = s3_server._signature(self.gateway, self.command, path, query, body, kept)
        connection = http.client.HTTPConnection(self.gateway.address, timeout=30)
        with contextlib.closing(connection):
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else len(content)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = do_any

    def log_message(self, *_: object) -> None:
        """Says nothing."""


class TestServersThatCannotHoldDatasets:
    def test_conditions_that_are_dropped_are_found_before_anything_is_written(
        self, gateways: list[s3_server.Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        handler = type("Handler", (Unconditional,), {"gateway": gateways[0]})
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever).start()
            try:
                monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
                with pytest.raises(errors.UnsupportedTypeError, match="cannot hold a dataset"):
                    stripe.create("s3://data/sets/ttbar", work.write(tmp_path, 0))
            finally:
                server.shutdown()
        assert gateways[0].listed("") == {}


class TestTwoGateways:
    def test_writers_on_both_lose_nothing(self, gateways: list[s3_server.Server], tmp_path: Path) -> None:
        place, jobs = "s3://data/sets/ttbar", list(range(1, 13))
        stripe.create(place, work.write(tmp_path, 0), batch=20)
        with work.writers(place, [jobs[number::4] for number in range(4)], servers=gateways):
            pass
        work.check(place, [0, *jobs])


@testkit.needs_testkit
class TestCutAnswers:
    """Connections end after this many bytes to the client, in the midst of headers and of bodies."""

    @pytest.mark.parametrize("limit", [150, 1000, 2500, 9000])
    def test_a_whole_dataset(
        self, gateways: list[s3_server.Server], limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = "s3://data/sets/ttbar"
        stripe.create(place, work.write(tmp_path, 0), batch=20)
        made = [0]
        with testkit.proxying(gateways[0].address, "--close-after", str(limit)) as proxy:
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{proxy.url}")
            for job in (1, 2):
                try:
                    dataset = stripe.open(place, deadline=20)
                    dataset.append(work.write(tmp_path, job), batch=20, job=(f"job {job}", 1))
                    made.append(job)
                except work.PASSING:
                    pass
                with contextlib.suppress(*work.PASSING, errors.CorruptFileError):
                    assert set(made) <= set(work.jobs_of(place))
            monkeypatch.setenv("AWS_ENDPOINT_URL", gateways[0].endpoint)
        # What was reported as done is done; and nothing is done twice when it is done again.
        assert set(made) <= set(work.jobs_of(place))
        for job in (1, 2):
            work.append(place, "", tmp_path, job)
        work.check(place, [0, 1, 2])
