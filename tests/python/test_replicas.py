"""Reading a file with several replicas: the choice of servers, some of which fail."""

from __future__ import annotations

import json
import logging
import pickle
import re
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import http_fake
import pytest
import s3_server
import xrootd_server
from replica_file import ENTRIES, check, make

import sapwood
from sapwood import _core, errors

HAS_CLIENT = any(Path(_core.__file__ or "").parent.glob("_xrdcl*.so"))
needs_xrootd = pytest.mark.skipif(
    not HAS_CLIENT or xrootd_server.missing() is not None, reason="root:// is not tested: no client or server"
)
needs_s3 = pytest.mark.skipif(s3_server.missing() is not None, reason="s3:// is not tested: no server")

NOWHERE = "http://127.0.0.1:1/x.root"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where servers' own users can read."""
    with tempfile.TemporaryDirectory(prefix="sapwood-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def content(folder: Path) -> bytes:
    return make(folder / "x.root")


Web = Callable[..., http_fake.FakeServer]


@pytest.fixture
def web(content: bytes) -> Iterator[Web]:
    """Starts web servers that have the file at every path."""
    with ExitStack() as stack:
        yield lambda other=None: stack.enter_context(http_fake.FakeServer(other or content))


def missing(connection: Any, request: http_fake.Request) -> None:
    http_fake.answer("404 Not Found")(connection, request)


# Places


def test_a_logical_name_is_read_from_its_replicas(web: Web) -> None:
    one, other = web(), web()
    with sapwood.open("/store/x.root:t", replicas=[one.url + "/", other.url + "/"]).file as file:
        check(file["t"])
        assert file.file_path == "/store/x.root"
        assert file.report().by_server.keys() <= {f"127.0.0.1:{one.port}", f"127.0.0.1:{other.port}"}
        assert all(server for *_, server in file._core.trace())


def test_one_source_is_one_source(web: Web) -> None:
    one, other = web(), web()
    with sapwood.open(one.url + "/x.root", replicas=[other.url + "/"], sources=1) as file:
        check(file["t"])
    assert other.requests == 0


def test_a_place_without_the_file_is_passed_over(web: Web) -> None:
    one, other = web(), web()
    one.behave = lambda request: missing
    with sapwood.open("/store/x.root", replicas=[one.url + "/", other.url + "/"]) as file:
        check(file["t"])
        events = {(event.server, event.event) for event in file.report().log}
        assert (f"127.0.0.1:{other.port}", "opened") in events
        assert any(event == "failed" for _, event in events)


def test_a_local_copy_goes_first(web: Web, folder: Path, content: bytes) -> None:
    other = web()
    with sapwood.open(folder / "x.root", replicas=[other.url + "/x.root"]) as file:
        assert file["t"].num_entries == ENTRIES
    assert other.requests == 0


def test_a_server_that_stops_is_left(web: Web) -> None:
    one, other = web(), web()
    file = sapwood.open("/x.root", replicas=[one.url + "/", other.url + "/"])
    one.behave = lambda request: http_fake.reset
    check(file["t"])
    assert f"127.0.0.1:{other.port}" in file.report().by_server


def test_dropping_a_server_is_logged_in_one_line(web: Web, caplog: pytest.LogCaptureFixture) -> None:
    one, other = web(), web()
    with caplog.at_level(logging.INFO, "sapwood"):
        file = sapwood.open("/x.root", replicas=[one.url + "/", other.url + "/"])
        one.behave = lambda request: http_fake.reset
        before, begin = one.requests, time.monotonic()
        check(file["t"])
        seconds = time.monotonic() - begin
    lines = [record.getMessage() for record in caplog.records if record.name == "sapwood.source"]
    assert one.requests - before >= 2 and not any("retry" in line for line in lines), lines
    # It fails before another place is at hand, or after.
    left = [line for line in lines if re.search(f":{one.port} (left|retried): network", line)]
    # It is tried again after a second at the earliest, and then ever more seldom.
    assert 1 <= len(left) <= 1 + seconds, lines


def test_the_only_place_is_asked_again(web: Web, caplog: pytest.LogCaptureFixture) -> None:
    one = web()

    def retried() -> list[str]:
        return [line for record in caplog.records if " retried: network" in (line := record.getMessage())]

    with caplog.at_level(logging.INFO, "sapwood"):
        file = sapwood.open("/x.root", replicas=[one.url + "/"])
        # Where a connection was used before, its loss is not reported: a new one gets the request.
        one.behave = lambda request: None if retried() else http_fake.reset
        check(file["t"])
    assert file.report().retries == len(retried()) >= 1


def test_another_file_of_that_name_is_not_mixed_in(web: Web, tmp_path: Path) -> None:
    one, other = web(), web(make(tmp_path / "x.root", offset=0.5))
    assert len(one.content) == len(other.content)
    with sapwood.open("/x.root", replicas=[one.url + "/", other.url + "/"]) as file:
        check(file["t"])
    file = sapwood.open("/x.root", replicas=[one.url + "/", other.url + "/"], deadline=4)
    one.behave = lambda request: http_fake.reset
    with pytest.raises(errors.DeadlineError) as caught:
        file["t"].arrays()
    assert "a different file" in str(caught.value)


def test_the_same_values_in_another_file_are_another_file(web: Web, tmp_path: Path) -> None:
    one, other = web(), web(make(tmp_path / "x.root"))
    assert len(one.content) == len(other.content)
    with sapwood.open("/x.root", replicas=[one.url + "/", other.url + "/"]) as file:
        # All that differs in the file's first bytes are its UUID and the time at which it was made.
        read_until_reported(file, f":{other.port} refused: a different file")
        check(file["t"])


def read_until_reported(file: Any, text: str) -> None:
    """Reads until the log has it: what another place has is found out beside the reads."""
    end = time.monotonic() + 30
    while not any(text in str(event) for event in file.report().log):
        assert time.monotonic() < end, list(map(str, file.report().log))
        file["t"].arrays(library="np", deadline=60)


def keeps_out(file: Any, text: str) -> bool:
    """Reads until the log says that a place is refused. Returns whether that was before it was read.

    A checksum that arrives late, as from a busy server, finds that the place has been read. Then all that was
    read is refused.
    """
    try:
        read_until_reported(file, text)
    except errors.FileChangedError as error:
        assert "cannot be trusted" in str(error)
        assert any(text in str(event) for event in file.report().log)
        return False
    return True


def read_until_used(file: Any, server: http_fake.FakeServer) -> None:
    """Reads until that place has served: a quick first one may have answered before it was asked."""
    end = time.monotonic() + 30
    while f"127.0.0.1:{server.port}" not in file.report().by_server:
        assert time.monotonic() < end, list(map(str, file.report().log))
        file["t"].arrays(library="np", deadline=60)


def damaged(content: bytes) -> bytes:
    """Another content in the middle: neither the size nor the first and last bytes show it."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def stating(server: http_fake.FakeServer) -> http_fake.FakeServer:
    """A server that answers with a checksum if it is asked for one."""
    digest = f"adler32={zlib.adler32(server.content):08x}"

    def behave(request: http_fake.Request) -> http_fake.Misdeed | None:
        if request.method == "HEAD" and "adler32" in request.headers.get("want-digest", ""):
            return http_fake.answer("200 OK", ETag='"1"', Digest=digest)
        return None

    server.behave = behave
    return server


def test_a_checksum_that_differs_keeps_a_place_out(web: Web, content: bytes) -> None:
    one, other = stating(web()), stating(web(damaged(content)))

    def refused_in_time() -> bool:
        with sapwood.open("/x.root", replicas=[one.url + "/", other.url + "/"]) as file:
            in_time = keeps_out(file, f":{other.port} refused: a different file: its adler32")
            if in_time:
                check(file["t"])
            return in_time

    assert any(refused_in_time() for _ in range(5))
    # One that cannot be compared is read: size, and first and last bytes are the same.
    other.behave = lambda request: None
    with sapwood.open("/x.root", replicas=[one.url + "/", other.url + "/"]) as file:
        read_until_used(file, other)


def test_a_metalink_states_a_checksum_that_servers_do_too(web: Web, tmp_path: Path, content: bytes) -> None:
    one = stating(web(damaged(content)))
    stated = f'<hash type="adler32">{zlib.adler32(content):08x}</hash>'
    text = METALINK.format(size=len(content), hash=stated, first=one.url + "/x.root", last=NOWHERE)
    (tmp_path / "x.meta4").write_text(text)
    with sapwood.open(tmp_path / "x.meta4") as file:
        end = time.monotonic() + 20
        with pytest.raises(errors.FileChangedError, match="cannot be trusted"):
            while time.monotonic() < end:
                file["t"].arrays(library="np", deadline=60)


def test_the_error_says_that_no_replica_has_the_file(web: Web) -> None:
    one, other = web(), web()
    one.behave = other.behave = lambda request: missing
    with pytest.raises(errors.FileNotFoundError) as caught:
        sapwood.open("/store/x.root", replicas=[one.url + "/", other.url + "/"], deadline=20)
    log = "\n".join(map(str, caught.value.log))
    assert f"127.0.0.1:{one.port}/store/x.root" in log or f"127.0.0.1:{one.port}" in log
    assert f"127.0.0.1:{other.port}/store/x.root" in str(caught.value) + log


def test_a_name_that_no_rule_knows_is_a_missing_file() -> None:
    with pytest.raises(errors.FileNotFoundError, match=r"/store/x\.root"):
        sapwood.open("/store/x.root", replicas={"/other/": "http://a/"})


def test_copies_read_the_same_places(web: Web) -> None:
    one, other = web(), web()
    one.behave = lambda request: missing
    places = [one.url + "/", other.url + "/"]
    for given in (places, {"/store/": places}, lambda name: places):
        with (
            sapwood.open("/store/x.root", replicas=given) as file,
            pickle.loads(pickle.dumps(file)) as copy,
        ):
            assert copy["t"].num_entries == ENTRIES
            assert copy.file_path == "/store/x.root"
    with sapwood.open("/store/x.root", replicas=[f"{other.url}/x.root?token=sesame"]) as file:
        with pytest.raises(errors.UsageError, match="never pickled") as caught:
            pickle.dumps(file)
        assert "sesame" not in f"{caught.value} {file!r} {file.options!r} {file.report().log}"


def test_several_files_by_prefixes_and_by_rules(web: Web) -> None:
    one, other = web(), web()
    one.behave = lambda request: missing
    names = ["/store/a.root", "/store/b.root"]
    for given in ([one.url + "/", other.url + "/"], {"/store/": [one.url + "/", other.url + "/"]}):
        found = sapwood.concatenate([f"{name}:t" for name in names], "x", library="np", replicas=given)
        assert len(found["x"]) == 2 * ENTRIES


def test_the_command_line_takes_replicas(web: Web) -> None:
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from sapwood.cli._app import app

    one, other = web(), web()
    one.behave = lambda request: missing
    arguments = ["ls", "/store/x.root", "--json", "--replica", one.url + "/", "--replica", other.url + "/"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0 and json.loads(result.stdout)["keys"][0]["name"] == "t"


# Documents


METALINK = """<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink">
<file name="x.root"><size>{size}</size>{hash}
<url priority="2">{last}</url><url priority="1">{first}</url></file></metalink>"""


def test_a_metalink_is_opened_by_path_and_by_url(web: Web, tmp_path: Path, content: bytes) -> None:
    data, page = web(), web(b"")
    text = METALINK.format(size=len(content), hash="", first=NOWHERE, last=data.url + "/x.root")
    (tmp_path / "x.meta4").write_text(text)
    page.content = text.encode()
    for where in (f"{tmp_path / 'x.meta4'}:t", f"{page.url}/x.meta4:t"):
        tree = sapwood.open(where)
        assert tree.num_entries == ENTRIES
        assert tree.file.report().by_server.keys() == {f"127.0.0.1:{data.port}"}


def test_a_file_that_is_not_the_one_described_is_refused(web: Web, tmp_path: Path, events_file: Path) -> None:
    small = web(events_file.read_bytes())
    size = len(small.content)
    for what, text in {
        f"{size} bytes, not {size + 1}": METALINK.format(
            size=size + 1, hash="", first=NOWHERE, last=small.url
        ),
        "ADLER-32": METALINK.format(
            size=size, hash='<hash type="adler32">00000001</hash>', first=NOWHERE, last=small.url + "/x.root"
        ),
    }.items():
        (tmp_path / "x.meta4").write_text(text)
        with pytest.raises(errors.SapwoodError) as caught:
            sapwood.open(tmp_path / "x.meta4")
        assert what in f"{caught.value} {list(map(str, caught.value.log))}"


def test_lists_of_rucio(web: Web, tmp_path: Path, content: bytes) -> None:
    data = web()
    records = [
        {"scope": "cms", "name": f"/store/{name}.root", "bytes": len(content),
         "pfns": {f"{data.url}/{name}.root": {"rse": "T2_X", "type": "DISK", "priority": 1}}}
        for name in ("x", "y")
    ]  # fmt: skip
    (tmp_path / "list.json").write_text(json.dumps(records))
    for given in (records, str(tmp_path / "list.json")):
        with sapwood.open("/store/y.root", replicas=given) as file:
            assert file["t"].num_entries == ENTRIES
            assert file._core.url == f"{data.url}/y.root"
        with pytest.raises(errors.FileNotFoundError, match="does not contain the file"):
            sapwood.open("/store/z.root", replicas=given)
    names = [
        count for _, _, count in sapwood.num_entries(["/store/x.root", "/store/y.root"], replicas=records)
    ]
    assert names == [ENTRIES] * 2


def test_headers_are_for_places_that_the_caller_named(web: Web, tmp_path: Path, content: bytes) -> None:
    named, described = web(), web()
    seen: dict[str, set[str]] = {"named": set(), "described": set()}
    named.behave = lambda request: seen["named"].add(request.headers.get("x-key", "none"))
    described.behave = lambda request: seen["described"].add(request.headers.get("x-key", "none"))
    text = METALINK.format(size=len(content), hash="", first=described.url + "/x.root", last=NOWHERE)
    (tmp_path / "x.meta4").write_text(text)
    for given in (str(tmp_path / "x.meta4"), named.url + "/"):
        with sapwood.open("/x.root", replicas=given, headers={"X-Key": "sesame"}) as file:
            assert file["t"].num_entries == ENTRIES
    assert seen == {"named": {"sesame"}, "described": {"none"}}


def test_a_document_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.meta4").write_text("<html></html>")
    with pytest.raises(errors.UsageError, match="metalink"):
        sapwood.open(tmp_path / "x.meta4")


# Other protocols


@needs_xrootd
def test_a_checksum_of_xrootd_that_differs_keeps_a_place_out(content: bytes) -> None:
    with ExitStack() as stack:
        servers = []
        for each in (content, damaged(content)):
            root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sapwood-")))
            root.chmod(0o755)
            (root / "x.root").write_bytes(each)
            settings = "xrootd.chksum max 2 adler32\n"
            servers.append(stack.enter_context(xrootd_server.data_server(root, settings)))
        for first, second in (servers, servers[::-1]):
            with sapwood.open("/x.root", replicas=[f"{first.url}//", f"{second.url}//"]) as file:
                keeps_out(file, f":{second.port} refused: a different file: its adler32")


@needs_s3
def test_a_checksum_of_an_object_store_that_differs_keeps_a_place_out(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server.s3_server() as s3:
        for name, value in s3.variables.items():
            monkeypatch.setenv(name, value)
        s3.put("a/x.root", content)
        s3.put("b/x.root", damaged(content))
        places = [f"s3://{s3.bucket}/a/x.root", f"s3://{s3.bucket}/b/x.root"]
        with sapwood.open("/x.root", replicas=places) as file:
            keeps_out(file, "refused: a different file: its crc32")


@needs_xrootd
@needs_s3
def test_protocols_mix(folder: Path, content: bytes, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    with xrootd_server.data_server(folder) as xrootd, s3_server.s3_server() as s3:
        for name, value in s3.variables.items():
            monkeypatch.setenv(name, value)
        s3.put("x.root", content)
        page = web()
        places = [f"{xrootd.url}//", page.url + "/", f"s3://{s3.bucket}/"]
        for turn in range(3):
            with sapwood.open("/x.root", replicas=[*places[turn:], *places[:turn]], sources=3) as file:
                check(file["t"])
                assert file.uuid == sapwood.open(folder / "x.root").uuid
