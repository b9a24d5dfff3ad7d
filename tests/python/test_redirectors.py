"""XRootD redirectors: the servers that they name, some of which fail."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import xrootd_fake
import xrootd_server
from replica_file import ENTRIES, check, make
from report_sums import assert_adds_up

import sapwood
from sapwood import _core, errors

HAS_CLIENT = any(Path(_core.__file__ or "").parent.glob("_xrdcl*.so"))
pytestmark = pytest.mark.skipif(not HAS_CLIENT, reason="root:// is not tested: no XRootD client")

XRootD = Callable[..., xrootd_fake.FakeServer]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return make(tmp_path_factory.mktemp("replicas") / "x.root")


@pytest.fixture
def xrootd(content: bytes) -> Iterator[XRootD]:
    """Starts servers that speak a little of XRootD."""
    with ExitStack() as stack:
        yield lambda *behave: stack.enter_context(xrootd_fake.FakeServer(content, *behave))


def test_a_redirector_is_asked_for_another_server(xrootd: XRootD) -> None:
    one, other = xrootd(), xrootd()

    def redirect(number: int, before: int) -> xrootd_fake.Answer | None:
        if number != xrootd_fake.OPEN:
            return None
        tried = "tried=" in head.opened[-1]
        return xrootd_fake.redirect(*((other.port, "localhost") if tried else (one.port, "127.0.0.1")))

    head = xrootd(redirect)
    with sapwood.open(head.url) as file:
        broken = xrootd_fake.error(3012, "broken")
        one.behave = lambda number, before: broken if number == xrootd_fake.READV else None
        check(file["t"])
        report = file.report()
        assert f"localhost:{other.port}" in report.by_server
    assert_adds_up(report)
    # The redirector was asked, but sent nothing.
    assert f"127.0.0.1:{head.port}" in {use.server for use in report.sources} - report.by_server.keys()
    assert any("tried=127.0.0.1&triedrc=resel" in path for path in head.opened)


def test_a_server_that_fails_while_opening_is_excluded(
    xrootd: XRootD,
) -> None:
    bad = xrootd(lambda number, before: xrootd_fake.error(3010, "no") if number == xrootd_fake.OPEN else None)
    good = xrootd()

    def redirect(number: int, before: int) -> xrootd_fake.Answer | None:
        if number != xrootd_fake.OPEN:
            return None
        tried = "tried=" in head.opened[-1]
        return xrootd_fake.redirect(*((good.port, "localhost") if tried else (bad.port, "127.0.0.1")))

    head = xrootd(redirect)
    with sapwood.open(head.url) as file:
        assert file["t"].num_entries == ENTRIES
        assert file.report().by_server.keys() == {f"localhost:{good.port}"}
    assert "tried=127.0.0.1" in head.opened[-1]


def test_a_file_that_a_redirector_does_not_find_does_not_exist(xrootd: XRootD) -> None:
    head = xrootd(
        lambda number, before: xrootd_fake.error(3011, "no") if number == xrootd_fake.OPEN else None
    )
    with pytest.raises(errors.FileNotFoundError):
        sapwood.open(head.url)
    assert len(head.opened) == 1


def test_located_servers_replace_a_silent_one(
    xrootd: XRootD,
) -> None:
    silent = xrootd(lambda number, before: xrootd_fake.silence if number == xrootd_fake.OPEN else None)
    good = xrootd()
    head = xrootd(
        lambda number, before: xrootd_fake.redirect(silent.port) if number == xrootd_fake.OPEN else None
    )
    head.located = f"Srlocalhost:{good.port}".encode()
    with sapwood.open(head.url, deadline=20) as file:
        assert file.report().by_server.keys() == {f"localhost:{good.port}"}


def test_a_silent_server_does_not_end_the_search_for_others(xrootd: XRootD) -> None:
    one, other, third = xrootd(), xrootd(), xrootd()

    def redirect(number: int, before: int) -> xrootd_fake.Answer | None:
        if number != xrootd_fake.OPEN:
            return None
        tried = "".join(head.opened[-1].partition("tried=")[1:])
        if "localhost" in tried:
            return xrootd_fake.error(3011, "no more")
        return xrootd_fake.redirect(*((other.port, "localhost") if tried else (one.port, "127.0.0.1")))

    head = xrootd(redirect)
    head.located = f"Sr127.0.0.1:{third.port}".encode()
    with sapwood.open(head.url, deadline=60, probe_interval=0) as file:
        check(file["t"])
        assert file.report().by_server.keys() == {f"127.0.0.1:{one.port}", f"localhost:{other.port}"}
        assert one.asked_for_role == 1
        one.behave = lambda number, before: xrootd_fake.silence
        begin = time.monotonic()
        while f"127.0.0.1:{third.port}" not in file.report().by_server:
            assert time.monotonic() - begin < 10
            check(file["t"])
        assert one.asked_for_role == 1


def test_a_cache_is_asked_once(xrootd: XRootD) -> None:
    cache = xrootd()
    cache.role = xrootd_fake.IS_SERVER | xrootd_fake.IS_PROXY
    head = xrootd(
        lambda number, before: (
            xrootd_fake.redirect(cache.port, "localhost") if number == xrootd_fake.OPEN else None
        )
    )
    with sapwood.open(head.url) as file:
        check(file["t"])
    assert len(head.opened) == 1 and xrootd_fake.LOCATE not in head.counts


@pytest.mark.skipif(xrootd_server.missing() is not None, reason="root:// is not tested: no server")
def test_a_redirector_of_two_servers_one_of_which_stops(content: bytes) -> None:
    with ExitStack() as stack:
        roots = [Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sapwood-"))) for _ in range(2)]
        for root in roots:
            root.chmod(0o755)
            (root / "x.root").write_bytes(content)
        head = stack.enter_context(xrootd_server.redirector(roots))
        # Both servers have one host, so that the redirector cannot be told which of them failed.
        file = sapwood.open(f"{head.url}//x.root", deadline=240)
        (first,) = {server for *_, server in file._core.trace()}
        for server in head.servers:
            if first is not None and first.endswith(f":{server.port}"):
                server.kill()
        check(file["t"])
        used = file.report().by_server.keys()
        assert any(name.endswith(f":{server.port}") for name in used - {first} for server in head.servers)
