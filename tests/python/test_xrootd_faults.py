"""Misbehaving root:// servers: reads end in time with the right data or a typed error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import xrootd_fake as fake
from timing import within

import sapwood
from sapwood import _core, errors

SHIMS = list(Path(_core.__file__ or "").parent.glob("_xrdcl*.so"))
pytestmark = pytest.mark.skipif(
    not SHIMS, reason="root:// is not tested: no XRootD client (make servers build)"
)


@pytest.fixture(scope="module")
def content(events_file: Path) -> bytes:
    return events_file.read_bytes()


def runs(url: str, deadline: float = 20) -> int:
    with sapwood.open(f"{url}:Events", deadline=deadline) as tree:
        return len(tree["run"].array(library="np"))


def test_a_server_without_the_optional_requests_is_read(content: bytes) -> None:
    def behave(number: int, before: int) -> fake.Answer | None:
        return fake.error(fake.UNSUPPORTED, "no") if number == fake.STAT else None

    with fake.FakeServer(content, behave) as server:
        assert runs(server.url) == 1000


def test_a_busy_server_is_asked_again(content: bytes) -> None:
    def behave(number: int, before: int) -> fake.Answer | None:
        return fake.error(3024, "overloaded") if number == fake.OPEN and before < 2 else None

    with fake.FakeServer(content, behave) as server:
        assert runs(server.url) == 1000
        assert server.counts[fake.OPEN] == 3


def test_a_server_that_says_wait_is_waited_for(content: bytes) -> None:
    def behave(number: int, before: int) -> fake.Answer | None:
        return fake.wait(1) if number == fake.OPEN and before == 0 else None

    with fake.FakeServer(content, behave) as server, within(10):
        assert runs(server.url) == 1000


def test_a_server_that_always_says_wait_meets_the_deadline(content: bytes) -> None:
    def behave(number: int, before: int) -> fake.Answer | None:
        return fake.wait(60) if number == fake.OPEN else None

    with fake.FakeServer(content, behave) as server, within(3), pytest.raises(errors.DeadlineError):
        runs(server.url, deadline=2)


def test_a_redirect_loop_ends(content: bytes) -> None:
    def behave(number: int, before: int) -> fake.Answer | None:
        return fake.redirect(server.port) if number == fake.OPEN else None

    refused = pytest.raises(errors.ServerError, match="Redirect limit")
    with fake.FakeServer(content, behave) as server, within(20), refused:
        runs(server.url)


def test_a_broken_connection_is_opened_again(content: bytes) -> None:
    def behave(number: int, before: int) -> fake.Answer | None:
        if number == fake.READV and before == 0:
            raise ConnectionError
        return None

    with fake.FakeServer(content, behave) as server:
        assert runs(server.url) == 1000
        assert server.counts[fake.LOGIN] == 2


def test_all_connections_of_a_process_share_one_event_loop(content: bytes, tmp_path: Path) -> None:
    # With two, XRootD's client 5.5.3 crashed once in some thousand broken connections.
    log = tmp_path / "client.log"
    code = "import sapwood; print(len(sapwood.open({!r})['Events']['run'].array(library='np')))"
    with fake.FakeServer(content) as server:
        done = subprocess.run(
            [sys.executable, "-c", code.format(server.url)],
            env={**os.environ, "XRD_LOGLEVEL": "Debug", "XRD_LOGFILE": str(log)},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.stdout.strip() == "1000", done.stderr
    assert "Using 1 poller threads" in log.read_text()


def test_a_server_that_sends_too_little_is_reported(content: bytes) -> None:
    with fake.FakeServer(content, lambda *_: None) as server, within(21):
        server.cut = 1
        with pytest.raises((errors.ServerError, errors.NetworkError, errors.DeadlineError)):
            runs(server.url)


def test_a_file_of_another_size_is_reported(content: bytes) -> None:
    with fake.FakeServer(content, lambda *_: None) as server:
        tree = sapwood.open(f"{server.url}:Events", deadline=20)
        tree.file.close()

        def behave(number: int, before: int) -> fake.Answer | None:
            return (fake.OK, b"1 999 16 1000\0") if number == fake.STAT else None

        server.behave = behave
        with pytest.raises(errors.FileChangedError):
            runs(server.url)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (3010, PermissionError),
        (3011, FileNotFoundError),
        (3012, errors.ServerError),
        (3016, errors.UsageError),
        (3030, PermissionError),
    ],
)
def test_errors_of_servers_have_types(content: bytes, number: int, kind: type[Exception]) -> None:
    def behave(request: int, before: int) -> fake.Answer | None:
        return fake.error(number, "no: /f.root?authz=sesame") if request == fake.OPEN else None

    with fake.FakeServer(content, behave) as server:
        with pytest.raises(kind) as caught:
            runs(server.url)
        assert "sesame" not in str(caught.value)
