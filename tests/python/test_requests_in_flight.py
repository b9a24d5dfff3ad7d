"""SAPWOOD_REQUESTS_IN_FLIGHT limits what all files of a process have in flight at one server."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from typing import Any

import http_fake
import numpy as np
import pytest
import xrootd_fake

import sapwood
from sapwood import _core

LIMIT, FILES = 3, 8
ANSWER = 0.03
"""Seconds until an answer: long enough for requests to meet."""
SHIMS = list(Path(_core.__file__ or "").parent.glob("_xrdcl*.so"))


class InFlight:
    """Counts requests that wait for their answers."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.lock = threading.Lock()

    @contextmanager
    def request(self) -> Iterator[None]:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(ANSWER)
        with self.lock:
            self.now -= 1
        yield


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A tree whose columns are far from each other, and from both ends of the file."""
    path = tmp_path_factory.mktemp("in-flight") / "f.root"
    random = np.random.default_rng(1)
    with sapwood.recreate(path) as file:
        columns = {f"x{at}": random.random(50_000) for at in range(8)}
        tree = file.mktree("Events", dict.fromkeys(columns, "float64"))
        tree.extend(columns)
    return path.read_bytes()


PROGRAM = """
    import sys
    from concurrent.futures import ThreadPoolExecutor
    import sapwood

    def total(url):
        with sapwood.open(url) as tree:
            return sum(float(tree[f"x{at}"].array(library="np").sum()) for at in (0, 3, 7))

    with ThreadPoolExecutor(len(sys.argv)) as pool:
        print(len(set(pool.map(total, sys.argv[1:]))))
"""


def run(urls: list[str], limit: str | None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    environment.pop("SAPWOOD_REQUESTS_IN_FLIGHT", None)
    if limit is not None:
        environment["SAPWOOD_REQUESTS_IN_FLIGHT"] = limit
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), *urls],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )


def most_over_http(content: bytes, limit: str | None, scheme: str) -> int:
    """The most requests in flight at a server while a process reads several files."""
    counted = InFlight()

    def slowly(connection: socket, request: http_fake.Request) -> None:
        with counted.request():
            connection.sendall(request.head.encode())
            if request.method != "HEAD":
                connection.sendall(request.body)

    with http_fake.FakeServer(content) as server:
        server.behave = lambda request: slowly
        place = server.url if scheme == "http" else "s3://bucket"
        variables = {"AWS_ENDPOINT_URL_S3": server.url, "AWS_NO_SIGN_REQUEST": "1"}
        done = run([f"{place}/{at}.root:Events" for at in range(FILES)], limit, **variables)
    assert done.stdout == "1\n", done.stderr
    return counted.most


def most_over_root(content: bytes, limit: str | None) -> int:
    """The same for an XRootD server."""
    counted, sending = InFlight(), threading.Lock()

    def later(connection: socket, stream: bytes, answer: xrootd_fake.Answer) -> None:
        def send() -> None:
            with counted.request(), sending:
                connection.sendall(xrootd_fake.frame(stream, answer))

        threading.Thread(target=send, daemon=True).start()

    def behave(number: int, before: int) -> Any:
        return later if number == xrootd_fake.READV else None

    with xrootd_fake.FakeServer(content, behave) as server:
        urls = [f"root://127.0.0.1:{server.port}//{at}.root:Events" for at in range(FILES)]
        done = run(urls, limit)
    assert done.stdout == "1\n", done.stderr
    return counted.most


@pytest.mark.parametrize("scheme", ["http", "s3"])
def test_requests_over_http_are_limited(content: bytes, scheme: str) -> None:
    assert most_over_http(content, str(LIMIT), scheme) == LIMIT
    assert most_over_http(content, None, scheme) > LIMIT


@pytest.mark.skipif(not SHIMS, reason="root:// is not tested: no XRootD client (make servers build)")
def test_requests_over_root_are_limited(content: bytes) -> None:
    assert most_over_root(content, str(LIMIT)) == LIMIT
    assert most_over_root(content, None) > LIMIT


def test_one_request_at_a_time_is_enough(content: bytes) -> None:
    assert most_over_http(content, "1", "http") == 1


@pytest.mark.parametrize("limit", ["0", "many"])
def test_a_limit_that_is_no_number_is_refused(limit: str) -> None:
    done = run(["http://127.0.0.1:9/x.root:Events"], limit)
    assert f"SAPWOOD_REQUESTS_IN_FLIGHT is '{limit}'" in done.stderr and "UsageError" in done.stderr
