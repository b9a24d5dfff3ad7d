"""Deadlines hold in every step of every call; Ctrl-C interrupts waits; retries are logged and counted."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import http_fake as web
import numpy as np
import pytest
import xrootd_fake as root

import sapwood
from sapwood import _core, errors

HAS_XROOTD = bool(list(Path(_core.__file__ or "").parent.glob("_xrdcl*.so")))
needs_xrootd = pytest.mark.skipif(
    not HAS_XROOTD, reason="root:// is not tested: no XRootD client (make servers build)"
)

# The first use of a name imports its modules, on top of the deadline of the call: that is not measured here.
IMPORTED = [sapwood.open, sapwood.concatenate, sapwood.iterate, sapwood.num_entries]

ENTRIES = 50_000


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file whose keys and tree ``t`` do not come with what is read from the end while opening."""
    uproot = pytest.importorskip("uproot")
    path = tmp_path_factory.mktemp("deadlines") / "f.root"
    with uproot.recreate(path, compression=None) as file:
        file.mktree("t", {"x": "f8"}).extend({"x": np.arange(ENTRIES, dtype="f8")})
        for number in range(100):
            file[f"sub/{'long' * 60}{number}"] = "text"
        file.mktree("filler", {"y": "f8"}).extend({"y": np.zeros(400_000)})
    return path.read_bytes()


@pytest.fixture
def server(content: bytes) -> Iterator[web.FakeServer]:
    with web.FakeServer(content) as server:
        yield server


@contextlib.contextmanager
def late(seconds: float) -> Iterator[None]:
    """What fails because ``seconds`` passed, and soon: a second later, or what a busy machine makes of it."""
    start = time.monotonic()
    with pytest.raises(errors.DeadlineError):
        yield
    assert time.monotonic() - start < seconds + 3


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "arrays": lambda file, tree: tree.arrays(deadline=0.4),
    "array": lambda file, tree: tree["x"].array(deadline=0.4),
    "iterate": lambda file, tree: list(tree.iterate(deadline=0.4)),
    "keys": lambda file, tree: file.keys(deadline=0.4),
    "classnames": lambda file, tree: file.classnames(deadline=0.4),
    "items": lambda file, tree: file.items(deadline=0.4),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_call_has_a_deadline(server: web.FakeServer, call: str) -> None:
    with sapwood.open(f"{server.url}/f.root", deadline=30) as file:
        tree = file["t"]
        server.behave = lambda request: web.silence
        with late(0.4):
            CALLS[call](file, tree)


