"""A real S3 server for tests and benchmarks, on a free port of this machine: versitygw over a folder.

    python scripts/s3_server.py --put FILE [--put FILE …]    serves the files in the bucket "data"

Prints one line of JSON when it is ready, {"endpoint": "http://127.0.0.1:PORT", "access_key_id": …,
"secret_access_key": …, "bucket": "data"}, and serves until its standard input ends. scripts/s3.sh installs
versitygw.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import hashlib
import hmac
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from xrootd_server import free_port

READY_SECONDS = 60.0
REGION = "us-east-1"
REPOSITORY = Path(__file__).resolve().parents[1]


def program(name: str = "versitygw") -> str | None:
    """A server's program, if it is installed."""
    beside = REPOSITORY / ".venv" / "bin" / name
    told = os.environ.get(f"{name.upper().replace('-', '_')}_BIN")
    return told or (str(beside) if beside.exists() else shutil.which(name))


def missing(name: str = "versitygw") -> str | None:
    """What has to be installed, or None if all is there."""
    return None if program(name) else f"{name} is not installed (make servers builds it, where possible)"


@dataclass
class Server:
    """A running S3 server with the bucket ``data``."""

    port: int
    process: subprocess.Popen[bytes] | None = None
    command: tuple[str, ...] = field(default=(), repr=False)
    health: str = "/health"
    healthy: int = 200
    access_key_id: str = "testaccess"
    secret_access_key: str = "testtesttesttest"
    bucket: str = "data"

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    @property
    def endpoint(self) -> str:
        """URL of the service."""
        return f"http://{self.address}"

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a client."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_REGION": REGION,
        }

    def put(self, key: str, content: bytes) -> None:
        """Writes an object, with a checksum, as the clients of S3 do."""
        checksum = base64.b64encode(zlib.crc32(content).to_bytes(4, "big")).decode()
        self._ask("PUT", f"/{self.bucket}/{quote(key)}", content, headers={"x-amz-checksum-crc32": checksum})

    def start(self) -> None:
        """Starts its process, and waits until it answers; again, after it was killed."""
        nowhere = subprocess.DEVNULL
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end:
            # It ends at once where the port is not free again yet.
            if not self.runs:
                self.process = subprocess.Popen(self.command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
            if answers(self, self.health, self.healthy):
                return
            time.sleep(0.02)
        raise RuntimeError(f"the S3 server on port {self.port} does not start")

    def kill(self) -> None:
        """Ends its process where it stands."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        """Ends the server. Asked to end, it would wait for clients to close connections that they keep."""
        self.kill()

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.process is not None and self.process.poll() is None

    def make_bucket(self, name: str | None = None, placement: str = "") -> None:
        """Makes the bucket, or another one; Ceph also takes where its objects are placed."""
        space = "http://s3.amazonaws.com/doc/2006-03-01/"
        where = f"<LocationConstraint>{placement}</LocationConstraint>"
        body = f'<CreateBucketConfiguration xmlns="{space}">{where}</CreateBucketConfiguration>'
        self._ask("PUT", f"/{name or self.bucket}", body.encode() if placement else b"")

    def make_public(self) -> None:
        """Lets anybody read the objects."""
        statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}
        statement["Resource"] = f"arn:aws:s3:::{self.bucket}/*"
        policy = {"Version": "2012-10-17", "Statement": [statement]}
        self._ask("PUT", f"/{self.bucket}", json.dumps(policy).encode(), "policy=")

    def listed(self, prefix: str) -> dict[str, tuple[int, str]]:
        """Size and entity tag of all objects of the bucket whose keys begin so, by key."""
        found: dict[str, tuple[int, str]] = {}
        last = ""
        while True:
            query = f"list-type=2&prefix={quote(prefix, safe='')}&start-after={quote(last, safe='')}"
            page = ElementTree.fromstring(self._ask("GET", f"/{self.bucket}", b"", query))
            space = page.tag.removesuffix("ListBucketResult")
            for each in page.iter(f"{space}Contents"):
                last, size, tag = (each.findtext(f"{space}{name}") or "" for name in ("Key", "Size", "ETag"))
                found[last] = (int(size), tag)
            if page.findtext(f"{space}IsTruncated") != "true":
                return found

    def _ask(
        self, method: str, path: str, body: bytes, query: str = "", headers: Mapping[str, str] | None = None
    ) -> bytes:
        connection = http.client.HTTPConnection(self.address, timeout=30)
        try:
            signed = _signature(self, method, path, query, body, headers or {})
            connection.request(method, f"{path}?{query}" if query else path, body, signed)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status not in (200, 204):
                raise RuntimeError(f"{method} {path}: {answer.status} {text[:500]!r}")
            return text
        finally:
            connection.close()


def _signature(
    server: Server, method: str, path: str, query: str, body: bytes, further: Mapping[str, str]
) -> dict[str, str]:
    """The headers that sign a request (AWS Signature Version 4)."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    headers = {"x-amz-date": now, "x-amz-content-sha256": digest, **further}
    signed = sorted({"host": server.address, **headers}.items())
    names = ";".join(name for name, _ in signed)
    lines = "".join(f"{name}:{value}\n" for name, value in signed)
    request = "\n".join([method, path, query, lines, names, digest])
    scope = f"{now[:8]}/{REGION}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{server.secret_access_key}".encode()
    for part in (now[:8], REGION, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"Credential={server.access_key_id}/{scope}"
    return {
        **headers,
        "Authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={names}, Signature={signature}",
    }


@contextmanager
def s3_server(files: Path | None = None) -> Iterator[Server]:
    """A server with an empty bucket, or one with links to the `.root` files of a folder, in that folder."""
    with tempfile.TemporaryDirectory(prefix="sapwood-s3-", dir=files) as name:
        for folder in ("data", "meta"):
            Path(name, folder).mkdir()
        server = _gateway(Path(name))
        try:
            server.start()
            server.make_bucket()
            for file in files.glob("*.root") if files else ():
                Path(name, "data", server.bucket, file.name).hardlink_to(file)
            yield server
        finally:
            server.stop()


@contextmanager
def another_gateway(server: Server) -> Iterator[Server]:
    """A second server for the same objects."""
    other = _gateway(Path(server.command[-1]).parent)
    try:
        other.start()
        yield other
    finally:
        other.stop()


@contextmanager
def careless_server() -> Iterator[Server]:
    """s3s-fs with an empty bucket. It looks whether there is an object, and only then writes: a race."""
    with tempfile.TemporaryDirectory(prefix="sapwood-s3-") as folder:
        # Who does not say who it is gets no list of buckets.
        server = Server(free_port(), health="/", healthy=403)
        keys = ["--access-key", server.access_key_id, "--secret-key", server.secret_access_key]
        place = ["--host", "127.0.0.1", "--port", str(server.port)]
        server.command = (_installed("s3s-fs"), *place, *keys, folder)
        try:
            server.start()
            server.make_bucket()
            yield server
        finally:
            server.stop()


def _installed(name: str) -> str:
    binary = program(name)
    if binary is None:
        raise RuntimeError(missing(name))
    return binary


def _gateway(folder: Path) -> Server:
    binary = _installed("versitygw")
    server = Server(free_port())
    # Beside the files, not in their attributes: those need a file system that has them.
    backend = ["posix", "--sidecar", str(folder / "meta"), str(folder / "data")]
    options = ["--access", server.access_key_id, "--secret", server.secret_access_key, "--region", REGION]
    options.append("--keep-alive")  # it closes connections otherwise, as no S3 service does
    server.command = (
        binary,
        *options,
        "--port",
        server.address,
        "--health",
        server.health,
        "--quiet",
        *backend,
    )
    return server


def answers(server: Server, path: str, status: int = 200) -> bool:
    """Whether it answers by now, with that status."""
    connection = http.client.HTTPConnection(server.address, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == status
    except OSError:
        return False
    finally:
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--put", type=Path, action="append", default=[], help="file to serve")
    files = parser.parse_args().put
    if (lack := missing()) is not None:
        raise SystemExit(f"s3_server: {lack}")
    with s3_server() as server:
        for file in files:
            server.put(file.name, file.read_bytes())
        keys = {"access_key_id": server.access_key_id, "secret_access_key": server.secret_access_key}
        print(json.dumps({"endpoint": server.endpoint, **keys, "bucket": server.bucket}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
