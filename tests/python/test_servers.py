"""Real servers: nginx, also with TLS and WebDAV, and XRootD with TLS; reading, listing, diagnosing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import certificate
import nginx_server
import pytest
import xrootd_server

import sapwood
from sapwood import _core

NO_OPENSSL = certificate.missing()
NO_WEB = nginx_server.missing()
NO_DAV = NO_WEB or (None if nginx_server.module() else "nginx has no module for WebDAV (make servers)")
SHIMS = list(Path(_core.__file__ or "").parent.glob("_xrdcl*.so"))
NO_XROOTD = xrootd_server.missing() or (None if SHIMS else "no XRootD client (make servers build)")

needs_web = pytest.mark.skipif(NO_WEB is not None, reason=f"nginx is not tested: {NO_WEB}")
needs_davs = pytest.mark.skipif(
    bool(NO_DAV or NO_OPENSSL), reason=f"davs:// is not tested: {NO_DAV or NO_OPENSSL}"
)
needs_roots = pytest.mark.skipif(
    bool(NO_XROOTD or NO_OPENSSL), reason=f"roots:// is not tested: {NO_XROOTD or NO_OPENSSL}"
)
needs_root = pytest.mark.skipif(NO_XROOTD is not None, reason=f"root:// is not tested: {NO_XROOTD}")

READ = "import sapwood; print(len(sapwood.open({url!r} + ':Events')['run'].array(library='np')))"


def run(*arguments: str, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """A fresh process: which authorities it trusts, a process decides once."""
    environment = {**os.environ, "NO_PROXY": "localhost,127.0.0.1", **variables}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60, env=environment
    )


def command(*arguments: str, variables: Mapping[str, str]) -> str:
    """What `sapwood ARGUMENTS` prints."""
    start = "from sapwood.cli.main import main; main()"
    done = run("-c", start, *arguments, variables=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_and_look(url: str, name: str, variables: Mapping[str, str]) -> None:
    """Reads, lists and diagnoses a file of the directory at a URL."""
    done = run("-c", READ.format(url=url + name), variables=variables)
    assert done.stdout.strip() == "1000", done.stderr
    listed = command("ls", url, variables=variables).splitlines()
    assert name in listed and "sub/" in listed
    steps = json.loads(command("doctor", url + name, "--json", variables=variables))["steps"]
    assert not [step for step in steps if step["outcome"] == "failed"]


@pytest.fixture(scope="module")
def folder(events_file: Path) -> Iterator[Path]:
    """The events, and a directory, where the servers' own user can read them."""
    with tempfile.TemporaryDirectory(prefix="sapwood-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "sub").mkdir(mode=0o755)
        for copy in ("events.root", "sub/more.root"):
            shutil.copyfile(events_file, folder / copy)
        yield folder


@pytest.fixture(scope="module")
def shown() -> Iterator[certificate.Certificate]:
    """What a server with TLS shows."""
    with tempfile.TemporaryDirectory() as name:
        yield certificate.make(Path(name))


@needs_web
def test_nginx_answers_several_ranges_in_one_request(folder: Path) -> None:
    with nginx_server.web_server(folder) as server:
        with sapwood.open(f"{server.url}/events.root:Events") as tree:
            assert len(tree.arrays(["run", "Jet_pt"], library="np")["run"]) == 1000
        assert {status for _, status, _ in server.requests()} == {206}
        assert max(ranges for _, _, ranges in server.requests()) > 1


@needs_web
def test_nginx_with_a_limit_on_ranges_is_read(folder: Path) -> None:
    one = "max_ranges 1;\n"
    with (
        nginx_server.web_server(folder, settings=one) as server,
        sapwood.open(f"{server.url}/events.root:Events") as tree,
    ):
        assert len(tree.arrays(["run", "Jet_pt"], library="np")["run"]) == 1000
        assert tree.file.report().unplanned_reads == 0


@needs_davs
def test_davs(folder: Path, shown: certificate.Certificate) -> None:
    with nginx_server.web_server(folder, shown) as server:
        trusting = {"SSL_CERT_FILE": str(shown.authority)}
        url = server.url.replace("https", "davs")
        read_and_look(f"{url}/", "events.root", trusting)
        glob = f"import sapwood; print(len(sapwood.concatenate('{url}/s*/*.root:Events', 'run')))"
        assert run("-c", glob, variables=trusting).stdout.strip() == "1000"
        refused = run("-c", READ.format(url=f"{url}/events.root"), variables={})
        assert "NetworkError" in refused.stderr and "certificate" in refused.stderr


@needs_roots
def test_roots(folder: Path) -> None:
    with xrootd_server.secure_server(folder) as (server, shown):
        url = server.url.replace("root://", "roots://")
        read_and_look(f"{url}//", "events.root", {"X509_CERT_DIR": str(shown.authorities)})
        refused = run("-c", READ.format(url=f"{url}//events.root"), variables={"X509_CERT_DIR": "/nowhere"})
        assert "NetworkError" in refused.stderr and "X509_CERT_DIR" in refused.stderr


@needs_root
def test_directories_over_root(folder: Path) -> None:
    with xrootd_server.data_server(folder) as server:
        read_and_look(f"{server.url}//", "events.root", {})
        assert command("ls", f"{server.url}//sub/", variables={}) == "more.root\n"


def test_directories_of_this_machine(folder: Path) -> None:
    assert command("ls", str(folder), variables={}).splitlines() == ["events.root", "sub/"]
    entries = json.loads(command("ls", str(folder), "--json", variables={}))["entries"]
    assert entries[1] == {"name": "sub", "is_directory": True}