@pytest.mark.parametrize(
    "call",
    [
        lambda url: sapwood.open(url, deadline=0.4),
        lambda url: sapwood.concatenate([f"{url}:t"] * 3, deadline=0.4),
        lambda url: list(sapwood.iterate([f"{url}:t"] * 3, deadline=0.4)),
        lambda url: list(sapwood.num_entries([f"{url}:t"] * 3, deadline=0.4)),
        lambda url: sapwood.concatenate(f"{url[:-6]}*.root:t", deadline=0.4),
    ],
    ids=["open", "concatenate", "iterate", "num_entries", "glob"],
)
@pytest.mark.parametrize("protocol", ["http", "s3", pytest.param("root", marks=needs_xrootd)])
def test_files_that_do_not_open(
    content: bytes, protocol: str, call: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.ExitStack() as stack:
        if protocol == "root":
            fake = stack.enter_context(root.FakeServer(content))
            fake.behave = lambda number, before: None if number in root.FIRST_CONTACT else root.silence
            url = fake.url
        else:
            server = stack.enter_context(web.FakeServer(content))
            server.behave = lambda request: web.silence
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
            url = "s3://runs/f.root" if protocol == "s3" else f"{server.url}/runs/f.root"
        with late(0.4):
            call(url)


SLOW_NAMES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>
int getaddrinfo(const char *node, const char *port, const struct addrinfo *hints, struct addrinfo **found) {
    if (node && strstr(node, "silent.test")) sleep(60);
    return ((__typeof__(&getaddrinfo))dlsym(RTLD_NEXT, "getaddrinfo"))(node, port, hints, found);
}
"""


@pytest.fixture(scope="module")
def slow_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that lets look-ups of ``silent.test`` hang for a minute."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("look-ups that hang are not tested: no C compiler, or not Linux")
    folder = tmp_path_factory.mktemp("names")
    (folder / "slow.c").write_text(SLOW_NAMES)
    command = [compiler, "-shared", "-fPIC", "-o", "slow.so", "slow.c", "-ldl"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "slow.so"


@pytest.mark.parametrize(
    "url",
    [
        "http://silent.test/f.root",
        "davs://silent.test/*.root:t",
        "s3://runs/f.root",
        pytest.param("root://silent.test//f.root", marks=needs_xrootd),
        pytest.param("root://silent.test//*.root:t", marks=needs_xrootd),
    ],
)
def test_names_that_are_not_looked_up(slow_names: Path, url: str) -> None:
    code = """
        import sapwood, sys
        try:
            sapwood.concatenate(sys.argv[1], deadline=0.4)
        except sapwood.errors.DeadlineError:
            sys.exit(7)
    """
    keys = {"AWS_ENDPOINT_URL": "http://silent.test", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), url],
        env={**os.environ, **keys, "LD_PRELOAD": str(slow_names)},
        capture_output=True,
        text=True,
        # Also the end of the process waits for nobody.
        timeout=30,
    )
    assert done.returncode == 7, done.stderr


@pytest.mark.parametrize("service", ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ENDPOINT_URL_STS"])
def test_credentials_that_do_not_come(service: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "token").write_text("t")
    with socket.create_server(("127.0.0.1", 0)) as silent, late(0.4):
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        if service == "AWS_ENDPOINT_URL_STS":
            monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
            monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")
            monkeypatch.setenv(service, f"https://{place}")
        else:
            monkeypatch.setenv(service, f"http://{place}/keys")
            monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
        sapwood.open("s3://runs/f.root", endpoint="http://127.0.0.1:9", deadline=0.4)


def test_retries_are_counted_and_logged_once(
    server: web.FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.INFO, "sapwood"),
        sapwood.open(f"{server.url}/f.root:t", deadline=30) as tree,
    ):
        assert tree.file.report().retries == 0
        left = iter(range(2))
        server.behave = lambda request: web.reset if next(left, None) is not None else None
        assert len(tree["x"].array(library="np")) == ENTRIES
        retries = tree.file.report().retries
        assert 1 <= retries <= 2
    said = [record.getMessage() for record in caplog.records if record.name == "sapwood.source"]
    assert len(said) == retries
    assert said[0].startswith(f"{server.url}/f.root: ") and "retry 1 of 3" in said[0]


def test_a_late_error_says_what_failed_before(server: web.FakeServer) -> None:
    with sapwood.open(f"{server.url}/f.root:t", deadline=30) as tree:
        server.behave = lambda request: web.answer("503 Busy", Retry_After="60")
        with pytest.raises(errors.DeadlineError, match="before: the server answered 503"):
            tree["x"].array(deadline=1)


def test_only_the_ranges_that_failed_are_asked_for_again(content: bytes, tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    names = [f"x{i}" for i in range(17)]
    path = tmp_path / "wide.root"
    with uproot.recreate(path, compression=None) as file:
        file.mktree("t", dict.fromkeys(names, "f8")).extend({name: np.arange(20_000.0) for name in names})
        file.mktree("filler", {"y": "f8"}).extend({"y": np.zeros(400_000)})

    def requests() -> int:
        with (
            web.FakeServer(path.read_bytes()) as server,
            sapwood.open(f"{server.url}/f.root:t", deadline=30) as tree,
        ):
            before, cut = server.requests, iter(range(1))
            server.behave = lambda request: web.cut if next(cut, None) is not None else None
            assert len(tree.arrays(names[::8], library="np")["x0"]) == 20_000
            return server.requests - before

    # Three columns, further apart than any gap that is over-read, and the one that was cut off once more. To
    # a busy machine the server seems far away, so that larger gaps are over-read.
    assert any(requests() == 4 for _ in range(5))


WAITS = {
    "open": "sapwood.open(url, deadline=60)",
    "concatenate": "sapwood.concatenate([url + ':t'] * 9, deadline=60)",
    "a glob": "sapwood.concatenate(url[:-6] + '*.root:t', deadline=60)",
}


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("protocol", ["http", pytest.param("root", marks=needs_xrootd)])
def test_ctrl_c_ends_a_wait(content: bytes, protocol: str, wait: str) -> None:
    code = f"""
        import sapwood, signal, sys
        # Jobs in the background of a shell, such as a whole test run may be, are started with Ctrl-C ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # Python may lose a Ctrl-C that comes while it imports a module, as the first use of these names does.
        sapwood.open, sapwood.concatenate
        url = sys.argv[1]
        try:
            {WAITS[wait]}
        except KeyboardInterrupt:
            sys.exit(7)
    """
    asked = threading.Event()

    def silence(misdeed: Any) -> Any:
        asked.set()
        return misdeed

    with contextlib.ExitStack() as stack:
        if protocol == "root":
            fake = stack.enter_context(root.FakeServer(content))
            fake.behave = lambda number, before: (
                None if number in root.FIRST_CONTACT else silence(root.silence)
            )
            url = fake.url
        else:
            server = stack.enter_context(web.FakeServer(content))
            server.behave = lambda request: silence(web.silence)
            url = f"{server.url}/f.root"
        process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(code), url], stderr=subprocess.PIPE, text=True
            )
        )
        stack.callback(process.kill)
        assert asked.wait(60)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        _, said = process.communicate(timeout=20)
        assert process.returncode == 7 and said == ""
        # Also the end of the process, which closes what is open.
        assert time.monotonic() - start < 4


@needs_xrootd
def test_closing_never_waits(content: bytes) -> None:
    code = """
        import sapwood, sys, time
        files = [sapwood.open(sys.argv[1], deadline=30) for _ in range(3)]
        start = time.monotonic()
        files[0].close()
        print(time.monotonic() - start)
    """
    with root.FakeServer(content) as fake:
        fake.behave = lambda number, before: root.silence if number == root.CLOSE else None
        start = time.monotonic()
        command = [sys.executable, "-c", textwrap.dedent(code), fake.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        assert float(done.stdout) < 0.5
        # The end of the process gives servers a second to close files.
        assert time.monotonic() - start < 8
