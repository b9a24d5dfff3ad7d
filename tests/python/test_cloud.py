"""Reading over s3:// from a real server: right arrays, few round trips, globs, typed errors."""

from __future__ import annotations

import http.server
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import s3_server
import testkit
from report_sums import assert_adds_up
from same_arrays import assert_same_arrays
from testkit import Running

import sapwood
from sapwood import errors

needs_server = pytest.mark.skipif(
    s3_server.missing() is not None, reason=f"s3:// is not tested: {s3_server.missing()}"
)

URL = "s3://data/runs/events.root"


@pytest.fixture(scope="module")
def server(events_file: Path) -> Iterator[s3_server.Server]:
    with s3_server.s3_server() as server:
        for key in ("runs/events.root", "runs/more.root", "runs/notes.txt", "runs/deep/events.root"):
            server.put(key, events_file.read_bytes())
        yield server


pytestmark = pytest.mark.usefixtures("no_credentials")


@pytest.fixture
def known(server: s3_server.Server, monkeypatch: pytest.MonkeyPatch) -> s3_server.Server:
    """The server, with an environment that names it and a key for it."""
    for name, value in server.variables.items():
        monkeypatch.setenv(name, value)
    return server


@pytest.fixture
def proxied(server: s3_server.Server) -> Iterator[Callable[..., Running]]:
    """Puts distance or a fault before the server; gives the endpoint and where counts are."""
    with testkit.proxies(server.address, "http://{}") as start:
        yield start


@needs_server
def test_the_same_arrays_as_from_disk(known: s3_server.Server, events_file: Path) -> None:
    with sapwood.open(f"{URL}:Events") as far, sapwood.open(f"{events_file}:Events") as near:
        assert_same_arrays(near, far)
        assert far.file.report().unplanned_reads == 0
        assert_adds_up(far.file.report())
        assert far.file.file_path == URL


@needs_server
def test_opening_and_three_columns_cost_two_round_trips(
    known: s3_server.Server, proxied: Callable[..., Running]
) -> None:
    proxy = proxied("--rtt-ms", "50")
    for _ in range(2):
        with sapwood.open(f"{URL}:Events", endpoint=proxy.url) as tree:
            tree.arrays(["run", "met", "Muon_pt"], library="np")
            report = tree.file.report()
    assert report.round_trips <= 2
    # Both times together, as the server saw it.
    assert proxy.counts()["round_trips"] <= 4


@needs_server
def test_globs(known: s3_server.Server) -> None:
    def paths(glob: str) -> list[str]:
        return [path for path, _, _ in sapwood.num_entries(f"{glob}:Events")]

    assert paths("s3://data/runs/*.root") == [URL, "s3://data/runs/more.root"]
    assert paths("s3://data/runs/*/e*.root") == ["s3://data/runs/deep/events.root"]
    with pytest.raises(errors.FileNotFoundError):
        paths("s3://data/nowhere/*.root")


@needs_server
def test_options_under_the_names_of_other_libraries(server: s3_server.Server) -> None:
    key, secret = server.access_key_id, server.secret_access_key
    for options in (
        {"endpoint": server.endpoint, "access_key_id": key, "secret_access_key": secret},
        {"endpoint_url": server.endpoint, "key": key, "secret": secret},
    ):
        with sapwood.open(f"{URL}:Events", **options) as tree:
            assert tree.num_entries == 1000
            assert secret not in repr(tree.file) + repr(tree.file.options)
            with pytest.raises(errors.UsageError, match="never pickled"):
                pickle.dumps(tree.file)


@needs_server
def test_options_without_secrets_are_pickled(
    known: s3_server.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    with sapwood.open(URL, endpoint=known.endpoint) as file:
        state = pickle.dumps(file)
        assert known.secret_access_key.encode() not in state
        with pickle.loads(state) as again:
            assert again["Events"].num_entries == 1000


@needs_server
def test_profiles(server: s3_server.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "credentials"
    file.write_text(
        f"[lab]\naws_access_key_id={server.access_key_id}\naws_secret_access_key={server.secret_access_key}\n"
        f"endpoint_url={server.endpoint}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    with sapwood.open(f"{URL}:Events", profile="lab") as tree:
        assert tree.num_entries == 1000
    monkeypatch.setenv("AWS_PROFILE", "lab")
    with sapwood.open(f"{URL}:Events") as tree:
        assert tree.num_entries == 1000


@needs_server
def test_refusals(server: s3_server.Server, known: s3_server.Server) -> None:
    with pytest.raises(errors.FileNotFoundError, match="NoSuchKey"):
        sapwood.open("s3://data/runs/none.root")
    with pytest.raises(errors.PermissionError, match="AccessDenied") as refused:
        sapwood.open(URL, anonymous=True)
    assert "anonymous" in str(refused.value)
    with pytest.raises(errors.PermissionError, match="SignatureDoesNotMatch") as refused:
        sapwood.open(URL, key=server.access_key_id, secret="the-wrong-one")
    assert "the-wrong-one" not in str(refused.value)


@needs_server
@pytest.mark.parametrize("fault", ["--close-after", "--stall-after"])
def test_faults_end_with_a_typed_error(
    known: s3_server.Server, proxied: Callable[..., Running], fault: str
) -> None:
    endpoint = proxied(fault, "1000").url
    start = time.monotonic()
    with pytest.raises((errors.NetworkError, errors.DeadlineError)):
        sapwood.open(URL, endpoint=endpoint, deadline=2)
    assert time.monotonic() - start < 3


@needs_server
def test_public_buckets() -> None:
    with s3_server.s3_server() as server:
        server.put("f.root", b"no ROOT file at all")
        server.make_public()
        for options in ({"anonymous": True}, {"anon": True}, {}):
            with pytest.raises(errors.NotRootError):
                sapwood.open("s3://data/f.root", endpoint=server.endpoint, **options)
        with pytest.raises(errors.NotRootError):
            sapwood.open(f"s3://{server.address}/data/f.root")


def test_options_are_checked() -> None:
    with pytest.raises(errors.UsageError, match="two halves"):
        sapwood.open(URL, key="k")
    with pytest.raises(TypeError, match="'anonymous' must be a bool"):
        sapwood.open(URL, anonymous="yes")
    with pytest.raises(TypeError) as refused:
        sapwood.open(URL, key="k", secret=b"hidden")
    assert "hidden" not in str(refused.value)
    with pytest.raises(errors.UsageError, match="http"):
        sapwood.open(URL, endpoint="ftp://host")
    with pytest.raises(errors.UsageError, match="bucket"):
        sapwood.open("s3:///key.root")


def test_servers_without_webdav_cannot_be_searched() -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as plain:
        threading.Thread(target=plain.serve_forever, daemon=True).start()
        try:
            with pytest.raises(errors.UnsupportedTypeError, match="WebDAV"):
                sapwood.concatenate(f"http://127.0.0.1:{plain.server_port}/*.root:Events")
        finally:
            plain.shutdown()
